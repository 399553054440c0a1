"""Errors on the values of options, in words."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING

from skillgym_action.text.escaping import clipped

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_ERROR, _SHOULD = "Value error, ", "Input should"  # how messages of pydantic begin
_NUMBERS = {"int_parsing": "a whole number", "int_from_float": "a whole number", "float_parsing": "a number"}
_BOUNDS = {"greater_than", "greater_than_equal", "less_than", "less_than_equal"}
IN_POINTS = ("min_uplift",)  # options in percentage points; other shares are numbers from 0 to 1
_SHOWN = 60  # characters of a value in a message
_WITH_UNIT = re.compile(r"\s*[$€]?\s*(\d+(?:\.\d+)?)\s*(%|[$€]|usd)?\s*", re.IGNORECASE)


def error_in_words(detail: ErrorDetails) -> str:
    """Pydantic's error on an option, with the value that was given."""
    message, value = detail["msg"].removeprefix(_ERROR).replace(_SHOULD, "must"), clipped(str(detail["input"]), _SHOWN)
    if number := _NUMBERS.get(detail["type"]):
        instead = _without_unit(value, is_points=detail["loc"][-1] in IN_POINTS) if number == "a number" else ""
        return f"{value!r} is not {number}{instead}"
    if detail["type"] == "less_than_equal" and detail["ctx"]["le"] == 1:
        return f"must be from 0 to 1, not {value}{_as_share(value)}"
    return f"{message}, not {value}" if detail["type"] in _BOUNDS else message


def _without_unit(value: str, *, is_points: bool) -> str:
    """What to write in place of a percentage or an amount of money; "" for other values."""
    found = _WITH_UNIT.fullmatch(value)
    if found is None:
        return ""
    number = float(found[1])
    return f"; write {number / 100 if found[2] == '%' and not is_points else number:g}"


def _as_share(value: str) -> str:
    """The share that a percentage above 1 means; "" for other values."""
    with suppress(ValueError):
        number = float(value)
        return f"; write {number / 100:g} for {number:g} %" if 1 < number <= 100 else ""  # noqa: PLR2004
    return ""
