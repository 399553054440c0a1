"""An object in a suite file, read key by key. What is wrong with a key becomes a SuiteError that names its place."""

from __future__ import annotations

import math
from itertools import islice
from typing import TYPE_CHECKING

from skillgym_action.javascript.values import text_of
from skillgym_action.model.errors import Location, Problem, SuiteError, closest_match

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

_ALIKE = 0.8
_SHOWN = 60
_MOST_UNKNOWN = 100


class Entry:
    """A mapping with its place. Its keys are written as ``snake_case``, or as ``camelCase``."""

    def __init__(self, value: object, location: Location, key_path: str) -> None:
        """Raises SuiteError when ``value`` is no mapping."""
        self.location, self.key_path = location, key_path
        if not isinstance(value, dict):
            raise self.error(f"must be a mapping of keys to values, not {_shown(value)}")
        self.value: dict[str, object] = {_snake(str(key)): item for key, item in value.items() if item is not None}

    def error(self, message: str, key: str | None = None, remedy: str | None = None) -> SuiteError:
        """What to raise for a key, or for the whole entry."""
        path = f"{self.key_path}.{key}" if key else self.key_path
        problem = Problem(message=message, location=self.location, key_path=path, remedy=remedy)
        return SuiteError(message, problems=(problem,))

    def has(self, key: str) -> bool:
        """Whether the key is there and not null."""
        return key in self.value

    def wrong(self, key: str, wanted: str) -> SuiteError:
        """The error for a value of the wrong kind, or for a key that is missing."""
        if not self.has(key):
            return self.error(f"{key} is missing: {wanted}")
        return self.error(f"must be {wanted}, not {_shown(self.value[key])}", key)

    def text(self, key: str) -> str | None:
        """A text; numbers, ``true`` and ``false`` are taken as they are written."""
        value = self.value.get(key)
        if isinstance(value, dict | list):
            raise self.wrong(key, "text")
        return None if value is None else value if isinstance(value, str) else text_of(value)

    def needed_text(self, key: str) -> str:
        """A text that is not empty."""
        if not (text := self.text(key)):
            raise self.wrong(key, "a text that is not empty")
        return text

    def texts(self, key: str) -> tuple[str, ...]:
        """The texts of a list; none where there is no such key."""
        value = self.value.get(key, [])
        if not isinstance(value, list) or any(isinstance(item, dict | list) or item is None for item in value):
            raise self.wrong(key, "a list of texts")
        return tuple(item if isinstance(item, str) else text_of(item) for item in value)

    def number(self, key: str, *, least: float = 0.0, most: float = math.inf) -> float | None:
        """A finite number from ``least`` to ``most``."""
        value = self.value.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise self.wrong(key, "a number")
        if not least <= value <= most:
            bounds = f"{least:g} or more" if most == math.inf else f"from {least:g} to {most:g}"
            raise self.wrong(key, f"a number, {bounds}")
        return value

    def flag(self, key: str, *, default: bool = False) -> bool:
        """``true`` or ``false``."""
        value = self.value.get(key, default)
        if not isinstance(value, bool):
            raise self.wrong(key, "true or false")
        return value

    def choice(self, key: str, known: Collection[str]) -> str | None:
        """One of the known words."""
        word = self.text(key)
        if word is not None and word not in known:
            raise self.wrong(key, f"one of {', '.join(known)}")
        return word

    def items(self, key: str) -> Iterator[tuple[object, str]]:
        """The items of a list with their key paths."""
        value = self.value.get(key, [])
        if not isinstance(value, list):
            raise self.wrong(key, "a list")
        for index, item in enumerate(value):
            yield item, f"{self.key_path}.{key}[{index}]"

    def children(self, key: str) -> tuple[Entry, ...]:
        """The mappings of a list."""
        return tuple(Entry(item, self.location, path) for item, path in self.items(key))

    def child(self, key: str) -> Entry | None:
        """A mapping."""
        return Entry(self.value[key], self.location, f"{self.key_path}.{key}") if self.has(key) else None

    def refuse_typing_errors(self, known: Collection[str]) -> None:
        """Raise SuiteError for a key that is nearly one of the known; other keys are their author's own."""
        for key in islice((key for key in self.value if key not in known), _MOST_UNKNOWN):
            if meant := closest_match(key, known, _ALIKE):
                raise self.error(f"unknown key {key!r}", remedy=f"did you mean {meant!r}?")


def _snake(key: str) -> str:
    if "_" in key or not key[:1].islower():
        return key
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in key)


def _shown(value: object) -> str:
    if isinstance(value, dict | list):
        return "a list" if isinstance(value, list) else "a mapping"
    text = "null" if value is None else str(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
