"""Opens the adapters that a run or a command needs, and closes them; also the store and GitHub's API."""

from __future__ import annotations

import gc
import os
import signal
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from skillgym_action.agents.installation import AgentInstalls
from skillgym_action.model.errors import ConfigError, UsageError
from skillgym_action.model.limits import (
    COMMIT_CHARACTERS,
    GITHUB_RETRY_SECONDS,
    SECONDS_AFTER_CANCELLATION,
    STORE_TRANSFER_SECONDS,
)
from skillgym_action.results.run_directory import RunDirectory
from skillgym_action.services import Observers, Services
from skillgym_action.settings.slices import OF_RESULTS
from skillgym_action.suites.programs.hosts.suite_host import SuiteHosts
from skillgym_action.system.cancellation import Cancellation
from skillgym_action.system.clock import Clock
from skillgym_action.system.processes.launcher import ProcessLauncher
from skillgym_action.text.redaction import Redactor
from skillgym_action.workspaces.repository.repository import Repository, is_repository
from skillgym_action.workspaces.workspaces import Workspaces

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from skillgym_action.github.api import GitHubApi
    from skillgym_action.github.event import GitHubEvent
    from skillgym_action.github.options import PublisherOptions
    from skillgym_action.github.publisher import Publisher
    from skillgym_action.history import Store
    from skillgym_action.judging.judge.client import Judge
    from skillgym_action.model.judge_question import JudgeConfig
    from skillgym_action.model.report import Links
    from skillgym_action.model.token_snapshots import SnapshotConfig
    from skillgym_action.reports.user_templates.renderer import ReportTemplates
    from skillgym_action.results.snapshot_file import SnapshotFile
    from skillgym_action.services import Observer
    from skillgym_action.sessions.engines.dispatch import Dispatcher
    from skillgym_action.settings.baseline_options import StoreOptions
    from skillgym_action.settings.configuration_file import Config
    from skillgym_action.settings.context import LaunchContext
    from skillgym_action.settings.sandbox_options import SandboxOptions
    from skillgym_action.settings.settings import Settings
    from skillgym_action.settings.slices import Options
    from skillgym_action.system.files.checkout import Checkout
    from skillgym_action.system.processes.users import AgentUser
    from skillgym_action.workspaces.repository.suite_source import SuiteSource
    from skillgym_action.workspaces.session_containers import SessionContainers
    from skillgym_action.workspaces.untrusted_configuration import UntrustedConfiguration

DEFAULT_STORE_SECONDS = 30  # the same for the store that is only the default: runs do without it
RUN_WITHOUT_REPORT_SECONDS = 60.0  # the same for what is written about a run that ended without a report


CANCELLING = (signal.SIGINT, signal.SIGTERM)
GARBAGE_COLLECTION_THRESHOLD = 10_000  # new objects between collections; sessions make hardly any cycles


@contextmanager
def with_suite_source(settings: Settings, context: LaunchContext) -> Iterator[LaunchContext]:
    """``context`` with the folder of ``--suites-from``, if it is set. Raises UsageError.

    In a job the word ``base`` means the base commit of the pull request, whose files are then in a temporary folder.
    """
    if not settings.suites_from or context.separate_source:
        yield context
        return
    with ExitStack() as stack:
        with _processes(context) as processes:
            source = _suite_source(settings.suites_from, context, processes, stack)
        yield replace(context, separate_source=source)


def _suite_source(named: str, context: LaunchContext, processes: ProcessLauncher, stack: ExitStack) -> SuiteSource:
    """The folder called ``named``. Raises UsageError, also if it has the commit that is judged."""
    from skillgym_action.workspaces.repository.suite_source import BASE, SUITES_FROM, named_source, refuse_committed

    head = Repository(context.root, processes, context.checkout)
    event = context.job.event if context.job else None
    if context.job and named == BASE:
        source = _base_commit(event, context, processes, stack)
    else:
        source = named_source(named, context.cwd, context.checkout)
        refuse_committed(source, head)
        source = replace(source, commit=Repository(source.root, processes, source.checkout).commit())
    if source.commit and event and event.base and source.commit == head.commit():
        message = f"{SUITES_FROM}: {named} is the commit that is judged, {source.commit[:COMMIT_CHARACTERS]}"
        raise UsageError(message, remedy="check out the pull request to judge it, and its base commit beside it")
    return source


