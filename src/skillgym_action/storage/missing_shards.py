"""Which shards of a run are missing, or are there and did not finish."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from skillgym_action.limits import COMMIT_CHARACTERS, MAX_SHARDS
from skillgym_action.model.errors import Problem, UsageError
from skillgym_action.model.shard_plan import key_of_result
from skillgym_action.reporters.wording import counted, listed
from skillgym_action.storage.shard_differences import plan_key, shard_differences

if TYPE_CHECKING:
    from pathlib import Path

    from skillgym_action.model.run_report import RunReport
    from skillgym_action.model.shard_plan import ShardPlan
    from skillgym_action.storage.merge import StoredReports

WHOLE = "1/1"
ABSENT = "is missing"
LACKS = "lacks"
OTHER_COMMIT = "was run on commit"
OTHER_PLAN = "belongs to another plan"
DIFFERS = "its plan"  # differs from that of other shards


def current_runs(runs: StoredReports, plan: ShardPlan | None) -> StoredReports:
    """The runs that count: of each shard those that finished, or else the latest; the others become warnings.

    Raises UsageError for runs of another plan.
    """
    if plan:
        _require_shards(runs, len(plan.shards))
    of_shards: dict[object, list[int]] = {}
    for index, (_, report) in enumerate(runs):
        if report.shard:
            key = (report.shard, None if plan else plan_key(report, report.shard))
            of_shards.setdefault(key, []).append(index)
    unused: dict[int, str] = {}
    for indexes in of_shards.values():
        reasons = {index: _reason(runs[index][1], plan) for index in indexes}
        if all(reasons.values()):
            del reasons[max(indexes, key=lambda index: datetime.fromisoformat(runs[index][1].ended_at))]
        unused |= {index: reason for index, reason in reasons.items() if reason}
    if not unused:
        return runs
    (file, first), *others = (run for index, run in enumerate(runs) if index not in unused)
    warnings = (_not_used(*runs[index], reason) for index, reason in sorted(unused.items()))
    return ((file, replace(first, warnings=(*first.warnings, *warnings))), *others)


def _not_used(file: Path, report: RunReport, reason: str) -> Problem:
    return Problem(message=f"{file} is not used, since there is another run of shard {report.shard}: {reason}")


def _require_shards(runs: StoredReports, total: int) -> None:
    for file, report in runs:
        if int((report.shard or WHOLE).partition("/")[2]) != total:
            what = f"shard {report.shard}" if report.shard else "a whole run"
            message = f"{file} is {what}, and not of {counted(total, 'shard')}"
            raise UsageError(message, remedy="name the runs of one plan")


def unfinished_shards(runs: StoredReports, plan: ShardPlan | None) -> dict[str, str]:
    """The shards that have to run again, such as ``3/64``, each with the reason; in the order of their numbers.

    Without a plan the runs say how many shards there are. Raises UsageError if they do not, or are of other plans.
    """
    total = len(plan.shards) if plan else _total(runs)
    reasons: dict[int, str] = {}
    current = current_runs(runs, plan)
    for _, report in current:
        number = _number(report)
        reasons[number] = _reason(report, plan) or reasons.get(number, "")
    for difference in shard_differences(report for _, report in current):
        for number in (int(shard.partition("/")[0]) for shard in difference.shards):
            reasons[number] = reasons[number] or f"{DIFFERS} {difference.reason}"
    return {
        f"{number}/{total}": reasons.get(number, ABSENT)
        for number in range(1, total + 1)
        if reasons.get(number, ABSENT)
    }


def _total(runs: StoredReports) -> int:
    totals = {int((report.shard or WHOLE).partition("/")[2]) for _, report in runs}
    if len(totals) != 1:
        what = "there is no run" if not totals else f"the runs are of {counted(len(totals), 'plan')}"
        raise UsageError(
            f"{what}, so it is unknown which shards are missing", remedy="name the stored plan with --plan FILE"
        )
    total = totals.pop()
    if total > MAX_SHARDS:
        raise UsageError(f"{total:,} shards are more than a matrix can have, {MAX_SHARDS}", remedy="plan fewer shards")
    return total


def _number(report: RunReport) -> int:
    return int((report.shard or WHOLE).partition("/")[0])


def _reason(report: RunReport, plan: ShardPlan | None) -> str:
    """Why a shard that is there has to run again; empty: it need not."""
    if report.cancelled:
        return "was cancelled"
    if report.incomplete:
        return report.incomplete[0]
    return _difference(report, plan) if plan else ""


def _difference(report: RunReport, plan: ShardPlan) -> str:
    """How a shard that finished differs from its plan; empty: it does not."""
    if plan.commit and report.commit and plan.commit != report.commit:
        ran, planned_for = report.commit[:COMMIT_CHARACTERS], plan.commit[:COMMIT_CHARACTERS]
        return f"{OTHER_COMMIT} {ran}, but the plan is for {planned_for}"
    if report.plan_digest not in {None, plan.digest}:
        return OTHER_PLAN
    if report.unchanged:
        return ""
    there = set(map(key_of_result, report.all_results))
    planned = plan.shards[_number(report) - 1].executions
    left_out = report.selection.left_out if report.selection else 0
    if (lacking := sum(one.key not in there for one in planned)) > left_out:
        return f"{LACKS} {lacking - left_out:,} of its {counted(len(planned), 'execution')}"
    return ""


def with_missing_shards(runs: StoredReports, plan: ShardPlan) -> StoredReports:
    """The runs, of which the first one says how they differ from the plan. Raises UsageError.

    What a shard itself says to be incomplete is not said again.
    """
    found = unfinished_shards(runs, plan)
    absent = [shard for shard, reason in found.items() if reason == ABSENT]
    unusable = {
        shard: reason for shard, reason in found.items() if reason.startswith((LACKS, OTHER_COMMIT, OTHER_PLAN))
    }
    sentences = (
        *(
            [f"{'shard {} is' if len(absent) == 1 else 'shards {} are'} missing".format(listed(absent))]
            if absent
            else []
        ),
        *(f"shard {shard} {reason}" for shard, reason in unusable.items()),
    )
    (file, first), *others = runs
    first = replace(
        first,
        incomplete=(*first.incomplete, *sentences),
        missing_shards=tuple(dict.fromkeys((*first.missing_shards, *absent, *unusable))),
    )
    return ((file, first), *others)
