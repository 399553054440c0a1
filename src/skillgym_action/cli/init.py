"""The command ``init``: a first suite, a configuration and a workflow for the repository it is started in."""

from __future__ import annotations

import re
import shutil
import sys
from typing import TYPE_CHECKING

from skillgym_action import wiring
from skillgym_action.agents import AGENTS
from skillgym_action.documents.option_values import known_word
from skillgym_action.documents.user_files import read_text
from skillgym_action.formats import FORMAT_ALIASES
from skillgym_action.limits import MAX_STARTER_SOURCE_BYTES
from skillgym_action.model.errors import UsageError, did_you_mean
from skillgym_action.processes.agent_keys import key_names
from skillgym_action.starter.repository_facts import chosen_agents, keys_of, repository_facts
from skillgym_action.starter.starter_files import starter_files, write_files
from skillgym_action.starter.starter_suites import SUITE_FORMATS
from skillgym_action.text.escaping import terminal_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from skillgym_action.settings.context import LaunchContext
    from skillgym_action.starter.repository_facts import RepositoryFacts
    from skillgym_action.starter.starter_files import StarterFile


def write_starter(
    context: LaunchContext, *, suite_format: str | None, agents: tuple[str, ...], branch: str | None, force: bool
) -> int:
    """Write the files and print what to do next; the exit code.

    ``suite_format`` None: skill-evals if a skill has no evals, else x-bench. ``agents`` (): those that have a key here,
    or are installed. Raises UsageError, OutputError.
    """
    named, named_format = tuple(map(_known_agent, agents)), suite_format and _known_format(suite_format)
    facts, default = _facts(context)
    chosen_format = named_format or ("skill-evals" if facts.skills_without_evals else "x-bench")
    keys = _keys(named, context.environment)
    files = starter_files(facts, suite_format=chosen_format, keys=keys, branch=branch or default)
    write_files(files, context.checkout, context.root, force=force)
    missing = wiring.missing_node(context) if chosen_format == "typescript" else None
    for line in _next_steps(files, keys, missing):
        print(terminal_text(line))  # noqa: T201
    return 0


def _facts(context: LaunchContext) -> tuple[RepositoryFacts, str]:
    """Facts about the repository, and its default branch."""

    def read(path: str) -> str | None:
        try:
            return read_text(
                context.root / path,
                path=path,
                error=UsageError,
                largest=MAX_STARTER_SOURCE_BYTES,
                opener=context.checkout.opener(context.root / path),
            )
        except (OSError, UsageError):
            return None

    with wiring.repository_of(context) as repository:
        try:
            files = tuple(repository.files(context.root))
        except OSError as error:
            raise UsageError(f"the files of {context.root} cannot be listed: {error}") from error
        return repository_facts(files, read), repository.default_branch()


def _known_format(word: str) -> str:
    try:
        return known_word(word, SUITE_FORMATS, FORMAT_ALIASES)
    except ValueError as error:
        raise UsageError(f"--format: {error}") from None


def _known_agent(agent: str) -> str:
    known = _installable()
    if agent in known:
        return agent
    info = AGENTS.get(agent)
    if info is None or info.internal or info.format:
        raise UsageError(f"--agent: unknown agent {agent!r}", remedy=did_you_mean(agent, known))
    remedy = "configure its runner yourself: docs/reference/agents.md of skillgym-action"
    raise UsageError(f"--agent: a workflow cannot install {agent!r}", remedy=remedy)


def _keys(named: tuple[str, ...], environment: Mapping[str, str]) -> dict[str, str]:
    """The variable with the key of each agent to run."""
    agents = _installable()

    def has_key(name: str) -> bool:
        return bool(environment.get(name))

    def is_installed(agent: str) -> bool:
        return shutil.which(_program(agent), path=environment.get("PATH")) is not None

    if named:
        return keys_of(named, agents, has_key=has_key)
    return chosen_agents(agents, has_key=has_key, is_installed=is_installed)


def _installable() -> dict[str, tuple[str, ...]]:
    """Agents that a workflow can install and that need a key, with the names of the variables that have one."""
    return {name: keys for name, info in AGENTS.items() if info.package and (keys := key_names(name))}


def _program(agent: str) -> str:
    return AGENTS[agent].executable or agent


def _next_steps(files: tuple[StarterFile, ...], keys: Mapping[str, str], missing: str | None) -> Iterator[str]:
    """Lines to print. ``keys``: the variable with the key of each agent. ``missing``: what the suite needs first."""
    for file in files:
        yield f"wrote {file.path}"
    names = list(dict.fromkeys(keys.values()))
    yield ""
    if missing:
        yield f"First: {missing}"
    yield "Next:"
    install = " ".join(f"--install {agent}" for agent in keys)
    program = started_as(sys.prefix)
    yield f"  {program} run --runner nop   # an agent that does nothing: each case fails and says why"
    yield f"  {program} doctor {install}   # install the agent, check its key: {', '.join(names)} in the environment"
    yield f"  {program} run   # with {', '.join(keys)}; costs a few cents"
    yield ""
    yield f"For the workflow, commit these files and create {_secrets(names)} on GitHub."
    yield "Then replace the two cases with tasks that an agent should manage in this repository."


def started_as(prefix: str) -> str:
    """The command that starts the tool again as it was started, from the Python environment ``prefix``."""
    if re.search(r"/uv/archive-v\d+/", f"{prefix}/"):
        return "uvx skillgym-action"
    return (
        "pipx run skillgym-action"
        if re.search(r"/pipx/(\.cache/|cache/)|/\.cache/pipx/", prefix)
        else "skillgym-action"
    )


def _secrets(names: list[str]) -> str:
    return f"the {'secret' if len(names) == 1 else 'secrets'} {', '.join(names)}"
