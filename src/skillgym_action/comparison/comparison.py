"""Compares a run with a baseline: pairs of results of the same case on the same runner, and the verdict over them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from skillgym_action.comparison.differences import differences
from skillgym_action.comparison.exact_tests import SampledPair
from skillgym_action.comparison.verdict import (
    has_dropped,
    is_significant,
    named,
    rate_change,
    verdict_if_stopped,
    verdict_on,
)
from skillgym_action.model.comparison import Comparison, Coverage, ResultPair
from skillgym_action.model.samples import samples_of
from skillgym_action.model.verdicts import Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from skillgym_action.model.comparison import RegressionVerdict
    from skillgym_action.model.result import Result
    from skillgym_action.model.run_report import RunReport

Key = tuple[str, str, str | None]


def compare(base: RunReport, head: RunReport) -> Comparison:
    """The comparison of ``head`` with the baseline ``base``."""
    first_only = base.stopped_early or head.stopped_early
    before, after = (1 if first_only else report.sampled_repetitions for report in (base, head))
    earlier = {_key(result): result for result in base.results}
    carried = frozenset(_key(result) for result in head.results if result.carried)
    later = {_key(result): result for result in head.results if not result.carried}
    sorted_pairs = _Pairs(before=before, after=after, planned=_planned(head, after))
    apart = frozenset(_key(result) for report in (base, head) for result in report.quarantined)
    for key, result in earlier.items():
        if key not in carried:
            sorted_pairs.take(result, later.get(key), in_quarantine=key in apart)
    judged = sorted_pairs.judged
    sampled = [SampledPair(pair.samples_before, pair.samples_after) for pair in judged]
    verdict, reason = _verdict(head, sorted_pairs, len(carried))
    exchanged = [pair.exchanged for pair in sampled]
    failing = named(sampled) if verdict == "regression" else frozenset[int]()
    is_complete = head.stopped_for_futility is None
    fixed = named(exchanged) if is_complete and has_dropped(exchanged) else frozenset[int]()
    return Comparison(
        base_id=base.id,
        base_commit=base.commit,
        verdict=verdict,
        reason=reason,
        coverage=sorted_pairs.coverage,
        newly_failing=tuple(judged[index] for index in sorted(failing)),
        fixed=tuple(judged[index] for index in sorted(fixed)),
        changed=tuple(
            pair
            for index, pair in enumerate(judged)
            if index not in failing | fixed and pair.samples_before.rate != pair.samples_after.rate
        ),
        no_longer_judged=tuple(sorted_pairs.no_longer_judged),
        redefined=tuple(sorted_pairs.redefined),
        added=tuple(result for key, result in later.items() if key not in earlier and key not in apart),
        removed=tuple(sorted_pairs.removed),
        rate=rate_change(sampled) if sampled else None,
        repetitions=1 if first_only else None,
        stopped_for_futility=not is_complete,
        runners=len({pair.after.runner.id for pair in judged if pair.after.runner}),
        differences=tuple(differences(base, head)),
        carried=len(carried),
    )


def judged_pairs(base: RunReport, results: Iterable[Result], repetitions: int | None = None) -> tuple[ResultPair, ...]:
    """The pairs that a comparison of these results with ``base`` tests, each result's first ``repetitions`` only."""
    later = {_key(result): result for result in results}
    found = _Pairs(before=base.sampled_repetitions, after=repetitions, planned=0)
    for result in base.results:
        found.take(result, later.get(_key(result)))
    return tuple(found.judged)


def _verdict(head: RunReport, pairs: _Pairs, carried: int) -> tuple[RegressionVerdict, str]:
    """The verdict and its reason, with the number of the results that were carried, which are in no test.

    Where all were, nothing has changed that could be worse, unless the run lacks executions of the baseline.
    """
    if carried and not pairs.coverage.base_pairs:
        return "no-regression-shown", not_compared(carried)
    verdict, reason = _verdict_on_run(head, pairs)
    note = not_compared(carried) if carried and verdict != "regression" else ""
    return verdict, "; ".join(filter(None, (reason, note)))


def not_compared(carried: int) -> str:
    """``990 carried, not compared, because their inputs are unchanged``."""
    return f"{carried:,} carried, not compared, because {'its' if carried == 1 else 'their'} inputs are unchanged"


def _verdict_on_run(head: RunReport, pairs: _Pairs) -> tuple[RegressionVerdict, str]:
    """The verdict on what was run. A run that was stopped for futility says so where nothing is shown."""
    sampled = [SampledPair(pair.samples_before, pair.samples_after) for pair in pairs.judged]
    if head.stopped_for_futility is None:
        return verdict_on(sampled, pairs.coverage)
    whole = [SampledPair(pair.samples_before, samples_of(pair.after)) for pair in pairs.judged]
    verdict, reason = verdict_if_stopped(whole, pairs.coverage)
    if verdict == "no-regression-shown":
        reason = "; ".join(filter(None, (reason, stopped_for_futility(head))))
    return verdict, reason


def _key(result: Result) -> Key:
    return result.suite.path, result.case_id, result.runner.id if result.runner else None


