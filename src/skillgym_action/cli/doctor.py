"""What is installed, configured, reachable, permitted: a finding each, with the remedy. For the command ``doctor``."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from skillgym_action import __version__, wiring
from skillgym_action.agents import AGENTS
from skillgym_action.github.event import github_event
from skillgym_action.model.errors import Location, SkillgymError, UsageError, did_you_mean
from skillgym_action.model.execution import Execution
from skillgym_action.model.suite import Case, Suite, WorkspaceSpec
from skillgym_action.model.verdicts import TROUBLES
from skillgym_action.processes.users import IDS
from skillgym_action.sessions.run_session import run_session
from skillgym_action.settings.configuration_file import Config, find_config
from skillgym_action.settings.options import ExecuteOptions
from skillgym_action.settings.runners import configured_runners, unknown_runner
from skillgym_action.suite_hosts.node import Node
from skillgym_action.supervisor.prctl import is_protected
from skillgym_action.text.escaping import clipped, one_line
from skillgym_action.text.redaction import is_secret_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from skillgym_action.model.execution import Runner
    from skillgym_action.services import Services
    from skillgym_action.settings.context import Context
    from skillgym_action.settings.options import Settings

PROBE = "Reply with the one word: ready"
PROBE_LIMIT = 60.0  # seconds
TOLD = 200  # characters of what an agent says
TOKENS = ("GITHUB_TOKEN", "GH_TOKEN")


class State(IntEnum):
    """How a finding is meant, worst last. Only a problem keeps from working what is configured."""

    FINE = 0
    NOTE = 1
    WARNING = 2
    PROBLEM = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One line: what was looked at, how it is, what to do about it."""

    subject: str
    text: str
    state: State = State.FINE
    remedy: str | None = None


def findings(
    services: Services, settings: Settings, context: Context, *, install: tuple[str, ...], probe: bool
) -> Iterator[Finding]:
    """Everything that can be looked at, as soon as it is known. Raises UsageError for an unknown agent."""
    wanted = [_agent_and_version(text) for text in install]
    yield Finding(subject="skillgym-action", text=f"{__version__} on Python {platform.python_version()}")
    yield _git(services)
    yield _node(services, context.environment)
    yield from (_installed(services, agent, version) for agent, version in wanted)
    config = _config(settings, context)
    yield _config_finding(config, settings, context)
    usable = config if isinstance(config, Config) else Config(folder=context.cwd)
    for found in _runners(services, settings, context, usable):
        yield (
            found
            if isinstance(found, Finding)
            else _runner(services, found, configured=_is_configured(settings, usable))
        )
        if probe and not isinstance(found, Finding) and not found.agent.sessions:
            yield _probed(services, found)
    yield _who(services)
    yield _sessions(services)
    yield _own_process()
    yield from _github(context.environment)


def _agent_and_version(text: str) -> tuple[str, str | None]:
    agent, _, version = text.partition("@")
    known = [name for name, listing in AGENTS.items() if listing.package]
    if agent not in known:
        raise UsageError(f"--install: unknown agent {agent!r}", remedy=did_you_mean(agent, known))
    return agent, version or None


# --- the machine ------------------------------------------------------------------------------------


def _git(services: Services) -> Finding:
    version = services.installs.version("git")
    if version:
        return Finding(subject="git", text=version)
    what = "not found; copies of the repository need it"
    return Finding(subject="git", text=what, state=State.PROBLEM, remedy="install git")


def _node(services: Services, environment: Mapping[str, str]) -> Finding:
    finding = partial(Finding, subject="Node.js")
    told = {name: services.installs.version(name) or "not found" for name in ("node", "npm")}
    text = f"{told['node']}, npm {told['npm']}"
    try:
        Node(services.processes, environment.get("SKILLGYM_NODE")).program  # noqa: B018 -- raises when there is none
    except SkillgymError as error:
        return finding(text=f"{text}; {error}", state=State.WARNING)
    if told["npm"] == "not found":
        return finding(text=text, state=State.WARNING, remedy="agents are installed through npm: install Node.js")
    return finding(text=text)


def _installed(services: Services, agent: str, version: str | None) -> Finding:
    try:
        made = services.installs.install(agent, version)
    except SkillgymError as error:
        return Finding(subject="install", text=str(error), state=State.PROBLEM)
    how = "was there" if made.seconds is None else f"installed in {made.seconds:.1f} s"
    return Finding(subject="install", text=f"{agent} {made.version} {how}: {made.program}")


