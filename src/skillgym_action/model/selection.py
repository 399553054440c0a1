"""Which executions of a plan a pull request touches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable

SelectedFor = Literal["input", "declared", "not-mapped", "configuration", "nothing"]
"""What a changed file selects, and why: the cases whose input it is; the suites that ``inputs:`` of the configuration
lists for it; all cases, since no suite names it, or since it is a configuration file; no case."""
SELECTS_ALL: frozenset[SelectedFor] = frozenset({"not-mapped", "configuration"})


@dataclass(frozen=True, kw_only=True, slots=True)
class SelectingFile:
    """A file that differs from the base, relative to the root of the repository; the ``executions`` that it selects."""

    path: str
    reason: SelectedFor
    executions: frozenset[int]


@dataclass(frozen=True, kw_only=True, slots=True)
class SelectionSummary:
    """What reports say of a selection: ``selected`` executions of ``total``, for a ``reason`` in words.

    ``base``: the commit that files were compared with, if there was one. ``left_out``: executions that are not in the
    run, since they were not selected and no earlier result stands for them. ``unstored``: those that ran although they
    were not selected, since the store has no result of them.
    """

    selected: int
    total: int
    reason: str
    base: str | None = None
    left_out: int = 0
    unstored: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class CaseSelection:
    """The selected executions of a plan, by index, of ``total``.

    ``base``: the commit that files were compared with; None: unknown, so that all are selected. ``note``: why all are,
    where that does not follow from a changed file. ``files``: all changed ones, sorted. ``unstored``: executions that
    are not selected, and run since the store has no result of them.
    """

    selected: frozenset[int]
    total: int
    base: str | None = None
    note: str | None = None
    files: tuple[SelectingFile, ...] = ()
    unstored: frozenset[int] = frozenset()

    @property
    def left_out(self) -> int:
        """How many executions are not selected."""
        return self.total - len(self.selected)

    def reasons(self) -> Iterable[SelectingFile]:
        """The files that select something, those first that select most."""
        effective = [file for file in self.files if file.executions]
        return sorted(effective, key=lambda file: (file.reason not in SELECTS_ALL, -len(file.executions), file.path))
