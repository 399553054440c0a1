"""A JSON file that is read value by value, so that memory depends on its largest value and not on its size.

The text may come from an untrusted run: what one value may have, and the whole file, is limited before it is parsed.
"""

from __future__ import annotations

import codecs
import json
import re
from typing import TYPE_CHECKING, Any, NoReturn

from skillgym_action.model.limits import MAX_DOCUMENT_DEPTH
from skillgym_action.model.records import record
from skillgym_action.text.documents.json_text import Extent, refuse_doubled
from skillgym_action.text.documents.located_values import NotationError, key_path_text, too_deep

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

CHUNK_BYTES = 512 * 1024
_LONGEST_UNMEASURED = 2 * CHUNK_BYTES  # characters: what a text of this length can contain takes little memory
_LONGEST_SHARED, _MOST_SHARED = 80, 20_000  # characters of a text; texts
_BLANK = " \t\r\n"
_BLANKS = re.compile(rf"[{_BLANK}]*+")
_TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?P<closed>")?|[\[\]{},]', re.DOTALL)
_SCALAR_END = re.compile(rf"[{_BLANK},\]}}]")


@record
class StreamLimits:
    """How much one value may have, and ``characters`` of it; and how many ``objects`` all values together."""

    value: Extent
    characters: int
    objects: int


class _Doubled(Exception):  # noqa: N818 - never leaves this module
    pass


class JsonStream:
    """Reads a file from the front. ``at``, a key path, is where messages say that a problem is.

    All methods raise NotationError for a text that is not JSON, and for one with more than ``most``.
    """

    def __init__(self, file: BinaryIO, most: StreamLimits) -> None:
        self._file, self._most = file, most
        self._utf_8 = codecs.getincrementaldecoder("utf-8")()
        self._decoder = json.JSONDecoder(object_pairs_hook=self._object, parse_constant=_no_constant)
        self._text, self._at, self._ended = "", 0, False
        self._bytes = self._objects = 0
        self._lines, self._column = 1, 1  # of the first character in ``_text``
        self._texts: dict[str, str] = {}
        self.at: list[str | int] = []

    def peek(self) -> str:
        """Return the first character of what comes next; empty at the end."""
        while not (sign := self._text[self._at : self._at + 1]) or sign in _BLANK:
            found = _BLANKS.match(self._text, self._at)
            self._at = found.end() if found else self._at
            if self._at == len(self._text) and not self._fill(CHUNK_BYTES):
                return ""
        return sign

    def members(self) -> Iterator[str]:
        """Yield each key of the object that comes next; its value has to be read before the next one."""
        self._take("{", "an object")
        names: set[str] = set()
        more = self.peek() != "}"
        while more:
            if self.peek() != '"':
                self._refuse("Expecting property name enclosed in double quotes")
            name = str(self.value())
            if name in names:
                message = f"{key_path_text((*self.at, name))} is set twice"
                raise NotationError(message, remedy="keep one of them")
            names.add(name)
            if len(names) > self._most.value.members:
                raise _too_many_members(self._most.value)
            self._take(":", "':' delimiter")
            self.at.append(name)
            yield name
            self.at.pop()
            more = self._is_followed("}")
        self._at += 1

    def items(self) -> Iterator[int]:
        """Yield the number of each element of the list that comes next, which has to be read before the next one."""
        self._take("[", "a list")
        number, more = 0, self.peek() != "]"
        while more:
            self.at.append(number)
            yield number
            self.at.pop()
            number += 1
            more = self._is_followed("]")
        self._at += 1

    def value(self) -> object:
        """Return the whole value that comes next."""
        self.peek()
        if len(self._text) - self._at < CHUNK_BYTES // 2:
            self._fill(CHUNK_BYTES)
        if len(self._text) - self._at <= _LONGEST_UNMEASURED:
            objects = self._objects
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
            except (ValueError, RecursionError, _Doubled):
                self._objects = objects  # it is wrong, or goes on in the next chunk
            else:
                if end < len(self._text) or self._ended:
                    containers = self._text.count("[", self._at, end) + self._text.count("{", self._at, end)
                    if containers > MAX_DOCUMENT_DEPTH and _is_too_deep(value):  # Python 3.12 decodes such values
                        raise too_deep(None)
                    self._at = end
                    return value
        return self._measured_value()

    def end(self) -> None:
        """Raise NotationError if there is anything left."""
        if self.peek():
            self._refuse("Extra data")

    def _measured_value(self) -> object:
        """Return the value that comes next; it is parsed only if it is not too large."""
        while (end := self._extent()) is None and self._fill(self._next_size()):
            pass
        try:
            value, self._at = self._decoder.raw_decode(self._text, self._at)
        except json.JSONDecodeError as error:
            self._at = error.pos
            self._refuse(error.msg)
        except RecursionError as error:
            raise too_deep(None) from error
        except _Doubled as error:
            line, _ = self._position_after(self._text[: self._at])
            refuse_doubled(self._text[self._at : end], tuple(self.at), line)
            raise NotationError("an object has two members of one name") from error
        except ValueError as error:
            raise NotationError(f"not JSON: {error}") from error
        return value

    def _extent(self) -> int | None:
        """Return where the value that comes next ends; None if that is not in the text that has been read.

        Raises NotationError for a value that is too large.
        """
        end = _Size(self._most.value).end_of(self._text, self._at)
        if (end or len(self._text)) - self._at > self._most.characters:
            where = key_path_text(tuple(self.at)) or "the document"
            raise NotationError(f"{where} has more than {self._most.characters:,} characters")
        return end

    def _next_size(self) -> int:
        """How many bytes to read of a value that goes on: as many as there are, for it is measured anew each time."""
        length = len(self._text) - self._at
        return max(CHUNK_BYTES, min(length, self._most.characters + 1 - length))

    def _is_followed(self, closing: str) -> bool:
        """Whether another member comes after a value."""
        sign = self.peek()
        if sign == ",":
            self._at += 1
        elif sign != closing:
            self._refuse("Expecting ',' delimiter")
        return sign == ","

    def _take(self, sign: str, name: str) -> None:
        if self.peek() != sign:
            self._refuse(f"Expecting {name}")
        self._at += 1

    def _fill(self, size: int) -> bool:
        """Read at least one more character; False at the end of the file. What has been read is dropped."""
        if self._ended:
            return False
        before, self._text = self._text[: self._at], self._text[self._at :]
        self._lines, self._column = self._position_after(before)
        self._at, more = 0, ""
        while not (more or self._ended):
            data = self._file.read(size)
            self._ended = not data
            try:
                more = self._utf_8.decode(data, final=self._ended)
            except UnicodeDecodeError as error:
                place = self._bytes + error.start
                wrong = f"byte 0x{error.object[error.start]:02x} in position {place}"
                raise NotationError(f"not JSON: 'utf-8' codec can't decode {wrong}") from error
            self._bytes += len(data)
        self._text += more
        return bool(more)

    def _object(self, members: list[tuple[str, object]]) -> dict[str, object]:
        """Return an object. Raises NotationError for too many, _Doubled for two members of one name."""
        # Texts that rows have in common, such as names, are one text in memory: a third of what results take.
        shared = self._texts.setdefault if len(self._texts) < _MOST_SHARED else self._texts.get
        value = {
            name: shared(item, item) if type(item) is str and len(item) <= _LONGEST_SHARED else item
            for name, item in members
        }
        if len(value) != len(members):
            raise _Doubled
        if len(members) > self._most.value.members:
            raise _too_many_members(self._most.value)
        self._objects += 1
        if self._objects > self._most.objects:
            raise NotationError(f"more than {self._most.objects:,} objects")
        return value

    def _position_after(self, text: str) -> tuple[int, int]:
        feeds = text.count("\n")
        column = len(text) - text.rfind("\n") if feeds else self._column + len(text)
        return self._lines + feeds, column

    def _refuse(self, message: str) -> NoReturn:
        """Raise NotationError about what comes next."""
        line, column = self._position_after(self._text[: self._at])
        raise NotationError(f"not JSON: {message}: line {line} column {column}")