def _who(services: Services) -> Finding:
    subject = "agents"
    if services.processes.user:
        return Finding(subject=subject, text=f"run as the user {services.processes.user.name}")
    if os.geteuid() == 0:
        remedy = "use --agent-user, unless this machine is thrown away"
        return Finding(subject=subject, text="run as the caller, root", state=State.WARNING, remedy=remedy)
    return Finding(subject=subject, text="run as the caller", state=State.NOTE)


def _sessions(services: Services) -> Finding:
    """What keeps sessions apart from each other and from the job."""
    finding = partial(Finding, subject="sessions")
    if user := services.processes.user:
        apart = f"each has a user id of its own, {IDS.start} to {IDS.stop - 1}, and reaches no other session"
        if user.have_names:
            return finding(text=apart)
        nameless = "; these users have no name, and os.userInfo() of Node.js fails there"
        return finding(text=apart + nameless, state=State.WARNING, remedy="give them names in /etc/passwd")
    text = "not apart from each other, and read what the caller may read; "
    if Path("/proc/self").is_dir():
        return finding(text=f"{text}nothing they start outlives them", state=State.NOTE)
    text += "a program that leaves its process group outlives its session"
    return finding(text=text, state=State.WARNING, remedy="run untrusted suites in the action's container")


def _own_process() -> Finding:
    if is_protected():
        text = "no other process reads its memory, and nothing it starts gains rights through setuid programs"
        return Finding(subject="this process", text=text)
    text = "programs of the same user can read its memory, and what it starts can use setuid programs"
    return Finding(subject="this process", text=text, state=State.WARNING, remedy="run it on Linux")


def _github(environment: Mapping[str, str]) -> Iterator[Finding]:
    """What the environment says; the API is not asked."""
    try:
        event = github_event(environment)
    except SkillgymError as error:
        yield Finding(subject="GitHub", text=str(error), state=State.PROBLEM)
        return
    if event is None:
        return
    text = f"{event.name} on {event.repository}"
    if event.read_only_reason:
        yield Finding(subject="GitHub", text=f"{text}; {event.read_only_reason}", state=State.NOTE)
    elif any(environment.get(name) for name in TOKENS):
        permitted = "whether it may write depends on the job's permissions: pull-requests: write"
        yield Finding(subject="GitHub", text=f"{text}; there is a token; {permitted}")
    else:
        yield Finding(
            subject="GitHub", text=f"{text}; no token: nothing is written on the pull request", state=State.NOTE
        )


# --- what is configured -----------------------------------------------------------------------------


def _config(settings: Settings, context: Context) -> Config | SkillgymError:
    try:
        return wiring.configuration(settings, context)
    except SkillgymError as error:
        return error


def _config_finding(config: Config | SkillgymError, settings: Settings, context: Context) -> Finding:
    subject = "configuration"
    if isinstance(config, SkillgymError):
        return Finding(subject=subject, text=str(config), state=State.PROBLEM)
    file = settings.config or find_config(context.cwd, context.root)
    if file is None:
        return Finding(subject=subject, text="no skillgym.config.* here or above", state=State.NOTE)
    return Finding(subject=subject, text=os.path.relpath(context.cwd / file, context.cwd))


def _is_configured(settings: Settings, config: Config) -> bool:
    return bool(settings.runner or config.file.runners)


def _runners(services: Services, settings: Settings, context: Context, config: Config) -> Iterator[Runner | Finding]:
    """Those of the configuration, or those named, or the agents there are; with the programs that a run would start."""
    found = [
        name
        for name, listing in AGENTS.items()
        if listing.executable and listing.format is None
        if services.installs.on_path(listing.executable) or (listing.package and services.installs.there(name))
    ]
    known = tuple(config.file.runners or ())
    ids = settings.runner or known or tuple(found)
    if not ids:
        text = "none is configured, and no agent's CLI was found"
        remedy = "skillgym-action doctor --install claude-code"
        yield Finding(subject="runners", text=text, state=State.PROBLEM, remedy=remedy)
    for name in ids:
        try:
            runners = configured_runners(settings.model_copy(update={"runner": (name,)}), config, context)
            if not runners:
                raise unknown_runner(name, known)
        except SkillgymError as error:
            yield Finding(subject=name, text=str(error), state=State.PROBLEM)
        else:
            yield from (_equipped(services, runner) for runner in runners)


# --- a runner ---------------------------------------------------------------------------------------


