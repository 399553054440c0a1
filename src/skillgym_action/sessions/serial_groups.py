"""Serial groups: executions that run one after the other, whatever runs beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillgym_action.model.dependencies import dependency_groups, dependency_order
from skillgym_action.sessions.hooks import shared_workspace_name

if TYPE_CHECKING:
    from skillgym_action.model.execution import Execution, Plan
    from skillgym_action.settings.settings import ExecuteOptions


def interleaved_serial_groups(plan: Plan, options: ExecuteOptions, *, one_user: bool) -> list[tuple[Execution, ...]]:
    """The serial groups of a plan, so that whatever changes with time meets all arms of a case alike.

    A group has a case in all of its arms, whose repetitions are interleaved; where all groups can run at the same time,
    each arm has its own.
    """
    by_runner = options.schedule == "isolated-by-runner"
    serial_groups = _serial_groups(plan, by_runner=by_runner, one_user=one_user, arms_apart=True)
    if len(serial_groups) > options.jobs and any(execution.arm for execution in plan.executions):
        return _serial_groups(plan, by_runner=by_runner, one_user=one_user, arms_apart=False)
    return serial_groups


def indivisible_serial_groups(plan: Plan) -> list[tuple[Execution, ...]]:
    """The groups that have to run in the same job, whatever the schedule: a case is in one of them in all of its arms.

    Sessions outside of workspaces may be in several jobs, each of which has a checkout of its own.
    """
    return _serial_groups(plan, by_runner=False, one_user=False, arms_apart=False)


def _serial_groups(plan: Plan, *, by_runner: bool, one_user: bool, arms_apart: bool) -> list[tuple[Execution, ...]]:
    """Serial groups: groups of executions that run one after the other, in the order of the plan.

    One serial group has an execution and those it depends on; all executions that work in the same directory; and with
    ``by_runner``, for the schedule ``isolated-by-runner``, all executions of a runner. Groups that share an execution
    are one serial group.
    ``arms_apart``: the arms of a case may be in several serial groups.
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
    joined: dict[tuple[str, ...], list[Execution]] = {}
    for group, executions in groups.items():
        names = (shared_workspace_name(execution, one_user=one_user) for execution in executions)
        keys: list[tuple[str, ...]] = [("workspace", name) for name in sorted({n for n in names if n is not None})]
        if by_runner:
            keys.append(("runner", executions[0].runner.id))
        serial, *others = list({id(joined[key]): joined[key] for key in keys if key in joined}.values()) or [[]]
        for other in others:
            serial += other
            joined = {key: serial if existing is other else existing for key, existing in joined.items()}
        serial += dependency_order(executions)
        joined |= dict.fromkeys(keys or [group], serial)
    return [tuple(serial) for serial in {id(serial): serial for serial in joined.values()}.values()]
