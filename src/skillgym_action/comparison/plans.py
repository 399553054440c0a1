"""A plan beside its baseline, before anything runs: whether a regression could be shown, and what it will cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillgym_action.comparison.exact_tests import SampledPair, case_p
from skillgym_action.comparison.planning import (
    cases_to_decide,
    planning_sentences,
    repetitions_to_decide,
)
from skillgym_action.comparison.verdict import could_show_regression
from skillgym_action.model.errors import Problem
from skillgym_action.model.samples import Samples, samples_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from skillgym_action.model.execution import Execution
    from skillgym_action.model.result import Result
    from skillgym_action.model.run_report import RunReport

    PlannedSessions = Sequence[tuple[Execution, int]]
    """Executions, and how many sessions each is planned to have."""


def undecidable(planned: PlannedSessions, base: RunReport, *, stop_early: bool) -> Problem | None:
    """Why no regression against ``base`` could be shown, even if every session failed; None: it could.

    With ``stop_early`` only first sessions are compared. Where nothing passed in the baseline, nothing can get worse,
    which is not a problem of the plan.
    """
    pairs = list(_pairs(planned, base, first_only=stop_early or base.stopped_early))
    if not pairs:
        return Problem(
            message="no regression could be shown: no case of this plan was judged in the baseline, on the same "
            "runner, with the same prompt and without being expected to fail",
            remedy="name a baseline with the same cases, or remove regression from fail-on",
        )
    if not any(pair.base.passed for pair in pairs) or could_show_regression(pairs):
        return None
    sessions, passed = sum(pair.head.judged for pair in pairs), sum(pair.base.passed > 0 for pair in pairs)
    each = "1 session each" if sessions == len(pairs) else f"{sessions:,} sessions in all"
    return Problem(
        message=f"no regression could be shown: even if all planned sessions failed, that could be chance "
        f"({_counted(len(pairs), 'execution')} to compare, of which {passed} passed in the baseline, with {each})",
        remedy=_remedy(pairs, stop_early=stop_early),
    )


def detectable(planned: PlannedSessions, base: RunReport, *, stop_early: bool) -> tuple[str, ...]:
    """What a comparison of the plan with ``base`` can show, in words; nothing if no case is in both."""
    pairs = list(_pairs(planned, base, first_only=stop_early or base.stopped_early))
    return planning_sentences(pairs) if pairs else ()


def _remedy(pairs: Sequence[SampledPair], *, stop_early: bool) -> str:
    best = min(pairs, key=case_p)
    repetitions = repetitions_to_decide([pair.base for pair in pairs])
    cases = cases_to_decide(best.base.judged, best.head.judged)
    ways = [f"use --repeat {repetitions} or more"] if repetitions and not stop_early else []
    ways += [f"have {cases} or more cases that pass in the baseline"] if cases else []
    ways += ["leave --stop-early out"] if stop_early else []
    return ", or ".join([*ways, "make a baseline with more repetitions, or remove regression from fail-on"])


def _pairs(planned: PlannedSessions, base: RunReport, *, first_only: bool) -> Iterator[SampledPair]:
    """Pairs with the samples of the baseline, and planned sessions of which none passes.

    Cases that are expected to fail, now or in the baseline, are in no comparison.
    """
    for execution, number, result in _matches(planned, base):
        if execution.case.expected_fail or result.expected_fail:
            continue
        samples = samples_of(result, 1 if first_only else base.sampled_repetitions)
        if samples.judged:
            yield SampledPair(samples, Samples(passed=0, judged=1 if first_only else number))


def _matches(planned: PlannedSessions, base: RunReport) -> Iterator[tuple[Execution, int, Result]]:
    """Executions, their numbers of sessions, and their results in the baseline, if it has the same prompt for them."""
    results = {
        (result.suite.path, result.case_id, result.runner.id): result for result in base.results if result.runner
    }
    for execution, number in planned:
        found = results.get((execution.suite.path, execution.case.id, execution.runner.id))
        if found and found.prompt == execution.case.prompt:
            yield execution, number, found


@dataclass(frozen=True, kw_only=True, slots=True)
class ExpectedCost:
    """What a plan will cost in US dollars, if its sessions cost what they did in the baseline.

    ``unknown``: executions whose cost is not known there.
    """

    usd: float
    unknown: tuple[Execution, ...]


def expected_cost(planned: PlannedSessions, base: RunReport) -> ExpectedCost:
    """The sum of the mean costs of a session in the baseline, times the planned number of sessions."""
    known = {
        execution.index: number * result.cost.usd / len(result.attempts)
        for execution, number, result in _matches(planned, base)
        if result.attempts and result.cost.usd is not None
    }
    return ExpectedCost(
        usd=sum(known.values()), unknown=tuple(execution for execution, _ in planned if execution.index not in known)
    )


def _counted(number: int, one: str) -> str:
    return f"{number:,} {one}{'' if number == 1 else 's'}"
