"""YAML text as values: the 1.2 core schema, with merge keys; ``on``, ``no`` and ``012`` mean what they look like.

Built from libyaml's events, since its composer crashes on deep nesting, drops doubled keys and expands alias bombs.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import yaml

from skillgym_action.notations import DEEPEST, NotationError, Reading, doubled, not_finite, too_deep

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillgym_action.notations import KeyPath

    Node = yaml.AliasEvent | yaml.ScalarEvent | yaml.SequenceStartEvent | yaml.MappingStartEvent

MOST_VALUES = 1_000_000
"""Values a document may have once its aliases are expanded."""

_PREFIX = "tag:yaml.org,2002:"
_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_BOOL = {word: word.lower() == "true" for word in ("true", "True", "TRUE", "false", "False", "FALSE")}
_INT = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_BASES = {"0o": 8, "0x": 16}
_MERGE = object()


def read_yaml(text: str) -> Reading:
    """The reading of a YAML text; an empty one is None. Raises NotationError."""
    try:
        builder = _Builder(text)
        return Reading(value=builder.document(), offset=builder.places.get)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        words = ", ".join(part for part in (error.context, error.problem) if part)
        raise NotationError(f"not YAML: {words}", offset=mark.index if mark else None) from error
    except yaml.reader.ReaderError as error:
        raise NotationError(f"not YAML: {error.reason}", offset=error.position) from error
    except UnicodeEncodeError as error:
        raise NotationError("not YAML: half of a surrogate pair", offset=error.start) from error


class _Builder:
    """Values out of events. ``places`` maps key paths to offsets; what an alias brings in has none of its own."""

    def __init__(self, text: str) -> None:
        self.places: dict[KeyPath, int] = {}
        self._text = text
        self._events: Iterator[Any] = yaml.parse(text, Loader=yaml.CSafeLoader)
        self._anchors: dict[str, tuple[object, int]] = {}
        self._values = 0

    def document(self) -> object:
        """The value of the only document."""
        next(self._events)
        if isinstance(next(self._events), yaml.StreamEndEvent):
            return None
        event = next(self._events)
        self.places[()] = _offset(event)
        value = self._value(event, ())
        next(self._events)
        if not isinstance(second := next(self._events), yaml.StreamEndEvent):
            raise NotationError("more than one YAML document", offset=_offset(second), remedy="keep the first one")
        return value

    def _value(self, event: Node, key_path: KeyPath) -> object:
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event)
        before = self._values
        self._values += 1
        value: object
        if isinstance(event, yaml.ScalarEvent):
            value = _scalar(event, key_path)
        elif len(key_path) >= DEEPEST:
            raise too_deep(_offset(event))
        elif isinstance(event, yaml.SequenceStartEvent):
            value = self._sequence(event, key_path)
        else:
            value = self._mapping(event, key_path)
        if event.anchor:
            self._anchors[event.anchor] = value, self._values - before
        return value

    def _alias(self, event: yaml.AliasEvent) -> object:
        if event.anchor not in self._anchors:
            message = f"the alias *{event.anchor} stands for nothing before it, or for itself"
            raise NotationError(message, offset=_offset(event))
        value, size = self._anchors[event.anchor]
        self._values += size
        if self._values > MOST_VALUES:
            raise NotationError(f"aliases expand to more than {MOST_VALUES:,} values", offset=_offset(event))
        return value

    def _sequence(self, start: yaml.SequenceStartEvent, key_path: KeyPath) -> list[object]:
        _known_tag(start, "seq")
        items: list[object] = []
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            item_path = (*key_path, len(items))
            self.places[item_path] = _offset(event)
            items.append(self._value(event, item_path))
        return items

    def _mapping(self, start: yaml.MappingStartEvent, key_path: KeyPath) -> dict[str, object]:
        _known_tag(start, "map")
        own: dict[str, object] = {}
        merged: dict[str, object] = {}
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            offset = _offset(event)
            key = self._key(event)
            member_path = (*key_path, "<<" if key is _MERGE else str(key))
            if member_path in self.places:
                raise doubled(member_path, self._text, offset=offset, first=self.places[member_path])
            self.places[member_path] = offset
            value = self._value(next(self._events), member_path)
            if key is _MERGE:
                merged = _merged(value, offset)
            else:
                own[str(key)] = value
        return {**merged, **own}

    def _key(self, event: Node) -> object:
        """The text of a key as it is written, whatever it looks like."""
        if isinstance(event, yaml.ScalarEvent):
            plain = event.tag is None and event.implicit[0]
            if event.anchor:
                self._anchors[event.anchor] = event.value, 1
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


def _scalar(event: yaml.ScalarEvent, key_path: KeyPath) -> object:
    text: str = event.value
    if event.tag in {"!", _PREFIX + "str"} or (event.tag is None and not event.implicit[0]):
        return text
    if _NOT_FINITE.fullmatch(text):
        raise not_finite(key_path, _offset(event))
    kind, value = _resolved(text, _offset(event))
    if event.tag not in {None, _PREFIX + kind}:
        raise _unknown_tag(event)
    if isinstance(value, float) and not math.isfinite(value):
        raise not_finite(key_path, _offset(event))
    return value


def _resolved(text: str, offset: int) -> tuple[str, object]:
    """The kind and the value of a plain scalar."""
    if text in _NULL:
        return "null", None
    if text in _BOOL:
        return "bool", _BOOL[text]
    if _INT.fullmatch(text):
        try:
            return "int", int(text, _BASES.get(text[:2], 10))
        except ValueError as error:
            raise NotationError("the number has too many digits", offset=offset) from error
    if _FLOAT.fullmatch(text):
        return "float", float(text)
    return "str", text
