"""How much of a report fits: what is left of a limit, and the parts that there is room for."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, TypeVar

from skillgym_action.limits import (
    MAX_COMMENT_EVIDENCE_CHARACTERS,
    MAX_COMMENT_FAILURES,
    MAX_COMMENT_LINES,
    MAX_COMPARED_CASES,
    MAX_SUMMARY_ANSWER_CHARACTERS,
    MAX_SUMMARY_BYTES,
    MAX_SUMMARY_COMMANDS,
    MAX_SUMMARY_DIFF_CHARACTERS,
    MAX_SUMMARY_EXCERPTS,
)
from skillgym_action.reporters.template_values import NOTHING, markup
from skillgym_action.reporters.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from markupsafe import Markup

Item = TypeVar("Item")


@dataclass(frozen=True, kw_only=True, slots=True)
class ReportExtent:
    """How much of a run a report shows where there is room; None: everything.

    ``failures``: entries in the list of failures; ``lines``: lines of any other list, and executions in one entry;
    ``names``: cases of one kind of change. Of one execution: ``detail``: characters of its assertions with their
    evidence; ``answer`` and ``diff``: characters; ``commands``: the last ones. ``evidence``: characters of all that.
    ``excerpts``: executions with answer, commands and diff. ``whole``: also what is green, and the table of cases.
    """

    failures: int | None = None
    lines: int | None = None
    names: int = MAX_COMPARED_CASES
    detail: int = 1_500
    answer: int = MAX_SUMMARY_ANSWER_CHARACTERS
    commands: int = MAX_SUMMARY_COMMANDS
    diff: int = MAX_SUMMARY_DIFF_CHARACTERS
    evidence: int = MAX_SUMMARY_BYTES
    excerpts: int = MAX_SUMMARY_EXCERPTS
    whole: bool = True


SUMMARY = ReportExtent()
COMMENT = ReportExtent(
    failures=MAX_COMMENT_FAILURES,
    lines=MAX_COMMENT_LINES,
    names=MAX_COMMENT_LINES,
    detail=700,
    answer=300,
    commands=3,
    diff=0,
    evidence=MAX_COMMENT_EVIDENCE_CHARACTERS,
    excerpts=MAX_COMMENT_FAILURES,
    whole=False,
)


@dataclass(slots=True)
class RowBudget:
    """What is left of a limit. Once something has not fitted, nothing does: reports lose whole rows, from the end."""

    left: int
    measure: Callable[[str], int] = len
    full: bool = False

    def take(self, strings: Iterable[str], overhead: int) -> bool:
        """Reserve the size of ``strings``, and the ``overhead`` that a template adds to them; whether it fits."""
        return self._reserve(overhead + self.size(strings))

    def grow(self, before: Iterable[str], after: Iterable[str], overhead: int) -> bool:
        """Reserve the size of ``after`` instead of that of ``before``; whether it fits."""
        return self._reserve(overhead + self.size(after) - self.size(before))

    def size(self, strings: Iterable[str]) -> int:
        """The size of all ``strings``: ``measure`` returns the same for them together as for one after the other."""
        return self.measure("".join(strings))

    def _reserve(self, size: int) -> bool:
        self.full = self.full or size > self.left
        if not self.full:
            self.left -= size
        return not self.full

    @contextmanager
    def within(self, most: int) -> Iterator[RowBudget]:
        """A budget of at most ``most`` of this one; this one is full if it is what has run out."""
        part = RowBudget(min(most, self.left), self.measure, self.full)
        bounded, first = part.left < self.left, part.left
        yield part
        self.left -= first - part.left
        self.full = self.full or (part.full and not bounded)

    @contextmanager
    def part(self, share: float) -> Iterator[RowBudget]:
        """A budget of at most ``share`` of this one; what it does not use is returned to this one."""
        part = RowBudget(int(self.left * share), self.measure)
        self.left -= part.left
        yield part
        self.left += part.left


def while_it_fits(
    items: Iterable[Item], budget: RowBudget, overhead: int, strings: Callable[[Item], Iterable[str]]
) -> tuple[Item, ...]:
    """The items until one does not fit; those after it are not even made."""
    return () if budget.full else tuple(takewhile(lambda item: budget.take(strings(item), overhead), items))


def left_out(number: int, noun: str) -> Markup:
    """``12 rows left out``; empty for none."""
    return markup(f"{counted(number, noun)} left out") if number else NOTHING
