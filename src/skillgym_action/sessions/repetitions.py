"""Part of execute: which session follows the ones that were held, and what they all come to."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING

from skillgym_action.model.findings import unique_findings
from skillgym_action.model.session_report import Cost, Usage
from skillgym_action.model.verdicts import GREEN, TROUBLES, Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skillgym_action.model.execution import Execution
    from skillgym_action.model.result import Judgement, Result, SessionResult
    from skillgym_action.settings.options import ExecuteOptions


def next_session(
    execution: Execution, held: Sequence[SessionResult], options: ExecuteOptions
) -> tuple[int, int] | None:
    """Repetition and session that come next, both counted from 1; None: the execution has come to its end.

    A repetition that succeeds is followed by the next one; one that does not is tried again, as often as allowed.
    """
    if not held:
        return 1, 1
    last, repetition = held[-1], held[-1].attempt.repetition
    if last.judgement.status in GREEN:
        return (repetition + 1, 1) if repetition < options.repeat else None
    if last.judgement.status is Status.SKIPPED:
        return None
    own = [one for one in held if one.attempt.repetition == repetition]
    if last.trouble is None:
        again = 0 if last.judgement.status is Status.ERRORED else max(options.retry, execution.case.retries)
        tried = sum(one.trouble is None for one in own)
    else:  # a recording ends as it did
        again = 0 if execution.runner.agent.type == "replay" else TROUBLES[last.trouble.kind].retries
        tried = count_troubled(held)
    return (repetition, last.attempt.session + 1) if tried <= again else None


def count_troubled(held: Sequence[SessionResult]) -> int:
    """How many sessions of the last repetition had trouble."""
    return sum(one.trouble is not None for one in held if one.attempt.repetition == held[-1].attempt.repetition)


def combined_result(held: Sequence[SessionResult], judgement: Judgement) -> Result:
    """The result of an execution with these sessions: averages over those that succeeded, the cost of all."""
    if len(held) == 1 and held[0].judgement is judgement:
        return held[0].result
    counted = [one.result for one in held if one.judgement.status in GREEN] or [held[-1].result]
    return replace(
        held[-1].result,
        judgement=judgement,
        duration_ms=_mean([one.duration_ms for one in counted]) or 0,
        usage=_mean_usage([one.usage for one in counted]),
        cost=_sum([one.result.cost for one in held]),
        attempts=tuple(one.attempt for one in held),
        findings=unique_findings(finding for one in held for finding in one.result.findings),
    )


def _mean(values: list[int]) -> int | None:
    return round(sum(values) / len(values)) if values else None


def _mean_usage(usages: list[Usage]) -> Usage:
    """Unknown wherever one of them is."""
    columns = {field.name: [getattr(usage, field.name) for usage in usages] for field in fields(Usage)}
    known = {name: _mean(column) for name, column in columns.items() if None not in column}
    return Usage(**{name: value for name, value in known.items() if value is not None})


def _sum(costs: list[Cost]) -> Cost:
    """Unknown as soon as one of them is."""
    known = [cost.usd for cost in costs if cost.usd is not None]
    return replace(costs[0], usd=sum(known)) if len(known) == len(costs) else Cost()
