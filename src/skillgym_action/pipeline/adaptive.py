"""How a run with ``repeat: auto``, or beside its base commit, decides: its mode, chosen before the first session."""

from __future__ import annotations

from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING

from skillgym_action.history.pooling import ENOUGH_POOLED_SESSIONS
from skillgym_action.model.adaptive import Control
from skillgym_action.model.comparison import Samples, samples_of
from skillgym_action.model.errors import Problem, UsageError
from skillgym_action.pipeline.beside import Beside
from skillgym_action.pipeline.control import (
    NOT_IN_CLONE,
    ControlSessions,
    base_commit,
    control_sessions,
    obstacle,
)
from skillgym_action.sessions.adaptive_run import AdaptiveRule
from skillgym_action.sessions.repetitions import planned_repetitions

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from skillgym_action.history.pooling import BaselineKey
    from skillgym_action.model.adaptive import Mode
    from skillgym_action.model.execution import Execution, Plan
    from skillgym_action.model.report import RunReport
    from skillgym_action.model.result import Result
    from skillgym_action.pipeline.stages.baseline import StoredBaseline
    from skillgym_action.services import Services
    from skillgym_action.settings.slices import Options

MIN_STORED_SAMPLES = 10  # median over pairs, with which a screen against the store tells enough
MIN_STORED_SHARE = 0.9  # of the pairs that have samples
STORING_REPETITIONS, LATER_REPETITIONS = 5, 2  # of runs that write to the store: until there are enough, and then


def beside(
    services: Services,
    plan: Plan,
    options: Options,
    base: RunReport | None,
    known: tuple[StoredBaseline | None, Mapping[int, BaselineKey]],
) -> tuple[Plan, Beside]:
    """The plan, and what decides beside it. Raises UsageError if what was asked for is not possible."""
    stored, wanted = known
    heads = tuple(one for one in plan.executions if _is_compared(one, options))
    samples = _samples(heads, base)
    if options.execute.repeat == "auto" and stored is not None and stored.writes:
        return _storing(plan, samples), Beside()
    if not heads:
        return plan, Beside()
    first_index = 1 + max((*(one.index for one in plan.executions), *(one.index for one in plan.unrunnable)))
    control = _control(services, heads, options, base, first_index)
    if isinstance(control, ControlSessions):
        lacking = tuple(map(_lacking, control.lacking))
        heads = tuple(one for one in heads if one.index in control.executions)
    else:
        lacking = ()
    if options.execute.repeat != "auto":
        if isinstance(control, str):
            raise UsageError(f"--baseline base: {control}", remedy="use another baseline")
        if not heads:
            raise UsageError(f"--baseline base: {lacking[0].message}", remedy="use another baseline")
        return plan, Beside(controls=tuple(control.executions.values()), commit=control.commit, warnings=lacking)
    if not heads:
        return plan, Beside(warnings=lacking)
    mode_and_why = _mode(heads, samples, control, options, _same_key(stored, heads, wanted))
    if mode_and_why is None:
        return plan, Beside(warnings=(_nothing(control),) if isinstance(control, str) else ())
    mode, why = mode_and_why
    found = _rule(plan, heads, samples, control, mode)
    return plan, replace(found, warnings=lacking, rule=found.rule and replace(found.rule, why=why))


def _rule(
    plan: Plan, heads: tuple[Execution, ...], samples: Mapping[int, Samples], control: ControlSessions | str, mode: Mode
) -> Beside:
    if mode != "side-by-side":
        heads = tuple(one for one in heads if one.index in samples)
    nothing = Samples(passed=0, judged=0)
    controls: tuple[Execution, ...] = ()
    if isinstance(control, ControlSessions) and mode != "stored":
        controls = tuple(control.executions[one.index] for one in heads)
    commit = control.commit if isinstance(control, ControlSessions) and mode != "stored" else None
    compared = {one.index for one in heads}
    others = tuple(one for one in plan.executions if one.index not in compared)
    arms = any(one.is_other_arm for one in others)
    rule = AdaptiveRule(
        mode=mode,
        why="",
        heads=heads,
        stored=tuple(samples.get(one.index, nothing) if mode != "side-by-side" else nothing for one in heads),
        controls=controls,
        control=Control(commit=commit) if commit else None,
        differs=not isinstance(control, ControlSessions) or control.differs,
        others=tuple(replace(one, repetitions=2) if one.is_other_arm else one for one in others),
        first_clears=not arms,
    )
    return Beside(controls=controls, rule=rule, commit=commit)


