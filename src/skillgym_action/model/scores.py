"""The score of a case that has a threshold, computed from the outcomes of its assertions."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from skillgym_action.model.result import Outcome

DIGITS = 4
_ROUNDING_ERROR = 1e-9
"""Sums of fractions are off by less than this, so a smaller difference does not count."""


def case_score(outcomes: tuple[Outcome, ...], threshold: float, *, undecided: float = 0.0) -> float:
    """The weighted mean; 0 if a required assertion is below its minimum. ``undecided``: the score if not graded."""
    scored = [(_score(outcome, undecided), outcome) for outcome in outcomes]
    if any(_is_below_required(score, outcome, threshold) for score, outcome in scored):
        return 0.0
    return weighted_mean((score, outcome.weight) for score, outcome in scored)


def reaches(score: float, threshold: float) -> bool:
    """Whether a score is at least the threshold."""
    return score >= threshold - _ROUNDING_ERROR


def weighted_mean(scored: Iterable[tuple[float, float]]) -> float:
    """The mean of (score, weight); 0 without any weight.

    The sums are built in AgentV's order, so that the result is the same to the last digit.
    """
    total = weights = 0.0
    for score, weight in scored:
        weights += weight
        total += score * weight
    return total / weights if weights > 0 else 0.0


def why_below(outcomes: tuple[Outcome, ...], threshold: float) -> tuple[str, Outcome | None]:
    """The reason why a case failed, and the assertion to blame.

    That is a required assertion below its minimum, else one that failed, else the one with the lowest score.
    """
    for outcome in outcomes:
        score = _score(outcome, 0.0)
        if outcome.passed is not None and _is_below_required(score, outcome, threshold):
            minimum = threshold if outcome.required is True else outcome.required
            needs = f"is required to score {shown(minimum)} and scored {shown(score)}"
            return f"{outcome.assertion} {needs}: {outcome.explanation}", outcome
    graded = [outcome for outcome in outcomes if outcome.passed is not None]
    blamed = next((outcome for outcome in graded if outcome.passed is False), None)
    blamed = blamed or min(graded, key=lambda outcome: _score(outcome, 0.0), default=None)
    return (f"{blamed.assertion}: {blamed.explanation}" if blamed else "no assertion says that it passed"), blamed


def shown(score: float) -> str:
    """A score in messages: at most four digits."""
    return f"{round(score, DIGITS):g}"


def _is_below_required(score: float, outcome: Outcome, threshold: float) -> bool:
    """Whether the assertion is required and its score is below its own minimum, or else the case's threshold."""
    if outcome.required is False:
        return False
    return not reaches(score, threshold if outcome.required is True else outcome.required)


def _score(outcome: Outcome, undecided: float) -> float:
    if outcome.passed is None:
        return undecided
    return float(outcome.passed) if outcome.score is None else outcome.score
