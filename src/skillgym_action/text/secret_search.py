"""Where a text contains known values in forms that need decoding: all characters escaped, hexadecimal, twice in base64.

Also reversed, and broken over lines. Slow, for texts of which an index says that they may contain a value.
"""

from __future__ import annotations

import re
from binascii import a2b_base64
from functools import lru_cache
from typing import TYPE_CHECKING

from skillgym_action.text.secret_forms import SHORTEST_HIDDEN, base64_forms
from skillgym_action.text.unescape import Unescaped, bytes_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_BETWEEN_BYTES = r"[\s:;,_.-]{0,4}+(?:\\?0?x)?"  # 61:62, 61 62, 0x61, 0x62
_BASE64 = re.compile("[A-Za-z0-9+/_-]{16,}")
_ESCAPES = frozenset("\\%&")
_OF_URLS = str.maketrans("-_", "+/")


def hidden_spans(text: str, values: Sequence[str]) -> list[tuple[int, int]]:
    """The places of these values, sorted; those that overlap are one. Values of fewer than 8 characters have none."""
    values = [value for value in values if len(value) >= SHORTEST_HIDDEN]
    if not values:
        return []
    plain = Unescaped(text)
    found = [span for value in values for span in _as_it_is(plain.text, value)]
    found += _encoded_twice(plain.text, values)
    found = [plain.source(*span) for span in found]
    # A line may end in what looks like an escape, and is a part of the value.
    if odd := [value for value in values if not _ESCAPES.isdisjoint(value)]:
        joined = Unescaped(text, lines_alone=True)
        ways = (way for value in odd for way in (value, value[::-1]))
        found += [joined.source(*span) for way in ways for span in _places(joined.text, way)]
    return _merged(sorted(found))


def _places(text: str, form: str) -> Iterator[tuple[int, int]]:
    at = text.find(form)
    while at >= 0:
        yield at, at + len(form)
        at = text.find(form, at + len(form))


def _as_it_is(text: str, value: str) -> Iterator[tuple[int, int]]:
    for form in _literals(value):
        yield from _places(text, form)
    for match in _hexadecimal(value).finditer(text):
        yield match.span()


@lru_cache(maxsize=256)
def _literals(value: str) -> tuple[str, ...]:
    """What to find in a text without escapes: the value in each direction, and in base64."""
    ways = {bytes_of(value), bytes_of(value[::-1]), Unescaped(value).text, Unescaped(value[::-1]).text}
    if all(ord(character) <= 0xFF for character in value):  # noqa: PLR2004 - \xfc, which in other languages is a byte
        ways.add(value)
    return tuple(way for way in (*ways, *base64_forms(value)) if len(way) >= SHORTEST_HIDDEN)


@lru_cache(maxsize=256)
def _hexadecimal(value: str) -> re.Pattern[str]:
    encoded = value.encode("utf-8", "surrogateescape")
    return re.compile(_BETWEEN_BYTES.join(f"{byte:02x}" for byte in encoded), re.IGNORECASE)


def _encoded_twice(text: str, values: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Base64 within base64. What is inside may have line ends of its own."""
    forms = [form for value in values for form in base64_forms(value)]
    for run in _BASE64.finditer(text):
        for offset in range(4):  # what comes before may consist of the same characters
            inside = _decoded(run[0][offset:])
            whole = inside.replace("\n", "").replace("\r", "")
            for form in forms:
                if form in whole:
                    for match in re.finditer("[\r\n]{0,4}".join(map(re.escape, form)), inside):
                        start = run.start() + offset
                        yield start + match.start() * 4 // 3, start + -(-match.end() * 4 // 3)


def _decoded(encoded: str) -> str:
    """The bytes of base64 with or without its end, a character each."""
    whole = encoded[: len(encoded) - (len(encoded) % 4 == 1)].translate(_OF_URLS)
    return a2b_base64(whole + "=" * (-len(whole) % 4)).decode("latin-1")


def _merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in spans:
        if merged and start < merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged
