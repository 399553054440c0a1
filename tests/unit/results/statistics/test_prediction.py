"""The total of the next run, from those of earlier ones; and work that runs in parallel."""

from __future__ import annotations

from math import exp, sqrt
from random import Random
from typing import Any

import pytest

from skillgym_action.results.statistics.prediction import (
    StoredFigure,
    least_wall_time,
    predicted,
    prediction_interval,
    wall_time,
)

T_2 = 4.302653  # of 97.5%, with 2 degrees of freedom


def test_the_interval_is_that_of_a_further_observation_on_the_logarithms():
    totals = [exp(-0.1), 1.0, exp(0.1)]  # their logarithms have the mean 0 and the standard deviation 0.1
    found = prediction_interval(totals, runs_of_mean=3, noise=1)
    half = T_2 * 0.1 * sqrt(1 + 1 / 3)
    assert found is not None
    assert (found.level, found.runs) == (0.95, 3)
    assert (found.low, found.high) == (pytest.approx(exp(-half)), pytest.approx(exp(half)))


def test_a_run_with_fewer_sessions_than_the_stored_ones_may_differ_more_and_one_with_more_not_less():
    totals = [1.0, 1.1, 1.2]
    narrow, wide, same = (prediction_interval(totals, runs_of_mean=3, noise=noise) for noise in (1, 5, 0.2))
    assert narrow
    assert wide
    assert wide.low < narrow.low < narrow.high < wide.high
    assert same == narrow


@pytest.mark.parametrize(
    ("totals", "shown"),
    [
        pytest.param([], None, id="no run"),
        pytest.param([1.0], None, id="one run has no spread"),
        pytest.param([1.0, 2.0], (1.0, 2.0), id="two runs have a range"),
        pytest.param([0.0, 1.0, 2.0], (0.0, 2.0), id="one that cost nothing has no logarithm"),
        pytest.param([1.0, 50.0, 1000.0], (1.0, 1000.0), id="they differ too much"),
        pytest.param([1e-320, 1.0, 1e9], (1e-320, 1e9), id="as a forged store may have them"),
        pytest.param([1e9] * 10, (1e9, 1e9), id="the greatest that a store may have"),
    ],
)
def test_few_runs_have_a_range_or_nothing(totals, shown):
    found = prediction_interval(totals, runs_of_mean=max(1, len(totals)), noise=1)
    assert (found and (found.low, found.high)) == (None if shown is None else pytest.approx(shown))
    assert found is None or found.level == (0.95 if min(totals) == max(totals) else None)


# --- coverage ------------------------------------------------------------------------------------------

TRIED = 500


def figure(index: int, **changes: Any) -> StoredFigure:
    given = {"sessions": 1.0, "stored_sessions": 1.0, "mean": 1.0, "of_run": {"1": 1.0}} | changes
    return StoredFigure(index=index, **given)


def test_what_a_run_lacks_differs_from_its_mean_as_the_rest_of_the_run_does():
    figures = [
        figure(0, mean=2.0, of_run={"1": 1.0, "2": 2.0, "3": 3.0}),
        figure(1, mean=2.0, of_run={"2": 2.0, "3": 2.0}, sessions=1.0),
    ]
    found = predicted(figures, lambda totals: round(sum(totals.values()), 6))
    assert found
    totals = [1.0 + 0.5 * 2.0, 4.0, 5.0]
    assert found == prediction_interval(totals, runs_of_mean=4 / (2 / 3 + 2 / 2), noise=1)


def test_a_run_that_lacks_more_than_half_of_the_cost_is_left_out():
    figures = [figure(0, mean=9.0, of_run={"2": 8.0, "3": 10.0}), figure(1, mean=1.0, of_run={"1": 1.0})]
    found = predicted(figures, lambda totals: sum(totals.values()))
    assert found
    assert (found.runs, found.low, found.high, found.level) == (
        2,
        pytest.approx(8 * 10 / 9),
        pytest.approx(100 / 9),
        None,
    )


def test_what_costs_nothing_has_no_interval():
    assert predicted([figure(0, mean=0.0, of_run={"1": 0.0, "2": 0.0})], lambda totals: sum(totals.values())) is None
    assert predicted([], lambda totals: sum(totals.values())) is None


def coverage(runs: int, stored: int, planned: int, run_effect: float, lacking: float = 0.0) -> float:
    """How often the interval has the cost of the next run: 20 cases whose sessions differ by half of their mean.

    ``stored`` and ``planned``: sessions of a case, in each stored run and in the next one. ``run_effect``: standard
    deviation of what all sessions of a run have in common, such as a change of the instructions, relative to the mean.
    ``lacking``: the share of cases that a stored run lacks.
    """
    draw, hits, given = Random(18), 0, 0
    while given < TRIED:
        means = [draw.lognormvariate(0, 1) for _ in range(20)]

        def costs(sessions: int, means: list[float] = means) -> list[float]:
            effect = draw.lognormvariate(0, run_effect)
            each = [sum(draw.lognormvariate(-0.11, 0.47) for _ in range(sessions)) / sessions for _ in means]
            return [effect * mean * factor for mean, factor in zip(means, each, strict=True)]

        earlier, after = [costs(stored) for _ in range(runs)], planned * sum(costs(planned))
        figures = []
        for index in range(20):
            of_run = {str(run): one[index] for run, one in enumerate(earlier) if draw.random() >= lacking}
            if of_run:
                mean = sum(of_run.values()) / len(of_run)
                figures.append(figure(index, mean=mean, of_run=of_run, sessions=planned, stored_sessions=stored))
        if len(figures) < 20:
            continue
        found = predicted(figures, lambda totals: sum(totals.values()))
        if found is not None and found.level is not None:
            given += 1
            hits += found.low <= after <= found.high
    return hits / TRIED


@pytest.mark.parametrize("runs", [3, 5, 10])
@pytest.mark.parametrize("run_effect", [0.0, 0.1, 0.3])
@pytest.mark.parametrize(
    ("stored", "planned", "lacking"), [(1, 1, 0.0), (3, 1, 0.0), (1, 3, 0.0), (1, 1, 0.1), (3, 1, 0.1)]
)
def test_the_interval_has_the_next_run_in_95_of_100_cases_or_more(runs, run_effect, stored, planned, lacking):
    assert coverage(runs, stored, planned, run_effect, lacking) >= 0.92


# --- time ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("serial_groups", "workers", "time", "least"),
    [
        pytest.param([3, 2, 1], 1, 6, 6, id="one after the other"),
        pytest.param([3, 2, 1], 2, 3, 3, id="two at once"),
        pytest.param([1, 2, 3], 2, 4, 3, id="the longest one comes last"),
        pytest.param([9, 1, 1], 3, 9, 9, id="the longest serial group decides"),
        pytest.param([1, 1], 9, 1, 1, id="more workers than serial groups"),
        pytest.param([], 2, 0, 0, id="nothing"),
    ],
)
def test_workers_take_the_next_serial_group_once_they_are_free(serial_groups, workers, time, least):
    assert (wall_time(serial_groups, workers), least_wall_time(serial_groups, workers)) == (time, least)


@pytest.mark.parametrize("mean", [0.0, 5e-324, 1e-300])
def test_costs_that_are_nothing_have_no_interval(mean):
    of_run = {str(number): mean for number in range(5)}
    figure = StoredFigure(index=0, sessions=1, stored_sessions=3, mean=mean, of_run=of_run)
    assert predicted([figure], lambda totals: sum(totals.values())) is None
