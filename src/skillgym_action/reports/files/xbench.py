"""Reporter: results as ``x bench`` writes them, for each suite; a list when there are several."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from skillgym_action.model.totals import totals
from skillgym_action.model.verdicts import GREEN, Status
from skillgym_action.reports.wording.results import cause
from skillgym_action.text.escaping import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillgym_action.model.report import RunReport
    from skillgym_action.model.result import Result
    from skillgym_action.model.suite import BenchmarkSuite


def render(report: RunReport) -> Iterator[str]:
    """JSON text, a line for each case. ``duration`` is in seconds; a cost that is not known is null."""
    by_suite: dict[str, list[Result]] = {suite.path: [] for suite in report.suites}
    for result in report.results:
        by_suite.setdefault(result.suite.path, []).append(result)
    suites = {suite.path: suite for suite in (*report.suites, *(result.suite for result in report.results))}
    several = len(by_suite) != 1
    yield "[\n" if several else ""
    for number, (path, results) in enumerate(by_suite.items()):
        yield ",\n" if number else ""
        yield from _suite(suites[path], results)
    yield "\n]\n" if several else "\n"


def _suite(suite: BenchmarkSuite, results: list[Result]) -> Iterator[str]:
    sums = totals(results)
    before = {
        "suite": visible(suite.name),
        "passed": sums.green,
        "failed": sums.executions - sums.green - sums.counts[Status.SKIPPED],
        "total": sums.executions,
        "totalCost": sums.cost_usd,
        "costComplete": sums.cost_complete,
    }
    yield f'{json.dumps(before)[:-1]}, "cases": ['
    for number, result in enumerate(results):
        yield f"{',' if number else ''}\n{json.dumps(_case(result))}"
    yield '\n], "schemaVersion": 1}'


def _seconds(milliseconds: int) -> float:
    """Seconds with their fraction, if they have one."""
    return milliseconds / 1000 if milliseconds % 1000 else milliseconds // 1000


def _case(result: Result) -> dict[str, object]:
    green = result.status in GREEN
    return {
        "id": visible(result.case_id),
        "pass": green,
        "cost": result.cost.usd,
        "duration": _seconds(result.duration_ms),
        "tokens": {"input": result.usage.input_tokens, "output": result.usage.output_tokens},
        "durationMs": result.duration_ms,
        "status": result.status,
        "runner": result.runner.id if result.runner else None,
        "model": result.model,
        "attempts": len(result.attempts),
        "expectations": [
            {
                "expectation": visible(outcome.assertion),
                "pass": outcome.passed,
                "explanation": visible(outcome.explanation),
            }
            for outcome in result.judgement.outcomes
        ],
        "error": None if green else visible(cause(result).message),
    }
