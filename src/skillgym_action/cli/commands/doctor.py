"""The command ``doctor``: what is installed, configured, reachable and permitted, a line each, with the remedy."""

from __future__ import annotations

import os
import platform
import sys
from dataclasses import replace
from enum import IntEnum
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from skillgym_action.agents import AGENTS
from skillgym_action.agents.accounts import LOGIN_PAGE
from skillgym_action.agents.installation import notes_on_program
from skillgym_action.cli.terminal import is_colored, terminal_for
from skillgym_action.github.event import github_event
from skillgym_action.model.errors import InstallError, Location, PlugInError, SkillgymError, UsageError, did_you_mean
from skillgym_action.model.execution import Execution
from skillgym_action.model.exit_codes import ExitCode
from skillgym_action.model.plugin_table import installed_plug_ins
from skillgym_action.model.records import record
from skillgym_action.model.suite import BenchmarkCase, BenchmarkSuite, WorkspaceSpec
from skillgym_action.model.verdicts import TROUBLES
from skillgym_action.model.version import __version__
from skillgym_action.pipeline import wiring
from skillgym_action.reports import REPORTERS
from skillgym_action.sessions.run_session import run_session
from skillgym_action.settings.configuration_file import Config, find_config
from skillgym_action.settings.runners import NO_MODEL, configured_runners, needs_model, unknown_runner
from skillgym_action.settings.settings import ExecuteOptions
from skillgym_action.suites import FORMATS
from skillgym_action.suites.programs.hosts.node import Node
from skillgym_action.suites.programs.hosts.suite_host import PACKAGE
from skillgym_action.system.containers import SANDBOXES
from skillgym_action.system.processes.users import SESSION_UIDS
from skillgym_action.system.supervisor.prctl import is_protected
from skillgym_action.text.escaping import clipped, one_line, terminal_line
from skillgym_action.text.secret_forms import is_secret_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from skillgym_action.model.plugin_table import PlugIn, PluginTable
    from skillgym_action.model.runner import Runner
    from skillgym_action.services import Services
    from skillgym_action.settings.context import LaunchContext
    from skillgym_action.settings.settings import Settings

MAX_PROBE_SECONDS = 60.0  # of the session that `doctor --probe` runs
MAX_DOCTOR_TEXT_CHARACTERS = 200  # of a command, an answer or a message in a line of `doctor`
CONTAINER_LEASE_SECONDS = 24 * 3600.0  # after which `doctor --sweep` removes a container, even if it runs
PROBE = "Reply with the one word: ready"
TABLES: tuple[PluginTable[Any], ...] = (AGENTS, FORMATS, REPORTERS, SANDBOXES)
TOKENS = ("GITHUB_TOKEN", "GH_TOKEN")


class State(IntEnum):
    """The state of a check, worst last. Only a problem prevents what is configured from working."""

    FINE = 0
    NOTE = 1
    WARNING = 2
    PROBLEM = 3


STATE_NAMES: dict[State, Literal["fine", "note", "warning", "problem"]] = {
    State.FINE: "fine",
    State.NOTE: "note",
    State.WARNING: "warning",
    State.PROBLEM: "problem",
}
SIGNS = {
    State.FINE: ("✓", "green"),
    State.NOTE: ("·", "dim"),
    State.WARNING: ("!", "yellow"),
    State.PROBLEM: ("✗", "red"),
}


@record
class DoctorCheck:
    """A line of the output: what was checked, the result, and what to do about it."""

    subject: str
    text: str
    state: State = State.FINE
    remedy: str | None = None


