"""JSON that promises nothing: what foreign programs print, read without ever raising."""

from __future__ import annotations

import json
import math

TEXT_LIMIT = 256 * 1024
DEPTH_LIMIT = 64


class Loose:
    """A JSON object whose fields may be missing or of any type; a path of keys leads to a field."""

    def __init__(self, value: object) -> None:
        """Anything that is no object has no fields."""
        self.value = value if isinstance(value, dict) else {}

    def at(self, *path: str) -> object:
        """The value at a path, whatever it is; None where there is none."""
        value: object = self.value
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        return value

    def text(self, *path: str) -> str | None:
        """A string."""
        value = self.at(*path)
        return value if isinstance(value, str) else None

    def texts(self, *path: str) -> tuple[str, ...]:
        """The strings of a list."""
        value = self.at(*path)
        return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()

    def amount(self, *path: str) -> float | None:
        """A finite number that is not negative."""
        value = self.at(*path)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        try:
            return float(value) if math.isfinite(value) and value >= 0 else None
        except OverflowError:
            return None

    def count(self, *path: str) -> int | None:
        """A whole number that is not negative."""
        value = self.amount(*path)
        return None if value is None or value != int(value) else int(value)

    def true(self, *path: str) -> bool:
        """Whether the value is ``true``."""
        return self.at(*path) is True

    def child(self, *path: str) -> Loose:
        """An object; one without fields where there is none."""
        return Loose(self.at(*path))

    def children(self, *path: str) -> tuple[Loose, ...]:
        """The objects of a list, or the values of an object that are objects."""
        value = self.at(*path)
        values = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        return tuple(Loose(item) for item in values if isinstance(item, dict))


def object_in(line: str) -> Loose | None:
    """The JSON object a line holds; None for anything else.

    Strings are shortened to ``TEXT_LIMIT`` characters and made encodable; what lies deeper than ``DEPTH_LIMIT`` is cut.
    """
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    return Loose(value if _is_modest(line) else _bounded(value, DEPTH_LIMIT))


def _is_modest(line: str) -> bool:
    """Whether nothing in it can be too long, too deep, or not encodable: most lines by far."""
    return (
        len(line) <= TEXT_LIMIT
        and line.isascii()
        and "\\u" not in line
        and line.count("{") + line.count("[") <= DEPTH_LIMIT
    )


def shortened(text: str, limit: int = TEXT_LIMIT) -> str:
    """The text, or its beginning and a note of how much is missing; lone surrogates are replaced."""
    if len(text) <= limit and text.isascii():
        return text
    kept = text[:limit].encode("utf-8", "replace").decode()
    return kept if len(text) <= limit else f"{kept}\n[{len(text) - limit} more characters were cut]"


def _bounded(value: object, depth: int) -> object:
    if isinstance(value, str):
        return shortened(value)
    if not isinstance(value, dict | list):
        return value
    if depth == 0:
        return "[cut: nested too deeply]"
    if isinstance(value, list):
        return [_bounded(item, depth - 1) for item in value]
    return {shortened(key): _bounded(item, depth - 1) for key, item in value.items()}