def _planned(head: RunReport, repetitions: int | None) -> int:
    """The number of sessions planned for each execution: what the most complete one of the run has.

    Not the most complete one of its runner: a runner that could not start has none.
    """
    most = max((attempt.repetition for result in head.results for attempt in result.attempts), default=1)
    return most if repetitions is None else min(most, repetitions)


@dataclass(slots=True)
class _Pairs:
    """The baseline's executions, by what became of them.

    ``before``, ``after``: how many repetitions count; None: all. ``planned``: sessions of each execution of this run.
    """

    before: int | None
    after: int | None
    planned: int
    judged: list[ResultPair] = field(default_factory=list)
    no_longer_judged: list[Result] = field(default_factory=list)
    redefined: list[Result] = field(default_factory=list)
    removed: list[Result] = field(default_factory=list)
    _base_pairs: int = 0
    _judged_sessions: int = 0
    _planned_sessions: int = 0

    def take(self, before: Result, after: Result | None, *, in_quarantine: bool = False) -> None:
        """Sort an execution of the baseline by its result in this run; None: it is not there, or in quarantine."""
        if after is None and not in_quarantine:
            self.removed.append(before)
        elif after is not None and not _is_same_case(before, after):
            self.redefined.append(after)
        samples_before = samples_of(before, self.before)
        if not samples_before.judged or (before.expected_fail and (after is None or after.expected_fail)):
            return
        self._base_pairs += 1
        if in_quarantine or (after is not None and not _is_same_case(before, after)):
            return
        self._planned_sessions += self.planned
        if after is None:
            return
        samples_after = samples_of(after, self.after)
        self._judged_sessions += min(samples_after.judged, self.planned)
        if samples_after.judged:
            self.judged.append(
                ResultPair(before=before, after=after, samples_before=samples_before, samples_after=samples_after)
            )
        elif after.status is not Status.SKIPPED:
            self.no_longer_judged.append(after)

    @property
    def coverage(self) -> Coverage:
        return Coverage(
            judged=self._judged_sessions,
            planned=self._planned_sessions,
            compared=len(self.judged),
            base_pairs=self._base_pairs,
        )


def _is_same_case(before: Result, after: Result) -> bool:
    """Whether prompt, expectation and assertions are equal, the latter as far as they were evaluated.

    After a failure or trouble some assertions may be skipped, so those of one side may be missing on the other. In a
    suite that was edited, one that a passed execution does not have is none of its skipped ones: it is another case.
    """
    if before.expected_fail != after.expected_fail:
        return False
    if before.inputs is not None and not before.judgement.outcomes:  # of a store, which has digests alone
        return after.inputs is None or before.inputs.is_same_case(after.inputs)
    if before.prompt is not None and after.prompt is not None and before.prompt != after.prompt:
        return False
    earlier, later = ([outcome.assertion for outcome in result.judgement.outcomes] for result in (before, after))
    if before.status is after.status is Status.PASSED:
        return earlier == later
    if Status.PASSED in (before.status, after.status) and _is_edited(before, after):
        fewer, more = (later, earlier) if before.status is Status.PASSED else (earlier, later)
    else:
        fewer, more = sorted((earlier, later), key=len)
    rest = iter(more)
    return all(assertion in rest for assertion in fewer)  # in this order


def _is_edited(before: Result, after: Result) -> bool:
    """Whether the suite's files are known to differ."""
    earlier, later = before.suite.digest, after.suite.digest
    return earlier is not None and later is not None and earlier != later


# --- words --------------------------------------------------------------------------------------------


def regressions(comparison: Comparison) -> Iterator[str]:
    """Sentences on what became worse, beyond what chance explains; none unless the verdict is a regression."""
    rate = comparison.rate
    if comparison.verdict != "regression" or rate is None:
        return
    if number := len(comparison.newly_failing):
        cases = "1 case passes" if number == 1 else f"{number:,} cases pass"
        yield f"{cases} less often than in the baseline, not by chance"
    if is_significant(rate):
        yield f"the pass rate dropped by {format_points(rate.drop)} since the baseline ({format_probability(rate.p)})"


def stopped_for_futility(report: RunReport) -> str:
    """``stopped for futility after 2 of 5 sessions of each case, 60 sessions saved``; empty if it was not stopped."""
    stopped = report.stopped_for_futility
    if stopped is None:
        return ""
    number = report.unrun_repetitions
    saved = f"{number:,} session{'' if number == 1 else 's'} saved"
    return f"stopped for futility after {stopped.repetitions} of {stopped.planned} sessions of each case, {saved}"


def largest_drop(comparison: Comparison) -> str:
    """``a drop of up to 12 points is not excluded``; empty when nothing was compared."""
    if comparison.rate is None:
        return ""
    return f"a drop of up to {format_points(comparison.rate.drop_at_most)} is not excluded"


def format_points(share: float) -> str:
    """A difference of rates: ``12 points``, ``2.4 points``."""
    number = 100 * share
    shown = f"{number:.0f}" if number >= 9.95 else f"{number:.1f}"  # noqa: PLR2004 - two digits are enough
    return f"{shown.removesuffix('.0')} {'point' if shown in ('1', '1.0') else 'points'}"


def format_probability(p: float) -> str:
    """``p = 0.031``."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"  # noqa: PLR2004
