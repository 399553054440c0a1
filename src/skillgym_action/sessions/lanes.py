"""Lanes: groups of executions that run one after the other, whatever runs beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillgym_action.model.dependencies import dependency_groups, dependency_order
from skillgym_action.sessions.hooks import shared_workspace_name

if TYPE_CHECKING:
    from skillgym_action.model.execution import Execution, Plan
    from skillgym_action.settings.options import ExecuteOptions


def interleaved_lanes(plan: Plan, options: ExecuteOptions, *, one_user: bool) -> list[tuple[Execution, ...]]:
    """The lanes of a plan, so that whatever changes with time meets all arms of a case alike.

    A lane has a case in all of its arms, whose repetitions are interleaved; where all lanes can run at the same time,
    each arm has its own.
    """
    by_runner = options.schedule == "isolated-by-runner"
    lanes = _lanes(plan, by_runner=by_runner, one_user=one_user, arms_apart=True)
    if len(lanes) > options.jobs and any(execution.arm for execution in plan.executions):
        return _lanes(plan, by_runner=by_runner, one_user=one_user, arms_apart=False)
    return lanes


def indivisible_lanes(plan: Plan) -> list[tuple[Execution, ...]]:
    """The lanes that have to run in the same job, whatever the schedule: a case is in one of them in all of its arms.

    Sessions outside of workspaces may be in several jobs, each of which has a checkout of its own.
    """
    return _lanes(plan, by_runner=False, one_user=False, arms_apart=False)


def _lanes(plan: Plan, *, by_runner: bool, one_user: bool, arms_apart: bool) -> list[tuple[Execution, ...]]:
    """Lanes: groups of executions that run one after the other, in the order of the plan.

    One lane has an execution and those it depends on; all executions that work in the same directory; and with
    ``by_runner``, for the schedule ``isolated-by-runner``, all executions of a runner. Groups that share an execution
    are one lane.
    ``arms_apart``: the arms of a case may be in several lanes.
    """
    group_of_case = {suite.path: dependency_groups(suite.cases) for suite in plan.suites}
    groups: dict[tuple[str, ...], list[Execution]] = {}
    for execution in plan.executions:
        group: tuple[str, ...] = (
            execution.suite.path,
            group_of_case[execution.suite.path][execution.case.id],
            execution.runner.id,
            (execution.arm_name or "") if arms_apart else "",
        )
        groups.setdefault(group, []).append(execution)
    lanes: dict[tuple[str, ...], list[Execution]] = {}
    for group, executions in groups.items():
        names = (shared_workspace_name(execution, one_user=one_user) for execution in executions)
        keys: list[tuple[str, ...]] = [("workspace", name) for name in sorted({n for n in names if n is not None})]
        if by_runner:
            keys.append(("runner", executions[0].runner.id))
        lane, *others = list({id(lanes[key]): lanes[key] for key in keys if key in lanes}.values()) or [[]]
        for other in others:
            lane += other
            lanes = {key: lane if existing is other else existing for key, existing in lanes.items()}
        lane += dependency_order(executions)
        lanes |= dict.fromkeys(keys or [group], lane)
    return [tuple(lane) for lane in {id(lane): lane for lane in lanes.values()}.values()]
