"""Compares a run with a baseline: pairs of results of the same case on the same runner, and the rates over them."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING

from skillgym_action.comparison.statistics import largest_drop, mcnemar_p, sign_flip_p
from skillgym_action.model.comparison import Comparison, RateChange, ResultPair
from skillgym_action.model.verdicts import JUDGED, Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from skillgym_action.model.result import Result
    from skillgym_action.model.run_report import RunReport

MIN_SESSIONS = 2  # of a case, for "always passed" and "never passed"


def compare(base: RunReport, head: RunReport) -> Comparison:
    """The comparison of ``head`` with the baseline ``base``."""
    earlier = {_key(result): result for result in base.results}
    later = {_key(result): result for result in head.results}
    common = [ResultPair(before=earlier[key], after=result) for key, result in later.items() if key in earlier]
    pairs = [pair for pair in common if _same_case(pair)]
    judged = [pair for pair in pairs if pair.before.status in JUDGED and pair.after.status in JUDGED]
    newly_failing = tuple(pair for pair in judged if _failed(pair.after) and not _failed(pair.before))
    return Comparison(
        base_id=base.id,
        base_commit=base.commit,
        paired=len(pairs),
        newly_failing=newly_failing,
        fixed=tuple(pair for pair in judged if _failed(pair.before) and not _failed(pair.after)),
        no_longer_judged=tuple(
            pair for pair in pairs if pair.before.status in JUDGED and pair.after.status is Status.ERRORED
        ),
        redefined=tuple(pair for pair in common if not _same_case(pair)),
        added=tuple(result for key, result in later.items() if key not in earlier),
        removed=tuple(result for key, result in earlier.items() if key not in later),
        collapsed=tuple(pair for pair in newly_failing if _always(pair.before) and _never(pair.after)),
        rate=_rate_change(judged),
    )


# --- pairs ------------------------------------------------------------------------------------------


def _key(result: Result) -> tuple[str, str, str | None]:
    return result.suite.path, result.case_id, result.runner.id if result.runner else None


def _same_case(pair: ResultPair) -> bool:
    """Whether prompt and assertions are equal, as far as evaluated: those after a failed one may be skipped."""
    before, after = (
        [outcome.assertion for outcome in result.judgement.outcomes] for result in (pair.before, pair.after)
    )
    evaluated = min(len(before), len(after))
    return pair.before.prompt == pair.after.prompt and before[:evaluated] == after[:evaluated]


def _failed(result: Result) -> bool:
    return result.status is Status.FAILED


def _sessions(result: Result) -> list[bool]:
    """For each judged session, whether it did not fail."""
    return [attempt.status is not Status.FAILED for attempt in result.attempts if attempt.status in JUDGED]


def _always(result: Result) -> bool:
    sessions = _sessions(result)
    return len(sessions) >= MIN_SESSIONS and all(sessions)


def _never(result: Result) -> bool:
    sessions = _sessions(result)
    return len(sessions) >= MIN_SESSIONS and not any(sessions)


# --- rates ------------------------------------------------------------------------------------------


def _rate_change(judged: Iterable[ResultPair]) -> RateChange | None:
    """The change of the rate over judged pairs; None: there are none.

    The sampling unit is the case: its rates on several runners are averaged, since they are not independent.
    """
    cases: dict[tuple[str, str], list[ResultPair]] = {}
    for pair in judged:
        cases.setdefault((pair.after.suite.path, pair.after.case_id), []).append(pair)
    if not cases:
        return None
    before = [fmean(_rate(pair.before) for pair in pairs) for pairs in cases.values()]
    after = [fmean(_rate(pair.after) for pair in pairs) for pairs in cases.values()]
    drops = [then - now for then, now in zip(before, after, strict=True)]
    fallen, risen = sum(drop for drop in drops if drop > 0), -sum(drop for drop in drops if drop < 0)
    whole = all(drop in (-1, 0, 1) for drop in drops)
    return RateChange(
        cases=len(cases),
        before=fmean(before),
        after=fmean(after),
        p=mcnemar_p(round(fallen), round(risen)) if whole else sign_flip_p(drops),
        drop_at_most=largest_drop(fallen, risen, len(cases)),
    )


def _rate(result: Result) -> float:
    """The share of judged repetitions that did not fail; the status of a repetition is that of its last session."""
    ends = {attempt.repetition: attempt.status for attempt in result.attempts}
    judged = [status is not Status.FAILED for status in ends.values() if status in JUDGED]
    return fmean(judged) if judged else float(not _failed(result))


def regressions(comparison: Comparison) -> Iterator[str]:
    """Sentences on what became worse, beyond what chance explains."""
    if number := len(comparison.collapsed):
        always, never = ("case", "does") if number == 1 else ("cases", "do")
        yield f"{number} {always} that always passed in the baseline never {never} now"
    rate = comparison.rate
    if rate and rate.significant:
        yield f"the pass rate dropped by {format_points(rate.drop)} since the baseline ({format_probability(rate.p)})"


def format_points(share: float) -> str:
    """A difference of rates: ``12 points``, ``2.4 points``."""
    number = 100 * share
    shown = f"{number:.0f}" if number >= 9.95 else f"{number:.1f}"  # noqa: PLR2004 - two digits are enough
    return f"{shown.removesuffix('.0')} {'point' if shown in ('1', '1.0') else 'points'}"


def format_probability(p: float) -> str:
    """``p = 0.031``."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"  # noqa: PLR2004
