"""Values as text for messages."""

from __future__ import annotations

import re

from skillgym_action.limits import MAX_SHOWN_VALUE_CHARACTERS

_ADDRESS = re.compile(r"(<[\w.<> ]{1,200}) at 0x[0-9a-f]{4,16}>")


def shown(value: object) -> str:
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
