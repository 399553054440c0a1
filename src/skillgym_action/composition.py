"""The composition root: settings -> configuration, runners and options; opens the doors and closes them again."""

from __future__ import annotations

import gc
import os
import signal
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from skillgym_action.config import Config, find_config, read_config
from skillgym_action.effects.agent_installs import AgentInstalls
from skillgym_action.effects.agent_user import CREDENTIALS, agent_user
from skillgym_action.effects.cancellation import Cancellation
from skillgym_action.effects.checkout import Checkout
from skillgym_action.effects.clock import Clock
from skillgym_action.effects.closures import closed_to_others, group_of_suites
from skillgym_action.effects.guardian import reopened
from skillgym_action.effects.journal_file import JOURNAL
from skillgym_action.effects.network import network
from skillgym_action.effects.processes import Processes
from skillgym_action.effects.repository import Repository, repository_root
from skillgym_action.effects.run_directory import RunDirectory
from skillgym_action.effects.strangers_configuration import StrangersConfiguration
from skillgym_action.effects.suite_host import SuiteHosts
from skillgym_action.effects.workspaces import Workspaces
from skillgym_action.errors import ConfigError, UsageError
from skillgym_action.redaction import Redactor, secret_values
from skillgym_action.runners import secrets_of, selected_runners
from skillgym_action.world import Observers, World

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from skillgym_action.domain import Runner
    from skillgym_action.effects.agent_user import AgentUser
    from skillgym_action.effects.github_api import GitHubApi
    from skillgym_action.effects.judge_api import Judge
    from skillgym_action.effects.report_process import ReportTemplates
    from skillgym_action.effects.snapshot_file import SnapshotFile
    from skillgym_action.github.conversation import Conversation
    from skillgym_action.github.event import GitHubEvent
    from skillgym_action.judges.questions import JudgeConfig
    from skillgym_action.options import Options, Settings
    from skillgym_action.snapshots import SnapshotConfig
    from skillgym_action.world import Observer

