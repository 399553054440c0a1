"""Results of earlier runs, kept without a server, and the baseline that is made of them.

A store has one line of JSON for each run, see ``stored_lines``. What reads it may not trust it: anybody who can write
to the branch, the artifact or the folder may have written anything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from skillgym_action.model.records import record

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

STORE_PAGE = "docs/how-to/compare-with-a-baseline.md of skillgym-action"
"""Where users read about stores, for messages."""


class StoreError(Exception):
    """A store cannot be read or written. The text says what happened, where, and what to do."""


class StoreAccessError(StoreError):
    """The place of a store cannot be reached, or there is no right to read or to write it."""


@record(kw_only=False)
class StoreText:
    """Lines of a store, without the last line feed. ``place``: the file that they are in, for messages."""

    place: str
    content: bytes


class Store(Protocol):
    """Where lines of runs are kept."""

    @property
    def title(self) -> str:
        """What messages call it, such as ``the branch skillgym-data``."""
        ...

    @property
    def next_step(self) -> str:
        """What is left to do after ``add``, after a semicolon; empty if nothing is."""
        ...

    @property
    def looked_at(self) -> str:
        """After ``newest_first``: what was looked at, in brackets after a space; empty if there is nothing to say."""
        ...

    def newest_first(self) -> Iterator[StoreText]:
        """The lines of all runs, the newest files first; none if nothing was ever stored. Raises StoreError."""
        ...

    def add(self, content: bytes, name: str, at: datetime) -> None:
        """Add the lines of a run that began ``at``; ``name`` is unique. Raises StoreError.

        Several jobs may do so at once, and nothing is lost.
        """
        ...
