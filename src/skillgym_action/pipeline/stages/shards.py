"""Stage: plan and recorded times -> a stored plan of shards; plan and stored plan -> the plan of one shard."""

from __future__ import annotations

from dataclasses import replace
from math import fsum
from statistics import fmean, median
from typing import TYPE_CHECKING

from skillgym_action.model.errors import UsageError
from skillgym_action.model.limits import MAX_SHARDS
from skillgym_action.model.records import record
from skillgym_action.model.shard_plan import PlannedExecution, PlannedShard, ShardPlan, key_of, key_of_result
from skillgym_action.model.verdicts import JUDGED
from skillgym_action.model.version import __version__
from skillgym_action.results.statistics.prediction import balanced, balanced_for, wall_seconds
from skillgym_action.sessions.repetitions import planned_repetitions
from skillgym_action.sessions.serial_groups import indivisible_serial_groups
from skillgym_action.text.words import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from skillgym_action.model.execution import Execution, Key, Plan
    from skillgym_action.model.forecast import Forecast
    from skillgym_action.model.report import RunReport
    from skillgym_action.settings.settings import ExecuteOptions

MAX_PLAN_DIFFERENCES = 5  # of each kind, between a stored plan and a checkout, that a message names
UNKNOWN_SHARE = 1 / 4  # of its time limit: what an execution is expected to take where no time at all is recorded
MIN_COST_SHARE = 1 / 10  # of the mean expected cost: with no part of the budget, a shard could start no session


@record
class Recorded:
    """What a repetition of an execution took: seconds, and US dollars; None: unknown."""

    seconds: float
    usd: float | None = None


@record
class ShardRequest:
    """How many ``shards`` to make; None: as many as keep ``target``, in seconds. ``commit``: of the checkout.

    ``source``: where the recorded times are from.
    """

    shards: int | None
    target: float
    commit: str | None = None
    source: str | None = None


def recorded_in_runs(plan: Plan, reports: Iterable[RunReport]) -> dict[int, Recorded]:
    """What repetitions of the executions of a plan took in stored runs, in the mean, by index.

    Results that could not be judged do not count: they may have ended at once.
    """
    found: dict[Key, list[Recorded]] = {}
    for result in (result for report in reports for result in report.all_results):
        key, repetitions = key_of_result(result), len({attempt.repetition for attempt in result.attempts})
        if key and repetitions and result.status in JUDGED:
            seconds = sum(attempt.duration_ms for attempt in result.attempts) / 1000 / repetitions
            usd = None if result.cost.usd is None else result.cost.usd / repetitions
            found.setdefault(key, []).append(Recorded(seconds=seconds, usd=usd))
    return {one.index: _mean(found[key]) for one in plan.executions if (key := key_of(one)) in found}


def _mean(recorded: Sequence[Recorded]) -> Recorded:
    costs = [one.usd for one in recorded if one.usd is not None]
    return Recorded(seconds=fmean(one.seconds for one in recorded), usd=fmean(costs) if costs else None)


def recorded_in_store(found: Forecast) -> dict[int, Recorded]:
    """What repetitions of the executions of a plan are expected to take by the store, retries included, by index."""
    return {
        one.execution.index: Recorded(
            seconds=one.total_ms / 1000 / one.planned,
            usd=None if one.total_usd is None else one.total_usd / one.planned,
        )
        for one in found.executions
        if one.total_ms is not None and one.planned
    }


def plan_shards(
    plan: Plan,
    recorded: Mapping[int, Recorded],
    request: ShardRequest,
    options: ExecuteOptions,
    digest_of: Callable[[Execution], str],
) -> ShardPlan:
    """The executions of a plan in shards of about the same expected time.

    ``recorded``: by index. What has to run in the same job stays together: cases that depend on each other, executions
    that share a workspace, and the arms of a case. A case without a recorded time gets the median of its suite.
    Executions that no change touches take no time.
    """
    seconds = _expected(plan, {index: one.seconds for index, one in recorded.items()}, options, _share_of_limit)
    costs = {index: one.usd for index, one in recorded.items() if one.usd is not None}
    usd = _at_least(MIN_COST_SHARE, _expected(plan, costs, options, lambda _: 0.0)) if costs else {}
    groups = indivisible_serial_groups(plan)
    weights = [fsum(seconds[one.index] for one in group) for group in groups]
    if request.shards is None:
        found = balanced_for(weights, options.jobs, request.target, MAX_SHARDS)
    else:
        found = balanced(weights, max(1, min(request.shards, len(groups))))
    shards = [sorted((one for index in part for one in groups[index]), key=lambda one: one.index) for part in found]
    whole = fsum(usd.values())
    return ShardPlan(
        version=__version__,
        commit=request.commit,
        jobs=options.jobs,
        target=request.target if request.shards is None else None,
        source=request.source,
        known=sum(one.index in recorded for one in plan.executions),
        shards=tuple(
            PlannedShard(
                shard=f"{number}/{len(found)}",
                seconds=round(wall_seconds([weights[index] for index in found[number - 1]], options.jobs), 3),
                cost_share=fsum(usd[one.index] for one in executions) / whole if whole else 1 / len(found),
                executions=tuple(_planned(one, seconds[one.index], digest_of(one)) for one in executions),
            )
            for number, executions in enumerate(shards, start=1)
        ),
    )


