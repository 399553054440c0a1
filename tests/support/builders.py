"""Run reports in a few words.

    run_report('''
        suite bench/core.json
        edit passed
        fix @codex failed $0.20 12s: expected a file
        slow errored rate-limit 2x: 429 too many requests
        old skipped: not selected
    ''')

A line is a case: its id, its status and, in any order, ``@runner``, ``$cost`` (``$?`` unknown), seconds (``12s``),
tokens (``900t``), sessions of its only repetition (``2x``: one was retried), passed repetitions of all (``4of5``),
score and threshold (``0.5/0.8``), leaked keys (``!github:stdout.log``), a failure class, and after a colon the message.
``suite PATH`` begins a suite, ``warning: TEXT`` is a warning.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path
from typing import Any

from skillgym_action.model.errors import Location, Problem
from skillgym_action.model.judgement import Failure, Judgement, Outcome
from skillgym_action.model.report import Decision, RunReport
from skillgym_action.model.result import Attempt, Finding, Result
from skillgym_action.model.runner import Runner
from skillgym_action.model.session import AgentConfig
from skillgym_action.model.session_report import Cost, Usage
from skillgym_action.model.suite import BenchmarkSuite
from skillgym_action.model.verdicts import ASSERTION_FAILURE, TROUBLES, UNEXPECTED_PASS, FailureClass, Status
from skillgym_action.results.results_reader import read_results, restored

FORMATS = {".json": "x-bench", ".py": "python", ".ts": "typescript", ".yaml": "agentv"}
AGENTS = {"claude": "claude-code", "codex": "codex"}
ASSERTION = "file:out.txt exists"


def suite_at(path: str = "bench/core.json") -> BenchmarkSuite:
    file = Path(path)
    return BenchmarkSuite(
        path=path, file=Path("/repo") / path, name=file.stem, format=FORMATS.get(file.suffix, "x-bench")
    )


def runner_named(name: str = "claude") -> Runner:
    return Runner(id=name, path_key=name, agent=AgentConfig(type=AGENTS.get(name, "command"), model=f"{name}-model"))


@dataclass
class _Words:
    """The words of a line, apart from id and status."""

    runner: str = "claude"
    usd: float | None = 0.01
    seconds: float = 1.0
    tokens: int | None = 120
    sessions: int = 1
    passed_of: tuple[int, int] | None = None
    score: float | None = None
    threshold: float | None = None
    findings: tuple[Finding, ...] = ()
    failure_class: str | None = None
    message: str | None = None
    unknown: list[str] = field(default_factory=list)

    def take(self, word: str) -> None:
        if word.startswith("@"):
            self.runner = word[1:]
        elif word.startswith("!"):
            kind, _, where = word[1:].partition(":")
            self.findings += (Finding(kind=kind, where=where),)
        elif word.startswith("$"):
            self.usd = None if word == "$?" else float(word[1:])
        elif match := re.fullmatch(r"([\d.]+)(s|t|x)", word):
            number = float(match[1])
            if match[2] == "s":
                self.seconds = number
            elif match[2] == "t":
                self.tokens = int(number)
            else:
                self.sessions = int(number)
        elif match := re.fullmatch(r"(\d+)of(\d+)", word):
            self.passed_of = int(match[1]), int(match[2])
        elif match := re.fullmatch(r"([\d.]+)/([\d.]+)", word):
            self.score, self.threshold = map(float, match.groups())
        else:
            self.failure_class = word


def run_report(text: str, **changes: Any) -> RunReport:
    """The report that ``text`` describes; ``changes`` replace fields of it."""
    suites: dict[str, BenchmarkSuite] = {}
    runners: dict[str, Runner] = {}
    results: list[Result] = []
    warnings: list[Problem] = []
    suite = suite_at()
    for line in filter(None, map(str.strip, text.strip().splitlines())):
        head, _, message = line.partition(": ")
        words = head.split()
        if words[0] == "suite":
            suite = suite_at(words[1])
            suites[suite.path] = suite
        elif words[0] == "warning":
            warnings.append(Problem(message=message, location=Location(path=suite.path, line=1)))
        else:
            suites.setdefault(suite.path, suite)
            described = _Words(message=message or None)
            for word in words[1:]:
                if word not in set(Status):
                    described.take(word)
            status = next(Status(word) for word in words[1:] if word in set(Status))
            runner = runners.setdefault(described.runner, runner_named(described.runner))
            results.append(result_of(words[0], status, described, (suite, runner, len(results))))
    return RunReport(
        **{
            "id": "run-1",
            "version": "1.0.0",
            "command": "skillgym-action run",
            "started_at": "2025-01-02T03:04:05Z",
            "ended_at": "2025-01-02T03:05:05Z",
            "duration_ms": 60_000,
            "results": tuple(results),
            "suites": tuple(suites.values()),
            "runners": tuple(runners.values()),
            "warnings": tuple(warnings),
            "decision": decided(results),
        }
        | changes
    )


def result_of(case_id: str, status: Status, words: _Words, where: tuple[BenchmarkSuite, Runner, int]) -> Result:
    suite, runner, index = where
    location = Location(path=suite.path, line=10 * (index + 1))
    ran = status is not Status.SKIPPED
    directory = f"{suite.name}/{case_id}/{runner.path_key}"
    tokens = words.tokens if ran else None
    return Result(
        index=index,
        suite=suite,
        case_id=case_id,
        judgement=replace(judgement_of(status, words, location), score=words.score, threshold=words.threshold),
        runner=runner,
        location=location,
        tags=("smoke",),
        expected_fail=status in (Status.EXPECTED_FAILED, Status.UNEXPECTED_PASSED),
        duration_ms=int(words.seconds * 1000) if ran else 0,
        usage=Usage(input_tokens=tokens and tokens * 5 // 6, output_tokens=tokens and tokens // 6, total_tokens=tokens),
        cost=Cost(usd=words.usd, source="reported" if words.usd is not None else "unknown") if ran else Cost(),
        model=runner.agent.model if ran else None,
        version="1.2.3" if ran else None,
        attempts=tuple(attempts_of(status, words, directory)) if ran else (),
        directory=directory if ran else None,
        prompt=f"Do {case_id}",
        final_output="Done." if ran else None,
        session_id=f"session-{index}" if ran else None,
        findings=words.findings,
    )


def judgement_of(status: Status, words: _Words, location: Location) -> Judgement:
    message = words.message or "expected a file, found nothing"
    held = Outcome(assertion=ASSERTION, type="FileExists", passed=True, explanation="it is there")
    if status is Status.PASSED:
        return Judgement(status=status, outcomes=(held,))
    if status is Status.SKIPPED:
        return Judgement(status=status, reason=words.message or "not selected")
    if status is Status.ERRORED:
        kind = words.failure_class or "timeout"
        trouble = TROUBLES[kind]
        failure_class = FailureClass(id=kind, label=trouble.label)
        return Judgement(
            status=status,
            origin=trouble.origin,
            failure_class=failure_class,
            failure=Failure(name=trouble.label, message=words.message or "no answer in 120 s"),
        )
    if status is Status.UNEXPECTED_PASSED:
        failure = Failure(name="UnexpectedPass", message="every assertion passed", location=location)
        return Judgement(status=status, outcomes=(held,), failure_class=UNEXPECTED_PASS, failure=failure)
    broken = Outcome(
        assertion=ASSERTION, type="FileExists", passed=False, explanation=message, evidence="src/\nREADME.md"
    )
    own = FailureClass(id=words.failure_class, label=words.failure_class) if words.failure_class else ASSERTION_FAILURE
    return Judgement(
        status=status,
        outcomes=(broken,),
        origin="assertion",
        failure_class=own,
        failure=Failure(name="AssertionError", message=message, location=location),
    )


def attempts_of(status: Status, words: _Words, directory: str) -> list[Attempt]:
    if words.passed_of:
        return repetitions_of(status, *words.passed_of, directory)
    retried = FailureClass(id="rate-limit", label="Rate limit")
    return [
        Attempt(
            repetition=1,
            session=session,
            status=status if session == words.sessions else Status.ERRORED,
            duration_ms=int(words.seconds * 1000),
            directory=f"{directory}/repeat-1" + (f"/session-{session}" if words.sessions > 1 else ""),
            failure_class=None if session == words.sessions else retried,
            message=None if session == words.sessions else "429 too many requests",
        )
        for session in range(1, words.sessions + 1)
    ]


def repetitions_of(status: Status, passed: int, number: int, directory: str) -> list[Attempt]:
    """The repetitions that passed come first."""
    expected = status in (Status.EXPECTED_FAILED, Status.UNEXPECTED_PASSED)
    held, broken = (Status.UNEXPECTED_PASSED, Status.EXPECTED_FAILED) if expected else (Status.PASSED, Status.FAILED)
    return [
        Attempt(
            repetition=repetition,
            session=1,
            status=held if repetition <= passed else broken,
            duration_ms=1000,
            directory=f"{directory}/repeat-{repetition}",
        )
        for repetition in range(1, number + 1)
    ]


def decided(results: list[Result]) -> Decision:
    """As the stage ``gate`` decides without options."""
    counts = Counter(result.status for result in results)
    red = tuple(f"{counts[one]} {one}" for one in (Status.FAILED, Status.UNEXPECTED_PASSED) if counts[one])
    missing = counts[Status.ERRORED]
    reasons = (*red, *([f"{missing} of {len(results)} have no result"] if missing or not results else []))
    if red:
        return Decision(verdict="failed", exit_code=1, reasons=reasons)
    if reasons:
        return Decision(verdict="inconclusive", exit_code=3, reasons=reasons)
    return Decision(verdict="passed", exit_code=0)


def restored_text(text: str) -> RunReport:
    """The report of the run that wrote this results file."""
    file = Path("results.json")
    return restored(read_results(BytesIO(text.encode()), file), file)
