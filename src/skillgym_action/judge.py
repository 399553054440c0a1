"""Stage: one session -> status, origin, class. Evaluates every assertion while the workspace still exists."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from skillgym_action.domain import Failure, Judgement, Outcome
from skillgym_action.session_report import Trouble
from skillgym_action.verdicts import ASSERTION_FAILURE, TROUBLES, UNEXPECTED_PASS, FailureClass, Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillgym_action.assertions import Subject
    from skillgym_action.domain import Case

CANCELLED = Judgement(status=Status.SKIPPED, reason="the run was cancelled")


def judge(case: Case, subject: Subject, trouble: Trouble | None) -> Judgement:
    """The verdict on a session. After trouble, assertions that cost nothing are still evaluated, for diagnosis."""
    outcomes = tuple(_outcomes(case, subject, diagnosis=trouble is not None))
    trouble = trouble or _undecided(outcomes)
    if trouble:
        return _classified(case, subject, errored(trouble, outcomes))
    failed = next((outcome for outcome in outcomes if outcome.passed is False), None)
    if failed:
        return _classified(case, subject, _failed(case, failed, outcomes))
    if case.expected_fail:
        message = (
            "every assertion holds although the case expects a failure: the expectation is stale or the agent improved"
        )
        return _classified(
            case,
            subject,
            Judgement(
                status=Status.UNEXPECTED_PASSED,
                outcomes=outcomes,
                failure_class=UNEXPECTED_PASS,
                failure=Failure(name="UnexpectedPass", message=message, location=case.location),
            ),
        )
    return Judgement(status=Status.PASSED, outcomes=outcomes)


def errored(trouble: Trouble, outcomes: tuple[Outcome, ...] = ()) -> Judgement:
    """The judgement on a session that cannot be judged."""
    kind = TROUBLES[trouble.kind]
    hook = next((outcome for outcome in outcomes if outcome.passed is None), None)
    return Judgement(
        status=Status.ERRORED,
        outcomes=outcomes,
        origin=kind.origin,
        failure_class=FailureClass(id=trouble.kind, label=kind.label),
        failure=Failure(name=kind.label, message=trouble.message, location=hook.location if hook else None),
    )


def _outcomes(case: Case, subject: Subject, *, diagnosis: bool) -> Iterator[Outcome]:
    for assertion in case.assertions:
        if diagnosis and not assertion.diagnostic:
            continue
        answers = assertion.judge(subject)
        yield from answers
        if assertion.fail_fast and not all(answer.passed for answer in answers):
            return


def _undecided(outcomes: tuple[Outcome, ...]) -> Trouble | None:
    """A check that crashed leaves all open; a grader that could not tell changes nothing once another says no."""
    failed = any(outcome.passed is False for outcome in outcomes)
    for outcome in outcomes:
        if outcome.passed is None and not (failed and outcome.trouble == "grader"):
            return Trouble(kind=outcome.trouble or "grader", message=outcome.explanation)
    return None


def _failed(case: Case, failed: Outcome, outcomes: tuple[Outcome, ...]) -> Judgement:
    return Judgement(
        status=Status.EXPECTED_FAILED if case.expected_fail else Status.FAILED,
        outcomes=outcomes,
        origin="assertion",
        failure_class=next((outcome.failure_class for outcome in outcomes if outcome.failure_class), ASSERTION_FAILURE),
        failure=Failure(name="AssertionError", message=failed.explanation, location=failed.location or case.location),
    )


def _classified(case: Case, subject: Subject, judgement: Judgement) -> Judgement:
    """The suite's own classifier has the last word on the class, never on the status."""
    if not case.classify or judgement.failure is None:
        return judgement
    failure_class = subject.classify(case.id, judgement)
    return replace(judgement, failure_class=failure_class) if failure_class else judgement
