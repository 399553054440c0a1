"""The runners of a run: configured ones, selected by id; agents that are named ad hoc; or a suite's own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING, cast

from skillgym_action.agents import AGENTS
from skillgym_action.agents.families import account
from skillgym_action.model.errors import ConfigError, Location, Problem, UsageError, did_you_mean, meant_word
from skillgym_action.model.runner import Runner
from skillgym_action.model.session import NO_ACCOUNT, AgentConfig
from skillgym_action.settings.configuration_file import KINDS, REFERENCE, read_config, resolved_env
from skillgym_action.suites import FORMATS
from skillgym_action.system.files.checkout import Checkout
from skillgym_action.system.files.globs import matches
from skillgym_action.text.escaping import path_key
from skillgym_action.text.secret_forms import is_public, is_secret_name, secret_values

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from skillgym_action.agents import AgentInfo
    from skillgym_action.model.arm import Arm
    from skillgym_action.model.execution import Execution
    from skillgym_action.model.plugin_table import PlugIn
    from skillgym_action.model.session import Way
    from skillgym_action.settings.configuration import AgentSection
    from skillgym_action.settings.configuration_file import Config
    from skillgym_action.settings.context import LaunchContext
    from skillgym_action.settings.option_types import Auth
    from skillgym_action.settings.settings import Settings
    from skillgym_action.text.documents.located_values import KeyPath


def runner_ids(config: Config, selectors: Iterable[str]) -> tuple[str, ...]:
    """The ids of the selected runners, in the order of ``selectors``; without any, of all that are configured.

    An unknown selector selects nothing, since it may be a runner of a suite.
    """
    configured = config.file.runners or {}
    found = dict[str, None]() if selectors else dict.fromkeys(configured)
    for selector in selectors:
        ids = [name for name in configured if name == selector or matches(name, selector)]
        found |= dict.fromkeys(ids or ([selector] if is_agent(selector) else []))
    return tuple(found)


def selected_runners(
    config: Config, selectors: Iterable[str], environment: Mapping[str, str], auth: Auth | None = None
) -> tuple[Runner, ...]:
    """The runners with these ids. ``auth``: the way to get an account, whatever they set. Raises ConfigError."""
    configured = config.file.runners or {}
    return tuple(
        _configured(name, configured[name].agent, config, environment, auth)
        if name in configured
        else _ad_hoc(name, environment, auth)
        for name in runner_ids(config, selectors)
    )


def is_agent(selector: str) -> bool:
    """Whether ``selector`` is an agent that needs no configuration, with or without a model: ``claude-code:opus``."""
    listing = AGENTS.get(selector.partition(":")[0])
    return listing is not None and _is_selectable(listing)


def _is_selectable(agent: AgentInfo) -> bool:
    """Whether ``--runner`` can name it without any configuration."""
    return agent.executable is not None or agent.needs_no_program


def selectable_agents() -> Iterator[str]:
    """The agents that need no configuration. Those of plug-ins are not loaded, so that some of them may need it."""
    return (name for name in AGENTS if name not in AGENTS.own or _is_selectable(AGENTS.own[name]))


def plug_ins_of(execution: Execution, sandbox: str) -> tuple[PlugIn, ...]:
    """What adds the agent of an execution, the format of its suite, and the sandbox that it needs."""
    from skillgym_action.system.containers import SANDBOXES

    spec = execution.case.workspace or execution.suite.workspace
    agent, format_ = AGENTS.plug_ins(execution.runner.agent.type), FORMATS.plug_ins(execution.suite.format)
    return (*agent, *format_, *(SANDBOXES.plug_ins(sandbox) if spec.container else ()))


def unknown_runner(selector: str, known: Iterable[str]) -> UsageError:
    """The error for a selector that selects no runner."""
    return UsageError(f"unknown runner {selector!r}", remedy=did_you_mean(selector, {*known, *selectable_agents()}))


def no_runner() -> UsageError:
    """The error for a run without any runner."""
    found = [name for name, listing in AGENTS.own.items() if listing.executable and which(listing.executable)]
    installed = f"found on this machine: {', '.join(found)}" if found else "no agent's CLI is on PATH"
    return UsageError(
        f"no runner is configured or named; {installed}",
        remedy=f"use --runner {found[0] if found else 'claude-code'}, or add runners to skillgym.config.yaml",
    )


def usable(runner: Runner, suite: str, environment: Mapping[str, str], auth: Auth | None = None) -> Runner:
    """A suite's own runner with the account of its agent; ``problem`` is set if the agent is not supported."""
    if runner.problem:
        return runner
    listing = AGENTS.get(runner.agent.type)
    if listing is None:
        message = f"runner {runner.id}: the agent {runner.agent.type} is not supported yet"
        known = ", ".join(name for name, info in AGENTS.own.items() if info.executable)
        problem = Problem(message=message, location=Location(path=suite), remedy=f"known: {known}")
        return replace(runner, problem=problem)
    return replace(runner, agent=_with_account(runner.agent, environment, auth))


def secrets_of(runners: Iterable[Runner]) -> tuple[str, ...]:
    """Values of the runners' secret variables, to be redacted in everything that is written."""
    return tuple(value for runner in runners for value in secret_values(runner.agent.env))


