"""Stored results over time: rates with intervals per run or period, what changed when, and what differs most."""

from __future__ import annotations

from itertools import pairwise
from math import sqrt
from typing import TYPE_CHECKING

from skillgym_action.model.comparison import Samples
from skillgym_action.model.trend import (
    ConditionChange,
    HalvesDifference,
    Trend,
    TrendExecution,
    TrendGroup,
    TrendLine,
    TrendMark,
    TrendPoint,
)
from skillgym_action.results.statistics.rates import same_cases_rate, wilson

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from skillgym_action.model.trend import Conditions, TrendHistory, TrendName, TrendRun, TrendSample, TrendSeries
    from skillgym_action.results.statistics.rates import Interval

MAX_TREND_POINTS = 6_000  # of all executions together
MAX_TREND_LINE_POINTS = 60  # of one chart
MIN_TREND_LINE_POINTS = 12  # of one chart, however many executions there are
TREND_POINTS_PER_MARK = 3  # of the points that a chart may have; the newest marks are shown
MAX_TREND_DIFFERENCES = 10  # executions that changed most
PERIODS = (0, 1, 7, 28, 91, 364)  # days of which the runs are one point; 0: each run is one
SUITE = "suite file"
NAMED = {
    "agent": "agent",
    "version": "CLI version",
    "model": "model",
    "judge": "judge",
    "tool": "skillgym-action",
    "plug_ins": "plug-ins",
}
"""Conditions whose values are names -> what they are called."""
DIGESTS = {
    "prompt": "prompt",
    "assertions": "assertions",
    "program": "program of the suite",
    "template": "workspace template",
    "workspace": "input files",
}
"""Conditions whose values are digests -> what they are called."""
_KINDS = NAMED | DIGESTS
Changes = dict[int, list[ConditionChange]]


def trend_of(history: TrendHistory) -> Trend:
    """The points, marks and differences of a history with at least one run."""
    most = MAX_TREND_POINTS // max(1, len(history.series))
    most = min(max(most, MIN_TREND_LINE_POINTS), MAX_TREND_LINE_POINTS)
    period = _period(history.runs, most)
    changes = {series.name: changes_of(series.samples) for series in history.series}

    def group(series: Sequence[TrendSeries], suites: Collection[str], limit: int = MAX_TREND_LINE_POINTS) -> TrendLine:
        own = _group_changes([(one.name, changes[one.name]) for one in series])
        for suite in suites:
            what = f"{SUITE} {suite}" if len(suites) > 1 else SUITE
            for run, change in suite_changes(history.digests.get(suite, {}), what).items():
                own.setdefault(run, []).insert(0, change)
        return line_of(history.runs, series, own, period=period, most=limit)

    by_runner: dict[str, list[TrendSeries]] = {}
    by_suite: dict[tuple[str, str], list[TrendSeries]] = {}
    for series in history.series:
        by_runner.setdefault(series.name.runner, []).append(series)
        by_suite.setdefault((series.name.suite, series.name.runner), []).append(series)
    middle = len(history.runs) // 2
    return Trend(
        history=history,
        period=period,
        total=group(history.series, history.digests),
        spending=line_of(history.runs, history.series, {}, period=period, most=MAX_TREND_LINE_POINTS).points,
        runners=tuple(
            TrendGroup(suite=None, runner=runner, line=group(own, sorted({one.name.suite for one in own})))
            for runner, own in sorted(by_runner.items())
        ),
        suites=tuple(
            TrendGroup(suite=suite, runner=runner, line=group(own, (suite,), most))
            for (suite, runner), own in sorted(by_suite.items())
        ),
        executions=tuple(
            TrendExecution(
                series=series,
                line=line_of(history.runs, (series,), changes[series.name], period=period, most=most),
            )
            for series in history.series
        ),
        middle=middle,
        differences=_differences(history.series, changes, middle),
    )


def _period(runs: Sequence[TrendRun], most: int) -> int:
    """The shortest period of which there are at most so many with runs."""
    return next((days for days in PERIODS if _periods(runs, days) <= most), PERIODS[-1])


