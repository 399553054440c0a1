r"""Regular expressions as JavaScript writes and means them, for the ``regex`` package.

Translated are the differences that people meet: named groups, ``$``, ``\d \w \b`` (ASCII only), ``\s``, ``[]`` and
``[^]``, braces that count nothing, ``\u{…}`` and surrogate pairs, escapes of letters that mean nothing.
"""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import regex

LONGEST = 10_000
"""Characters of a pattern; of what it is translated to, five times as many."""
MOST_PATTERNS = 500_000
"""Characters of all different patterns of a suite, once they are translated: each takes time to be compiled."""
SECONDS, ALL_SECONDS = 2.0, 10.0
"""What a search may take, and all searches of a session together."""
FLAGS = {"i": "IGNORECASE", "m": "MULTILINE", "s": "DOTALL", "x": "VERBOSE", "u": None, "g": None, "y": None}
"""JavaScript's flags and ``x``; None: accepted, and makes no difference to a search."""

_TOKEN = re.compile(
    r"""\\u(?P<high>[dD][89abAB][\da-fA-F]{2})\\u(?P<low>[dD][c-fC-F][\da-fA-F]{2})
      | \\u\{(?P<point>[\da-fA-F]{1,6})\}
      | \\k<(?P<reference>[^<>]+)>
      | \\c(?P<control>[A-Za-z])
      | (?P<kept>\\u[\da-fA-F]{4} | \\x[\da-fA-F]{2} | \\[pP]\{[^{}]+\} | \\[1-9]\d*)
      | \\(?P<escaped>.)
      | (?P<named>\(\?<(?![=!]))
      | (?P<call>\(\?(?:R|[+-]?\d|&|P>))
      | (?P<count>\{\d+(?:,\d*)?\})
      | (?P<plain>.)""",
    re.VERBOSE | re.DOTALL,
)
_SPACE = r"\t\n\x0b\f\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_SETS = {"d": "0-9", "w": "A-Za-z0-9_", "s": _SPACE}
_WORD_START, _WORD_END = "(?<![A-Za-z0-9_])(?=[A-Za-z0-9_])", "(?<=[A-Za-z0-9_])(?![A-Za-z0-9_])"
_BOUNDARY = f"(?:{_WORD_START}|{_WORD_END})"
_NO_BOUNDARY = f"(?!{_WORD_START}|{_WORD_END})"
_ANY, _NONE = "(?s:.)", "(?!)"


class SearchError(Exception):
    """A search that was given up, with the reason: a predicate."""


class Patience:
    """The time that all searches of a session have: what is searched is the agent's, and may make them endless."""

    def __init__(self, each: float = SECONDS, together: float = ALL_SECONDS) -> None:
        """In seconds; all of it is left."""
        self._each, self._together = each, together
        self._left = together

    def search(self, pattern: regex.Pattern[str], text: str, *, at_start: bool = False) -> regex.Match[str] | None:
        """The first match; other threads go on meanwhile. Raises SearchError."""
        if self._left <= 0:
            raise SearchError(f"was not searched for, since others of this session took {self._together:g} s")
        find = pattern.match if at_start else pattern.search
        seconds = min(self._each, self._left)
        began = time.monotonic()
        try:
            return find(text, timeout=seconds, concurrent=True)
        except TimeoutError as error:
            raise SearchError(f"was searched for more than {seconds:.2g} s") from error
        except MemoryError as error:
            raise SearchError("needs too much memory") from error
        finally:
            self._left -= time.monotonic() - began


class Patterns:
    """The patterns of a suite, which are compiled when it is loaded; equal ones once."""

    def __init__(self) -> None:
        """There is none yet."""
        self._known: dict[tuple[str, str], regex.Pattern[str]] = {}
        self._characters = 0

    def compiled(self, source: str, flags: str = "") -> regex.Pattern[str]:
        """The pattern to search with. Raises ValueError, with the reason."""
        if (pattern := self._known.get((source, flags))) is None:
            if self._characters > MOST_PATTERNS:
                raise ValueError(f"the suite's patterns have more than {MOST_PATTERNS:,} characters; split the suite")
            pattern = self._known[source, flags] = compiled(source, flags)
            self._characters += len(pattern.pattern)
        return pattern


