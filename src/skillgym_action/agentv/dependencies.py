"""Tests of an AgentV suite that depend on others: those that can never come, and why. Takes linear time."""

from __future__ import annotations

from contextlib import suppress
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from skillgym_action.model.suite import Case

SHOWN = 5
"""Members of a circle that a message names."""

Graph = dict[str, list[str]]


def stuck(cases: Iterable[Case], known: Collection[str]) -> dict[str, str]:
    """Why cases cannot come, by id; ``known``: the ids of all tests, also of those that cannot be used.

    A case that depends on nothing there is, on itself, or on a case that cannot be used.
    """
    usable = {case.id: case for case in cases}
    wrong: dict[str, str] = {}
    for case in usable.values():
        for other in case.depends_on:
            if other not in known:
                wrong[case.id] = f"depends on {other!r}, which is no test of this suite"
            elif other not in usable and case.on_dependency_failure != "run":
                wrong[case.id] = f"depends on {other!r}, which cannot be used"
    graph = {case.id: [other for other in case.depends_on if other in usable] for case in usable.values()}
    wrong |= {case_id: f"depends on itself: {circle}" for case_id, circle in _circles(graph).items()}
    dependents = _turned(graph)
    waiting = list(wrong)
    for case_id in waiting:
        for other in dependents[case_id]:
            if other not in wrong and usable[other].on_dependency_failure != "run":
                wrong[other] = f"depends on {case_id!r}, which cannot be used"
                waiting.append(other)
    return {case_id: wrong[case_id] for case_id in usable if case_id in wrong}


def _circles(graph: Graph) -> dict[str, str]:
    """For each case in a circle, or between two of them, a circle that it leads to."""
    left = _unordered(graph)
    left = _unordered(_turned({name: [one for one in graph[name] if one in left] for name in left}))
    circles: dict[str, str] = {}
    for name in filter(left.__contains__, graph):
        way: dict[str, None] = {}
        at = name
        while at not in way and at not in circles:
            way[at] = None
            at = next(other for other in graph[at] if other in left)
        circle = circles.get(at) or _shown(list(way)[list(way).index(at) :])
        circles |= dict.fromkeys(way, circle)
    return circles


def _shown(circle: list[str]) -> str:
    names = [*circle[:SHOWN], *(["…"] if len(circle) > SHOWN else []), circle[0]]
    return " -> ".join(names)


def _unordered(graph: Graph) -> set[str]:
    """What is in a circle, or comes after one."""
    left = set(graph)
    sorter = TopologicalSorter(graph)
    with suppress(CycleError):
        sorter.prepare()
    while ready := sorter.get_ready():
        left.difference_update(ready)
        sorter.done(*ready)
    return left


def _turned(graph: Mapping[str, list[str]]) -> Graph:
    turned: Graph = {name: [] for name in graph}
    for name, others in graph.items():
        for other in others:
            turned[other].append(name)
    return turned
