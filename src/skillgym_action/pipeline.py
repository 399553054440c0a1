"""The line: discover -> load -> plan -> equip -> execute -> report -> gate -> deliver.

Stored runs take the end of it: merge -> report -> gate -> deliver.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from skillgym_action.deliver import deliver
from skillgym_action.discover import discover
from skillgym_action.equip import equip
from skillgym_action.execute import execute
from skillgym_action.gate import gate
from skillgym_action.load import load
from skillgym_action.merge import merged
from skillgym_action.plan import Plan, plan
from skillgym_action.report import compared, run_report, told_again
from skillgym_action.runners import secrets_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from skillgym_action.domain import Runner, RunReport, Suite
    from skillgym_action.merge import StoredReports
    from skillgym_action.options import Options
    from skillgym_action.world import World


def loaded(world: World, options: Options) -> tuple[Suite, ...]:
    """The suites there are."""
    found = discover(world.repository, world.cwd, options.discover)
    return load(found, world.hosts, options.load)


def planned(world: World, runners: tuple[Runner, ...], options: Options) -> Plan:
    """What would run."""
    return plan(loaded(world, options), runners, options.plan)


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
    world.directory.redactor.learn(secrets_of(todo.runners))
    world.workspaces.hide(path for suite in todo.suites for path in (suite.path, *suite.hidden))
    todo = equip(world, todo, options.equip)
    results = execute(world, todo, options.execute)
    part, parts = options.plan.shard
    shard = f"{part}/{parts}" if parts > 1 else None
    report = run_report(world, todo, results, command=command, began=began, shard=shard)
    return _delivered(world, compared(report, base, options.report), options, show)


def report(world: World, runs: StoredReports, options: Options, *, show: Callable[[RunReport], None]) -> RunReport:
    """Stored runs as one, shown and delivered like a run; no agent is started."""
    base = _baseline(world, options)
    report = told_again(world, merged(runs, world.directory.path.name))
    return _delivered(world, compared(report, base, options.report), options, show)


def _baseline(world: World, options: Options) -> RunReport | None:
    """Read before anything is spent: one that cannot be used is a mistake of the user's."""
    if options.report.baseline is None:
        return None
    from skillgym_action.stored import baseline

    return baseline(options.report.baseline, world.cwd)


def _delivered(world: World, report: RunReport, options: Options, show: Callable[[RunReport], None]) -> RunReport:
    report = replace(report, decision=gate(report, options.gate))
    show(report)
    deliver(world.directory, report, options.deliver, world.observer, world.conversation)
    return report