def diagnose(
    settings: Settings,
    context: LaunchContext,
    *,
    install: tuple[str, ...],
    probe: bool,
    as_json: bool = False,
    sweep: bool = False,
) -> int:
    """Print a line for each check, as soon as it is done; 1 if one of them found a problem. Raises UsageError."""
    terminal = terminal_for(settings, context)
    done: list[DoctorCheck] = []
    with wiring.services_without_run(context, terminal, settings.agent_user) as services:
        show = _shown_line(settings, context)
        found = checks(services, settings, context, install=install, probe=probe)
        for check in chain(found, container_checks(services, context, sweep=sweep)):
            if check in done:  # of a runner that several --runner select
                continue
            done.append(check)
            if not as_json:
                show(check)
    worst = max((check.state for check in done), default=State.FINE)
    code = ExitCode.FAILED if worst == State.PROBLEM else ExitCode.PASSED
    if as_json:
        _print_json(done, code, context)
    return code


def _shown_line(settings: Settings, context: LaunchContext) -> Callable[[DoctorCheck], None]:
    """A function that prints a check on a line."""
    from rich.console import Console
    from rich.text import Text

    color = not settings.no_color and is_colored(sys.stdout, context.environment)
    console = Console(no_color=not color, force_terminal=color, highlight=False, soft_wrap=True)

    def show(check: DoctorCheck) -> None:
        sign, color = SIGNS[check.state]
        texts = (check.subject, "; ".join(part for part in (check.text, check.remedy) if part))
        subject, text = (terminal_line(context.redactor.text(" ".join(part.split()))) for part in texts)
        console.print(Text.assemble((sign, color), f" {subject:16} {text}"))

    return show


def _print_json(done: Iterable[DoctorCheck], code: int, context: LaunchContext) -> None:
    from skillgym_action.cli.schemas.json_documents import DoctorCheckPart, DoctorDocument, print_document

    parts = [
        DoctorCheckPart(subject=check.subject, state=STATE_NAMES[check.state], text=check.text, remedy=check.remedy)
        for check in done
    ]
    print_document(DoctorDocument(exit_code=code, checks=parts), context.redactor)


def container_checks(services: Services, context: LaunchContext, *, sweep: bool) -> Iterator[DoctorCheck]:
    """The engine of containers: whether one answers, and what it can do. ``sweep``: remove what killed runs left."""
    from skillgym_action.system.containers import SandboxSettings, open_sandbox

    check = partial(DoctorCheck, subject="containers")
    settings = SandboxSettings(
        run="doctor", environment=context.environment, cancelled=services.cancelled, redact=context.redactor.text
    )
    try:
        with open_sandbox("docker", settings, sweep=False) as sandbox:
            able = sandbox.capabilities
            facts = ", ".join(f"{name} {value}" for name, value in able.details)
            disk = "by the storage" if able.disk == "quota" else "measured while programs run"
            limits = ", ".join(f"disk ({disk})" if name == "disk" else name for name in sorted(able.limits))
            yield check(text=f"Docker: {facts}; limits: {limits}")
            if sweep:
                removed = sandbox.sweep(CONTAINER_LEASE_SECONDS)
                yield check(text=f"removed {', '.join(removed)}" if removed else "killed runs left nothing")
    except SkillgymError as error:
        problem = error.problems[0]
        state = State.PROBLEM if sweep else State.NOTE
        yield check(text=f"none: {problem.message}", state=state, remedy=problem.remedy)


def checks(
    services: Services, settings: Settings, context: LaunchContext, *, install: tuple[str, ...], probe: bool
) -> Iterator[DoctorCheck]:
    """All checks, each as soon as it is done. Raises UsageError for an unknown agent in ``install``."""
    wanted = [_agent_and_version(text) for text in install]
    yield DoctorCheck(subject="skillgym-action", text=f"{__version__} on Python {platform.python_version()}")
    yield _git(services)
    yield _node(services, context.environment)
    yield from (_install(services, agent, version) for agent, version in wanted)
    yield from (_plug_in(table, one) for table in TABLES for one in installed_plug_ins(table.kind))
    config = _config(settings, context)
    yield _configuration(config, settings, context)
    usable = config if isinstance(config, Config) else Config(folder=context.cwd)
    configured = bool(settings.runner or usable.file.runners)
    for runner in _runners(services, settings, context, usable):
        if isinstance(runner, DoctorCheck):
            yield runner
            continue
        try:
            agent = runner.agent
            notes = notes_on_program(services.installs, agent.type, agent.command, agent.env.get("PATH"))
        except InstallError as error:
            yield DoctorCheck(subject=runner.id, text=str(error), state=State.PROBLEM)
            continue
        yield _runner(services, runner, configured=configured)
        for note in notes:
            yield DoctorCheck(subject=f"{runner.id}, program", text=note, state=State.WARNING)
        for warning in runner.warnings:
            text, remedy = str(replace(warning, remedy=None)), warning.remedy
            yield DoctorCheck(subject=f"{runner.id}, command", text=text, state=State.WARNING, remedy=remedy)
        if probe and not runner.agent.sessions:
            yield _probed(services, runner)
    yield _agents_user(services)
    yield _sessions(services)
    yield _own_process()
    yield from _github(context.environment)


