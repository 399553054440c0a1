"""Runs suite programs in child processes, called suite hosts: one that crashes or hangs costs one execution only."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import Counter
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from skillgym_action.judging.assertions.commands import CHECK_RETURNED, WITHOUT_EFFECT
from skillgym_action.model.errors import ConfigError, Location, OutputError, Problem, SuiteError, path_remedy
from skillgym_action.model.json_codec import to_json
from skillgym_action.model.verdicts import FailureClass
from skillgym_action.suites.programs.hosts.node import ERASER, NODE_HOST, Node
from skillgym_action.system.processes.launcher import TimeoutExpired
from skillgym_action.text.escaping import path_key

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from skillgym_action.model.judgement import FollowUp, FunctionReply, Outcome
    from skillgym_action.model.session_report import SessionReport
    from skillgym_action.suites.programs.hosts.host_process import HostProcess
    from skillgym_action.system.processes.launcher import ProcessLauncher

SUITE_CALL_SECONDS = 60.0  # seconds for one call: loading a suite, a check, a classifier
SUITE_HOST_MEMORY_BYTES = 4 * 1024**3  # bytes of a host, and of each program that it starts, on Linux
SUITE_HOST_WAIT_SECONDS = 0.25  # seconds to wait for a busy host before another one is started
SUITE_HOST_GRACE_SECONDS = 1.0  # seconds to end by itself
MAX_IDLE_SUITE_HOSTS = 16  # hosts kept for later calls; each takes memory

# The folder with this package comes first on the path until the host has imported what it needs; then the suite's.
_RUNTIME = "skillgym_action.suites.programs.runtime"
PYTHON_HOST = f"import sys; sys.path.insert(0, sys.argv[1]); from {_RUNTIME} import python_host; python_host.main()"
PACKAGE = Path(__file__).parents[3]
TYPESCRIPT = frozenset({".ts", ".mts", ".cts"})
FORGED = "the suite wrote to the connection of the suite host's protocol"
CLASSIFY_CRASH = FailureClass(id="classify-hook", label="Classify hook crash")


class SuiteHosts:
    """A pool of suite hosts, each with one suite file loaded. Use it as a context manager, or ``close`` it."""

    def __init__(
        self,
        processes: ProcessLauncher,
        *,
        root: Path,
        logs: Path,
        call_limit: float = SUITE_CALL_SECONDS,
        python: str = sys.executable,
        node: str | None = None,
    ) -> None:
        """``root``: locations are relative to it; ``logs``: folder for what suites print; ``call_limit``: in seconds.

        ``python`` and ``node`` execute suites; without ``node``, one is searched for when it is needed.
        """
        self._processes = processes
        self._root = root
        self._logs = logs
        self._limit = call_limit
        self._python = python
        # Where suites are read from a folder inside the checkout: Node must not find packages of the checkout by name.
        self.excluded_packages: Path | None = None
        self.log_ended: Callable[[Path], object] = lambda _: None  # called with the log of a host that has ended
        self._node = Node(processes, node)
        self._lock = threading.Lock()
        self._freed = threading.Condition(self._lock)
        self._idle: list[HostProcess] = []
        self._busy: Counter[Path] = Counter()
        self._numbers, self._erasers = count(1), count(1)
        self._erased: dict[Path, dict[str, str]] = {}
        self._calls: dict[Path, str] = {}  # how files are loaded that are no suites of skillgym

    @property
    def cancelled(self) -> bool:
        """Whether the run was cancelled; then no suite is loaded any more."""
        return bool(self._processes.cancelled)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def load(self, file: Path) -> dict[str, object]:
        """The host's reply to ``load`` (see suites/programs/runtime/python_host.py). Raises SuiteError."""
        from skillgym_action.suites.programs.hosts.host_process import HostLostError

        try:
            host, reply = self._start_and_load(file)
        except HostLostError as lost:
            message = f"the suite {lost.reason} while it was imported"
            remedy = f"a suite file only defines cases; what it printed is in {lost.log.name}"
            raise SuiteError.of(self._problem(file, message, remedy)) from lost
        self._return(host)
        return reply

    def configuration(self, file: Path) -> object:
        """The configuration that a configuration file in JavaScript or TypeScript exports. Raises ConfigError."""
        from skillgym_action.suites.programs.hosts.host_process import HostLostError

        try:
            host, reply = self._start_and_load(file, "config")
        except HostLostError as lost:
            printed = f"; it printed: {lost.printed.strip()}" if lost.printed.strip() else ""
            problem = self._problem(file, f"the configuration {lost.reason}{printed}", "it only exports an object")
            raise ConfigError.of(problem) from lost
        except SuiteError as error:
            raise ConfigError.of(*error.problems) from error
        self._dismiss(host)
        return reply.get("config")

    def agentv_suite(self, file: Path) -> dict[str, object]:
        """What a suite of AgentV in TypeScript exports: see programs/runtime/node/agentv.mjs. Raises SuiteError."""
        self._calls[file] = "agentv"
        return self.load(file)

    def score(self, file: Path, number: int, answer: Mapping[str, object]) -> FunctionReply:
        """What a function of such a suite says about an answer."""
        from skillgym_action.model.judgement import FunctionReply
        from skillgym_action.suites.programs.hosts.host_process import HostLostError

        try:
            reply = self._ask(file, {"call": "score", "function": number, "answer": dict(answer)})
            if isinstance(problem := reply.get("problem"), str):
                return FunctionReply(trouble=problem)
            if failure := reply.get("failure"):
                reason, trace = f"it raised {failure['name']}: {failure['message']}", failure.get("trace")
                return FunctionReply(failed=failure["message"]) if failure["failed"] else _trouble(reason, trace)
            return FunctionReply(score=float(reply["score"]), name=str(reply["name"]))
        except HostLostError as lost:
            return _trouble(f"it {lost.reason}", lost.printed)
        except SuiteError as error:
            return FunctionReply(trouble=str(error))
        except (LookupError, TypeError, ValueError, AttributeError):
            return FunctionReply(trouble=FORGED)

    def judge(self, file: Path, case_id: str, report: SessionReport) -> tuple[Outcome, ...]:
        """Run the case's check on a session: one passed outcome, or one per failure."""
        from skillgym_action.suites.programs.hosts.host_process import HostLostError

        try:
            reply = self._ask(file, {"call": "judge", "case": case_id, "report": to_json(report)})
            return tuple(map(_outcome_of, reply["failures"])) or (_passed(reply.get("ignored")),)
        except HostLostError as lost:
            return (_undecided(f"the check {lost.reason}", evidence=lost.printed),)
        except SuiteError as error:
            return (_undecided(str(error)),)
        except (LookupError, TypeError, AttributeError):
            return (_undecided(FORGED),)

    def classify(self, file: Path, case_id: str, result: Mapping[str, object]) -> FailureClass | None:
        """The failure class that the case's classifier returns for ``{status, failureOrigin, error: {name, message}}``.

        The class is ``CLASSIFY_CRASH`` if the classifier crashes or hangs; the reason is in the host's log.
        """
        from skillgym_action.suites.programs.hosts.host_process import HostLostError

        try:
            reply = self._ask(file, {"call": "classify", "case": case_id, "result": dict(result)})
            return _failure_class(reply["failureClass"])
        except (HostLostError, SuiteError, LookupError, TypeError):
            return CLASSIFY_CRASH

    def close(self) -> None:
        """End all idle hosts. Later calls start new ones."""
        with self._lock:
            hosts, self._idle = self._idle, []
        self._dismiss(*hosts)

    def _ask(self, file: Path, request: dict[str, Any]) -> dict[str, Any]:
        """The reply of an idle or new host. Raises HostLostError, and SuiteError for an error that the host reports."""
        host = self._borrow(file)
        try:
            host = host or self._start_and_load(file)[0]
            reply = self._call(host, request)
            self._return(host)
        finally:
            with self._freed:
                self._busy[file] -= 1
                self._freed.notify_all()
        if not reply.get("ok"):
            raise SuiteError.of(self._problem_of(file, reply.get("error")))
        return reply

    def _start_and_load(self, file: Path, call: str | None = None) -> tuple[HostProcess, dict[str, Any]]:
        """A new host that has imported the file, and its reply. Raises HostLostError, SuiteError."""
        sources = self._erased_sources(file)
        name = f"{path_key(file.stem)}-{next(self._numbers)}"
        host = self._start(file, self._argv(file), name)
        call = call or self._calls.get(file, "load")
        request = {"call": call, "file": os.fspath(file), "root": os.fspath(self._root), "sources": sources}
        if self.excluded_packages:
            request["apart"] = os.fspath(self.excluded_packages)
        reply = self._call(host, request)
        if not reply.get("ok"):
            self._end(host)
            raise SuiteError.of(self._problem_of(file, reply.get("error")))
        return host, reply

    def _erased_sources(self, file: Path) -> dict[str, str]:
        """JavaScript for a TypeScript suite and what it imports, by file; empty for what the eraser could not handle.

        A process of its own erases types: Node's eraser takes memory that a host would never give back.
        """
        from skillgym_action.suites.programs.hosts.host_process import HostLostError

        if file not in self._erased and file.suffix.lower() in TYPESCRIPT:
            name = f"{path_key(file.stem)}-types-{next(self._erasers)}"
            eraser = self._start(file, self._node_argv(file, ERASER), name)
            try:
                sources = self._call(eraser, {"file": os.fspath(file)})["sources"]
            except (HostLostError, LookupError):
                sources = {}
            self._dismiss(eraser)
            eraser.log.unlink(missing_ok=True)
            self._erased[file] = sources
        return self._erased.get(file, {})

    def _start(self, file: Path, argv: tuple[str, ...], name: str) -> HostProcess:
        from skillgym_action.suites.programs.hosts.host_process import HostProcess

        if self._package_is_closed:
            message = f"the suite host cannot be started: the agents' user cannot read {PACKAGE}"
            remedy = "install it where every user can read it"
            raise SuiteError.of(self._problem(file, message, remedy))
        log = self._logs / f"{name}.log"
        try:
            self._logs.mkdir(parents=True, exist_ok=True)
            log.unlink(missing_ok=True)
            stderr = log.open("xb")  # created anew: it must not be a link
        except OSError as error:
            raise OutputError(f"cannot write {log}: {error.strerror}", remedy=path_remedy(error)) from error
        try:
            with stderr:
                user = self._processes.user
                identity = user.host_identity() if user else None
                child = self._processes.start_piped(
                    argv, identity=identity, cwd=file.parent, stderr=stderr.fileno(), memory=SUITE_HOST_MEMORY_BYTES
                )
        except OSError as error:
            message = f"the suite host cannot be started: {error}"
            remedy = "name a Python of version 3.11 or newer"
            if isinstance(error, PermissionError) and self._processes.user:
                message = f"the suite host cannot be started: the agents' user cannot execute {argv[0]}"
                remedy = "install it where every user can execute it"
            raise SuiteError.of(self._problem(file, message, remedy)) from error
        return HostProcess(file, child, log)

    @cached_property
    def _package_is_closed(self) -> bool:
        return self._processes.is_closed_to_agents(PACKAGE, "r")

    def _argv(self, file: Path) -> tuple[str, ...]:
        """The command that starts a host for the file's language."""
        if file.suffix.lower() == ".py":
            return (self._python, "-B", "-P", "-c", PYTHON_HOST, os.fspath(PACKAGE.parent))
        return self._node_argv(file, NODE_HOST)

    def _node_argv(self, file: Path, program: Path) -> tuple[str, ...]:
        try:
            with self._lock:
                return self._node.command(program)
        except ConfigError as error:
            problem = error.problems[0]
            raise SuiteError.of(self._problem(file, problem.message, problem.remedy)) from error

    def _call(self, host: HostProcess, request: dict[str, Any]) -> dict[str, Any]:
        """Call the host; it is ended if it gives no reply. Raises HostLostError."""
        try:
            with self._processes.work_slots.released():
                return host.call(request, self._limit, self._processes.cancelled)
        except BaseException:  # also KeyboardInterrupt: no host may be left running
            self._end(host)
            raise

    def _borrow(self, file: Path) -> HostProcess | None:
        """An idle host for the file, which counts as busy from now on; None if the caller must start another one.

        Waits a moment for a busy host first: most checks are quick, and another host costs start time and memory.
        """
        with self._processes.work_slots.released(), self._freed:
            self._freed.wait_for(lambda: self._idle_host(file) or not self._busy[file], SUITE_HOST_WAIT_SECONDS)
            host = self._idle_host(file)
            if host:
                self._idle.remove(host)
            self._busy[file] += 1
        return host

    def _idle_host(self, file: Path) -> HostProcess | None:
        return next((host for host in self._idle if host.file == file), None)

    def _return(self, host: HostProcess) -> None:
        """Keep a host for the next call; the oldest one is ended if too many are idle."""
        with self._lock:
            self._idle.append(host)
            surplus = self._idle.pop(0) if len(self._idle) > MAX_IDLE_SUITE_HOSTS else None
        if surplus:
            self._dismiss(surplus)

    def _dismiss(self, *hosts: HostProcess) -> None:
        """Close the hosts' input, at which an idle host ends by itself; end those that do not."""
        for host in hosts:
            host.close_stdin()
        deadline = time.monotonic() + SUITE_HOST_GRACE_SECONDS
        running = []
        for host in hosts:
            try:
                host.child.wait(max(0.0, deadline - time.monotonic()))
            except TimeoutExpired:
                running.append(host)
            else:
                self._close(host)
        for host in running:
            self._end(host)

    def _end(self, host: HostProcess) -> None:
        host.child.end(SUITE_HOST_GRACE_SECONDS)
        self._close(host)

    def _close(self, host: HostProcess) -> None:
        host.close()
        self.log_ended(host.log)

    def _problem_of(self, file: Path, error: Any) -> Problem:
        if not isinstance(error, dict) or not isinstance(error.get("message"), str):
            return self._problem(file, FORGED, None)
        location = _location(error.get("location"))
        problem = self._problem(file, error["message"], error.get("remedy"))
        return Problem(message=problem.message, location=location or problem.location, remedy=problem.remedy)

    def _problem(self, file: Path, message: str, remedy: str | None) -> Problem:
        path = file.relative_to(self._root) if file.is_relative_to(self._root) else file
        return Problem(message=message, location=Location(path=path.as_posix()), remedy=remedy)


