"""The view that the template of the trend page gets: escaped for HTML and formatted."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillgym_action.comparison.rates import wilson
from skillgym_action.limits import (
    COMMIT_CHARACTERS,
    MAX_TREND_LINK_CHARACTERS,
    MAX_TREND_NAME_CHARACTERS,
    MAX_TREND_RUNS,
)
from skillgym_action.reporters.html_parts import Figure, inline
from skillgym_action.reporters.rate_wording import format_interval
from skillgym_action.reporters.template_values import NOTHING, markup
from skillgym_action.reporters.trend_charts import axis_of, chart_of, cost_chart
from skillgym_action.reporters.trend_wording import (
    PERIODS,
    change,
    day,
    days,
    difference_points,
    kinds,
    left_out,
    moment,
    newest,
    point_rate,
    samples_rate,
)
from skillgym_action.reporters.wording import counted, duration, money, percent
from skillgym_action.text.escaping import clipped, html_text, one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from markupsafe import Markup

    from skillgym_action.model.trend import (
        HalvesDifference,
        Trend,
        TrendExecution,
        TrendGroup,
        TrendLine,
        TrendName,
        TrendPoint,
        TrendRun,
    )
    from skillgym_action.reporters.trend_charts import TimeAxis

_RUN_ON_GITHUB = re.compile(r"(https?://[^/\s]+/[^/\s]+/[^/\s]+)/actions/runs/[0-9]+(?:/.*)?")


@dataclass(frozen=True, kw_only=True, slots=True)
class Linked:
    """A text with the address that it leads to; empty: to none."""

    text: Markup
    link: Markup = NOTHING


@dataclass(frozen=True, kw_only=True, slots=True)
class PointRow:
    """A point of a chart as a row of its table."""

    when: Linked
    runs: Markup
    rate: Markup
    cost: Markup
    time: Markup
    commit: Linked


@dataclass(frozen=True, kw_only=True, slots=True)
class MarkRow:
    """A mark of a chart: its number, when, at which commit, and what changed."""

    number: Markup
    when: Markup
    commit: Linked
    changes: tuple[Markup, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Card:
    """A chart with its table. ``id``: its fragment; ``label``: what it is of, unlike those of all others.

    ``newest`` and ``since``: rates in words; ``tags``: what else is to be said of it.
    """

    id: Markup
    label: Markup
    title: Markup
    runner: Markup
    tags: tuple[Markup, ...]
    newest: Markup
    since: Markup
    since_rate: Markup
    chart: Markup
    marks: tuple[MarkRow, ...]
    marks_left_out: Markup
    rows: tuple[PointRow, ...]
    rows_left_out: Markup


@dataclass(frozen=True, kw_only=True, slots=True)
class TrendSuite:
    """A suite: a chart for each runner, and one for each case on each."""

    id: Markup
    path: Markup
    count: Markup
    groups: tuple[Card, ...]
    cases: tuple[Card, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class DifferenceRow:
    """An execution in both halves."""

    execution: Linked
    suite: Markup
    runner: Markup
    earlier: Markup
    later: Markup
    difference: Markup
    changed: Markup


@dataclass(frozen=True, kw_only=True, slots=True)
class RunRow:
    """A run."""

    when: Linked
    commit: Linked


@dataclass(frozen=True, kw_only=True, slots=True)
class CostCard:
    """The chart of the cost of all sessions."""

    chart: Markup
    marks: tuple[MarkRow, ...]
    marks_left_out: Markup


@dataclass(frozen=True, kw_only=True, slots=True)
class TrendView:
    """Everything that the template shows. ``policy`` is replaced after rendering; ``cost`` has at most one member."""

    title: Markup
    policy: Markup
    style: Markup
    summary: Markup
    notes: tuple[Markup, ...]
    legend: Markup
    figures: tuple[Figure, ...]
    middle: Markup
    differences: tuple[DifferenceRow, ...]
    cost: tuple[CostCard, ...]
    runners: tuple[Card, ...]
    suites: tuple[TrendSuite, ...]
    runs: tuple[RunRow, ...]
    runs_left_out: Markup


def trend_view(trend: Trend, *, policy: str, style: str, made: str) -> TrendView:
    """The view of a trend with at least one run. ``made``: when and by which version, in words."""
    history = trend.history
    runs, axis = history.runs, axis_of(history.runs)
    ids = {one.series.name: f"case-{number}" for number, one in enumerate(trend.executions, start=1)}
    cost = cost_chart(trend.total, trend.spending, axis)
    several = len({group.suite for group in trend.suites}) > 1
    branch = f" of {history.branch}" if history.branch else ""
    return TrendView(
        title=inline("Benchmark trend"),
        policy=markup(policy),
        style=markup(style),
        summary=inline(f"{counted(len(runs), 'run')}{branch}, {days(runs, 0, len(runs) - 1)}. {made}"),
        notes=tuple(map(inline, left_out(history))),
        legend=inline(PERIODS[trend.period]),
        figures=tuple(_figures(trend)),
        middle=inline(day(runs[trend.middle].at)),
        differences=tuple(_difference(one, ids[one.name]) for one in trend.differences),
        cost=() if cost is None else (_cost(trend, cost),),
        runners=tuple(
            _group(group, axis, f"runner-{number}", "All suites" if several else "All cases")
            for number, group in enumerate(trend.runners, start=1)
        ),
        suites=tuple(_suites(trend, axis, ids, several=several)),
        runs=tuple(RunRow(when=_run_link(run), commit=_commit(run)) for run in reversed(runs[-MAX_TREND_RUNS:])),
        runs_left_out=_more(len(runs) - MAX_TREND_RUNS, "run"),
    )


def _cost(trend: Trend, chart: Markup) -> CostCard:
    line = trend.total
    marks = tuple(_marks(line, trend.history.runs))
    return CostCard(chart=chart, marks=marks, marks_left_out=_more(line.marks_left_out, "change"))


def _figures(trend: Trend) -> Iterator[Figure]:
    history, total = trend.history, trend.total.since_mark
    runs = history.runs
    sessions = sum(sample.judged for series in history.series for sample in series.samples)
    known = [sample for series in history.series for sample in series.samples if sample.usd is not None]
    spent = sum((sample.usd or 0.0) * sample.judged for sample in known)
    complete = len(known) == sum(len(series.samples) for series in history.series)
    interval = f"{format_interval(total.interval)}, " if total.interval else ""
    length = (runs[-1].at - runs[0].at).days
    names = [series.name for series in history.series]
    yield Figure(label=inline("Runs"), value=inline(f"{len(runs):,}"), note=inline(f"over {counted(length, 'day')}"))
    yield Figure(
        label=inline("Cases"),
        value=inline(f"{len({(name.suite, name.case) for name in names}):,}"),
        note=inline(f"in {counted(len({name.suite for name in names}), 'suite')}"),
    )
    yield Figure(label=inline("Runners"), value=inline(f"{len({name.runner for name in names}):,}"))
    yield Figure(label=inline("Sessions judged"), value=inline(f"{sessions:,}"))
    yield Figure(
        label=inline("Cost of these sessions"),
        value=inline(money(spent if known else None, complete=complete)),
        note=inline("without retries" if known else ""),
    )
    yield Figure(
        label=inline("Pass rate"),
        value=inline("—" if total.rate is None else percent(total.rate)),
        note=inline(f"{interval}{'since the last change' if trend.total.marks else 'in all runs'}"),
    )


def _difference(found: HalvesDifference, id_: str) -> DifferenceRow:
    earlier, later = (samples_rate(one, wilson(one.rate, one.judged)) for one in (found.earlier, found.later))
    return DifferenceRow(
        execution=Linked(text=_name(found.name.case), link=markup(f"#{id_}")),
        suite=_name(found.name.suite),
        runner=_name(found.name.runner),
        earlier=inline(earlier),
        later=inline(later),
        difference=inline(difference_points(found)),
        changed=inline(kinds(found.changed) or "nothing known"),
    )


def _suites(trend: Trend, axis: TimeAxis, ids: dict[TrendName, str], *, several: bool) -> Iterator[TrendSuite]:
    """A section for each suite; without charts of all of its cases if there is one suite, which the overview has."""
    groups: dict[str, list[TrendGroup]] = {}
    executions: dict[str, list[TrendExecution]] = {}
    for group in trend.suites:
        groups.setdefault(group.suite or "", []).append(group)
    for one in trend.executions:
        executions.setdefault(one.series.name.suite, []).append(one)
    for number, (path, own) in enumerate(groups.items(), start=1):
        cases = executions[path]
        yield TrendSuite(
            id=markup(f"suite-{number}"),
            path=_name(path),
            count=inline(
                f"{counted(len({one.series.name.case for one in cases}), 'case')} on {counted(len(own), 'runner')}"
            ),
            groups=tuple(
                _group(group, axis, f"suite-{number}-{place}", "All cases")
                for place, group in enumerate(own if several else (), start=1)
            ),
            cases=tuple(_case(one, axis, ids[one.series.name]) for one in cases),
        )


def _group(group: TrendGroup, axis: TimeAxis, id_: str, title: str) -> Card:
    return _card(group.line, axis, id_, (title, group.runner, group.suite or "all suites"), ())


def _case(one: TrendExecution, axis: TimeAxis, id_: str) -> Card:
    tags = ["expected to fail"] if one.series.expected_fail else []
    if found := one.series.quarantine:
        tags.append(f"in quarantine until {found.expires}: {clipped(found.reason, MAX_TREND_NAME_CHARACTERS)}")
    name = one.series.name
    return _card(one.line, axis, id_, (name.case, name.runner, name.suite), tags)


def _card(line: TrendLine, axis: TimeAxis, id_: str, names: tuple[str, str, str], tags: Iterable[str]) -> Card:
    """``names``: the title, the runner, the suite."""
    runs = axis.runs
    title, runner, suite = (clipped(one_line(name), MAX_TREND_NAME_CHARACTERS) for name in names)
    label = f"{title} on {runner}, {suite}"
    return Card(
        id=markup(id_),
        label=inline(label),
        title=_name(title),
        runner=_name(runner),
        tags=tuple(map(inline, tags)),
        newest=inline(newest(line.points[-1], runs)),
        since=inline("since the last change" if line.marks else "in all runs"),
        since_rate=inline(point_rate(line.since_mark)),
        chart=chart_of(line, axis, label),
        marks=tuple(_marks(line, runs)),
        marks_left_out=_more(line.marks_left_out, "change"),
        rows=tuple(_row(point, runs) for point in reversed(line.points)),
        rows_left_out=_more(line.points_left_out, "point"),
    )


def _marks(line: TrendLine, runs: Sequence[TrendRun]) -> Iterator[MarkRow]:
    for number, mark in enumerate(line.marks, start=1):
        run = runs[mark.run]
        yield MarkRow(
            number=inline(str(number)),
            when=inline(day(run.at)),
            commit=_commit(run),
            changes=tuple(inline(change(one)) for one in mark.changes),
        )


def _row(point: TrendPoint, runs: Sequence[TrendRun]) -> PointRow:
    run = runs[point.last]
    when = _run_link(run) if point.runs == 1 else Linked(text=inline(days(runs, point.first, point.last)))
    return PointRow(
        when=when,
        runs=inline(f"{point.runs:,}"),
        rate=inline(point_rate(point)),
        cost=inline(money(point.usd, complete=point.cost_complete)),
        time=inline(duration(point.ms)),
        commit=_commit(run),
    )


def _run_link(run: TrendRun) -> Linked:
    return Linked(text=inline(moment(run.at)), link=_address(run.link))


def _commit(run: TrendRun) -> Linked:
    """The commit; the repository is that of the workflow run."""
    found = _RUN_ON_GITHUB.fullmatch(run.link) if run.link else None
    link = f"{found[1]}/commit/{run.commit}" if found else None
    return Linked(text=inline(run.commit[:COMMIT_CHARACTERS]), link=_address(link))


def _address(link: str | None) -> Markup:
    """An address of the web; nothing for any other, and for one that is too long."""
    if link is None or len(link) > MAX_TREND_LINK_CHARACTERS or not link.startswith(("https://", "http://")):
        return NOTHING
    return markup(html_text(link))


def _name(text: str) -> Markup:
    """A name on one line, cut if it is very long."""
    return inline(clipped(one_line(text), MAX_TREND_NAME_CHARACTERS) or "(no name)")


def _more(number: int, one: str) -> Markup:
    return inline(f"{counted(number, f'older {one}')} left out.") if number > 0 else NOTHING
