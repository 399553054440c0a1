"""Renders statements for the HTML report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from skillgym_action.model.limits import MAX_HTML_LISTED
from skillgym_action.model.records import record
from skillgym_action.reports.html.parts import Named, inline, left_out, named
from skillgym_action.reports.wording.statements import Cell, words_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from markupsafe import Markup

    from skillgym_action.reports.wording.statements import Listing, Section, Statement

_COLUMNS = ("suite", "runner", "arms", "shares", "uplift", "verdict")


@record
class ArmRow:
    """A comparison of two arms on one runner.

    ``more``: statements beside shares and uplift, a sentence each; ``lists``: titles, each with lines.
    """

    suite: Markup
    runner: Markup
    arms: Markup
    shares: Markup
    uplift: Markup
    verdict: Markup
    more: tuple[Markup, ...]
    lists: tuple[tuple[Markup, tuple[Markup, ...]], ...]


def said(statement: Statement) -> Markup:
    """A statement, escaped."""
    match statement:
        case Cell(words, "number" | "strong"):
            return inline(words or "—")
        case _:
            return inline(words_of(statement))


def executions(section: Section) -> tuple[Named, ...]:
    """A row for each execution; the first ones, if there are many."""
    topics = section.topics(MAX_HTML_LISTED)
    return tuple(named(topic.result, topic.facts()) for topic in topics if topic.result)


def arm_rows(section: Section) -> Iterator[ArmRow]:
    """A row for each comparison; the first ones, if there are many."""
    for topic in section.topics(MAX_HTML_LISTED):
        cells: dict[str, Any] = dict(zip(_COLUMNS, map(said, topic.cells), strict=True))
        yield ArmRow(**cells, more=tuple(map(inline, topic.remarks)), lists=tuple(map(_list, topic.lists)))


def _list(listing: Listing) -> tuple[Markup, tuple[Markup, ...]]:
    rest = left_out(listing.more, listing.noun)
    return inline(listing.title), (*map(inline, listing.lines), *filter(None, (rest,)))
