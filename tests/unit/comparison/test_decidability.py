"""What a plan could show at best: the p-values of a total collapse, exact."""

from __future__ import annotations

from itertools import product
from math import comb

import pytest

from skillgym_action.comparison.decidability import (
    PlannedPair,
    can_show_regression,
    cases_needed,
    repetitions_needed,
    smallest_case_p,
    smallest_suite_p,
)


def pairs(*rows: tuple[int, int, int, int]) -> list[PlannedPair]:
    """Rows of passed, sessions, planned, and how many pairs are like that."""
    return [
        PlannedPair(passed=passed, sessions=sessions, planned=planned)
        for passed, sessions, planned, number in rows
        for _ in range(number)
    ]


def p_by_enumeration(plan: list[PlannedPair]) -> float:
    """The p-value of the suite test, by going through all outcomes of all pairs."""

    def outcomes(pair: PlannedPair) -> list[tuple[int, float]]:
        m, b, h = pair.passed, pair.sessions, pair.planned
        found = []
        for head in range(max(0, m - b), min(m, h) + 1):
            drop = (m - head) / b - head / h
            g = (1 if drop > 0 else -1) * round(25 * abs(drop) ** 1.5)
            found.append((g, comb(b, m - head) * comb(h, head) / comb(b + h, m)))
        return found

    observed = sum(outcomes(pair)[0][0] for pair in plan)
    total = 0.0
    for several in product(*map(outcomes, plan)):
        if sum(g for g, _ in several) >= observed:
            share = 1.0
            for _, p in several:
                share *= p
            total += share
    return total


@pytest.mark.parametrize(
    ("plan", "shown"),
    [
        pytest.param(pairs((1, 1, 1, 5)), False, id="5 cases x 1"),
        pytest.param(pairs((1, 1, 1, 6)), False, id="6 passed at one session each"),
        pytest.param(pairs((1, 1, 1, 7)), True, id="7 passed at one session each"),
        pytest.param(pairs((1, 1, 1, 6), (0, 1, 1, 50)), False, id="what failed before is no evidence"),
        pytest.param(pairs((1, 1, 1, 7), (0, 1, 1, 343)), True, id="a drop of 2 points"),
        pytest.param(pairs((1, 1, 1, 7), (0, 1, 1, 344)), False, id="a drop of less than 2 points"),
        pytest.param(pairs((4, 4, 4, 1)), False, id="one case, 4 sessions on both sides"),
        pytest.param(pairs((5, 5, 5, 1)), True, id="one case, 5 sessions on both sides"),
        pytest.param(pairs((20, 20, 2, 1)), True, id="one case, many sessions in the baseline"),
        pytest.param(pairs((0, 5, 5, 20)), False, id="nothing passed before"),
        pytest.param([], False, id="no pairs"),
    ],
)
def test_whether_a_total_collapse_would_be_seen(plan, shown):
    assert can_show_regression(plan) == shown


@pytest.mark.parametrize(
    "plan",
    [
        pytest.param(pairs((1, 1, 1, 7)), id="one session"),
        pytest.param(pairs((5, 5, 5, 1), (3, 5, 5, 1), (1, 5, 2, 1)), id="several"),
        pytest.param(pairs((10, 10, 2, 1), (9, 10, 2, 1), (7, 10, 2, 1)), id="a larger baseline"),
        pytest.param(pairs((40, 60, 60, 1)), id="outcomes that are rounded to the same value"),
    ],
)
def test_the_suite_p_is_that_of_all_outcomes(plan):
    assert smallest_suite_p(plan) == pytest.approx(p_by_enumeration(plan), rel=1e-9)


def test_the_case_p_is_adjusted_for_the_cases_that_could_reach_it():
    assert smallest_case_p(pairs((5, 5, 5, 1))) == pytest.approx(0.003968, abs=1e-6)
    assert smallest_case_p(pairs((3, 3, 3, 10))) == pytest.approx(1 - 0.95**10)
    assert smallest_case_p(pairs((20, 20, 3, 1), (18, 20, 3, 1), (20, 20, 3, 1))) == pytest.approx(
        1 - (1 - 1 / comb(23, 3)) ** 2
    )
    assert smallest_case_p(pairs((5, 5, 5, 1), (1, 1, 1, 50))) == pytest.approx(0.003968, abs=1e-6)


def test_what_a_plan_needs():
    assert (repetitions_needed(pairs((1, 1, 1, 5))), cases_needed(pairs((1, 1, 1, 5)))) == (2, 7)
    assert (repetitions_needed(pairs((4, 4, 4, 1))), cases_needed(pairs((4, 4, 4, 1)))) == (5, 2)
    assert (repetitions_needed(pairs((1, 1, 1, 1))), cases_needed(pairs((1, 1, 1, 1)))) == (99, 7)
    assert repetitions_needed(pairs((0, 1, 1, 1))) is None
