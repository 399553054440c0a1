"""Errors on the values of options, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillgym_action.text.escaping import clipped

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_ERROR, _SHOULD = "Value error, ", "Input should"  # how messages of pydantic begin
_NUMBERS = {"int_parsing": "a whole number", "int_from_float": "a whole number", "float_parsing": "a number"}
_BOUNDS = {"greater_than", "greater_than_equal", "less_than", "less_than_equal"}
_SHOWN = 60  # characters of a value in a message


def error_in_words(detail: ErrorDetails) -> str:
    """Pydantic's error on an option, with the value that was given."""
    message, value = detail["msg"].removeprefix(_ERROR).replace(_SHOULD, "must"), clipped(str(detail["input"]), _SHOWN)
    if number := _NUMBERS.get(detail["type"]):
        return f"{value!r} is not {number}"
    return f"{message}, not {value}" if detail["type"] in _BOUNDS else message
