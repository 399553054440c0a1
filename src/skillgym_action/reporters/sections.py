"""Parts of a report template's view: rows of one status, as many and as long as there is room for."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from itertools import groupby, takewhile
from operator import attrgetter
from typing import TYPE_CHECKING, TypeVar

from skillgym_action.model.verdicts import TROUBLES
from skillgym_action.reporters.rows import NAME, NOTHING, Row, code, inline, linked, ours
from skillgym_action.reporters.wording import CHANGES, NAMED, counted, suites_from
from skillgym_action.text.escaping import clipped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from markupsafe import Markup

    from skillgym_action.model.errors import Problem
    from skillgym_action.model.result import Result
    from skillgym_action.model.run_report import RunReport
    from skillgym_action.reporters.fitting import Room
    from skillgym_action.reporters.rows import Rows

# Characters a template adds to a row and to a block; that they are about right saves another try.
_ROW, _MESSAGE, _DETAILS = 18, 6, 55
COMMIT = 12  # characters
Item = TypeVar("Item")


@dataclass(frozen=True, kw_only=True, slots=True)
class Section:
    """Rows of one kind. ``title`` counts all of them, ``left_out`` those without room."""

    title: Markup = NOTHING
    rows: tuple[Row, ...] = ()
    left_out: Markup = NOTHING


@dataclass(frozen=True, kw_only=True, slots=True)
class Group:
    """Errored executions with one cause, and what to do about it."""

    title: Markup
    remedy: Markup
    rows: tuple[Row, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Edit:
    """Unexpected passes whose expectations are written alike; ``lines`` is a block, what to take out of each case."""

    lines: Markup
    rows: tuple[Row, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Block:
    """A title with lines below it; ``left_out`` counts what is without room."""

    title: Markup = NOTHING
    lines: tuple[Markup, ...] = ()
    left_out: Markup = NOTHING


@dataclass(frozen=True, kw_only=True, slots=True)
class ChangedSuites:
    """All of them. ``title`` counts them, ``left_out`` those without room."""

    title: Markup = NOTHING
    suites: tuple[Block, ...] = ()
    left_out: Markup = NOTHING


NO_ROWS, NO_LINES, NO_SUITES = Section(), Block(), ChangedSuites()


def while_room(
    items: Iterable[Item], room: Room, overhead: int, strings: Callable[[Item], Iterable[str]]
) -> tuple[Item, ...]:
    """The items until one does not fit; those after it are not even made."""
    return () if room.full else tuple(takewhile(lambda item: room.holds(strings(item), overhead), items))


def left_out(number: int, noun: str) -> Markup:
    """``12 rows left out``; empty for none."""
    return ours(f"{counted(number, noun)} left out") if number else NOTHING


def section_of(results: Sequence[Result], nouns: tuple[str, str], row: Callable[[Result], Row], room: Room) -> Section:
    """As many rows as there is room for."""
    if not results:
        return NO_ROWS
    rows = while_room(map(row, results), room, _ROW, _cells)
    missing = left_out(len(results) - len(rows), "passing row" if nouns[0] == "passed" else "row")
    return Section(title=ours(counted(len(results), *nouns)), rows=rows, left_out=missing)


def lengthened(section: Section, results: Sequence[Result], row: Callable[[Result], Row], room: Room) -> Section:
    """The section with longer rows, as many of them as there is room for."""
    rows: list[Row] = []
    for result, before in zip(results, section.rows, strict=False):
        after = before if room.full else row(result)
        overhead = _DETAILS if after.detail and not before.detail else _MESSAGE
        rows.append(after if room.grows(_cells(before), _cells(after), overhead) else before)
    return replace(section, rows=tuple(rows))


_cells: Callable[[Row], tuple[Markup, ...]] = attrgetter(*(field.name for field in fields(Row)))


def groups_of(section: Section) -> Iterator[Group]:
    """The rows of an errored section by their cause."""
    remedies = {kind.label: kind.remedy for kind in TROUBLES.values()}
    for label, group in groupby(section.rows, key=lambda row: row.label):
        found = tuple(group)
        yield Group(title=ours(f"{label} ({len(found)})"), remedy=inline(remedies.get(str(label), "")), rows=found)


def edits_of(section: Section) -> Iterator[Edit]:
    """The rows of unexpected passes by what is to be edited."""
    for lines, group in groupby(section.rows, key=lambda row: row.edit):
        yield Edit(lines=lines, rows=tuple(group))


def warnings_of(problems: Sequence[Problem], rows: Rows, room: Room) -> Block:
    """As many warnings as there is room for."""
    if not problems:
        return NO_LINES
    lines = while_room((_warning(problem, rows) for problem in problems), room, _ROW, lambda line: (line,))
    return Block(
        title=ours(counted(len(problems), "warning")),
        lines=lines,
        left_out=left_out(len(problems) - len(lines), "warning"),
    )


def leaks_of(results: Sequence[Result], rows: Rows, room: Room) -> Block:
    """As many executions with keys in what their agent wrote as there is room for."""
    leaking = [result for result in results if result.findings]
    if not leaking:
        return NO_LINES
    lines = while_room(map(rows.leaked, leaking), room, _ROW, lambda line: (line,))
    return Block(
        title=ours(f"{counted(len(leaking), 'execution')} leaked a key"),
        lines=lines,
        left_out=left_out(len(leaking) - len(lines), "line"),
    )


def changed_suites_of(report: RunReport, line: Callable[[Result], Markup], room: Room) -> ChangedSuites:
    """As many suites that are not the base's, and executions of each, as there is room for."""
    changed = [suite for suite in report.suites if suite.changed]
    if not changed:
        return NO_SUITES
    results: dict[str, list[Result]] = {suite.path: [] for suite in changed}
    for result in report.results:
        if result.suite.path in results:
            results[result.suite.path].append(result)
    titles = (ours(f"**{code(suite.path)}** {CHANGES[suite.changed]}") for suite in changed if suite.changed)
    shown = []
    for suite, title in zip(changed, while_room(titles, room, _ROW, lambda title: (title,)), strict=False):
        own = results[suite.path]
        lines = while_room(map(line, own), room, _ROW, lambda line: (line,))
        shown.append(Block(title=title, lines=lines, left_out=left_out(len(own) - len(lines), "row")))
    return ChangedSuites(
        title=ours(counted(len(changed), "suite")),
        suites=tuple(shown),
        left_out=left_out(len(changed) - len(shown), "suite"),
    )


