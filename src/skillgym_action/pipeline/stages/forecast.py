"""Stage: what a plan will cost and how long it will take, from the runs in the store; whether ``max-cost`` allows it.

Nothing is treated as zero because it is unknown: totals are those of what is known, and the rest is counted.
"""

from __future__ import annotations

from collections import defaultdict
from math import fsum
from typing import TYPE_CHECKING

from skillgym_action.history.costs import StoredCosts, stored_costs
from skillgym_action.model.errors import UsageError
from skillgym_action.model.forecast import Expected, ExpectedExecution, Forecast
from skillgym_action.reports.wording.plan import cost_in_words
from skillgym_action.results.statistics.prediction import StoredFigure, least_wall_time, predicted, wall_time
from skillgym_action.sessions.repetitions import MIN_TRIGGER_RUNS
from skillgym_action.sessions.serial_groups import interleaved_serial_groups
from skillgym_action.text.words import money

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from skillgym_action.history.pooling import BaselineKey
    from skillgym_action.history.reading import BaseHistory
    from skillgym_action.model.execution import Execution, Plan
    from skillgym_action.settings.settings import ExecuteOptions

_ROUNDING = 1e-6  # relative, of sums


def forecast(
    plan: Plan,
    planned: Sequence[tuple[Execution, int]],
    stored: tuple[str, BaseHistory, Mapping[int, BaselineKey]],
    options: ExecuteOptions,
    *,
    one_user: bool = False,
) -> Forecast:
    """What the sessions of ``planned`` will take: executions that will run, each with its number of repetitions.

    ``stored``: what the store is called, what it has, and the keys of the plan by index.
    ``one_user``: agents run as one configured user.
    """
    source, history, wanted = stored
    costs = stored_costs(history, wanted, (execution for execution, _ in planned))
    executions = tuple(_expected(one, number, costs[one.index], options) for one, number in planned)
    usd = [_known(one, costs[one.execution.index], usd=True) for one in executions if one.usd is not None]
    ms = [_known(one, costs[one.execution.index], usd=False) for one in executions if one.ms is not None]
    groups = [
        tuple(execution.index for execution in group)
        for group in interleaved_serial_groups(plan, options, one_user=one_user)
    ]
    known_ms = {one.index: one.sessions * one.mean for one in ms}
    return Forecast(
        source=source,
        executions=executions,
        usd=Expected(
            total=_capped(executions, {one.index: one.sessions * one.mean for one in usd}),
            interval=predicted(usd, lambda totals: _capped(executions, totals)),
            unknown=tuple(one.execution for one in executions if one.usd is None),
        ),
        ms=Expected(
            total=wall_time(_sums(groups, known_ms), options.jobs),
            interval=predicted(ms, lambda totals: wall_time(_sums(groups, totals), options.jobs)),
            unknown=tuple(one.execution for one in executions if one.ms is None),
        ),
        least_ms=least_wall_time(_sums(groups, known_ms), options.jobs),
        jobs=options.jobs,
        least_share=_least_share(executions, options),
        ends_early=options.maxfail is not None or any(_least_sessions(one) < one.planned for one in executions),
    )


def refuse_beyond_budget(found: Forecast, options: ExecuteOptions, spent: float = 0.0) -> str | None:
    """What to say about a run that ``max-cost`` will probably end; None: nothing.

    ``spent``: US dollars of the sessions before a resumption. Raises UsageError if the run costs more to 97.5%, and
    ``allow-partial`` is not set.
    """
    if options.max_cost is None or not found.executions:
        return None
    left = options.max_cost - spent
    limit = f"max-cost of {money(options.max_cost)}" + (f", of which {money(spent)} is spent" if spent else "")
    above = left + _ROUNDING * options.max_cost
    if found.least_usd is not None and found.least_usd > above and not options.allow_partial:
        raise UsageError(
            f"the run is expected to cost more than the {limit}, according to the runs in {found.source}: "
            f"{cost_in_words(found)}; no session was started",
            remedy="raise max-cost, lower repeat, select fewer cases, or set allow-partial to run what max-cost pays",
        )
    if found.usd.total > above:
        return f"the run will probably reach the {limit} before its plan is done: {cost_in_words(found)}"
    if found.usd.unknown and not found.knows_nothing:
        silent = sorted({one.runner.id for one in found.usd.unknown if _has_run(found, one)})
        if silent:
            return (
                f"stored sessions on {', '.join(silent)} have no cost: with max-cost the run ends after the first "
                "session whose cost is unknown; set prices in the configuration, or remove max-cost"
            )
    return None


def _has_run(found: Forecast, execution: Execution) -> bool:
    return any(one.runs for one in found.executions if one.execution.index == execution.index)


def _expected(execution: Execution, planned: int, stored: StoredCosts, options: ExecuteOptions) -> ExpectedExecution:
    """What an execution will take; a repetition that ends red is retried as often as allowed."""
    retries = 0 if execution.case.trigger else max(options.retry, execution.case.retries)
    red = stored.red_share
    sessions = planned * fsum(red**tried for tried in range(retries + 1))
    usd = [run.usd for run in stored.runs if run.usd is not None]
    ms = [run.ms for run in stored.runs]
    return ExpectedExecution(
        execution=execution,
        planned=planned,
        sessions=sessions,
        usd=fsum(usd) / len(usd) if usd else None,
        ms=fsum(ms) / len(ms) if ms else None,
        runs=len(stored.runs),
        same_key=stored.same_key,
    )


def _known(expected: ExpectedExecution, stored: StoredCosts, *, usd: bool) -> StoredFigure:
    values = {run.group: run.usd if usd else float(run.ms) for run in stored.runs}
    known = {group: value for group, value in values.items() if value is not None}
    sizes = [run.sessions for run in stored.runs if run.group in known]
    return StoredFigure(
        index=expected.execution.index,
        sessions=expected.sessions,
        stored_sessions=sum(sizes) / len(sizes),
        mean=fsum(known.values()) / len(known),
        of_run=known,
    )


def _sums(groups: Sequence[Sequence[int]], totals: Mapping[int, float]) -> list[float]:
    return [fsum(totals.get(index, 0.0) for index in group) for group in groups]


def _capped(executions: Sequence[ExpectedExecution], totals: Mapping[int, float]) -> float:
    """The sum of costs; a suite with a budget costs no more than that, on each runner."""
    of_suite: dict[tuple[str, str], list[float]] = defaultdict(list)
    budgets: dict[tuple[str, str], float | None] = {}
    for one in executions:
        key = one.execution.suite.path, one.execution.runner.id
        budgets[key] = one.execution.suite.budget
        of_suite[key].append(totals.get(one.execution.index, 0.0))
    sums = ((fsum(costs), budgets[key]) for key, costs in of_suite.items())
    return fsum(cost if budget is None else min(cost, budget) for cost, budget in sums)


def _least_share(executions: Sequence[ExpectedExecution], options: ExecuteOptions) -> float:
    """The share of the expected cost that the run has also where it ends as early as it may.

    Executions that were stored with another key may cost anything.
    """
    if options.maxfail is not None:
        return 0.0
    whole = fsum(one.total_usd or 0.0 for one in executions)
    least = fsum((one.usd or 0.0) * _least_sessions(one) for one in executions if one.same_key)
    return min(1.0, least / whole) if whole else 1.0


def _least_sessions(one: ExpectedExecution) -> float:
    case = one.execution.case
    if case.trigger:
        return min(MIN_TRIGGER_RUNS, one.planned)
    if case.trials and case.trials.cost_limit is not None:
        return min(1, one.planned)
    return one.sessions
