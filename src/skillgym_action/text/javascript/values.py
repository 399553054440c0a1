"""JSON values read, compared and written as in JavaScript: every number is a float, and ``true`` is no number."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_BLANKS = " \xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000\ufeff"
SPACE = f"\t\n\x0b\f\r\u2028\u2029{_BLANKS}"
"""White space of ``trim``: with the byte order mark, without the separators that ``str.strip`` removes."""
_WHOLE = 1e21
"""From this number on, JavaScript writes whole numbers with an exponent."""

MISSING = object()

_INDEX = re.compile(r"[0-9]{1,9}")
_LEADING_NUMBER = re.compile(r"[+-]?(?:Infinity|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)")


def trimmed(text: str) -> str:
    """``text`` without white space at its ends."""
    return text.strip(SPACE)


def parsed(text: str) -> object:
    """The value of a JSON text. Raises ValueError for other texts, and for values that are nested too deeply."""
    try:
        return json.loads(text, parse_int=float, parse_constant=_no_number)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _no_number(word: str) -> float:
    raise ValueError(f"{word} is not JSON")


def number(value: object) -> float | None:
    """The value as a float; None if it is no number, as booleans are."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def leading_number(text: str) -> float | None:
    """The number that ``text`` begins with, as ``parseFloat`` returns it; None instead of NaN."""
    found = _LEADING_NUMBER.match(text.lstrip(SPACE))
    return float(found[0].replace("Infinity", "inf")) if found else None


def same(one: object, other: object) -> bool:
    """Whether two JSON values are equal; the order of keys does not matter."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if number(one) is not None and number(other) is not None:
        return number(one) == number(other)
    return type(one) is type(other) and one == other


def member_at(value: object, keys: Iterable[str]) -> object:
    """The member of nested lists and objects that the keys lead to; ``MISSING`` if there is none."""
    for key in keys:
        if isinstance(value, dict) and key in value:
            value = value[key]
        elif isinstance(value, list) and _INDEX.fullmatch(key) and int(key) < len(value):
            value = value[int(key)]
        else:
            return MISSING
    return value


def is_true(value: object) -> bool:
    """``Boolean(value)``: lists and objects are true even if empty, and so is every text but the empty one."""
    if isinstance(value, list | dict):
        return True
    return bool(value) and value == value  # noqa: PLR0124 - NaN is not


def text_of(value: object) -> str:
    """``String(value)``."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "[object Object]"
    if isinstance(value, list):
        return ",".join("" if item is None else text_of(item) for item in value)
    return str(plain(value))


def plain(value: object) -> object:
    """``value`` with numbers as ``JSON.stringify`` writes them: ``1.0`` as ``1``, infinity and NaN as ``null``."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return None if not math.isfinite(value) else int(value) if value.is_integer() and abs(value) < _WHOLE else value
    return value


def stringified(value: object, *, indent: int | None = None) -> str:
    """``JSON.stringify(value)``; ``indent`` is a number of spaces."""
    separators = (",", ":") if indent is None else (",", ": ")
    return json.dumps(plain(value), ensure_ascii=False, indent=indent, separators=separators, default=str)