def _base_commit(
    event: GitHubEvent | None, context: LaunchContext, processes: ProcessLauncher, stack: ExitStack
) -> SuiteSource:
    """The files of the base commit in a temporary folder. Raises UsageError."""
    from skillgym_action.workspaces.repository.changed_files import CommittedTree, MissingObjectError
    from skillgym_action.workspaces.repository.suite_source import BASE, CHECK_OUT, SUITES_FROM, folder_as_source

    if event is None or event.base is None:
        what = f"the event {event.name}" if event else "this job"
        remedy = (
            "use it in a workflow for pull_request, or name a folder with suites; "
            "for a folder called base, write ./base"
        )
        raise UsageError(f"{SUITES_FROM}: {what} has no base commit", remedy=remedy)
    remedy = f"give actions/checkout fetch-depth: 0; or {CHECK_OUT}, and name that folder"
    if not is_repository(context.root):
        raise UsageError(f"{SUITES_FROM}: {context.root} is not a git checkout", remedy=remedy)
    folder = Path(os.path.realpath(stack.enter_context(TemporaryDirectory(prefix="skillgym-"))))
    folder.chmod(0o711)
    try:
        CommittedTree(context.root, processes, event.base).write(folder / BASE)
    except MissingObjectError as error:
        message = (
            f"{SUITES_FROM}: the base commit {event.base[:COMMIT_CHARACTERS]} is not in the checkout: {error.strerror}"
        )
        raise UsageError(message, remedy=remedy) from error
    except OSError as error:
        raise UsageError(
            f"{SUITES_FROM}: the base commit {event.base[:COMMIT_CHARACTERS]} cannot be read: {error}", remedy=remedy
        ) from error
    return folder_as_source(folder / BASE, context.cwd, context.root, named=BASE, commit=event.base)


@contextmanager
def _processes(context: LaunchContext) -> Iterator[ProcessLauncher]:
    """A launcher for programs that run before the adapters are opened. SIGINT and SIGTERM raise KeyboardInterrupt."""
    try:
        with (
            cancellation() as cancelled,
            ProcessLauncher(environment=context.environment, cancelled=cancelled) as processes,
        ):
            yield processes
    except InterruptedError:
        raise KeyboardInterrupt from None


@contextmanager
def repository_of(context: LaunchContext) -> Iterator[Repository]:
    """The repository, for a command that needs no other adapter. SIGINT and SIGTERM raise KeyboardInterrupt."""
    with _processes(context) as processes:
        yield Repository(context.root, processes, context.checkout)


def missing_node(context: LaunchContext) -> str | None:
    """Why suites in TypeScript cannot run here, with the remedy; None if they can."""
    from skillgym_action.suites.programs.hosts.node import Node

    with _processes(context) as processes:
        try:
            Node(processes, context.node).program  # noqa: B018 -- raises when there is none
        except ConfigError as error:
            return str(error)
    return None


def configuration(settings: Settings, context: LaunchContext) -> Config:
    """The configuration of ``settings``. Raises ConfigError, UsageError.

    A configuration that is a program is run in its own suite host, since the adapters of a run depend on settings.
    """
    from skillgym_action.settings.configuration_file import read_configuration

    return read_configuration(settings, context, partial(_run_configuration, settings, context))


def _run_configuration(settings: Settings, context: LaunchContext, file: Path) -> object:
    """Run a configuration file that is a program; what it exports. Raises ConfigError."""
    if context.job and not context.job.programs:
        message = f"{file.name} is a program, and mode report does not run programs of the repository"
        raise ConfigError(message, remedy="write it as YAML, JSON or TOML")
    with ExitStack() as stack:
        cancelled = stack.enter_context(cancellation())
        user = _user(context, settings.agent_user, stack)
        logs = Path(stack.enter_context(TemporaryDirectory(prefix="skillgym-")))
        processes = stack.enter_context(
            ProcessLauncher(environment=context.environment, cancelled=cancelled, user=user)
        )
        hosts = stack.enter_context(SuiteHosts(processes, root=context.suite_source.root, logs=logs, node=context.node))
        hosts.excluded_packages = context.suite_source.separate_checkout
        try:
            return hosts.configuration(file)
        except ConfigError:
            if cancelled:
                raise KeyboardInterrupt from None
            raise


def collect_garbage_rarely() -> None:
    """Enable the collection of garbage, which the start of the program disabled.

    Modules and classes stay until the end: without ``freeze`` each full collection visits them again.
    """
    gc.freeze()
    gc.set_threshold(GARBAGE_COLLECTION_THRESHOLD)
    gc.enable()