def _planned(execution: Execution, seconds: float, digest: str) -> PlannedExecution:
    suite, case, runner, arm = key_of(execution)
    return PlannedExecution(suite=suite, case=case, runner=runner, arm=arm, digest=digest, seconds=round(seconds, 3))


def _expected(
    plan: Plan, recorded: Mapping[int, float], options: ExecuteOptions, default: Callable[[Execution], float]
) -> dict[int, float]:
    """What each execution takes with all its repetitions: recorded, else the median of its suite, else of all."""
    of_suite: dict[str, list[float]] = {}
    for execution in plan.executions:
        if execution.index in recorded:
            of_suite.setdefault(execution.suite.path, []).append(recorded[execution.index])
    medians = {path: median(values) for path, values in of_suite.items()}
    overall = median([value for values in of_suite.values() for value in values]) if of_suite else None
    selected = plan.selection.selected if plan.selection else None

    def expected(execution: Execution) -> float:
        if selected is not None and execution.index not in selected:
            return 0.0
        known = recorded.get(execution.index, medians.get(execution.suite.path, overall))
        return (default(execution) if known is None else known) * planned_repetitions(execution, options)

    return {execution.index: expected(execution) for execution in plan.executions}


def _at_least(share: float, values: Mapping[int, float]) -> dict[int, float]:
    """The values, of which none is smaller than this share of their mean."""
    smallest = share * fmean(values.values())
    return {index: max(value, smallest) for index, value in values.items()}


def _share_of_limit(execution: Execution) -> float:
    return execution.timeout * UNKNOWN_SHARE


# --- the plan of one shard --------------------------------------------------------------------------------


def in_shard(plan: Plan, stored: ShardPlan, shard: tuple[int, int], digest_of: Callable[[Execution], str]) -> Plan:
    """The executions that a stored plan has for a shard; invalid cases and suites are in the first one.

    Raises UsageError if the stored plan is not one of all executions of ``plan``.
    """
    number, total = shard
    if total != len(stored.shards):
        raise UsageError(
            f"shard {number}/{total}: the stored plan has {counted(len(stored.shards), 'shard')}",
            remedy="use the matrix that was printed when the plan was written",
        )
    digests = {one.key: one.digest for part in stored.shards for one in part.executions}
    keys = {execution.index: key_of(execution) for execution in plan.executions}
    new = [
        f"{execution.suite.path} {execution.title}"
        for execution in plan.executions
        if keys[execution.index] not in digests
    ]
    there = set(keys.values())
    gone = [str(one) for part in stored.shards for one in part.executions if one.key not in there]
    other = [
        f"{execution.suite.path} {execution.title}"
        for execution in plan.executions
        if digests.get(keys[execution.index], "") not in ("", digest_of(execution))
    ]
    differences = [
        *_named(other, "differs from the plan", "differ from the plan"),
        *_named(gone, "of the plan is not in this checkout", "of the plan are not in this checkout"),
        *_named(new, "is not in the plan", "are not in the plan"),
    ]
    if differences:
        raise UsageError(
            f"the stored plan is not one of this checkout: {'; '.join(differences)}",
            remedy="plan and run the same commit with the same configuration, suites, filters, runners and model",
        )
    own: set[Key] = {one.key for one in stored.shards[number - 1].executions}
    return replace(
        plan,
        executions=tuple(execution for execution in plan.executions if keys[execution.index] in own),
        unrunnable=plan.unrunnable if number == 1 else (),
        shards_digest=stored.digest,
    )


def _named(names: Sequence[str], one: str, many: str) -> Iterable[str]:
    if not names:
        return
    shown = ", ".join(names[:MAX_PLAN_DIFFERENCES])
    more = f" and {len(names) - MAX_PLAN_DIFFERENCES:,} more" if len(names) > MAX_PLAN_DIFFERENCES else ""
    yield f"{counted(len(names), 'case')} {one if len(names) == 1 else many} ({shown}{more})"
