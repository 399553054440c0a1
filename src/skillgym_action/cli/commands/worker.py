"""The commands ``worker`` and ``slot``: sessions of other machines' runs, until they are ended by a signal."""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from skillgym_action.model.errors import SkillgymError, UsageError
from skillgym_action.model.exit_codes import ExitCode
from skillgym_action.model.records import record
from skillgym_action.pipeline import pipeline, wiring
from skillgym_action.pipeline.checks import check_containers, hide_from_agents
from skillgym_action.pipeline.stages.install_agents import install_agents
from skillgym_action.results.journal import digest, session_line
from skillgym_action.sessions.engines import Versions
from skillgym_action.sessions.engines.announcement import own_versions
from skillgym_action.sessions.engines.answers import (
    NOTHING_SPENT,
    packed,
    session_folders,
    troubled_session,
    without_artifacts,
)
from skillgym_action.sessions.hidden_paths import hide_suites
from skillgym_action.sessions.hooks import run_hooks_after_all, seconds_after_all
from skillgym_action.sessions.run_session import run_session
from skillgym_action.settings import resolve
from skillgym_action.settings.context import current_context
from skillgym_action.settings.engine_options import check_certificates, require_dask
from skillgym_action.settings.option_types import cluster_address
from skillgym_action.settings.runners import plug_ins_of
from skillgym_action.settings.settings import Settings
from skillgym_action.settings.slices import Tls
from skillgym_action.system.files.bundle import BundleError
from skillgym_action.system.files.removal import remove_path
from skillgym_action.system.processes.users import agent_user
from skillgym_action.text.escaping import terminal_line
from skillgym_action.text.redaction import Redactor

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from skillgym_action.model.execution import Execution, Plan
    from skillgym_action.model.result import Result
    from skillgym_action.services import Services
    from skillgym_action.settings.slices import Options
    from skillgym_action.system.cancellation import Cancellation


@record
class WorkerRequest:
    """The arguments of the command."""

    address: str
    slots: int
    tls_ca: Path | None = None
    tls_cert: Path | None = None
    tls_key: Path | None = None
    agent_user: str | None = None
    install_agents: bool = False


def run_worker(request: WorkerRequest, environment: Mapping[str, str]) -> int:
    """Connect to a scheduler and run sessions; the exit code. Raises UsageError, EngineError."""
    address, tls = cluster_address(request.address), _certificates(request)
    require_dask()
    if request.agent_user:
        agent_user(request.agent_user)  # a wrong name is an error now, not with the first session
    from skillgym_action.sessions.engines.dask_worker import WorkerHost, serve

    logging.getLogger("distributed").setLevel(logging.ERROR)
    redact = Redactor.of_environment(environment).text

    def log(line: str) -> None:
        print(redact(terminal_line(line)), file=sys.stderr, flush=True)  # noqa: T201

    own: dict[str, object] = {}
    if request.agent_user:
        own["agent_user"] = request.agent_user
    if request.install_agents:
        own["install_agents"] = True
    wiring.collect_garbage_rarely()  # a worker serves many runs
    with wiring.cancellation() as cancelled, closing(WorkerHost(environment, own)) as host:
        serve(address, tls, request.slots, host, cancelled, log)
    return ExitCode.PASSED


def _certificates(request: WorkerRequest) -> Tls | None:
    """None for a scheduler on this machine without encryption. Raises UsageError."""
    if not cluster_address(request.address).startswith("tls://"):
        return None
    if request.tls_ca is None or request.tls_cert is None or request.tls_key is None:
        raise UsageError(f"{request.address} needs certificates", remedy="add --tls-ca, --tls-cert and --tls-key")
    tls = Tls(ca=request.tls_ca, cert=request.tls_cert, key=request.tls_key)
    check_certificates(tls)
    return tls


Key = tuple[str, str, str, str | None]
Request = dict[str, Any]


class _QuietObserver:
    """Lines for people go to standard error, where the worker's log is."""

    def planned(self, total: int) -> None:
        pass

    def started(self, execution: Execution) -> None:
        pass

    def finished(self, result: Result) -> None:
        pass

    def progress(self, line: str) -> None:
        print(line, file=sys.stderr, flush=True)  # noqa: T201

    def detail(self, line: str) -> None:
        pass

    def write_line(self, line: str) -> None:
        pass


@record
class _Opened:
    """A slot that is ready: its own plan before and after programs of agents were found."""

    services: Services
    options: Options
    planned: Mapping[Key, Execution]
    runnable: Mapping[Key, Execution]
    root: Path


