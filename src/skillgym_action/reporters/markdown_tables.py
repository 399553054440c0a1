"""The tables of a report template's view: runners, cases on runners, and what passed. All text is escaped."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillgym_action.limits import MAX_MATRIX_CASES, MAX_MATRIX_RUNNERS
from skillgym_action.model.samples import is_flaky, samples_of
from skillgym_action.model.verdicts import Status
from skillgym_action.reporters.markdown_budget import left_out, while_it_fits
from skillgym_action.reporters.markdown_figures import NO_BREAK, SIGNS, WORDS
from skillgym_action.reporters.markdown_rows import code
from skillgym_action.reporters.rate_wording import rate_cell
from skillgym_action.reporters.template_values import NOTHING, markup
from skillgym_action.reporters.wording import RED, amount, counted, duration, money

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markupsafe import Markup

    from skillgym_action.model.result import Result
    from skillgym_action.model.totals import Totals
    from skillgym_action.reporters.markdown_budget import RowBudget
    from skillgym_action.reporters.markdown_figures import ReportTotals
    from skillgym_action.reporters.markdown_rows import Row, Rows

_CELLS = 30  # characters that a template adds to a row
_UNKNOWN = frozenset({"", "—", "unknown"})
Cells = tuple["Markup", ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Table:
    """A table: ``rule`` is the line of dashes below the head."""

    head: Cells = ()
    rule: Markup = NOTHING
    rows: tuple[Cells, ...] = ()
    left_out: Markup = NOTHING


NO_TABLE = Table()


def _rule(text_columns: int, number_columns: int) -> Markup:
    return markup("|" + "---|" * text_columns + "--:|" * number_columns)


def _known(head: Sequence[str], rows: Sequence[Cells]) -> list[int]:
    """The columns of which at least one cell says something."""
    return [number for number in range(len(head)) if any(str(row[number]) not in _UNKNOWN for row in rows)]


# --- runners ------------------------------------------------------------------------------------------


def runners_table(figures: ReportTotals, budget: RowBudget) -> Table:
    """A row per runner, and their sum, unless that is the same. Columns without a known value are left out."""
    if not figures.totals.executions:
        return NO_TABLE
    words = ["Runner", "Passed", "Failed", "Other", f"Pass{NO_BREAK}rate [95{NO_BREAK}%]", "Cost", "Tokens", "Time"]
    total = _sums(markup("All"), figures.totals)
    shown = _known(words, [total])
    lines = (_sums(code(name) or markup("—"), totals) for name, totals in figures.runner_totals.items())
    few = (tuple(cells[number] for number in shown) for cells in lines)
    rows = while_it_fits(few, budget, _CELLS, tuple)
    missing = len(figures.runner_totals) - len(rows)
    if len(rows) != 1 or missing:
        sums = (markup("<br>").join(f"**{line}**" for line in total[number].split("<br>") if line) for number in shown)
        rows = (*rows, tuple(map(markup, sums)))
    return Table(
        head=tuple(markup(words[number]) for number in shown),
        rule=markup("|" + "".join("---|" if number in (0, 3) else "--:|" for number in shown)),
        rows=rows,
        left_out=left_out(missing, "runner"),
    )


def _sums(name: Markup, totals: Totals) -> Cells:
    """The cells of a row. What neither passed nor failed shares a cell, so that the table is narrow."""
    counts = [f"{totals.counts[status]:,}" for status in (Status.PASSED, Status.FAILED)]
    others = [status for status in SIGNS if status not in (Status.PASSED, Status.FAILED) and totals.counts[status]]
    other = "<br>".join(f"{totals.counts[status]:,}{NO_BREAK}{WORDS[status]}" for status in others)
    cost = money(totals.cost_usd, complete=totals.cost_complete).replace(" ", NO_BREAK)
    time = re.sub(r"(\d) ", rf"\1{NO_BREAK}", duration(totals.duration_ms))  # may break between its units
    rate, tokens = rate_cell(totals).replace(" ", NO_BREAK), amount(totals.tokens.total_tokens)
    return (name, *map(markup, (*counts, other, rate, cost, tokens, time)))


# --- cases on runners ---------------------------------------------------------------------------------


def matrix(figures: ReportTotals, rows: Rows, budget: RowBudget) -> Table:
    """A row per case and a column per runner, those with a failure first; none for a single runner."""
    runners = [runner.id for runner in figures.report.runners]
    if len(runners) < 2:  # noqa: PLR2004
        return NO_TABLE
    cases: dict[tuple[str, str], dict[str, Result]] = {}
    for result in figures.report.results:
        if result.runner:
            cases.setdefault((result.suite.path, result.case_id), {})[result.runner.id] = result
    ordered = sorted(cases.values(), key=lambda own: not _is_red(own))
    columns = runners[:MAX_MATRIX_RUNNERS]
    lines = (_case_line(own, columns, rows) for own in ordered[:MAX_MATRIX_CASES])
    shown = while_it_fits(lines, budget, _CELLS, tuple)
    missing = ordered[len(shown) :]
    return Table(
        head=tuple(map(markup, ("Case", *(code(runner) for runner in columns)))),
        rule=_rule(1 + len(columns), 0),
        rows=shown,
        left_out=_left_out_of_matrix(missing, len(runners) - len(columns)),
    )


def _is_red(own: dict[str, Result]) -> bool:
    return any(result.status in RED for result in own.values())


def _case_line(own: dict[str, Result], columns: Sequence[str], rows: Rows) -> Cells:
    first = next(iter(own.values()))
    return (rows.case(first), *(_cell(own.get(runner), rows) for runner in columns))


def _cell(result: Result | None, rows: Rows) -> Markup:
    if result is None:
        return markup("not run")
    samples = samples_of(result, rows.repetitions)
    words = [f"{SIGNS[result.status]}{NO_BREAK}{WORDS[result.status].replace(' ', NO_BREAK)}"]
    words += [f"{samples} sessions".replace(" ", NO_BREAK)] if samples.judged > 1 else []
    words += ["flaky"] if is_flaky(result, rows.repetitions) else []
    words += ["**new**"] if result.index in rows.newly_failing else []
    return markup(", ".join(words))


def _left_out_of_matrix(missing: Sequence[dict[str, Result]], runners: int) -> Markup:
    parts = []
    if missing:
        words = "" if any(map(_is_red, missing)) else " without a failure"
        parts.append(counted(len(missing), "case") + words)
    if runners > 0:
        parts.append(counted(runners, "runner"))
    return markup(f"{' and '.join(parts)} left out") if parts else NOTHING


# --- what passed --------------------------------------------------------------------------------------


def passed_table(found: Sequence[Row], scores: Markup) -> Table:
    """A row per passing execution. Columns without a known value are left out."""
    if not found:
        return NO_TABLE
    words = ["Case", "Runner", str(scores) or "Score", "Time", "Cost", "Tokens"]
    cells = [(_passed(row), row.runner, row.score, row.time, row.cost, row.tokens) for row in found]
    shown = _known(words, cells)
    return Table(
        head=tuple(markup(words[number]) for number in shown),
        rule=_rule(sum(number < 2 for number in shown), sum(number >= 2 for number in shown)),  # noqa: PLR2004
        rows=tuple(tuple(row[number] for number in shown) for row in cells),
    )


def _passed(row: Row) -> Markup:
    return markup(" · ").join(filter(None, (row.case, row.sessions, row.retries)))
