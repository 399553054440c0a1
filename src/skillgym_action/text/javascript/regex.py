r"""Regular expressions in the syntax of JavaScript, translated for Python's ``regex`` package.

The differences that users meet are translated: named groups, ``$``, ``\d \w \b`` (ASCII only), ``\s``, ``[]`` and
``[^]``, braces that are no quantifiers, ``\u{…}`` and surrogate pairs, escapes of letters without a meaning.
"""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

from skillgym_action.model.limits import MAX_REGEX_CHARACTERS, MAX_SUITE_REGEX_CHARACTERS

if TYPE_CHECKING:
    import regex

MAX_TRANSLATED_REGEX_CHARACTERS = 5 * MAX_REGEX_CHARACTERS  # of one pattern, translated from JavaScript's syntax
MAX_REGEX_SEARCH_SECONDS = 2.0  # for one search: text that an agent writes can make it endless
MAX_SESSION_SEARCH_SECONDS = 10.0  # for all searches of a session
FLAGS = {"i": "IGNORECASE", "m": "MULTILINE", "s": "DOTALL", "x": "VERBOSE", "u": None, "g": None, "y": None}
"""JavaScript's flags and ``x``; None: accepted without an effect on a search."""

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
    """A search that was stopped; the message is a predicate, such as "needs too much memory"."""


class SearchBudget:
    """The time for all searches of a session: an agent may write text that makes a search take for ever."""

    def __init__(self, each: float = MAX_REGEX_SEARCH_SECONDS, total: float = MAX_SESSION_SEARCH_SECONDS) -> None:
        """``each`` and ``total`` are seconds, of one search and of all searches."""
        self._each, self._total = each, total
        self._left = total

    def search(
        self, pattern: regex.Pattern[str], text: str, *, at_start: bool = False, start: int = 0
    ) -> regex.Match[str] | None:
        """The first match from ``start`` on, or None. Other threads run meanwhile. Raises SearchError."""
        if self._left <= 0:
            raise SearchError(f"was not searched for, since others of this session took {self._total:g} s")
        find = pattern.match if at_start else pattern.search
        seconds = min(self._each, self._left)
        began = time.monotonic()
        try:
            return find(text, start, timeout=seconds, concurrent=True)
        except TimeoutError as error:
            raise SearchError(f"was searched for more than {seconds:.2g} s") from error
        except MemoryError as error:
            raise SearchError("needs too much memory") from error
        finally:
            self._left -= time.monotonic() - began


class Patterns:
    """The patterns of a suite, compiled when it is loaded; equal ones once."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], regex.Pattern[str]] = {}
        self._characters = 0

    def compiled(self, source: str, flags: str = "") -> regex.Pattern[str]:
        """The compiled pattern. Raises ValueError, with the reason."""
        if (pattern := self._known.get((source, flags))) is None:
            if self._characters > MAX_SUITE_REGEX_CHARACTERS:
                raise ValueError(
                    f"the suite's patterns have more than {MAX_SUITE_REGEX_CHARACTERS:,} characters; split the suite"
                )
            pattern = self._known[source, flags] = compiled(source, flags)
            self._characters += len(pattern.pattern)
        return pattern


def compiled(source: str, flags: str = "") -> regex.Pattern[str]:
    """The compiled pattern. Raises ValueError, with the reason, if ``source`` is no regular expression."""
    import regex

    if unknown := sorted(set(flags) - FLAGS.keys()):
        raise ValueError(f"unknown flag {unknown[0]!r}; known: {', '.join(FLAGS)}")
    if len(source) > MAX_REGEX_CHARACTERS:
        raise ValueError(f"the pattern is longer than {MAX_REGEX_CHARACTERS:,} characters")
    named = (FLAGS[flag] for flag in flags)
    bits = sum({getattr(regex, name).value for name in named if name})
    pattern = translated(source, multiline="m" in flags)
    if len(pattern) > MAX_TRANSLATED_REGEX_CHARACTERS:
        raise ValueError("the pattern is too complex")
    try:
        return regex.compile(pattern, bits)
    except regex.error as error:
        raise ValueError(str(error)) from error
    except (RecursionError, OverflowError) as error:
        raise ValueError("the pattern is too complex") from error


def translated(source: str, *, multiline: bool = False) -> str:
    """``source`` in the syntax of the ``regex`` package. Raises ValueError for syntax that only that package has."""
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
        raise ValueError(f"{token['call']} is not a group: a pattern cannot call itself")
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
    r"""An escape that both have, or else the letter itself: in JavaScript, ``\A`` matches an A."""
    if letter == "0":
        return r"\x00"
    known = letter in "fnrtv" or not (letter.isascii() and letter.isalnum())
    return f"\\{letter}" if known else letter


class _Charset:
    """A set in square brackets. Negated classes inside of it become alternatives: the package cannot nest them."""

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
