r"""Which known secrets a text may contain, in any form that is searched; at a cost that their number does not change.

A text is reduced to what all ways of writing leave alone: letters and digits, in lower case, without those that
escapes and line ends consist of. ``\x61``, ``%61``, ``&#x61;`` and ``61:`` all leave ``61``, and a value that was
broken over lines is whole again. A form of 15 characters contains one of the reduced text's aligned blocks of eight,
and whether any block belongs to a form is one comparison of two sets. Shorter forms are searched as words.
"""

from __future__ import annotations

import re
import sys
from functools import lru_cache
from typing import TYPE_CHECKING

from skillgym_action.text.secret_forms import SHORTEST_HIDDEN, base64_forms, double_base64_forms

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_OF_ESCAPES = b"0nrtuxNRTUX"  # \x61, \u0061, \n, \r, \t
_LETTERS_AND_DIGITS = bytes(byte for byte in range(128) if chr(byte).isalnum() and byte not in _OF_ESCAPES)
_REMOVED = bytes(byte for byte in range(256) if byte not in _LETTERS_AND_DIGITS)
_LOWER = bytes(range(256)).lower()
_BLOCK = 8  # bytes, one unsigned integer of the type "Q"
_WINDOW = 2 * _BLOCK - 1  # wherever it stands, an aligned block is in it
_STEP, _MOST_WINDOWS = 32, 8  # a form is found by one of several windows, because something may interrupt it
_ALIKE = re.compile(r"[A-Za-z0-9_.~-]+")  # what common ways of writing leave alone
_PLUS_OR_SLASH = re.compile("[+/]")  # in URLs, escapes stand for them


class SecretIndex:
    """Finds the secrets that a text may contain; it may name some that are not in the text, but misses none."""

    def __init__(self, values: Sequence[str]) -> None:
        """``values``: what is searched; takes about a millisecond for each that was not seen before."""
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

    def suspects(self, text: str) -> set[int]:
        """The positions, in the sequence of values, of those that ``text`` may contain."""
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
    """Parts of the reduced forms of ``value``: windows of the long ones, short ones whole."""
    pieces = {_reduced(max(_ALIKE.findall(value), key=len, default=""))[:_WINDOW]}
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
    """Forms in which the value is not there as it is; only their letters and digits count."""
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
