"""JSON of other programs, which may lack any field or have it with any type; reading it raises nothing."""

from __future__ import annotations

import json
import math
import re
from datetime import UTC, datetime

from skillgym_action.model.limits import MAX_JSON_TEXT_CHARACTERS

MAX_JSON_DEPTH = 64  # of nested values in a line of JSON
_LATEST = 253402300799  # the last second of the year 9999
# What terminals hide: control sequences, commands to the operating system, other controls, a byte order mark.
_HIDDEN = re.compile(
    r"(?:\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[ -/]*[0-Z\\^-~]|[\x00-\x20\ufeff])*"
)


class LenientJson:
    """A JSON object whose fields may be missing or of any type. Methods take the path of keys to a field.

    A value that is not an object has no fields.
    """

    def __init__(self, value: object) -> None:
        self.value = value if isinstance(value, dict) else {}

    def at(self, *path: str) -> object:
        """Return the value at a path, of any type; None if there is none."""
        value: object = self.value
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        return value

    def text(self, *path: str) -> str | None:
        """Return a string; None for anything else."""
        value = self.at(*path)
        return value if isinstance(value, str) else None

    def texts(self, *path: str) -> tuple[str, ...]:
        """Return the strings of a list."""
        value = self.at(*path)
        return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()

    def amount(self, *path: str) -> float | None:
        """Return a finite number that is not negative; None for anything else."""
        value = self.at(*path)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        try:
            return float(value) if math.isfinite(value) and value >= 0 else None
        except OverflowError:
            return None

    def count(self, *path: str) -> int | None:
        """Return a whole number that is not negative; None for anything else."""
        value = self.amount(*path)
        return None if value is None or value != int(value) else int(value)

    def moment(self, *path: str) -> str | None:
        """Return a time that is given in milliseconds since 1970, as ISO 8601 in UTC; None for anything else."""
        milliseconds = self.amount(*path)
        if milliseconds is None or milliseconds / 1000 > _LATEST:
            return None
        moment = datetime.fromtimestamp(milliseconds / 1000, UTC)
        return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def true(self, *path: str) -> bool:
        """Whether the value is ``true``."""
        return self.at(*path) is True

    def child(self, *path: str) -> LenientJson:
        """Return an object; one without fields if there is none."""
        return LenientJson(self.at(*path))

    def children(self, *path: str) -> tuple[LenientJson, ...]:
        """Return the objects of a list, or the values of an object that are objects."""
        value = self.at(*path)
        values = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        return tuple(LenientJson(item) for item in values if isinstance(item, dict))


def json_object(line: str) -> LenientJson | None:
    """Return the JSON object in a line; None for anything else. Codes for terminals around it are ignored.

    Strings are shortened to ``MAX_JSON_TEXT_CHARACTERS`` and made encodable; values deeper than ``MAX_JSON_DEPTH`` are
    cut.
    """
    line = visible_line(line)
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    return LenientJson(value if _is_within_limits(line) else _bounded(value, MAX_JSON_DEPTH))


def visible_line(line: str) -> str:
    """Return a line without the codes for terminals before it, and after a JSON object in it."""
    if line[:1] == "{" and line[-1:] == "}":
        return line
    start = found.end() if (found := _HIDDEN.match(line)) else 0
    end = line.rfind("}") + 1
    return line[start:end] if _HIDDEN.fullmatch(line, end) else line[start:]


def _is_within_limits(line: str) -> bool:
    """Whether nothing in the line can be too long, too deep or not encodable. True of nearly all lines."""
    return (
        len(line) <= MAX_JSON_TEXT_CHARACTERS
        and line.isascii()
        and "\\u" not in line
        and line.count("{") + line.count("[") <= MAX_JSON_DEPTH
    )


def shortened(text: str, limit: int = MAX_JSON_TEXT_CHARACTERS) -> str:
    """Return the text, or its beginning and its end, with a note of how much is left out between them.

    Lone surrogates are replaced.
    """
    if len(text) <= limit and text.isascii():
        return text
    if len(text) > limit:
        missing, end = len(text) - limit, limit // 2
        text = f"{text[: limit - end]}\n[{missing:,} characters are left out here]\n{text[-end:]}"
    return text.encode("utf-8", "replace").decode()


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
