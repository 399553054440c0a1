"""Charts of the trend page as inline SVG: rates with intervals, costs and times along the same axis of time.

Nothing is drawn between the points: what was not run is not known. Every number of a chart is in the table below it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillgym_action.reporters.template_values import markup
from skillgym_action.reporters.trend_wording import day, days, point_rate
from skillgym_action.reporters.wording import counted, duration, money
from skillgym_action.text.escaping import html_text, one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime

    from markupsafe import Markup

    from skillgym_action.model.trend import TrendLine, TrendPoint, TrendRun

_WIDTH, _LEFT, _RIGHT = 400, 44, 12  # pixels
_TOP, _RATE, _STRIP, _GAP, _FOOT = 18, 88, 26, 26, 20  # heights: of marks, rates, a strip of columns, its title, dates
_PLOT = _WIDTH - _LEFT - _RIGHT
_BADGE = 12  # pixels between the numbers of two marks
_SHARES = ((1.0, "100 %"), (0.5, "50 %"), (0.0, "0 %"))
_ONE_COLUMN = 6  # pixels, at most


@dataclass(frozen=True, kw_only=True, slots=True)
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
    """The rates of a line, the mean cost of a session if it is known, and its mean time. ``subject``: what it is of."""
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
