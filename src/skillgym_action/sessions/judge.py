"""The judgement on one session: evaluates its assertions, and derives status, origin and failure class."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from skillgym_action.model.judgement import Failure, Judgement, Outcome
from skillgym_action.model.result import case_score, deciding, format_score, reaches_threshold, reason_for_low_score
from skillgym_action.model.session_report import MissingEventsError, Trouble
from skillgym_action.model.verdicts import ASSERTION_FAILURE, MODEL, TROUBLES, UNEXPECTED_PASS, FailureClass, Status

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from skillgym_action.model.assertion import Assertion, AssertionContext, Classifier
    from skillgym_action.model.containers import RefusedConnection
    from skillgym_action.model.suite import BenchmarkCase
    from skillgym_action.model.verdicts import TroubleKind
    from skillgym_action.settings.option_types import OnLimit

MAX_LISTED_CONNECTIONS = 3
CANCELLED_JUDGEMENT = Judgement(status=Status.SKIPPED, reason="the run was cancelled")


def judge(
    case: BenchmarkCase, context: AssertionContext, trouble: Trouble | None, on_limit: OnLimit = "failed"
) -> Judgement:
    """Judge a session. After trouble only diagnostic assertions are evaluated, and do not change the status.

    After a limit of time or money that counts as a failure, and after an answer that the model did not finish or
    refused, all assertions are evaluated; they do not change the status either, nor does ``expected_fail``, which is
    about assertions. A session of a trigger query that has exceeded a limit is errored, whatever ``on_limit`` says: it
    is unknown whether the skill would have been loaded.
    """
    if case.trigger:
        return _judge_trigger(case, context, trouble)
    recorded = trouble is not None and _is_recorded(TROUBLES[trouble.kind], on_limit)
    outcomes = tuple(_outcomes(case, context, diagnosis=trouble is not None and not recorded))
    trouble = trouble or _undecided(case, outcomes)
    if trouble:
        return with_suite_failure_class(case, context, trouble_judgement(trouble, outcomes, on_limit))
    if case.threshold is None:
        return _decided(case, context, outcomes, None)
    score = case_score(deciding(outcomes), case.threshold)
    return replace(_decided(case, context, outcomes, score), score=score, threshold=case.threshold)


def _judge_trigger(case: BenchmarkCase, context: AssertionContext, trouble: Trouble | None) -> Judgement:
    """An agent whose model has refused, or did not finish its answer, is done: it has loaded the skill, or not."""
    if trouble and TROUBLES[trouble.kind].origin != MODEL:
        judgement = trouble_judgement(trouble, on_limit="errored")
        return replace(judgement, status=Status.ERRORED)
    outcomes = tuple(_outcomes(case, context, diagnosis=False))
    if undecided := _undecided(case, outcomes):
        return trouble_judgement(undecided, outcomes)
    return _decided(case, context, outcomes, None)


def _decided(
    case: BenchmarkCase, context: AssertionContext, outcomes: tuple[Outcome, ...], score: float | None
) -> Judgement:
    """The judgement if every assertion that matters was evaluated. ``score`` None: the case has no threshold."""
    if _has_failed(case, outcomes):
        judgement = with_suite_failure_class(case, context, _failed(case, outcomes))
        is_expected = case.expected_fail and judgement.origin == "assertion"
        return replace(judgement, status=Status.EXPECTED_FAILED) if is_expected else judgement
    if case.expected_fail:
        return _unexpectedly_passed(case, outcomes, score)
    return Judgement(status=Status.PASSED, outcomes=outcomes)


def _is_recorded(kind: TroubleKind, on_limit: OnLimit) -> bool:
    """Whether assertions are evaluated after this trouble, for the record."""
    if kind.is_partial:
        return False
    return kind.origin == MODEL or (kind.errored_origin is not None and on_limit == "failed")


def trouble_judgement(trouble: Trouble, outcomes: tuple[Outcome, ...] = (), on_limit: OnLimit = "failed") -> Judgement:
    """The judgement on a session with trouble: errored, or failed if it is the agent's own failure.

    ``on_limit``: the status after a limit on time, steps or money.
    """
    kind = TROUBLES[trouble.kind]
    status, origin = kind.status, kind.origin
    if kind.errored_origin and on_limit == "errored":
        status, origin = Status.ERRORED, kind.errored_origin
    undecided = (outcome for outcome in deciding(outcomes) if outcome.passed is None)
    cause = next(undecided, None) if status is Status.ERRORED else None
    own_class = cause.failure_class if cause else None
    return Judgement(
        status=status,
        outcomes=outcomes,
        origin=origin,
        failure_class=own_class or FailureClass(id=trouble.kind, label=kind.label),
        failure=Failure(name=kind.label, message=trouble.message, location=cause.location if cause else None),
    )


def _outcomes(case: BenchmarkCase, context: AssertionContext, *, diagnosis: bool) -> Iterator[Outcome]:
    for assertion in case.assertions:
        if diagnosis and not assertion.diagnostic:
            continue
        try:
            evaluated = context.decided(assertion)
        except MissingEventsError as error:
            evaluated = (_without_events(assertion, error),)
        yield from evaluated
        if assertion.fail_fast and not all(outcome.passed for outcome in evaluated):
            return


def _without_events(assertion: Assertion, error: MissingEventsError) -> Outcome:
    why = str(error)
    return Outcome(assertion=assertion.name, type=assertion.type, passed=None, explanation=why, trouble="collection")


def _has_failed(case: BenchmarkCase, outcomes: tuple[Outcome, ...]) -> bool:
    """Whether the case has failed even if all undecided assertions had passed."""
    outcomes = deciding(outcomes)
    if case.threshold is None:
        return any(outcome.passed is False for outcome in outcomes)
    return not reaches_threshold(case_score(outcomes, case.threshold, undecided=1.0), case.threshold)


def _undecided(case: BenchmarkCase, outcomes: tuple[Outcome, ...]) -> Trouble | None:
    """The trouble with an undecided assertion. An undecided grader is ignored if the case has failed anyway."""
    failed = _has_failed(case, outcomes)
    for outcome in deciding(outcomes):
        if outcome.passed is None and not (failed and outcome.trouble == "grader"):
            return Trouble(kind=outcome.trouble or "grader", message=outcome.explanation)
    return None


def _failed(case: BenchmarkCase, outcomes: tuple[Outcome, ...]) -> Judgement:
    """By the first assertion that does not hold; of a check that raised another error, its origin is the check."""
    blamed = next((outcome for outcome in deciding(outcomes) if outcome.passed is False), None)
    message = blamed.explanation if blamed else ""
    if case.threshold is not None:
        message, blamed = reason_for_low_score(deciding(outcomes), case.threshold)
    location = (blamed.location if blamed else None) or case.location
    kind = TROUBLES[blamed.trouble] if blamed and blamed.trouble else None
    own_class = next((outcome.failure_class for outcome in outcomes if outcome.failure_class), None)
    default = FailureClass(id=blamed.trouble, label=kind.label) if kind and blamed and blamed.trouble else None
    error = blamed.error if blamed else None
    return Judgement(
        status=Status.FAILED,
        outcomes=outcomes,
        origin=kind.origin if kind else "assertion",
        failure_class=own_class or default or ASSERTION_FAILURE,
        failure=Failure(name=error.name if error else "AssertionError", message=message, location=location),
    )


def _unexpectedly_passed(case: BenchmarkCase, outcomes: tuple[Outcome, ...], score: float | None) -> Judgement:
    passed = "every assertion passed" if score is None else f"the score is {format_score(score)}"
    message = f"{passed}, but the case expects a failure: the expectation is outdated, or the agent has improved"
    return Judgement(
        status=Status.UNEXPECTED_PASSED,
        outcomes=outcomes,
        failure_class=UNEXPECTED_PASS,
        failure=Failure(name="UnexpectedPass", message=message, location=case.location),
    )


def with_suite_failure_class(case: BenchmarkCase, context: Classifier, judgement: Judgement) -> Judgement:
    """The judgement with the failure class of the suite's classifier, if it has one. The status never changes."""
    if not case.classify or judgement.failure is None:
        return judgement
    failure_class = context.classify(case.id, judgement)
    return replace(judgement, failure_class=failure_class) if failure_class else judgement


def with_refused_connections(judgement: Judgement, refused: Sequence[RefusedConnection]) -> Judgement:
    """The judgement; if the session failed, or could not be judged, its message names what the network refused."""
    if not refused or judgement.failure is None:
        return judgement
    shown = ", ".join(connection.target for connection in refused[:MAX_LISTED_CONNECTIONS])
    more = len(refused) - MAX_LISTED_CONNECTIONS
    also = f"; the container's network refused: {shown}" + (f" and {more} more" if more > 0 else "")
    return replace(judgement, failure=replace(judgement.failure, message=judgement.failure.message + also))
