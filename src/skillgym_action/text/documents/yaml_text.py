"""YAML text as values: the 1.2 core schema, with merge keys; ``on`` and ``no`` are text, and ``012`` is 12.

Built from libyaml's events, since its composer crashes on deep nesting, drops doubled keys and expands alias bombs.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, cast

import yaml

from skillgym_action.model.limits import MAX_DOCUMENT_DEPTH, MAX_DOCUMENT_VALUES
from skillgym_action.model.records import record
from skillgym_action.text.documents.located_values import (
    LocatedValue,
    NotationError,
    doubled,
    is_huge,
    not_finite,
    too_deep,
    too_long,
    too_many,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillgym_action.text.documents.located_values import KeyPath

    Node = yaml.AliasEvent | yaml.ScalarEvent | yaml.SequenceStartEvent | yaml.MappingStartEvent

    # The offset of a value, and the same for what is in it: by key, or in order; None for what an alias brings in.
    # Of a number, or true or false, instead the text.
    Offsets = tuple[int, "dict[str, Offsets] | list[Offsets] | str | None"]

MAX_YAML_CHARACTERS = 16 * 1024 * 1024  # of all texts of a document, aliases expanded
MAX_YAML_INTEGER_CHARACTERS = 1_000  # of a whole number that is parsed at all, leading zeros included


_PREFIX = "tag:yaml.org,2002:"
_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_BOOL = {word: word.lower() == "true" for word in ("true", "True", "TRUE", "false", "False", "FALSE")}
_INT = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_BASES = {"0o": 8, "0x": 16}
_MERGE = object()


def read_yaml(text: str) -> LocatedValue:
    """The value of a YAML text, with offsets; an empty one is None. Raises NotationError."""
    try:
        builder = _Builder(text)
        value = builder.document()
        return LocatedValue(value=value, offset=builder.offset, values=builder.values, scalar=builder.scalar)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        if mark and error.problem == "exceeded maximum nesting depth":  # the parser's own limit, since PyYAML 6.0.4
            raise too_deep(mark.index) from error
        words = ", ".join(part for part in (error.context, error.problem) if part)
        if mark and text[mark.index : mark.index + 1] == "\t":
            words = "YAML is indented with spaces, and this is a tab"
        raise NotationError(f"not YAML: {words}", offset=mark.index if mark else None) from error
    except yaml.reader.ReaderError as error:
        raise NotationError(f"not YAML: {error.reason}", offset=error.position) from error
    except UnicodeEncodeError as error:
        raise NotationError("not YAML: half of a surrogate pair", offset=error.start) from error


@record(kw_only=False)
class _Anchored:
    """What an alias brings in, and how much: values, characters, levels of mappings and lists below the first."""

    value: object
    values: int
    characters: int
    levels: int = -1


class _Builder:
    """Values out of events, and their offsets; what an alias brings in has none of its own."""

    def __init__(self, text: str) -> None:
        self.values = 0
        self._characters = 0
        self._deepest = 0
        self._text = text
        self._events: Iterator[Any] = yaml.parse(text, Loader=yaml.CSafeLoader)
        self._anchors: dict[str, _Anchored] = {}
        self._key_path: list[str | int] = []
        self._offsets: Offsets | None = None

    def document(self) -> object:
        """The value of the only document."""
        next(self._events)
        if isinstance(next(self._events), yaml.StreamEndEvent):
            return None
        event = next(self._events)
        value, inner = self._value(event)
        self._offsets = _offset(event), inner
        next(self._events)
        if not isinstance(second := next(self._events), yaml.StreamEndEvent):
            raise NotationError("more than one YAML document", offset=_offset(second), remedy="keep the first one")
        return value

    def offset(self, key_path: KeyPath) -> int | None:
        """The offset of a key or an element, if it is known."""
        found = self._found(key_path)
        return found[0] if found else None

    def scalar(self, key_path: KeyPath) -> str | None:
        """A number, or true or false, as the text has it."""
        found = self._found(key_path)
        return found[1] if found and isinstance(found[1], str) else None

    def _found(self, key_path: KeyPath) -> Offsets | None:
        found: Any = self._offsets
        for part in key_path:
            if found is None or isinstance(found[1], str):
                return None
            try:
                found = found[1][part]
            except (LookupError, TypeError):
                return None
        return cast("Offsets | None", found)

    def _value(self, event: Node) -> tuple[object, Any]:
        """The value that begins with an event, and the offsets of what is in it."""
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event), None
        values, characters, deepest, depth = self.values, self._characters, self._deepest, len(self._key_path)
        self._deepest = depth - 1
        self.values += 1
        if self.values > MAX_DOCUMENT_VALUES:
            raise too_many(_offset(event))
        value: object
        inner: list[Offsets] | dict[str, Offsets] | str | None = None
        if isinstance(event, yaml.ScalarEvent):
            self._characters += len(event.value)
            value = _scalar(event, self._key_path)
            inner = event.value if isinstance(value, int | float) else None
        elif depth >= MAX_DOCUMENT_DEPTH:
            raise too_deep(_offset(event))
        elif isinstance(event, yaml.SequenceStartEvent):
            value, inner = self._sequence(event)
        else:
            value, inner = self._mapping(event)
        if event.anchor:
            sizes = self.values - values, self._characters - characters, self._deepest - depth
            self._anchors[event.anchor] = _Anchored(value, *sizes)
        self._deepest = max(self._deepest, deepest)
        return value, inner

    def _alias(self, event: yaml.AliasEvent) -> object:
        if event.anchor not in self._anchors:
            message = f"the alias *{event.anchor} stands for nothing before it, or for itself"
            raise NotationError(message, offset=_offset(event))
        found = self._anchors[event.anchor]
        self.values += found.values
        self._characters += found.characters
        self._deepest = max(self._deepest, len(self._key_path) + found.levels)
        if self._deepest >= MAX_DOCUMENT_DEPTH:
            raise too_deep(_offset(event))
        if self.values > MAX_DOCUMENT_VALUES:
            raise NotationError(f"aliases expand to more than {MAX_DOCUMENT_VALUES:,} values", offset=_offset(event))
        if self._characters > MAX_YAML_CHARACTERS:
            raise NotationError(
                f"aliases expand to more than {MAX_YAML_CHARACTERS:,} characters", offset=_offset(event)
            )
        return found.value

    def _sequence(self, start: yaml.SequenceStartEvent) -> tuple[list[object], list[Offsets]]:
        _known_tag(start, "seq")
        items: list[object] = []
        offsets: list[Offsets] = []
        self._deepest = len(self._key_path)
        self._key_path.append(0)
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            self._key_path[-1] = len(items)
            item, inner = self._value(event)
            items.append(item)
            offsets.append((_offset(event), inner))
        self._key_path.pop()
        return items, offsets

    def _mapping(self, start: yaml.MappingStartEvent) -> tuple[dict[str, object], dict[str, Offsets]]:
        _known_tag(start, "map")
        own: dict[str, object] = {}
        merged: dict[str, object] = {}
        offsets: dict[str, Offsets] = {}
        self._deepest = len(self._key_path)
        self._key_path.append("")
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            offset = _offset(event)
            key = self._key(event)
            name = self._key_path[-1] = "<<" if key is _MERGE else str(key)
            self._characters += len(name)
            if name in offsets:
                raise doubled(tuple(self._key_path), self._text, offset=offset, first=offsets[name][0])
            value, inner = self._value(next(self._events))
            offsets[name] = offset, inner
            if key is _MERGE:
                merged = _merged(value, offset)
            else:
                own[name] = value
        self._key_path.pop()
        return {**merged, **own}, offsets

    def _key(self, event: Node) -> object:
        """A key as it is written: it is text, also where it looks like a number."""
        if isinstance(event, yaml.ScalarEvent):
            plain = event.tag is None and event.implicit[0]
            if event.anchor:
                self._anchors[event.anchor] = _Anchored(event.value, 1, len(event.value))
            return _MERGE if plain and event.value == "<<" else event.value
        if isinstance(event, yaml.AliasEvent) and isinstance(text := self._alias(event), str):
            return text
        raise NotationError("a key must be text", offset=_offset(event))


def _merged(value: object, offset: int) -> dict[str, object]:
    """What ``<<`` brings in: one mapping or several, the earlier ones winning."""
    mappings = value if isinstance(value, list) else [value]
    merged: dict[str, object] = {}
    for mapping in reversed(mappings):
        if not isinstance(mapping, dict):
            raise NotationError("<< takes a mapping or a list of mappings", offset=offset)
        merged |= mapping
    return merged


def _offset(event: yaml.Event) -> int:
    return event.start_mark.index if event.start_mark else 0


def _known_tag(event: yaml.CollectionStartEvent | yaml.ScalarEvent, name: str) -> None:
    if event.tag not in {None, "!", _PREFIX + name}:
        raise _unknown_tag(event)


def _unknown_tag(event: yaml.CollectionStartEvent | yaml.ScalarEvent) -> NotationError:
    shown = (event.tag or "").replace(_PREFIX, "!!")
    return NotationError(f"the tag {shown} is not supported here", offset=_offset(event), remedy="leave it out")


def _scalar(event: yaml.ScalarEvent, key_path: list[str | int]) -> object:
    text: str = event.value
    if event.tag in {"!", _PREFIX + "str"} or (event.tag is None and not event.implicit[0]):
        return text
    if _NOT_FINITE.fullmatch(text):
        raise not_finite(tuple(key_path), _offset(event))
    kind, value = _resolved(text, _offset(event))
    if event.tag not in {None, _PREFIX + kind}:
        raise _unknown_tag(event)
    if isinstance(value, float) and not math.isfinite(value):
        raise not_finite(tuple(key_path), _offset(event))
    return value


def _resolved(text: str, offset: int) -> tuple[str, object]:
    """The kind and the value of a plain scalar."""
    if text in _NULL:
        return "null", None
    if text in _BOOL:
        return "bool", _BOOL[text]
    if _INT.fullmatch(text):
        number = int(text, _BASES.get(text[:2], 10)) if len(text) <= MAX_YAML_INTEGER_CHARACTERS else None
        if number is None or is_huge(number):
            raise too_long(offset)
        return "int", number
    if _FLOAT.fullmatch(text):
        return "float", float(text)
    return "str", text
