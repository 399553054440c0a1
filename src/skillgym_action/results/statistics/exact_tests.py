"""Exact one-sided tests for pairs of a base and a head; and whether sessions of a case are flaky.

Under the null hypothesis no pair has changed: given how many sessions passed on both sides together, their number on
the head's side is hypergeometric. Both tests are exact for any rates of the cases and any numbers of sessions.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from enum import Enum
from functools import lru_cache
from itertools import accumulate, pairwise, repeat
from math import comb, copysign, gcd, prod
from operator import add, mul
from typing import TYPE_CHECKING, NamedTuple

from skillgym_action.model.comparison import MIN_FLAKY_SESSIONS, Samples

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


_GRADES = 25  # integers that a drop of one pair is mapped to
_POWER = 1.5  # a large drop of few pairs counts more than a small one of many
_NEGLIGIBLE = 1e-30  # probability of a sum that is left out at either end; millions of them change no digit
_EQUAL = 1 + 1e-9  # probabilities that differ by less are the same one, computed in another order


class SampledPair(NamedTuple):
    """One case on one runner: samples of the base and of the head, at least one each."""

    base: Samples
    head: Samples

    @property
    def drop(self) -> float:
        """How much lower the rate of the head is; negative for a rise."""
        return _drop(self.base.passed, self.base.judged, self.head.passed, self.head.judged)

    @property
    def exchanged(self) -> SampledPair:
        """The pair with base and head exchanged: a rise is a drop there."""
        return SampledPair(self.head, self.base)


class _Margins(NamedTuple):
    """What is given under the null hypothesis: passed sessions of both sides, and judged ones of each."""

    passed: int
    base: int
    head: int


class _Pair(NamedTuple):
    """A pair of given margins: outcomes by the number of the head's passed sessions, the lowest number first.

    ``grades`` of the drops, ``weights``: their probabilities, ``cumulative``: those of at most so many.
    """

    lowest: int
    grades: tuple[int, ...]
    weights: tuple[float, ...]
    cumulative: tuple[float, ...]


def _margins(pair: SampledPair) -> _Margins:
    return _Margins(pair.base.passed + pair.head.passed, pair.base.judged, pair.head.judged)


def _drop(base_passed: int, base: int, head_passed: int, head: int) -> float:
    return base_passed / base - head_passed / head


def _grade(drop: float) -> int:
    return int(copysign(round(_GRADES * abs(drop) ** _POWER), drop))


@lru_cache(maxsize=4096)
def _outcomes(margins: _Margins) -> _Pair:
    passed, base, head = margins
    possible = range(max(0, passed - base), min(head, passed) + 1)
    whole = comb(base + head, passed)
    count, reached = comb(base, passed - possible.start) * comb(head, possible.start), 0
    weights, cumulative = [], []
    for own in possible:  # each count from the one before: of thousands of sessions they have thousands of digits
        reached += count
        weights.append(count / whole)
        cumulative.append(reached / whole)
        count = count * (passed - own) * (head - own) // ((base - passed + own + 1) * (own + 1))
    return _Pair(
        lowest=possible.start,
        grades=tuple(_grade(_drop(passed - own, base, own, head)) for own in possible),
        weights=tuple(weights),
        cumulative=tuple(cumulative),
    )


# --- all pairs together -------------------------------------------------------------------------------


def suite_p(pairs: Sequence[SampledPair]) -> float:
    """The probability of drops as large as those observed, or larger, if nothing has changed.

    The statistic is the sum of the pairs' graded drops. With one session on each side this is McNemar's exact test.
    """
    observed = sum(_grade(pair.drop) for pair in pairs)
    outcomes = [found for found in (_outcomes(_margins(pair)) for pair in pairs) if len(found.grades) > 1]
    if not outcomes:
        return 1.0
    # The sum of two halves: half of the work of convolving all pairs one after the other.
    step = gcd(*(grade for pair in outcomes for grade in pair.grades)) or 1
    (low_a, first), (low_b, second) = (_sum_of(outcomes[start::2], step) for start in (0, 1))
    at_least = list(accumulate(reversed(second)))  # [k]: the probability of one of the k + 1 largest sums
    largest = low_b + len(second) - 1
    reached = 0.0
    for index, weight in enumerate(first):
        needed = largest - (observed // step - low_a - index)
        if needed >= 0:
            reached += weight * at_least[min(needed, len(at_least) - 1)]
    return min(1.0, reached)


def _sum_of(pairs: Iterable[_Pair], step: int) -> tuple[int, list[float]]:
    """The smallest sum of the pairs' grades, in steps, and the probabilities of it and of the following sums."""
    lowest, sums = 0, [1.0]
    for pair in pairs:
        least, most = min(pair.grades) // step, max(pair.grades) // step
        grown = [0.0] * (len(sums) + most - least)
        for grade, weight in zip(pair.grades, pair.weights, strict=True):
            start = grade // step - least
            end = start + len(sums)
            grown[start:end] = map(add, grown[start:end], map(mul, sums, repeat(weight)))
        first = next(index for index, weight in enumerate(grown) if weight >= _NEGLIGIBLE)
        while grown[-1] < _NEGLIGIBLE:
            grown.pop()
        lowest, sums = lowest + least + first, grown[first:]
    return lowest, sums


