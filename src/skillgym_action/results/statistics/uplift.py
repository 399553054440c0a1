"""The uplift of an arm over another one: a mean over cases, with a bootstrap interval.

The case is the unit: of each case the share of assertions that hold, averaged over its sessions, in the deciding arm
minus that in the other one. The interval is for the mean over cases like these: percentiles of the means of resampled
cases, further apart for few cases as Student's t is wider than the normal distribution (Hesterberg 2015, section 5.3).
"""

from __future__ import annotations

from math import atan, cos, floor, fsum, pi, sqrt
from random import Random
from statistics import NormalDist
from typing import TYPE_CHECKING

from skillgym_action.model.adaptive import CONTROL_ARM
from skillgym_action.model.arm_cases import outcomes_compared
from skillgym_action.model.uplift import ArmAssertion, ArmCase, Spent, Uplift
from skillgym_action.model.verdicts import GREEN, JUDGED, Status
from skillgym_action.results.statistics.rates import MIN_CASES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from skillgym_action.model.report import RunReport
    from skillgym_action.model.result import Attempt, Result
    from skillgym_action.model.uplift import UpliftVerdict

RESAMPLES = 10_000
SEED = 17  # fixed, so that the same results always give the same interval
CONFIDENCE = 0.95
_FAILED = frozenset({Status.FAILED, Status.UNEXPECTED_PASSED})
_ROUNDING = 1e-9


def uplifts(report: RunReport) -> tuple[Uplift, ...]:
    """One for each suite, runner and arm that is compared, in the order of the plan."""
    deciding = {_key(result): result for result in report.results if result.arm}
    groups: dict[tuple[str, str, str], list[Result]] = {}
    for result in report.other_arms:
        if result.runner and result.arm not in (None, CONTROL_ARM) and not result.quarantine:
            groups.setdefault((result.suite.path, result.runner.id, result.arm), []).append(result)
    return tuple(_uplift(others, deciding) for others in groups.values())


def _key(result: Result) -> tuple[str, str, str]:
    return result.suite.path, result.case_id, result.runner.id if result.runner else ""


def _uplift(others: Sequence[Result], deciding: dict[tuple[str, str, str], Result]) -> Uplift:
    first = others[0]
    pairs = [(deciding[_key(other)], other) for other in others if _key(other) in deciding]
    shares = [(result, other, found) for result, other in pairs if (found := _shares(result, other))]
    judged = [(result, other) for result, other, _ in shares]
    cases = tuple(ArmCase(case_id=result.case_id, deciding=one, other=two) for result, _, (one, two) in shares)
    run_in_both = {_key(other) for other in others}
    own = [result for key, result in deciding.items() if (key[0], key[2]) == (_key(first)[0], _key(first)[2])]
    differences = [100 * (case.deciding - case.other) for case in cases]
    found = interval(differences)
    in_both, in_none = _uninformative(judged)
    return Uplift(
        suite=first.suite.path,
        suite_name=first.suite.name,
        runner=first.runner.id if first.runner else "",
        arm=next((result.arm or "" for result in own), ""),
        other=first.arm or "",
        verdict=_verdict(differences, found),
        cases=cases,
        unjudged=tuple(other.case_id for other in others if other.case_id not in {case.case_id for case in cases}),
        uncompared=tuple(result.case_id for result in own if _key(result) not in run_in_both),
        interval=found,
        fixed=tuple(a.case_id for a, b in judged if a.status in GREEN and b.status in _FAILED),
        newly_failing=tuple(a.case_id for a, b in judged if a.status in _FAILED and b.status in GREEN),
        cost_usd=_spent((a.cost.usd, b.cost.usd) for a, b in judged),
        tokens=_spent((a.usage.total_tokens, b.usage.total_tokens) for a, b in judged),
        duration_ms=_spent((a.duration_ms, b.duration_ms) for a, b in judged),
        in_both=tuple(in_both),
        in_none=tuple(in_none),
    )


def _verdict(differences: Sequence[float], found: tuple[float, float] | None) -> UpliftVerdict:
    if not differences:
        return "nothing-compared"
    if found is None:
        return "too-few-cases"
    low, high = found
    return "helps" if low > _ROUNDING else "hurts" if high < -_ROUNDING else "no-difference-shown"


def _spent(pairs: Iterable[tuple[float | None, float | None]]) -> Spent:
    both = list(zip(*pairs, strict=True)) or [(None,), (None,)]
    sums = [None if None in column else fsum(value for value in column if value is not None) for column in both]
    return Spent(deciding=sums[0], other=sums[1])


