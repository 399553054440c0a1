"""Compares a run with a baseline: pairs of results, the verdict over them, and what else differs between the runs."""

from __future__ import annotations

from dataclasses import field, replace
from datetime import datetime
from itertools import islice
from math import hypot, prod
from typing import TYPE_CHECKING, TypeVar

from skillgym_action.model.adaptive import OF_BASE_COMMIT, RED
from skillgym_action.model.comparison import (
    Comparison,
    Coverage,
    Difference,
    RateChange,
    ResultPair,
    Samples,
    samples_of,
)
from skillgym_action.model.records import record
from skillgym_action.model.report import identity_of
from skillgym_action.model.verdicts import Status
from skillgym_action.results.statistics.exact_tests import SampledPair, adjusted_p, case_p, discoveries, suite_p
from skillgym_action.results.statistics.rates import ONE_SIDED, format_probability, mean, same_cases_rate
from skillgym_action.results.statistics.regression_check import check_sentence

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from skillgym_action.model.adaptive import Adaptive
    from skillgym_action.model.comparison import RegressionVerdict
    from skillgym_action.model.report import LimitSettings, RunReport
    from skillgym_action.model.result import Result
    from skillgym_action.model.suite import BenchmarkSuite

_SHORT_COMMIT = 6  # characters, in a title
MAX_INPUT_DIFFERENCES = 10  # cases whose prompt, assertions or workspace differ, that are listed by name

Key = tuple[str, str, str | None]


def compare(base: RunReport, head: RunReport, branch: str | None = None, *, of_store: bool = False) -> Comparison:
    """The comparison of ``head`` with the baseline ``base``, which may be ``of_store``.

    ``branch``: that the baseline is from, if it is known.
    """
    before, after = base.sampled_repetitions, head.sampled_repetitions
    earlier = {_key(result): result for result in base.results}
    reused = frozenset(_key(result) for result in head.results if result.reused)
    later = {_key(result): result for result in head.results if not result.reused}
    sorted_pairs = _Pairs(before=before, after=after, planned=_planned(head, after))
    apart = frozenset(_key(result) for report in (base, head) for result in report.quarantined)
    for key, result in earlier.items():
        if key not in reused:
            sorted_pairs.take(result, later.get(key), in_quarantine=key in apart)
    judged = sorted_pairs.judged
    sampled = [SampledPair(pair.samples_before, pair.samples_after) for pair in judged]
    decided = _decided(base, head, of_store=of_store)
    verdict, reason = _verdict(decided, sorted_pairs, len(reused))
    exchanged = [pair.exchanged for pair in sampled]
    failing = _failing(decided, judged, sampled) if verdict == "regression" else frozenset[int]()
    improved = decided is None and has_dropped(exchanged)
    fixed = named(exchanged) if improved else frozenset[int]()
    return Comparison(
        base_id=base.id,
        base_commit=base.commit,
        verdict=verdict,
        reason=reason,
        coverage=sorted_pairs.coverage,
        judged=tuple(judged),
        newly_failing=tuple(_checked(judged[index], decided) for index in sorted(failing)),
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
        repetitions=after,
        adaptive=decided,
        runners=len({pair.after.runner.id for pair in judged if pair.after.runner}),
        differences=tuple(differences(base, head)),
        reused=len(reused),
        base_name=branch or _name(base),
        pairs=tuple(judged),
        improved=improved,
    )


def _decided(base: RunReport, head: RunReport, *, of_store: bool) -> Adaptive | None:
    """How the head has decided with ``repeat: auto``; None: with all sessions, or against another base."""
    found = head.adaptive
    if found is None or base.adaptive is found:  # the base is that beside which it was held
        return found
    return found if found.against == ("" if of_store else identity_of(base)) else None


def _name(base: RunReport) -> str:
    """What reports call a baseline of an unknown branch: ``run 4f1f2a9``, ``run of 27 Nov``."""
    if base.commit:
        return f"{'commit' if base.id.startswith(OF_BASE_COMMIT) else 'run'} {base.commit[:_SHORT_COMMIT]}"
    return f"run of {datetime.fromisoformat(base.started_at):%-d %b}"


def _failing(decided: Adaptive | None, pairs: Sequence[ResultPair], sampled: Sequence[SampledPair]) -> frozenset[int]:
    """Indexes of the pairs that are worse: those that a run with ``repeat: auto`` has named, else by the tests."""
    if decided is None:
        return named(sampled)
    names = {(one.suite, one.case_id, one.runner_id) for one in decided.named}
    return frozenset(index for index, pair in enumerate(pairs) if _key(pair.after) in names)