# --- each pair ----------------------------------------------------------------------------------------


def case_p(pair: SampledPair) -> float:
    """Fisher's exact test, one-sided: the probability that the head has so few passed sessions, or fewer."""
    outcomes = _outcomes(_margins(pair))
    return outcomes.cumulative[pair.head.passed - outcomes.lowest]


def adjusted_p(pairs: Sequence[SampledPair]) -> list[float]:
    """The pairs' p-values, adjusted for their number: exact step-down minP (Westfall and Young 1993).

    Pairs whose sessions are too few for a small p-value cost nothing (Tarone 1990).
    """
    own = [case_p(pair) for pair in pairs]
    order = sorted(range(len(pairs)), key=own.__getitem__)
    rest = Counter(_margins(pair) for pair in pairs)
    adjusted, highest = [1.0] * len(pairs), 0.0
    known: dict[float, float] = {}
    for index in order:
        # Among equal p-values the first has the largest set of rivals, hence the largest value.
        if own[index] not in known:
            highest = max(highest, 1 - _all_above(rest, own[index]))
            known[own[index]] = highest
        adjusted[index] = highest
        rest[_margins(pairs[index])] -= 1
    return adjusted


def _all_above(pairs: Counter[_Margins], p: float) -> float:
    """The probability that no pair has a p-value of at most ``p``, if nothing has changed."""
    return prod((1 - _reached(_outcomes(margins), p)) ** number for margins, number in pairs.items() if number)


def _reached(pair: _Pair, p: float) -> float:
    """The probability of a p-value of at most ``p``: the largest attainable one that is not larger."""
    found = bisect_right(pair.cumulative, p * _EQUAL)
    return min(1.0, pair.cumulative[found - 1]) if found else 0.0


def discoveries(p_values: Sequence[float], rate: float) -> frozenset[int]:
    """Indexes of the p-values that Benjamini and Hochberg (1995) take at this false discovery rate."""
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    taken = 0
    for number, index in enumerate(order, start=1):
        if p_values[index] <= number * rate / len(order):
            taken = number
    return frozenset(order[:taken])


MIN_FLAKY_RUNS = 3
MIN_FLAKY_CHANGES = 3  # between runs, of which none has both: what broke and was repaired has changed twice
CHANGED_P = 0.05


class Flakiness(Enum):
    """What the sessions of an execution show. STEADY: all passed, or all failed; FEW: too few sessions or runs."""

    STEADY = "steady"
    FEW = "few"
    CHANGED = "changed"
    FLAKY = "flaky"


def flakiness(runs: Sequence[Sequence[bool]]) -> Flakiness:
    """What the sessions of runs show: for each run, the oldest first, whether each of its sessions passed.

    FLAKY, if there are at least 5 sessions in at least 3 runs, and nothing speaks for a change at some time: passed and
    failed follow each other more than once, and in one and the same run or at least three times from run to run; both
    are among the newer half of the sessions; and Fisher's exact test does not tell the halves apart.

    A sample of one run is of one commit. Between runs the repository may have changed, also where everything that is
    known of the execution is equal, so that sessions of several runs may differ because it broke or was repaired.
    """
    runs = [run for run in runs if run]
    sessions = [passed for run in runs for passed in run]
    if len(set(sessions)) < 2:  # noqa: PLR2004 - passed and failed
        return Flakiness.STEADY
    if len(sessions) < MIN_FLAKY_SESSIONS or len(runs) < MIN_FLAKY_RUNS:
        return Flakiness.FEW
    older, newer = sessions[: len(sessions) // 2], sessions[len(sessions) // 2 :]
    halves = SampledPair(_samples(older), _samples(newer))
    if len(set(newer)) < 2 or min(case_p(halves), case_p(halves.exchanged)) <= CHANGED_P:  # noqa: PLR2004
        return Flakiness.CHANGED
    changes = _changes(sessions)
    mixed = any(len(set(run)) > 1 for run in runs)
    return Flakiness.FLAKY if changes > 1 and (mixed or changes >= MIN_FLAKY_CHANGES) else Flakiness.CHANGED


def _samples(sessions: Sequence[bool]) -> Samples:
    return Samples(passed=sum(sessions), judged=len(sessions))


def _changes(sessions: Sequence[bool]) -> int:
    return sum(before != after for before, after in pairwise(sessions))
