"""What a plan and its baseline allow: whether a regression can be shown, and when the run may end early."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillgym_action.model.errors import UsageError

if TYPE_CHECKING:
    from skillgym_action.comparison.futility import FutilityRule
    from skillgym_action.model.execution import Execution, Plan
    from skillgym_action.model.run_report import RunReport
    from skillgym_action.services import Services
    from skillgym_action.settings.options import Options


def check_plan(plan: Plan, base: RunReport | None, options: Options) -> None:
    """Raises UsageError if regressions are to fail the run, but the plan could never show one, or must not be stopped.

    Stored sessions that are judged again cost nothing, whatever they can show.
    """
    _check_stop(plan, options)
    _refuse_in_place(plan, options)
    if base is None or "regression" not in options.gate.fail_on or not plan.executions or options.plan.only is not None:
        return
    if options.report.auto:
        return  # the store gets more samples with each run: a comparison that shows nothing yet is inconclusive
    from skillgym_action.comparison.plans import undecidable

    if problem := undecidable(deciding_sessions(plan, options), base, stop_early=options.execute.stop_early):
        raise UsageError.of(problem)


def check_containers(services: Services, plan: Plan, options: Options) -> None:
    """Connect to the engine of containers if sessions of the plan run in some. Raises UsageError if it is not possible.

    If sessions run on workers, each of these connects to its own, and this machine needs none.
    """
    from skillgym_action.sessions.hooks import workspace_spec

    for execution in plan.executions:
        spec = workspace_spec(execution)
        if spec.container and spec.mode != "isolated":
            raise UsageError(
                f"{execution.suite.path}: its workspace has the mode {spec.mode}, and run.workspace of the "
                "configuration asks for a container, which is made for one session",
                remedy="give the suite the mode isolated, or leave the image out of run.workspace",
            )
    wanted = {
        (execution.suite.path, spec.container): None
        for execution in plan.executions
        if (spec := execution.case.workspace or execution.suite.workspace).container
        and workspace_spec(execution).container
    }
    if wanted and services.containers:
        specs = ((suite, spec) for suite, spec in wanted if spec)
        services.containers().check(specs, connect=options.engine is None)


def _refuse_in_place(plan: Plan, options: Options) -> None:
    """Raises UsageError if sessions are to run on workers, and work in a folder of this machine."""
    if options.engine is None:
        return
    from skillgym_action.sessions.hooks import workspace_spec

    for execution in plan.executions:
        if workspace_spec(execution).mode == "none":
            raise UsageError(
                f"{execution.suite.path}: agents work in a folder of this machine (workspace mode none), "
                "which workers do not have",
                remedy="run it with --engine local, or give it a workspace of mode isolated",
            )


def _check_stop(plan: Plan, options: Options) -> None:
    """Raises UsageError if the run cannot be stopped for futility, though it is to be."""
    if options.execute.stop is None:
        return
    stop = f"--stop {options.execute.stop}"
    if options.execute.stop_early:
        raise UsageError(f"{stop} with --stop-early: only one of them can decide", remedy="leave one of them out")
    if options.execute.maxfail is not None:
        raise UsageError(f"{stop} with --maxfail: only one of them can end the run", remedy="leave one of them out")
    if options.report.baseline is None and not options.report.auto:
        raise UsageError(f"{stop} without a baseline: there is nothing to compare with", remedy="name a --baseline")
    if "regression" not in options.gate.fail_on:
        raise UsageError(
            f"{stop} without regression in fail-on: nothing would be decided", remedy="add the word regression"
        )
    if any(execution.is_other_arm for execution in plan.executions):
        raise UsageError(f"{stop} with arms: the other arms would lack sessions", remedy="leave one of them out")
    if options.plan.shard[1] > 1:
        raise UsageError(f"{stop} with --shard: a part cannot decide for the whole run", remedy="leave one of them out")


def futility_rule(base: RunReport | None, options: Options) -> FutilityRule | None:
    """When the run is stopped for futility; None: never, since it is not asked for or would save nothing."""
    if options.execute.stop is None or base is None:
        return None
    from skillgym_action.comparison.futility import FutilityRule

    rule = FutilityRule(base=base, repetitions=options.execute.repeat)
    return rule if rule.first_repetitions < rule.repetitions else None


def planned_sessions(plan: Plan, options: Options) -> list[tuple[Execution, int]]:
    """The executions of the plan, each with its number of repetitions."""
    from skillgym_action.sessions.repetitions import planned_repetitions

    return [(execution, planned_repetitions(execution, options.execute)) for execution in plan.executions]


def deciding_sessions(plan: Plan, options: Options) -> list[tuple[Execution, int]]:
    """The same without those of arms that do not decide."""
    return [entry for entry in planned_sessions(plan, options) if entry[0].decides]


def may_stop_early(plan: Plan, options: Options) -> bool:
    """Whether executions may have ended before all of their repetitions."""
    return options.execute.stop_early and any(number > 1 for _, number in planned_sessions(plan, options))
