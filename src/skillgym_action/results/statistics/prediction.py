"""The total of the next run, predicted from those of earlier runs; and shards of equal duration.

Totals are taken as log-normal: they are positive, and differ by factors. The interval is that of a further observation,
by Student's t on the logarithms.
"""

from __future__ import annotations

from heapq import heapify, heapreplace
from math import ceil, exp, fsum, log, sqrt
from statistics import fmean, stdev
from typing import TYPE_CHECKING

from skillgym_action.model.forecast import PredictionInterval
from skillgym_action.model.records import record
from skillgym_action.results.statistics.uplift import CONFIDENCE, student_t

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

MIN_RUNS_OF_INTERVAL = 3  # stored runs from which what the next one costs has an interval
_WIDEST = log(100)  # from the middle to an end; a wider interval says nothing
_SMALLEST = 1e-9
_ENOUGH = 0.5  # of the expected total: a run that lacks more of it is not like the one that is planned


@record
class StoredFigure:
    """What is stored of a figure of one execution's sessions, such as their cost: ``mean`` over runs and ``of_run``.

    ``sessions``: how many are planned; ``stored_sessions``: how many there were on average in a stored run.
    """

    index: int
    sessions: float
    stored_sessions: float
    mean: float
    of_run: Mapping[str, float]

    @property
    def expected(self) -> float:
        """The figure of all planned sessions."""
        return self.sessions * self.mean


def predicted(
    figures: Sequence[StoredFigure], total: Callable[[Mapping[int, float]], float]
) -> PredictionInterval | None:
    """The interval of the next run's total, from the total that each stored run would have with this plan.

    ``total`` makes it of the figures of executions by index. What a run lacks is taken to differ from its mean as what
    the run has does. None: there are less than two runs, or all is 0.
    """
    expected = fsum(one.expected for one in figures)
    if expected <= _SMALLEST:  # a share of less could be rounded to 0
        return None
    totals = []
    for run in dict.fromkeys(run for one in figures for run in one.of_run):
        has = [one for one in figures if run in one.of_run]
        usual = fsum(one.expected for one in has)
        if usual < _ENOUGH * expected:
            continue
        ratio = fsum(one.sessions * one.of_run[run] for one in has) / usual
        totals.append(total({one.index: one.sessions * one.of_run.get(run, ratio * one.mean) for one in figures}))
    runs_of_mean = expected / fsum(one.expected / len(one.of_run) for one in figures)
    return prediction_interval(totals, runs_of_mean=runs_of_mean, noise=_noise(figures))


def _noise(figures: Sequence[StoredFigure]) -> float:
    """The variance of the planned total in units of that of a stored run, if sessions alone make it vary.

    A run with fewer sessions than the stored ones varies more. Sessions are taken to vary in proportion to their mean.
    """
    planned = fsum(one.sessions * one.mean**2 for one in figures)
    stored = fsum(one.expected**2 / one.stored_sessions for one in figures)
    return planned / stored if stored else 1.0


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


def wall_time(serial_groups: Sequence[float], workers: int) -> float:
    """How long serial groups take, if each of so many workers takes the next serial group once it is free."""
    free = [0.0] * max(1, min(workers, len(serial_groups)))
    heapify(free)
    for serial_group in serial_groups:
        heapreplace(free, free[0] + serial_group)
    return max(free)


def least_wall_time(serial_groups: Sequence[float], workers: int) -> float:
    """What no order of the serial groups can be below: the longest serial group, and an equal share for each worker."""
    return max(max(serial_groups, default=0.0), sum(serial_groups) / max(1, workers))


_GROWTH = 20  # the number of shards grows by this part of it until each keeps the target


def balanced(seconds: Sequence[float], shards: int) -> list[list[int]]:
    """The chains of each shard, by their index in ``seconds``: the longest chain first, to the least loaded shard.

    A shard's longest time is at most 4/3 of the best that is possible. Shards without a chain are empty lists.
    """
    found: list[list[int]] = [[] for _ in range(shards)]
    loads = [(0.0, number) for number in range(shards)]
    heapify(loads)
    for index in sorted(range(len(seconds)), key=lambda index: -seconds[index]):
        load, number = loads[0]
        found[number].append(index)
        heapreplace(loads, (load + seconds[index], number))
    return [sorted(chains) for chains in found]


def wall_seconds(chains: Sequence[float], jobs: int) -> float:
    """How long chains take, ``jobs`` of them at once: never less than the longest one."""
    return max(fsum(chains) / jobs, max(chains, default=0.0))


def balanced_for(seconds: Sequence[float], jobs: int, target: float, most: int) -> list[list[int]]:
    """Chains of as few shards as keep the ``target`` in seconds, of at most ``most`` and never more than chains.

    ``jobs``: chains that a shard runs at once. A chain that is longer than the target is a shard's least time.
    """
    most = max(1, min(most, len(seconds)))
    longest = max(target, max(seconds, default=0.0))
    shards = min(most, max(1, ceil(fsum(seconds) / jobs / target)))
    while True:
        found = balanced(seconds, shards)
        reached = max(wall_seconds([seconds[index] for index in chains], jobs) for chains in found)
        if reached <= longest or shards == most:
            return found
        shards = min(most, shards + max(1, shards // _GROWTH))
