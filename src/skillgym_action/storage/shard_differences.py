"""Shards that are not parts of one plan, since they were run with other filters or other numbers of repetitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from skillgym_action.reporters.wording import counted, listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from skillgym_action.model.run_report import RunReport
    from skillgym_action.model.shard_plan import WholePlan

PlanKey = tuple[frozenset[str], frozenset[str], int]


def plan_key(report: RunReport, shard: str) -> PlanKey:
    """What the shards of one run have in common: suites, runners and the number of shards."""
    suites = frozenset(suite.path for suite in report.suites)
    return suites, frozenset(runner.id for runner in report.runners), int(shard.partition("/")[2])


class ShardDifference(NamedTuple):
    """Shards whose plan differs from the plan of most shards. ``reason``: how, after "the plan of these shards"."""

    shards: tuple[str, ...]
    reason: str

    def __str__(self) -> str:
        return f"the plan of {'shard' if len(self.shards) == 1 else 'shards'} {listed(self.shards)} {self.reason}"


def shard_differences(reports: Iterable[RunReport]) -> Iterator[ShardDifference]:
    """Yield the shards whose plan is not that of most shards of the same suites and runners, or of the first.

    Shards of which it is not known, as in results of versions before 1.0, are not among them, nor are cancelled ones.
    """
    plans: dict[PlanKey, dict[WholePlan, list[str]]] = {}
    for report in reports:
        if report.shard and report.whole_plan and not report.cancelled:
            of_key = plans.setdefault(plan_key(report, report.shard), {})
            of_key.setdefault(report.whole_plan, []).append(report.shard)
    for (_, runners, _), found in plans.items():
        usual = max(found, key=lambda plan: len(found[plan]))
        whose = f" of {listed(sorted(runners))}" if len(plans) > 1 else ""
        for plan, shards in found.items():
            if plan != usual:
                differences = ", ".join(_differences(plan, usual))
                reason = f"differs from that of shard {found[usual][0]}{whose}: {differences}"
                yield ShardDifference(shards=tuple(dict.fromkeys(shards)), reason=reason)


def _differences(plan: WholePlan, usual: WholePlan) -> Iterator[str]:
    if plan.executions != usual.executions:
        yield f"{counted(plan.executions, 'execution')} instead of {usual.executions:,}"
    elif plan.digest != usual.digest:
        yield "other executions, or other numbers of repetitions of cases"
    for name, value, other in (
        ("repeat", plan.repeat, usual.repeat),
        ("require", plan.require, usual.require),
        ("retry", plan.retry, usual.retry),
    ):
        if value != other:
            yield f"{name} {value} instead of {other}"
