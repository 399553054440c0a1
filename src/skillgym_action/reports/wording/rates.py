"""Rates and comparisons in words, each number with its unit. Nothing is escaped yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillgym_action.model.comparison import is_flaky, passed_after_failure, samples_of
from skillgym_action.model.limits import MAX_LISTED_NAMES
from skillgym_action.reports.wording.statements import Cell, Section, Topic
from skillgym_action.results.statistics.rates import (
    MIN_CASES,
    MIN_CASES_OF_K,
    case_interval,
    mean_pass_at_k,
    mean_pass_hat_k,
    population_rate,
    same_cases_rate,
    trigger_rates,
)
from skillgym_action.text.words import counted, percent

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from skillgym_action.model.comparison import Comparison, ResultPair, Samples
    from skillgym_action.model.report import RunReport
    from skillgym_action.model.result import Result
    from skillgym_action.model.totals import Totals
    from skillgym_action.results.statistics.rates import Interval, RateEstimate

OTHER_CASES_NOTE = f"† interval for the same cases again: fewer than {MIN_CASES} cases say nothing about other cases"
MEANS_NOTE = (
    "Time and tokens of an execution are the average of its passing sessions or, without such sessions, of "
    "the last session of each repetition; its cost is the sum of all sessions"
)
LEVEL = "95% interval"
BAD_DAY = "A bad day of the model's service looks the same: if in doubt, run the baseline again."
FIRST_ROUND = "How often a case ran depends on its results, so only first attempts count in rates"


# --- rates --------------------------------------------------------------------------------------------


def format_interval(interval: Interval) -> str:
    """In percent, without the sign: ``[58, 83]``."""
    low, high = (round(100 * bound) for bound in interval)
    return f"[{low}, {high}]"


def rate_cell(totals: Totals) -> str:
    """``72% [58, 83]``; with a dagger, see ``OTHER_CASES_NOTE``, for few cases; a dash if nothing was judged."""
    if not totals.cases:
        return "—"
    few = len(totals.cases) < MIN_CASES
    found = same_cases_rate(totals.cases) if few else population_rate(totals.cases)
    return f"{percent(found.rate)} {format_interval(found.interval)}{'†' if few else ''}"


def rate_sentences(totals: Totals, report: RunReport) -> Iterator[str]:
    """What share of sessions passes, how sure that is, and what is in no rate. ``totals``: of ``report``."""
    if totals.cases:
        yield _rate(totals.cases, sampled_sessions(report.sampled_repetitions))
        if report.adaptive is None:
            yield from _of_k(totals.cases)
    if report.adaptive:
        yield FIRST_ROUND
    if unjudged := totals.unjudged_cases:
        words = "has no result and counts" if unjudged == 1 else "have no result and count"
        yield f"{counted(unjudged, 'case')} {words} in no pass rate"
    if expected := totals.expected_to_fail:
        words = "is marked as failing and counts" if expected == 1 else "are marked as failing and count"
        yield f"{counted(expected, 'result')} {words} in no pass rate"


def trigger_sentences(report: RunReport) -> Iterator[str]:
    """How well the skills under test are found by trigger queries: a sentence for each suite and runner."""
    found = trigger_rates(report.results)
    for rates in found[:MAX_LISTED_NAMES]:
        shares = {"recall": rates.recall, "precision": rates.precision, "accuracy": rates.accuracy}
        words = ", ".join(
            f"{name} {percent(share.rate)} {format_interval(share.interval)}" if share else f"{name} unknown"
            for name, share in shares.items()
        )
        runs = f"{counted(rates.runs, 'run')} of {counted(rates.queries, 'query', 'queries')}"
        yield f"Triggers of {rates.suite} on {rates.runner}: {words}, over {runs}"
    if (more := len(found) - MAX_LISTED_NAMES) > 0:
        yield f"Triggers: {more:,} more suites and runners"


def sampled_sessions(repetitions: int | None) -> str:
    """The attempts that count: ``attempts``, ``first attempts``, ``the first 2 attempts of each case``."""
    if repetitions is None:
        return "attempts"
    return "first attempts" if repetitions == 1 else f"the first {repetitions:,} attempts of each case"


def _rate(cases: Sequence[Samples], sessions: str) -> str:
    again = same_cases_rate(cases)
    same = "the same case again" if len(cases) == 1 else f"the same {len(cases):,} cases again"
    share = f"{percent(again.rate)} of {sessions} pass"
    if len(cases) < MIN_CASES:
        few = f"fewer than {MIN_CASES} cases say nothing about other cases"
        return f"{share}, {LEVEL} {format_interval(again.interval)} for {same}; {few}"
    others = format_interval(population_rate(cases).interval)
    first = f"{share}, {LEVEL} {others} for cases like these"
    if all(case.judged == 1 for case in cases):
        return first
    return f"{first} and {format_interval(again.interval)} for {same}"


def _of_k(cases: Sequence[Samples]) -> Iterator[str]:
    k = min(case.judged for case in cases)
    at, hat = mean_pass_at_k(cases, k), mean_pass_hat_k(cases, k)
    if k > 1 and at and hat:
        yield (
            f"at least one of {k} attempts passes in {_share(at, cases)} of cases (pass@{k}), "
            f"all {k} pass in {_share(hat, cases)} (pass^{k})"
        )


def _share(estimate: RateEstimate, cases: Sequence[Samples]) -> str:
    interval = f" {format_interval(estimate.interval)}" if len(cases) >= MIN_CASES_OF_K else ""
    return f"{percent(estimate.rate)}{interval}"


def sessions_passed(result: Result, repetitions: int | None) -> str:
    """``3 of 5 attempts passed``; empty unless several count."""
    samples = samples_of(result, repetitions)
    return f"{samples} attempts passed" if samples.judged > 1 and not result.expected_fail else ""


def mixed(report: RunReport) -> Section:
    """Executions whose sessions differ, the flaky ones first, each with how many passed."""
    repetitions = report.sampled_repetitions
    flaky, others = [], []
    for result in report.results:
        samples = samples_of(result, repetitions)
        if is_flaky(result, repetitions):
            flaky.append((result, _flaky(result, samples)))
        elif samples.is_mixed and not result.expected_fail:
            others.append((result, f"{samples} attempts passed, too few to call it flaky"))
    counts = [counted(len(flaky), "flaky result")] if flaky else []
    counts += [counted(len(others), "result") + " with some failed attempts"] if others else []
    return Section(title=", ".join(counts), about=[*flaky, *others], topic=_with_words)


def _with_words(result: Result, words: str) -> Topic:
    return Topic(result=result, cells=(Cell(words, "own"),) if words else ())


def _flaky(result: Result, samples: Samples) -> str:
    words = "passed only after a retry" if samples.judged < 2 else f"{samples} attempts passed"  # noqa: PLR2004
    if (interval := case_interval(samples)) is not None:
        words += f", {LEVEL} {format_interval(interval)}"
    if passed_after_failure(result) and samples.judged > 1:
        words += ", passed only after a retry"
    return words


# --- comparisons --------------------------------------------------------------------------------------

VERDICTS = {
    "regression": "Regression",
    "inconclusive": "Inconclusive",
    "no-regression-shown": "No regression shown",
}


def comparison_verdict(comparison: Comparison) -> str:
    """What the comparison proves, without the verdict: the drop, what is not excluded, or why it proves nothing.

    Where evidence was lost there is no bound: it would not be one of what was lost.
    """
    rate = comparison.rate
    is_note = comparison.reused and comparison.verdict == "no-regression-shown"
    if rate is None or (comparison.reason and not is_note and not comparison.adaptive):
        return comparison.reason
    from skillgym_action.results.statistics.comparison import largest_drop, regressions

    drop = largest_drop(comparison) if comparison.verdict == "no-regression-shown" else ""
    if comparison.adaptive:
        return "; ".join(filter(None, (comparison.reason, drop)))
    if comparison.verdict == "no-regression-shown":
        return "; ".join(filter(None, (drop, comparison.reason)))
    return "; ".join(regressions(comparison))


def rates_compared(comparison: Comparison) -> tuple[str, str]:
    """The sentence on both rates, in the parts before and after the name of the baseline."""
    rate = comparison.rate
    if rate is None:
        return "No attempt has a result both in ", " and now."
    sessions = "first attempts" if comparison.repetitions == 1 else "attempts"
    unit = counted(rate.pairs, "case")
    if comparison.runners > 1:
        unit = f"{counted(rate.pairs, 'case')} on runners"
    after = f" and now, {percent(rate.before)} of {sessions} passed then and {percent(rate.after)} now."
    if comparison.verdict == "regression" and comparison.adaptive is None:
        after += f" {BAD_DAY}"
    return f"Of {unit} with a result both in ", after


def changes(comparison: Comparison) -> Iterator[Section]:
    """The executions of each kind of change: first three kinds that were judged before and now, with their change."""
    pairs = (
        ("newly failing", "", comparison.newly_failing),
        ("fixed", "", comparison.fixed),
        ("changed", ", each by itself may be chance", comparison.changed),
    )
    for word, note, several in pairs:
        about = [(pair.after, _change(pair)) for pair in several]
        yield Section(word=word, title=f"{word}{note}", about=about, topic=_with_words)
    lost = [(result, "") for result in comparison.no_longer_judged]
    yield Section(title="without a result now", about=lost, topic=_with_words)
    yield from uncompared(comparison)


def uncompared(comparison: Comparison) -> Iterator[Section]:
    """The executions that were not compared, of each kind."""
    others = (
        ("redefined", "with a different prompt, assertion or expectation: not compared", comparison.redefined),
        ("added", "added", comparison.added),
        ("", "not in this run", comparison.removed),
    )
    for word, title, results in others:
        yield Section(word=word, title=title, about=[(result, "") for result in results], topic=_with_words)


def _change(pair: ResultPair) -> str:
    """``5 of 5 → 3 of 5``; with one session each in words."""
    before, after = pair.samples_before, pair.samples_after
    if before.judged == after.judged == 1:
        words = ("failed", "passed")
        return f"{words[before.passed]} then, {words[after.passed]} now (one session each)"
    return f"{before} → {after}"
