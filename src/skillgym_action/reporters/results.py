"""Reporter: the results file (schema 1), one execution a line. ``schemas.Results`` is its contract."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING

from skillgym_action.domain import totals
from skillgym_action.text import tail
from skillgym_action.verdicts import GREEN, Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillgym_action.domain import Attempt, Outcome, Result, Runner, RunReport, Suite, Totals
    from skillgym_action.errors import Location, Problem
    from skillgym_action.session_report import Usage
    from skillgym_action.verdicts import FailureClass

FINAL_OUTPUT = 4_000  # characters
_SURROGATE = re.compile("[\ud800-\udfff]")


def render(report: RunReport) -> Iterator[str]:
    """JSON text, a piece for each suite."""
    yield '{"schema": 1,\n'
    yield f'"tool": {_json({"name": "skillgym-action", "version": report.version})},\n'
    yield f'"run": {_json(_run(report))},\n"totals": {_json(_totals(report.totals()))},\n'
    own: dict[str, list[Result]] = {}
    for result in report.results:
        own.setdefault(result.runner.id if result.runner else "", []).append(result)
    runners = _rows(_json(_runner(runner, own.get(runner.id, []))) for runner in report.runners)
    yield f'"runners": {runners},\n"suites": ['
    for number, (suite, results) in enumerate(_by_suite(report)):
        head = _json({"path": suite.path, "name": suite.name, "format": suite.format})
        rows = _rows(_json(_result(result)) for result in results)
        yield f'{"," if number else ""}\n{head[:-1]}, "results": {rows}}}'
    yield f'],\n"warnings": {_rows(_json(_warning(problem)) for problem in report.warnings)}}}\n'


def _json(value: dict[str, object]) -> str:
    return _SURROGATE.sub("\ufffd", json.dumps(value, ensure_ascii=False, allow_nan=False))


def _rows(rows: Iterator[str]) -> str:
    lines = ",\n".join(rows)
    return f"[\n{lines}]" if lines else "[]"


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
        **_given(commit=report.commit, shard=report.shard),
        "decision": decision
        and {"passed": decision.passed, "exitCode": decision.exit_code, "reasons": list(decision.reasons)},
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


def _result(result: Result) -> dict[str, object]:
    judgement = result.judgement
    failure, error = judgement.failure, None
    if failure:
        error = {"name": failure.name, "message": failure.message, **_given(location=_location(failure.location))}
    elif judgement.reason:
        error = {"name": str(judgement.status), "message": judgement.reason}
    return {
        "caseId": result.case_id,
        "runnerId": result.runner.id if result.runner else None,
        "tags": list(result.tags),
        "location": _location(result.location) or {"path": result.suite.path},
        "status": judgement.status,
        "passed": judgement.status in GREEN,
        **_given(failureOrigin=judgement.origin, failureClass=_class(judgement.failure_class), error=error),
        "outcomes": [_outcome(outcome) for outcome in judgement.outcomes],
        "durationMs": result.duration_ms,
        "usage": _usage(result.usage),
        "costUsd": result.cost.usd,
        "model": result.model,
        "attempts": [_attempt(attempt) for attempt in result.attempts],
        "artifactDir": result.directory,
        **_given(prompt=result.prompt, finalOutput=result.final_output and tail(result.final_output, FINAL_OUTPUT)),
    }


def _outcome(outcome: Outcome) -> dict[str, object]:
    score = outcome.score if outcome.score is not None and math.isfinite(outcome.score) else None
    return {
        "assertion": outcome.assertion,
        "type": outcome.type,
        "passed": outcome.passed,
        **_given(score=score),
        "explanation": outcome.explanation,
        **_given(evidence=outcome.evidence),
    }


def _attempt(attempt: Attempt) -> dict[str, object]:
    return {
        "repetition": attempt.repetition,
        "session": attempt.session,
        "status": attempt.status,
        **_given(failureClass=_class(attempt.failure_class)),
        "durationMs": attempt.duration_ms,
        "artifactDir": attempt.directory,
    }


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


def _location(location: Location | None) -> dict[str, object] | None:
    return {"path": location.path, **_given(line=location.line)} if location else None


def _warning(problem: Problem) -> dict[str, object]:
    location = problem.location
    parts = (problem.key_path, problem.message)
    message = ": ".join(part for part in parts if part) + (f"; {problem.remedy}" if problem.remedy else "")
    return {**_given(path=location and location.path, line=location and location.line), "message": message}


def _given(**values: object) -> dict[str, object]:
    """The values that are there."""
    return {name: value for name, value in values.items() if value is not None}
