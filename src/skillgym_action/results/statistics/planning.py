"""What a comparison of planned runs can show, and how many repetitions it takes.

Fractions of 1 are rates. Formulas are approximations within 15% of simulations, for drops with a power of 80%.
"""

from __future__ import annotations

from math import ceil, sqrt
from typing import TYPE_CHECKING

from skillgym_action.model.comparison import Samples, samples_of
from skillgym_action.model.errors import Problem
from skillgym_action.model.records import record
from skillgym_action.results.statistics.comparison import (
    MIN_RELEVANT_DROP,
    NOTHING_PASSED,
    could_show_regression,
)
from skillgym_action.results.statistics.exact_tests import SampledPair, case_p
from skillgym_action.results.statistics.rates import mean

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from skillgym_action.model.execution import Execution
    from skillgym_action.model.report import RunReport
    from skillgym_action.model.result import Result

    PlannedSessions = Sequence[tuple[Execution, int]]
    """Executions, and how many sessions each is planned to have."""

MAX_PLANNED_REPETITIONS = 100
MAX_PLANNED_CASES = 100
_FACTOR = 3.6  # from the standard error to the drop seen in 80% of comparisons, found by simulation
_LEAST = 0.8  # of the variance that a drop itself causes in cases that always passed, found by simulation, too
_START, _ROUNDS = 0.2, 50  # of the fixed-point iteration


@record
class Difficulty:
    """How cases pass: ``mean`` is their mean rate, ``icc`` (intraclass correlation) how much their rates differ.

    ``icc`` 0: all cases have the same rate; 1: each case always passes or always fails.
    """

    mean: float = 0.8
    icc: float = 0.3

    @classmethod
    def of(cls, cases: Sequence[Samples]) -> Difficulty:
        """Estimated from a baseline; the default correlation where no case has two sessions, or all are alike."""
        if not cases:
            return cls()
        average = mean([case.rate for case in cases])
        repeated = [case for case in cases if case.judged > 1]
        spread = average * (1 - average)
        if not repeated or spread <= 0:
            return cls(mean=average)
        within = mean([case.rate * (1 - case.rate) * case.judged / (case.judged - 1) for case in repeated])
        return cls(mean=average, icc=min(1.0, max(0.0, 1 - within / spread)))


def detectable_drop(cases: int, base: int, head: int, difficulty: Difficulty | None = None) -> float:
    """The drop of all rates that 4 of 5 comparisons show, with ``base`` and ``head`` sessions of each case."""
    known = difficulty or Difficulty()
    drop = min(_START, known.mean)
    for _ in range(_ROUNDS if known.mean else 0):
        drop = _FACTOR * sqrt(_variance(known, drop) * (1 / base + 1 / head) / cases)
        drop = min(max(drop, MIN_RELEVANT_DROP), known.mean)  # a smaller drop is never called a regression
    return drop


def _variance(known: Difficulty, drop: float) -> float:
    """The variance of a session within its case, at the rates in the middle of the drop.

    Cases that always passed and always failed have none in the baseline. If the rates of those that passed fall, their
    sessions differ all the same: without this bound, any drop would seem to be detectable.
    """
    middle = known.mean - drop / 2
    caused = drop / 2 * (1 - drop / (2 * known.mean))  # of cases that always passed, over all cases
    return max((1 - known.icc) * middle * (1 - middle), _LEAST * caused)


# --- can the plan decide at all? ----------------------------------------------------------------------


def can_decide(base: Sequence[Samples], repetitions: int) -> bool:
    """Whether a run of so many repetitions could be called a regression, if every session failed.

    ``base``: the baseline's samples of each pair that the run would judge again.
    """
    head = Samples(passed=0, judged=repetitions)
    return could_show_regression([SampledPair(case, head) for case in base if case.judged])


def repetitions_to_decide(base: Sequence[Samples]) -> int | None:
    """The least repetitions with which a run could be called a regression; None: not even 100 are enough."""
    return next((n for n in range(1, MAX_PLANNED_REPETITIONS + 1) if can_decide(base, n)), None)


def cases_to_decide(base: int, head: int) -> int | None:
    """The least number of cases that can decide with so many sessions each, if all passed before; None: over 100."""
    passed = Samples(passed=base, judged=base)
    numbers = range(1, MAX_PLANNED_CASES + 1)
    return next((n for n in numbers if can_decide([passed] * n, head)), None)


def planning_sentences(pairs: Sequence[SampledPair]) -> tuple[str, ...]:
    """What a plan of these pairs can show, in words; at least one. ``head``: as many sessions as are planned."""
    base, head = (min(samples.judged for samples in side) for side in zip(*pairs, strict=True))
    size = f"{len(pairs):,} {'case' if len(pairs) == 1 else 'cases'} x {head}"
    if not any(pair.base.passed for pair in pairs):
        return (f"{size}: no comparison can show a regression: {NOTHING_PASSED}",)
    if not could_show_regression(pairs):
        return (f"{size}: no comparison can show a regression, even if everything failed",)
    points = ceil(100 * detectable_drop(len(pairs), base, head, Difficulty.of([pair.base for pair in pairs])))
    alone = next(n for n in range(1, MAX_PLANNED_REPETITIONS + 1) if cases_to_decide(n, n) == 1)
    single = f"one case that breaks from all to nothing needs {alone} or more repetitions in both runs"
    return (f"{size}: drops of {points} points or more are seen in 4 of 5 comparisons", single)


def undecidable(planned: PlannedSessions, base: RunReport) -> Problem | None:
    """Why no regression against ``base`` could be shown, even if every session failed; None: it could.

    Where nothing passed in the baseline, nothing can get worse, which is not a problem of the plan.
    """
    pairs = list(_pairs(planned, base))
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
        remedy=_remedy(pairs),
    )


def detectable(planned: PlannedSessions, base: RunReport) -> tuple[str, ...]:
    """What a comparison of the plan with ``base`` can show, in words; nothing if no case is in both."""
    pairs = list(_pairs(planned, base))
    return planning_sentences(pairs) if pairs else ()


def _remedy(pairs: Sequence[SampledPair]) -> str:
    best = min(pairs, key=case_p)
    repetitions = repetitions_to_decide([pair.base for pair in pairs])
    cases = cases_to_decide(best.base.judged, best.head.judged)
    ways = [f"use --repeat {repetitions} or more"] if repetitions else []
    ways += [f"have {cases} or more cases that pass in the baseline"] if cases else []
    return ", or ".join([*ways, "make a baseline with more repetitions, or remove regression from fail-on"])


def _pairs(planned: PlannedSessions, base: RunReport) -> Iterator[SampledPair]:
    """Pairs with the samples of the baseline, and planned sessions of which none passes.

    Cases that are expected to fail, now or in the baseline, are in no comparison.
    """
    for execution, number, result in _matches(planned, base):
        if execution.case.expected_fail or result.expected_fail:
            continue
        samples = samples_of(result, base.sampled_repetitions)
        if samples.judged:
            yield SampledPair(samples, Samples(passed=0, judged=number))


def _matches(planned: PlannedSessions, base: RunReport) -> Iterator[tuple[Execution, int, Result]]:
    """Executions, their numbers of sessions, and their results in the baseline, if it has the same prompt for them."""
    results = {
        (result.suite.path, result.case_id, result.runner.id): result for result in base.results if result.runner
    }
    for execution, number in planned:
        found = results.get((execution.suite.path, execution.case.id, execution.runner.id))
        if found and found.prompt == execution.case.prompt:
            yield execution, number, found


@record
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