def _agent_and_version(text: str) -> tuple[str, str | None]:
    agent, _, version = text.partition("@")
    known = [name for name, listing in AGENTS.own.items() if listing.package]
    if agent not in known:
        raise UsageError(f"--install: unknown agent {agent!r}", remedy=did_you_mean(agent, known))
    return agent, version or None


# --- the machine ------------------------------------------------------------------------------------


def _git(services: Services) -> DoctorCheck:
    version = services.installs.version("git")
    if version:
        return DoctorCheck(subject="git", text=version)
    what = "not found; copies of the repository need it"
    return DoctorCheck(subject="git", text=what, state=State.PROBLEM, remedy="install git")


def _node(services: Services, environment: Mapping[str, str]) -> DoctorCheck:
    check = partial(DoctorCheck, subject="Node.js")
    versions = {name: services.installs.version(name) or "not found" for name in ("node", "npm")}
    text = f"{versions['node']}, npm {versions['npm']}"
    try:
        Node(services.processes, environment.get("SKILLGYM_NODE")).program  # noqa: B018 -- raises when there is none
    except SkillgymError as error:
        return check(text=f"{text}; {error}", state=State.WARNING)
    if versions["npm"] == "not found":
        return check(text=text, state=State.WARNING, remedy="agents are installed through npm: install Node.js")
    return check(text=text)


def _install(services: Services, agent: str, version: str | None) -> DoctorCheck:
    try:
        made = services.installs.install(agent, version)
    except SkillgymError as error:
        return DoctorCheck(subject="install", text=str(error), state=State.PROBLEM)
    how = "was already installed" if made.seconds is None else f"installed in {made.seconds:.1f} s"
    return DoctorCheck(subject="install", text=f"{agent} {made.version} {how}: {made.program}")


def _plug_in(table: PluginTable[Any], plug_in: PlugIn) -> DoctorCheck:
    check = partial(DoctorCheck, subject="plug-in")
    text = f"{table.kind}: {plug_in}"
    if not table.plug_ins(plug_in.name):
        taken = plug_in.name in table.taken
        why = "the tool has one of this name" if taken else "names have a-z, 0-9 and -, and begin with a letter"
        return check(text=f"{text} is not used: {why}", state=State.WARNING, remedy="uninstall the package")
    try:
        table[plug_in.name]
    except PlugInError as error:
        return check(text=str(error), state=State.WARNING)
    return check(text=text)


def _agents_user(services: Services) -> DoctorCheck:
    subject = "agents"
    if user := services.processes.user:
        text = f"run as the user {user.name}"
        for path, permission, verb, languages in (
            (PACKAGE, "r", "read", "Python and TypeScript"),
            (sys.executable, "x", "execute", "Python"),
        ):
            if services.processes.is_closed_to_agents(path, permission):
                text += f", who cannot {verb} {path}: suites in {languages} cannot run"
                remedy = f"install it where every user can {verb} it"
                return DoctorCheck(subject=subject, text=text, state=State.WARNING, remedy=remedy)
        return DoctorCheck(subject=subject, text=text)
    if os.geteuid() == 0:
        remedy = "use --agent-user, unless this machine is thrown away afterwards"
        return DoctorCheck(subject=subject, text="run as the caller, root", state=State.WARNING, remedy=remedy)
    return DoctorCheck(subject=subject, text="run as the caller", state=State.NOTE)


