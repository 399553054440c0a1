"""JSON, YAML and TOML text as values, with the place of everything in them.

A reading never holds NaN or infinity, never nests deeper than ``DEEPEST``, and never has two members of one name.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

KeyPath = tuple[str | int, ...]
DEEPEST = 100

_DECODER = json.JSONDecoder()
_BLANK = re.compile(r"[ \t\r\n]*")
_JSON_CONSTANT = re.compile(r'"(?:[^"\\]|\\.)*"|(?P<constant>NaN|-?Infinity)')
_TOML_PLACE = re.compile(r"\(at line (\d+), column (\d+)\)$")
_TOML_HEADER = re.compile(r"[ \t]*(?P<opening>\[\[?)(?P<key>[^\]#]+)\]")
_TOML_MEMBER = re.compile(r"[ \t]*(?P<key>(?:\"[^\"]*\"|'[^']*'|[\w.\- \t])+?)[ \t]*=")
_TOML_KEY = re.compile(r"\"([^\"]*)\"|'([^']*)'|([\w-]+)")


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """A value and where its parts are. ``offset`` gives a key's or an element's place in the text, where known."""

    value: object
    offset: Callable[[KeyPath], int | None]


class NotationError(Exception):
    """The text is not what its notation allows. ``offset`` is the place in it, where known."""

    def __init__(self, message: str, *, offset: int | None = None, remedy: str | None = None) -> None:
        """``message`` in plain words."""
        super().__init__(message)
        self.message, self.offset, self.remedy = message, offset, remedy


def key_path_text(key_path: KeyPath) -> str:
    """A key path as people write it: ``cases[0].expect``; keys that are no plain words are quoted."""
    text = ""
    for part in key_path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif re.fullmatch(r"[\w$-]+", part):
            text += f".{part}"
        else:
            text += f"[{json.dumps(part)}]"
    return text.removeprefix(".")


# --- JSON -------------------------------------------------------------------------------------------


def read_json(text: str) -> Reading:
    """The reading of a JSON text. Raises NotationError."""
    doubled = False

    def mapping(members: list[tuple[str, object]]) -> dict[str, object]:
        nonlocal doubled
        value = dict(members)
        doubled = doubled or len(value) != len(members)
        return value

    def constant(name: str) -> NoReturn:
        found = (match.start() for match in _JSON_CONSTANT.finditer(text) if match["constant"])
        raise NotationError(f"{name} is not a JSON number", offset=next(found, None))

    try:
        value = json.loads(text, object_pairs_hook=mapping, parse_constant=constant)
    except json.JSONDecodeError as error:
        raise NotationError(f"not JSON: {error.msg[:1].lower()}{error.msg[1:]}", offset=error.pos) from error
    except RecursionError as error:
        raise too_deep(None) from error
    except ValueError as error:
        raise NotationError(f"not JSON: {error}") from error
    places = _JsonPlaces(text)
    _refuse_extremes(value, places.offset)
    if doubled:
        places.refuse_doubles()
    return Reading(value=value, offset=places.offset)


class _JsonPlaces:
    """Finds places on demand by skipping values with the standard scanner; each container is scanned once."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._start = self._after_blank(0)
        self._scanned: dict[int, dict[str | int, tuple[int, int]]] = {}

    def offset(self, key_path: KeyPath) -> int | None:
        found = start = self._start
        for part in key_path:
            if start not in self._scanned:
                self._scanned[start] = {key: (place, value) for key, place, value in self._members(start)}
            if part not in self._scanned[start]:
                return None
            found, start = self._scanned[start][part]
        return found

    def refuse_doubles(self, start: int | None = None, key_path: KeyPath = ()) -> None:
        seen: dict[str | int, int] = {}
        for key, place, value in self._members(self._start if start is None else start):
            if key in seen:
                raise doubled((*key_path, key), self._text, offset=place, first=seen[key])
            seen[key] = place
            self.refuse_doubles(value, (*key_path, key))

    def _members(self, start: int) -> Iterator[tuple[str | int, int, int]]:
        """Key or index, its place, and the place of the value, of the container at ``start``; nothing for a scalar."""
        closing = {"{": "}", "[": "]"}.get(self._text[start])
        at, index = self._after_blank(start + 1), 0
        while closing and self._text[at] != closing:
            key: str | int = index
            place = at
            if closing == "}":
                key, at = _DECODER.raw_decode(self._text, at)
                at = self._after_blank(self._after_blank(at) + 1)
            yield key, place, at
            at = self._after_blank(_DECODER.raw_decode(self._text, at)[1])
            if self._text[at] == ",":
                at = self._after_blank(at + 1)
            index += 1

    def _after_blank(self, at: int) -> int:
        match = _BLANK.match(self._text, at)
        return match.end() if match else at


