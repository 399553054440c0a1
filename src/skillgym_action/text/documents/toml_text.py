"""TOML text as values. Offsets inside inline tables and arrays are not known."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING

from skillgym_action.model.limits import MAX_DOCUMENT_DEPTH, MAX_DOCUMENT_VALUES
from skillgym_action.text.documents.located_values import (
    LocatedValue,
    NotationError,
    refuse_extremes,
    too_deep,
    too_many,
    unreadable_number,
)

if TYPE_CHECKING:
    from skillgym_action.text.documents.located_values import KeyPath

_POSITION = re.compile(r"\(at line (\d+), column (\d+)\)$")
_HEADER = re.compile(r"[ \t]*(?P<opening>\[\[?)(?P<key>[^\]#]+)\]")
_MEMBER = re.compile(r"[ \t]*+(?P<key>(?:\"[^\"]*+\"|'[^']*+'|[\w.\- \t]++)++)=")
_SCALAR = re.compile(r"[ \t]*([-+.\w]+)[ \t]*(?:#|$)", re.MULTILINE)
_KEY = re.compile(r"\"([^\"]*)\"|'([^']*)'|([\w-]+)")
# The standard reader takes time that grows with the square of a key's parts.
_DEEP_KEY = re.compile(rf"(?<![\w\"'.-])(?:[\w\"'-]++[ \t]*+\.[ \t]*+){{{MAX_DOCUMENT_DEPTH}}}")


def read_toml(text: str) -> LocatedValue:
    """The value of a TOML text, with offsets. Raises NotationError."""
    if deep := _DEEP_KEY.search(text):
        raise too_deep(deep.start())
    if (values := sum(map(text.count, "[{,=\n"))) > MAX_DOCUMENT_VALUES:
        raise too_many(None)
    try:
        value = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        at = _POSITION.search(str(error))
        offset = _line_start(text, int(at[1])) + int(at[2]) - 1 if at else len(text)
        message = str(error).split(" (at ")[0]
        raise NotationError(f"not TOML: {message[:1].lower()}{message[1:]}", offset=offset) from error
    except RecursionError as error:
        raise too_deep(None) from error
    except ValueError as error:
        raise unreadable_number(text, "TOML", error) from error
    offsets = _offsets(text)
    refuse_extremes(value, offsets.get)

    def scalar(key_path: KeyPath) -> str | None:
        member = _MEMBER.match(text, offsets.get(key_path, len(text))) if key_path else None
        found = _SCALAR.match(text, member.end()) if member else None
        return found[1] if found else None

    return LocatedValue(value=value, offset=offsets.get, values=values, scalar=scalar)


def _offsets(text: str) -> dict[KeyPath, int]:
    offsets: dict[KeyPath, int] = {(): 0}
    tables: dict[KeyPath, int] = {}
    table: KeyPath = ()
    start = 0
    for line in text.split("\n"):
        if header := _HEADER.match(line):
            table = ()
            keys = _keys(header["key"])
            for key in keys[:-1]:
                table = _in_last((*table, key), tables)
            table = (*table, keys[-1]) if keys else table
            if header["opening"] == "[[":
                offsets.setdefault(table, start)
                tables[table] = tables.get(table, -1) + 1
                table = _in_last(table, tables)
            offsets.setdefault(table, start + header.start("opening"))
        elif member := _MEMBER.match(line):
            offsets.setdefault((*table, *_keys(member["key"])), start + member.start("key"))
        start += len(line) + 1
    return offsets


def _keys(dotted: str) -> KeyPath:
    return tuple(basic or literal or bare for basic, literal, bare in _KEY.findall(dotted))


def _in_last(table: KeyPath, tables: dict[KeyPath, int]) -> KeyPath:
    return (*table, tables[table]) if table in tables else table


def _line_start(text: str, line: int) -> int:
    start = 0
    for _ in range(line - 1):
        start = text.find("\n", start) + 1
    return start