def _sessions(services: Services) -> DoctorCheck:
    """How sessions are isolated from each other and from the job."""
    check = partial(DoctorCheck, subject="sessions")
    if user := services.processes.user:
        first, last = SESSION_UIDS.start, SESSION_UIDS.stop - 1
        isolated = f"each has a user id of its own, {first} to {last}, and cannot access other sessions"
        if user.have_accounts:
            return check(text=isolated)
        nameless = "; these users have no name, so os.userInfo() of Node.js fails"
        return check(text=isolated + nameless, state=State.WARNING, remedy="give them names in /etc/passwd")
    text = "not isolated from each other, and can read the caller's files; "
    if Path("/proc/self").is_dir():
        return check(text=f"{text}all their processes are ended with them", state=State.NOTE)
    text += "a process that leaves its process group outlives its session"
    return check(text=text, state=State.WARNING, remedy="run untrusted suites in the action's container")


def _own_process() -> DoctorCheck:
    if is_protected():
        text = "other processes cannot read its memory, and nothing it starts gains rights through setuid programs"
        return DoctorCheck(subject="this process", text=text)
    text = "programs of the same user can read its memory, and what it starts can use setuid programs"
    return DoctorCheck(subject="this process", text=text, state=State.WARNING, remedy="run it on Linux")


def _github(environment: Mapping[str, str]) -> Iterator[DoctorCheck]:
    """The job according to its environment; the API is not called."""
    try:
        event = github_event(environment)
    except SkillgymError as error:
        yield DoctorCheck(subject="GitHub", text=str(error), state=State.PROBLEM)
        return
    if event is None:
        return
    text = f"{event.name} on {event.repository}"
    if event.read_only_reason:
        reason = f"{text}; {event.read_only_reason}"
        yield DoctorCheck(subject="GitHub", text=reason, state=State.NOTE, remedy=event.read_only_remedy)
    elif any(environment.get(name) for name in TOKENS):
        permitted = "whether it may write depends on the job's permissions: pull-requests: write"
        yield DoctorCheck(subject="GitHub", text=f"{text}; a token is present; {permitted}")
    else:
        yield DoctorCheck(
            subject="GitHub", text=f"{text}; no token: nothing is published on the pull request", state=State.NOTE
        )


# --- what is configured -----------------------------------------------------------------------------


def _config(settings: Settings, context: LaunchContext) -> Config | SkillgymError:
    try:
        return wiring.configuration(settings, context)
    except SkillgymError as error:
        return error


def _configuration(config: Config | SkillgymError, settings: Settings, context: LaunchContext) -> DoctorCheck:
    subject = "configuration"
    if isinstance(config, SkillgymError):
        return DoctorCheck(subject=subject, text=str(config), state=State.PROBLEM)
    file = settings.config or find_config(context.cwd, context.root)
    if file is None:
        return DoctorCheck(subject=subject, text="no skillgym.config.* in this folder or above", state=State.NOTE)
    return DoctorCheck(subject=subject, text=os.path.relpath(context.cwd / file, context.cwd))


def _runners(
    services: Services, settings: Settings, context: LaunchContext, config: Config
) -> Iterator[Runner | DoctorCheck]:
    """The runners of ``--runner``, else those configured, else the installed agents; a check for each that fails."""
    found = [
        name
        for name, listing in AGENTS.own.items()
        if listing.executable and listing.format is None
        if services.installs.find_program(listing.executable)
        or (listing.package and services.installs.installed_program(name))
    ]
    known = tuple(config.file.runners or ())
    ids = settings.runner or known or tuple(found)
    if not ids:
        text = "none is configured, and no agent's CLI was found"
        remedy = "skillgym-action doctor --install claude-code"
        yield DoctorCheck(subject="runners", text=text, state=State.PROBLEM, remedy=remedy)
    for name in ids:
        try:
            runners = configured_runners(settings.model_copy(update={"runner": (name,)}), config, context)
            if not runners:
                raise unknown_runner(name, known)
        except SkillgymError as error:
            yield DoctorCheck(subject=name, text=str(error), state=State.PROBLEM)
        else:
            yield from (_with_login(services, _with_program(services, runner), runner) for runner in runners)


