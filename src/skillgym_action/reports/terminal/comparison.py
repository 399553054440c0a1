"""Reporter: two runs side by side on a terminal: what else differs, rates, cost and time, which executions changed."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from skillgym_action.model.comparison import is_flaky
from skillgym_action.model.limits import COMMIT_CHARACTERS, MAX_COMPARED_CASES
from skillgym_action.reports.terminal.statements import execution, topic_line
from skillgym_action.reports.terminal.terminal import TONES
from skillgym_action.reports.wording.first_glance import FirstGlance
from skillgym_action.reports.wording.rates import (
    OTHER_CASES_NOTE,
    changes,
    rate_cell,
    rates_compared,
)
from skillgym_action.reports.wording.results import runner_id
from skillgym_action.results.statistics.comparison import difference
from skillgym_action.text.escaping import terminal_line
from skillgym_action.text.words import amount, counted, duration, money

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from skillgym_action.model.comparison import Comparison
    from skillgym_action.model.report import RunReport
    from skillgym_action.model.result import Result
    from skillgym_action.model.totals import Totals

HEAD = ("", "pass rate", "cost", "tokens", "time")
EMPTY = ("unknown → unknown", "— → —")  # a column with nothing else is left out


def render(base: RunReport, head: RunReport, *, color: bool = False) -> Iterator[str]:
    """``head``, which has the comparison with ``base``; the last piece is the verdict. Raises ValueError without it."""
    comparison = head.comparison
    if comparison is None:
        raise ValueError("the report is not compared with anything")
    yield f"base {_run(base)}\nhead {_run(head)}\n\n"
    if comparison.differences:
        yield from _lines("differs", [terminal_line(difference(found)) for found in comparison.differences])
        yield "\n"
    yield from _table(base, head)
    before, after = rates_compared(comparison)
    yield f"\n{before}base{after}\n\n"
    changes = "".join(_changes(base, head, comparison))
    yield f"{changes}\n" if changes else ""
    yield _verdict(head, color=color)


def _run(report: RunReport) -> str:
    totals = report.totals()
    commit = f", commit {report.commit[:COMMIT_CHARACTERS]}" if report.commit else ""
    sessions = counted(sum(len(result.attempts) for result in report.results), "session")
    executions = counted(totals.executions, "execution")
    return terminal_line(f"{report.id}{commit}: {executions}, {sessions}, started {report.started_at}")


def _table(base: RunReport, head: RunReport) -> Iterator[str]:
    """A row for all runners, and for each if there are several; cells are ``before → after``."""
    names = list(dict.fromkeys(runner.id for report in (base, head) for runner in report.runners))
    rows = [HEAD, _row("all runners", base.totals(), head.totals())]
    if len(names) > 1:
        for name in names:
            before, after = (_totals(report, name) for report in (base, head))
            rows.append(_row(terminal_line(name), before, after))
    shown = [column for column in range(len(HEAD)) if any(row[column] not in EMPTY for row in rows[1:])]
    rows = [tuple(row[column] for column in shown) for row in rows]
    widths = [max(len(row[column]) for row in rows) for column in range(len(shown))]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() + "\n"
    if any("†" in row[1] for row in rows):
        yield f"{OTHER_CASES_NOTE}\n"


def _totals(report: RunReport, runner: str) -> Totals:
    return report.totals(lambda result: runner_id(result) == runner)


def _row(name: str, before: Totals, after: Totals) -> tuple[str, ...]:
    cells = (
        [rate_cell(totals) for totals in (before, after)],
        [money(totals.cost_usd, complete=totals.cost_complete) for totals in (before, after)],
        [amount(totals.tokens.total_tokens) for totals in (before, after)],
        [_time(totals) for totals in (before, after)],
    )
    return name, *(" → ".join(cell) for cell in cells)


def _time(totals: Totals) -> str:
    return duration(totals.duration_ms) if totals.executions or totals.duration_ms else "—"


def _changes(base: RunReport, head: RunReport, comparison: Comparison) -> Iterator[str]:
    for section in islice(changes(comparison), 3):
        yield from _lines(section.title, list(map(topic_line, section.topics())))
    results: tuple[tuple[str, Sequence[Result]], ...] = (
        ("flaky in base", _flaky(base)),
        ("flaky in head", _flaky(head)),
        ("judged in base, not in head", comparison.no_longer_judged),
        ("with a different prompt, assertion or expectation, not compared", comparison.redefined),
        ("only in head", comparison.added),
        ("only in base", comparison.removed),
    )
    for title, several in results:
        yield from _lines(title, list(map(execution, several)))


def _flaky(report: RunReport) -> list[Result]:
    return [result for result in report.results if is_flaky(result, report.sampled_repetitions)]


def _lines(title: str, names: Sequence[str]) -> Iterator[str]:
    """A line per name, at most ``MAX_COMPARED_CASES``, then how many more there are."""
    for name in names[:MAX_COMPARED_CASES]:
        yield f"{title}: {name}\n"
    if (more := len(names) - MAX_COMPARED_CASES) > 0:
        yield f"{title}: {more:,} more\n"


def _verdict(head: RunReport, *, color: bool) -> str:
    glance = FirstGlance(head)
    sign, shade = TONES[glance.tone]
    title = f"{sign} {terminal_line(glance.title)}"
    lines = [f"\x1b[1;{shade}m{title}\x1b[0m" if color else title]
    lines += [f"  {terminal_line(text)}" for text in (glance.news(), glance.others()) if text]
    lines += [f"  {terminal_line(one)}" for one in glance.reasons()]
    return "\n".join(lines) + "\n"
