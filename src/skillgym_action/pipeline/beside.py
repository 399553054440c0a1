"""What decides a run with ``repeat: auto``, or beside its base commit: options, results of the base, the gate."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from skillgym_action.model.adaptive import CONTROL_ARM, OF_BASE_COMMIT, RED
from skillgym_action.model.errors import UsageError
from skillgym_action.model.limits import COMMIT_CHARACTERS
from skillgym_action.model.records import record
from skillgym_action.model.report import identity_of
from skillgym_action.settings.slices import DEFAULT_FAIL_ON

if TYPE_CHECKING:
    from collections.abc import Iterable

    from skillgym_action.model.adaptive import Adaptive
    from skillgym_action.model.errors import Problem
    from skillgym_action.model.execution import Execution, Plan
    from skillgym_action.model.report import RunReport
    from skillgym_action.model.result import Result
    from skillgym_action.sessions.adaptive_run import AdaptiveRule
    from skillgym_action.settings.slices import Options

_AUTO = "--repeat auto"


@record
class Beside:
    """What is run beside the plan. ``controls``: sessions of the base commit, which are no results of the run.

    ``rule``: how the run decides; None: with a fixed number of sessions.
    """

    controls: tuple[Execution, ...] = ()
    rule: AdaptiveRule | None = None
    commit: str | None = None
    warnings: tuple[Problem, ...] = ()

    def of(self, plan: Plan) -> tuple[Beside, Plan]:
        """The same for a plan with fewer executions, of which the results of the others are reused; and that plan."""
        kept = {one.index for one in plan.executions}
        if self.rule is None:
            return self, self.extended(plan)
        rule = self.rule
        at = [number for number, one in enumerate(rule.heads) if one.index in kept]
        of_plan = replace(
            rule,
            heads=tuple(rule.heads[i] for i in at),
            stored=tuple(rule.stored[i] for i in at),
            controls=tuple(rule.controls[i] for i in at if rule.controls),
            others=tuple(one for one in rule.others if one.index in kept),
        )
        found = replace(self, rule=of_plan if at else None, controls=of_plan.controls)
        return found, found.extended(plan)

    def extended(self, plan: Plan) -> Plan:
        """The plan with the sessions of the base commit, each after that of the head."""
        of_head = {(one.suite.path, one.case.id, one.runner.id): one for one in self.controls}
        executions = []
        for one in plan.executions:
            executions.append(one)
            control = of_head.get((one.suite.path, one.case.id, one.runner.id))
            if control and one.decides:
                executions.append(control)
        return self.with_warnings(replace(plan, executions=tuple(executions)))

    def with_warnings(self, plan: Plan) -> Plan:
        """The plan with what could not be compared."""
        return replace(plan, warnings=tuple(dict.fromkeys((*plan.warnings, *self.warnings))))


def check_adaptive(plan: Plan, options: Options, *, writes: bool) -> None:
    """Raises UsageError for options that exclude each other; ``writes``: the run adds to the store."""
    execute, of_base = options.execute, options.report.of_base
    arms = {arm.name for suite in plan.suites for arm in suite.arms}
    if (of_base or execute.repeat == "auto") and CONTROL_ARM in arms:
        raise UsageError(
            f"an arm is called {CONTROL_ARM}, which is the name of the sessions of the base commit",
            remedy="give it another name",
        )
    if execute.repeat != "auto":
        if execute.confirm != "auto":
            raise UsageError("--confirm without --repeat auto: it decides nothing", remedy=f"add {_AUTO}")
        return
    leave_out = "leave one of them out, or use a number for --repeat"
    if options.plan.shard[1] > 1:
        remedy = "use a number for --repeat, or --engine for several machines"
        raise UsageError(f"{_AUTO} with --shard: a part cannot decide for the whole run", remedy=remedy)
    if execute.maxfail is not None:
        raise UsageError(f"{_AUTO} with --maxfail: only one of them can end the run", remedy=leave_out)
    if execute.require != "all":
        raise UsageError(f"{_AUTO} with --require: the number of sessions depends on results", remedy=leave_out)
    if not (writes or options.gate.is_default or "regression" in options.gate.fail_on):
        raise UsageError(
            f"{_AUTO} without regression in fail-on: nothing would be decided", remedy="add the word regression"
        )


def decided_against(found: Adaptive | None, base: RunReport | None, options: Options) -> Adaptive | None:
    """How the run decided, with the baseline that the user named; None: with a fixed number of sessions."""
    return found and replace(found, against=identity_of(base) if base and options.report.baseline else "")


def is_held_against(report: RunReport, base: RunReport | None, options: Options) -> bool:
    """Whether no other baseline is named than that which the run had when it was held."""
    named = base if options.report.baseline else None
    return named is None or (report.adaptive is not None and report.adaptive.against == identity_of(named))


def judged_again(options: Options, results: Iterable[Result]) -> Adaptive | None:
    """How the run decided whose stored sessions ``results`` judge; undecided if they are judged otherwise now."""
    if options.execute.decided is None:
        return None
    from skillgym_action.results.stored_runs import outcomes_of

    found, outcomes = options.execute.decided
    if outcomes <= outcomes_of(results):
        return found
    return replace(found, check="undecided", why="its sessions are judged otherwise than when the run decided")


def base_beside(report: RunReport, options: Options, commit: str | None) -> RunReport | None:
    """The results of the base commit, if the head was run beside it from the start; else None.

    With ``repeat: auto``, no session of the base commit runs where nothing differs: its results are those of the head.
    """
    found = report.adaptive
    if not (found.mode == "side-by-side" if found else options.report.of_base):
        return None
    commit = found.control.commit if found and found.control else commit
    results = tuple(replace(one, arm=None) for one in report.other_arms if one.arm == CONTROL_ARM and one.attempts)
    if not results and found is None:
        return None
    id_ = f"{OF_BASE_COMMIT} {commit[:COMMIT_CHARACTERS]}" if commit else OF_BASE_COMMIT
    return replace(
        report, id=id_, commit=commit, results=results or report.results, other_arms=(), quarantined=(), adaptive=found
    )


def with_gate(options: Options, report: RunReport) -> Options:
    """The options; the default of ``fail-on`` follows the comparison where there is one.

    A single failed session of a pair that was looked at decides nothing, unless nothing passes at the base, or no model
    was asked. Failures of all other results count.
    """
    found, comparison = report.adaptive, report.comparison
    if found is None or not options.gate.is_default:
        return options
    if comparison is None and found.check not in (*RED, "undecided"):
        return options
    left: frozenset[int] = frozenset()
    judged = comparison.judged if comparison and comparison.adaptive else ()
    passes = any(pair.samples_before.passed for pair in judged)
    if passes and any(runner.agent.type not in ("nop", "replay") for runner in report.runners):
        left = frozenset(pair.after.index for pair in judged if any(one.phase for one in pair.after.attempts))
    return replace(options, gate=replace(options.gate, fail_on=DEFAULT_FAIL_ON | {"regression"}, left_to_check=left))