# --- a runner ---------------------------------------------------------------------------------------


def _with_program(services: Services, runner: Runner) -> Runner:
    """``runner`` with the program that a run would start, if it is installed."""
    agent, listing = runner.agent, AGENTS[runner.agent.type]
    on_path = listing.executable and not agent.version and services.installs.find_program(listing.executable)
    if agent.command or on_path or not listing.package:
        return runner
    installed = services.installs.installed_program(agent.type, agent.version)
    return replace(runner, agent=replace(agent, command=(str(installed),))) if installed else runner


def _with_login(services: Services, runner: Runner, configured: Runner) -> Runner:
    """``runner`` with the caller's login as a run would use it, or with the reason why it would not."""
    agent, logins = runner.agent, services.installs.logins
    found, program = agent.account, agent.command or (str(AGENTS[agent.type].executable),)
    unused = found.way or found.problem or found.asked not in {None, "login"} or not logins.is_there(agent.type)
    if unused or services.installs.find_program(program[0], agent.env.get("PATH")) is None:
        return runner
    why = "agents run as another user" if services.processes.user else logins.refusal(configured.agent, agent.env)
    if why:
        account = replace(found, problem=f"login found, not used: {why}")
    else:
        account, secrets = logins.account(agent, program, 0)
        services.directory.redactor.learn(secrets)
    return replace(runner, agent=replace(agent, account=account))


def _runner(services: Services, runner: Runner, *, configured: bool) -> DoctorCheck:
    agent, listing = runner.agent, AGENTS[runner.agent.type]
    if listing.executable is None:
        return _program_without_version(services, runner)
    command = agent.command or (listing.executable,)
    program = services.installs.find_program(command[0], agent.env.get("PATH"))
    check = partial(DoctorCheck, subject=runner.id)
    if agent.command and (how := services.installs.permission_remedy(command[0], agent.env.get("PATH"))):
        return check(text=f"{agent.type}: {command[0]} is not executable", state=State.PROBLEM, remedy=how)
    if program is None or (agent.version and not agent.command):
        wanted = f"{agent.type}@{agent.version}" if agent.version else agent.type
        how = f"skillgym-action doctor --install {wanted}" if listing.package else "install it, where PATH finds it"
        missing = f"version {agent.version} is not installed" if agent.version else f"{command[0]} was not found"
        text, installs = f"{agent.type}: {missing}", services.installs
        if not agent.account.way and agent.account.asked in {None, "login"} and installs.logins.is_there(agent.type):
            text += "; your own login is stored"
        elif agent.account.problem:
            text += f"; {agent.account.problem}"
        elif installs.accounts.missing(agent, (services.cwd, services.repository.root)):
            text, how = f"{text}; no account", f"{how}, then {installs.accounts.first_remedy(agent.type)}"
        return check(text=text, state=State.PROBLEM, remedy=how)
    version = services.installs.version(program, *command[1:])
    if version is None:
        how = f"run it yourself: {program} --version"
        return check(text=f"{agent.type}: {program} prints no version", state=State.PROBLEM, remedy=how)
    key, state, remedy = _account(services, runner, configured=configured)
    verified = "the verified version" if version == listing.version else f"verified was {listing.version}"
    if version not in {listing.version, agent.version}:
        state = max(state, State.WARNING)
    return check(text=f"{agent.type} {version}, {verified}; {program}; {key}", state=state, remedy=remedy)


