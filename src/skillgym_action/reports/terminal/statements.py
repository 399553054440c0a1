"""Renders statements as lines for a terminal, which may be a job log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillgym_action.reports.wording.results import case_name, runner_id
from skillgym_action.reports.wording.statements import Cell, Share, words_of
from skillgym_action.text.escaping import clipped, terminal_line
from skillgym_action.text.words import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillgym_action.model.result import Result
    from skillgym_action.reports.wording.statements import Section, Statement, Topic

MAX_NAME_COLUMNS = 40  # characters of a name in a table
MARKS = {
    "newly-failing": "✗",
    "unexpected": "✗",
    "fails": "✗",
    "fails-now": "✗",
    "fails-as-before": "✗",
    "fixed": "✓",
    "flaky": "~",
    "no-result": "?",
    "skipped": "-",
    "expected": "✓",
    "passes": "✓",
    "passes-as-before": "✓",
    "passes-now": "✓",
}


def said(section: Section, most: int | None = None) -> Iterator[str]:
    """Lines for the first ``most`` topics with their sentences, the number of the others, and an empty line."""
    word = f"{section.word} " if section.word else ""
    for topic in section.topics(most):
        yield f"{word}{topic_line(topic)}\n"
        sentences = (*topic.sentences, *topic.remarks, *(one.in_words() for one in topic.lists))
        yield from (f"    {terminal_line(sentence)}\n" for sentence in sentences)
    if most and (more := len(section) - most) > 0:
        yield f"{word}{more:,} more\n" if word else f"and of {counted(more, section.noun)}\n"
    if section.closing:
        yield f"{word}took {terminal_line(section.closing)}\n"
    yield "\n" if section else ""


def table(section: Section) -> Iterator[str]:
    """The rows of a table in columns, and an empty line; nothing without rows."""
    rows = [section.head, *(tuple(map(_cell, topic.cells)) for topic in section.topics())]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows if section else ():
        cells = (cell + " " * (width - len(cell)) for cell, width in zip(row, widths, strict=True))
        yield f"  {'  '.join(cells)}".rstrip() + "\n"
    yield "\n" if section else ""


def _cell(statement: Statement) -> str:
    match statement:
        case Share():
            return statement.marked(MARKS.get(statement.sign, ""))
        case Cell(words):
            return words or "—"
        case text:
            return clipped(terminal_line(text), MAX_NAME_COLUMNS)


def topic_line(topic: Topic) -> str:
    """What it is about, and its facts."""
    if topic.result:
        return f"{execution(topic.result)} {terminal_line(topic.facts())}"
    link = f" ({terminal_line(topic.link.address)})" if topic.link else ""
    return terminal_line("".join(map(words_of, topic.title))) + link


def execution(result: Result) -> str:
    """``edit [claude]``."""
    return f"{terminal_line(case_name(result))} [{terminal_line(runner_id(result))}]"
