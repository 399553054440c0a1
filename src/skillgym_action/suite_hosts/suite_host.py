"""The suite host door: suite programs run in child processes, and what they do to themselves costs one execution."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections import Counter
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from skillgym_action.model.errors import ConfigError, Location, OutputError, Problem, SuiteError
from skillgym_action.model.json_codec import to_json
from skillgym_action.model.verdicts import FailureClass
from skillgym_action.suite_hosts.answers import PASSED, class_of, outcome_of, place_of, undecided
from skillgym_action.suite_hosts.host_process import MEMORY, HostLostError, HostProcess
from skillgym_action.suite_hosts.node import ERASER, NODE_HOST, Node
from skillgym_action.text.escaping import path_key

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from skillgym_action.model.result import Outcome
    from skillgym_action.model.session_report import SessionReport
    from skillgym_action.processes.processes import Processes

# The folder of our package comes first on the path, until the host has imported what it needs of it.
PYTHON_HOST = (
    "import sys; sys.path.insert(0, sys.argv[1]); from skillgym_action.suite_programs import python_host as h; h.main()"
)
PACKAGE_PARENT = Path(__file__).parent.parent.parent
TYPESCRIPT = frozenset({".ts", ".mts", ".cts"})
IDLE_HOSTS = 16
PATIENCE = 0.25  # seconds; most checks are quick, and another host takes longer to start, and memory
GRACE = 1.0
FORGED = "the suite wrote an answer of its own into the suite host's protocol"
CLASSIFY_CRASH = FailureClass(id="classify-hook", label="Classify hook crash")


class SuiteHosts:
    """Lends a suite host per call; use as a context manager, or ``close`` it."""

    def __init__(
        self,
        processes: Processes,
        *,
        root: Path,
        logs: Path,
        call_limit: float = 60.0,
        python: str = sys.executable,
        node: str | None = None,
    ) -> None:
        """Places are told relative to ``root``; ``logs`` gets what suites print; ``call_limit`` is in seconds.

        ``python`` and ``node`` execute suites; without ``node`` one is looked for when it is needed.
        """
        self._processes = processes
        self._root = root
        self._logs = logs
        self._limit = call_limit
        self._python = python
        # Where suites are read from a folder inside the checkout: Node must not find packages of the checkout by name.
        self.excluded_packages: Path | None = None
        self.log_ended: Callable[[Path], object] = lambda _: None  # when nobody writes to a log any more
        self._node = Node(processes, node)
        self._lock = threading.Lock()
        self._freed = threading.Condition(self._lock)
        self._idle: list[HostProcess] = []
        self._busy: Counter[Path] = Counter()
        self._numbers, self._erasers = count(1), count(1)
        self._erased: dict[Path, dict[str, str]] = {}

    @property
    def cancelled(self) -> bool:
        """Whether nothing is loaded any more."""
        return bool(self._processes.cancelled)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def load(self, file: Path) -> dict[str, object]:
        """The host's answer to ``load`` (see suite_programs/python_host.py). Raises SuiteError."""
        try:
            host, reply = self._loaded(file)
        except HostLostError as lost:
            message = f"the suite {lost.reason} while it was imported"
            remedy = f"a suite file only defines cases; what it printed is in {lost.log.name}"
            raise SuiteError.of(self._problem(file, message, remedy)) from lost
        self._give_back(host)
        return reply

    def configuration(self, file: Path) -> object:
        """What a configuration file that is a program holds, as data. Raises ConfigError."""
        try:
            host, reply = self._loaded(file, "config")
        except HostLostError as lost:
            printed = f"; it printed: {lost.printed.strip()}" if lost.printed.strip() else ""
            problem = self._problem(file, f"the configuration {lost.reason}{printed}", "it only exports an object")
            raise ConfigError.of(problem) from lost
        except SuiteError as error:
            raise ConfigError.of(*error.problems) from error
        self._dismiss(host)
        return reply.get("config")

    def judge(self, file: Path, case_id: str, report: SessionReport) -> tuple[Outcome, ...]:
        """What the case's check says of a session: one outcome that passed, or one per failure."""
        try:
            reply = self._ask(file, {"call": "judge", "case": case_id, "report": to_json(report)})
            return tuple(map(outcome_of, reply["failures"])) or (PASSED,)
        except HostLostError as lost:
            return (undecided(f"the check {lost.reason}", evidence=lost.printed),)
        except SuiteError as error:
            return (undecided(str(error)),)
        except (LookupError, TypeError, AttributeError):
            return (undecided(FORGED),)

    def classify(self, file: Path, case_id: str, result: Mapping[str, object]) -> FailureClass | None:
        """The class the case's classifier gives to ``{status, failureOrigin, error: {name, message}}``.

        A classifier that crashes or hangs gives a class of its own; why is in the host's log.
        """
        try:
            reply = self._ask(file, {"call": "classify", "case": case_id, "result": dict(result)})
            return class_of(reply["failureClass"])
        except (HostLostError, SuiteError, LookupError, TypeError):
            return CLASSIFY_CRASH

    def close(self) -> None:
        """Dismiss all hosts that are idle; who asks for one afterwards gets a new one."""
        with self._lock:
            hosts, self._idle = self._idle, []
        self._dismiss(*hosts)

    def _ask(self, file: Path, request: dict[str, Any]) -> dict[str, Any]:
        """Raises HostLostError, and SuiteError for a call that cannot be answered."""
        host = self._borrow(file)
        try:
            host = host or self._loaded(file)[0]
            reply = self._call(host, request)
            self._give_back(host)
        finally:
            with self._freed:
                self._busy[file] -= 1
                self._freed.notify_all()
        if not reply.get("ok"):
            raise SuiteError.of(self._reported(file, reply.get("error")))
        return reply

    def _loaded(self, file: Path, call: str = "load") -> tuple[HostProcess, dict[str, Any]]:
        """A new host that has imported the file. Raises HostLostError, SuiteError."""
        sources = self._without_types(file)
        name = f"{path_key(file.stem)}-{next(self._numbers)}"
        host = self._started(file, self._argv(file), name)
        request = {"call": call, "file": os.fspath(file), "root": os.fspath(self._root), "sources": sources}
        if self.excluded_packages:
            request["apart"] = os.fspath(self.excluded_packages)
        reply = self._call(host, request)
        if not reply.get("ok"):
            self._end(host)
            raise SuiteError.of(self._reported(file, reply.get("error")))
        return host, reply

    def _without_types(self, file: Path) -> dict[str, str]:
        """The JavaScript of a suite in TypeScript and of what it imports, as far as the eraser has come."""
        if file not in self._erased and file.suffix.lower() in TYPESCRIPT:
            name = f"{path_key(file.stem)}-types-{next(self._erasers)}"
            eraser = self._started(file, self._node_argv(file, ERASER), name)
            try:
                sources = self._call(eraser, {"file": os.fspath(file)})["sources"]
            except (HostLostError, LookupError):
                sources = {}
            self._dismiss(eraser)
            eraser.log.unlink(missing_ok=True)
            self._erased[file] = sources
        return self._erased.get(file, {})

    def _started(self, file: Path, argv: tuple[str, ...], name: str) -> HostProcess:
        log = self._logs / f"{name}.log"
        try:
            self._logs.mkdir(parents=True, exist_ok=True)
            log.unlink(missing_ok=True)
            stderr = log.open("xb")  # a new file: a link in its place would lead to another
        except OSError as error:
            raise OutputError(f"cannot write {log}: {error.strerror}", remedy="free space there") from error
        try:
            with stderr:
                user = self._processes.user
                identity = user.host() if user else None
                child = self._processes.connected(
                    argv, identity=identity, cwd=file.parent, stderr=stderr.fileno(), memory=MEMORY
                )
        except OSError as error:
            message = f"the suite host cannot be started: {error}"
            remedy = "name a Python of version 3.11 or newer"
            if isinstance(error, PermissionError) and self._processes.user:
                message = f"the suite host cannot be started: the agents' user cannot execute {argv[0]}"
                remedy = "install it where every user can execute it"
            raise SuiteError.of(self._problem(file, message, remedy)) from error
        return HostProcess(file, child, log)

    def _argv(self, file: Path) -> tuple[str, ...]:
        """How the host of the file's language is started."""
        if file.suffix.lower() == ".py":
            return (self._python, "-B", "-P", "-c", PYTHON_HOST, os.fspath(PACKAGE_PARENT))
        return self._node_argv(file, NODE_HOST)

    def _node_argv(self, file: Path, program: Path) -> tuple[str, ...]:
        try:
            with self._lock:
                return self._node.starting(program)
        except ConfigError as error:
            problem = error.problems[0]
            raise SuiteError.of(self._problem(file, problem.message, problem.remedy)) from error

    def _call(self, host: HostProcess, request: dict[str, Any]) -> dict[str, Any]:
        """A host that does not answer does not outlive the call."""
        try:
            with self._processes.turns.waiting():
                return host.call(request, self._limit, self._processes.cancelled)
        except BaseException:  # whatever it was, Ctrl-C too; it goes on its way
            self._end(host)
            raise

    def _borrow(self, file: Path) -> HostProcess | None:
        """A host that is idle, or soon is; None: there is to be another. It counts as busy from now on."""
        with self._processes.turns.waiting(), self._freed:
            self._freed.wait_for(lambda: self._idle_one(file) or not self._busy[file], PATIENCE)
            host = self._idle_one(file)
            if host:
                self._idle.remove(host)
            self._busy[file] += 1
        return host

    def _idle_one(self, file: Path) -> HostProcess | None:
        return next((host for host in self._idle if host.file == file), None)

    def _give_back(self, host: HostProcess) -> None:
        """Only so many hosts stay: a run of many suites must not fill the memory with them."""
        with self._lock:
            self._idle.append(host)
            surplus = self._idle.pop(0) if len(self._idle) > IDLE_HOSTS else None
        if surplus:
            self._dismiss(surplus)

    def _dismiss(self, *hosts: HostProcess) -> None:
        """A host that waits for a request ends by itself when none can come."""
        for host in hosts:
            host.hang_up()
        deadline = time.monotonic() + GRACE
        stubborn = []
        for host in hosts:
            try:
                host.child.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                stubborn.append(host)
            else:
                self._closed(host)
        for host in stubborn:
            self._end(host)

    def _end(self, host: HostProcess) -> None:
        host.child.end(GRACE)
        self._closed(host)

    def _closed(self, host: HostProcess) -> None:
        host.close()
        self.log_ended(host.log)

    def _reported(self, file: Path, error: Any) -> Problem:
        if not isinstance(error, dict) or not isinstance(error.get("message"), str):
            return self._problem(file, FORGED, None)
        location = place_of(error.get("location"))
        problem = self._problem(file, error["message"], error.get("remedy"))
        return Problem(message=problem.message, location=location or problem.location, remedy=problem.remedy)

    def _problem(self, file: Path, message: str, remedy: str | None) -> Problem:
        path = file.relative_to(self._root) if file.is_relative_to(self._root) else file
        return Problem(message=message, location=Location(path=path.as_posix()), remedy=remedy)
