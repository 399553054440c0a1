from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import comb, log, sqrt

import pytest

from skillgym_action.comparison.statistics import (
    largest_drop,
    mcnemar_p,
    pass_at_k,
    pass_hat_k,
    sign_flip_p,
    wilson_interval,
)


@pytest.mark.parametrize(
    ("passes", "n", "interval"),
    [
        pytest.param(0, 0, None, id="nothing judged"),
        pytest.param(3, 3, (0.4385, 1.0), id="three of three proves little"),
        pytest.param(0, 3, (0.0, 0.5615), id="none of three"),
        pytest.param(37, 40, (0.8014, 0.9742), id="37 of 40"),
        pytest.param(81, 263, (0.2553, 0.3662), id="the example of Newcombe 1998"),
    ],
)
def test_wilson(passes, n, interval):
    assert wilson_interval(passes, n) == (interval if interval is None else pytest.approx(interval, abs=5e-5))


@pytest.mark.parametrize(
    ("passes", "n", "k", "at", "hat"),
    [
        pytest.param(2, 4, 1, 0.5, 0.5, id="one sample: the rate"),
        pytest.param(2, 4, 2, 5 / 6, 1 / 6, id="two of four"),
        pytest.param(4, 4, 3, 1.0, 1.0, id="always"),
        pytest.param(0, 4, 3, 0.0, 0.0, id="never"),
        pytest.param(1, 3, 3, 1.0, 0.0, id="all samples drawn"),
        pytest.param(1, 1, 2, None, None, id="too few samples"),
    ],
)
def test_pass_at_k_and_pass_hat_k(passes, n, k, at, hat):
    assert pass_at_k(passes, n, k) == (None if at is None else pytest.approx(at))
    assert pass_hat_k(passes, n, k) == (None if hat is None else pytest.approx(hat))


# --- pairs ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("newly_failing", "fixed", "p"),
    [
        pytest.param(0, 0, 1.0, id="nothing changed"),
        pytest.param(5, 0, 1 / 32, id="five of five"),
        pytest.param(1, 1, 3 / 4, id="as many"),
        pytest.param(10, 2, 79 / 4096, id="ten of twelve"),
        pytest.param(0, 4, 1.0, id="it got better"),
    ],
)
def test_mcnemar(newly_failing, fixed, p):
    assert mcnemar_p(newly_failing, fixed) == pytest.approx(p)


def test_mcnemar_of_large_numbers_is_exact():
    exact = sum(Fraction(comb(2_000, k), 2**2_000) for k in range(1_050, 2_001))
    assert mcnemar_p(1_050, 950) == pytest.approx(float(exact), rel=1e-9)
    assert mcnemar_p(30_000, 30_000) == pytest.approx(0.5, abs=0.002)


@pytest.mark.parametrize(
    "drops",
    [
        pytest.param([1 / 3] * 5, id="the same each time"),
        pytest.param([0.5, 0.5, -0.5, 1, 1 / 3], id="of several sizes"),
        pytest.param([1, 1, 1, 1, -1, 0, 0], id="whole ones"),
        pytest.param([-0.25] * 4, id="a rise"),
    ],
)
def test_sign_flip_is_near_what_all_flips_give(drops):
    flips = [sum(sign * abs(drop) for sign, drop in zip(signs, drops, strict=True))
             for signs in product((1, -1), repeat=len(drops))]  # fmt: skip
    exact = sum(flip >= sum(drops) - 1e-9 for flip in flips) / len(flips)
    assert sign_flip_p(drops) == pytest.approx(exact, abs=0.015)


def test_sign_flip_is_always_the_same_and_never_zero():
    assert sign_flip_p([0.5] * 40) == sign_flip_p([0.5] * 40) == 0.0001
    assert sign_flip_p([]) == 1.0


@pytest.mark.parametrize(
    ("newly_failing", "fixed", "n", "bound"),
    [
        pytest.param(0, 0, 10, 0.2129, id="no change of ten excludes little"),
        pytest.param(0, 0, 200, 0.0133, id="no change of two hundred excludes a lot"),
        pytest.param(10, 10, 40, 0.1835, id="as many fixed"),
        pytest.param(0, 10, 40, 0.0, id="it got better for sure"),
        pytest.param(10, 0, 10, 1.0, id="all broke"),
        pytest.param(1.5, 0.5, 12, 0.3236, id="parts of a whole"),
    ],
)
def test_the_largest_drop_that_cannot_be_excluded(newly_failing, fixed, n, bound):
    assert largest_drop(newly_failing, fixed, n) == pytest.approx(bound, abs=5e-5)


def test_with_no_change_the_bound_is_the_one_of_a_rate_by_its_score():
    z2 = 1.6448536269514722**2
    assert largest_drop(0, 0, 37) == pytest.approx(z2 / (37 + z2), abs=1e-6)


def test_the_bound_is_never_below_what_was_seen():
    for newly_failing, fixed in product(range(8), repeat=2):
        if newly_failing + fixed <= 8:
            assert (newly_failing - fixed) / 8 <= largest_drop(newly_failing, fixed, 8) <= 1


@pytest.mark.parametrize(("newly_failing", "fixed", "n"), [(1, 0, 40), (5, 3, 40), (12, 2, 50), (3, 7, 20)])
def test_the_bound_is_where_the_score_of_the_likeliest_such_drop_is_significant(newly_failing, fixed, n):
    drop = largest_drop(newly_failing, fixed, n)

    def likelihood(share):
        terms = ((newly_failing, share + drop), (fixed, share), (n - newly_failing - fixed, 1 - 2 * share - drop))
        return sum(count * log(chance) for count, chance in terms if count)

    shares = (number / 200_000 * (1 - drop) / 2 for number in range(1, 200_000))
    share = max((share for share in shares if share + drop > 0), key=likelihood)
    score = (n * drop - newly_failing + fixed) / sqrt(n * (2 * share + drop - drop * drop))
    assert score == pytest.approx(1.6449, abs=1e-3)
