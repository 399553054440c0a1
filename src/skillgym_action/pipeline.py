"""The line: discover -> load -> plan -> equip -> execute -> report -> gate -> deliver.

Stored runs take the end of it: merge -> report -> gate -> deliver.
"""

from __future__ import annotations

from contextlib import nullcontext, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from skillgym_action.effects.suite_digests import suite_digest
from skillgym_action.errors import Problem, UsageError
from skillgym_action.runners import secrets_of
from skillgym_action.runs.journal import Beginning, Journal, digest, settings_of
from skillgym_action.stages.discover import discover
from skillgym_action.stages.equip import equip
from skillgym_action.stages.load import digests, load
from skillgym_action.stages.plan import Plan, plan
from skillgym_action.wording import CHECK_OUT

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
    suites = load(found, world.hosts, options.load, world.repository.checkout)
    return tuple(replace(suite, digest=suite_digest(suite, world.repository)) for suite in suites)


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
    world.workspaces.empty_trash()
    report = run_report(world, todo, results, journal, command=command, shard=shard)
    report = replace(report, incomplete=(*report.incomplete, *cut_off))
    return _delivered(world, compared(report, base, options.report), options, show)


def report(world: World, runs: StoredReports, options: Options, *, show: Callable[[RunReport], None]) -> RunReport:
    """Stored runs as one, shown and delivered like a run; no agent is started."""
    from skillgym_action.stages.report import compared, told_again

    base = _baseline(world, options)
    report = told_again(world, _compared_with_checkout(world, runs, options))
    return _delivered(world, compared(report, base, options.report), options, show)


def _compared_with_checkout(world: World, runs: StoredReports, options: Options) -> RunReport:
    """The runs as one, with their suites compared with those that git tracks in the checkout, if that is wanted.

    Each run is compared before they are merged: two shards may have different versions of a suite.
    """
    from skillgym_action.runs.changed_suites import completed, marked
    from skillgym_action.runs.merge import merged

    name, wanted = world.directory.path.name, options.report.suites
    if wanted is None or (not world.repository.tracked and wanted.without_checkout == "nothing"):
        return merged(runs, name)
    if not world.repository.tracked:
        if wanted.without_checkout == "changed":
            return merged([(file, marked(run, None)) for file, run in runs], name)
        report = merged(runs, name)
        problem = Problem(message="the suites were compared with nothing", remedy=CHECK_OUT)
        return replace(report, warnings=(*report.warnings, problem))
    found = discover(world.repository, world.cwd, options.discover)
    tracked = world.repository.committed_files()
    suites = digests((one for one in found if one.path in tracked), world.hosts, options.load)
    base = {suite.path: suite_digest(suite, world.repository) for suite in suites}
    report = merged([(file, marked(run, base)) for file, run in runs], name)
    return completed(report, base if wanted.all_expected else ())


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
    to = replace(options.deliver, templates=world.templates)
    with world.templates.stage() if world.templates else nullcontext():
        return deliver(world.directory, report, to, world.observer, world.conversation, as_it_ended)