# --- sessions ---------------------------------------------------------------------------------------


def _samples(result: Result) -> list[tuple[bool | None, ...]]:
    """Of each repetition's first judged session, which assertions hold. A retry is no sample."""
    first: dict[int, Attempt] = {}
    for attempt in result.attempts:
        if attempt.status in JUDGED and attempt.held:
            first.setdefault(attempt.repetition, attempt)
    return [attempt.held for attempt in first.values()]


def _shares(result: Result, other: Result) -> tuple[float, float] | None:
    """Of each of two arms, the mean share of assertions that hold; None if nothing was evaluated in both.

    An assertion that no session of one arm could evaluate counts in neither: the arms would be compared by different
    ones.
    """
    own, others = _samples(result), _samples(other)
    if len({len(held) for held in (*own, *others)}) > 1:
        return None
    rates = [
        (one, two)
        for one, two in zip(map(_rate, zip(*own, strict=True)), map(_rate, zip(*others, strict=True)), strict=False)
        if one is not None and two is not None
    ]
    if not rates:
        return None
    deciding, compared_with = zip(*rates, strict=True)
    return fsum(deciding) / len(rates), fsum(compared_with) / len(rates)


def _rate(answers: Iterable[bool | None]) -> float | None:
    """The share of sessions in which an assertion holds, of those that could evaluate it; None if none could."""
    known = [one for one in answers if one is not None]
    return sum(known) / len(known) if known else None


def _uninformative(pairs: Sequence[tuple[Result, Result]]) -> tuple[list[ArmAssertion], list[ArmAssertion]]:
    """The assertions that hold in all sessions of both arms, and those that hold in none."""
    in_both, in_none = [], []
    for result, other in pairs:
        names = [outcome.assertion for outcome in outcomes_compared(result.judgement.outcomes)]
        for name, answers in _by_assertion(names, [*_samples(result), *_samples(other)]):
            if all(answers):
                in_both.append(ArmAssertion(case_id=result.case_id, assertion=name))
            elif not any(answers):
                in_none.append(ArmAssertion(case_id=result.case_id, assertion=name))
    return in_both, in_none


def _by_assertion(
    names: Sequence[str], sessions: Sequence[Sequence[bool | None]]
) -> Iterator[tuple[str, list[bool | None]]]:
    """What the sessions say about each assertion that all of them evaluated; nothing if they have not the same ones."""
    if not sessions or any(len(held) != len(names) for held in sessions):
        return
    for number, name in enumerate(names):
        answers = [held[number] for held in sessions]
        if None not in answers:
            yield name, answers


# --- the interval -----------------------------------------------------------------------------------


def interval(differences: Sequence[float], resamples: int = RESAMPLES) -> tuple[float, float] | None:
    """The 95% interval of the mean of one difference per case, in the same unit; None below ``MIN_CASES``."""
    number = len(differences)
    if number < MIN_CASES:
        return None
    random = Random(SEED)  # noqa: S311 - resampling
    means = sorted(fsum(random.choices(differences, k=number)) / number for _ in range(resamples))
    tail = tail_probability(number)
    rank = floor(tail * resamples)
    return means[rank], means[-1 - rank]


def tail_probability(number: int) -> float:
    """The share of resampled means outside of the interval, on each side, for so many cases."""
    deviate = student_t((1 + CONFIDENCE) / 2, number - 1) * sqrt(number / (number - 1))
    return NormalDist().cdf(-deviate)


def student_t(probability: float, freedom: int) -> float:
    """The quantile of Student's t distribution above 0.5 for a whole number of degrees of freedom, by bisection."""
    low, high = 0.0, 1000.0
    for _ in range(80):
        middle = (low + high) / 2
        if _student_cdf(middle, freedom) < probability:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _student_cdf(t: float, freedom: int) -> float:
    """P(T <= t) for t >= 0; Abramowitz and Stegun 26.7.3 and 26.7.4."""
    angle = atan(t / sqrt(freedom))
    cosine, sine = cos(angle), t / sqrt(freedom + t * t)
    if freedom == 1:
        return 0.5 + angle / pi
    term = cosine if freedom % 2 else 1.0
    total = term
    for step in range(3 if freedom % 2 else 2, freedom - 1, 2):
        term *= (step - 1) / step * cosine * cosine
        total += term
    inside = (2 / pi) * (angle + sine * total) if freedom % 2 else sine * total
    return 0.5 + inside / 2
