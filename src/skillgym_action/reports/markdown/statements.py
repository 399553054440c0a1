"""Renders statements for report templates: lists, tables and remarks, as many lines as fit. All text is escaped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillgym_action.model.records import record
from skillgym_action.reports.markdown.rows import code, inline, left_out, linked, while_it_fits
from skillgym_action.reports.template_values import NOTHING, markup
from skillgym_action.reports.wording.results import runner_id
from skillgym_action.reports.wording.statements import Cell, Share

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from markupsafe import Markup

    from skillgym_action.reports.markdown.rows import RowBudget, Rows
    from skillgym_action.reports.wording.statements import Section, Statement, Topic

MARKS: dict[str, str] = {
    "newly-failing": "❌",
    "unexpected": "❗",
    "fails": "❌",
    "fails-now": "❌",
    "fails-as-before": "❌",
    "fixed": "✅",
    "flaky": "🔀",
    "no-result": "⚠️",
    "skipped": "⏭️",
    "expected": "☑️",
    "passes": "✅",
    "passes-as-before": "✅",
    "passes-now": "✅",
}
NO_BREAK = "\u00a0"
# Characters that a template adds to a line, to a row, to a title, to a remark, and to a folded list. Estimates: they
# only save another rendering.
_LINE, _CELLS, _TITLE, _REMARK, _FOLDED = 18, 30, 8, 12, 60


@record
class Table:
    """A table: ``rule`` is the line of dashes below the head."""

    head: tuple[Markup, ...] = ()
    rule: Markup = NOTHING
    rows: tuple[tuple[Markup, ...], ...] = ()
    left_out: Markup = NOTHING


@record
class Block:
    """A title with lines below it, and folded ``lists``; ``left_out`` counts what is without room."""

    title: Markup = NOTHING
    lines: tuple[Markup, ...] = ()
    lists: tuple[Block, ...] = ()
    left_out: Markup = NOTHING


NO_TABLE, NO_LINES = Table(), Block()


def said(statement: Statement) -> Markup:
    """A statement, escaped."""
    match statement:
        case Share():
            return markup(statement.marked(MARKS.get(statement.sign, ""), "**", NO_BREAK))
        case Cell(words, "own"):
            return markup(words)
        case Cell(words, "name"):
            return code(words)
        case Cell("", "number" | "strong"):
            return markup("—")
        case Cell(words, style):
            number = words.replace(" ", NO_BREAK)
            return markup(f"**{number}**" if style == "strong" else number)
        case text:
            return inline(text)


def block(
    title: Markup, lines: Iterable[Markup], number: int, budget: RowBudget, *, noun: str = "line", size: int = _LINE
) -> Block:
    """As many ``lines`` as there is room for, of ``number``. ``size``: what a template adds to each."""
    shown = while_it_fits(lines, budget, size, lambda line: (line,))
    return Block(title=title, lines=shown, left_out=left_out(number - len(shown), noun))


def list_of(section: Section, rows: Rows, budget: RowBudget, *, size: int = _LINE) -> Block:
    """A line for each topic."""
    if not section:
        return NO_LINES
    lines = (_line(topic, rows) for topic in section.topics(rows.extent.lines))
    return block(markup(section.title), lines, len(section), budget, size=size)


def _line(topic: Topic, rows: Rows) -> Markup:
    title = (rows.case(topic.result), code(runner_id(topic.result))) if topic.result else (_title(topic),)
    link = linked(markup(topic.link.words), topic.link.address) if topic.link else NOTHING
    return markup(" · ").join(filter(None, (*title, *map(said, topic.cells), link)))


def _title(topic: Topic) -> Markup:
    return NOTHING.join(map(said, topic.title))


def table_of(section: Section, budget: RowBudget) -> Table:
    """A row for each topic. Numbers are at the right."""
    rows = while_it_fits((tuple(map(said, topic.cells)) for topic in section.topics()), budget, _CELLS, tuple)
    right = (
        isinstance(cell, Cell) and cell.style in {"number", "strong"} for cell in next(section.topics(1)).cells[1:]
    )
    return Table(
        head=tuple(map(inline, section.head)),
        rule=markup("|---|" + "".join("--:|" if number else "---|" for number in right)),
        rows=rows,
        left_out=left_out(len(section) - len(rows), section.noun),
    )


def remarks_of(section: Section, budget: RowBudget) -> Iterator[Block]:
    """The remarks and the lists of each topic that has remarks."""
    for topic in section.topics():
        title = _title(topic)
        if topic.remarks and budget.take((title,), _TITLE):
            lines = while_it_fits(map(inline, topic.remarks), budget, _REMARK, lambda line: (line,))
            yield Block(title=title, lines=lines, lists=tuple(_lists(topic, budget)))


def _lists(topic: Topic, budget: RowBudget) -> Iterator[Block]:
    for one in topic.lists:
        if not budget.take((inline(one.title),), _FOLDED):
            return
        lines = while_it_fits(map(inline, one.lines), budget, _REMARK, lambda line: (line,))
        rest = left_out(one.more + len(one.lines) - len(lines), one.noun)
        yield Block(title=inline(one.title), lines=(*lines, *filter(None, (rest,))))
