"""Matchers, and how messages show them and what was observed. Texts are the same in Node, down to the letter."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, TypeAlias

from skillgym_action.suite_programs.showing import cut, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Matcher: TypeAlias = str | re.Pattern[str]

VALUE_SHOWN = 200
VALUES_SHOWN = 30
FLAGS = ((re.IGNORECASE, "i"), (re.MULTILINE, "m"), (re.DOTALL, "s"), (re.VERBOSE, "x"))


def matches(text: str, matcher: Matcher) -> bool:
    """Whether the matcher is found in the text: a string as it is, a regular expression anywhere."""
    return matcher in text if isinstance(matcher, str) else matcher.search(text) is not None


def equals(text: str, matcher: Matcher) -> bool:
    """Whether a string is the whole text; a regular expression is found anywhere."""
    return matcher == text if isinstance(matcher, str) else matcher.search(text) is not None


def matcher_of(value: object) -> Matcher:
    """The matcher, if it is one. Raises TypeError."""
    if isinstance(value, str | re.Pattern):
        return value
    raise TypeError(f"a matcher is text or a regular expression, not {shown(value)}")


def quoted(matcher: Matcher) -> str:
    """A matcher as messages show it."""
    if isinstance(matcher, str):
        return in_json(matcher)
    return f"/{matcher.pattern}/{''.join(letter for flag, letter in FLAGS if matcher.flags & flag)}"


def in_json(value: object) -> str:
    """A value of JSON, in one line."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def counted(count: int, one: str, many: str) -> str:
    """``1 command``, ``2 commands``."""
    return f"{count} {one if count == 1 else many}"


def listed(label: str, values: Sequence[str]) -> str:
    """What was observed, one value a line, numbered from 1."""
    if not values:
        return f"  {label}: none"
    lines = [
        f"    {number}. " + cut(value, VALUE_SHOWN).replace("\n", "\n       ")
        for number, value in enumerate(values[:VALUES_SHOWN], start=1)
    ]
    more = len(values) - VALUES_SHOWN
    return "\n".join([f"  {label}:", *lines, *([f"    … and {more} more"] if more > 0 else [])])


def numbers(wanted: Iterable[bool]) -> str:
    """Which of the listed values: ``2, 5``."""
    return ", ".join(str(number) for number, is_wanted in enumerate(wanted, start=1) if is_wanted)


def list_of(values: object, what: str) -> None:
    """Raises TypeError for what is no list or tuple."""
    if not isinstance(values, list | tuple):
        raise TypeError(f"expected a list of {what}, not {shown(values)}")
