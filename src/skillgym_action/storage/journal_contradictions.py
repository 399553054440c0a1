"""What a line of the journal says that no session says: the line may come from an untrusted run or worker."""

from __future__ import annotations

from math import isclose
from typing import TYPE_CHECKING

from skillgym_action.model.scores import SCORE_DIGITS
from skillgym_action.model.verdicts import ASSERTIONS_PASSED, GREEN, JUDGED, MODEL, TROUBLES, WORKER_LOST, Status
from skillgym_action.storage.results_reader import status_contradiction

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillgym_action.model.verdicts import TroubleKind
    from skillgym_action.storage.journal_lines import SessionEntry
    from skillgym_action.storage.results_schema import OutcomeEntry, ResultEntry

MAX_SESSION_MILLISECONDS = 10**12  # no time limit is longer
_OF_EXECUTIONS = ("trigger", "quarantine", "inputs", "carried")
"""Fields of results that are computed once an execution has all of its sessions."""
_SCORE_ROUNDING = 10**-SCORE_DIGITS
_COST_ROUNDING = 1e-9


def contradiction(entry: SessionEntry) -> str | None:
    """What a line says that no session says, with the key; None: nothing."""
    for found in (_of_attempt(entry.result), _of_status(entry), _of_assertions(entry), _of_cost(entry)):
        if first := next(found, None):
            return first
    return None


def _of_attempt(result: ResultEntry) -> Iterator[str]:
    if len(result.attempts) != 1:
        yield "result.attempts: must be one"
        return
    (attempt,) = result.attempts
    if min(attempt.repetition, attempt.session) < 1:
        yield "result.attempts[0]: repetitions and sessions count from 1"
    if result.status is not attempt.status or result.passed != (result.status in GREEN):
        yield "result.status: must be that of its attempt, and agree with passed"
    if result.duration_ms > MAX_SESSION_MILLISECONDS:
        yield f"result.durationMs: must be at most {MAX_SESSION_MILLISECONDS:,}, not {result.duration_ms:,}"
    for name in _OF_EXECUTIONS:
        if getattr(result, name) is not None:
            yield f"result.{name}: is not a key of a session"


def _of_status(entry: SessionEntry) -> Iterator[str]:
    status, trouble = entry.result.status, entry.trouble
    if message := status_contradiction(entry.result):
        yield f"result.status: {message}"
    if trouble is None:
        return
    if trouble.kind not in TROUBLES:
        yield f"trouble.kind: is not a kind of trouble: {trouble.kind[:60]!r}"
        return
    if status in JUDGED and not _may_have(TROUBLES[trouble.kind], status):
        yield f"trouble.kind: with the trouble {trouble.kind} the status cannot be {status}"


def _may_have(kind: TroubleKind, status: Status) -> bool:
    """Whether a session with such a trouble may have the status, one of ``JUDGED``."""
    if kind.status is not Status.FAILED:
        return False
    if kind.origin == MODEL:
        return True  # if the model did not finish its answer, the assertions of a trigger query decide all the same
    return status is Status.FAILED or (status is Status.EXPECTED_FAILED and kind.errored_origin is not None)


def _of_assertions(entry: SessionEntry) -> Iterator[str]:
    result = entry.result
    for number, outcome in enumerate(result.outcomes):
        if outcome.score is not None and not 0 <= outcome.score <= 1:
            yield f"result.outcomes[{number}].score: must be from 0 to 1, not {outcome.score:g}"
    score, threshold = result.score, result.threshold
    if score is not None and not 0 <= score <= 1:
        yield f"result.score: must be from 0 to 1, not {score:g}"
    if score is not None and threshold is None:
        yield "result.score: there is no threshold"
    deciding = [outcome for outcome in result.outcomes if not outcome.advisory]
    is_undecided = any(outcome.passed is None for outcome in deciding)
    is_failure = result.status is Status.EXPECTED_FAILED and entry.trouble is None
    if (result.status in ASSERTIONS_PASSED and (is_undecided or _has_failed(result, deciding, -_SCORE_ROUNDING))) or (
        is_failure and not _has_failed(result, deciding, _SCORE_ROUNDING)
    ):
        yield f"result.outcomes: contradict the status {result.status}"


def _has_failed(result: ResultEntry, deciding: list[OutcomeEntry], tolerance: float) -> bool:
    """Whether an assertion failed, or with a threshold whether the score is below it; scores in lines are rounded."""
    if result.threshold is None:
        return any(outcome.passed is False for outcome in deciding)
    return result.score is None or result.score < result.threshold + tolerance


def _of_cost(entry: SessionEntry) -> Iterator[str]:
    """The cost in reports has to be what budgets count, and unknown if a part of it is."""
    agent, judge, whole = entry.agent_usd, entry.judge_usd, entry.result.cost_usd
    if whole is None and entry.trouble and entry.trouble.kind == WORKER_LOST:
        return
    if agent is None or judge is None:
        if whole is not None:
            yield f"result.costUsd: is {whole:g}, though agentUsd or judgeUsd is unknown"
    elif whole is None:
        yield "result.costUsd: is unknown, though agentUsd and judgeUsd are known"
    elif not isclose(whole, agent + judge, rel_tol=_COST_ROUNDING, abs_tol=_COST_ROUNDING):
        yield f"result.costUsd: is {whole:g}, but agentUsd and judgeUsd add up to {agent + judge:g}"