@contextmanager
def open_services(
    context: LaunchContext,
    directory: Path,
    observer: Observer,
    options: Options | None = None,
    *,
    user_name: str | None = None,
) -> Iterator[Services]:
    """The adapters of a run; until they are closed, SIGINT and SIGTERM only set ``cancelled``.

    Without ``options`` nothing is published, and agents run as ``user_name``; None: as the caller.
    """
    collect_garbage_rarely()
    with ExitStack() as stack:
        cancelled = stack.enter_context(cancellation())
        user = _user(context, options.execute.agent_user if options else user_name, stack)
        processes = stack.enter_context(_launcher(context, cancelled, user))
        repository, source = Repository(context.root, processes, context.checkout), context.suite_source
        workspaces = stack.enter_context(Workspaces(repository, processes))
        workspaces.hide(_own_paths(context, directory, options))
        logs = _logs(context, directory, user, stack)
        hosts = stack.enter_context(SuiteHosts(processes, root=source.root, logs=logs.open_path, node=context.node))
        hosts.excluded_packages = source.separate_checkout
        hosts.log_ended = logs.redact
        clock, event = Clock(), context.job.event if context.job else None
        templates, publisher = _templates(options, processes, context), None
        if options and event and (job := context.job) and job.token is not None:
            api = stack.enter_context(closing(github_api(event, job.token, context.environment, clock, cancelled)))
            publisher = _publisher(api, event, options, context, observer, templates)
            stack.callback(publisher.close)
        yield Services(
            cwd=context.cwd,
            repository=repository,
            suite_source=source,
            suites=Repository(source.root, processes, source.checkout),
            processes=processes,
            workspaces=workspaces,
            hosts=hosts,
            installs=AgentInstalls(processes, context.environment),
            directory=logs,
            clock=clock,
            cancelled=cancelled,
            observer=Observers(observer, publisher) if publisher else observer,
            links=_links(event, source) if event else None,
            publisher=publisher,
            judge=_judge(options.judge, clock, cancelled, context) if options and options.judge else None,
            prices=options.execute.prices if options else {},
            snapshots=_snapshots(options.execute.snapshots if options else None, source.checkout),
            untrusted_configuration=_untrusted_configuration(context),
            templates=templates,
            event=event or event_of_command(context),
            store=store_of(context, options.store, processes, clock, logs) if options and options.store else None,
            containers=_containers(options.sandbox, context, directory, workspaces, stack) if options else None,
        )


def _launcher(context: LaunchContext, cancelled: Cancellation, user: AgentUser | None) -> ProcessLauncher:
    return ProcessLauncher(environment=context.environment, cancelled=cancelled, user=user)


def _containers(
    options: SandboxOptions, context: LaunchContext, directory: Path, workspaces: Workspaces, stack: ExitStack
) -> Callable[[], SessionContainers]:
    """What makes the containers of sessions, on first use; no engine is asked before the plan needs one."""

    @cache
    def containers() -> SessionContainers:
        from skillgym_action.system.containers import SandboxSettings
        from skillgym_action.workspaces.session_containers import SessionContainers, run_label

        settings = SandboxSettings(
            run=run_label(directory),
            environment=context.environment,
            cancelled=workspaces.cancelled,
            redact=context.redactor.text,
            proxy_image=options.proxy_image,
        )
        made = SessionContainers(options.type, settings, workspaces, bundles=options.bundles)
        stack.callback(made.close)
        return made

    return containers


def _own_paths(context: LaunchContext, directory: Path, options: Options | None) -> Iterator[str]:
    """Paths in the checkout that are no part of what agents work on: run directory, folder of suites, store, results.

    To the files with results an earlier run wrote what cases expect. ``Repository.files`` leaves out those of other
    runs, unless git tracks them.
    """
    store = options.store.path if options and options.store else None
    reports = options.publish.reports if options else ()
    # A folder outside of the checkout may be a link into it.
    results = {Path(os.path.realpath(path.parent), path.name) for kind, path in reports if kind in OF_RESULTS}
    for path in {directory, context.suite_source.root, store or directory, *results} - {context.root}:
        if path.is_relative_to(context.root):
            yield path.relative_to(context.root).as_posix()


@contextmanager
def services_without_run(
    context: LaunchContext, observer: Observer, user_name: str | None, store: StoreOptions | None = None
) -> Iterator[Services]:
    """Adapters for commands that only run suite programs. Files that they write are deleted. ``store``: to be read.

    Raises KeyboardInterrupt at the end if it was cancelled.
    """
    with (
        TemporaryDirectory(prefix="skillgym-") as folder,
        open_services(context, Path(folder) / "run", observer, user_name=user_name) as services,
    ):
        found = store_of(context, store, services.processes, services.clock) if store else None
        yield replace(services, store=found)
        if services.cancelled:
            raise KeyboardInterrupt


