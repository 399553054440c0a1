"""The exact tests against enumerations of all outcomes, beside the reference values of test_vectors.py."""

from __future__ import annotations

import time
from fractions import Fraction
from itertools import product
from math import comb, prod
from random import Random

import pytest

from skillgym_action.model.comparison import Samples
from skillgym_action.results.statistics.comparison import has_dropped
from skillgym_action.results.statistics.exact_tests import SampledPair, adjusted_p, case_p, discoveries, suite_p


def pair(base, head):
    return SampledPair(Samples(passed=base[0], judged=base[1]), Samples(passed=head[0], judged=head[1]))


PAIRS = [
    pytest.param([pair((3, 3), (1, 3)), pair((2, 3), (2, 3))], id="same numbers"),
    pytest.param([pair((5, 5), (0, 2)), pair((1, 2), (3, 3)), pair((2, 2), (1, 4))], id="other numbers"),
    pytest.param([pair((1, 1), (0, 1)), pair((0, 1), (1, 1)), pair((1, 1), (0, 1))], id="one session each"),
    pytest.param([pair((0, 3), (0, 3)), pair((3, 3), (3, 3)), pair((2, 3), (0, 3))], id="some cannot change"),
    pytest.param([pair((0, 3), (3, 3)), pair((1, 4), (4, 4))], id="it got better"),
]


def outcomes(one):
    """All numbers of passed sessions of the head, with their probability."""
    passed, base, head = one.base.passed + one.head.passed, one.base.judged, one.head.judged
    return [
        (own, Fraction(comb(base, passed - own) * comb(head, own), comb(base + head, passed)))
        for own in range(max(0, passed - base), min(head, passed) + 1)
    ]


def grade(one, own):
    drop = (one.base.passed + one.head.passed - own) / one.base.judged - own / one.head.judged
    return (1 if drop >= 0 else -1) * round(25 * abs(drop) ** 1.5)


@pytest.mark.parametrize("pairs", PAIRS)
def test_the_suite_test_is_the_share_of_all_outcomes(pairs):
    observed = sum(grade(one, one.head.passed) for one in pairs)
    exact = sum(
        prod(chance for _, chance in way)
        for way in product(*map(outcomes, pairs))
        if sum(grade(one, own) for one, (own, _) in zip(pairs, way, strict=True)) >= observed
    )
    assert suite_p(pairs) == pytest.approx(float(exact))


@pytest.mark.parametrize("pairs", PAIRS)
def test_a_case_is_tested_by_fishers_exact_test(pairs):
    for one in pairs:
        exact = sum(chance for own, chance in outcomes(one) if own <= one.head.passed)
        assert case_p(one) == pytest.approx(float(exact))


@pytest.mark.parametrize("pairs", PAIRS)
def test_the_smallest_adjusted_p_is_the_chance_of_any_so_small(pairs):
    smallest = min(map(case_p, pairs))

    def p(one, own):
        return case_p(one._replace(head=Samples(passed=own, judged=one.head.judged)))

    def fixed(one, own):  # the same margins, with `own` passed sessions of the head
        base = one.base.passed + one.head.passed - own
        return SampledPair(Samples(passed=base, judged=one.base.judged), Samples(passed=own, judged=one.head.judged))

    exact = sum(
        prod(chance for _, chance in way)
        for way in product(*map(outcomes, pairs))
        if min(case_p(fixed(one, own)) for one, (own, _) in zip(pairs, way, strict=True)) <= smallest * (1 + 1e-9)
    )
    assert min(adjusted_p(pairs)) == pytest.approx(float(exact))


def test_adjusted_values_are_in_the_order_of_the_values_and_not_smaller():
    pairs = [pair((5, 5), (1, 5)), pair((5, 5), (0, 5)), pair((4, 5), (3, 5)), pair((5, 5), (5, 5))]
    own, adjusted = list(map(case_p, pairs)), adjusted_p(pairs)
    assert sorted(range(4), key=own.__getitem__) == sorted(range(4), key=adjusted.__getitem__)
    assert all(one <= other + 1e-12 for one, other in zip(own, adjusted, strict=True))


def test_large_runs_are_compared_within_seconds():
    pairs = [pair((8, 10), (7, 10)), pair((10, 10), (9, 10)), pair((3, 10), (6, 10)), pair((10, 10), (6, 10))] * 50
    assert 0 < suite_p(pairs) < 0.01
    assert has_dropped(pairs)


def test_benjamini_and_hochberg():
    assert discoveries([0.01, 0.04, 0.03, 0.5], 0.05) == {0}
    assert discoveries([0.01, 0.02, 0.03, 0.5], 0.05) == {0, 1, 2}
    assert discoveries([0.9], 0.05) == frozenset()
    assert discoveries([], 0.05) == frozenset()


@pytest.mark.timed
@pytest.mark.parametrize(
    ("pairs", "sessions"),
    [pytest.param(1, 10_000, id="one case of many sessions"), pytest.param(2_000, 10, id="many cases")],
)
def test_a_comparison_of_any_size_ends(pairs, sessions):
    """Untrusted results files are compared, too; either of these would take long if it were done naively."""
    random = Random(1)
    passed = [random.randint(sessions // 2, sessions) for _ in range(pairs)]
    began = time.process_time()
    p = suite_p([pair((number, sessions), (number, sessions)) for number in passed])
    assert 0.5 < p <= 1
    assert time.process_time() - began < 3
