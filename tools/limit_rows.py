"""Parts of the tables of docs/reference/limits.md."""

from __future__ import annotations

Row = tuple[str, ...]
HEAD: Row = ("Object", "Limit")


def minutes(seconds: float) -> str:
    """A time that is a number of minutes."""
    return f"{seconds / 60:g} minutes"


def days(seconds: float) -> str:
    """A time that is a number of days."""
    return f"{seconds / (24 * 3600):g} days"
