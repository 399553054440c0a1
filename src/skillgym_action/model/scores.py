"""Which outcomes decide a case, and the score of one with a threshold. Scores are from 0 to 1."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from skillgym_action.model.result import Outcome

SCORE_DIGITS = 4
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