def _is_too_deep(value: Any) -> bool:
    """Whether a list or object is nested more than ``MAX_DOCUMENT_DEPTH`` levels deep."""
    level = [value]
    for _ in range(MAX_DOCUMENT_DEPTH):
        members = (
            part for container in level for part in (container.values() if type(container) is dict else container)
        )
        level = [member for member in members if type(member) in (dict, list)]
    return bool(level)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _too_many_members(most: Extent) -> NotationError:
    return NotationError(f"an object with more than {most.members:,} members")


class _Size:
    """Measures a value without parsing it."""

    def __init__(self, most: Extent) -> None:
        self._most = most
        self._containers = self._values = 0
        self._counts: list[int] = []  # of the containers around, what they have so far; of lists far below 0

    def end_of(self, text: str, start: int) -> int | None:
        """Return where the value at ``start`` ends, None if it does not. Raises NotationError if it is too large."""
        if text[start : start + 1] not in ("[", "{", '"'):
            found = _SCALAR_END.search(text, start)
            return found.start() if found else None
        for token in _TOKEN.finditer(text, start):
            sign = token[0]
            if sign in ("{", "["):
                self._open(sign, len(text))
            elif sign in ("}", "]"):
                del self._counts[-1:]
            elif sign == ",":
                self._count()
            elif not token["closed"]:
                return None
            if not self._counts:
                return token.end()
        return None

    def _open(self, sign: str, most_values: int) -> None:
        self._containers += 1
        self._counts.append(0 if sign == "{" else -most_values)
        if self._containers > self._most.containers:
            raise NotationError(f"more than {self._most.containers:,} lists and objects in one value")
        if len(self._counts) > MAX_DOCUMENT_DEPTH:
            raise too_deep(None)

    def _count(self) -> None:
        self._values += 1
        self._counts[-1] += 1
        if self._counts[-1] >= self._most.members:
            raise _too_many_members(self._most)
        if self._values >= self._most.values:
            raise NotationError(f"more than {self._most.values:,} values in one value")
