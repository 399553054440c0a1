"""The results file: rates with their intervals, samples of executions, and the comparison with a baseline.

All of it is computed when a file is written, and none of it is believed when one is read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

from pydantic import Field

from skillgym_action.comparison.rates import MIN_CASES, population_rate, same_cases_rate
from skillgym_action.model.samples import samples_of
from skillgym_action.reporters.rate_wording import difference
from skillgym_action.storage.field_types import COMMIT, Count, Id, Rate, Several, Text
from skillgym_action.storage.mapping import MappedModel

if TYPE_CHECKING:
    from skillgym_action.model.comparison import Comparison
    from skillgym_action.model.result import Result
    from skillgym_action.model.samples import Samples
    from skillgym_action.model.totals import Totals


class IntervalEntry(MappedModel):
    """An interval that has the true value with 95 % confidence."""

    low: Rate
    high: Rate


class RateEntry(MappedModel):
    """What ``passRate`` is a mean over, and its 95 % intervals (Wilson).

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
    upper bound of the drop, with 95 % confidence. ``coverage``: the judged share of the sessions of the baseline's
    executions. ``newlyFailing`` and ``fixed`` are those that the tests name, ``changed`` those that may be chance.
    ``carried``: results of earlier runs, which are not compared.
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
    carried: Count = 0
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
    carried: int
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
        carried=found.carried,
        differences=tuple(map(difference, found.differences)),
        **{kind: len(getattr(found, kind)) for kind in counted},
    )
