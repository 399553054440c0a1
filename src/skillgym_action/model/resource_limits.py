"""Resource limits of a session, and their notation in files and options. Standard library only."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Final, Literal

from skillgym_action.model.limits import MAX_PROCESS_LIMIT, MAX_RESOURCE_LIMIT_BYTES, MIN_RESOURCE_LIMIT_BYTES
from skillgym_action.model.records import record

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_QUOTED_LIMIT_CHARACTERS = 60  # of a wrong limit that a message quotes
NO_LIMIT: Final = "none"
LIMIT_FIELDS = {"memory": "memory", "disk": "disk", "processes": "processes", "fileSize": "file_size"}
"""Key in files and options -> field of ``ResourceLimits``."""
Limit = int | Literal["none"]
_POWERS = "KMGT"
_UNITS = (
    {"": 1, "b": 1}
    | {f"{letter}ib".lower(): 1024**power for power, letter in enumerate(_POWERS, start=1)}
    | {f"{letter}b".lower(): 1000**power for power, letter in enumerate(_POWERS, start=1)}
)
_SIZE = re.compile(r"(\d{1,19}(?:\.\d{1,6})?)\s*([A-Za-z]*)")
_EXAMPLE = "write a number of bytes, or a size such as 512MiB, 4 GiB or 2GB"
_COMMENT = re.compile(r"(?:^|\s)#.*")
_PAIR = re.compile(r"""["']?(\w+)["']?\s*[=:]\s*["']?([^"']*?)["']?\s*""")


class LimitError(ValueError):
    """An invalid limit. ``key``: its name in files, which ``message`` does not contain; empty: no specific limit."""

    def __init__(self, message: str, key: str = "") -> None:
        super().__init__(f"{key}: {message}" if key else message)
        self.message, self.key = message, key


@record
class ResourceLimits:
    """Upper limits of one session; None: no limit.

    ``memory``: resident bytes of all of its processes together. ``disk``: bytes that its folders occupy.
    ``processes``: processes and threads at one time. ``file_size``: bytes of a single file.
    """

    memory: int | None = None
    disk: int | None = None
    processes: int | None = None
    file_size: int | None = None

    def tightest(self, other: ResourceLimits | None) -> ResourceLimits:
        """The smaller value of each limit."""
        both = {
            name: [value for value in (limit, getattr(other, name, None)) if value is not None] for name, limit in self
        }
        return ResourceLimits(**{name: min(values) for name, values in both.items() if values})

    def with_defaults(self, other: ResourceLimits | None) -> ResourceLimits:
        """These limits; ``other``'s where a limit is not set."""
        return ResourceLimits(**{name: getattr(other, name, None) if limit is None else limit for name, limit in self})

    def __iter__(self) -> Iterator[tuple[str, int | None]]:
        return ((field.name, getattr(self, field.name)) for field in fields(self))

    def __bool__(self) -> bool:
        return any(limit is not None for _, limit in self)


def parse_size(value: object) -> Limit:
    """The bytes of ``512MiB``, ``4 GiB``, ``2GB`` or a whole number; ``none`` stays. Raises LimitError."""
    if value == NO_LIMIT:
        return NO_LIMIT
    whole = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    written = _SIZE.fullmatch(whole.strip()) if isinstance(whole, str) else None
    unit = _UNITS.get(written[2].lower()) if written else None
    if written is None or unit is None:
        raise LimitError(f"{_shown(value)} is not a size; {_EXAMPLE}")
    number: int = round(float(written[1]) * unit) if "." in written[1] else int(written[1]) * unit
    if number < MIN_RESOURCE_LIMIT_BYTES:
        raise LimitError(f"{_shown(value)} is less than {MIN_RESOURCE_LIMIT_BYTES:,} bytes; {_EXAMPLE}")
    if number > MAX_RESOURCE_LIMIT_BYTES:
        raise LimitError(f"{_shown(value)} is more than any machine has; {_EXAMPLE}")
    return number


def parse_process_count(value: object) -> Limit:
    """A whole number of processes; ``none`` stays. Raises LimitError."""
    if value == NO_LIMIT:
        return NO_LIMIT
    text: str = value.strip() if isinstance(value, str) else str(value) if type(value) is int else ""
    if not re.fullmatch(r"\d{1,9}", text) or not 1 <= int(text) <= MAX_PROCESS_LIMIT:
        raise LimitError(f"{_shown(value)} is not a number of processes; write a whole number, 1 or more")
    return int(text)


def parse_limits(value: object) -> dict[str, int | None]:
    """Field of ``ResourceLimits`` -> limit, for the limits that ``value`` sets; None for ``none``.

    ``value`` is a mapping, or text: ``memory=4GiB,disk=2GiB``, or the same as a YAML mapping of one level.
    Raises LimitError.
    """
    pairs = _pairs(value) if isinstance(value, str) else list(value.items()) if isinstance(value, Mapping) else None
    if pairs is None:
        raise LimitError(f"{_shown(value)} is not a mapping of limits; known: {', '.join(LIMIT_FIELDS)}")
    limits: dict[str, int | None] = {}
    for key, written in pairs:
        name = LIMIT_FIELDS.get(key)
        if name is None:
            raise LimitError(f"unknown limit {_shown(key)}; known: {', '.join(LIMIT_FIELDS)}")
        if name in limits:
            raise LimitError("is set twice", key)
        if written is None:
            continue
        try:
            limit = (parse_process_count if name == "processes" else parse_size)(written)
        except LimitError as error:
            raise LimitError(error.message, key) from None
        limits[name] = limit if isinstance(limit, int) else None
    return limits


def parse_workspace_limits(value: object) -> ResourceLimits | None:
    """The limits of a suite's workspace; None if nothing is limited. Raises LimitError."""
    return (ResourceLimits(**parse_limits(value)) or None) if value is not None else None


def format_size(number: int) -> str:
    """``512 MiB``, ``5.2 GiB``: at most three digits, in the largest unit that fits."""
    shown, unit = float(number), "bytes"
    for letter in _POWERS:
        if shown < 1024:  # noqa: PLR2004 -- binary units
            break
        shown, unit = shown / 1024, f"{letter}iB"
    digits = 0 if shown >= 100 else 1 if shown >= 10 else 2  # noqa: PLR2004 -- three in all
    text = f"{shown:,.{digits}f}"
    return f"{text.rstrip('0').rstrip('.') if digits else text} {unit}"


def _pairs(text: str) -> list[tuple[str, str]]:
    inner = "\n".join(_COMMENT.sub("", line) for line in text.splitlines()).strip()
    if inner.startswith("{") and inner.endswith("}"):
        inner = inner[1:-1]
    pairs = []
    for item in filter(None, map(str.strip, re.split(r"[,\n]", inner))):
        pair = _PAIR.fullmatch(item)
        if pair is None or not pair[2]:
            raise LimitError(f"{_shown(item)} is not KEY=VALUE, such as memory=4GiB")
        pairs.append((pair[1], pair[2]))
    return pairs


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= MAX_QUOTED_LIMIT_CHARACTERS else f"{text[:MAX_QUOTED_LIMIT_CHARACTERS]}…"
