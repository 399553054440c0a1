"""Which tests of AgentV suites can never run, since what they depend on cannot."""

from __future__ import annotations

from contextlib import suppress
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from skillgym_action.model.suite import BenchmarkCase

_SHOWN_IN_CYCLE = 5
Graph = dict[str, list[str]]


def unrunnable_cases(cases: Iterable[BenchmarkCase], known: Collection[str]) -> dict[str, str]:
    """The ids of cases whose dependencies can never be met, and the reasons. Takes linear time.

    A case may depend on an unknown case, on itself, or on a case that cannot be used. ``known``: the ids of all
    tests, including those that cannot be used.
    """
    usable = {case.id: case for case in cases}
    reasons: dict[str, str] = {}
    for case in usable.values():
        for other in case.depends_on:
            if other not in known:
                reasons[case.id] = f"depends on {other!r}, which is not a test of this suite"
            elif other not in usable and case.on_dependency_failure != "run":
                reasons[case.id] = f"depends on {other!r}, which cannot be used"
    graph = {case.id: [other for other in case.depends_on if other in usable] for case in usable.values()}
    reasons |= {case_id: f"depends on itself: {cycle}" for case_id, cycle in _cycles(graph).items()}
    dependents = _reversed(graph)
    waiting = list(reasons)
    for case_id in waiting:  # the list grows while it is read
        for other in dependents[case_id]:
            if other not in reasons and usable[other].on_dependency_failure != "run":
                reasons[other] = f"depends on {case_id!r}, which cannot be used"
                waiting.append(other)
    return {case_id: reasons[case_id] for case_id in usable if case_id in reasons}


def _cycles(graph: Graph) -> dict[str, str]:
    """For each case in a cycle, or on a path between two of them, the text of a cycle that it depends on."""
    left = _unordered(graph)
    left = _unordered(_reversed({name: [one for one in graph[name] if one in left] for name in left}))
    cycles: dict[str, str] = {}
    for name in filter(left.__contains__, graph):
        path: dict[str, None] = {}
        at = name
        while at not in path and at not in cycles:
            path[at] = None
            at = next(other for other in graph[at] if other in left)
        cycle = cycles.get(at) or _cycle_text(list(path)[list(path).index(at) :])
        cycles |= dict.fromkeys(path, cycle)
    return cycles


def _cycle_text(cycle: list[str]) -> str:
    names = [*cycle[:_SHOWN_IN_CYCLE], *(["…"] if len(cycle) > _SHOWN_IN_CYCLE else []), cycle[0]]
    return " -> ".join(names)


def _unordered(graph: Graph) -> set[str]:
    """The names that are in a cycle, or depend on one."""
    left = set(graph)
    sorter = TopologicalSorter(graph)
    with suppress(CycleError):
        sorter.prepare()
    while ready := sorter.get_ready():
        left.difference_update(ready)
        sorter.done(*ready)
    return left


def _reversed(graph: Mapping[str, list[str]]) -> Graph:
    reverse: Graph = {name: [] for name in graph}
    for name, others in graph.items():
        for other in others:
            reverse[other].append(name)
    return reverse
