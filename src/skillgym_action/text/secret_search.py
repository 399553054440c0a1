"""Finds known secrets in a text, in all forms that need decoding: escaped, hexadecimal, twice in base64, reversed.

Two steps. ``SecretIndex`` says which secrets a text may contain; its cost does not depend on their number. For these,
``hidden_spans`` finds the places; it is slow.
"""

from __future__ import annotations

import re
import sys
from binascii import a2b_base64
from functools import lru_cache
from typing import TYPE_CHECKING

from skillgym_action.text.secret_forms import SHORTEST_HIDDEN, UNCHANGED, base64_forms, double_base64_forms
from skillgym_action.text.unescape import Unescaped, bytes_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_OF_ESCAPES = b"0nrtuxNRTUX"  # \x61, \u0061, \n, \r, \t
_LETTERS_AND_DIGITS = bytes(byte for byte in range(128) if chr(byte).isalnum() and byte not in _OF_ESCAPES)
_REMOVED = bytes(byte for byte in range(256) if byte not in _LETTERS_AND_DIGITS)
_LOWER = bytes(range(256)).lower()
_BLOCK = 8  # bytes, one unsigned integer of the type "Q"
_WINDOW = 2 * _BLOCK - 1  # so long that it contains an aligned block wherever it begins
_STEP, _MOST_WINDOWS = 32, 8  # a form has several windows, because other text may interrupt it
_PLUS_OR_SLASH = re.compile("[+/]")  # URLs have escapes in their place

_BETWEEN_BYTES = r"[\s:;,_.-]{0,4}+(?:\\?0?x)?"  # 61:62, 61 62, 0x61, 0x62
_BASE64 = re.compile("[A-Za-z0-9+/_-]{16,}")
_ESCAPES = frozenset("\\%&")
_OF_URLS = str.maketrans("-_", "+/")


# --- which secrets a text may contain ---------------------------------------------------------------
#
# A text is reduced to the characters that no encoding changes: letters and digits, in lower case, without those that
# escapes and line ends consist of. "\x61", "%61", "&#x61;" and "61:" all become "61", and a value that was broken over
# lines becomes whole again. Any form of at least 15 characters then contains one of the aligned blocks of 8 bytes of
# the reduced text, so one comparison of two sets finds whether any block belongs to a form. Shorter forms are searched
# one by one.