class _Requests:
    """Requests of the worker, read by a thread; once they end, ``cancelled`` is set."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[Request | None] = SimpleQueue()
        self._cancelled: Cancellation | None = None
        self._ends = threading.Lock()
        self._ended = False
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        try:
            with open(0, "rb", closefd=False) as lines:
                for line in lines:
                    self._queue.put(json.loads(line))
        finally:  # also after a line that was cut off, since the worker was killed
            with self._ends:
                self._ended = True
                if self._cancelled is not None:
                    self._cancelled.set()
            self._queue.put(None)

    def cancels(self, cancelled: Cancellation) -> None:
        """Set ``cancelled`` once the requests end."""
        with self._ends:
            self._cancelled = cancelled
            if self._ended:
                cancelled.set()

    def next(self) -> Request | None:
        """The next request; None: there is none any more."""
        return self._queue.get()


def run_slot(environment: Mapping[str, str]) -> int:
    """Run sessions until the input ends; the exit code. What cannot be opened is a reply, too.

    Requests come on standard input and replies go to standard output, a JSON document per line. Workers start the
    command; it has no entry in ``--help``. When its input ends, its programs are ended.
    """
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # nothing else may write among the replies

    def reply(**fields: object) -> None:
        replies.write(json.dumps(fields).encode() + b"\n")
        replies.flush()

    requests = _Requests()
    opening = requests.next()
    if opening is None:
        return 0
    with ExitStack() as stack:
        try:
            opened = _open(opening, environment, requests, stack)
        except (SkillgymError, OSError, ValueError) as error:
            while "ticket" in (requests.next() or {}):
                reply(unusable=_message(error))
            return 0
        _serve(opened, requests, Path(opening["folder"]), reply)
    return 0


def _message(error: Exception) -> str:
    return "; ".join(map(str, error.problems)) if isinstance(error, SkillgymError) else str(error)


def _open(opening: Request, environment: Mapping[str, str], requests: _Requests, stack: ExitStack) -> _Opened:
    """Plan as the coordinator does. Raises SkillgymError, OSError, ValueError."""
    versions = Versions(**opening["versions"])
    if versions != own_versions():
        raise ValueError(f"the worker has {own_versions()}, and the run {versions}")
    root = Path(opening["root"])
    settings = Settings(**opening["settings"])
    context = current_context(root / opening["cwd"], environment)
    config = wiring.configuration(settings, context)
    runners, options = resolve.runners_and_options(settings, config, context)
    directory = Path(opening["folder"]) / "run"
    services = stack.enter_context(wiring.open_services(context, directory, _QuietObserver(), options))
    requests.cancels(services.cancelled)
    planned = pipeline.plan_run(services, runners, options)
    check_containers(services, planned, options)
    hide_from_agents(services, planned, options)
    runnable = install_agents(services, planned, replace(options.install_agents, login=False))
    stack.enter_context(hide_suites(services, planned.executions))
    return _Opened(
        services=services,
        options=options,
        planned=_by_key(planned),
        runnable=_by_key(runnable),
        root=services.suite_source.root,
    )


def _by_key(plan: Plan) -> dict[Key, Execution]:
    return {(each.suite.path, each.case.id, each.runner.id, each.arm_name): each for each in plan.executions}


def _serve(opened: _Opened, requests: _Requests, folder: Path, reply: Callable[..., None]) -> None:
    """Answer tickets until there are no more; then run the hooks that come last.

    An exception is an answer, too, and is raised again: what the slot has is not known then.
    """
    digests, ran = _Digests(opened), {}
    while (request := requests.next()) is not None and not opened.services.cancelled:
        if "end" in request:
            break
        try:
            execution = _run_ticket(opened, digests, request["ticket"], (folder, reply))
        except Exception as error:
            reason = f"{type(error).__name__}: {_message(error)}"
            reply(failed=opened.services.directory.redactor.text(reason))
            raise
        if execution:
            ran[execution.suite.path, execution.runner.id, execution.arm_name] = execution
    for execution in ran.values():
        run_hooks_after_all(opened.services, execution)


def _run_ticket(
    opened: _Opened, digests: _Digests, ticket: Mapping[str, Any], to: tuple[Path, Callable[..., None]]
) -> Execution | None:
    """Answer a ticket. Its execution; None: the ticket is refused."""
    key: Key = (ticket["suite"], ticket["case"], ticket["runner"], ticket.get("arm"))
    _, reply = to
    if key not in opened.planned:
        reply(refused="its plan does not have the case")
        return None
    if digests.of(key) != ticket["digest"]:
        reply(refused="it planned another prompt, suite, input, agent or model for the case")
        return None
    execution = opened.runnable[key]
    reply(event="began")
    _answer(opened, execution, (int(ticket["repetition"]), int(ticket["session"])), ticket["digest"], to)
    return execution


class _Digests:
    """Digests of the executions of a slot, computed when they are needed."""

    def __init__(self, opened: _Opened) -> None:
        self._opened = opened
        self._known: dict[Key, str] = {}

    @cached_property
    def _inputs(self) -> Any:
        return self._opened.services.workspaces.input_digests()

    def of(self, key: Key) -> str:
        """As the coordinator computes it."""
        if key not in self._known:
            execution = self._opened.planned[key]
            used = plug_ins_of(execution, self._opened.options.sandbox.type)
            self._known[key] = digest(execution, self._opened.root, (*self._inputs.of(execution), *map(str, used)))
        return self._known[key]


def _answer(
    opened: _Opened,
    execution: Execution,
    position: tuple[int, int],
    of_ticket: str,
    to: tuple[Path, Callable[..., None]],
) -> None:
    """Run a session and reply with its line and the file of its artifacts."""
    (folder, reply), services = to, opened.services
    if trouble := execution.runner.trouble:
        services.directory.folder(session_folders(execution, position)["session"])
        session = troubled_session(execution, position, trouble, NOTHING_SPENT)
        services.observer.progress(trouble.message)
    else:
        began = partial(reply, event="judging")
        session = run_session(services, execution, *position, opened.options.execute, began)
    if services.cancelled:
        return
    directory, archive = services.directory, folder / "answer"
    try:
        archive.write_bytes(packed(directory.open_path, execution, position))
    except (BundleError, OSError) as error:
        session = without_artifacts(execution, position, session, f"its artifacts cannot be sent: {error}")
        _remove_artifacts(directory.open_path, execution, position)
        archive.write_bytes(packed(directory.open_path, execution, position))
    line = directory.redactor.text(session_line(of_ticket, session))
    _remove_artifacts(directory.open_path, execution, position)
    reply(line=line, archive=str(archive), ending=seconds_after_all(execution))


def _remove_artifacts(directory: Path, execution: Execution, position: tuple[int, int]) -> None:
    for one in session_folders(execution, position).values():
        remove_path(directory / one)