def _is_compared(one: Execution, options: Options) -> bool:
    """Whether an execution may be in a pair: those with a rule of their own for their sessions are in none."""
    own_rule = one.case.trigger or one.case.trials or one.case.averaged
    repetitions = planned_repetitions(one, options.execute)
    own_number = options.execute.repeat == "auto" and repetitions != 1
    return one.decides and not one.case.expected_fail and not own_rule and not own_number


def _samples(heads: Iterable[Execution], base: RunReport | None) -> dict[int, Samples]:
    """What the baseline has of the executions, by index; of those that are the same case there."""
    results: dict[tuple[str, str, str], Result] = {
        (one.suite.path, one.case_id, one.runner.id): one for one in (base.results if base else ()) if one.runner
    }
    found = {}
    for head in heads:
        result = results.get((head.suite.path, head.case.id, head.runner.id))
        if base and result and not result.expected_fail and result.prompt == head.case.prompt:
            samples = samples_of(result, base.sampled_repetitions)
            if samples.judged:
                found[head.index] = samples
    return found


def _same_key(
    stored: StoredBaseline | None, heads: Iterable[Execution], wanted: Mapping[int, BaselineKey]
) -> frozenset[int] | None:
    """The executions of which the store has samples with the same key; None: the baseline is no store."""
    if stored is None or stored.history is None or not stored.compares:
        return None
    of_name = stored.history.executions_by_name()
    found = ((one.index, wanted.get(one.index)) for one in heads)
    return frozenset(
        index for index, key in found if key and any(key.fits(entry.key) for entry in of_name.get(key.name, ()))
    )


def _control(
    services: Services, heads: tuple[Execution, ...], options: Options, base: RunReport | None, first_index: int
) -> ControlSessions | str:
    """The control, or why there is none. Raises UsageError if there is none, and it has to be."""
    wanted = options.report.of_base or options.execute.confirm == "always"
    why = obstacle(services, heads, options)
    if options.execute.confirm == "never":
        why = "`confirm: never`"
    elif services.event is None and not wanted and not options.report.baseline:
        why = "outside of GitHub the base commit runs only with `--confirm always` or `--baseline`"
    commit = None if why else base_commit(services, options, base)
    found: ControlSessions | str = why or NOT_IN_CLONE
    if commit and not why:
        found = control_sessions(services, heads, options, commit=commit, first_index=first_index)
    if isinstance(found, str) and wanted:
        option = "--baseline base" if options.report.of_base else "--confirm always"
        raise UsageError(f"{option}: {found}", remedy="fetch the base commit, or use another value")
    return found


def _mode(
    heads: tuple[Execution, ...],
    samples: Mapping[int, Samples],
    control: ControlSessions | str,
    options: Options,
    same_key: frozenset[int] | None,
) -> tuple[Mode, str] | None:
    """The mode and the reason for it; None: there is nothing to compare with."""
    if isinstance(control, str):
        return ("stored", control) if samples else None
    if options.report.of_base:
        return "side-by-side", ""
    fitting = {i: one.judged for i, one in samples.items() if same_key is None or i in same_key}
    numbers = [fitting.get(head.index, 0) for head in heads]
    enough = sum(map(bool, numbers)) >= MIN_STORED_SHARE * len(numbers)
    if enough and median(numbers) >= MIN_STORED_SAMPLES:
        return "screen", ""
    return "side-by-side", "too few stored results with the same inputs" if samples else "there are no stored results"


def _storing(plan: Plan, samples: Mapping[int, Samples]) -> Plan:
    """The plan of a run that writes to the store: enough sessions of each execution, however they end."""
    executions = []
    for one in plan.executions:
        stored = samples[one.index].judged if one.index in samples else 0
        number = LATER_REPETITIONS if stored >= ENOUGH_POOLED_SESSIONS else STORING_REPETITIONS
        own = one.repetitions is not None or one.case.trigger or one.case.trials
        executions.append(one if own else replace(one, repetitions=number))
    return replace(plan, executions=tuple(executions))


def _lacking(execution: Execution) -> Problem:
    message = f"{execution.title}: the base commit lacks its runner, template, skill or files, so it is not compared"
    return Problem(message=message, location=execution.case.location)


def _nothing(why: str) -> Problem:
    return Problem(
        message=f"repeat: auto: nothing was compared, since there are no stored results: {why}",
        remedy="store results of the base branch, or run with --baseline base",
    )
