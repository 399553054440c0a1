"""Repetitions and retries: which session of an execution is next, and the result of all of them."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING

from skillgym_action.model.result import unique_findings
from skillgym_action.model.session_report import Cost, Usage
from skillgym_action.model.verdicts import GREEN, TROUBLES, Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skillgym_action.model.execution import Execution
    from skillgym_action.model.result import Judgement, Result, SessionResult
    from skillgym_action.settings.options import ExecuteOptions


def next_session(
    execution: Execution, sessions: Sequence[SessionResult], options: ExecuteOptions
) -> tuple[int, int] | None:
    """(Repetition, session) that comes next, both counted from 1; None: the execution is complete.

    A repetition that succeeded is followed by the next one; one that failed is retried, as often as allowed.
    """
    if not sessions:
        return 1, 1
    last, repetition = sessions[-1], sessions[-1].attempt.repetition
    if last.judgement.status in GREEN:
        return (repetition + 1, 1) if repetition < options.repeat else None
    if last.judgement.status is Status.SKIPPED:
        return None
    same = [session for session in sessions if session.attempt.repetition == repetition]
    if last.trouble is None:
        retries = 0 if last.judgement.status is Status.ERRORED else max(options.retry, execution.case.retries)
        tries = sum(session.trouble is None for session in same)
    else:  # replaying the same recording again gives the same trouble
        retries = 0 if execution.runner.agent.type == "replay" else TROUBLES[last.trouble.kind].retries
        tries = count_troubled(sessions)
    return (repetition, last.attempt.session + 1) if tries <= retries else None


def count_troubled(sessions: Sequence[SessionResult]) -> int:
    """The number of sessions of the last repetition that had trouble."""
    return sum(
        session.trouble is not None
        for session in sessions
        if session.attempt.repetition == sessions[-1].attempt.repetition
    )


def combined_result(sessions: Sequence[SessionResult], judgement: Judgement) -> Result:
    """The result of an execution: averages over the sessions that succeeded, the cost of all sessions."""
    if len(sessions) == 1 and sessions[0].judgement is judgement:
        return sessions[0].result
    counted = [session.result for session in sessions if session.judgement.status in GREEN] or [sessions[-1].result]
    return replace(
        sessions[-1].result,
        judgement=judgement,
        duration_ms=_mean([result.duration_ms for result in counted]) or 0,
        usage=_mean_usage([result.usage for result in counted]),
        cost=_sum([session.result.cost for session in sessions]),
        attempts=tuple(session.attempt for session in sessions),
        findings=unique_findings(finding for session in sessions for finding in session.result.findings),
    )


def _mean(values: list[int]) -> int | None:
    return round(sum(values) / len(values)) if values else None


def _mean_usage(usages: list[Usage]) -> Usage:
    """Averages; a number is unknown if it is unknown for any of them."""
    columns = {field.name: [getattr(usage, field.name) for usage in usages] for field in fields(Usage)}
    known = {name: _mean(column) for name, column in columns.items() if None not in column}
    return Usage(**{name: value for name, value in known.items() if value is not None})


def _sum(costs: list[Cost]) -> Cost:
    """The sum; unknown if any of them is."""
    known = [cost.usd for cost in costs if cost.usd is not None]
    return replace(costs[0], usd=sum(known)) if len(known) == len(costs) else Cost()
