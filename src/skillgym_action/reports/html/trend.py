"""The trend page: results of a store over time, one HTML file that loads nothing and has no script.

A content security policy allows the styles of the page, by their hash, and nothing else.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from skillgym_action.model.limits import COMMIT_CHARACTERS
from skillgym_action.model.records import record
from skillgym_action.reports.html.parts import Figure, inline
from skillgym_action.reports.html.report import packaged_source, policy
from skillgym_action.reports.markdown.report import environment
from skillgym_action.reports.template_values import NOTHING, markup
from skillgym_action.reports.wording.rates import format_interval
from skillgym_action.reports.wording.trend import (
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
from skillgym_action.results.statistics.rates import wilson
from skillgym_action.text.escaping import clipped, html_text, one_line
from skillgym_action.text.words import counted, duration, money, percent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from datetime import datetime

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

MAX_TREND_RUNS = 50  # newest runs that the page lists
MAX_TREND_NAME_CHARACTERS = 160  # of a name in the page
MAX_TREND_LINK_CHARACTERS = 200  # of an address in the page; a longer one is left out


TEMPLATE = "trend.html.j2"
_POLICY = "<!-- policy -->"  # a mark in the rendered template. All text in it is escaped, so that none can contain it.


def render(trend: Trend, *, made: str) -> str:
    """The page of a trend with at least one run. ``made``: when and by which version, in words."""
    style = f"\n{packaged_source('report.css')}\n{packaged_source('trend.css')}"
    view = trend_view(trend, policy=_POLICY, style=style, made=made)
    return environment().get_template(TEMPLATE).render(view=view).replace(_POLICY, policy(None, [style]))


# --- charts -------------------------------------------------------------------------------------------

_WIDTH, _LEFT, _RIGHT = 400, 44, 12  # pixels
_TOP, _RATE, _STRIP, _GAP, _FOOT = 18, 88, 26, 26, 20  # heights: of marks, rates, a strip of columns, its title, dates
_PLOT = _WIDTH - _LEFT - _RIGHT
_BADGE = 12  # pixels between the numbers of two marks
_SHARES = ((1.0, "100%"), (0.5, "50%"), (0.0, "0%"))
_ONE_COLUMN = 6  # pixels, at most


@record
class TimeAxis:
    """The runs, and the times that the axis begins and ends with: the same for all charts of a page."""

    runs: Sequence[TrendRun]
    first: datetime
    last: datetime

    def x(self, at: datetime) -> float:
        """The place of a time in a chart, in pixels; the middle if the axis has no length."""
        length = (self.last - self.first).total_seconds()
        share = (at - self.first).total_seconds() / length if length > 0 else 0.5
        return _LEFT + 5 + (_PLOT - 10) * share

    def middle(self, point: TrendPoint) -> float:
        """The place of the middle of a point's time."""
        first, last = self.runs[point.first].at, self.runs[point.last].at
        return self.x(first + (last - first) / 2)


def axis_of(runs: Sequence[TrendRun]) -> TimeAxis:
    """The axis of a page with at least one run."""
    return TimeAxis(runs=runs, first=runs[0].at, last=runs[-1].at)


def chart_of(line: TrendLine, axis: TimeAxis, subject: str) -> Markup:
    """The rates of a line, the mean cost of a session if it is known, and its mean time. ``subject``: what it is of.

    Nothing is drawn between the points: what was not run is not known. Every number of a chart is in the table below
    it.
    """
    parts = [*_grid(), *_rates(line.points, axis)]
    y = float(_TOP + _RATE)
    panels = [(_TOP - 4.0, y)]
    costs = [(axis.middle(point), point.usd) for point in line.points if point.usd is not None]
    strips: list[tuple[str, list[tuple[float, float]], Callable[[float], str]]] = [
        ("cost of a session", costs, money),
        (
            "time of a session",
            [(axis.middle(point), point.ms) for point in line.points],
            lambda ms: duration(round(ms)),
        ),
    ]
    for title, values, words in strips:
        if values:
            parts += _columns(y + _GAP, title, values, words)
            y += _GAP + _STRIP
            panels.append((y - _STRIP, y))
    newest = line.points[-1]
    label = (
        f"{subject}: pass rate over time, {counted(len(line.points), 'point')},"
        f" {days(axis.runs, line.points[0].first, newest.last)}; the newest: {point_rate(newest)}."
        f" {counted(len(line.marks), 'change')} of conditions. All numbers are in the table."
    )
    return _picture(y, [*parts, *_marks(line, axis, panels)], axis, label)


def cost_chart(line: TrendLine, spending: Sequence[TrendPoint], axis: TimeAxis) -> Markup | None:
    """What all sessions of each period cost, with the marks of ``line``; None if no cost is known."""
    values = [(axis.middle(point), point.usd_total) for point in spending if point.usd_total is not None]
    if not values:
        return None
    top = float(_TOP + _GAP - 8)
    title = "cost of all sessions"
    drawn = _columns(top, title, values, money, _RATE)
    label = f"{title} over time, {counted(len(values), 'point')}, up to {money(max(usd for _, usd in values))}"
    return _picture(top + _RATE, [*drawn, *_marks(line, axis, [(top, top + _RATE)])], axis, label)


