"""Cases that the mean score of their repetitions decides: when that is certain, and what the judgement says."""

from __future__ import annotations

import pytest

from builders import runner_named, suite_at
from skillgym_action.model.errors import Location
from skillgym_action.model.execution import Execution
from skillgym_action.model.result import Attempt, Failure, Judgement, Outcome, Result, SessionResult
from skillgym_action.model.session_report import Cost
from skillgym_action.model.suite import BenchmarkCase
from skillgym_action.model.verdicts import Status
from skillgym_action.sessions.repetitions import combined_result, decided, final_judgement
from skillgym_action.settings.options import ExecuteOptions

PLACE = Location(path="evals/one/prompt.md")
WORDS = {"timeout": (Status.FAILED, None), "api": (Status.ERRORED, None)}


def execution(threshold: float) -> Execution:
    case = BenchmarkCase(
        id="one", prompt="p", location=PLACE, assertions=(), threshold=threshold, averaged=True, repetitions=3
    )
    suite = suite_at()
    return Execution(
        index=0,
        suite=suite,
        case=case,
        runner=runner_named(),
        directory="s/one/r",
        timeout=60,
        budget=None,
        model=None,
        repetitions=3,
    )


def session(number: int, told: float | str, threshold: float) -> SessionResult:
    """A session with that score, or with a trouble."""
    status, score = WORDS[told] if isinstance(told, str) else (None, told)
    status = status or (Status.PASSED if score >= threshold else Status.FAILED)
    failure = None if status is Status.PASSED else Failure(name="AssertionError", message=f"run {number} missed")
    outcome = Outcome(assertion="greets", type="regex", passed=status is Status.PASSED, explanation=f"run {number}")
    judgement = Judgement(status=status, outcomes=(outcome,), score=score, threshold=threshold, failure=failure)
    attempt = Attempt(repetition=number, session=1, status=status, duration_ms=1, directory=f"repeat-{number}")
    result = Result(
        index=0, suite=suite_at(), case_id="one", judgement=judgement, attempts=(attempt,), directory=attempt.directory
    )
    return SessionResult(result=result, agent_cost=Cost())


@pytest.mark.parametrize(
    ("threshold", "scores", "status"),
    [
        pytest.param(1.0, [1, 1, 1], Status.PASSED, id="all hold in all runs"),
        pytest.param(1.0, [1, 1, 0.5], Status.FAILED, id="one run misses"),
        pytest.param(0.7, [1, 0.1, 1], Status.PASSED, id="the mean is enough"),
        pytest.param(0.7, [1, 0, 1], Status.FAILED, id="the mean is not enough"),
        pytest.param(0.7, [1, "timeout", 1], Status.FAILED, id="a limit scores nothing"),
        pytest.param(0.6, [1, "timeout", 1], Status.PASSED, id="a limit scores nothing, and the rest is enough"),
        pytest.param(0.6, [1, "api", 1], Status.PASSED, id="what was not judged cannot change it"),
        pytest.param(0.7, [1, "api", 1], None, id="what was not judged could change it"),
        pytest.param(0.7, [0, 0, "api"], Status.FAILED, id="too little, whatever was not judged"),
        pytest.param(0.6, [0], None, id="two more runs could be enough"),
        pytest.param(0.7, [0], Status.FAILED, id="two more runs could not be enough"),
        pytest.param(0.6, [1, 1], Status.PASSED, id="enough before the last run"),
        pytest.param(0.7, ["api", "api", "api"], None, id="nothing was judged"),
    ],
)
def test_the_mean_score_decides_once_nothing_can_change_it(threshold, scores, status):
    sessions = [session(number, score, threshold) for number, score in enumerate(scores, start=1)]
    found = decided(execution(threshold), sessions, ExecuteOptions())
    assert (found.status if found else None) == status


def test_the_judgement_has_the_mean_and_the_session_that_missed():
    sessions = [session(number, score, 0.9) for number, score in enumerate([1, 0.4, 1], start=1)]
    judgement = final_judgement(execution(0.9), sessions, ExecuteOptions(), None)
    result = combined_result(sessions, judgement)
    assert (result.score, result.directory) == (pytest.approx(0.8), "repeat-2")
    assert judgement.failure.message == "the mean score of 3 runs is 0.8, below 0.9; run 2 missed"


def test_a_case_that_cannot_be_decided_is_errored():
    sessions = [session(number, score, 0.7) for number, score in enumerate([1, "api", 1], start=1)]
    assert final_judgement(execution(0.7), sessions, ExecuteOptions(), None).status is Status.ERRORED