def suites_from_of(report: RunReport, room: Room) -> Block:
    """The commit or the folder, and as many lines as there is room for."""
    told = report.suites_from
    if told is None:
        return NO_LINES
    address = report.links.commit_address(told.commit) if told.commit and report.links else None
    commit = ours(", commit ") + linked(code(told.commit[:COMMIT]), address) if told.commit else NOTHING
    title = ours("Suites and configuration are those of ") + code(clipped(told.folder, NAME)) + commit
    sentences = tuple(suites_from(told))
    lines = while_room((_origins(*one) for one in sentences), room, _ROW, lambda line: (line,))
    return Block(title=title, lines=lines, left_out=left_out(len(sentences) - len(lines), "line"))


def _origins(sentence: str, paths: tuple[str, ...]) -> Markup:
    if not paths:
        return inline(sentence[:1].upper() + sentence[1:])
    names = ours(", ").join(code(clipped(path, NAME)) for path in paths[:NAMED])
    more = ours(f" and {len(paths) - NAMED:,} more") if len(paths) > NAMED else NOTHING
    return inline(f"{counted(len(paths), 'suite')} {sentence}") + ours(": ") + names + more


def _warning(problem: Problem, rows: Rows) -> Markup:
    line = inline(str(replace(problem, location=None)))
    return rows.place(problem.location) + ours(": ") + line if problem.location else line
