"""The line: discover -> load -> plan -> equip -> execute -> report -> gate -> deliver.

Stored runs take the end of it: merge -> report -> gate -> deliver.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from skillgym_action.errors import UsageError
from skillgym_action.runners import secrets_of
from skillgym_action.runs.journal import Beginning, Journal, digest, settings_of
from skillgym_action.stages.discover import discover
from skillgym_action.stages.equip import equip
from skillgym_action.stages.load import load
from skillgym_action.stages.plan import Plan, plan

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from skillgym_action.domain import Runner, RunReport, Suite
    from skillgym_action.options import Options
    from skillgym_action.runs.merge import StoredReports
    from skillgym_action.world import World


def loaded(world: World, options: Options) -> tuple[Suite, ...]:
    """The suites there are."""
    found = discover(world.repository, world.cwd, options.discover)
    return load(found, world.hosts, options.load)


def planned(world: World, runners: tuple[Runner, ...], options: Options) -> Plan:
    """What would run."""
    suites = loaded(world, options)
    try:
        return plan(suites, runners, options.plan)
    except UsageError:
        if not world.cancelled:
            raise
        return Plan(suites=suites, runners=runners, executions=(), unrunnable=())  # a suite that has it was cut off


def run(
    world: World,
    runners: tuple[Runner, ...],
    options: Options,
    *,
    command: str,
    show: Callable[[RunReport], None],
) -> RunReport:
    """Run it, show it to whoever watches, and deliver it."""
    began = world.clock.now()
    base = _baseline(world, options)
    todo = planned(world, runners, options)
    cut_off = ("the run was cancelled before all suites were loaded",) if world.cancelled else ()
    world.directory.redactor.learn(secrets_of(todo.runners))
    world.workspaces.hide(path for suite in todo.suites for path in (suite.path, *suite.hidden))
    if world.strangers:
        with suppress(InterruptedError):  # then nothing is started
            world.workspaces.hide(world.strangers.among(world.repository.files(world.repository.root)))
    journal = _journal(world, todo, options, began, command)
    todo = equip(world, todo, options.equip)
    from skillgym_action.stages.execute import execute  # here, since `list` and `check` execute nothing
    from skillgym_action.stages.report import compared, run_report

    results = execute(world, todo, options.execute, journal)
    world.hosts.close()  # reports need the memory, and no suite
    part, parts = options.plan.shard
    shard = f"{part}/{parts}" if parts > 1 else None
    with world.workspaces.discarded():
        report = run_report(world, todo, results, journal, command=command, shard=shard)
        report = replace(report, incomplete=(*report.incomplete, *cut_off))
        return _delivered(world, compared(report, base, options.report), options, show)


def report(world: World, runs: StoredReports, options: Options, *, show: Callable[[RunReport], None]) -> RunReport:
    """Stored runs as one, shown and delivered like a run; no agent is started."""
    from skillgym_action.runs.merge import merged
    from skillgym_action.stages.report import compared, told_again

    base = _baseline(world, options)
    report = told_again(world, merged(runs, world.directory.path.name))
    return _delivered(world, compared(report, base, options.report), options, show)


def _journal(world: World, todo: Plan, options: Options, began: datetime, command: str) -> Journal:
    """Begun, or taken up where an earlier start of this run left it."""
    settings = settings_of(options.execute, timeout=options.plan.timeout)
    now = Beginning(began=began, command=command, commit=world.repository.commit(), settings=settings)
    journal = Journal(began=began, digests={one.index: digest(one, world.repository.root) for one in todo.executions})
    if options.execute.resume:
        if world.cancelled:
            raise KeyboardInterrupt  # half a plan does not fit, and all that was there stays
        from skillgym_action.stages.resume import resumed

        return resumed(world, todo, journal, now)
    world.directory.begin(now.line())
    return journal


def _baseline(world: World, options: Options) -> RunReport | None:
    """Read before anything is spent: one that cannot be used is a mistake of the user's."""
    if options.report.baseline is None:
        return None
    from skillgym_action.runs.stored import baseline

    return baseline(options.report.baseline, world.cwd)


def _delivered(world: World, report: RunReport, options: Options, show: Callable[[RunReport], None]) -> RunReport:
    from skillgym_action.stages.deliver import deliver
    from skillgym_action.stages.gate import gate

    def decided(report: RunReport) -> RunReport:
        return replace(report, decision=gate(report, options.gate))

    def as_it_ended(report: RunReport) -> RunReport:
        """A run can be cancelled as long as it is reported."""
        return decided(replace(report, cancelled=True)) if world.cancelled and not report.cancelled else report

    report = decided(report)
    show(report)
    return deliver(world.directory, report, options.deliver, world.observer, world.conversation, as_it_ended)
