"""What a comparison of planned runs can show, how many repetitions it takes, and which sessions are worth running.

Fractions of 1 are rates. Formulas are approximations within 15 % of simulations, for drops with a power of 80 %.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, sqrt
from typing import TYPE_CHECKING

from skillgym_action.comparison.exact_tests import SampledPair, case_p, suite_p
from skillgym_action.comparison.rates import mean
from skillgym_action.comparison.verdict import LEVEL, MIN_RELEVANT_DROP, NOTHING_PASSED, could_show_regression
from skillgym_action.model.samples import Samples

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_PLANNED_REPETITIONS = 100
MAX_PLANNED_CASES = 100
_FACTOR = 3.6  # from the standard error to the drop seen in 80 % of comparisons, found by simulation
_LEAST = 0.8  # of the variance that a drop itself causes in cases that always passed, found by simulation, too
_START, _ROUNDS = 0.2, 50  # of the fixed-point iteration
_FUTILE = 0.2  # suite test of the first stage, above which only suspicious pairs are continued
_FIRST_STAGE = 0.3  # share of the repetitions


@dataclass(frozen=True, kw_only=True, slots=True)
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


# --- stopping for futility ----------------------------------------------------------------------------


def first_stage(repetitions: int) -> int:
    """How many of the planned repetitions are run before anything is decided; all of them if that saves nothing."""
    return ceil(_FIRST_STAGE * repetitions)


def pairs_to_continue(pairs: Sequence[SampledPair], repetitions: int) -> frozenset[int]:
    """Indexes of the pairs that need all ``repetitions``, after the first stage: all, the suspicious ones, or none.

    A pair is suspicious if a session of its failed, and it alone could still be called a regression. Valid since
    only a complete comparison is ever called a regression: see ``must_complete`` for what follows.
    """
    if suite_p(pairs) <= _FUTILE:
        return frozenset(range(len(pairs)))
    return frozenset(index for index, pair in enumerate(pairs) if _is_suspicious(pair, repetitions))


def must_complete(pairs: Sequence[SampledPair]) -> bool:
    """Whether, of the suspicious pairs after all of their repetitions, one is so bad that all pairs have to be run."""
    return any(case_p(pair) <= LEVEL for pair in pairs)


def _is_suspicious(pair: SampledPair, repetitions: int) -> bool:
    if pair.head.passed == pair.head.judged:
        return False
    worst = Samples(passed=pair.head.passed, judged=max(repetitions, pair.head.judged))
    return case_p(SampledPair(pair.base, worst)) <= LEVEL
