"""The results file: rates with intervals, samples, the comparison with a baseline, the comparison of arms.

All of it is computed when a file is written, and none of it is believed when one is read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

from pydantic import Field

from skillgym_action.model.comparison import samples_of
from skillgym_action.results.mapping import COMMIT, Count, FieldSource, Id, MappedModel, Rate, Several, Text
from skillgym_action.results.statistics.comparison import difference
from skillgym_action.results.statistics.rates import MIN_CASES, population_rate, same_cases_rate

if TYPE_CHECKING:
    from skillgym_action.model.comparison import Comparison, Samples
    from skillgym_action.model.result import Result
    from skillgym_action.model.totals import Totals


class IntervalEntry(MappedModel):
    """An interval that has the true value with 95% confidence."""

    low: Rate
    high: Rate


class RateEntry(MappedModel):
    """What ``passRate`` is a mean over, and its 95% intervals (Wilson).

    ``cases``: those with judged sessions, ``unjudgedCases``: those without. ``casesLikeThese``: the interval for other
    cases of this kind, null below 5 cases; ``sameCases``: for the same cases if they were run again.
    """

    cases: Count
    unjudged_cases: Count
    sessions: Count
    cases_like_these: IntervalEntry | None
    same_cases: IntervalEntry


class SamplesEntry(MappedModel):
    """How many judged sessions of an execution passed; retries after a failure are no samples."""

    passed: Count
    judged: Count


class RegressionEntry(MappedModel):
    """The comparison with a baseline, not read again.

    Rates are means over ``pairs``, each a case on a runner; ``p`` is that of all pairs together. ``dropAtMost``: the
    upper bound of the drop, with 95% confidence. ``coverage``: the judged share of the sessions of the baseline's
    executions. ``newlyFailing`` and ``fixed`` are those that the tests name, ``changed`` those that may be chance.
    ``reused``: results of earlier runs, which are not compared.
    """

    base_id: Id
    base_commit: Annotated[str, Field(pattern=COMMIT)] | None = None
    verdict: Literal["regression", "inconclusive", "no-regression-shown"]
    reason: Text = ""
    pairs: Count
    before: Rate | None
    after: Rate | None
    p: Rate | None
    drop_at_most: Rate | None
    coverage: Rate
    newly_failing: Count
    fixed: Count
    changed: Count
    no_longer_judged: Count
    redefined: Count
    added: Count
    removed: Count
    reused: Count = 0
    differences: Several[Text] = ()


class _Interval(NamedTuple):
    low: float
    high: float


class _Rate(NamedTuple):
    cases: int
    unjudged_cases: int
    sessions: int
    cases_like_these: _Interval | None
    same_cases: _Interval


def rate_of(totals: Totals) -> _Rate | None:
    """The intervals of the pass rate; None when nothing was judged."""
    cases = totals.cases
    if not cases:
        return None
    others = _Interval(*population_rate(cases).interval) if len(cases) >= MIN_CASES else None
    sessions = sum(case.judged for case in cases)
    return _Rate(len(cases), totals.unjudged_cases, sessions, others, _Interval(*same_cases_rate(cases).interval))


def several_samples(result: Result) -> Samples | None:
    """The samples of an execution; None unless there are several."""
    samples = samples_of(result)
    return samples if samples.judged > 1 else None


class _Regression(NamedTuple):
    base_id: str
    base_commit: str | None
    verdict: str
    reason: str
    pairs: int
    before: float | None
    after: float | None
    p: float | None
    drop_at_most: float | None
    coverage: float
    newly_failing: int
    fixed: int
    changed: int
    no_longer_judged: int
    redefined: int
    added: int
    removed: int
    reused: int
    differences: tuple[str, ...]


def regression_of(found: Comparison) -> _Regression:
    """The comparison as the file has it."""
    rate = found.rate
    counted = ("newly_failing", "fixed", "changed", "no_longer_judged", "redefined", "added", "removed")
    return _Regression(
        base_id=found.base_id,
        base_commit=found.base_commit,
        verdict=found.verdict,
        reason=found.reason,
        pairs=rate.pairs if rate else 0,
        before=rate.before if rate else None,
        after=rate.after if rate else None,
        p=rate.p if rate else None,
        drop_at_most=rate.drop_at_most if rate else None,
        coverage=found.coverage.share,
        reused=found.reused,
        differences=tuple(map(difference, found.differences)),
        **{kind: len(getattr(found, kind)) for kind in counted},
    )


Points = Annotated[float, Field(ge=-100, le=100)]
Sum = Annotated[float, Field(ge=0, le=10**15)]


class PointsInterval(MappedModel):
    """An interval that has the true uplift with 95% confidence, in percentage points."""

    low: Points
    high: Points


class SpentEntry(MappedModel):
    """A sum over the compared cases in both arms, and the deciding one as a multiple of the other; null: unknown."""

    deciding: Sum | None
    other: Sum | None
    ratio: Sum | None


class ArmCaseEntry(MappedModel):
    """A case that was judged in both arms: the share of its assertions that hold, a mean over sessions."""

    case_id: Id
    deciding: Rate
    other: Rate


class ArmAssertionEntry(MappedModel):
    """An assertion of a case."""

    case_id: Id
    assertion: Text


class UpliftEntry(MappedModel):
    """The deciding arm of a suite compared with another one, on one runner.

    ``share`` and ``otherShare`` are means over ``cases``, those judged in both arms; ``points`` is their difference in
    percentage points. ``unjudged``: cases that were not judged in both, though they run in both; ``uncompared``: cases
    that do not run in the other arm. ``interval`` is null below 5 cases. ``fixed`` and ``newlyFailing``: cases that
    passed in one arm only. ``inBoth`` and ``inNone``: assertions that hold in all sessions, and in no session.

    It is computed when a file is written, and not read again.
    """

    suite: Text
    runner_id: Annotated[Id, FieldSource(attribute="runner")]
    arm: Id
    other: Id
    verdict: Literal["helps", "hurts", "no-difference-shown", "too-few-cases", "nothing-compared"]
    share: Rate | None
    other_share: Rate | None
    points: Points | None
    interval: Annotated[PointsInterval | None, FieldSource(convert=lambda found: _Interval(*found))]
    complete: Annotated[bool, FieldSource(attribute="is_complete")]
    fixed: Several[Id]
    newly_failing: Several[Id]
    cost_usd: SpentEntry
    tokens: SpentEntry
    duration_ms: SpentEntry
    cases: Several[ArmCaseEntry]
    unjudged: Several[Id]
    uncompared: Several[Id]
    in_both: Several[ArmAssertionEntry]
    in_none: Several[ArmAssertionEntry]
