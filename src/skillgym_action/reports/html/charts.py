"""Charts of the HTML report as inline SVG: rates with intervals, costs, distributions, failure classes.

Colours are classes of the style sheet. Every chart has its numbers as text, too: in labels, or in its description.
"""

from __future__ import annotations

from collections import Counter
from math import floor, log10
from statistics import median
from typing import TYPE_CHECKING

from markupsafe import Markup

from skillgym_action.model.records import record
from skillgym_action.model.verdicts import GREEN, Status
from skillgym_action.reports.wording.rates import OTHER_CASES_NOTE, format_interval
from skillgym_action.results.statistics.rates import MIN_CASES, population_rate, same_cases_rate
from skillgym_action.text.escaping import clipped, html_text, one_line
from skillgym_action.text.words import amount, counted, duration, money, percent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from skillgym_action.model.result import Result
    from skillgym_action.model.totals import Totals
    from skillgym_action.results.statistics.rates import RateEstimate

MAX_CHART_POINTS = 2_000  # sessions that a chart shows one by one
_WIDTH, _LEFT, _RIGHT, _ROW = 640, 190, 130, 30  # pixels
_LABEL = 26  # characters
_PLOT = _WIDTH - _LEFT - _RIGHT
_JITTER = (0, -5, 5, -2.5, 2.5, -7, 7)  # pixels by which points of one row are moved apart
_MAX_CLASSES = 12


@record
class Chart:
    """A figure: its title, what it shows in a sentence, and the picture."""

    title: Markup
    note: Markup
    svg: Markup


def charts_of(results: Sequence[Result], by_runner: Mapping[str, Totals]) -> tuple[Chart, ...]:
    """The charts that the results have data for."""
    found = (
        _rates(by_runner),
        _costs(by_runner),
        _spread(
            "Duration of sessions",
            {
                runner: [attempt.duration_ms / 1000 for result in own for attempt in result.attempts]
                for runner, own in _by_runner(results).items()
            },
            lambda seconds: duration(round(seconds * 1000)),
        ),
        _spread(
            "Tokens of executions",
            {
                runner: [float(result.usage.total_tokens) for result in own if result.usage.total_tokens]
                for runner, own in _by_runner(results).items()
            },
            lambda tokens: amount(round(tokens)),
        ),
        _classes(results),
    )
    return tuple(chart for chart in found if chart)


def _by_runner(results: Sequence[Result]) -> dict[str, list[Result]]:
    found: dict[str, list[Result]] = {}
    for result in results:
        if result.runner:
            found.setdefault(result.runner.id, []).append(result)
    return found


def _estimates(by_runner: Mapping[str, Totals]) -> dict[str, tuple[RateEstimate, bool]]:
    """The pass rate of each runner, and whether its cases are too few to speak of others."""
    found = {}
    for runner, totals in by_runner.items():
        if totals.cases:
            few = len(totals.cases) < MIN_CASES
            found[runner] = (same_cases_rate(totals.cases) if few else population_rate(totals.cases)), few
    return found


def _rates(by_runner: Mapping[str, Totals]) -> Chart | None:
    found = _estimates(by_runner)
    if not found:
        return None
    parts = [_axis([(0, "0%"), (0.25, "25%"), (0.5, "50%"), (0.75, "75%"), (1, "100%")], len(found))]
    words = []
    for number, (runner, (estimate, few)) in enumerate(found.items()):
        y = _ROW * number + _ROW / 2
        low, high = (_LEFT + _PLOT * bound for bound in estimate.interval)
        shown = f"{percent(estimate.rate)} {format_interval(estimate.interval)}{'†' if few else ''}"
        parts += [
            _label(runner, y),
            f'<line class="whisker" x1="{low:.1f}" x2="{high:.1f}" y1="{y}" y2="{y}"/>',
            f'<circle class="point" cx="{_LEFT + _PLOT * estimate.rate:.1f}" cy="{y}" r="5"/>',
            _text(_WIDTH - _RIGHT + 12, y + 4, shown),
        ]
        words.append(f"{runner} {shown}")
    few_cases = any(few for _, few in found.values())
    note = "Share of sessions that passed, with 95% intervals." + (f" {OTHER_CASES_NOTE}." if few_cases else "")
    return _chart("Pass rate by runner", note, parts, len(found), words)


def _costs(by_runner: Mapping[str, Totals]) -> Chart | None:
    """Cost of an execution against the pass rate, one point for each runner."""
    estimates = _estimates(by_runner)
    found = {
        runner: (totals.cost_usd / totals.executions, estimates[runner][0].rate)
        for runner, totals in by_runner.items()
        if runner in estimates and totals.cost_usd and totals.executions
    }
    if len(found) < 2:  # noqa: PLR2004 - with one runner there is nothing to compare
        return None
    most = _nice(max(cost for cost, _ in found.values()))
    height = 200
    parts, span = [], _WIDTH - 80
    for share in (0, 50, 100):
        y = _height(share / 100, height)
        parts.append(f'<line class="grid" x1="60" x2="{_WIDTH - 20}" y1="{y:.0f}" y2="{y:.0f}"/>')
        parts.append(_text(52, y + 4, f"{share}%", "end"))
    digits = max(2, 2 - floor(log10(most)))
    parts += [
        _text(60 + span * step / 4, height + 24, f"${most * step / 4:,.{digits}f}", "end" if step == 4 else "middle")  # noqa: PLR2004
        for step in range(5)
    ]
    parts.append(_text(60 + span / 2, height + 44, "mean cost of an execution", "middle"))
    words = []
    for number, (runner, (cost, rate)) in enumerate(sorted(found.items(), key=lambda entry: entry[1])):
        x, y = 60 + span * cost / most, _height(rate, height)
        side, shift = ("end", -10) if x > _WIDTH / 2 else ("start", 10)
        parts.append(f'<circle class="point" cx="{x:.1f}" cy="{y:.1f}" r="6"/>')
        parts.append(_text(x + shift, y + (16 if number % 2 else -8), clipped(one_line(runner), _LABEL), side))
        words.append(f"{runner} {percent(rate)} at {money(cost)}")
    note = "Better is higher and further left. Known costs only."
    return _framed("Cost and pass rate", note, parts, height + 54, words)


