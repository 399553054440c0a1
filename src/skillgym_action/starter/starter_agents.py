"""The agents that run a first suite, with the variables of their keys: chosen, or those of the configuration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillgym_action.processes.agent_keys import key_names
from skillgym_action.settings.configuration_file import REFERENCE
from skillgym_action.text.redaction import is_secret_name

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from skillgym_action.settings.configuration_sections import AgentSection


@dataclass(frozen=True, kw_only=True, slots=True)
class StarterAgents:
    """Agents that a workflow can install, and the variables with the keys of all runners.

    ``without_runner``: those of ``names`` for which the configuration that is kept has no runner.
    """

    names: tuple[str, ...]
    secrets: tuple[str, ...]
    without_runner: tuple[str, ...] = ()

    @classmethod
    def of_keys(cls, keys: Mapping[str, str], *, have_runners: bool = True) -> StarterAgents:
        """Agents with the key of each; ``have_runners``: whether the configuration will have runners for them."""
        secrets = tuple(dict.fromkeys(keys.values()))
        return cls(names=tuple(keys), secrets=secrets, without_runner=() if have_runners else tuple(keys))


def chosen_agents(
    agents: Mapping[str, Sequence[str]], *, has_key: Callable[[str], bool], is_installed: Callable[[str], bool]
) -> dict[str, str]:
    """The agents to run, each with its key: for each key that is there the first one that uses it.

    Else one that is installed, or the first one. ``agents``: the names of their keys, by agent.
    """
    chosen: dict[str, str] = {}
    for agent, keys in agents.items():
        if key := next(filter(has_key, keys), None):
            chosen.setdefault(key, agent)
    if chosen:
        return {agent: key for key, agent in chosen.items()}
    return keys_of((next(filter(is_installed, agents), next(iter(agents))),), agents, has_key=has_key)


def keys_of(
    chosen: Iterable[str], agents: Mapping[str, Sequence[str]], *, has_key: Callable[[str], bool]
) -> dict[str, str]:
    """For each agent the key that is there, or else the first one that it uses."""
    return {agent: next(filter(has_key, agents[agent]), agents[agent][0]) for agent in chosen}


def agents_of_runners(
    configured: Collection[AgentSection],
    named: Iterable[str],
    agents: Mapping[str, Sequence[str]],
    *,
    has_key: Callable[[str], bool],
) -> StarterAgents:
    """The agents of the runners of a configuration, and those that the user named.

    ``agents``: the names of their keys, by agent that a workflow can install.
    """
    used = {section.type for section in configured}
    added = keys_of((agent for agent in named if agent not in used), agents, has_key=has_key)
    secrets = [name for section in configured for name in _secrets_of(section, has_key)]
    return StarterAgents(
        names=(*(agent for agent in agents if agent in used), *added),
        secrets=tuple(dict.fromkeys([*secrets, *added.values()])),
        without_runner=tuple(added),
    )


def _secrets_of(section: AgentSection, has_key: Callable[[str], bool]) -> Iterator[str]:
    """The variables with secrets that a runner reads: those that its ``env`` refers to, and the key of its agent."""
    keys = key_names(section.type)
    if keys and section.env.keys().isdisjoint(keys):
        yield from keys_of((section.type,), {section.type: keys}, has_key=has_key).values()
    for text in section.env.values():
        names = (match[1] or match[2] for match in REFERENCE.finditer(text))
        yield from (name for name in names if is_secret_name(name) and name.isascii())  # as names of secrets are