def _picture(bottom: float, parts: Sequence[str], axis: TimeAxis, label: str) -> Markup:
    """The drawing with its dates below."""
    y = bottom + _FOOT - 5
    dates = [_text(_LEFT, y, day(axis.first), "start"), _text(_WIDTH - _RIGHT, y, day(axis.last), "end")]
    if day(axis.first) == day(axis.last):
        dates = [_text(_LEFT + _PLOT / 2, y, day(axis.first), "middle")]
    described = html_text(one_line(label))
    body = "".join([*parts, *dates])
    return markup(f'<svg viewBox="0 0 {_WIDTH} {bottom + _FOOT:.0f}" role="img" aria-label="{described}">{body}</svg>')


def _grid() -> Iterator[str]:
    for share, words in _SHARES:
        y = _height(share)
        yield f'<path class="grid" d="M{_LEFT} {y:.1f}H{_WIDTH - _RIGHT}"/>'
        yield _text(_LEFT - 5, y + 4, words, "end")


def _height(share: float) -> float:
    return _TOP + _RATE * (1 - share)


def _rates(points: Sequence[TrendPoint], axis: TimeAxis) -> Iterator[str]:
    """The intervals of all points, and a dot for each."""
    shown = [(point, point.rate, point.interval) for point in points if point.rate is not None and point.interval]
    lines = "".join(
        f"M{axis.middle(point):.1f} {_height(high):.1f}V{_height(low):.1f}" for point, _, (low, high) in shown
    )
    if lines:
        yield f'<path class="interval" d="{lines}"/>'
    for point, rate, _ in shown:
        when = html_text(f"{days(axis.runs, point.first, point.last)}: {point_rate(point)}")
        yield f'<circle class="point" cx="{axis.middle(point):.1f}" cy="{_height(rate):.1f}" r="3">'
        yield f"<title>{when}</title></circle>"


def _columns(
    y: float,
    title: str,
    values: Sequence[tuple[float, float]],
    words: Callable[[float], str],
    height: float = _STRIP,
) -> Iterator[str]:
    """A column for each value from zero, below the title; the largest value is written."""
    most = max(value for _, value in values)
    bottom = y + height
    width = min(_ONE_COLUMN, max(1.5, 0.6 * _PLOT / max(1, len(values))))
    lines = "".join(
        f"M{x:.1f} {bottom:.1f}V{bottom - height * (value / most if most else 0):.1f}" for x, value in values
    )
    yield f'<path class="grid" d="M{_LEFT} {bottom:.1f}H{_WIDTH - _RIGHT}"/>'
    yield f'<path class="columns" stroke-width="{width:.1f}" d="{lines}"/>'
    yield _text(_LEFT, y - 4, f"{title}, up to {words(most)}", "start")


def _marks(line: TrendLine, axis: TimeAxis, panels: Sequence[tuple[float, float]]) -> Iterator[str]:
    """A dashed line through all panels where something changed, with its number in the list below the chart."""
    last = -float(_BADGE)
    for number, mark in enumerate(line.marks, start=1):
        x = axis.x(axis.runs[mark.run].at)
        lines = "".join(f"M{x:.1f} {top:.1f}V{bottom:.1f}" for top, bottom in panels)
        yield f'<path class="change" d="{lines}"/>'
        if x - last >= _BADGE:
            yield f'<text class="number" x="{x:.1f}" y="{_TOP - 7}" text-anchor="middle">{number}</text>'
            last = x


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{html_text(text)}</text>'


# --- the view -----------------------------------------------------------------------------------------

_RUN_ON_GITHUB = re.compile(r"(https?://[^/\s]+/[^/\s]+/[^/\s]+)/actions/runs/[0-9]+(?:/.*)?")


@record
class Linked:
    """A text with the address that it leads to; empty: to none."""

    text: Markup
    link: Markup = NOTHING


@record
class PointRow:
    """A point of a chart as a row of its table."""

    when: Linked
    runs: Markup
    rate: Markup
    cost: Markup
    time: Markup
    commit: Linked


@record
class MarkRow:
    """A mark of a chart: its number, when, at which commit, and what changed."""

    number: Markup
    when: Markup
    commit: Linked
    changes: tuple[Markup, ...]


@record
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


@record
class TrendSuite:
    """A suite: a chart for each runner, and one for each case on each."""

    id: Markup
    path: Markup
    count: Markup
    groups: tuple[Card, ...]
    cases: tuple[Card, ...]


@record
class DifferenceRow:
    """An execution in both halves."""

    execution: Linked
    suite: Markup
    runner: Markup
    earlier: Markup
    later: Markup
    difference: Markup
    changed: Markup


@record
class RunRow:
    """A run."""

    when: Linked
    commit: Linked


@record
class CostCard:
    """The chart of the cost of all sessions."""

    chart: Markup
    marks: tuple[MarkRow, ...]
    marks_left_out: Markup


@record
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
    marks = tuple(_mark_rows(line, trend.history.runs))
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
        marks=tuple(_mark_rows(line, runs)),
        marks_left_out=_more(line.marks_left_out, "change"),
        rows=tuple(_row(point, runs) for point in reversed(line.points)),
        rows_left_out=_more(line.points_left_out, "point"),
    )


def _mark_rows(line: TrendLine, runs: Sequence[TrendRun]) -> Iterator[MarkRow]:
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
