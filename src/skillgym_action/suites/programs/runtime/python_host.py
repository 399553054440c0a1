"""The Python suite host: a child process that runs one suite file. It reads requests and writes replies as JSON lines.

    {"call": "load", "file": "/repo/bench/login_suite.py", "root": "/repo"}
        -> {"ok": true, "name": …, "cases": [{id, prompt, tags, timeoutMs, expectedFail, classify, location}],
            "problems": [{case, message, remedy, location}],
            "workspace": {mode, templateDir, cwd, bootstrap, limits, container} | null,
            "arms": {value: {NAME: {files, remove, home, env, commandArgs, skill, decides}}, location} | null}
    {"call": "judge", "case": "login", "report": {… a session report …}}
        -> {"ok": true, "failures": [{kind: "assertion" | "crash" | "undecided", name, message, raised, stack, location,
            failureClass?, trace?, broken?, questions: [{question, location}]}],
            "ignored": … a returned value without effect, as text | null …}
    {"call": "classify", "case": "login", "result": {status, failureOrigin, error: {name, message}, …}}
        -> {"ok": true, "failureClass": {id, label} | null}
    any request that fails
        -> {"ok": false, "error": {message, location, remedy}}

A reply repeats the request's ``number``. A location is ``{path, line, column}``. A question is what the agent can be
asked about the failure. What the suite prints goes to stderr: the protocol uses other descriptors. The Node suite host,
node_host.mjs, has the same protocol.
"""

from __future__ import annotations

import inspect
import json
import os
import sys
import traceback
from contextlib import suppress
from dataclasses import field
from importlib.machinery import PathFinder
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillgym_action.model.json_codec import from_json
from skillgym_action.model.records import record
from skillgym_action.model.session_report import SessionReport
from skillgym_action.model.verdicts import FailureClass  # noqa: TC001 - from_json reads the annotation
from skillgym_action.suites.programs.runtime.assert_rewriting import RewritingFinder, run_as
from skillgym_action.suites.programs.runtime.expectations import expect, failure_class_of
from skillgym_action.suites.programs.runtime.failures import Places, joined
from skillgym_action.suites.programs.runtime.matching import value_text
from skillgym_action.suites.programs.runtime.suite import Context
from skillgym_action.suites.programs.runtime.suite_program import SuiteProgram, SuiteProgramError, arguments_taken

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import BinaryIO

    from skillgym_action.suites.programs.runtime.failures import Json
    from skillgym_action.suites.programs.runtime.suite import Case

# The module name of the suite file, with a space: no import statement can name it.
MODULE = "suite file"


@record(slots=False)
class ErrorSummary:
    """Why an execution did not pass: the error's type and its message; of one that the check raised, where it did."""

    name: str = ""
    message: str = ""
    stack: str | None = None


@record(slots=False)
class UnpassedResult:
    """The argument of a case's ``classify_failure``; ``failure_class`` is the one that it may override.

    ``duration_ms``: of the agent, in milliseconds. The folders of the artifacts, of the session and of all sessions of
    the execution, and the log with the agent's or the bootstrap's errors, are absolute paths.
    """

    case_id: str = ""
    runner_id: str = ""
    status: str = ""
    passed: bool = False
    duration_ms: int = 0
    execution_artifact_dir: str = ""
    artifact_dir: str = ""
    failure_log_path: str | None = None
    failure_origin: str = ""
    failure_class: FailureClass | None = None
    error: ErrorSummary = field(default_factory=ErrorSummary)
    report: SessionReport | None = None


