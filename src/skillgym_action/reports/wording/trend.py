"""Words of the trend: days, periods, rates and what changed. Nothing is escaped yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillgym_action.reports.wording.rates import format_interval
from skillgym_action.results.statistics.rates import wilson
from skillgym_action.text.escaping import clipped
from skillgym_action.text.words import counted, listed, percent

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from skillgym_action.model.comparison import Samples
    from skillgym_action.model.trend import ConditionChange, HalvesDifference, Trend, TrendHistory, TrendPoint, TrendRun

PERIODS = {0: "run", 1: "day (UTC)", 7: "week (from Monday, UTC)", 28: "4 weeks", 91: "13 weeks", 364: "52 weeks"}
_DIGEST = 7  # characters that are shown
_NAME = 80  # characters of a model, a version
_HEXADECIMAL = frozenset("0123456789abcdef")
_MIN_DIGEST = 16  # characters: those of digests of cases


def day(at: datetime) -> str:
    """``2026-01-31``."""
    return f"{at:%Y-%m-%d}"


def moment(at: datetime) -> str:
    """``2026-01-31 02:15``, in UTC."""
    return f"{at:%Y-%m-%d %H:%M}"


def days(runs: Sequence[TrendRun], first: int, last: int) -> str:
    """The day of a run, with its time; of several the days from the first to the last."""
    begin, end = runs[first].at, runs[last].at
    if first == last:
        return moment(begin)
    return day(begin) if day(begin) == day(end) else f"{day(begin)} to {day(end)}"


def samples_rate(samples: Samples, interval: tuple[float, float] | None) -> str:
    """``3 of 3 [44, 100]``."""
    return f"{samples}{f' {format_interval(interval)}' if interval else ''}"


def point_rate(point: TrendPoint) -> str:
    """``3 of 3 [44, 100]`` of one case, ``72% [58, 83], 20 cases`` of several."""
    if point.rate is None or point.interval is None:
        return "in no rate: expected to fail"
    if point.cases == 1:
        return samples_rate(point.samples, point.interval)
    return f"{percent(point.rate)} {format_interval(point.interval)}, {counted(point.cases, 'case')}"


def newest(point: TrendPoint, runs: Sequence[TrendRun]) -> str:
    """The rate of the newest point, and when that was."""
    when = day(runs[point.last].at)
    rate = point_rate(point).partition(f", {counted(point.cases, 'case')}")[0]
    return f"{rate} {f'on {when}' if point.runs == 1 else f'in {point.runs} runs up to {when}'}"


def change(found: ConditionChange) -> str:
    """``model: a → b``; ``prompt of 3 cases changed``."""
    if found.before is None or found.after is None:
        return f"{found.what} of {counted(found.cases, 'case')} changed"
    return f"{clipped(found.what, _NAME)}: {_value(found.before)} → {_value(found.after)}"


def _value(text: str) -> str:
    """A name, or the first characters of a digest."""
    if len(text) >= _MIN_DIGEST and _HEXADECIMAL.issuperset(text):
        return text[:_DIGEST]
    return clipped(text, _NAME)


def difference_points(found: HalvesDifference) -> str:
    """``-40 points [-65, -2]``: of percent."""
    low, high = found.interval
    return f"{100 * found.difference:+.0f} points [{100 * low:+.0f}, {100 * high:+.0f}]"


def left_out(history: TrendHistory) -> list[str]:
    """What the store has that is not shown, a sentence each."""
    found = []
    if history.older:
        number = len(history.runs)
        shown = "run is" if number == 1 else f"{number:,} runs are"
        found.append(f"The newest {shown} shown; the store has older ones.")
    if history.executions_left_out:
        more = counted(history.executions_left_out, "more execution")
        found.append(f"Left out: {more} (a case on a runner) of older runs. Name suites, cases or runners.")
    if history.other_branches:
        runs = counted(history.other_branches, "run")
        found.append(f"Left out: {runs} of other branches. --branch shows one.")
    return found


def kinds(changed: Sequence[str]) -> str:
    """What changed between two halves; empty for nothing."""
    return listed(list(changed))


def trend_summary(trend: Trend) -> tuple[str, str]:
    """Two lines for a terminal: what is shown, and what differs most."""
    history = trend.history
    runs, names = history.runs, [series.name for series in history.series]
    branch = f" of {history.branch}" if history.branch else ""
    cases = counted(len({(name.suite, name.case) for name in names}), "case")
    runners = counted(len({name.runner for name in names}), "runner")
    shown = f"{counted(len(runs), 'run')}{branch}, {days(runs, 0, len(runs) - 1)}: {cases} on {runners}"
    changes = counted(len(trend.total.marks) + trend.total.marks_left_out, "change")
    if not trend.differences:
        return shown, f"no case differs between the earlier and the later half; {changes} of model, CLI, suite or judge"
    most = trend.differences[0]
    earlier, later = (samples_rate(one, wilson(one.rate, one.judged)) for one in (most.earlier, most.later))
    case = f"{clipped(most.name.case, _NAME)} on {clipped(most.name.runner, _NAME)}"
    return shown, f"largest difference: {case}, {earlier} → {later}; {changes} of model, CLI, suite or judge"
