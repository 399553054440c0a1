"""Cases that the mean score of their repetitions decides: when that is certain, and what the judgement says."""

from __future__ import annotations

from typing import Any

import pytest

from builders import runner_named, suite_at
from skillgym_action.model.errors import Location
from skillgym_action.model.execution import Execution
from skillgym_action.model.judgement import Failure, Judgement, Outcome
from skillgym_action.model.result import Attempt, Result, SessionResult
from skillgym_action.model.session_report import Cost
from skillgym_action.model.suite import BenchmarkCase, TrialRule
from skillgym_action.model.verdicts import Status
from skillgym_action.sessions.repetitions import combined_result, decided, final_judgement, next_session
from skillgym_action.settings.slices import ExecuteOptions

PLACE = Location(path="evals/one/prompt.md")
WORDS = {"timeout": (Status.FAILED, None), "api": (Status.ERRORED, None)}


def execution(threshold: float, trials: TrialRule | None = None, **keys: Any) -> Execution:
    settings: dict[str, Any] = {"averaged": True, "repetitions": 3, "trials": trials} | keys
    case = BenchmarkCase(id="one", prompt="p", location=PLACE, assertions=(), threshold=threshold, **settings)
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
        repetitions=case.repetitions,
    )


def session(
    number: int, told: float | str, threshold: float, retry: int = 1, usd: float | None = None
) -> SessionResult:
    """A session with that score, or with a trouble."""
    status, score = WORDS[told] if isinstance(told, str) else (None, told)
    status = status or (Status.PASSED if score >= threshold else Status.FAILED)
    failure = None if status is Status.PASSED else Failure(name="AssertionError", message=f"run {number} missed")
    outcome = Outcome(assertion="greets", type="regex", passed=status is Status.PASSED, explanation=f"run {number}")
    judgement = Judgement(status=status, outcomes=(outcome,), score=score, threshold=threshold, failure=failure)
    attempt = Attempt(repetition=number, session=retry, status=status, duration_ms=1, directory=f"repeat-{number}")
    result = Result(
        index=0, suite=suite_at(), case_id="one", judgement=judgement, attempts=(attempt,), directory=attempt.directory
    )
    return SessionResult(result=result, agent_cost=Cost(usd=usd))


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


# --- trials -----------------------------------------------------------------------------------------

INTERVAL = TrialRule(strategy="confidence_interval")


@pytest.mark.parametrize(
    ("threshold", "scores", "found"),
    [
        pytest.param(0.8, [1, 1, 1], (Status.PASSED, 1.0), id="no doubt"),
        pytest.param(0.5, [1, 0.9, 0.8], (Status.PASSED, 0.6516), id="certain enough"),
        pytest.param(0.8, [1, 0.9, 0.8], (Status.FAILED, 0.6516), id="all passed, and it is not certain"),
        pytest.param(0.5, [1, 0, 1], (Status.FAILED, 0.0), id="the interval begins below 0"),
        pytest.param(0.8, [1, "timeout", 1], (Status.FAILED, 0.0), id="a limit scores nothing"),
        pytest.param(0.8, [1, 1], None, id="one is missing"),
        pytest.param(0.8, [1, 1, "api"], None, id="one was not judged"),
    ],
)
def test_the_interval_of_the_mean_has_to_begin_at_the_threshold(threshold, scores, found):
    sessions = [session(number, score, threshold) for number, score in enumerate(scores, start=1)]
    judgement = decided(execution(threshold, INTERVAL), sessions, ExecuteOptions())
    assert (judgement and (judgement.status, pytest.approx(judgement.score, abs=1e-4))) == found


def test_a_failure_by_the_interval_alone_says_so():
    sessions = [session(number, score, 0.8) for number, score in enumerate([1, 0.9, 0.8], start=1)]
    judgement = final_judgement(execution(0.8, INTERVAL), sessions, ExecuteOptions(), None)
    expected = "the 95% interval of the mean score 0.9 of 3 runs begins at 0.6516, below 0.8"
    assert (judgement.failure.message, judgement.failure.location) == (expected, PLACE)
    assert combined_result(sessions, judgement).attempts == tuple(one.attempt for one in sessions)


def test_an_expected_failure_may_be_one_of_the_interval():
    sessions = [session(number, score, 0.8) for number, score in enumerate([1, 0.9, 0.8], start=1)]
    judgement = decided(execution(0.8, INTERVAL, expected_fail=True), sessions, ExecuteOptions())
    assert judgement.status is Status.EXPECTED_FAILED


def test_of_trials_that_all_failed_the_best_one_counts():
    trials = TrialRule(strategy="pass_at_k")
    given = execution(0.8, trials, averaged=False, repetitions=1, retries=2)
    sessions = [session(1, score, 0.8, retry) for retry, score in enumerate([0.2, 0.6, 0.4], start=1)]
    judgement = final_judgement(given, sessions, ExecuteOptions(), None)
    assert (judgement.status, judgement.score) == (Status.FAILED, 0.6)
    assert combined_result(sessions, judgement).directory == "repeat-1"


@pytest.mark.parametrize("keys", [{}, {"averaged": False, "repetitions": 1, "retries": 2}])
@pytest.mark.parametrize(("costs", "more"), [([0.5], True), ([0.5, 0.5], False), ([None, None], True)])
def test_no_trial_begins_once_they_cost_as_much_as_they_may(keys, costs, more):
    strategy = "pass_at_k" if keys else "mean"
    given = execution(0.8, TrialRule(strategy=strategy, cost_limit=1.0), **keys)
    places = ((1, n) if keys else (n, 1) for n in range(1, len(costs) + 1))
    sessions = [session(n, 0.5, 0.8, retry, usd) for (n, retry), usd in zip(places, costs, strict=True)]
    assert (next_session(given, sessions, ExecuteOptions()) is not None) is more
    if not more:
        assert decided(given, sessions, ExecuteOptions()).score == 0.5