def _untrusted_configuration(context: LaunchContext) -> UntrustedConfiguration | None:
    repository = context.job.untrusted_repository if context.job else None
    if not repository:
        return None
    from skillgym_action.workspaces.untrusted_configuration import UntrustedConfiguration

    return UntrustedConfiguration(repository)


def _logs(context: LaunchContext, directory: Path, user: AgentUser | None, stack: ExitStack) -> RunDirectory:
    """The run directory, inaccessible to agents that run as another user."""
    logs = RunDirectory(directory, context.redactor, context.checkout, by_descriptor=user is not None)
    stack.enter_context(logs)
    if user:
        from skillgym_action.workspaces.closed_paths import closed_to_others

        stack.enter_context(closed_to_others([directory], context.root))
    return logs


def _user(context: LaunchContext, name: str | None, stack: ExitStack) -> AgentUser | None:
    """The user that agents run as; private paths are inaccessible to it until ``stack`` is closed.

    All runs on this machine share its group of readers. Raises UsageError if the name is unknown, or the tool was not
    started by root.
    """
    if not name:
        return None
    from skillgym_action.system.processes.users import agent_user
    from skillgym_action.workspaces.closed_paths import closed_to_others, restored_after_kill, suite_group

    user = agent_user(name)
    stack.enter_context(restored_after_kill())
    suites = stack.enter_context(suite_group(context.root, user.readers))
    stack.enter_context(closed_to_others(_private(context), context.root))
    user.ids.exclude(suites)
    return replace(user, readers=suites)


def _private(context: LaunchContext) -> list[Path]:
    """Paths that agents with their own user must not read: credentials, and what GitHub's runner keeps for the job."""
    from skillgym_action.system.processes.users import CREDENTIALS
    from skillgym_action.workspaces.closed_job_paths import job_paths

    home = Path(context.environment.get("HOME") or "/root")
    checkouts = {context.root, context.suite_source.root}
    of_job = job_paths(context.environment, checkouts)
    return [*(root / ".git" for root in sorted(checkouts)), *(home / name for name in CREDENTIALS), *of_job]


def _links(event: GitHubEvent, source: SuiteSource) -> Links:
    """Links to GitHub; links to suites lead to the commit that the suites were read from."""
    links = event.links()
    return replace(links, commit=source.commit) if source.is_separate and source.commit else links


def _judge(config: JudgeConfig, clock: Clock, cancelled: Cancellation, context: LaunchContext) -> Judge:
    from skillgym_action.judging.judge.client import Judge
    from skillgym_action.system.network.proxies import network_from

    return Judge(config, clock=clock, cancelled=cancelled, network=network_from(context.environment))


def _snapshots(options: SnapshotConfig | None, checkout: Checkout) -> SnapshotFile | None:
    if options is None:
        return None
    from skillgym_action.results.snapshot_file import SnapshotFile

    return SnapshotFile(options.path, options.display_path, checkout)


@contextmanager
def open_dispatcher(
    services: Services, settings: Settings, context: LaunchContext, options: Options
) -> Iterator[Dispatcher | None]:
    """What gives sessions to workers; None: they run on this machine. Raises UsageError, EngineError."""
    if options.engine is None:
        yield None
        return
    from skillgym_action.sessions.engines.announcement import announcement
    from skillgym_action.sessions.engines.dask_engine import DaskEngine
    from skillgym_action.sessions.engines.dispatch import Dispatcher

    exclude = tuple(_own_paths(context, services.directory.path, options))
    announced = announcement(services, settings, context, exclude)
    engine = DaskEngine(options.engine, services.clock, services.cancelled, services.observer.progress)
    engine.open(announced)
    try:
        yield Dispatcher(engine, services, options.engine)
    finally:
        engine.close()


@contextmanager
def run_without_report_publisher(
    event: GitHubEvent, token: str, environment: Mapping[str, str], options: PublisherOptions, *, cancelled: bool
) -> Iterator[Publisher]:
    """A publisher for a run that ended without a report. ``cancelled``: the job is killed soon, as after a signal."""
    from skillgym_action.github.publisher import Publisher

    with (
        cancellation() as signalled,
        closing(github_api(event, token, environment, Clock(), signalled, RUN_WITHOUT_REPORT_SECONDS)) as api,
    ):
        if cancelled:
            api.retry_budget.end_within(SECONDS_AFTER_CANCELLATION)
        redactor = Redactor.of_environment(environment)
        yield Publisher(api, event, options, redactor, log=lambda _: None)


