"""What plans can show."""

from __future__ import annotations

from random import Random

import pytest

from skillgym_action.model.comparison import Samples
from skillgym_action.results.statistics.comparison import has_dropped
from skillgym_action.results.statistics.exact_tests import SampledPair
from skillgym_action.results.statistics.planning import (
    Difficulty,
    can_decide,
    cases_to_decide,
    detectable_drop,
    planning_sentences,
    repetitions_to_decide,
)


def samples(*cases):
    return [Samples(passed=passed, judged=judged) for passed, judged in cases]


def planned(repetitions, *base):
    """Pairs of these samples of a baseline, and so many planned sessions."""
    return [SampledPair(case, Samples(passed=0, judged=repetitions)) for case in samples(*base)]


@pytest.mark.parametrize(
    ("cases", "repetitions", "points"),
    [(20, 3, 25), (20, 5, 20), (20, 10, 14), (50, 5, 12), (50, 10, 8), (10, 5, 29), (200, 10, 4)],
)
def test_the_drop_that_is_seen_is_near_the_simulated_one(cases, repetitions, points):
    assert 100 * detectable_drop(cases, repetitions, repetitions) == pytest.approx(points, rel=0.16)


def test_a_larger_baseline_shows_smaller_drops():
    assert detectable_drop(20, 20, 3) < detectable_drop(20, 3, 3)


def test_the_difficulty_is_that_of_the_baseline():
    always = Difficulty.of(samples((5, 5), (0, 5), (5, 5), (5, 5)))
    assert (always.mean, always.icc) == (0.75, 1.0)
    assert Difficulty.of(samples((1, 1), (0, 1))) == Difficulty(mean=0.5)
    assert Difficulty.of(samples((5, 5))) == Difficulty(mean=1.0)
    assert Difficulty.of([]) == Difficulty()


@pytest.mark.parametrize("repetitions", [3, 5])
@pytest.mark.parametrize(
    ("passing", "failing"),
    [(11, 1), (8, 4), (14, 6), (40, 10), (12, 0), (20, 0)],
)
def test_the_drop_of_cases_without_mixed_results_is_seen_in_about_4_of_5_comparisons(passing, failing, repetitions):
    base = samples(*[(repetitions, repetitions)] * passing, *[(0, repetitions)] * failing)
    drop = detectable_drop(len(base), repetitions, repetitions, Difficulty.of(base))
    rates = [max(0.0, case.rate - drop * len(base) / passing) for case in base]
    random = Random(1)

    def head(rate):
        return Samples(passed=sum(random.random() < rate for _ in range(repetitions)), judged=repetitions)

    runs = [[SampledPair(case, head(rate)) for case, rate in zip(base, rates, strict=True)] for _ in range(200)]
    assert 0.68 <= sum(map(has_dropped, runs)) / len(runs) <= 0.95


def test_no_drop_is_seen_that_is_too_small_for_a_regression_or_larger_than_the_pass_rate():
    assert detectable_drop(5_000, 10, 10, Difficulty(mean=0.9, icc=1.0)) == pytest.approx(0.02)
    assert detectable_drop(7, 1, 1, Difficulty(mean=0.1)) == pytest.approx(0.1)
    assert detectable_drop(7, 5, 5, Difficulty(mean=0.0)) == 0


@pytest.mark.parametrize(
    ("base", "repetitions", "decides"),
    [
        pytest.param([(1, 1)] * 5, 1, False, id="five cases, one session"),
        pytest.param([(1, 1)] * 7, 1, True, id="seven cases, one session"),
        pytest.param([(4, 4)], 4, False, id="one case, four sessions"),
        pytest.param([(5, 5)], 5, True, id="one case, five sessions"),
        pytest.param([(0, 5)] * 9, 5, False, id="nothing passed"),
        pytest.param([], 5, False, id="no baseline"),
        pytest.param([(0, 0)] * 9, 5, False, id="nothing was judged"),
    ],
)
def test_whether_a_plan_can_decide(base, repetitions, decides):
    assert can_decide(samples(*base), repetitions) is decides


def test_what_it_takes_to_decide():
    assert repetitions_to_decide(samples(*[(1, 1)] * 5)) == 2
    assert repetitions_to_decide(samples((0, 5))) is None
    assert (cases_to_decide(1, 1), cases_to_decide(5, 5), cases_to_decide(3, 1)) == (7, 1, 4)


def test_a_plan_in_words():
    single = "one case that breaks from all to nothing needs 5 or more repetitions in both runs"
    assert planning_sentences(planned(5, *[(4, 5)] * 20)) == (
        "20 cases x 5: drops of 24 points or more are seen in 4 of 5 comparisons",
        single,
    )
    assert planning_sentences(planned(5, *[(5, 5)] * 11, (0, 5))) == (
        "12 cases x 5: drops of 16 points or more are seen in 4 of 5 comparisons",
        single,
    )


@pytest.mark.parametrize(
    ("base", "repetitions", "sentence"),
    [
        ([(1, 1)] * 5, 1, "5 cases x 1: {}, even if everything failed"),
        ([(1, 1)] * 6 + [(0, 1)] * 6, 1, "12 cases x 1: {}, even if everything failed"),
        ([(0, 5)], 5, "1 case x 5: {}: nothing passed in the baseline, so nothing could get worse"),
    ],
)
def test_a_plan_that_cannot_show_a_regression_in_words(base, repetitions, sentence):
    assert planning_sentences(planned(repetitions, *base)) == (sentence.format("no comparison can show a regression"),)
