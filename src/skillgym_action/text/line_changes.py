"""Which lines of a text are new, and which are gone. Fast for large texts, whatever is in them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from skillgym_action.model.records import record

if TYPE_CHECKING:
    from collections.abc import Iterator


@record(kw_only=False)
class Line:
    """A line and its number, from 1. ``sign``: ``+`` new, ``-`` gone (the number is the old text's), else a blank."""

    number: int
    text: str
    sign: str = " "


def changed_lines(before: str, after: str, limit: int) -> tuple[Line, ...] | None:
    """The lines that are gone and those that are new, in the order of the texts; lines that only moved are neither.

    None if more than ``limit`` characters lie between the first difference and the last one.
    """
    start = _common_start(before, after)
    end = _common_end(before, after, min(len(before), len(after)) - start)
    start = before.rfind("\n", 0, start) + 1
    old, new = _middle(before, start, end), _middle(after, start, end)
    if max(len(old), len(new)) > limit:
        return None
    first = before.count("\n", 0, start) + 1
    old_lines, new_lines = _lines(old), _lines(new)
    gone = Counter(old_lines) - Counter(new_lines)
    added = Counter(new_lines) - Counter(old_lines)
    lines = [*_counted(old_lines, gone, first, "-"), *_counted(new_lines, added, first, "+")]
    return tuple(sorted(lines, key=lambda line: line.number))


def _common_start(one: str, other: str) -> int:
    """The number of equal characters at the beginning; found by halves, as comparing slices is fast."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _common_end(one: str, other: str, most: int) -> int:
    """The number of equal characters at the end, at most ``most``."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if one[len(one) - middle : len(one) - low] == other[len(other) - middle : len(other) - low]:
            low = middle
        else:
            high = middle - 1
    return low


def _middle(text: str, start: int, end: int) -> str:
    """From ``start`` to the end of the line that the common end begins in."""
    stop = text.find("\n", max(start, len(text) - end))
    return text[start:] if stop < 0 else text[start:stop]


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    return lines[:-1] if not lines[-1] else lines


def _counted(lines: list[str], wanted: Counter[str], first: int, sign: str) -> Iterator[Line]:
    """Of lines that are there several times, the last ones are taken."""
    left = dict(wanted)
    found = []
    for number, line in zip(range(first + len(lines) - 1, first - 1, -1), reversed(lines), strict=True):
        if left.get(line):
            left[line] -= 1
            found.append(Line(number, line, sign))
    return reversed(found)
