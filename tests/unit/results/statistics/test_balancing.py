"""Chains are divided among shards so that all take about the same time."""

from __future__ import annotations

import random

import pytest

from skillgym_action.results.statistics.prediction import balanced, balanced_for, wall_seconds


def loads(seconds, shards):
    return [sum(seconds[index] for index in chains) for chains in shards]


def test_the_longest_chains_come_first():
    assert balanced([1, 9, 2, 8, 3, 7], 3) == [[0, 1], [2, 3], [4, 5]]


def test_each_chain_is_in_one_shard():
    rng = random.Random(3)
    seconds = [rng.lognormvariate(0, 1) for _ in range(500)]
    found = balanced(seconds, 16)
    assert sorted(index for chains in found for index in chains) == list(range(500))
    assert max(loads(seconds, found)) <= 4 / 3 * max(sum(seconds) / 16, *seconds)


def test_more_shards_than_chains_are_empty():
    assert balanced([5.0], 3) == [[0], [], []]


@pytest.mark.parametrize(
    ("seconds", "jobs", "target", "most", "shards"),
    [
        pytest.param([10.0] * 12, 1, 40.0, 256, 3, id="as few as keep the target"),
        pytest.param([10.0] * 12, 2, 40.0, 256, 2, id="each runs two at once"),
        pytest.param([10.0] * 12, 1, 1.0, 256, 12, id="no more than chains"),
        pytest.param([10.0] * 12, 1, 1.0, 5, 5, id="no more than the most"),
        pytest.param([100.0, *[1.0] * 50], 1, 50.0, 256, 3, id="a chain that is longer than the target"),
        pytest.param([], 1, 50.0, 256, 1, id="nothing at all"),
        pytest.param([30.0, 30.0, 30.0], 1, 50.0, 256, 3, id="two chains do not fit into one shard"),
    ],
)
def test_the_number_of_shards_follows_from_time(seconds, jobs, target, most, shards):
    found = balanced_for(seconds, jobs, target, most)
    assert len(found) == shards
    if shards < min(most, len(seconds)):
        assert max(wall_seconds([seconds[index] for index in chains], jobs) for chains in found) <= max(
            [target, *seconds]
        )


def test_recorded_times_that_are_off_by_a_fifth_balance_2000_cases_in_64_shards():
    rng, ratios = random.Random(1), []
    for _ in range(10):
        times = [rng.lognormvariate(0, 0.9) for _ in range(2_000)]
        recorded = [seconds * rng.lognormvariate(0, 0.2) for seconds in times]
        ratios.append(max(loads(times, balanced(recorded, 64))) / (sum(times) / 64))
    assert sum(ratios) / len(ratios) <= 1.15
