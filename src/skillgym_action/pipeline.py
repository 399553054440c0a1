"""The line: discover -> load -> plan -> execute -> report -> gate -> deliver."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from skillgym_action.deliver import deliver
from skillgym_action.discover import discover
from skillgym_action.execute import execute
from skillgym_action.gate import gate
from skillgym_action.load import load
from skillgym_action.plan import Plan, plan
from skillgym_action.report import run_report

if TYPE_CHECKING:
    from collections.abc import Callable

    from skillgym_action.domain import Runner, RunReport
    from skillgym_action.options import Options
    from skillgym_action.world import World


def planned(world: World, runners: tuple[Runner, ...], options: Options) -> Plan:
    """What would run."""
    found = discover(world.repository, world.cwd, options.discover)
    suites = load(found, world.hosts, options.load)
    return plan(suites, runners, options.plan)


def run(
    world: World,
    runners: tuple[Runner, ...],
    options: Options,
    *,
    command: str,
    show: Callable[[RunReport], None],
    say: Callable[[str], None],
) -> RunReport:
    """Run it, show it to whoever watches, and deliver it. ``say`` prints a line for machines."""
    began = world.clock.now()
    todo = planned(world, runners, options)
    world.workspaces.hide(suite.path for suite in todo.suites)
    results = execute(world, todo, options.execute)
    part, parts = options.plan.shard
    shard = f"{part}/{parts}" if parts > 1 else None
    report = run_report(world, todo, results, command=command, began=began, shard=shard)
    report = replace(report, decision=gate(report, options.gate))
    show(report)
    deliver(world.directory, report, options.deliver, say)
    return report
