"""The suite host door: suite programs run in child processes, and what they do to themselves costs one execution."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections import Counter
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from skillgym_action.camel import to_json
from skillgym_action.domain import FollowUp, Outcome
from skillgym_action.effects.host_process import HostLostError, HostProcess
from skillgym_action.effects.node import Node
from skillgym_action.errors import ConfigError, Location, Problem, SuiteError
from skillgym_action.verdicts import FailureClass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skillgym_action.effects.processes import Processes
    from skillgym_action.session_report import SessionReport

# The folder of our package comes first on the path, until the host has imported what it needs of it.
PYTHON_HOST = (
    "import sys; sys.path.insert(0, sys.argv[1]); from skillgym_action.hosts import python_host as h; h.main()"
)
PACKAGE_PARENT = Path(__file__).parent.parent.parent
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
        self._node = Node(processes, node)
        self._lock = threading.Lock()
        self._freed = threading.Condition(self._lock)
        self._idle: list[HostProcess] = []
        self._busy: Counter[Path] = Counter()
        self._numbers = count(1)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def load(self, file: Path) -> dict[str, object]:
        """The host's answer to ``load`` (see hosts/python_host.py, which speaks for both). Raises SuiteError."""
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
        self._end(host)
        return reply.get("config")

    def judge(self, file: Path, case_id: str, report: SessionReport) -> tuple[Outcome, ...]:
        """What the case's check says of a session: one outcome that passed, or one per failure."""
        try:
            reply = self._ask(file, {"call": "judge", "case": case_id, "report": to_json(report)})
            return tuple(map(_outcome, reply["failures"])) or (_told(passed=True, explanation="the check returned"),)
        except HostLostError as lost:
            return (_trouble(f"the check {lost.reason}", evidence=lost.printed),)
        except SuiteError as error:
            return (_trouble(str(error)),)
        except (LookupError, TypeError, AttributeError):
            return (_trouble(FORGED),)

    def classify(self, file: Path, case_id: str, result: Mapping[str, object]) -> FailureClass | None:
        """The class the case's classifier gives to ``{status, failureOrigin, error: {name, message}}``.

        A classifier that crashes or hangs gives a class of its own; why is in the host's log.
        """
        try:
            reply = self._ask(file, {"call": "classify", "case": case_id, "result": dict(result)})
            return _failure_class(reply["failureClass"])
        except (HostLostError, SuiteError, LookupError, TypeError):
            return CLASSIFY_CRASH

    def close(self) -> None:
        """End all hosts."""
        with self._lock:
            hosts, self._idle = self._idle, []
        for host in hosts:
            self._end(host)

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
        host = self._started(file)
        reply = self._call(host, {"call": call, "file": os.fspath(file), "root": os.fspath(self._root)})
        if not reply.get("ok"):
            self._end(host)
            raise SuiteError.of(self._reported(file, reply.get("error")))
        return host, reply

    def _started(self, file: Path) -> HostProcess:
        log = self._logs / f"{file.stem[:100]}-{next(self._numbers)}.log"
        argv = self._argv(file)
        try:
            self._logs.mkdir(parents=True, exist_ok=True)
            with log.open("wb") as stderr:
                child = self._processes.spawn(
                    argv,
                    cwd=file.parent,
                    env=self._processes.environment,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=stderr,
                )
        except OSError as error:
            message = f"the suite host cannot be started: {error}"
            raise SuiteError.of(self._problem(file, message, "name a Python of version 3.11 or newer")) from error
        return HostProcess(file, child, log)

    def _argv(self, file: Path) -> tuple[str, ...]:
        """How the host of the file's language is started."""
        if file.suffix.lower() == ".py":
            return (self._python, "-B", "-P", "-c", PYTHON_HOST, os.fspath(PACKAGE_PARENT))
        try:
            with self._lock:
                return self._node.host
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
            self._end(surplus)

    def _end(self, host: HostProcess) -> None:
        self._processes.end(host.child, GRACE)
        host.close()

    def _reported(self, file: Path, error: Any) -> Problem:
        if not isinstance(error, dict) or not isinstance(error.get("message"), str):
            return self._problem(file, FORGED, None)
        location = _location(error.get("location"))
        problem = self._problem(file, error["message"], error.get("remedy"))
        return Problem(message=problem.message, location=location or problem.location, remedy=problem.remedy)

    def _problem(self, file: Path, message: str, remedy: str | None) -> Problem:
        path = file.relative_to(self._root) if file.is_relative_to(self._root) else file
        return Problem(message=message, location=Location(path=path.as_posix()), remedy=remedy)


def _told(*, passed: bool | None, explanation: str, **more: Any) -> Outcome:
    return Outcome(assertion="check", type="check", passed=passed, explanation=explanation, **more)


def _trouble(explanation: str, evidence: str | None = None) -> Outcome:
    return _told(passed=None, explanation=explanation, evidence=evidence or None, trouble="assert-hook")


def _outcome(failure: dict[str, Any]) -> Outcome:
    more = {
        "location": _location(failure.get("location")),
        "failure_class": _failure_class(failure.get("failureClass")),
        "follow_ups": tuple(map(_follow_up, failure.get("questions") or ())),
    }
    if failure["kind"] == "assertion":
        return _told(passed=False, explanation=failure["message"], **more)
    explanation = f"the check raised {failure['name']}: {failure['message']}"
    return _told(passed=None, explanation=explanation, evidence=failure.get("trace"), trouble="assert-hook", **more)


def _follow_up(told: dict[str, Any]) -> FollowUp:
    return FollowUp(question=str(told["question"]), source=_location(told.get("location")))


def _failure_class(found: dict[str, Any] | None) -> FailureClass | None:
    return FailureClass(id=found["id"], label=found["label"]) if found else None


def _location(place: Any) -> Location | None:
    if not isinstance(place, dict) or not isinstance(place.get("path"), str):
        return None
    return Location(path=place["path"], line=place.get("line"), column=place.get("column"))