def _checked(pair: ResultPair, decided: Adaptive | None) -> ResultPair:
    """The pair with the sessions that it was named for, if a run with ``repeat: auto`` held them side by side."""
    named_ = decided.named if decided else ()
    beside = next((one.beside for one in named_ if (one.suite, one.case_id, one.runner_id) == _key(pair.after)), None)
    if beside is None:
        return pair
    return replace(
        pair,
        samples_before=Samples(passed=beside.control_passed, judged=beside.control_judged),
        samples_after=Samples(passed=beside.head_passed, judged=beside.head_judged),
    )


def _verdict(decided: Adaptive | None, pairs: _Pairs, reused: int) -> tuple[RegressionVerdict, str]:
    """The verdict and its reason, with the number of the results that were reused, which are in no test.

    Where all were, nothing has changed that could be worse, unless the run lacks executions of the baseline.
    """
    if reused and not pairs.coverage.base_pairs:
        return "no-regression-shown", not_compared(reused)
    verdict, reason = _verdict_on_run(decided, pairs)
    note = not_compared(reused) if reused and verdict != "regression" else ""
    return verdict, "; ".join(filter(None, (reason, note)))


def not_compared(reused: int) -> str:
    """``990 reused, not compared, because their inputs are unchanged``."""
    return f"{reused:,} reused, not compared, because {'its' if reused == 1 else 'their'} inputs are unchanged"


def _verdict_on_run(decided: Adaptive | None, pairs: _Pairs) -> tuple[RegressionVerdict, str]:
    """The verdict on what was run: with ``repeat: auto`` what the run has decided, as long as enough was judged."""
    sampled = [SampledPair(pair.samples_before, pair.samples_after) for pair in pairs.judged]
    if decided is None:
        return verdict_on(sampled, pairs.coverage)
    return _verdict_of_check(decided, sampled, pairs.coverage)


def _verdict_of_check(
    found: Adaptive, pairs: Sequence[SampledPair], coverage: Coverage
) -> tuple[RegressionVerdict, str]:
    if found.check in RED:
        return "regression", check_sentence(found)
    if found.check == "undecided":
        return "inconclusive", check_sentence(found)
    if not pairs:
        return "inconclusive", NO_PAIRS
    if reason := _lost_evidence(coverage):
        return "inconclusive", reason
    nothing = () if any(pair.base.passed for pair in pairs) else (NOTHING_PASSED,)
    return "no-regression-shown", "; ".join((*nothing, check_sentence(found)))


def _key(result: Result) -> Key:
    return result.suite.path, result.case_id, result.runner.id if result.runner else None


def _planned(head: RunReport, repetitions: int | None) -> int:
    """The number of sessions planned for each execution: what the most complete one of the run has.

    Not the most complete one of its runner: a runner that could not start has none.
    """
    most = max((attempt.repetition for result in head.results for attempt in result.attempts), default=1)
    return most if repetitions is None else min(most, repetitions)


@record(frozen=False, kw_only=False)
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
    if comparison.verdict == "regression" and comparison.adaptive:
        yield f"regression{' ' if comparison.adaptive.check == 'not-checked' else ', '}{comparison.reason}"
        return
    if comparison.verdict != "regression" or rate is None:
        return
    if number := len(comparison.newly_failing):
        cases = "1 case passes" if number == 1 else f"{number:,} cases pass"
        yield f"{cases} less often than in the baseline, not by chance"
    if is_significant(rate):
        yield f"the pass rate dropped by {format_points(rate.drop)} since the baseline ({format_probability(rate.p)})"


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


def difference(found: Difference) -> str:
    """``model of claude: sonnet-4 then, sonnet-5 now``."""
    subject = f" of {found.subject}" if found.subject else ""
    return f"{found.what}{subject}: {found.before or 'unknown'} then, {found.after or 'unknown'} now"


_DIGEST = 12  # characters that are shown
T = TypeVar("T")


