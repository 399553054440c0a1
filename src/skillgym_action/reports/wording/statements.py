"""What reports say, before it is escaped. A family of facts makes a section; a renderer per output escapes and cuts it.

The renderers are the modules ``statements`` in ``terminal``, ``markdown`` and ``html``.
"""

from __future__ import annotations

from itertools import starmap
from typing import TYPE_CHECKING, Any, Literal

from skillgym_action.model.records import record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from skillgym_action.model.result import Result

MAX_LISTING_LINES = 10  # lines of a listing


@record(kw_only=False)
class Cell:
    """Words that are not plain text. Those of ``own``, ``number`` and ``strong`` are the tool's, so never untrusted.

    ``name``: an identifier; ``number``: digits with units, empty if there is none; ``strong``: the number that matters.
    """

    words: str
    style: Literal["own", "name", "number", "strong"]


@record(kw_only=False)
class Link:
    """``words`` of the tool's own, for outputs with links; others show the ``address``."""

    words: str
    address: str


@record
class Share:
    """How many attempts passed, ``5/5``, and what it was ``before`` if that has changed, all of the tool's own words.

    ``sign``: what became of the result, a key of ``first_glance.KINDS``; empty for sums.
    ``strong``: a sum, or a change.
    """

    words: str
    before: str = ""
    sign: str = ""
    note: str = ""
    strong: bool = False

    def marked(self, sign: str, emphasis: str = "", space: str = " ") -> str:
        """``❌ 5/5 → **0/5**, flaky``: with a sign, what emphasis begins and ends with, and a space that holds."""
        mark = emphasis if self.strong else ""
        after = f"{mark}{self.words}{mark}"
        after = f"{self.before} →{space}{after}" if self.before else after
        return f"{sign}{space if sign else ''}{after}{f', {self.note}' if self.note else ''}"


Statement = str | Cell | Share
"""A text is plain, and untrusted."""


@record(kw_only=False)
class Listing:
    """A title, the first of several ``lines``, and how many ``more`` there are; ``noun``: what they are."""

    title: str
    lines: tuple[str, ...]
    more: int
    noun: str

    @classmethod
    def of(cls, title: str, names: Sequence[str], noun: str) -> Listing:
        """The listing of these names."""
        return cls(title, tuple(names[:MAX_LISTING_LINES]), max(0, len(names) - MAX_LISTING_LINES), noun)

    def in_words(self) -> str:
        """``fixed: a; b; and 3 more``."""
        return f"{self.title}: {'; '.join(self.lines)}" + (f"; and {self.more:,} more" if self.more else "")


@record
class Topic:
    """``cells``: what a row of a table has, or what follows the execution of ``result``, or ``title``, on its line.

    ``sentences``: the same as the row; ``remarks``, ``lists``: what is said besides.
    """

    result: Result | None = None
    title: tuple[Statement, ...] = ()
    cells: tuple[Statement, ...] = ()
    link: Link | None = None
    sentences: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    lists: tuple[Listing, ...] = ()

    def facts(self) -> str:
        """The cells and the address in one phrase."""
        words = "; ".join(words_of(cell) for cell in self.cells)
        return f"{words}, {self.link.address}" if self.link else words


@record
class Section:
    """``about``: facts; ``topic`` makes a topic of each, as an output asks for it.

    ``word``: what its lines begin with, if anything; ``title`` has the number of facts; ``noun``: what a fact is.
    ``head``: of the table, if it is one. ``closing``: what all of it took.
    """

    about: Sequence[tuple[Any, ...]]
    topic: Callable[..., Topic]
    word: str = ""
    title: str = ""
    noun: str = ""
    explanation: str = ""
    head: tuple[str, ...] = ()
    closing: str = ""

    def __len__(self) -> int:
        return len(self.about)

    def topics(self, most: int | None = None) -> Iterator[Topic]:
        """The first ``most`` topics; None: all."""
        return starmap(self.topic, self.about[:most])


def words_of(statement: Statement) -> str:
    """The words without their style."""
    if isinstance(statement, Share):
        return statement.marked("")
    return statement.words if isinstance(statement, Cell) else statement