YOUNG = 10_000  # objects between two looks for garbage in cycles, of which sessions make hardly any


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """A step of a job on GitHub: what started it, the token that may write for it, and what the runner reads of it.

    Without ``programs`` no configuration that is a program is run.
    Without ``token`` nothing is said on a pull request; without ``summary`` or ``outputs`` that file is not written.
    ``stranger``: whose commit it is, where its agent configuration is not to count.
    """

    event: GitHubEvent | None = None
    token: str | None = field(default=None, repr=False)
    annotations: bool = False
    programs: bool = True
    summary: Path | None = None
    outputs: Path | None = None
    stranger: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Where we are: the working directory, the repository around it, the environment as it was, and the job around.

    ``redactor`` knows the environment's secrets, and those of runners as soon as there are any. ``checkout`` is the
    repository's folder, opened before anything in it is read.
    """

    cwd: Path
    root: Path
    checkout: Checkout
    environment: Mapping[str, str]
    redactor: Redactor
    job: Job | None = None


def place(cwd: Path, environment: Mapping[str, str], job: Job | None = None) -> Place:
    """The place of a working directory."""
    absolute = Path(os.path.realpath(cwd))
    redactor = Redactor(secret_values(environment))
    root = repository_root(absolute)
    return Place(cwd=absolute, root=root, checkout=Checkout(root), environment=environment, redactor=redactor, job=job)


def configuration(given: Settings, here: Place) -> Config:
    """The configuration that is named, found upward from the first path, or empty. Raises ConfigError, UsageError."""
    if given.config:
        named = Path(os.path.normpath(here.cwd / given.config))
        if not os.path.lexists(named):
            raise UsageError(f"no such configuration file: {given.config}", remedy="check --config")
        config = read_config(named, given.config, _program_runner(given, here), here.checkout)
    else:
        first = next((here.cwd / path for path in given.paths if not path.startswith("!")), here.cwd)
        start = first if first.is_dir() else first.parent
        found = find_config(Path(os.path.normpath(start)), here.root)
        shown = os.path.relpath(found, here.cwd) if found else ""
        run = _program_runner(given, here)
        config = read_config(found, shown, run, here.checkout) if found else Config(folder=here.cwd)
    return config.with_runners(given.runners) if given.runners else config


def _program_runner(given: Settings, here: Place) -> Callable[[Path], object]:
    """What runs a configuration that is a program: with doors of its own, since those of the run depend on it."""

    def run(file: Path) -> object:
        if here.job and not here.job.programs:
            message = f"{file.name} is a program, and mode report runs nothing of the repository"
            raise ConfigError(message, remedy="write it as YAML, JSON or TOML")
        user = agent_user(given.agent_user) if given.agent_user else None
        node = here.environment.get("SKILLGYM_NODE")
        with ExitStack() as stack:
            cancelled = Cancellation()
            stack.callback(cancelled.close)
            stack.enter_context(_signals(cancelled))
            if user:
                user = _closed(here, user, stack)
            logs = Path(stack.enter_context(TemporaryDirectory(prefix="skillgym-")))
            processes = stack.enter_context(Processes(environment=here.environment, cancelled=cancelled, user=user))
            hosts = stack.enter_context(SuiteHosts(processes, root=here.root, logs=logs, node=node))
            try:
                return hosts.configuration(file)
            except ConfigError:
                if cancelled:
                    raise KeyboardInterrupt from None
                raise

    return run


def runners(given: Settings, config: Config, here: Place) -> tuple[Runner, ...]:
    """The runners of a run. What they are given as keys is secret from now on."""
    selected = selected_runners(config, given.runner, here.environment)
    here.redactor.learn(secrets_of(selected))
    return selected


def run_directory(given: Settings, config: Config, here: Place, clock: Clock) -> Path:
    """``--output``, the run that is resumed, or a new folder below ``.skillgym-results``.

    Raises UsageError, also for one in the checkout that a symbolic link leads to.
    """
    if given.resume:
        directory = _resumed(given, here.cwd / given.resume)
    elif given.output:
        directory = Path(os.path.normpath(here.cwd / given.output))
    else:
        told = config.file.run.output_dir
        parent = Path(config.folder, told) if config.folder and told else here.cwd / ".skillgym-results"
        directory = parent / f"{clock.now():%Y%m%dT%H%M%SZ}-{os.urandom(3).hex()}"
    here.checkout.refuse(directory, "the run directory")
    return directory


def _resumed(given: Settings, directory: Path) -> Path:
    if given.output:
        raise UsageError("--resume and --output: a run goes on where it began", remedy="leave one of them out")
    if given.dry_run:
        raise UsageError("--resume and --dry-run: nothing would start", remedy="leave one of them out")
    if not (directory / JOURNAL).is_file():
        raise UsageError(
            f"--resume: there is no {JOURNAL} in {given.resume}",
            remedy="name the run directory of a run that was not finished; --output begins a new one",
        )
    return Path(os.path.normpath(directory))


@contextmanager
def opened(
    here: Place, directory: Path, observer: Observer, options: Options | None = None, *, user_name: str | None = None
) -> Iterator[World]:
    """All doors, and SIGINT and SIGTERM turned into a cancellation, as long as the context lasts.

    Without ``options`` nothing is said on a pull request, and agents run as ``user_name``; None: as the caller.
    """
    gc.freeze()
    gc.set_threshold(YOUNG)
    gc.enable()
    with ExitStack() as stack:
        cancelled = Cancellation()
        stack.callback(cancelled.close)
        stack.enter_context(_signals(cancelled))
        name = options.execute.agent_user if options else user_name
        user = agent_user(name) if name else None
        if user:
            user = _closed(here, user, stack)
        processes = stack.enter_context(Processes(environment=here.environment, cancelled=cancelled, user=user))
        repository = Repository(here.root, processes, here.checkout)
        workspaces = stack.enter_context(Workspaces(repository, processes))
        if directory.is_relative_to(here.root):
            workspaces.hide([directory.relative_to(here.root).as_posix()])
        logs = _logs(here, directory, user, stack)
        node = here.environment.get("SKILLGYM_NODE")
        hosts = stack.enter_context(SuiteHosts(processes, root=here.root, logs=logs.place, node=node))
        hosts.log_ended = logs.redact
        clock, event = Clock(), here.job.event if here.job else None
        templates = _templates(options, processes, here)
        conversation = None
        if options and event and here.job and here.job.token:
            api = stack.enter_context(closing(_github_api(event, here, clock, cancelled)))
            conversation = _conversation(api, event, options, here, observer, templates)
            stack.callback(conversation.close)
        yield World(
            cwd=here.cwd,
            repository=repository,
            processes=processes,
            workspaces=workspaces,
            hosts=hosts,
            installs=AgentInstalls(processes, here.environment),
            directory=logs,
            clock=clock,
            cancelled=cancelled,
            observer=Observers(observer, conversation) if conversation else observer,
            links=event.links() if event else None,
            conversation=conversation,
            judge=_judge(options.judge, clock, cancelled, here) if options and options.judge else None,
            prices=options.execute.prices if options else {},
            snapshots=_snapshots(options.execute.snapshots if options else None, here.checkout),
            strangers=StrangersConfiguration(here.job.stranger) if here.job and here.job.stranger else None,
            templates=templates,
        )


def _logs(here: Place, directory: Path, user: AgentUser | None, stack: ExitStack) -> RunDirectory:
    """The run directory, closed to agents that have a user of their own."""
    logs = RunDirectory(directory, here.redactor, here.checkout, by_descriptor=user is not None)
    stack.enter_context(logs)
    if user:
        stack.enter_context(closed_to_others([directory], here.root))
    return logs


def _closed(here: Place, user: AgentUser, stack: ExitStack) -> AgentUser:
    """Private paths are closed to ``user`` until ``stack`` closes; the user, with the group that other runs use."""
    stack.enter_context(reopened())
    suites = stack.enter_context(group_of_suites(here.root, user.readers))
    stack.enter_context(closed_to_others(_private(here), here.root))
    user.ids.exclude(suites)
    return replace(user, readers=suites)


def _private(here: Place) -> list[Path]:
    """What agents with a user of their own must not find: credentials, and what the runner mounts."""
    mounted = [Path("/github") / name for name in ("file_commands", "home", "runner_temp", "workflow")]
    home = Path(here.environment.get("HOME") or "/root")
    return [here.root / ".git", *(home / name for name in CREDENTIALS), *(mounted if here.job else [])]


def _judge(config: JudgeConfig, clock: Clock, cancelled: Cancellation, here: Place) -> Judge:
    from skillgym_action.effects.judge_api import Judge

    return Judge(config, clock=clock, cancelled=cancelled, network=network(here.environment))


def _snapshots(options: SnapshotConfig | None, checkout: Checkout) -> SnapshotFile | None:
    if options is None:
        return None
    from skillgym_action.effects.snapshot_file import SnapshotFile

    return SnapshotFile(options.path, options.named, checkout)


def _github_api(event: GitHubEvent, here: Place, clock: Clock, cancelled: Cancellation) -> GitHubApi:
    from skillgym_action.effects.github_api import GitHubApi

    token = (here.job and here.job.token) or ""
    api = GitHubApi(url=event.api_url, token=token, graphql_url=event.graphql_url, clock=clock, cancelled=cancelled)
    api.network = network(here.environment)
    return api


def _templates(options: Options | None, processes: Processes, here: Place) -> ReportTemplates | None:
    if options is None or options.templates is None:
        return None
    from skillgym_action.effects.report_process import ReportTemplates

    return ReportTemplates(options.templates, processes, here.redactor)


def _conversation(
    api: GitHubApi,
    event: GitHubEvent,
    options: Options,
    here: Place,
    observer: Observer,
    templates: ReportTemplates | None,
) -> Conversation:
    from skillgym_action.github.conversation import Conversation

    return Conversation(api, event, options.conversation, here.redactor, observer.progress, templates)


@contextmanager
def _signals(cancelled: Cancellation) -> Iterator[None]:
    """A second signal adds nothing: the first one is being obeyed."""
    before = {number: signal.signal(number, lambda *_: cancelled.set()) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
