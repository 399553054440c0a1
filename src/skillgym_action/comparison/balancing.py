"""Chains of work are divided among shards, so that all shards take about the same time."""

from __future__ import annotations

from heapq import heapify, heapreplace
from math import ceil, fsum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

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
