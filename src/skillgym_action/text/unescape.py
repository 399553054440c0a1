"""A text with its escapes decoded and its broken lines joined, with a map back to places in the original."""

from __future__ import annotations

import re
import sys
from bisect import bisect_right

if sys.version_info < (3, 11, 5):  # its re misses matches of possessive quantifiers: python/cpython#106052
    import regex as re  # type: ignore[no-redef]

_BACKSLASHES = r"(?:\\|%(?:25)*5[Cc]){1,16}+"
_HEX = "[0-9A-Fa-f]"
_AMPERSAND = rf"(?:&|{_BACKSLASHES}u0026|%(?:25)*26)(?:amp(?:;|%(?:25)*3[Bb]))*"
_LOW_HALF = rf"{_BACKSLASHES}u(?P<low>[dD][c-fC-F]{_HEX}{{2}})"
_UNIT = re.compile(
    r"(?=[ \t\r\n\\&%\x80-\U0010ffff])(?:"
    rf"[ \t]{{0,8}}+(?:{_BACKSLASHES}[rn]|\\{{0,16}}+[\r\n])(?:{_BACKSLASHES}[rnt]|[\s>|]){{0,64}}+"  # and a margin
    rf"|{_AMPERSAND}(?:(?:#|%(?:25)*23)(?:0*(?P<decimal>[0-9]{{1,7}})|[xX]0*(?P<entity>{_HEX}{{1,6}}))"
    r"|(?P<name>amp|lt|gt|quot|apos))(?:;|%(?:25)*3[Bb])"
    rf"|{_BACKSLASHES}(?:x(?P<byte>{_HEX}{{2}})|u(?P<high>[dD][89abAB]{_HEX}{{2}}){_LOW_HALF}|u(?P<unit>{_HEX}{{4}})"
    rf"|u\{{(?P<braced>{_HEX}{{1,6}})\}}|U(?P<long>{_HEX}{{8}})|(?P<octal>[0-3][0-7]{{2}}))"
    rf"|%(?:25)*(?P<percent>{_HEX}{{2}})"
    rf"|{_BACKSLASHES}(?P<quoted>[\"'/]?)"
    r"|(?P<no_text>[\udc80-\udcff]+)|(?P<characters>[^\x00-\x7f\udc80-\udcff]+))"
)
_LINE_END = re.compile(r"[ \t]{0,8}+\\?[\r\n][\s>|]{0,64}+")
_NAMES = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_BASES = {"decimal": 10, "octal": 8}
_OF_BYTES = frozenset({"byte", "octal", "percent"})
_LAST_CODE = 0x10FFFF
_CONTINUATION = frozenset(map(chr, range(0x80, 0xC0)))  # bytes of UTF-8 that do not begin a character
# Values of a part's end, besides an index: its characters are those of the source, or their bytes in UTF-8.
_AS_IN_SOURCE, _IN_UTF_8 = -1, -2
_KINDS = {"no_text": _AS_IN_SOURCE, "characters": _IN_UTF_8}


class Unescaped:
    """A text without escapes and line ends. Each of its characters stands for a byte of UTF-8, as in Latin-1.

    ``lines_alone``: join broken lines, and leave escapes and characters as they are. Takes about a microsecond for each
    escape, line and run of characters beyond ASCII.
    """

    def __init__(self, text: str, *, lines_alone: bool = False) -> None:
        self._starts, self._sources, self._ends = [0], [0], [_AS_IN_SOURCE]  # of each part
        parts, decoded_at, at = [], 0, 0
        for unit in (_LINE_END if lines_alone else _UNIT).finditer(text):
            start, end = unit.span()
            parts += [text[at:start], decoded := _decoded(unit)]
            decoded_at += start - at
            if decoded:
                self._add_part(decoded_at, start, _KINDS.get(unit.lastgroup or "", end))
                decoded_at += len(decoded)
            self._add_part(decoded_at, end, _AS_IN_SOURCE)
            at = end
        self.text = "".join([*parts, text[at:]])

    def _add_part(self, start: int, source: int, end: int) -> None:
        self._starts.append(start)
        self._sources.append(source)
        self._ends.append(end)

    def source(self, start: int, end: int) -> tuple[int, int]:
        """Return the span in the original of ``start`` to ``end`` in ``self.text``. An escape is in it as a whole."""
        return self._source_of(start)[0], self._source_of(end - 1)[1]

    def _source_of(self, at: int) -> tuple[int, int]:
        part = bisect_right(self._starts, at) - 1
        start, source, end = self._starts[part], self._sources[part], self._ends[part]
        if end >= 0:
            return source, end
        inside = at - start
        if end == _IN_UTF_8:
            inside = sum(byte not in _CONTINUATION for byte in self.text[start : at + 1]) - 1
        return source + inside, source + inside + 1


def _decoded(unit: re.Match[str]) -> str:
    kind, written = unit.lastgroup, unit[unit.lastgroup or 0]
    if kind is None:
        return ""
    if kind == "quoted":
        return written or "\\"
    if kind == "name":
        return _NAMES[written]
    if kind in _KINDS:
        return bytes_of(written)
    if kind == "low":
        return bytes_of(bytes.fromhex(unit["high"] + written).decode("utf-16-be"))
    code = int(written, _BASES.get(kind, 16))
    return chr(code) if kind in _OF_BYTES else bytes_of(chr(code) if code <= _LAST_CODE else "\ufffd")


def bytes_of(text: str) -> str:
    """Return the bytes of ``text`` in UTF-8, one character for each. Surrogate-escaped bytes stay what they were."""
    try:
        return text.encode("utf-8", "surrogateescape").decode("latin-1")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass").decode("latin-1")
