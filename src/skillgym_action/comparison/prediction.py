"""The total of the next run, predicted from those of earlier runs; and how long work takes that runs in parallel.

Totals are taken as log-normal: they are positive, and differ by factors. The interval is that of a further observation,
by Student's t on the logarithms.
"""

from __future__ import annotations

from heapq import heapify, heapreplace
from math import exp, log, sqrt
from statistics import fmean, stdev
from typing import TYPE_CHECKING

from skillgym_action.comparison.uplift import CONFIDENCE, student_t
from skillgym_action.limits import MIN_RUNS_OF_INTERVAL
from skillgym_action.model.forecast import PredictionInterval

if TYPE_CHECKING:
    from collections.abc import Sequence

_WIDEST = log(100)  # from the middle to an end; a wider interval says nothing
_SMALLEST = 1e-9


def prediction_interval(totals: Sequence[float], *, runs_of_mean: float, noise: float) -> PredictionInterval | None:
    """Where the total of the next run is expected, from those of earlier runs; None: there are less than two.

    ``runs_of_mean``: how many runs the expected value is a mean of; less than all where some lack executions.
    ``noise``: the variance of the next run in units of that of the earlier ones, which may have had more sessions.
    Of few runs, and of those that differ widely, the result is the range of what they had.
    """
    number = len(totals)
    if number < 2:  # noqa: PLR2004 - one has no spread
        return None
    if number >= MIN_RUNS_OF_INTERVAL and min(totals) > _SMALLEST:
        logs = [log(total) for total in totals]
        spread = stdev(logs) * sqrt(max(noise, 1.0) + 1 / runs_of_mean)
        half, middle = student_t((1 + CONFIDENCE) / 2, number - 1) * spread, fmean(logs)
        if half <= _WIDEST:
            ends = exp(middle - half), exp(middle + half)
            return PredictionInterval(low=ends[0], high=ends[1], runs=number, level=CONFIDENCE)
    return PredictionInterval(low=min(totals), high=max(totals), runs=number, level=None)


def wall_time(lanes: Sequence[float], workers: int) -> float:
    """How long lanes take, if each of so many workers takes the next lane once it is free."""
    free = [0.0] * max(1, min(workers, len(lanes)))
    heapify(free)
    for lane in lanes:
        heapreplace(free, free[0] + lane)
    return max(free)


def least_wall_time(lanes: Sequence[float], workers: int) -> float:
    """What no order of the lanes can be below: the longest lane, and an equal share for each worker."""
    return max(max(lanes, default=0.0), sum(lanes) / max(1, workers))
