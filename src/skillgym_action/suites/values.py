"""Values in suite files, with their places. A value of the wrong kind becomes a SuiteError that names the place."""

from __future__ import annotations

import math
import re
from dataclasses import field
from itertools import islice
from typing import TYPE_CHECKING

from skillgym_action.model.errors import Location, Problem, SuiteError, closest_match, meant_word, suggestion
from skillgym_action.model.limits import MAX_UNKNOWN_KEYS
from skillgym_action.model.records import record
from skillgym_action.text.documents.located_values import key_path_text
from skillgym_action.text.javascript.values import text_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from skillgym_action.text.documents.documents import ValueSource
    from skillgym_action.text.documents.located_values import KeyPath

_WARNING_LIKENESS, _ERROR_LIKENESS = 0.7, 0.8
"""How similar an unknown key must be to a known one, to be named in a warning, or to be an error."""
_SHOWN_CHARACTERS = 60
UNUSABLE = re.compile(r"[\0\ud800-\udfff]")
"""A character that cannot be passed to a program: NUL, or half of a surrogate pair."""


@record(kw_only=False)
class FixedLocation:
    """The source of a value whose keys have no places of their own, such as an included assertion."""

    value: object
    location: Location

    def locate(self, key_path: KeyPath = ()) -> Location:  # noqa: ARG002 - the same for every key
        """Return the same location for every key."""
        return self.location

    def scalar(self, key_path: KeyPath) -> str | None:  # noqa: ARG002 - the value is no longer as in the file
        """Return None: the text of the file is not known."""
        return None