# --- TOML -------------------------------------------------------------------------------------------


def read_toml(text: str) -> Reading:
    """The reading of a TOML text; places inside inline tables and arrays are not known. Raises NotationError."""
    import tomllib

    try:
        value = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = _TOML_PLACE.search(str(error))
        offset = _line_start(text, int(place[1])) + int(place[2]) - 1 if place else len(text)
        message = str(error).split(" (at ")[0]
        raise NotationError(f"not TOML: {message[:1].lower()}{message[1:]}", offset=offset) from error
    except RecursionError as error:
        raise too_deep(None) from error
    except ValueError as error:
        raise NotationError(f"not TOML: {error}") from error
    places = _toml_places(text)
    _refuse_extremes(value, places.get)
    return Reading(value=value, offset=places.get)


def _toml_places(text: str) -> dict[KeyPath, int]:
    places: dict[KeyPath, int] = {(): 0}
    tables: dict[KeyPath, int] = {}
    table: KeyPath = ()
    start = 0
    for line in text.splitlines(keepends=True):
        if header := _TOML_HEADER.match(line):
            table = ()
            keys = _toml_keys(header["key"])
            for key in keys[:-1]:
                table = _in_last((*table, key), tables)
            table = (*table, keys[-1]) if keys else table
            if header["opening"] == "[[":
                places.setdefault(table, start)
                tables[table] = tables.get(table, -1) + 1
                table = _in_last(table, tables)
            places.setdefault(table, start + header.start("opening"))
        elif member := _TOML_MEMBER.match(line):
            places.setdefault((*table, *_toml_keys(member["key"])), start + member.start("key"))
        start += len(line)
    return places


def _toml_keys(dotted: str) -> KeyPath:
    return tuple(basic or literal or bare for basic, literal, bare in _TOML_KEY.findall(dotted))


def _in_last(table: KeyPath, tables: dict[KeyPath, int]) -> KeyPath:
    return (*table, tables[table]) if table in tables else table


def _line_start(text: str, line: int) -> int:
    start = 0
    for _ in range(line - 1):
        start = text.find("\n", start) + 1
    return start


# --- what no notation may hold ----------------------------------------------------------------------


def doubled(key_path: KeyPath, text: str, *, offset: int, first: int) -> NotationError:
    """The error for a second member of the same name; ``offset`` is its place, ``first`` the first one's."""
    line = text.count("\n", 0, first) + 1
    message = f"{key_path_text(key_path)} is given twice, first in line {line}"
    return NotationError(message, offset=offset, remedy="keep one of them")


def not_finite(key_path: KeyPath, offset: int | None) -> NotationError:
    """The error for NaN and infinity."""
    return NotationError(f"{key_path_text(key_path) or 'the document'} is not a finite number", offset=offset)


def too_deep(offset: int | None) -> NotationError:
    """The error for what no person writes."""
    return NotationError(f"nested more than {DEEPEST} levels deep", offset=offset)


def _refuse_extremes(value: object, offset: Callable[[KeyPath], int | None]) -> None:
    waiting: list[tuple[KeyPath, Any]] = [((), value if isinstance(value, dict | list) else [value])]
    for key_path, container in waiting:
        if len(key_path) >= DEEPEST:
            raise too_deep(offset(key_path))
        for key, member in container.items() if isinstance(container, dict) else enumerate(container):
            if isinstance(member, dict | list):
                waiting.append(((*key_path, key), member))
            elif isinstance(member, float) and not math.isfinite(member):
                raise not_finite((*key_path, key), offset((*key_path, key)))
