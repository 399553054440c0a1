"""Rates, their intervals, pass@k and pass^k, beside the reference values of test_vectors.py."""

from __future__ import annotations

from itertools import combinations

import pytest

from skillgym_action.model.comparison import Samples
from skillgym_action.results.statistics.rates import (
    case_interval,
    mean_pass_at_k,
    mean_pass_hat_k,
    pass_at_k,
    pass_hat_k,
    population_rate,
    same_cases_rate,
    wilson,
)


def samples(*cases):
    return [Samples(passed=passed, judged=judged) for passed, judged in cases]


@pytest.mark.parametrize(
    ("passes", "n", "interval"),
    [
        pytest.param(3, 3, (0.4385, 1.0), id="three of three proves little"),
        pytest.param(0, 3, (0.0, 0.5615), id="none of three"),
        pytest.param(37, 40, (0.8014, 0.9742), id="37 of 40"),
        pytest.param(81, 263, (0.2553, 0.3662), id="the example of Newcombe 1998"),
    ],
)
def test_wilson(passes, n, interval):
    assert wilson(passes / n, n) == pytest.approx(interval, abs=5e-5)


@pytest.mark.parametrize("n", range(1, 60))
def test_the_ends_are_exact_where_all_or_none_passed(n):
    assert (wilson(1.0, n)[1], wilson(0.0, n)[0]) == (1.0, 0.0)


def test_one_case_has_an_interval_from_five_sessions_on():
    assert case_interval(Samples(passed=4, judged=4)) is None
    assert case_interval(Samples(passed=3, judged=5)) == pytest.approx((0.2307, 0.8824), abs=1e-4)


def test_repetitions_of_cases_that_differ_say_nothing_on_other_cases():
    few, many = (population_rate(samples(*[(n, n)] * 4, *[(0, n)] * 4)) for n in (1, 10))
    assert few.interval == many.interval
    assert same_cases_rate(samples(*[(10, 10)] * 4, *[(0, 10)] * 4)).n == 80


def test_with_one_session_each_both_intervals_are_the_same():
    cases = samples((1, 1), (0, 1), (1, 1), (1, 1), (0, 1), (1, 1))
    assert population_rate(cases).interval == pytest.approx(same_cases_rate(cases).interval)


@pytest.mark.parametrize(("passed", "n", "k"), [(2, 4, 1), (2, 4, 2), (0, 4, 3), (4, 4, 3), (1, 3, 3), (3, 7, 4)])
def test_pass_at_k_and_pass_hat_k_are_shares_of_all_draws(passed, n, k):
    draws = list(combinations([True] * passed + [False] * (n - passed), k))
    assert pass_at_k(passed, n, k) == pytest.approx(sum(map(any, draws)) / len(draws))
    assert pass_hat_k(passed, n, k) == pytest.approx(sum(map(all, draws)) / len(draws))


def test_too_few_sessions_have_no_pass_at_k():
    assert (pass_at_k(1, 1, 2), pass_hat_k(1, 1, 2)) == (None, None)
    assert (mean_pass_at_k(samples((3, 3), (2, 2)), 3), mean_pass_hat_k([], 1)) == (None, None)


def test_means_over_cases():
    cases = samples((3, 3), (1, 3), (0, 3))
    assert mean_pass_at_k(cases, 3).rate == pytest.approx(2 / 3)
    assert mean_pass_hat_k(cases, 3).rate == pytest.approx(1 / 3)
