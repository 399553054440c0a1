"""Stage: results -> run report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillgym_action import __version__
from skillgym_action.domain import RunReport
from skillgym_action.effects.clock import iso

if TYPE_CHECKING:
    from datetime import datetime

    from skillgym_action.domain import Result
    from skillgym_action.plan import Plan
    from skillgym_action.world import World


def run_report(
    world: World, plan: Plan, results: tuple[Result, ...], *, command: str, began: datetime, shard: str | None
) -> RunReport:
    """What is known of the run, before the gate has decided on it."""
    ended = world.clock.now()
    return RunReport(
        id=world.directory.path.name,
        version=__version__,
        command=command,
        started_at=iso(began),
        ended_at=iso(ended),
        duration_ms=round((ended - began).total_seconds() * 1000),
        results=results,
        suites=plan.suites,
        runners=plan.runners,
        warnings=tuple(warning for suite in plan.suites for warning in suite.warnings),
        cancelled=bool(world.cancelled),
        commit=world.repository.commit(),
        shard=shard,
    )
