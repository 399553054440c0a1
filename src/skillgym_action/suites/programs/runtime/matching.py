"""Matchers of text, and how messages show them and observed values.

Messages are letter by letter those of node's ``matching.mjs``; tests compare both.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, TypeAlias

from skillgym_action.model.limits import MAX_COMPARED_LINES, MAX_LISTED_VALUES, MAX_SHOWN_VALUE_CHARACTERS
from skillgym_action.model.records import record
from skillgym_action.text.likeness import Likeness, literal_part

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MAX_LISTED_VALUE_CHARACTERS = 200  # of one value of a list in a message

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
    raise TypeError(f"a matcher is text or a regular expression, not {value_text(value)}")


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


def wanted_by(matcher: Matcher) -> str:
    """What a matcher asks for: the text, or the characters of a regular expression that stand for themselves."""
    return matcher if isinstance(matcher, str) else literal_part(matcher.pattern)


@record(kw_only=False)
class Order:
    """Positions of values in the order in which a message lists them; ``note`` says which order that is."""

    note: str
    positions: Sequence[int]


def nearest_first(wanted: Sequence[str], values: Sequence[str]) -> Order | None:
    """Those that are most like the first wanted text that any is like; None if none is."""
    for text in wanted:
        likeness = Likeness(text)
        if any(map(likeness.is_near, values)):
            return Order(", nearest first", likeness.nearest_first(values))
    return None


def found_first(found: Sequence[bool]) -> Order | None:
    """Those that were found before all others, if not all values are listed anyway."""
    if len(found) <= MAX_LISTED_VALUES:
        return None
    return Order(", found ones first", sorted(range(len(found)), key=lambda at: not found[at]))


def listed(label: str, values: Sequence[str], order: Order | None = None, readings: Sequence[str] = ()) -> str:
    """Observed values with a label, one value per line, numbered from 1.

    ``readings``: how a matcher parsed each of them, which gets a line of its own where the value is long.
    """
    if not values:
        return f"  {label}: none"
    positions = range(len(values)) if order is None else order.positions
    wholes = [(at, _with_reading(values[at], readings[at] if readings else "")) for at in positions[:MAX_LISTED_VALUES]]
    lines = [f"    {at + 1}. " + whole.replace("\n", "\n       ") for at, whole in wholes]
    more = len(values) - MAX_LISTED_VALUES
    head = f"  {label}{order.note if order else ''}:"
    return "\n".join([head, *lines, *([f"    … and {more} more"] if more > 0 else [])])


def _with_reading(value: str, reading: str) -> str:
    shown_value = cut(value, MAX_LISTED_VALUE_CHARACTERS)
    if not reading:
        return shown_value
    between = " " if len(value) + len(reading) < MAX_LISTED_VALUE_CHARACTERS else "\n"
    return f"{shown_value}{between}= {cut(reading, MAX_LISTED_VALUE_CHARACTERS)}"


def nearest_line(text: str, wanted: str) -> str:
    """The line of a text of several lines that is most like ``wanted``, with its number; empty if none is like it."""
    lines, likeness = text.split("\n")[:MAX_COMPARED_LINES], Likeness(wanted)
    near = [at for at in likeness.nearest_first(lines)[:1] if likeness.is_near(lines[at])]
    return f"{near[0] + 1}. {cut(lines[near[0]], MAX_LISTED_VALUE_CHARACTERS)}" if near and len(lines) > 1 else ""


def numbers(wanted: Iterable[bool]) -> str:
    """The numbers of the wanted ones among listed values: ``2, 5``."""
    return ", ".join(str(number) for number, is_wanted in enumerate(wanted, start=1) if is_wanted)


def require_list(values: object, what: str) -> None:
    """Raise TypeError for a value that is not a list or tuple."""
    if not isinstance(values, list | tuple):
        raise TypeError(f"expected a list of {what}, not {value_text(values)}")


_ADDRESS = re.compile(r"(<[\w.<> ]{1,200}) at 0x[0-9a-f]{4,16}>")


def value_text(value: object) -> str:
    """``repr`` of a value, cut to about ``MAX_SHOWN_VALUE_CHARACTERS`` characters. Never raises.

    The same values give the same text in each process: sets are sorted, and addresses of objects are left out.
    """
    try:
        text = _ADDRESS.sub(r"\1>", _in_order(value))
    except Exception as error:  # noqa: BLE001 - a suite's own class may do anything
        return f"<a {type(value).__name__} whose repr raises {type(error).__name__}>"
    return cut(text, MAX_SHOWN_VALUE_CHARACTERS)


def _in_order(value: object) -> str:
    if type(value) not in (set, frozenset) or not value:
        return repr(value)
    items = ", ".join(sorted(map(repr, value)))  # type: ignore[call-overload]  # it is a set
    return f"{{{items}}}" if type(value) is set else f"frozenset({{{items}}})"


def cut(text: str, limit: int) -> str:
    """The text, with its middle left out if it is longer than ``limit`` characters."""
    if len(text) <= limit:
        return text
    return f"{text[: limit // 2]}[… {len(text) - limit} characters …]{text[-(limit // 2) :]}"