def _periods(runs: Sequence[TrendRun], days: int) -> int:
    return len({_period_of(runs, number, days) for number in range(len(runs))})


def _period_of(runs: Sequence[TrendRun], number: int, days: int) -> int:
    """The number of the period that a run is in; weeks begin on Monday."""
    return (runs[number].at.toordinal() - 1) // days if days else number


# --- what changed -------------------------------------------------------------------------------------


def changes_of(samples: Sequence[TrendSample]) -> Changes:
    """What differs from the sample before, by the run that it differs in. What is not known on a side is no change."""
    found: Changes = {}
    known: dict[str, str] = {}
    before: Conditions | None = None
    for sample in samples:
        if sample.conditions is before:  # nearly always: equal conditions are one object
            continue
        before = sample.conditions
        for kind, what in _KINDS.items():
            value = getattr(sample.conditions, kind)
            if value is None:
                continue
            if known.setdefault(kind, value) != value:
                found.setdefault(sample.run, []).append(ConditionChange(what, known[kind], value))
                known[kind] = value
    return found


def suite_changes(digests: Mapping[int, str], what: str = SUITE) -> dict[int, ConditionChange]:
    """Where the file of a suite is another one than in the run before that has it. ``digests``: by run."""
    return {
        run: ConditionChange(what, digests[earlier], digests[run])
        for earlier, run in pairwise(sorted(digests))
        if digests[earlier] != digests[run]
    }


def _group_changes(all_changes: Iterable[tuple[TrendName, Changes]]) -> Changes:
    """The changes of several cases together; the same change in a case that was not run meanwhile is left out."""
    cases: dict[int, dict[tuple[str, str | None, str | None], set[tuple[str, str]]]] = {}
    names = set(NAMED.values())
    for name, changes in all_changes:
        for run, own in changes.items():
            for change in own:
                values = (change.before, change.after) if change.what in names else (None, None)
                of_run = cases.setdefault(run, {})
                of_run.setdefault((change.what, *values), set()).add((name.suite, name.case))
    found: Changes = {}
    latest: dict[str, set[tuple[str | None, str | None]]] = {}
    for run, of_run in sorted(cases.items()):
        fresh = {
            key: len(own)
            for key, own in of_run.items()
            if key[1:] == (None, None) or key[1:] not in latest.get(key[0], ())
        }
        for what in {key[0] for key in fresh}:
            latest[what] = {key[1:] for key in fresh if key[0] == what}
        if fresh:
            found[run] = [ConditionChange(*key, number) for key, number in fresh.items()]
    return found


# --- points -------------------------------------------------------------------------------------------


def line_of(
    runs: Sequence[TrendRun], series: Sequence[TrendSeries], changes: Changes, *, period: int, most: int
) -> TrendLine:
    """The newest points of one case, or of several together. Nothing changed within a point."""
    point_of: dict[int, int] = {}
    number, since, previous = -1, 0, None
    for run in sorted({sample.run for one in series for sample in one.samples}):
        here = _period_of(runs, run, period)
        if run in changes or here != previous:
            number += 1
        if run in changes:
            since = number
        point_of[run], previous = number, here
    gathered = [_Gathered() for _ in range(number + 1)]
    for one in series:
        case = one.name.suite, one.name.case
        counts = len(series) == 1 or not one.expected_fail
        for sample in one.samples:
            gathered[point_of[sample.run]].add(sample, case if counts else None)
    marks = [TrendMark(run=run, changes=tuple(found)) for run, found in sorted(changes.items())]
    most_marks = most // TREND_POINTS_PER_MARK
    latest = _Gathered()
    for some in gathered[since:]:
        latest.merge(some)
    return TrendLine(
        points=tuple(some.point() for some in gathered[-most:]),
        marks=tuple(marks[-most_marks:]),
        since_mark=latest.point(),
        points_left_out=max(0, len(gathered) - most),
        marks_left_out=max(0, len(marks) - most_marks),
    )


