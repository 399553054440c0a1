"""Reporter: the results file (schema 1), one execution a line. ``schemas.Results`` is its contract.

It holds all that other reporters show, so that a report made from the file is the one the run made.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from skillgym_action.model.scores import SCORE_DIGITS
from skillgym_action.model.totals import totals
from skillgym_action.model.verdicts import GREEN, Status
from skillgym_action.text.escaping import tail

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillgym_action.model.errors import Location, Problem
    from skillgym_action.model.execution import Runner
    from skillgym_action.model.findings import Finding
    from skillgym_action.model.result import Attempt, Outcome, Result
    from skillgym_action.model.run_report import RunReport, SuitesFrom
    from skillgym_action.model.session_report import Usage
    from skillgym_action.model.suite import Suite
    from skillgym_action.model.totals import Totals
    from skillgym_action.model.verdicts import FailureClass

FINAL_OUTPUT = 4_000  # characters
_SURROGATE = re.compile("[\ud800-\udfff]")
_encoded = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def render(report: RunReport) -> Iterator[str]:
    """JSON text, a piece for each execution."""
    yield '{"schema": 1,\n'
    yield f'"tool": {json_line({"name": "skillgym-action", "version": report.version})},\n'
    yield f'"run": {json_line(_run(report))},\n"totals": {json_line(_totals(report.totals()))},\n'
    own: dict[str, list[Result]] = {}
    for result in report.results:
        own.setdefault(result.runner.id if result.runner else "", []).append(result)
    yield '"runners": '
    yield from _rows(json_line(_runner(runner, own.get(runner.id, []))) for runner in report.runners)
    yield ',\n"suites": ['
    for number, (suite, results) in enumerate(_by_suite(report)):
        head = json_line(
            {"path": suite.path, "name": suite.name, "format": suite.format, **_given(digest=suite.digest)}
            | _given(changed=suite.changed)
        )
        yield f'{"," if number else ""}\n{head[:-1]}, "results": '
        yield from _rows(json_line(row(result)) for result in results)
        yield "}"
    yield '],\n"warnings": '
    yield from _rows(json_line(_warning(problem)) for problem in report.warnings)
    yield "}\n"


def json_line(value: dict[str, object]) -> str:
    """JSON without line ends, which every reader of JSON takes."""
    text = _encoded(value)
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def _rows(rows: Iterator[str]) -> Iterator[str]:
    yield "["
    for number, row in enumerate(rows):
        yield f",\n{row}" if number else f"\n{row}"
    yield "]"


def _by_suite(report: RunReport) -> Iterator[tuple[Suite, list[Result]]]:
    suites = {suite.path: suite for suite in report.suites}
    results: dict[str, list[Result]] = {path: [] for path in suites}
    for result in report.results:
        suites.setdefault(result.suite.path, result.suite)
        results.setdefault(result.suite.path, []).append(result)
    for path, suite in suites.items():
        yield suite, results[path]


def _run(report: RunReport) -> dict[str, object]:
    decision = report.decision
    return {
        "id": report.id,
        "status": "cancelled" if report.cancelled else "finished",
        "startedAt": report.started_at,
        "endedAt": report.ended_at,
        "durationMs": report.duration_ms,
        "command": report.command,
        **_given(commit=report.commit, shard=report.shard, incomplete=list(report.incomplete) or None),
        **_given(suitesFrom=_suites_from(report.suites_from) if report.suites_from else None),
        "decision": decision
        and {"passed": decision.passed, "exitCode": decision.exit_code, "reasons": list(decision.reasons)},
    }


def _suites_from(told: SuitesFrom) -> dict[str, object]:
    paths = {"added": told.added, "changed": told.changed, "removed": told.removed}
    return {
        "folder": told.folder,
        **_given(commit=told.commit),
        **{name: list(listed) for name, listed in paths.items() if listed},
        "configurationDiffers": told.configuration_differs,
    }


def _totals(sums: Totals) -> dict[str, object]:
    tokens = sums.tokens
    return {
        "executions": sums.executions,
        "judged": sums.judged,
        "passed": sums.counts[Status.PASSED],
        "failed": sums.counts[Status.FAILED],
        "expectedFailed": sums.counts[Status.EXPECTED_FAILED],
        "unexpectedPassed": sums.counts[Status.UNEXPECTED_PASSED],
        "errored": sums.counts[Status.ERRORED],
        "skipped": sums.counts[Status.SKIPPED],
        "passRate": sums.pass_rate,
        "costUsd": sums.cost_usd,
        "costComplete": sums.cost_complete,
        "tokens": {
            "input": tokens.input_tokens,
            "output": tokens.output_tokens,
            "reasoning": tokens.reasoning_tokens,
            "cache": tokens.cache_tokens,
            "total": tokens.total_tokens,
        },
        "retries": sums.retries,
    }


def _runner(runner: Runner, own: list[Result]) -> dict[str, object]:
    return {
        "id": runner.id,
        "agent": runner.agent.type,
        "model": runner.agent.model or next((result.model for result in own if result.model), None),
        "version": next((result.version for result in own if result.version), None),
        **_totals(totals(own)),
    }


def row(result: Result) -> dict[str, object]:
    """A result, as the file has it."""
    judgement = result.judgement
    failure, error = judgement.failure, None
    if failure:
        error = {"name": failure.name, "message": failure.message, **_given(location=_location(failure.location))}
    elif judgement.reason:
        error = {"name": str(judgement.status), "message": judgement.reason}
    place = _location(result.location, result.suite.path) or {"path": result.suite.path}
    return {
        "index": result.index,
        "caseId": result.case_id,
        "runnerId": result.runner.id if result.runner else None,
        "tags": list(result.tags),
        "location": place,
        "status": judgement.status,
        "passed": judgement.status in GREEN,
        **_given(expectedFail=result.expected_fail or None, score=_score(result.score)),
        **_given(threshold=judgement.threshold),
        **_given(failureOrigin=judgement.origin, failureClass=_class(judgement.failure_class), error=error),
        "outcomes": [_outcome(outcome) for outcome in judgement.outcomes],
        "durationMs": result.duration_ms,
        "usage": _usage(result.usage),
        "costUsd": result.cost.usd,
        "costSource": result.cost.source,
        "model": result.model,
        **_given(version=result.version, sessionId=result.session_id),
        "attempts": [_attempt(attempt) for attempt in result.attempts],
        **_given(findings=[_finding(finding) for finding in result.findings] or None),
        "artifactDir": result.directory,
        **_given(prompt=result.prompt, finalOutput=result.final_output and tail(result.final_output, FINAL_OUTPUT)),
    }


def _outcome(outcome: Outcome) -> dict[str, object]:
    return {
        "assertion": outcome.assertion,
        "type": outcome.type,
        "passed": outcome.passed,
        **_given(score=_score(outcome.score), weight=outcome.weight if outcome.weight != 1 else None),
        "explanation": outcome.explanation,
        **_given(evidence=outcome.evidence, location=_location(outcome.location)),
        **_given(failureClass=_class(outcome.failure_class)),
    }


def _score(score: float | None) -> float | None:
    return round(score, SCORE_DIGITS) if score is not None and math.isfinite(score) else None


def _attempt(attempt: Attempt) -> dict[str, object]:
    return {
        "repetition": attempt.repetition,
        "session": attempt.session,
        "status": attempt.status,
        **_given(failureClass=_class(attempt.failure_class), message=attempt.message),
        "durationMs": attempt.duration_ms,
        "artifactDir": attempt.directory,
    }


def _finding(finding: Finding) -> dict[str, object]:
    return {"id": finding.id, "kind": finding.kind, "where": finding.where}


def _usage(usage: Usage) -> dict[str, object]:
    return {
        "inputTokens": usage.input_tokens,
        "outputTokens": usage.output_tokens,
        "reasoningTokens": usage.reasoning_tokens,
        "cacheTokens": usage.cache_tokens,
        "totalTokens": usage.total_tokens,
        "inputChars": usage.input_chars,
        "outputChars": usage.output_chars,
        "reasoningChars": usage.reasoning_chars,
    }


def _class(failure_class: FailureClass | None) -> dict[str, object] | None:
    return {"id": failure_class.id, "label": failure_class.label} if failure_class else None


def _location(location: Location | None, suite: str | None = None) -> dict[str, object] | None:
    """A place in the repository; what a suite told of other places stays out, but for ``suite``'s own path."""
    if location is None or not (location.path == suite or _inside(location.path)):
        return None
    return {"path": location.path, **_given(line=_counted(location.line), column=_counted(location.column))}


def _inside(path: str) -> bool:
    return "\0" not in path and all(part not in ("", ".", "..") for part in path.split("/"))


def _counted(number: int | None) -> int | None:
    return number if number and number > 0 else None


def _warning(problem: Problem) -> dict[str, object]:
    told = str(replace(problem, location=None))
    return {**(_location(problem.location) or {}), "message": told}


def _given(**values: object) -> dict[str, object]:
    """The values that are there."""
    return {name: value for name, value in values.items() if value is not None}