class PythonHost:
    """Answers requests about one suite file."""

    def __init__(self) -> None:
        self.program: SuiteProgram | None = None
        self.places = Places("")

    def answer(self, request: Json) -> Json:
        """The reply to a request. There always is one, unless the suite ends the process."""
        calls: dict[str, Callable[[Json], Json]] = {"load": self.load, "judge": self.judge, "classify": self.classify}
        try:
            return {"ok": True, **calls[request["call"]](request)}
        except SuiteProgramError as error:
            place = self.places.at(request["file"])
            return {"ok": False, "error": {"message": str(error), "location": place, "remedy": error.remedy}}
        except BaseException as error:  # noqa: BLE001 - SystemExit and KeyboardInterrupt are the suite's, too
            traceback.print_exc()
            return {"ok": False, "error": self.places.load_error(error)}

    def load(self, request: Json) -> Json:
        """Import the suite file."""
        file = request["file"]
        self.places = Places(request["root"])
        folder = str(Path(file).parent)
        sys.path.insert(0, folder)
        sys.meta_path.insert(sys.meta_path.index(PathFinder), RewritingFinder(folder))
        self.program = SuiteProgram(run_as(MODULE, file), self.places)
        return self.program.as_data()

    def judge(self, request: Json) -> Json:
        """Run the check of a case."""
        case = self._case(request["case"])
        report = from_json(SessionReport, request["report"])
        self.places.workspace = report.cwd
        hard: list[BaseException] = []
        returned: object = None
        with expect.collected as collected:
            try:
                returned = _call(case.check, report, Context(report))
            except BaseException as error:  # noqa: BLE001 - a check may raise anything
                hard.append(error)
        failures = [self.places.failure(error) for error in (*collected, *hard)]
        if isinstance(returned, bool):
            failures.append(self._returned(case, returned))
        ignored = None if _is_nothing(returned) else value_text(returned)
        return {"failures": [joined(failures)] if failures else [], "ignored": ignored}

    def classify(self, request: Json) -> Json:
        """Run the classifier of a case."""
        classifier = self._case(request["case"]).classify_failure
        known = {key: value for key, value in request["result"].items() if value is not None}
        answer = classifier(from_json(UnpassedResult, known)) if classifier else None
        return {"failureClass": None if answer is None else failure_class_of(answer)}

    def _returned(self, case: Case, value: bool) -> Json:  # noqa: FBT001 - it is the check's result
        """The failure of a check that returned a bool: its author thought that False fails the check."""
        message = f"the check returned {value}, which is not a result; use `assert`"
        location = self.places.of_function(case.check) or self.places.at(*case.written_at)
        failure = {"kind": "undecided", "name": "", "message": message, "raised": message, "stack": ""}
        return {**failure, "location": location, "questions": []}

    def _case(self, case_id: str) -> Any:
        if self.program is None:
            raise LookupError("no suite file is loaded")
        return self.program.cases[case_id]


def _call(check: Any, *arguments: object) -> object:
    """What the check returned; for a coroutine function, the value of the coroutine."""
    returned = check(*arguments[: arguments_taken(check)])
    if inspect.isawaitable(returned):
        import asyncio

        return asyncio.run(_awaited(returned))
    return returned


async def _awaited(value: Awaitable[object]) -> object:
    return await value


def _is_nothing(returned: object) -> bool:
    """Whether it is None, or a list or tuple of None: the value of a lambda that calls several assertions."""
    return returned is None or (isinstance(returned, list | tuple) and all(item is None for item in returned))


def _private_channel() -> tuple[BinaryIO, BinaryIO]:
    """Files for requests and replies. The suite's own stdin is empty, and what it prints goes to stderr."""
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)  # type: ignore[union-attr]
    return requests, replies


def main() -> None:
    """Answer requests until there are no more."""
    requests, replies = _private_channel()
    # The folder of this package came first on the path while the host was imported; now the suite's modules come first.
    sys.path.append(sys.path.pop(0))
    host, host_pid = PythonHost(), os.getpid()
    for line in requests:
        request = json.loads(line)
        answer = json.dumps({**host.answer(request), "number": request["number"]}).encode() + b"\n"
        if os.getpid() != host_pid:
            break  # the check forked and this is the child: only the parent may reply
        with suppress(Exception):  # the suite may have closed or replaced stdout
            sys.stdout.flush()
        replies.write(answer)
        replies.flush()
    os._exit(0)  # without waiting for threads that the suite left running
