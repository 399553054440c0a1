"""Whether a planned run could be found to be worse than its baseline at all, were every session of it to fail.

Both tests of the gate are exact, given the number of passes of a pair in both runs together. If every planned session
failed, that number is the passes of the baseline, and no outcome is more extreme; so the p-values of that outcome are
the smallest that the plan can reach. Numbers of sessions are of judged ones; p-values are probabilities.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import comb, prod
from typing import TYPE_CHECKING

from skillgym_action.limits import MAX_ADVISED_REPETITIONS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SUITE_LEVEL = 0.01
CASE_LEVEL = 0.01
SMALLEST_DROP = 0.02  # mean over pairs; a smaller one is not relevant
_SCALE, _EXPONENT = 25, 1.5  # of the statistic of the suite test
_TOLERANCE = 1e-9


@dataclass(frozen=True, kw_only=True, slots=True)
class PlannedPair:
    """A case on a runner: ``passed`` of ``sessions`` in the baseline, and the number of ``planned`` sessions."""

    passed: int
    sessions: int
    planned: int


def can_show_regression(pairs: Sequence[PlannedPair]) -> bool:
    """Whether the suite test or a case test reaches its level if every planned session fails."""
    if not pairs:
        return False
    drop = sum(pair.passed / pair.sessions for pair in pairs) / len(pairs)
    return (drop >= SMALLEST_DROP and smallest_suite_p(pairs) <= SUITE_LEVEL) or smallest_case_p(pairs) <= CASE_LEVEL


def smallest_suite_p(pairs: Sequence[PlannedPair]) -> float:
    """The p-value of the suite test if every planned session fails: all pairs are at the maximum of the statistic."""
    return prod(map(_share_at_maximum, pairs))


def _share_at_maximum(pair: PlannedPair) -> float:
    """The probability of the largest value of the statistic of a pair; several outcomes may be rounded to it."""
    largest = _statistic(pair, 0)
    return sum(p for head, p in _outcomes(pair) if _statistic(pair, head) == largest)


def _statistic(pair: PlannedPair, head: int) -> int:
    drop = (pair.passed - head) / pair.sessions - head / pair.planned
    size = round(_SCALE * float(abs(drop) ** _EXPONENT))
    return size if drop > 0 else -size


def smallest_case_p(pairs: Sequence[PlannedPair]) -> float:
    """The smallest adjusted p-value of the case tests (step-down minimum p) if every planned session fails."""
    smallest = min((next(_outcomes(pair))[1] for pair in pairs), default=1.0)
    return 1.0 - prod(1.0 - _reachable(pair, smallest * (1 + _TOLERANCE)) for pair in pairs)


def _reachable(pair: PlannedPair, p: float) -> float:
    """The probability that the p-value of a pair is at most ``p``: its largest cumulative probability up to that."""
    total = reached = 0.0
    for _, probability in _outcomes(pair):
        total += probability
        if total > p:
            break
        reached = total
    return reached


def _outcomes(pair: PlannedPair) -> Iterator[tuple[int, float]]:
    """Number of passes in the planned sessions and its probability, from the fewest; hypergeometric."""
    passes = pair.passed
    ways = comb(pair.sessions + pair.planned, passes)
    for head in range(max(0, passes - pair.sessions), min(passes, pair.planned) + 1):
        yield head, comb(pair.sessions, passes - head) * comb(pair.planned, head) / ways


def repetitions_needed(pairs: Sequence[PlannedPair]) -> int | None:
    """The smallest number of sessions for every pair with which a regression can be shown; None: not a usual number."""
    for planned in range(1, MAX_ADVISED_REPETITIONS + 1):
        if can_show_regression([replace(pair, planned=planned) for pair in pairs]):
            return planned
    return None


def cases_needed(pairs: Sequence[PlannedPair]) -> int | None:
    """How many pairs like the best of ``pairs`` can show a regression; None: no usual number of them."""
    best = min(pairs, key=lambda pair: next(_outcomes(pair))[1])
    return next(
        (number for number in range(1, MAX_ADVISED_REPETITIONS + 1) if can_show_regression([best] * number)), None
    )