def differences(base: RunReport, head: RunReport) -> Iterator[Difference]:
    """The differences: the tool's first, then those of runners and of suites. What is unknown on a side is none.

    Each of them may explain a change of the rates as well as a change of the agent does.
    """
    yield from _difference("skillgym-action", "", base.version, head.version)
    yield from _difference("judge", "", judge_in_words(base), judge_in_words(head))
    of_sessions = ((str(one) for one in report.plug_ins if one.kind != "reporters") for report in (base, head))
    yield from _difference("plug-ins", "", *map(_values, of_sessions))
    limits = (dict(limits_in_words(report.limits)) for report in (base, head))
    for what, values in _in_both(*limits):
        yield from _difference(what, "", *values)
    for runner, (earlier, later) in _in_both(_by_runner(base), _by_runner(head)):
        yield from _difference("agent", runner, _agents(earlier), _agents(later))
        yield from _difference("model", runner, _values(r.model for r in earlier), _values(r.model for r in later))
        versions = (_values(result.version for result in results) for results in (earlier, later))
        yield from _difference("version of the agent's CLI", runner, *versions)
    suites = ({suite.path: suite for suite in report.suites} for report in (base, head))
    for path, (before, after) in _in_both(*suites):
        yield from _of_suite(path, before, after)
    yield from islice(_of_inputs(base, head), MAX_INPUT_DIFFERENCES)


def judge_in_words(report: RunReport) -> str | None:
    """The judge's model, with the versions that it replied with; None without a judge."""
    judge = report.judge
    if judge is None:
        return None
    versions = [version for version in judge.versions if version != judge.model]
    votes = [f"{judge.votes} votes"] if judge.votes > 1 else []
    return ", ".join([judge.model, *versions, *votes])


def limits_in_words(limits: LimitSettings | None) -> Iterator[tuple[str, str]]:
    """What is limited in all sessions, and how; nothing if it is unknown."""
    if limits is None:
        return
    yield "time limit", f"{limits.timeout:g} s" if limits.timeout else "that of the suite"
    yield "default time limit", f"{limits.default_timeout:g} s"
    yield "limit of steps", "none" if limits.max_steps is None else str(limits.max_steps)
    yield "status of a session that exceeds a limit", limits.on_limit


def _of_suite(path: str, before: BenchmarkSuite, after: BenchmarkSuite) -> Iterator[Difference]:
    """Prompts and assertions are compared one by one; a check's body is only in the suite's digest."""
    yield from _difference("suite file", path, _short(before.digest), _short(after.digest))
    yield from _difference("workspace template", path, _short(before.template_digest), _short(after.template_digest))


def _of_inputs(base: RunReport, head: RunReport) -> Iterator[Difference]:
    """What single executions were given, where both sides know it: as with a baseline that a store has."""
    earlier = {_key(result): result.inputs for result in base.results}
    for result in head.results:
        before, after = earlier.get(_key(result)), result.inputs
        if before is None or after is None or before == after:
            continue
        suite, case, runner = _key(result)
        subject = f"{suite}: {case} [{runner or ''}]"
        yield from _difference("prompt", subject, before.prompt, after.prompt)
        yield from _difference("assertions", subject, before.assertions, after.assertions)
        yield from _difference("workspace inputs", subject, before.workspace, after.workspace)
        yield from _difference("plug-ins", subject, before.plug_ins or "none", after.plug_ins or "none")


def _difference(what: str, subject: str, before: str | None, after: str | None) -> Iterator[Difference]:
    if before is not None and after is not None and before != after:
        yield Difference(what=what, subject=subject, before=before, after=after)


def _by_runner(report: RunReport) -> dict[str, list[Result]]:
    found: dict[str, list[Result]] = {}
    for result in report.results:
        if result.runner:
            found.setdefault(result.runner.id, []).append(result)
    return found


def _in_both(earlier: dict[str, T], later: dict[str, T]) -> Iterator[tuple[str, tuple[T, T]]]:
    return ((key, (value, later[key])) for key, value in earlier.items() if key in later)


def _agents(results: Iterable[Result]) -> str | None:
    return _values(result.runner.agent.type for result in results if result.runner)


def _values(values: Iterable[str | None]) -> str | None:
    """All known ones in one text; None if none is known."""
    return ", ".join(sorted({value for value in values if value})) or None


def _short(digest: str | None) -> str | None:
    return digest and digest[:_DIGEST]


# 1% for all pairs together and 1% for single pairs: at most 2% of comparisons without any change are a regression.
LEVEL = 0.01
MIN_RELEVANT_DROP = 0.02  # share; a smaller mean drop is no regression, even if it is significant
FALSE_DISCOVERIES = 0.05  # share of the named pairs
MIN_COVERAGE = 0.9
MIN_COMPARED = 0.5  # share of the base's pairs that are still the same case
_ROUNDING = 1e-12
TOO_FEW = "too few sessions: even if everything failed now, that could be chance"
NOTHING_PASSED = "nothing passed in the baseline, so nothing could get worse"
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