class _Gathered:
    """The samples of a point, added up. A case on several runners is one case."""

    def __init__(self) -> None:
        self.runs: set[int] = set()
        self.cases: dict[tuple[str, str], list[int]] = {}  # passed, judged
        self.usd = 0.0
        self.sessions = self.sessions_with_cost = self.ms = 0

    def add(self, sample: TrendSample, case: tuple[str, str] | None) -> None:
        """Add a sample; ``case``: None if it counts in no rate."""
        self.runs.add(sample.run)
        if case:
            counts = self.cases.setdefault(case, [0, 0])
            counts[0] += sample.passed
            counts[1] += sample.judged
        self.sessions += sample.judged
        self.ms += sample.ms * sample.judged
        if sample.usd is not None:
            self.usd += sample.usd * sample.judged
            self.sessions_with_cost += sample.judged

    def merge(self, other: _Gathered) -> None:
        """Add the samples of another point."""
        self.runs |= other.runs
        for case, (passed, judged) in other.cases.items():
            counts = self.cases.setdefault(case, [0, 0])
            counts[0] += passed
            counts[1] += judged
        self.sessions += other.sessions
        self.ms += other.ms
        self.usd += other.usd
        self.sessions_with_cost += other.sessions_with_cost

    def point(self) -> TrendPoint:
        """What was added, at least one sample."""
        cases = [Samples(passed=passed, judged=judged) for passed, judged in self.cases.values()]
        rate, interval = _rate(cases)
        known = self.sessions_with_cost
        return TrendPoint(
            first=min(self.runs),
            last=max(self.runs),
            runs=len(self.runs),
            cases=len(cases),
            samples=Samples(passed=sum(case.passed for case in cases), judged=sum(case.judged for case in cases)),
            rate=rate,
            interval=interval,
            usd=self.usd / known if known else None,
            usd_total=self.usd if known else None,
            cost_complete=known == self.sessions,
            ms=round(self.ms / self.sessions),
        )


def _rate(cases: Sequence[Samples]) -> tuple[float | None, Interval | None]:
    """The mean over cases, with the interval of these cases if they were run again."""
    if not cases:
        return None, None
    if len(cases) == 1:
        return cases[0].rate, wilson(cases[0].rate, cases[0].judged)
    found = same_cases_rate(cases)
    return found.rate, found.interval


# --- differences --------------------------------------------------------------------------------------


def _differences(
    all_series: Iterable[TrendSeries], changes: Mapping[TrendName, Changes], middle: int
) -> tuple[HalvesDifference, ...]:
    """The executions that differ most between the runs before ``middle`` and the others."""
    found = []
    for series in all_series:
        earlier = _together(series, lambda run: run < middle)
        later = _together(series, lambda run: run >= middle)
        if not earlier.judged or not later.judged or earlier.rate == later.rate:
            continue
        found.append(
            HalvesDifference(
                name=series.name,
                earlier=earlier,
                later=later,
                difference=later.rate - earlier.rate,
                interval=difference_interval(earlier, later),
                changed=tuple(dict.fromkeys(one.what for own in changes[series.name].values() for one in own)),
            )
        )
    found.sort(key=lambda one: (-abs(one.difference), -(one.earlier.judged + one.later.judged), one.name))
    return tuple(found[:MAX_TREND_DIFFERENCES])


def _together(series: TrendSeries, counts: Callable[[int], bool]) -> Samples:
    some = [sample for sample in series.samples if counts(sample.run)]
    return Samples(passed=sum(one.passed for one in some), judged=sum(one.judged for one in some))


def difference_interval(earlier: Samples, later: Samples) -> Interval:
    """The 95% interval of the difference of two rates, later minus earlier: Newcombe (1998), of Wilson's intervals."""
    before, after = earlier.rate, later.rate
    (low_before, high_before), (low, high) = wilson(before, earlier.judged), wilson(after, later.judged)
    down = sqrt((after - low) ** 2 + (high_before - before) ** 2)
    up = sqrt((high - after) ** 2 + (before - low_before) ** 2)
    return max(-1.0, after - before - down), min(1.0, after - before + up)
