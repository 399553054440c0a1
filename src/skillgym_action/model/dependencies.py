"""Cases that depend on other cases: groups, order, and the judgement where a dependency is not met."""

from __future__ import annotations

from graphlib import TopologicalSorter
from typing import TYPE_CHECKING

from skillgym_action.model.judgement import Failure, Judgement
from skillgym_action.model.verdicts import ASSERTION_FAILURE, GREEN, Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from skillgym_action.model.execution import Execution
    from skillgym_action.model.report import RunReport
    from skillgym_action.model.result import Result
    from skillgym_action.model.suite import BenchmarkCase


def dependency_groups(cases: Iterable[BenchmarkCase]) -> dict[str, str]:
    """Case id -> id of the first case of its group: cases that depend on each other, directly or not, are one group."""
    cases = tuple(cases)
    leaders = {case.id: case.id for case in cases}

    def leader(case_id: str) -> str:
        while leaders[case_id] != case_id:
            leaders[case_id] = leaders[leaders[case_id]]  # halves the path: long chains would take quadratic time
            case_id = leaders[case_id]
        return case_id

    order = {case.id: position for position, case in enumerate(cases)}
    for case in cases:
        for other in case.depends_on:
            if other in leaders:
                first, second = sorted((leader(case.id), leader(other)), key=order.__getitem__)
                leaders[second] = first
    return {case_id: leader(case_id) for case_id in leaders}


def dependency_order(executions: Iterable[Execution]) -> tuple[Execution, ...]:
    """The executions of one suite on one runner, each after those it depends on; those of one case are side by side.

    Raises graphlib.CycleError.
    """
    by_id: dict[str, list[Execution]] = {}
    for execution in executions:
        by_id.setdefault(execution.case.id, []).append(execution)
    graph = {name: [other for other in in_arms[0].case.depends_on if other in by_id] for name, in_arms in by_id.items()}
    order = TopologicalSorter(graph).static_order() if any(graph.values()) else by_id
    return tuple(execution for name in order for execution in by_id[name])


def unmet_dependency(execution: Execution, done: Mapping[str, Result]) -> Judgement | None:
    """The judgement on an execution whose dependency is not green; None: it may start.

    ``done``: case id -> result, on the same runner. Dependencies that were not selected are ignored.
    """
    case = execution.case
    failed = next((name for name in case.depends_on if name in done and done[name].status not in GREEN), None)
    if failed is None or case.on_dependency_failure == "run":
        return None
    reason = f"{_depends_on(failed)}{done[failed].status}"
    if case.on_dependency_failure == "skip":
        return Judgement(status=Status.SKIPPED, origin="dependency", reason=reason)
    failure = Failure(name="DependencyFailed", message=reason, location=case.location)
    return Judgement(
        status=Status.FAILED, origin="dependency", failure_class=ASSERTION_FAILURE, failure=failure, reason=reason
    )


def skipped_for_quarantine(report: RunReport) -> int:
    """How many executions were skipped because what they depend on is in quarantine, directly or not."""
    apart = {_name(result) for result in report.quarantined if result.status not in GREEN}
    waiting = [result for result in report.results if result.judgement.origin == "dependency"] if apart else []
    skipped = [result for result in waiting if result.status is Status.SKIPPED]
    found, before = 0, -1
    while found != before:
        before = found
        because = {(suite, runner, _depends_on(case)) for suite, case, runner in apart}
        unmet = [result for result in skipped if _cause(result) in because]
        apart |= set(map(_name, unmet))
        found = len(unmet)
    return found


def _depends_on(case_id: str) -> str:
    return f"it depends on {case_id}, which is "


def _name(result: Result) -> tuple[str, str, str]:
    return result.suite.path, result.case_id, result.runner.id if result.runner else ""


def _cause(result: Result) -> tuple[str, str, str]:
    """Suite, runner, and the reason without the status at its end, which is one word."""
    return result.suite.path, _name(result)[2], f"{(result.judgement.reason or '').rpartition(' ')[0]} "