class SecretIndex:
    """Which of ``values`` a text may contain: some that it does not contain, but always all that it does.

    Building it takes about a millisecond for each value that was not indexed before.
    """

    def __init__(self, values: Sequence[str]) -> None:
        blocks: dict[int, set[int]] = {}
        words: dict[bytes, set[int]] = {}
        for number, value in enumerate(values):
            for piece in _pieces(value):
                if len(piece) >= _WINDOW:
                    for start in range(_BLOCK):
                        block = int.from_bytes(piece[start : start + _BLOCK], sys.byteorder)
                        blocks.setdefault(block, set()).add(number)
                else:
                    words.setdefault(piece, set()).add(number)
        self._owners, self._blocks = blocks, frozenset(blocks)
        self._words = tuple(words.items())

    def candidates(self, text: str) -> set[int]:
        """Return the indices of the values that ``text`` may contain."""
        reduced = _reduced(text)
        blocks = memoryview(reduced)[: len(reduced) // _BLOCK * _BLOCK].cast("Q")
        found: set[int] = set()
        if not self._blocks.isdisjoint(blocks):
            found.update(*(self._owners[block] for block in self._blocks.intersection(blocks)))
        for word, owners in self._words:
            if word in reduced:
                found |= owners
        return found


def _reduced(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass").translate(_LOWER, _REMOVED)


@lru_cache(maxsize=256)
def _pieces(value: str) -> frozenset[bytes]:
    """Parts of the reduced forms of ``value``: windows of long forms, short forms whole."""
    pieces = {_reduced(max(UNCHANGED.findall(value), key=len, default=""))[:_WINDOW]}
    for form in (*base64_forms(value), *(_hidden_forms(value) if len(value) >= SHORTEST_HIDDEN else ())):
        runs = [_reduced(run) for run in _PLUS_OR_SLASH.split(form)]
        windows = {window for run in runs for window in _windows(run)}
        pieces |= windows or {max(runs, key=len)}
    return frozenset(pieces)


def _windows(run: bytes) -> Iterator[bytes]:
    last = len(run) - _WINDOW
    step = max(_STEP, last // _MOST_WINDOWS)
    return (run[start : start + _WINDOW] for start in range(0, last + 1, step))


def _hidden_forms(value: str) -> Iterator[str]:
    """Encoded forms of the value; of these only letters and digits matter."""
    encoded, codes = value.encode("utf-8", "surrogateescape"), tuple(map(ord, value))
    yield value
    yield value[::-1]
    for before in ("", "25", "amp"):  # %61, %2561, &amp;#x61;
        yield "".join(f"{before}{byte:02x}" for byte in encoded)
        yield "".join(f"{before}{code:x}" for code in codes)
    yield value.encode("utf-16-be", "surrogatepass").hex()
    for before in ("", "amp"):
        yield "".join(f"{before}{code}" for code in codes)
    yield "".join(f"{byte:03o}" for byte in encoded)
    for written in ("{:x}", "{}"):  # letters and digits as they are, the others escaped
        yield "".join(one if one.isascii() and one.isalnum() else written.format(ord(one)) for one in value)
    yield from double_base64_forms(value)


# --- where they are ---------------------------------------------------------------------------------


def hidden_spans(text: str, values: Sequence[str]) -> list[tuple[int, int]]:
    """Return the spans of the values, sorted; overlapping ones are merged. Values under 8 characters have none."""
    values = [value for value in values if len(value) >= SHORTEST_HIDDEN]
    if not values:
        return []
    plain = Unescaped(text)
    found = [span for value in values for span in _once_encoded(plain.text, value)]
    found += _encoded_twice(plain.text, values)
    found = [plain.source(*span) for span in found]
    # The end of a line may look like an escape, but be a part of the value: join lines without decoding escapes.
    if odd := [value for value in values if not _ESCAPES.isdisjoint(value)]:
        joined = Unescaped(text, lines_alone=True)
        ways = (way for value in odd for way in (value, value[::-1]))
        found += [joined.source(*span) for way in ways for span in _occurrences(joined.text, way)]
    return _merged(sorted(found))


def _occurrences(text: str, form: str) -> Iterator[tuple[int, int]]:
    at = text.find(form)
    while at >= 0:
        yield at, at + len(form)
        at = text.find(form, at + len(form))


def _once_encoded(text: str, value: str) -> Iterator[tuple[int, int]]:
    for form in _literals(value):
        yield from _occurrences(text, form)
    for match in _hexadecimal(value).finditer(text):
        yield match.span()


@lru_cache(maxsize=256)
def _literals(value: str) -> tuple[str, ...]:
    """What to search in a text whose escapes are decoded: the value in both directions, and in base64."""
    ways = {bytes_of(value), bytes_of(value[::-1]), Unescaped(value).text, Unescaped(value[::-1]).text}
    if all(ord(character) <= 0xFF for character in value):  # noqa: PLR2004 - \xfc is a character here, a byte in other languages
        ways.add(value)
    return tuple(way for way in (*ways, *base64_forms(value)) if len(way) >= SHORTEST_HIDDEN)


@lru_cache(maxsize=256)
def _hexadecimal(value: str) -> re.Pattern[str]:
    encoded = value.encode("utf-8", "surrogateescape")
    return re.compile(_BETWEEN_BYTES.join(f"{byte:02x}" for byte in encoded), re.IGNORECASE)


def _encoded_twice(text: str, values: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Base64 within base64. The inner one may have line ends."""
    forms = [form for value in values for form in base64_forms(value)]
    for run in _BASE64.finditer(text):
        for offset in range(4):  # text before it may consist of the same characters
            inside = _decoded(run[0][offset:])
            whole = inside.replace("\n", "").replace("\r", "")
            for form in forms:
                if form in whole:
                    for match in re.finditer("[\r\n]{0,4}".join(map(re.escape, form)), inside):
                        start = run.start() + offset
                        yield start + match.start() * 4 // 3, start + -(-match.end() * 4 // 3)


def _decoded(encoded: str) -> str:
    """The bytes of base64, with or without padding, one character for each."""
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
