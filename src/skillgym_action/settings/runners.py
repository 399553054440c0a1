"""The runners of a run: configured ones, selected by id; agents that are named ad hoc; or a suite's own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING

from skillgym_action.agents import AGENTS
from skillgym_action.filesystem.globs import matches
from skillgym_action.model.errors import Location, Problem, UsageError, did_you_mean, meant_word
from skillgym_action.model.execution import Runner
from skillgym_action.model.session import AgentConfig
from skillgym_action.settings.configuration_file import resolved_env
from skillgym_action.text.escaping import path_key
from skillgym_action.text.redaction import is_secret_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from skillgym_action.agents import AgentInfo
    from skillgym_action.documents.located_values import KeyPath
    from skillgym_action.model.arm import Arm
    from skillgym_action.settings.configuration_file import Config
    from skillgym_action.settings.configuration_sections import AgentSection
    from skillgym_action.settings.context import LaunchContext
    from skillgym_action.settings.options import Settings


def selected_runners(config: Config, selectors: Iterable[str], environment: Mapping[str, str]) -> tuple[Runner, ...]:
    """The selected runners, in the order of ``selectors``; without any, all that are configured.

    An unknown selector selects nothing, since it may be a runner of a suite. Raises ConfigError.
    """
    configured = config.file.runners or {}
    wanted = tuple(selectors) or tuple(configured)
    runners: dict[str, Runner] = {}
    for selector in wanted:
        ids = [name for name in configured if name == selector or matches(name, selector)] if selectors else [selector]
        for name in ids:
            runners.setdefault(name, _configured(name, configured[name].agent, config, environment))
        if not ids and is_agent(selector):
            runners.setdefault(selector, _ad_hoc(selector, environment))
    return tuple(runners.values())


def is_agent(selector: str) -> bool:
    """Whether ``selector`` is an agent that needs no configuration, with or without a model: ``claude-code:opus``."""
    listing = AGENTS.get(selector.partition(":")[0])
    return listing is not None and _is_selectable(listing)


def _is_selectable(agent: AgentInfo) -> bool:
    """Whether ``--runner`` can name it without any configuration."""
    return agent.executable is not None or agent.needs_no_program


def unknown_runner(selector: str, known: Iterable[str]) -> UsageError:
    """The error for a selector that selects no runner."""
    choices = {*known, *(name for name, listing in AGENTS.items() if _is_selectable(listing))}
    return UsageError(f"unknown runner {selector!r}", remedy=did_you_mean(selector, choices))


def no_runner() -> UsageError:
    """The error for a run without any runner."""
    found = [name for name, listing in AGENTS.items() if listing.executable and which(listing.executable)]
    installed = f"found on this machine: {', '.join(found)}" if found else "no agent's CLI is on PATH"
    return UsageError(
        f"no runner is configured or named; {installed}",
        remedy=f"use --runner {found[0] if found else 'claude-code'}, or add runners to skillgym.config.yaml",
    )


def usable(runner: Runner, suite: str, environment: Mapping[str, str]) -> Runner:
    """A suite's own runner with the keys of its agent; ``problem`` is set if the agent is not supported."""
    if runner.problem:
        return runner
    listing = AGENTS.get(runner.agent.type)
    if listing is None:
        message = f"runner {runner.id}: the agent {runner.agent.type} is not supported yet"
        known = ", ".join(name for name, info in AGENTS.items() if info.executable)
        problem = Problem(message=message, location=Location(path=suite), remedy=f"known: {known}")
        return replace(runner, problem=problem)
    return replace(runner, agent=replace(runner.agent, env={**_keys(listing, environment), **runner.agent.env}))


def secrets_of(runners: Iterable[Runner]) -> tuple[str, ...]:
    """Values of the runners' secret variables, to be redacted in everything that is written."""
    env = ((name, value) for runner in runners for name, value in runner.agent.env.items())
    return tuple(value for name, value in env if is_secret_name(name))


def secrets_of_arms(arms: Iterable[Arm]) -> tuple[str, ...]:
    """Values of the secret variables that arms set."""
    return tuple(value for arm in arms for name, value in arm.env if is_secret_name(name))


def _keys(listing: AgentInfo, environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name in listing.keys if name in environment and (value := environment[name])}


def _ad_hoc(selector: str, environment: Mapping[str, str]) -> Runner:
    agent, _, model = selector.partition(":")
    keys = _keys(AGENTS[agent], environment)
    return Runner(
        id=selector, path_key=path_key(selector), agent=AgentConfig(type=agent, model=model or None, env=keys)
    )


def _configured(name: str, agent: AgentSection, config: Config, environment: Mapping[str, str]) -> Runner:
    folder, at = config.folder, ("runners", name, "agent")
    keys = _keys(AGENTS[agent.type], environment)
    if agent.type in {"command", "replay"} and not (agent.command if agent.type == "command" else agent.sessions):
        missing = "command" if agent.type == "command" else "sessions"
        raise config.error(f"an agent of type {agent.type} needs {missing}", at, f"add {missing}: …")
    if agent.version and (agent.command or not AGENTS[agent.type].package):
        why = "command names its program" if agent.command else f"{agent.type} is not installed from npm"
        raise config.error(f"version has no effect, since {why}", at, "remove version")
    shell = agent.type == "command" and isinstance(agent.command, str)
    argv = (agent.command,) if isinstance(agent.command, str) else agent.command or ()
    return Runner(
        id=name,
        path_key=path_key(name),
        agent=AgentConfig(
            type=agent.type,
            model=agent.model,
            version=agent.version,
            command=argv if shell else tuple(_from(folder, part) for part in argv),
            shell=shell,
            command_args=tuple(_from(folder, part) for part in agent.command_args),
            env={**keys, **resolved_env(agent.env, environment, config, (*at, "env"))},
            output=agent.output,
            budget=agent.budget,
            sessions=str((folder or Path.cwd()) / agent.sessions) if agent.sessions else None,
        ),
        warnings=tuple(_placeholder_warnings(agent, config, at)) if agent.type == "command" else (),
    )


def _placeholder_warnings(agent: AgentSection, config: Config, at: KeyPath) -> Iterator[Problem]:
    """A warning for each misspelt placeholder, which the program would get as it is written."""
    from skillgym_action.agents.command import misspelt_placeholders

    shell = isinstance(agent.command, str)
    parts: dict[KeyPath, str] = {("command",): agent.command} if isinstance(agent.command, str) else {}
    for key, words in (("command", () if shell else agent.command or ()), ("commandArgs", agent.command_args)):
        parts |= {(key, index): word for index, word in enumerate(words)}
    for place, part in parts.items():
        for word, meant in misspelt_placeholders(part):
            message, remedy = f"unknown placeholder '{{{word}}}'", meant_word(f"{{{meant}}}")
            yield config.problem(message, (*at, *place), remedy)


def _from(folder: Path | None, part: str) -> str:
    """``part``; one that begins with ``./`` or ``../`` is relative to the configuration file."""
    return str(folder / part) if folder and part.startswith(("./", "../")) else part


def configured_runners(settings: Settings, config: Config, context: LaunchContext) -> tuple[Runner, ...]:
    """The runners that ``settings.runner`` selects; the context's redactor learns their keys."""
    selected = selected_runners(config, settings.runner, context.environment)
    context.redactor.learn(secrets_of(selected))
    return selected