def _equipped(services: Services, runner: Runner) -> Runner:
    """With the program that a run would start."""
    agent, listing = runner.agent, AGENTS[runner.agent.type]
    on_path = listing.executable and not agent.version and services.installs.on_path(listing.executable)
    if agent.command or on_path or not listing.package:
        return runner
    there = services.installs.there(agent.type, agent.version)
    return replace(runner, agent=replace(agent, command=(str(there),))) if there else runner


def _runner(services: Services, runner: Runner, *, configured: bool) -> Finding:
    agent, listing = runner.agent, AGENTS[runner.agent.type]
    if listing.executable is None:
        return _stand_in(services, runner)
    command = agent.command or (listing.executable,)
    program = services.installs.on_path(command[0], agent.env.get("PATH"))
    finding = partial(Finding, subject=runner.id)
    if program is None or (agent.version and not agent.command):
        wanted = f"{agent.type}@{agent.version}" if agent.version else agent.type
        how = f"skillgym-action doctor --install {wanted}" if listing.package else "install it, where PATH finds it"
        missing = f"version {agent.version} is not installed" if agent.version else f"{command[0]} was not found"
        return finding(text=f"{agent.type}: {missing}", state=State.PROBLEM, remedy=how)
    version = services.installs.version(program, *command[1:])
    if version is None:
        how = f"start it yourself: {program} --version"
        return finding(text=f"{agent.type}: {program} tells no version", state=State.PROBLEM, remedy=how)
    key, state, remedy = _key(runner, configured=configured)
    verified = "the verified version" if version == listing.version else f"verified was {listing.version}"
    if version not in {listing.version, agent.version}:
        state = max(state, State.WARNING)
    return finding(text=f"{agent.type} {version}, {verified}; {program}; {key}", state=state, remedy=remedy)


def _key(runner: Runner, *, configured: bool) -> tuple[str, State, str | None]:
    """Names of the variables that hold keys; never what they hold. Without a key, another variable may help."""
    names = [name for name in runner.agent.env if is_secret_name(name)]
    if names:
        return f"key in {', '.join(names)}", State.FINE, None
    known = " or ".join(name for name in AGENTS[runner.agent.type].keys if is_secret_name(name))
    state = State.PROBLEM if configured and not runner.agent.env else State.WARNING
    return "no key", state, f"set {known}" if known else "name its key in agent.env"


def _stand_in(services: Services, runner: Runner) -> Finding:
    agent = runner.agent
    finding = partial(Finding, subject=runner.id)
    if agent.sessions:
        if Path(agent.sessions).is_dir():
            return finding(text=f"{agent.type}: {agent.sessions}")
        return finding(
            text=f"{agent.type}: {agent.sessions} is not there",
            state=State.PROBLEM,
            remedy="record sessions: run --record",
        )
    if agent.shell or not agent.command:
        return finding(text=f"{agent.type}: {clipped(one_line(' '.join(agent.command)), TOLD)}")
    program = services.installs.on_path(agent.command[0], agent.env.get("PATH"))
    if program:
        return finding(text=f"{agent.type}: {program}")
    missing = f"{agent.type}: {agent.command[0]} was not found"
    return finding(text=missing, state=State.PROBLEM, remedy="install it, or correct agent.command")


def _probed(services: Services, runner: Runner) -> Finding:
    """One real session in an empty workspace."""
    case = Case(id="probe", prompt=PROBE, location=Location(path="doctor"), assertions=())
    suite = Suite(
        path="doctor", file=Path(), name="doctor", format="", cases=(case,), workspace=WorkspaceSpec(source="empty")
    )
    execution = Execution(
        index=0,
        suite=suite,
        case=case,
        runner=runner,
        directory=f"doctor/probe/{runner.path_key}",
        timeout=PROBE_LIMIT,
        budget=None,
        model=runner.agent.model,
    )
    tried = run_session(services, execution, 1, 1, ExecuteOptions())
    finding = partial(Finding, subject=f"{runner.id}, probed")
    if tried.trouble:
        kind = TROUBLES[tried.trouble.kind]
        text = f"{kind.label} ({tried.trouble.kind}): {clipped(one_line(tried.trouble.message), TOLD)}"
        return finding(text=text, state=State.PROBLEM, remedy=kind.remedy)
    answer = clipped(one_line(tried.result.final_output or ""), TOLD).strip()
    cost = "cost unknown" if tried.agent_cost.usd is None else f"${tried.agent_cost.usd:.4f}"
    facts = f"after {tried.attempt.duration_ms / 1000:.1f} s, {cost}"
    if not answer:
        return finding(text=f"no answer {facts}", state=State.PROBLEM, remedy="start the agent yourself and look")
    return finding(text=f"answered {answer!r} {facts}")