def _account(services: Services, runner: Runner, *, configured: bool) -> tuple[str, State, str | None]:
    """What to report of the runner's account: variables by name, never by value; the state; a remedy.

    Where it has none but other variables are set, the agent may have another way to log in: that is a warning.
    """
    agent, info, found = runner.agent, AGENTS[runner.agent.type], runner.agent.account
    if found.problem:
        return found.problem, State.PROBLEM, f"see {LOGIN_PAGE}"
    if found.way == "login":
        return "your own login", *((State.WARNING, NO_MODEL) if needs_model(agent) else (State.FINE, None))
    names = [name for name in agent.env if is_secret_name(name) and agent.env[name]]
    if names or found.way:
        keys = f"key in {', '.join(names)}" if names else "no key"
        text = keys if found.way != "cloud" else f"{found.family}, {keys}"
        if found.left_out:
            text += f"; not passed on: {', '.join(found.left_out)}"
        if needs_model(agent):
            return text, State.WARNING, NO_MODEL
        if not names and not found.files:
            return text, State.WARNING, services.installs.accounts.remedy(agent.type)
        return text, State.FINE, None
    state = State.PROBLEM if configured and not agent.env else State.WARNING
    remedy = services.installs.accounts.remedy(agent.type) if info.families else "name its key in agent.env"
    return "no account", state, remedy


def _program_without_version(services: Services, runner: Runner) -> DoctorCheck:
    """For agents that are no CLI of their own: ``command`` and ``replay``."""
    agent = runner.agent
    check = partial(DoctorCheck, subject=runner.id)
    if agent.sessions:
        if Path(agent.sessions).is_dir():
            return check(text=f"{agent.type}: {agent.sessions}")
        return check(
            text=f"{agent.type}: {agent.sessions} does not exist",
            state=State.PROBLEM,
            remedy="record sessions with run --record",
        )
    if agent.shell or not agent.command:
        return check(text=f"{agent.type}: {clipped(one_line(' '.join(agent.command)), MAX_DOCTOR_TEXT_CHARACTERS)}")
    program = services.installs.find_program(agent.command[0], agent.env.get("PATH"))
    if program:
        return check(text=f"{agent.type}: {program}")
    if how := services.installs.permission_remedy(agent.command[0], agent.env.get("PATH")):
        return check(text=f"{agent.type}: {agent.command[0]} is not executable", state=State.PROBLEM, remedy=how)
    missing = f"{agent.type}: {agent.command[0]} was not found"
    return check(text=missing, state=State.PROBLEM, remedy="install it, or correct agent.command")


def _probed(services: Services, runner: Runner) -> DoctorCheck:
    """Run one real session in an empty workspace."""
    case = BenchmarkCase(id="probe", prompt=PROBE, location=Location(path="doctor"), assertions=())
    suite = BenchmarkSuite(
        path="doctor", file=Path(), name="doctor", format="", cases=(case,), workspace=WorkspaceSpec(source="empty")
    )
    execution = Execution(
        index=0,
        suite=suite,
        case=case,
        runner=runner,
        directory=f"doctor/probe/{runner.path_key}",
        timeout=MAX_PROBE_SECONDS,
        budget=None,
        model=runner.agent.model,
    )
    probe = run_session(services, execution, 1, 1, ExecuteOptions())
    check = partial(DoctorCheck, subject=f"{runner.id}, probed")
    if probe.trouble:
        kind = TROUBLES[probe.trouble.kind]
        message = clipped(one_line(probe.trouble.message), MAX_DOCTOR_TEXT_CHARACTERS)
        return check(text=f"{kind.label} ({probe.trouble.kind}): {message}", state=State.PROBLEM, remedy=kind.remedy)
    answer = clipped(one_line(probe.result.final_output or ""), MAX_DOCTOR_TEXT_CHARACTERS).strip()
    cost = "cost unknown" if probe.agent_cost.usd is None else f"${probe.agent_cost.usd:.4f}"
    facts = f"after {probe.attempt.duration_ms / 1000:.1f} s, {cost}"
    if not answer:
        return check(text=f"no answer {facts}", state=State.PROBLEM, remedy="start the agent yourself and look")
    return check(text=f"answered {answer!r} {facts}")
