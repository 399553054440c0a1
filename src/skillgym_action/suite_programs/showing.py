"""Any value as messages show it."""

from __future__ import annotations

SHOWN = 400


def shown(value: object) -> str:
    """``repr``, cut in the middle to about 400 characters; never raises."""
    try:
        text = repr(value)
    except Exception as error:  # noqa: BLE001 - a suite's own class may do anything
        return f"<a {type(value).__name__} whose repr raises {type(error).__name__}>"
    return cut(text, SHOWN)


def cut(text: str, limit: int) -> str:
    """Head and tail of a text longer than ``limit`` characters."""
    if len(text) <= limit:
        return text
    return f"{text[: limit // 2]}[… {len(text) - limit} characters …]{text[-(limit // 2) :]}"
