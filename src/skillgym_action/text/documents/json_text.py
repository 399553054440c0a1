"""JSON text as values. Commas and brackets are counted first, so that a text with too many values is not parsed."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NoReturn

from skillgym_action.model.limits import MAX_DOCUMENT_VALUES
from skillgym_action.model.records import record
from skillgym_action.text.documents.located_values import (
    LocatedValue,
    NotationError,
    doubled,
    refuse_extremes,
    too_deep,
    too_many,
    unreadable_number,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillgym_action.text.documents.located_values import KeyPath

_DECODER = json.JSONDecoder()
_SCALAR = re.compile(r"[-+.\w]+")
_BLANK = re.compile(r"[ \t\r\n]*")
_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?'
_CONSTANT = re.compile(rf"{_STRING}|(?P<constant>NaN|-?Infinity)", re.DOTALL)
_TOKEN = re.compile(rf"{_STRING}|[\[\]{{}},]", re.DOTALL)
_TOKEN_IN_BYTES = re.compile(_TOKEN.pattern.encode(), re.DOTALL)
_VALUE = re.compile(rf"{_STRING}|(?P<value>[\[{{,])", re.DOTALL)


def read_json(text: str) -> LocatedValue:
    """The value of a JSON text, with offsets. Raises NotationError."""
    twice = False
    values = _values_in(text)

    def mapping(members: list[tuple[str, object]]) -> dict[str, object]:
        nonlocal twice
        value = dict(members)
        twice = twice or len(value) != len(members)
        return value

    def constant(name: str) -> NoReturn:
        found = (match.start() for match in _CONSTANT.finditer(text) if match["constant"])
        raise NotationError(f"{name} is not a JSON number", offset=next(found, None))

    try:
        value = json.loads(text, object_pairs_hook=mapping, parse_constant=constant)
    except json.JSONDecodeError as error:
        raise NotationError(f"not JSON: {error.msg[:1].lower()}{error.msg[1:]}", offset=error.pos) from error
    except RecursionError as error:
        raise too_deep(None) from error
    except ValueError as error:
        raise unreadable_number(text, "JSON", error) from error
    offsets = _Offsets(text)
    refuse_extremes(value, offsets.offset)
    if twice:
        refuse_doubled(text)
    return LocatedValue(value=value, offset=offsets.offset, values=values, scalar=offsets.scalar)


def _values_in(text: str) -> int:
    """How many values a JSON text has, at most: commas and containers. Raises NotationError for too many."""
    if (roughly := sum(map(text.count, "[{,"))) <= MAX_DOCUMENT_VALUES:  # those in strings are counted, too
        return roughly
    values = 0
    for token in _VALUE.finditer(text):
        if token["value"]:
            values += 1
            if values > MAX_DOCUMENT_VALUES:
                raise too_many(token.start())
    return values


@record
class Extent:
    """How much a JSON text may have: lists and objects, values of both, members of one object."""

    containers: int
    values: int
    members: int


def refuse_large(content: bytes, most: Extent) -> None:
    """Raise NotationError for JSON that has more than ``most``, without parsing it."""
    commas = min(most.values, most.members)  # fewer separate no more values, and no more members of one object
    if sum(map(content.count, (b"[", b"{"))) <= most.containers and content.count(b",") < commas:
        return  # also counting those in strings
    containers = values = 0
    counts: list[int] = []  # of the containers around, what they have so far
    for token in _TOKEN_IN_BYTES.finditer(content):
        sign = token[0]
        if sign in (b"{", b"["):
            containers += 1
            counts.append(0 if sign == b"{" else -len(content))
            if containers > most.containers:
                raise NotationError(f"more than {most.containers:,} lists and objects", offset=token.start())
        elif sign in (b"}", b"]"):
            del counts[-1:]
        elif sign == b"," and counts:
            values += 1
            counts[-1] += 1
            if counts[-1] >= most.members:
                raise NotationError(f"an object with more than {most.members:,} members", offset=token.start())
            if values >= most.values:
                raise NotationError(f"more than {most.values:,} values", offset=token.start())


def refuse_doubled(text: str, at: KeyPath = (), line: int = 1) -> None:
    """Raise NotationError for the first member that has the name of another one in its object.

    ``text`` is JSON; ``at`` is its key path in the document, ``line`` the number of its first line.
    """
    path: list[str | int] = [*at]
    members: list[dict[str, int] | None] = []  # of the containers around; None is a list
    at_key = False
    for token in _TOKEN.finditer(text):
        match token[0]:
            case "{" | "[" as opening:
                at_key = opening == "{"
                members.append({} if at_key else None)
                path.append(0)
            case "}" | "]":
                members.pop()
                path.pop()
                at_key = False
            case ",":
                at_key = members[-1] is not None
                path[-1] = path[-1] if at_key else int(path[-1]) + 1
            case string if at_key and (seen := members[-1]) is not None:
                path[-1] = key = str(json.loads(string))
                if key in seen:
                    raise doubled(tuple(path), text, offset=token.start(), first=seen[key], line=line)
                seen[key] = token.start()
                at_key = False


class _Offsets:
    """Finds offsets on demand by skipping values with the standard scanner; each container is scanned once."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._start = self._after_blank(0)
        self._scanned: dict[int, dict[str | int, tuple[int, int]]] = {}

    def offset(self, key_path: KeyPath) -> int | None:
        found = self._found(key_path)
        return found[0] if found else None

    def scalar(self, key_path: KeyPath) -> str | None:
        found = self._found(key_path)
        scalar = _SCALAR.match(self._text, found[1]) if found else None
        return scalar[0] if scalar else None

    def _found(self, key_path: KeyPath) -> tuple[int, int] | None:
        """The offsets of a key or an element, and of its value."""
        found = start = self._start
        for part in key_path:
            if start not in self._scanned:
                self._scanned[start] = {key: (at, value) for key, at, value in self._members(start)}
            if part not in self._scanned[start]:
                return None
            found, start = self._scanned[start][part]
        return found, start

    def _members(self, start: int) -> Iterator[tuple[str | int, int, int]]:
        """Key or index, its offset, and the offset of the value, for each member of the container at ``start``."""
        closing = {"{": "}", "[": "]"}.get(self._text[start])
        at, index = self._after_blank(start + 1), 0
        while closing and self._text[at] != closing:
            key: str | int = index
            key_at = at
            if closing == "}":
                key, at = _DECODER.raw_decode(self._text, at)
                at = self._after_blank(self._after_blank(at) + 1)
            yield key, key_at, at
            at = self._after_blank(_DECODER.raw_decode(self._text, at)[1])
            if self._text[at] == ",":
                at = self._after_blank(at + 1)
            index += 1

    def _after_blank(self, at: int) -> int:
        match = _BLANK.match(self._text, at)
        return match.end() if match else at
