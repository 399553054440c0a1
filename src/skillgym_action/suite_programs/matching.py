"""Matchers of text, and how messages show them and observed values.

Messages are letter by letter those of node's ``matching.mjs``; tests compare both.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, TypeAlias

from skillgym_action.limits import MAX_LISTED_VALUE_CHARACTERS, MAX_LISTED_VALUES
from skillgym_action.suite_programs.showing import cut, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Matcher: TypeAlias = str | re.Pattern[str]

FLAGS = ((re.IGNORECASE, "i"), (re.MULTILINE, "m"), (re.DOTALL, "s"), (re.VERBOSE, "x"))


def matches(text: str, matcher: Matcher) -> bool:
    """Whether the text contains the string, or the regular expression matches anywhere in it."""
    return matcher in text if isinstance(matcher, str) else matcher.search(text) is not None


def equals(text: str, matcher: Matcher) -> bool:
    """Whether the text is the string, or the regular expression matches anywhere in it."""
    return matcher == text if isinstance(matcher, str) else matcher.search(text) is not None


def matcher_of(value: object) -> Matcher:
    """The value, if it is a matcher. Raises TypeError."""
    if isinstance(value, str | re.Pattern):
        return value
    raise TypeError(f"a matcher is text or a regular expression, not {shown(value)}")


def quoted(matcher: Matcher) -> str:
    """A matcher as messages show it."""
    if isinstance(matcher, str):
        return in_json(matcher)
    return f"/{matcher.pattern}/{''.join(letter for flag, letter in FLAGS if matcher.flags & flag)}"


def in_json(value: object) -> str:
    """A JSON value as one line of text."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def counted(count: int, one: str, many: str) -> str:
    """``1 command``, ``2 commands``."""
    return f"{count} {one if count == 1 else many}"


def listed(label: str, values: Sequence[str]) -> str:
    """Observed values with a label, one value per line, numbered from 1."""
    if not values:
        return f"  {label}: none"
    lines = [
        f"    {number}. " + cut(value, MAX_LISTED_VALUE_CHARACTERS).replace("\n", "\n       ")
        for number, value in enumerate(values[:MAX_LISTED_VALUES], start=1)
    ]
    more = len(values) - MAX_LISTED_VALUES
    return "\n".join([f"  {label}:", *lines, *([f"    … and {more} more"] if more > 0 else [])])


def numbers(wanted: Iterable[bool]) -> str:
    """The numbers of the wanted ones among listed values: ``2, 5``."""
    return ", ".join(str(number) for number, is_wanted in enumerate(wanted, start=1) if is_wanted)


def require_list(values: object, what: str) -> None:
    """Raise TypeError for a value that is not a list or tuple."""
    if not isinstance(values, list | tuple):
        raise TypeError(f"expected a list of {what}, not {shown(values)}")
