"""Values as text for messages."""

from __future__ import annotations

from skillgym_action.limits import MAX_SHOWN_VALUE_CHARACTERS


def shown(value: object) -> str:
    """``repr`` of a value, cut to about ``MAX_SHOWN_VALUE_CHARACTERS`` characters. Never raises."""
    try:
        text = repr(value)
    except Exception as error:  # noqa: BLE001 - a suite's own class may do anything
        return f"<a {type(value).__name__} whose repr raises {type(error).__name__}>"
    return cut(text, MAX_SHOWN_VALUE_CHARACTERS)


def cut(text: str, limit: int) -> str:
    """The text, with its middle left out if it is longer than ``limit`` characters."""
    if len(text) <= limit:
        return text
    return f"{text[: limit // 2]}[… {len(text) - limit} characters …]{text[-(limit // 2) :]}"
