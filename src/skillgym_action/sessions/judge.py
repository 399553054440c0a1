"""Stage: one session -> status, origin, class. Evaluates every assertion while the workspace still exists."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from skillgym_action.model.result import Failure, Judgement, Outcome
from skillgym_action.model.scores import case_score, format_score, reaches_threshold, reason_for_low_score
from skillgym_action.model.session_report import Trouble
from skillgym_action.model.verdicts import ASSERTION_FAILURE, TROUBLES, UNEXPECTED_PASS, FailureClass, Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillgym_action.model.assertion import AssertionContext, Classifier
    from skillgym_action.model.suite import Case

CANCELLED_JUDGEMENT = Judgement(status=Status.SKIPPED, reason="the run was cancelled")


def judge(case: Case, context: AssertionContext, trouble: Trouble | None) -> Judgement:
    """The verdict on a session. After trouble, assertions that cost nothing are still evaluated, for diagnosis."""
    outcomes = tuple(_outcomes(case, context, diagnosis=trouble is not None))
    trouble = trouble or _undecided(case, outcomes)
    if trouble:
        return with_suite_class(case, context, trouble_judgement(trouble, outcomes))
    if case.threshold is None:
        return _decided(case, context, outcomes, None)
    score = case_score(outcomes, case.threshold)
    return replace(_decided(case, context, outcomes, score), score=score, threshold=case.threshold)


def _decided(case: Case, context: AssertionContext, outcomes: tuple[Outcome, ...], score: float | None) -> Judgement:
    """The judgement of a case that all assertions that matter could tell of."""
    if _has_failed(case, outcomes):
        judgement = with_suite_class(case, context, _failed(case, outcomes))
        return replace(judgement, status=Status.EXPECTED_FAILED) if case.expected_fail else judgement
    if case.expected_fail:
        return _unexpectedly_passed(case, outcomes, score)
    return Judgement(status=Status.PASSED, outcomes=outcomes)


def trouble_judgement(trouble: Trouble, outcomes: tuple[Outcome, ...] = ()) -> Judgement:
    """The judgement on a session with trouble: errored, or failed where the agent passed a limit."""
    kind = TROUBLES[trouble.kind]
    undecided = (outcome for outcome in outcomes if outcome.passed is None)
    hook = next(undecided, None) if kind.status is Status.ERRORED else None
    own = hook.failure_class if hook else None
    return Judgement(
        status=kind.status,
        outcomes=outcomes,
        origin=kind.origin,
        failure_class=own or FailureClass(id=trouble.kind, label=kind.label),
        failure=Failure(name=kind.label, message=trouble.message, location=hook.location if hook else None),
    )


def _outcomes(case: Case, context: AssertionContext, *, diagnosis: bool) -> Iterator[Outcome]:
    for assertion in case.assertions:
        if diagnosis and not assertion.diagnostic:
            continue
        answers = assertion.judge(context)
        yield from answers
        if assertion.fail_fast and not all(answer.passed for answer in answers):
            return


def _has_failed(case: Case, outcomes: tuple[Outcome, ...]) -> bool:
    """Whether the case has failed whatever those would say that could not tell."""
    if case.threshold is None:
        return any(outcome.passed is False for outcome in outcomes)
    return not reaches_threshold(case_score(outcomes, case.threshold, undecided=1.0), case.threshold)


def _undecided(case: Case, outcomes: tuple[Outcome, ...]) -> Trouble | None:
    """A check that crashed leaves all open; a grader that could not tell changes nothing where the others decide."""
    failed = _has_failed(case, outcomes)
    for outcome in outcomes:
        if outcome.passed is None and not (failed and outcome.trouble == "grader"):
            return Trouble(kind=outcome.trouble or "grader", message=outcome.explanation)
    return None


def _failed(case: Case, outcomes: tuple[Outcome, ...]) -> Judgement:
    blamed = next((outcome for outcome in outcomes if outcome.passed is False), None)
    message = blamed.explanation if blamed else ""
    if case.threshold is not None:
        message, blamed = reason_for_low_score(outcomes, case.threshold)
    location = (blamed.location if blamed else None) or case.location
    return Judgement(
        status=Status.FAILED,
        outcomes=outcomes,
        origin="assertion",
        failure_class=next((outcome.failure_class for outcome in outcomes if outcome.failure_class), ASSERTION_FAILURE),
        failure=Failure(name="AssertionError", message=message, location=location),
    )


def _unexpectedly_passed(case: Case, outcomes: tuple[Outcome, ...], score: float | None) -> Judgement:
    held = "every assertion holds" if score is None else f"the score is {format_score(score)}"
    message = f"{held} although the case expects a failure: the expectation is stale or the agent improved"
    return Judgement(
        status=Status.UNEXPECTED_PASSED,
        outcomes=outcomes,
        failure_class=UNEXPECTED_PASS,
        failure=Failure(name="UnexpectedPass", message=message, location=case.location),
    )


def with_suite_class(case: Case, context: Classifier, judgement: Judgement) -> Judgement:
    """The suite's own classifier has the last word on the class of what did not pass, never on the status."""
    if not case.classify or judgement.failure is None:
        return judgement
    failure_class = context.classify(case.id, judgement)
    return replace(judgement, failure_class=failure_class) if failure_class else judgement