# --- replies as outcomes ----------------------------------------------------------------------------


def _outcome(*, passed: bool | None, explanation: str, **fields: Any) -> Outcome:
    from skillgym_action.model.judgement import Outcome

    return Outcome(assertion="check", type="check", passed=passed, explanation=explanation, **fields)


def _passed(ignored: object) -> Outcome:
    """The check passed. ``ignored``: a value that it returned and that has no effect, as text."""
    explanation = CHECK_RETURNED
    if isinstance(ignored, str):
        explanation += f" {ignored}{WITHOUT_EFFECT}"
    return _outcome(passed=True, explanation=explanation)


def _undecided(explanation: str, evidence: str | None = None) -> Outcome:
    """The check could not be evaluated: an infrastructure failure."""
    return _outcome(passed=None, explanation=explanation, evidence=evidence or None, trouble="assert-hook")


def _trouble(reason: str, evidence: str | None) -> FunctionReply:
    from skillgym_action.model.judgement import FunctionReply

    return FunctionReply(trouble=reason, evidence=evidence or None)


def _outcome_of(failure: dict[str, Any]) -> Outcome:
    """A failure in a host's reply. Each error that a check raises fails it, unless it says nothing about the agent."""
    from skillgym_action.model.judgement import RaisedError

    fields = {
        "error": RaisedError(
            name=failure["name"], message=failure["raised"], stack=failure["stack"], broken=bool(failure.get("broken"))
        ),
        "location": _location(failure.get("location")),
        "failure_class": _failure_class(failure.get("failureClass")),
        "follow_ups": tuple(map(_follow_up, failure.get("questions") or ())),
    }
    if failure["kind"] == "assertion":
        return _outcome(passed=False, explanation=failure["message"], **fields)
    what = "the check itself looks wrong: it raised" if failure.get("broken") else "the check raised"
    raised = f"{what} {failure['name']}: " if failure["name"] else ""
    explanation = f"{raised}{failure['message']}"
    passed = False if failure["kind"] == "crash" else None
    return _outcome(
        passed=passed, explanation=explanation, evidence=failure.get("trace"), trouble="assert-hook", **fields
    )


def _follow_up(question: dict[str, Any]) -> FollowUp:
    from skillgym_action.model.judgement import FollowUp

    return FollowUp(question=str(question["question"]), source=_location(question.get("location")))


def _failure_class(found: dict[str, Any] | None) -> FailureClass | None:
    return FailureClass(id=found["id"], label=found["label"]) if found else None


def _location(found: Any) -> Location | None:
    """A location in the author's files; None for anything that is none, since suites can write to the protocol."""
    if not isinstance(found, dict) or not isinstance(found.get("path"), str):
        return None
    return Location(path=found["path"], line=found.get("line"), column=found.get("column"))