def secrets_of_arms(arms: Iterable[Arm]) -> tuple[str, ...]:
    """Values of the secret variables that arms set."""
    return tuple(value for arm in arms for name, value in arm.env if is_secret_name(name))


def taken_values(config: Config, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Values that ``env`` of runners, arms and the judge takes from ``environment``, but not those of public variables.

    Public are ``run.publicVariables``, variables that say where a program runs, and what agents get besides keys.
    """
    file = config.file
    sections = [runner.agent.env for runner in (file.runners or {}).values()]
    arms = [arm.env for arm in (file.arms or {}).values()]
    sections += [{name: value for name, value in env.items() if value is not None} for env in arms]
    sections += [file.run.judge.env] if file.run.judge else []
    names = {found[1] or found[2] for env in sections for text in env.values() for found in REFERENCE.finditer(text)}
    configured = {runner.agent.type for runner in (file.runners or {}).values()}
    families = (family for agent in {*AGENTS.own, *configured} for family in AGENTS[agent].families)
    keys = (name for family in families for name in family.variables)
    public = {*file.run.public_variables, *keys}
    return tuple(environment[name] for name in sorted(names - public) if name in environment and not is_public(name))


NO_MODEL = "set model: without one, the model depends on how the agent gets its account"


def needs_model(agent: AgentConfig) -> bool:
    """Whether another account would have another default model: a plan has another one than keys."""
    billings = {family.billing for family in AGENTS[agent.type].families}
    return agent.account.billing == "plan" and len(billings) > 1 and agent.model is None


def _with_account(agent: AgentConfig, environment: Mapping[str, str], auth: Auth | None) -> AgentConfig:
    """The agent with the variables of its account."""
    info, asked = AGENTS[agent.type], None if auth in {None, "auto"} else cast("Way", auth)
    found, env = account(info.families, agent.env, environment, asked, several=info.provider is None)
    return replace(agent, env=env, account=found if info.families else NO_ACCOUNT)


def _ad_hoc(selector: str, environment: Mapping[str, str], auth: Auth | None) -> Runner:
    agent, _, model = selector.partition(":")
    config = _with_account(AgentConfig(type=agent, model=model or None), environment, auth)
    return Runner(id=selector, path_key=path_key(selector), agent=config)


def _configured(
    name: str, agent: AgentSection, config: Config, environment: Mapping[str, str], auth: Auth | None
) -> Runner:
    folder, at = config.folder, ("runners", name, "agent")
    if agent.type in {"command", "replay"} and not (agent.command if agent.type == "command" else agent.sessions):
        missing = "command" if agent.type == "command" else "sessions"
        raise config.error(f"an agent of type {agent.type} needs {missing}", at, f"add {missing}: …")
    if agent.version and (agent.command or not AGENTS[agent.type].package):
        why = "command names its program" if agent.command else f"{agent.type} is not installed from npm"
        raise config.error(f"version has no effect, since {why}", at, "remove version")
    if agent.auth and not AGENTS[agent.type].families:
        raise config.error(f"auth has no effect, since {agent.type} has no account", at, "remove auth")
    shell = agent.type == "command" and isinstance(agent.command, str)
    argv = (agent.command,) if isinstance(agent.command, str) else agent.command or ()
    found = AgentConfig(
        type=agent.type,
        model=agent.model,
        version=agent.version,
        command=argv if shell else tuple(_from(folder, part) for part in argv),
        shell=shell,
        command_args=tuple(_from(folder, part) for part in agent.command_args),
        env=resolved_env(agent.env, environment, config, (*at, "env")),
        output=agent.output,
        budget=agent.budget,
        sessions=str((folder or Path.cwd()) / agent.sessions) if agent.sessions else None,
    )
    return Runner(
        id=name,
        path_key=path_key(name),
        agent=_with_account(found, environment, auth or agent.auth),
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
    selected = selected_runners(config, settings.runner, context.environment, settings.auth)
    context.redactor.learn((*secrets_of(selected), *taken_values(config, context.environment)))
    return selected


def runners_at(
    settings: Settings, config: Config, context: LaunchContext
) -> Callable[[Path], Mapping[str, Runner] | str] | None:
    """What reads the runners of another commit by id, from a folder with its files; None: they are those of this one.

    It returns the reason if they are unknown: the configuration is not there, is a program, or is not valid there.
    """
    path, root = config.path, context.root
    if path is None or context.suite_source.is_separate or not path.is_relative_to(root):
        return None
    name = path.relative_to(root)

    def of_folder(folder: Path) -> Mapping[str, Runner] | str:
        if path.suffix not in KINDS:
            return f"{name} is a program, so the runners of the base commit are unknown"
        try:
            found = read_config(folder / name, f"{name} of the base commit", checkout=Checkout(folder))
            found = found.with_runners(settings.runners) if settings.runners else found
            selected = selected_runners(found, settings.runner, context.environment, settings.auth)
        except (ConfigError, OSError):
            return f"{name} of the base commit cannot be used: it is not there, not valid, or lacks a variable"
        context.redactor.learn((*secrets_of(selected), *taken_values(found, context.environment)))
        return {runner.id: runner for runner in selected}

    return of_folder
