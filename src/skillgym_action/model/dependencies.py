"""Cases that depend on others: what belongs together, in which order, and what is not to be done."""

from __future__ import annotations

from graphlib import TopologicalSorter
from typing import TYPE_CHECKING

from skillgym_action.model.result import Failure, Judgement
from skillgym_action.model.verdicts import ASSERTION_FAILURE, GREEN, Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from skillgym_action.model.execution import Execution
    from skillgym_action.model.result import Result
    from skillgym_action.model.suite import Case


def dependency_groups(cases: Iterable[Case]) -> dict[str, str]:
    """For each case the first one that it hangs together with, itself where it stands alone."""
    cases = tuple(cases)
    leaders = {case.id: case.id for case in cases}

    def leader(case_id: str) -> str:
        while leaders[case_id] != case_id:
            leaders[case_id] = leaders[leaders[case_id]]  # or a long chain would take the square of its length
            case_id = leaders[case_id]
        return case_id

    order = {case.id: place for place, case in enumerate(cases)}
    for case in cases:
        for other in case.depends_on:
            if other in leaders:
                first, second = sorted((leader(case.id), leader(other)), key=order.__getitem__)
                leaders[second] = first
    return {case_id: leader(case_id) for case_id in leaders}


def dependency_order(executions: Iterable[Execution]) -> tuple[Execution, ...]:
    """Executions of one suite on one runner, each after those it depends on."""
    by_id = {execution.case.id: execution for execution in executions}
    if not any(execution.case.depends_on for execution in by_id.values()):
        return tuple(by_id.values())
    graph = {name: [other for other in one.case.depends_on if other in by_id] for name, one in by_id.items()}
    return tuple(by_id[name] for name in TopologicalSorter(graph).static_order())


def unmet_dependency(execution: Execution, done: Mapping[str, Result]) -> Judgement | None:
    """The judgement on an execution that depends on one that is not green; one that was not selected does not count."""
    case = execution.case
    red = next((name for name in case.depends_on if name in done and done[name].status not in GREEN), None)
    if red is None or case.unmet == "run":
        return None
    reason = f"it depends on {red}, which is {done[red].status}"
    if case.unmet == "skip":
        return Judgement(status=Status.SKIPPED, origin="dependency", reason=reason)
    failure = Failure(name="DependencyFailed", message=reason, location=case.location)
    return Judgement(
        status=Status.FAILED, origin="dependency", failure_class=ASSERTION_FAILURE, failure=failure, reason=reason
    )
