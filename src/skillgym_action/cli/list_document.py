"""The document of ``list --json``: a plan, and what it will cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillgym_action.cli.json_documents import (
    ExpectedDurationPart,
    ExpectedIntervalPart,
    ExpectedPart,
    ExpectedTotalPart,
    ForecastPart,
    ListDocument,
    ListedExecutionPart,
)
from skillgym_action.cli.list import assertions_of, workspace_of

if TYPE_CHECKING:
    from skillgym_action.model.execution import Execution, Plan
    from skillgym_action.model.forecast import Expected, ExpectedExecution, Forecast


def list_document(plan: Plan, expected: Forecast | None, *, exit_code: int) -> ListDocument:
    """The executions of a plan. ``expected``: what it will cost; None: unknown."""
    costs = {one.execution.index: one for one in expected.executions} if expected else {}
    return ListDocument(
        exit_code=exit_code,
        executions=[_execution(one, costs.get(one.index)) for one in plan.executions],
        forecast=_forecast(expected) if expected else None,
    )


def _execution(execution: Execution, expected: ExpectedExecution | None) -> ListedExecutionPart:
    case = execution.case
    return ListedExecutionPart(
        suite=execution.suite.path,
        format=execution.suite.format,
        case=case.id,
        runner=execution.runner.id,
        arm=execution.arm_name,
        tags=list(case.tags),
        timeout=execution.timeout,
        budget=execution.budget,
        model=execution.model,
        title=case.title,
        skills=[skill.name for skill in workspace_of(execution).skills],
        assertions=assertions_of(execution),
        questions=case.questions,
        expected=_expected(expected) if expected else None,
    )


def _expected(one: ExpectedExecution) -> ExpectedPart:
    return ExpectedPart(
        repetitions=one.planned,
        sessions=round(one.sessions, 3),
        cost_usd=one.total_usd,
        duration_ms=None if one.total_ms is None else round(one.total_ms),
        stored_runs=one.runs,
        same_key=one.same_key if one.runs else None,
    )


def _forecast(expected: Forecast) -> ForecastPart:
    time = expected.ms
    return ForecastPart(
        source=expected.source,
        cost_usd=ExpectedTotalPart(
            total=expected.usd.total, interval=_interval(expected.usd), unknown=len(expected.usd.unknown)
        ),
        duration_ms=ExpectedDurationPart(
            total=round(time.total),
            interval=_interval(time),
            unknown=len(time.unknown),
            least_possible=round(expected.least_ms),
        ),
        jobs=expected.jobs,
    )


def _interval(expected: Expected) -> ExpectedIntervalPart | None:
    if (found := expected.interval) is None:
        return None
    return ExpectedIntervalPart(low=found.low, high=found.high, level=found.level, stored_runs=found.runs)
