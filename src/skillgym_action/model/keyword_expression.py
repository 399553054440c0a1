"""Expressions that select cases by words in their ids, as with pytest's ``-k``: ``login and not (slow or flaky)``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from skillgym_action.model.records import record

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_KEYWORD_EXPRESSION_CHARACTERS = 300  # each parenthesis is a level of the parser
_TOKEN = re.compile(r"[()]|[^\s()]+")
_OPERATORS = ("and", "or", "not")


@record(kw_only=False)
class KeywordExpression:
    """Words that an id has to contain, in upper or lower case, combined with ``and``, ``or``, ``not`` and parentheses.

    ``text`` as the user wrote it.
    """

    text: str

    def matches(self, name: str) -> bool:
        """Whether the expression holds for a name. Raises ValueError for one that is no expression."""
        return _Parser(self.text).parsed()(name.lower())


def parse_keywords(value: object) -> object:
    """The expression of a text; other values are returned as they are. Raises ValueError with what is wrong."""
    if not isinstance(value, str):
        return value
    if len(value) > MAX_KEYWORD_EXPRESSION_CHARACTERS:
        raise ValueError(f"is longer than {MAX_KEYWORD_EXPRESSION_CHARACTERS:,} characters")
    expression = KeywordExpression(value)
    expression.matches("")
    return expression


class _Parser:
    """A recursive descent: ``or`` binds least, ``not`` most."""

    def __init__(self, text: str) -> None:
        self._text, self._tokens = text, _TOKEN.findall(text)

    def parsed(self) -> Callable[[str], bool]:
        """A function that says whether a name in lower case fits. Raises ValueError."""
        found = self._either()
        if self._tokens:
            raise self._wrong(f"and or or is missing before {self._tokens[0]!r}")
        return found

    def _either(self) -> Callable[[str], bool]:
        parts = [self._both()]
        while self._take("or"):
            parts.append(self._both())
        return lambda name: any(part(name) for part in parts)

    def _both(self) -> Callable[[str], bool]:
        parts = [self._one()]
        while self._take("and"):
            parts.append(self._one())
        return lambda name: all(part(name) for part in parts)

    def _one(self) -> Callable[[str], bool]:
        if self._take("not"):
            inverted = self._one()
            return lambda name: not inverted(name)
        if self._take("("):
            inner = self._either()
            if not self._take(")"):
                raise self._wrong("a parenthesis is not closed")
            return inner
        if not self._tokens or self._tokens[0] in (*_OPERATORS, ")"):
            raise self._wrong(f"a word is missing before {self._tokens[0]!r}" if self._tokens else "it ends too early")
        word = self._tokens.pop(0).lower()
        return lambda name: word in name

    def _take(self, token: str) -> bool:
        if self._tokens[:1] != [token]:
            return False
        self._tokens.pop(0)
        return True

    def _wrong(self, what: str) -> ValueError:
        return ValueError(f"{self._text!r} is not an expression of words with and, or, not: {what}")