def _templates(options: Options | None, processes: ProcessLauncher, context: LaunchContext) -> ReportTemplates | None:
    if options is None or options.templates is None:
        return None
    from skillgym_action.reports.user_templates.renderer import ReportTemplates

    return ReportTemplates(options.templates, processes, context.redactor)


def _publisher(
    api: GitHubApi,
    event: GitHubEvent,
    options: Options,
    context: LaunchContext,
    observer: Observer,
    templates: ReportTemplates | None,
) -> Publisher:
    from skillgym_action.github.publisher import Publisher

    return Publisher(api, event, options.publisher, context.redactor, observer.progress, templates)


@contextmanager
def cancellation() -> Iterator[Cancellation]:
    """A cancellation that SIGINT and SIGTERM set while the context is open. A second signal has no effect."""
    with closing(Cancellation()) as cancelled:
        before = {number: signal.signal(number, lambda *_: cancelled.set()) for number in CANCELLING}
        try:
            yield cancelled
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def store_of(
    context: LaunchContext,
    options: StoreOptions,
    processes: ProcessLauncher,
    clock: Clock,
    directory: RunDirectory | None = None,
) -> Store:
    """The store of a run. ``directory``: of the run, if it may write to a store of artifacts.

    Raises UsageError for a store of artifacts outside of a job on GitHub.
    """
    if options.path is not None:
        from skillgym_action.history.path_store import path_store

        return path_store(options.path, options.named)
    event = context.job.event if context.job else event_of_command(context)
    token = context.job.repository_token if context.job else context.environment.get("GITHUB_TOKEN", "")
    if options.kind == "artifact":
        if event is None:
            remedy = "keep results in a branch or a folder: --store branch, --store path=DIR"
            raise UsageError("the store artifact works only in jobs on GitHub", remedy=remedy)
        return _artifact_store(context, options, (event, token), (processes, clock), directory)
    from skillgym_action.history.branch_store import BranchStore, Remote

    if event:
        remote = Remote(url=f"{event.server_url}/{event.repository}.git", token=token)
    else:
        of_user = {name: context.environment.get(name, "") for name in ("HOME", "SSH_AUTH_SOCK")}
        url = Repository(context.root, processes, context.checkout).remote_url() or ""
        remote = Remote(url=url, environment=of_user)
    seconds = DEFAULT_STORE_SECONDS if options.optional else STORE_TRANSFER_SECONDS
    return BranchStore(remote, processes, clock, seconds)


def _artifact_store(
    context: LaunchContext,
    options: StoreOptions,
    job: tuple[GitHubEvent, str],
    services: tuple[ProcessLauncher, Clock],
    directory: RunDirectory | None,
) -> Store:
    """``job``: the event, and the token."""
    from skillgym_action.history.artifact_store import ArtifactPlace, ArtifactStore
    from skillgym_action.history.permission import base_branch
    from skillgym_action.workspaces.repository.changed_files import history

    (event, token), (processes, clock) = job, services
    place = ArtifactPlace(
        repository=event.repository,
        workflow=options.workflow or event.workflow,
        branch=base_branch(event),
        run=event.run_id,
        runs=options.runs,
    )
    api = partial(github_api, event, token, context.environment, clock, processes.cancelled)
    return ArtifactStore(
        place, api, partial(history, context.root, processes), directory.add_to_store if directory else None
    )


def event_of_command(context: LaunchContext) -> GitHubEvent | None:
    """The event of the job that a command runs in, outside of the action."""
    if not context.in_job or context.job is not None:
        return None
    from skillgym_action.github.event import github_event

    return github_event(context.environment)


def github_api(
    event: GitHubEvent,
    token: str,
    environment: Mapping[str, str],
    clock: Clock,
    cancelled: Cancellation,
    deadline: float = GITHUB_RETRY_SECONDS,
) -> GitHubApi:
    """GitHub's API; ``deadline``: seconds for waits and failed tries of all requests together."""
    from skillgym_action.github.api import GitHubApi
    from skillgym_action.system.network.proxies import network_from

    api = GitHubApi(
        url=event.api_url,
        token=token,
        graphql_url=event.graphql_url,
        clock=clock,
        cancelled=cancelled,
        deadline=deadline,
    )
    api.network = network_from(environment)
    return api