def compiled(source: str, flags: str = "") -> regex.Pattern[str]:
    """The pattern to search with. Raises ValueError, with the reason, for what is no regular expression."""
    import regex

    if unknown := sorted(set(flags) - FLAGS.keys()):
        raise ValueError(f"unknown flag {unknown[0]!r}; known: {', '.join(FLAGS)}")
    if len(source) > LONGEST:
        raise ValueError(f"the pattern is longer than {LONGEST:,} characters")
    named = (FLAGS[flag] for flag in flags)
    bits = sum({getattr(regex, name).value for name in named if name})
    pattern = translated(source, multiline="m" in flags)
    if len(pattern) > 5 * LONGEST:
        raise ValueError("the pattern is too complex")
    try:
        return regex.compile(pattern, bits)
    except regex.error as error:
        raise ValueError(str(error)) from error
    except (RecursionError, OverflowError) as error:
        raise ValueError("the pattern is too complex") from error


def translated(source: str, *, multiline: bool = False) -> str:
    """``source`` in the syntax of the ``regex`` package. Raises ValueError for what only that package knows."""
    pieces: list[str] = []
    charset: _Charset | None = None
    for token in _TOKEN.finditer(source):
        if charset is None and token["plain"] == "[":
            charset = _Charset()
        elif charset is None:
            pieces.append(_outside(token, multiline=multiline))
        elif token["plain"] == "]":
            pieces.append(charset.text())
            charset = None
        else:
            charset.add(token)
    return "".join(pieces) + ("[" if charset else "")


def _outside(token: re.Match[str], *, multiline: bool) -> str:
    """One token outside of square brackets."""
    if (letter := token["escaped"]) is not None:
        return _escaped_outside(letter)
    if token["reference"]:
        return f"(?P={token['reference']})"
    if token["call"]:
        raise ValueError(f"{token['call']} is no group: a pattern does not call itself")
    if token["named"]:
        return "(?P<"
    if token["plain"] == "$":
        return "$" if multiline else r"\Z"
    if token["plain"] in {"{", "}"}:
        return f"\\{token['plain']}"
    return _anywhere(token)


def _escaped_outside(letter: str) -> str:
    if letter in "bB":
        return _BOUNDARY if letter == "b" else _NO_BOUNDARY
    if letter.lower() in _SETS:
        return f"[{'^' if letter.isupper() else ''}{_SETS[letter.lower()]}]"
    return _escape(letter)


def _anywhere(token: re.Match[str]) -> str:
    """One token that means the same inside and outside of square brackets."""
    if token["high"]:
        return re.escape(chr(0x10000 + ((int(token["high"], 16) - 0xD800) << 10) + int(token["low"], 16) - 0xDC00))
    if token["point"]:
        return f"\\U{int(token['point'], 16):08x}"
    if token["control"]:
        return f"\\x{ord(token['control']) % 32:02x}"
    return token[0]


def _escape(letter: str) -> str:
    r"""An escape that both know, or else the letter itself: ``\A`` is an A to JavaScript."""
    if letter == "0":
        return r"\x00"
    known = letter in "fnrtv" or not (letter.isascii() and letter.isalnum())
    return f"\\{letter}" if known else letter


class _Charset:
    """What stands between square brackets. Negated sets inside become alternatives: the package cannot nest them."""

    def __init__(self) -> None:
        self._negated = False
        self._items: list[str] = []
        self._alternatives: list[str] = []
        self._empty = True

    def add(self, token: re.Match[str]) -> None:
        letter = token["escaped"]
        if self._empty and token["plain"] == "^" and not self._negated:
            self._negated = True
            return
        self._empty = False
        if letter is None:
            self._items.append(f"\\{token[0]}" if token["plain"] and token[0] in "[&|~^" else _anywhere(token))
        elif letter in _SETS:
            self._items.append(_SETS[letter])
        elif letter.lower() in _SETS:
            self._alternatives.append(f"[^{_SETS[letter.lower()]}]")
        else:
            self._items.append(r"\x08" if letter == "b" else _escape(letter))

    def text(self) -> str:
        items = "".join(self._items)
        if not self._alternatives:
            return f"[{'^' if self._negated else ''}{items}]" if items else _ANY if self._negated else _NONE
        either = "|".join([*([f"[{items}]"] if items else []), *self._alternatives])
        return f"(?:(?!{either}){_ANY})" if self._negated else f"(?:{either})"
