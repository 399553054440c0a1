"""What JSON, YAML and TOML have in common: values, with the offset of each of their parts in the text.

A value never has NaN, infinity or a number of more than ``MAX_NUMBER_DIGITS``; it is never nested deeper than
``MAX_DOCUMENT_DEPTH``, never has more than ``MAX_DOCUMENT_VALUES``, nor two members of one name. Where that would take
long to find out in the value, the text is refused before it is parsed.
"""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any

from skillgym_action.model.limits import MAX_DOCUMENT_DEPTH, MAX_DOCUMENT_VALUES, MAX_NUMBER_DIGITS
from skillgym_action.model.records import record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

KeyPath = tuple[str | int, ...]

BLOCK = 64 * 1024
_HUGE: int = 10**MAX_NUMBER_DIGITS
_MANY_DIGITS = re.compile(rf"(?<![\w.\"'])[0-9](?:_?[0-9]){{{MAX_NUMBER_DIGITS}}}")


@record
class LocatedValue:
    """The value of a text. ``offset``: the offset of a key or an element in the text, or None if it is not known.

    ``values``: how many values are in it, at most. ``scalar``: a number, or true or false, as the text has it; None:
    it is something else, or not known.
    """

    value: object
    offset: Callable[[KeyPath], int | None]
    values: int = 0
    scalar: Callable[[KeyPath], str | None] = lambda _: None


class NotationError(Exception):
    """The text is not valid in its notation, or too large. ``offset`` in the text, if it is known."""

    def __init__(self, message: str, *, offset: int | None = None, remedy: str | None = None) -> None:
        super().__init__(message)
        self.message, self.offset, self.remedy = message, offset, remedy


def key_path_text(key_path: KeyPath) -> str:
    """A key path as text: ``cases[0].expect``; keys that are not plain words are quoted."""
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
    """Finds lines and columns of a text, whose first line has the number ``first``.

    There is no list of all lines, since a text may have very many: line feeds are counted once per block.
    """

    def __init__(self, text: str, first: int = 1) -> None:
        self._text = text
        self._first = first
        self._before: list[tuple[int, int]] = []  # at each block: how many line feeds, and where the line begins

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset."""
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


# --- what is refused in every notation ---------------------------------------------------------------


def doubled(key_path: KeyPath, text: str, *, offset: int, first: int, line: int = 1) -> NotationError:
    """The error for a second member of the same name; ``offset`` is its offset, ``first`` that of the first one.

    ``line``: the number of the text's first line.
    """
    line += text.count("\n", 0, first)
    message = f"{key_path_text(key_path)} is set twice, first in line {line}"
    return NotationError(message, offset=offset, remedy="keep one of them")


def not_finite(key_path: KeyPath, offset: int | None) -> NotationError:
    """The error for NaN and infinity."""
    return NotationError(f"{key_path_text(key_path) or 'the document'} is not a finite number", offset=offset)


def too_deep(offset: int | None) -> NotationError:
    """The error for a value that is nested too deeply."""
    return NotationError(f"nested more than {MAX_DOCUMENT_DEPTH} levels deep", offset=offset)


def too_many(offset: int | None) -> NotationError:
    """The error for too many values."""
    return NotationError(
        f"more than {MAX_DOCUMENT_VALUES:,} values", offset=offset, remedy="split it into several files"
    )


def too_long(offset: int | None) -> NotationError:
    """The error for a number with more digits than a float can have."""
    return NotationError(f"a number has more than {MAX_NUMBER_DIGITS} digits", offset=offset)


def unreadable_number(text: str, notation: str, error: ValueError) -> NotationError:
    """The error for a text for which the standard reader raised ``error``: ``int()`` has a limit of digits itself."""
    digits = _MANY_DIGITS.search(text)
    return too_long(digits.start()) if digits else NotationError(f"not {notation}: {error}")


def is_huge(number: int) -> bool:
    """Whether a whole number has too many digits."""
    return abs(number) >= _HUGE


def refuse_extremes(value: object, offset: Callable[[KeyPath], int | None]) -> None:
    """Raise NotationError for numbers that are refused, and for too deep nesting.

    Level by level and without key paths, which are looked for only when there is an error.
    """
    level: list[Any] = [[value]]
    for _ in range(MAX_DOCUMENT_DEPTH + 1):
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
    """The key path of the object ``wanted``; that of ``value`` itself if it is not in it, or too deep."""
    members: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, member in members:
        if member is wanted:
            return (*at, key)
        if (
            isinstance(member, dict | list)
            and len(at) < MAX_DOCUMENT_DEPTH
            and (found := _path_to(member, wanted, (*at, key)))
        ):
            return found
    return ()
