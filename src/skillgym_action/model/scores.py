"""Which outcomes decide a case, and the score of one with a threshold. Scores are from 0 to 1."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from skillgym_action.model.result import Outcome

SCORE_DIGITS = 4
_T_97_5 = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.16, 2.145, 2.131, 2.12, 2.11, 2.101, 2.093, 2.086),
    *(2.08, 2.074, 2.069, 2.064, 2.06, 2.056, 2.052, 2.048, 2.045),
)
"""The 97.5 % quantiles of Student's t for 1, 2, ... degrees of freedom, with the digits that AgentV has."""
_NORMAL_97_5 = 1.96
_NOISE = 1e-9  # rounding errors of sums are smaller; they must not decide


def deciding(outcomes: tuple[Outcome, ...]) -> tuple[Outcome, ...]:
    """The outcomes without those that are advisory."""
    return tuple([outcome for outcome in outcomes if not outcome.advisory])


def case_score(outcomes: tuple[Outcome, ...], threshold: float, *, undecided: float = 0.0) -> float:
    """The weighted mean of the outcomes' scores; 0 when a required assertion misses its requirement.

    ``undecided``: the score of outcomes whose ``passed`` is None.
    """
    scored = [(_score(outcome, undecided), outcome) for outcome in outcomes]
    if any(misses_requirement(score, outcome, threshold) for score, outcome in scored):
        return 0.0
    return weighted_mean((score, outcome.weight) for score, outcome in scored)


def reaches_threshold(score: float, threshold: float) -> bool:
    """Whether a score is at least the threshold."""
    return score >= threshold - _NOISE


def misses_requirement(score: float, outcome: Outcome, threshold: float) -> bool:
    """Whether a required assertion scores less than it must: its own limit, or else the threshold of the case."""
    if outcome.required is False:
        return False
    return not reaches_threshold(score, threshold if outcome.required is True else outcome.required)


def reason_for_low_score(outcomes: tuple[Outcome, ...], threshold: float) -> tuple[str, Outcome | None]:
    """Why a case is below its threshold, and the outcome to blame.

    That is a required one that misses its requirement, else the first that failed, else the one with the lowest score.
    """
    for outcome in outcomes:
        if outcome.passed is not None and misses_requirement(score := _score(outcome, 0.0), outcome, threshold):
            needed = threshold if outcome.required is True else outcome.required
            needs = f"is required to score {format_score(needed)} and scored {format_score(score)}"
            return f"{outcome.assertion} {needs}: {outcome.explanation}", outcome
    judged = [outcome for outcome in outcomes if outcome.passed is not None]
    blamed = next((outcome for outcome in judged if outcome.passed is False), None)
    blamed = blamed or min(judged, key=lambda outcome: _score(outcome, 0.0), default=None)
    return (f"{blamed.assertion}: {blamed.explanation}" if blamed else "no assertion was evaluated"), blamed


def interval_start(scores: Sequence[float]) -> float:
    """Where the 95 % interval of the mean of two scores or more begins, by Student's t distribution; at least 0."""
    count = len(scores)
    mean = sum(scores) / count
    variance = sum((score - mean) ** 2 for score in scores) / (count - 1)
    quantile = _T_97_5[count - 2] if count - 2 < len(_T_97_5) else _NORMAL_97_5
    return max(0.0, mean - quantile * math.sqrt(variance) / math.sqrt(count))


def format_score(score: float) -> str:
    """A score in messages: at most four digits."""
    return f"{round(score, SCORE_DIGITS):g}"


def _score(outcome: Outcome, undecided: float) -> float:
    if outcome.passed is None:
        return undecided
    return float(outcome.passed) if outcome.score is None else outcome.score


def weighted_mean(scored: Iterable[tuple[float, float]]) -> float:
    """The mean of (score, weight); 0 without any weight.

    Added up in order, not with ``fsum``: every digit has to equal AgentV's.
    """
    total = whole = 0.0
    for score, weight in scored:
        whole += weight
        total += score * weight
    return total / whole if whole > 0 else 0.0
