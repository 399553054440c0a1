"""What JSON, YAML and TOML have in common: text as values, with the place of everything in it.

A reading never holds NaN, infinity or a number of more than ``MOST_DIGITS``, never nests deeper than ``DEEPEST``, never
has more than ``MOST_VALUES``, and never two members of one name. What would take long to find out is not even read.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

KeyPath = tuple[str | int, ...]
DEEPEST = 100
MOST_VALUES = 250_000
"""Values of a document: members of mappings and lists, and what they hold, aliases expanded."""
MOST_DIGITS = 300

BLOCK = 64 * 1024
_HUGE: int = 10**MOST_DIGITS


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """A value and where its parts are. ``offset`` gives a key's or an element's place in the text, where known.

    ``values``: how many it has, at most.
    """

    value: object
    offset: Callable[[KeyPath], int | None]
    values: int = 0


class NotationError(Exception):
    """The text is not what its notation allows. ``offset`` is the place in it, where known."""

    def __init__(self, message: str, *, offset: int | None = None, remedy: str | None = None) -> None:
        """``message`` in plain words."""
        super().__init__(message)
        self.message, self.offset, self.remedy = message, offset, remedy


def key_path_text(key_path: KeyPath) -> str:
    """A key path as people write it: ``cases[0].expect``; keys that are no plain words are quoted."""
    text = ""
    for part in key_path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif re.fullmatch(r"[\w$-]+", part):
            text += f".{part}"
        else:
            text += f"[{json.dumps(part)}]"
    return text.removeprefix(".")


class Lines:
    """Lines and columns of a text, found without a list of all lines: a text may have very many."""

    def __init__(self, text: str, first: int = 1) -> None:
        """``first`` is the number of the first line."""
        self._text = text
        self._first = first
        self._before: list[tuple[int, int]] = []  # at each block: how many line feeds, and where the line begins

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column."""
        if not self._before:
            self._before = list(self._blocks())
        block = min(offset // BLOCK, len(self._before) - 1)
        feeds, start = self._before[block]
        feeds += self._text.count("\n", block * BLOCK, offset)
        start = max(start, self._text.rfind("\n", block * BLOCK, offset) + 1)
        return self._first + feeds, offset - start + 1

    def _blocks(self) -> Iterator[tuple[int, int]]:
        feeds = start = 0
        for at in range(0, len(self._text) + 1, BLOCK):
            yield feeds, start
            feeds += self._text.count("\n", at, at + BLOCK)
            start = max(start, self._text.rfind("\n", at, at + BLOCK) + 1)


# --- what no notation may hold ----------------------------------------------------------------------


def doubled(key_path: KeyPath, text: str, *, offset: int, first: int) -> NotationError:
    """The error for a second member of the same name; ``offset`` is its place, ``first`` the first one's."""
    line = text.count("\n", 0, first) + 1
    message = f"{key_path_text(key_path)} is given twice, first in line {line}"
    return NotationError(message, offset=offset, remedy="keep one of them")


def not_finite(key_path: KeyPath, offset: int | None) -> NotationError:
    """The error for NaN and infinity."""
    return NotationError(f"{key_path_text(key_path) or 'the document'} is not a finite number", offset=offset)


def too_deep(offset: int | None) -> NotationError:
    """The error for what no person writes."""
    return NotationError(f"nested more than {DEEPEST} levels deep", offset=offset)


def too_many(offset: int | None) -> NotationError:
    """The error for what would take all our time and memory."""
    return NotationError(f"more than {MOST_VALUES:,} values", offset=offset, remedy="split it into several files")


def too_long(offset: int | None) -> NotationError:
    """The error for a number with more digits than a float can have."""
    return NotationError(f"a number has more than {MOST_DIGITS} digits", offset=offset)


def is_huge(number: int) -> bool:
    """Whether a whole number has too many digits."""
    return abs(number) >= _HUGE


def refuse_extremes(value: object, offset: Callable[[KeyPath], int | None]) -> None:
    """Level by level and without key paths, which are looked for only when there is something to complain of."""
    level: list[Any] = [[value]]
    for _ in range(DEEPEST + 1):
        inner: list[Any] = []
        for container in level:
            for member in container.values() if isinstance(container, dict) else container:
                if isinstance(member, dict | list):
                    inner.append(member)
                elif isinstance(member, float) and not math.isfinite(member):
                    key_path = _path_to(value, member)
                    raise not_finite(key_path, offset(key_path))
                elif isinstance(member, int) and is_huge(member):
                    raise too_long(offset(_path_to(value, member)))
        if not inner:
            return
        level = inner
    raise too_deep(offset(_path_to(value, level[0])))


def _path_to(value: object, wanted: object, at: KeyPath = ()) -> KeyPath:
    """Where that very object is; the path of ``value`` itself where it is nowhere, or too deep."""
    members: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, member in members:
        if member is wanted:
            return (*at, key)
        if isinstance(member, dict | list) and len(at) < DEEPEST and (found := _path_to(member, wanted, (*at, key))):
            return found
    return ()
