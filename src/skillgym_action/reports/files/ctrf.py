"""Reporter: Common Test Report Format (https://ctrf.io), JSON, one test a line.

CTRF has no status for what could not be judged: ``errored`` becomes ``other``, never ``failed``. ``expected-failed``
becomes ``passed`` and ``unexpected-passed`` ``failed``, as the exit code has it; in quarantine what failed becomes
``other``. ``rawStatus`` is always the tool's own status.
"""

from __future__ import annotations

import json
from collections import Counter
from datetime import datetime
from math import isfinite
from typing import TYPE_CHECKING

from skillgym_action.model.judge_question import united_judges
from skillgym_action.model.limits import MAX_REPORTED_EXPLANATION_CHARACTERS, MAX_REPORTED_MESSAGE_CHARACTERS
from skillgym_action.model.result import ADDRESSES_JUDGE, LEAK_DETECTED, SCORE_DIGITS
from skillgym_action.model.verdicts import Status
from skillgym_action.reports.wording.failed_assertions import explanation
from skillgym_action.reports.wording.results import cause, findings_in_words, judge_name, location_of, retries
from skillgym_action.reports.wording.results_apart import quarantine_reason
from skillgym_action.text.escaping import clipped, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillgym_action.model.report import RunReport
    from skillgym_action.model.result import Attempt, Result, Reused

SPEC_VERSION = "0.0.0"  # CTRF is a working draft and has no other version
STATUSES = {
    Status.PASSED: "passed",
    Status.EXPECTED_FAILED: "passed",
    Status.FAILED: "failed",
    Status.UNEXPECTED_PASSED: "failed",
    Status.ERRORED: "other",
    Status.SKIPPED: "skipped",
}


def render(report: RunReport) -> Iterator[str]:
    """Yield JSON text, a line for each execution."""
    head = {"reportFormat": "CTRF", "specVersion": SPEC_VERSION, "timestamp": report.ended_at}
    tool = {"name": "skillgym-action", "version": visible(report.version)}
    yield f'{json.dumps(head)[:-1]}, "results": {{"tool": {json.dumps(tool)},\n'
    yield f'"summary": {json.dumps(_summary(report))},\n'
    if report.commit:
        yield f'"environment": {json.dumps({"commit": report.commit})},\n'
    yield '"tests": ['
    for number, result in enumerate(_tests(report)):
        yield f"{',' if number else ''}\n{json.dumps(_test(result))}"
    yield "\n]}}\n"


def _summary(report: RunReport) -> dict[str, object]:
    counts = Counter(map(_status, _tests(report)))
    return {
        "tests": counts.total(),
        **{status: counts[status] for status in ("passed", "failed", "skipped", "pending", "other")},
        "flaky": sum(map(_is_flaky, report.results)),
        "suites": len({result.suite.path for result in _tests(report)}),
        "start": _epoch_milliseconds(report.started_at),
        "stop": _epoch_milliseconds(report.ended_at),
        "duration": report.duration_ms,
    }


def _tests(report: RunReport) -> tuple[Result, ...]:
    return (*report.results, *report.quarantined)


def _status(result: Result) -> str:
    """CTRF's status; one in quarantine that did not pass is ``other``, since it decides nothing."""
    status = STATUSES[result.status]
    return "other" if result.quarantine and status == "failed" else status


def _test(result: Result) -> dict[str, object]:
    location = location_of(result)
    test: dict[str, object] = {
        "name": visible(result.case_id) or "(no name)",  # must not be empty
        "status": _status(result),
        "rawStatus": result.status,
        "duration": result.duration_ms,
        "suite": [visible(result.suite.name), *([visible(result.runner.id)] if result.runner else [])],
        "filePath": visible(location.path),
        "tags": [visible(tag) for tag in result.tags],
        "retries": retries(result),
        "flaky": _is_flaky(result),
        "extra": _extra(result),
    }
    if location.line is not None:
        test["line"] = location.line
    if result.status is not Status.PASSED:
        test["message"] = visible(clipped(cause(result).message, MAX_REPORTED_MESSAGE_CHARACTERS))
        test["trace"] = visible(explanation(result, MAX_REPORTED_EXPLANATION_CHARACTERS))
    if len(result.attempts) > 1:
        test["retryAttempts"] = [_attempt(number, attempt) for number, attempt in enumerate(result.attempts, start=1)]
    return test


def _attempt(number: int, attempt: Attempt) -> dict[str, object]:
    status = {"attempt": number, "status": STATUSES[attempt.status], "duration": attempt.duration_ms}
    message = {"message": visible(clipped(attempt.message, MAX_REPORTED_MESSAGE_CHARACTERS))} if attempt.message else {}
    return {**status, **message, "extra": {"rawStatus": attempt.status, "repetition": attempt.repetition}}


def _extra(result: Result) -> dict[str, object]:
    """What CTRF has no field for; unknown values are absent."""
    failure_class, runner, score = result.judgement.failure_class, result.runner, result.score
    judge = united_judges(outcome.judge for outcome in result.judgement.outcomes)
    values = {
        "agent": runner.agent.type if runner else None,
        "model": result.model and visible(result.model),
        "costUsd": result.cost.usd,
        "tokens": result.usage.total_tokens,
        "score": round(score, SCORE_DIGITS) if score is not None and isfinite(score) else None,
        "threshold": result.judgement.threshold,
        "failureClass": failure_class and visible(failure_class.id),
        "artifactDir": result.directory and visible(result.directory),
        "leaks": visible(findings_in_words(result, LEAK_DETECTED)) or None,
        "addressesJudge": visible(findings_in_words(result, ADDRESSES_JUDGE)) or None,
        "judge": visible(judge_name(judge)) if judge else None,
        "reused": _reused(result.reused) if result.reused else None,
        "quarantine": visible(quarantine_reason(result.quarantine)) if result.quarantine else None,
    }
    return {name: value for name, value in values.items() if value is not None}


def _reused(reused: Reused) -> dict[str, object]:
    """The run that a result was taken from."""
    link = {"link": visible(reused.link)} if reused.link else {}
    return {"commit": reused.commit, "at": reused.at, **link}


def _is_flaky(result: Result) -> bool:
    """As CTRF defines it: passed after a failed attempt. One that could not be judged is no failed attempt."""
    return result.status is Status.PASSED and any(attempt.status is Status.FAILED for attempt in result.attempts)


def _epoch_milliseconds(time: str) -> int:
    return round(datetime.fromisoformat(time).timestamp() * 1000)
