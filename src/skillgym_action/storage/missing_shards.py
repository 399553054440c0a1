"""Which shards of a run are missing, or are there and did not finish."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from skillgym_action.limits import COMMIT_CHARACTERS, MAX_SHARDS
from skillgym_action.model.errors import UsageError
from skillgym_action.model.shard_plan import key_of_result
from skillgym_action.reporters.wording import counted, listed

if TYPE_CHECKING:
    from skillgym_action.model.run_report import RunReport
    from skillgym_action.model.shard_plan import ShardPlan
    from skillgym_action.storage.merge import StoredReports

WHOLE = "1/1"
ABSENT = "is missing"
LACKS = "lacks"
OTHER_COMMIT = "is of commit"
OTHER_PLAN = "is of another plan"


def unfinished_shards(runs: StoredReports, plan: ShardPlan | None) -> dict[str, str]:
    """The shards that have to run again, such as ``3/64``, each with the reason; in the order of their numbers.

    Without a plan the runs say how many shards there are. Raises UsageError if they do not, or are of other plans.
    """
    total = len(plan.shards) if plan else _total(runs)
    reasons: dict[int, str] = {}
    for file, report in runs:
        shard = report.shard or WHOLE
        number, of = map(int, shard.split("/"))
        if of != total:
            what = f"shard {shard}" if report.shard else "a whole run"
            message = f"{file} is {what}, and not of {counted(total, 'shard')}"
            raise UsageError(message, remedy="name the runs of one plan")
        reasons.setdefault(number, "")
        if reason := _reason(report, plan, number):
            reasons[number] = reason
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


def _reason(report: RunReport, plan: ShardPlan | None, number: int) -> str:
    """Why a shard that is there has to run again; empty: it need not."""
    if report.cancelled:
        return "was cancelled"
    if report.incomplete:
        return report.incomplete[0]
    return _difference(report, plan, number) if plan else ""


def _difference(report: RunReport, plan: ShardPlan, number: int) -> str:
    """How a shard that finished differs from its plan; empty: it does not."""
    if plan.commit and report.commit and plan.commit != report.commit:
        ran, planned_for = report.commit[:COMMIT_CHARACTERS], plan.commit[:COMMIT_CHARACTERS]
        return f"{OTHER_COMMIT} {ran}, and the plan of {planned_for}"
    if report.plan_digest not in {None, plan.digest}:
        return OTHER_PLAN
    if report.unchanged:
        return ""
    there = set(map(key_of_result, report.all_results))
    planned = plan.shards[number - 1].executions
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
