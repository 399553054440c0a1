"""Totals: counts, cost, tokens and time over several results."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING

from skillgym_action.model.comparison import is_flaky, samples_by_case
from skillgym_action.model.records import record
from skillgym_action.model.session_report import Usage
from skillgym_action.model.verdicts import GREEN, JUDGED, Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from skillgym_action.model.comparison import Samples
    from skillgym_action.model.result import Result

_TOKENS = ("input_tokens", "output_tokens", "reasoning_tokens", "cache_tokens", "total_tokens")


@record
class Totals:
    """Sums over results. Cost, tokens, time and retries also count the executions of arms that do not decide.

    ``cost_usd``: sum of the known costs, None if none is known; ``cost_complete``: whether all costs are known.
    ``retries``: sessions beyond the first of a repetition. ``cases``: the samples of each case, those of all runners
    together, at least one each; ``unjudged_cases`` is the number of those without any. Cases that are expected to fail
    are in neither, and counted in ``expected_to_fail``. ``flaky``: executions whose sessions differ, see ``is_flaky``.
    """

    executions: int
    counts: Counter[Status]
    cost_usd: float | None
    cost_complete: bool
    tokens: Usage
    retries: int
    duration_ms: int
    cases: tuple[Samples, ...] = ()
    unjudged_cases: int = 0
    expected_to_fail: int = 0
    flaky: int = 0

    @property
    def judged(self) -> int:
        """The number of executions with a verdict, which errored and skipped ones have not."""
        return sum(self.counts[status] for status in JUDGED)

    @property
    def green(self) -> int:
        """The number of executions that passed or failed as expected."""
        return sum(self.counts[status] for status in GREEN)

    @property
    def pass_rate(self) -> float | None:
        """The mean over cases of the share of their sessions that passed, from 0 to 1; None when nothing was judged."""
        if not self.cases:
            return None
        # Exactly, and rounded once: a sum of rounded shares can be below the rate that was demanded and reached.
        passed: Counter[int] = Counter()
        for case in self.cases:
            passed[case.judged] += case.passed
        return float(sum(Fraction(number, judged) for judged, number in passed.items()) / len(self.cases))


@record
class ArmSpending:
    """What all executions of an arm took. ``duration_ms``: of all of their ``sessions``; ``tokens``: as in ``Totals``.

    ``cost_usd``: sum of the known costs, None if none is known; ``cost_complete``: whether all costs are known.
    """

    arm: str
    executions: int
    sessions: int
    cost_usd: float | None
    cost_complete: bool
    tokens: Usage
    duration_ms: int


def spending_of_arm(arm: str, results: Sequence[Result]) -> ArmSpending:
    """What the executions of an arm took."""
    sums = totals((), others=results)
    attempts = [attempt for result in results for attempt in result.attempts]
    return ArmSpending(
        arm=arm,
        executions=len(results),
        sessions=len(attempts),
        cost_usd=sums.cost_usd,
        cost_complete=sums.cost_complete,
        tokens=sums.tokens,
        duration_ms=sum(attempt.duration_ms for attempt in attempts),
    )


def totals(results: Iterable[Result], repetitions: int | None = None, others: Iterable[Result] = ()) -> Totals:
    """The totals of ``results``; rates of their first ``repetitions`` only, unless that is None.

    ``others``: results of other arms and in quarantine, of which only what they took counts.
    """
    results = tuple(results)
    counts = Counter([result.judgement.status for result in results])
    known: list[float] = []
    usages: list[Usage] = []
    complete, retries, duration = True, 0, 0
    for result in chain(results, others):
        duration += result.duration_ms
        usages.append(result.usage)
        for attempt in result.attempts:
            if attempt.session > 1:
                retries += 1
        if (usd := result.cost.usd) is not None:
            known.append(usd)
        elif result.attempts:
            complete = False
    samples = samples_by_case(results, repetitions).values()
    judged = tuple(case for case in samples if case.judged)
    return Totals(
        executions=counts.total(),
        counts=counts,
        cost_usd=sum(known) if known else None,
        cost_complete=complete,
        tokens=_sum_of_tokens(usages),
        retries=retries,
        duration_ms=duration,
        cases=judged,
        unjudged_cases=len(samples) - len(judged),
        expected_to_fail=sum(result.expected_fail for result in results),
        flaky=sum(is_flaky(result, repetitions) for result in results),
    )


def _sum_of_tokens(usages: list[Usage]) -> Usage:
    """The known tokens; None for those that are known of no execution."""
    sums = {}
    for name in _TOKENS:  # one after the other: all columns of a large run at once take as much memory as its sessions
        if values := [value for value in map(attrgetter(name), usages) if value is not None]:
            sums[name] = sum(values)
    return Usage(**sums)