@record
class SuiteValue:
    """A value, after variables were replaced in it, and its place.

    ``key_path`` starts at the top of ``source``; in messages it follows ``prefix``, the key path of that top.
    ``moved``: of values that were translated, the key paths that are others in the file, with those of the file.
    All methods that return a member's value raise SuiteError if it has the wrong type.
    """

    source: ValueSource
    value: object
    key_path: KeyPath = ()
    prefix: str = ""
    moved: Mapping[KeyPath, KeyPath] = field(default_factory=dict)

    @property
    def written_path(self) -> KeyPath:
        """The key path in the file."""
        for length in range(len(self.key_path), 0, -1) if self.moved else ():
            if (path := self.moved.get(self.key_path[:length])) is not None:
                return (*path, *self.key_path[length:])
        return self.key_path

    @property
    def location(self) -> Location:
        """File, line and column."""
        return self.source.locate(self.written_path)

    @property
    def name(self) -> str:
        """The key path as messages show it."""
        path = key_path_text(self.written_path)
        separator = "." if self.prefix and path and not path.startswith("[") else ""
        return f"{self.prefix}{separator}{path}"

    @property
    def written(self) -> object:
        """The value as its author wrote it; ``value`` itself if it is not part of the file.

        Messages quote this one: variables may have been replaced by secrets.
        """
        value: object = self.source.value
        for key in self.written_path:
            keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
            if key not in keys:
                return self.value
            value = value[key]  # type: ignore[index]
        return value

    @property
    def scalar(self) -> str:
        """A number, or true or false, as its author wrote it: ``1.10`` is not ``1.1``; other values as texts."""
        known = self._scalar_in_file()
        return text_of(self.value) if known is None else known

    def _scalar_in_file(self) -> str | None:
        is_written = type(self.value) is type(self.written) and self.value == self.written
        return self.source.scalar(self.written_path) if is_written else None

    # --- members ------------------------------------------------------------------------------------

    def member(self, key: str) -> SuiteValue:
        """The member with this key; its value is None if there is none."""
        return self._with(self._value_of(key), (*self.key_path, key))

    def _value_of(self, key: str) -> object:
        return self.value.get(key) if isinstance(self.value, dict) else None

    def _with(self, value: object, key_path: KeyPath) -> SuiteValue:
        # dataclasses.replace takes 3 times as long, and large suites have hundreds of thousands of members
        return SuiteValue(source=self.source, value=value, key_path=key_path, prefix=self.prefix, moved=self.moved)

    def get(self, *keys: str) -> SuiteValue | None:
        """The first of the members that exists and is not null."""
        return next((self.member(key) for key in keys if self.has(key)), None)

    def has(self, key: str) -> bool:
        """Whether there is such a member, and it is not null."""
        return isinstance(self.value, dict) and self.value.get(key) is not None

    def mapping(self) -> dict[str, object]:
        """The value, if it is a mapping."""
        if not isinstance(self.value, dict):
            raise self.wrong_type("a mapping of keys to values")
        return self.value

    def snake_case(self) -> SuiteValue:
        """The mapping without nulls, its own keys as ``snake_case``: authors may write them as ``camelCase``."""
        value = {_snake(str(key)): item for key, item in self.mapping().items() if item is not None}
        return self._with(value, self.key_path)

    def items(self) -> tuple[SuiteValue, ...]:
        """The elements of a list."""
        if not isinstance(self.value, list):
            raise self.wrong_type("a list")
        return tuple(self._with(value, (*self.key_path, index)) for index, value in enumerate(self.value))

    def children(self, key: str) -> tuple[SuiteValue, ...]:
        """The mappings of a member that is a list, in ``snake_case``; none if there is no such member."""
        return tuple(item.snake_case() for item in self.member(key).items()) if self.has(key) else ()

    def child(self, key: str) -> SuiteValue | None:
        """A member that is a mapping, in ``snake_case``."""
        return self.member(key).snake_case() if self.has(key) else None

    # --- scalars ------------------------------------------------------------------------------------

    def as_text(self) -> str:
        """The value, if it is text that is not blank."""
        if not isinstance(self.value, str):
            raise self.wrong_type("text")
        if not self.value.strip():
            raise self.error("must not be empty")
        return self.value

    def text(self, *keys: str) -> str | None:
        """The text of the first of the members, which is not blank; None if there is none."""
        return None if (member := self.get(*keys)) is None else member.as_text()

    def texts(self, *keys: str) -> tuple[str, ...]:
        """The texts of a member that is a list, none of them blank."""
        return () if (member := self.get(*keys)) is None else tuple(item.as_text() for item in member.items())

    def scalar_text(self, key: str) -> str | None:
        """The text of a member, also an empty one; numbers and booleans are converted as JavaScript does."""
        value = self._value_of(key)
        if isinstance(value, dict | list):
            raise self.invalid(key, "text")
        return None if value is None else value if isinstance(value, str) else text_of(value)

    def required_text(self, key: str) -> str:
        """The same, of a member that must exist and not be empty."""
        if not (text := self.scalar_text(key)):
            raise self.invalid(key, "a text that is not empty")
        return text

    def scalar_texts(self, key: str) -> tuple[str, ...]:
        """The texts of a member that is a list; numbers and booleans are converted."""
        value = self.member(key).value if self.has(key) else []
        if not isinstance(value, list) or any(isinstance(item, dict | list) or item is None for item in value):
            raise self.invalid(key, "a list of texts")
        return tuple(item if isinstance(item, str) else text_of(item) for item in value)

    def choice(self, key: str, known: Collection[str]) -> str | None:
        """A member that must be one of the known words."""
        word = self.scalar_text(key)
        if word is not None and word not in known:
            raise self.invalid(key, f"one of {', '.join(known)}")
        return word

    def flag(self, *keys: str, default: bool = False) -> bool:
        """A member that is true or false."""
        if (member := self.get(*keys)) is None:
            return default
        if not isinstance(member.value, bool):
            raise member.wrong_type("true or false")
        return member.value

    def number(self, *keys: str, least: float = 0.0, most: float = math.inf, whole: bool = False) -> float | None:
        """A finite number from ``least`` to ``most``, as it is written; None if there is none."""
        member = self.get(*keys)
        return None if member is None else member.as_number(least=least, most=most, whole=whole)

    def as_number(
        self, *, least: float = 0.0, most: float = math.inf, whole: bool = False, above: bool = False
    ) -> float:
        """The value, if it is a finite number from ``least`` to ``most``; ``above``: ``least`` itself is too little."""
        value, kind = self.value, "a whole number" if whole else "a number"
        if above:
            kind += f" above {least:g}" if most == math.inf else f" above {least:g}, at most {most:,.10g}"
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise self.wrong_type(kind)
        if whole and value != int(value):
            raise self.wrong_type(kind)
        if not least <= value <= most or (above and value == least):
            bounds = f", {least:g} or more" if most == math.inf else f", from {least:g} to {most:g}"
            raise self.wrong_type(kind if above else kind + bounds)
        return value

    # --- problems -----------------------------------------------------------------------------------

    def problem(self, message: str, remedy: str | None = None) -> Problem:
        """A problem at this place."""
        return Problem(message=message, location=self.location, key_path=self.name or None, remedy=remedy)

    def error(self, message: str, remedy: str | None = None) -> SuiteError:
        """The error to raise for a problem at this place."""
        return SuiteError(message, problems=(self.problem(message, remedy),))

    def missing(self, key: str, remedy: str, message: str | None = None) -> SuiteError:
        """The error for a mapping without ``key``; at the key that is probably meant, if there is one."""
        message = message or f"has no {key}"
        if meant := self.misspelled(key):
            return self.member(meant).error(message, meant_word(key, meant))
        return self.error(message, remedy)

    def misspelled(self, key: str) -> str | None:
        """The key of the mapping that was probably meant to be ``key``, which is missing."""
        keys = self.written if isinstance(self.written, dict) else self.value if isinstance(self.value, dict) else {}
        names = [name for name in keys if isinstance(name, str) and name != key]
        return closest_match(key, names, _WARNING_LIKENESS)

    def wrong_type(self, wanted: str) -> SuiteError:
        """The error for a value that is not what is wanted."""
        return self.error(f"must be {wanted}, not {self._scalar_in_file() or _shown(self.written)}")

    def invalid(self, key: str, wanted: str) -> SuiteError:
        """The error for a member that is not what is wanted, or is missing."""
        if self.has(key):
            return self.member(key).wrong_type(wanted)
        if meant := self.misspelled(key):
            return self.error(f"{key} is missing: {wanted}", meant_word(key, meant))
        return self.error(f"{key} is missing: {wanted}")

    def unknown_keys(self, known: Collection[str]) -> Iterator[Problem]:
        """A warning for every unknown key, except ``$schema`` and ``x-*``."""
        keys = self.value if isinstance(self.value, dict) else {}
        unknown = [key for key in keys if key not in known and not key.startswith(("x-", "$"))]
        for key in unknown[:MAX_UNKNOWN_KEYS]:
            yield self.member(key).problem(f"unknown key {key!r}", suggestion(key, known, _WARNING_LIKENESS))
        if len(unknown) > MAX_UNKNOWN_KEYS:
            yield self.problem("and more unknown keys")

    def refuse_misspelled_keys(self, known: Collection[str]) -> None:
        """Raise SuiteError for a key that is nearly a known one; other unknown keys are allowed."""
        for key in islice((key for key in self.mapping() if key not in known), MAX_UNKNOWN_KEYS):
            if remedy := suggestion(key, known, _ERROR_LIKENESS):
                raise self.error(f"unknown key {key!r}", remedy)


def _snake(key: str) -> str:
    if "_" in key or not key[:1].islower():
        return key
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in key)


def _shown(value: object) -> str:
    if isinstance(value, dict | list):
        return "a list" if isinstance(value, list) else "a mapping"
    text = "null" if value is None else str(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…"
