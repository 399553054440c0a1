"""The verdict on pairs of a base and a head: regression, inconclusive, or no regression shown.

Levels are fixed: 1 % for all pairs together and 1 % for single pairs, so at most 2 % of comparisons without any change
are called a regression.
"""

from __future__ import annotations

from math import hypot, prod
from typing import TYPE_CHECKING

from skillgym_action.comparison.exact_tests import SampledPair, adjusted_p, case_p, discoveries, suite_p
from skillgym_action.comparison.rates import ONE_SIDED, mean, same_cases_rate
from skillgym_action.model.comparison import RateChange
from skillgym_action.model.samples import Samples

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skillgym_action.model.comparison import Coverage, RegressionVerdict

LEVEL = 0.01
MIN_RELEVANT_DROP = 0.02  # share; a smaller mean drop is no regression, even if it is significant
FALSE_DISCOVERIES = 0.05  # share of the named pairs
MIN_COVERAGE = 0.9
MIN_COMPARED = 0.5  # share of the base's pairs that are still the same case
_ROUNDING = 1e-12
TOO_FEW = "too few sessions: even if everything failed now, that could be chance"
NOTHING_PASSED = "nothing passed in the baseline, so nothing could get worse"
STOPPED_TOO_SOON = "the sessions look worse, but the run was stopped for futility before this could be tested: run all"
NO_PAIRS = "no case was judged both in the baseline and now"


def has_dropped(pairs: Sequence[SampledPair]) -> bool:
    """Whether the head is worse beyond chance: all pairs together, or a single one."""
    if not pairs:
        return False
    dropped = mean([pair.drop for pair in pairs]) >= MIN_RELEVANT_DROP - _ROUNDING
    return (dropped and suite_p(pairs) <= LEVEL) or min(adjusted_p(pairs)) <= LEVEL


def is_significant(rate: RateChange) -> bool:
    """Whether the drop over all pairs together is beyond chance, and large enough to be relevant."""
    return rate.p <= LEVEL and rate.drop >= MIN_RELEVANT_DROP - _ROUNDING


def named(pairs: Sequence[SampledPair]) -> frozenset[int]:
    """Indexes of the pairs that are worse for sure enough to be named. Meant for pairs that ``has_dropped``."""
    alone = {index for index, p in enumerate(adjusted_p(pairs)) if p <= LEVEL}
    return frozenset(alone) | discoveries([case_p(pair) for pair in pairs], FALSE_DISCOVERIES)


def rate_change(pairs: Sequence[SampledPair]) -> RateChange:
    """The rates of both sides, and what the pairs prove about their difference; at least one pair.

    The largest drop that is not excluded: Newcombe (1998), over the intervals of the same cases.
    """
    before, after = (same_cases_rate(side, ONE_SIDED) for side in zip(*pairs, strict=True))
    spread = hypot(before.interval[1] - before.rate, after.rate - after.interval[0])
    return RateChange(
        pairs=len(pairs),
        before=before.rate,
        after=after.rate,
        p=suite_p(pairs),
        drop_at_most=min(1.0, max(0.0, before.rate - after.rate + spread)),
    )


def could_show_regression(pairs: Sequence[SampledPair]) -> bool:
    """Whether the sessions are enough for a verdict: whether it were a regression if all of the head's failed."""
    failed = [SampledPair(base, Samples(passed=0, judged=head.judged)) for base, head in pairs]
    if not failed:
        return False
    return prod(map(case_p, failed)) <= LEVEL or min(adjusted_p(failed)) <= LEVEL


def verdict_on(pairs: Sequence[SampledPair], coverage: Coverage) -> tuple[RegressionVerdict, str]:
    """The verdict and its reason in words; the reason is empty for a regression and where nothing is left to say."""
    if has_dropped(pairs):
        return "regression", ""
    if not pairs:
        return "inconclusive", NO_PAIRS
    if reason := _lost_evidence(coverage):
        return "inconclusive", reason
    if not any(pair.base.passed for pair in pairs):
        return "no-regression-shown", NOTHING_PASSED
    if not could_show_regression(pairs):
        return "inconclusive", TOO_FEW
    return "no-regression-shown", ""


def verdict_if_stopped(pairs: Sequence[SampledPair], coverage: Coverage) -> tuple[RegressionVerdict, str]:
    """The verdict and its reason on a run that was stopped for futility: never a regression.

    ``pairs`` have all sessions that were run. They look worse only if the run has a part that was not stopped, such as
    another job's, or in rare cases by chance.
    """
    if not pairs:
        return "inconclusive", NO_PAIRS
    if reason := _lost_evidence(coverage):
        return "inconclusive", reason
    if has_dropped(pairs):
        return "inconclusive", STOPPED_TOO_SOON
    return "no-regression-shown", "" if any(pair.base.passed for pair in pairs) else NOTHING_PASSED


def _lost_evidence(coverage: Coverage) -> str:
    if coverage.share < MIN_COVERAGE:
        return (
            f"only {coverage.judged:,} of {coverage.planned:,} sessions of the baseline's cases were judged, "
            f"less than {MIN_COVERAGE:.0%}"
        )
    if coverage.compared < MIN_COMPARED * coverage.base_pairs:
        return (
            f"only {coverage.compared:,} of the {coverage.base_pairs:,} cases of the baseline are still the same; "
            "the others have another prompt, other assertions or another expectation"
        )
    return ""