def _height(share: float, height: int) -> float:
    return 16 + (height - 24) * (1 - share)


def _spread(title: str, values: Mapping[str, Sequence[float]], words: Callable[[float], str]) -> Chart | None:
    """A row of points for each runner, on a logarithmic scale, with a line at the median."""
    found = {runner: [value for value in own if value > 0] for runner, own in values.items()}
    found = {runner: own for runner, own in found.items() if own}
    count = sum(map(len, found.values()))
    if count < 2:  # noqa: PLR2004 - one value is no distribution
        return None
    low, high = _decades([value for own in found.values() for value in own])
    span = high - low
    step = max(1, span // 6)
    ticks = [((power - low) / span, words(10.0**power)) for power in range(low, high + 1, step)]
    parts, medians = [_axis(ticks, len(found))], []
    every = -(-count // MAX_CHART_POINTS)
    for number, (runner, own) in enumerate(found.items()):
        y = _ROW * number + _ROW / 2
        middle = median(own)
        x = _LEFT + _PLOT * (log10(middle) - low) / span
        parts += [_label(runner, y), *_points(own[::every], y, (low, span))]
        parts.append(f'<line class="median" x1="{x:.1f}" x2="{x:.1f}" y1="{y - 11}" y2="{y + 11}"/>')
        parts.append(_text(_WIDTH - _RIGHT + 12, y + 4, f"median {words(middle)}"))
        medians.append(f"{runner} median {words(middle)}, {words(min(own))} to {words(max(own))}")
    unit = "session" if title.startswith("Duration") else "execution"
    note = f"One point for each {unit}, the line is the median; the scale is logarithmic."
    return _chart(title, note, parts, len(found), medians)


def _points(values: Sequence[float], y: float, scale: tuple[int, int]) -> Iterator[str]:
    low, span = scale
    for number, value in enumerate(values):
        x = _LEFT + _PLOT * (log10(value) - low) / span
        yield f'<circle class="dot" cx="{x:.1f}" cy="{y + _JITTER[number % len(_JITTER)]}" r="3"/>'


def _decades(values: Sequence[float]) -> tuple[int, int]:
    low, high = floor(log10(min(values))), floor(log10(max(values))) + 1
    return low, max(high, low + 1)


def _classes(results: Sequence[Result]) -> Chart | None:
    """How many executions failed for which reason."""
    counts: Counter[str] = Counter()
    for result in results:
        if result.status not in GREEN and result.status is not Status.SKIPPED:
            found = result.judgement.failure_class
            counts[found.label if found else str(result.status)] += 1
    if not counts:
        return None
    shown = counts.most_common(_MAX_CLASSES)
    most = shown[0][1]
    parts = []
    for number, (label, count) in enumerate(shown):
        y, width = _ROW * number + _ROW / 2, max(2.0, _PLOT * count / most)
        parts += [
            _label(label, y),
            f'<rect class="bar" x="{_LEFT}" y="{y - 8}" width="{width:.1f}" height="16" rx="3"/>',
            _text(_LEFT + width + 8, y + 4, f"{count:,}"),
        ]
    rest = len(counts) - len(shown)
    note = "Executions that are not green, by class." + (
        f" {counted(rest, 'rarer class', 'rarer classes')} left out." if rest else ""
    )
    words = [f"{label} {count:,}" for label, count in shown]
    return _framed("Failure classes", note, parts, _ROW * len(shown), words)


# --- parts ------------------------------------------------------------------------------------------


def _chart(title: str, note: str, parts: Sequence[str], rows: int, words: Sequence[str]) -> Chart:
    return _framed(title, note, parts, _ROW * rows + 24, words)


def _framed(title: str, note: str, parts: Sequence[str], height: int, words: Sequence[str]) -> Chart:
    described = html_text(f"{title}: {'; '.join(map(one_line, words[:50]))}")
    body = "".join(parts)
    svg = f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{described}">{body}</svg>'
    return Chart(title=Markup(html_text(title)), note=Markup(html_text(note)), svg=Markup(svg))  # noqa: S704


def _axis(ticks: Sequence[tuple[float, str]], rows: int) -> str:
    """Vertical lines with their labels below the rows; positions from 0 to 1."""
    bottom = _ROW * rows
    lines = (
        f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{bottom}"/>{_text(x, bottom + 16, words, "middle")}'
        for position, words in ticks
        for x in [_LEFT + _PLOT * position]
    )
    return "".join(lines)


def _label(text: str, y: float) -> str:
    shown = clipped(one_line(text), _LABEL)
    return _text(_LEFT - 12, y + 4, shown, "end")


def _text(x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{html_text(text)}</text>'


def _nice(value: float) -> float:
    """The next of 1, 2, 2.5 and 5 times a power of ten."""
    unit = 10.0 ** floor(log10(value))
    return next(unit * factor for factor in (1, 2, 2.5, 5, 10) if value <= unit * factor * 1.000001)
