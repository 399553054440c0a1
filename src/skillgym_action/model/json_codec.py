"""Dataclasses as JSON: ``snake_case`` in Python, ``camelCase`` on disk and in the suite host protocol.

Standard library only: the Python suite host reads session reports with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from math import isfinite
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, TypeVar, Union, get_args, get_origin, get_type_hints

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")
# Names that annotations use although their modules import them for type checkers only.
ANNOTATION_NAMES = {"Mapping": Mapping}
LEAVES = frozenset({str, int, float, bool})


def camel_case(name: str) -> str:
    """``input_tokens`` -> ``inputTokens``."""
    head, *rest = name.split("_")
    return head + "".join(map(str.capitalize, rest))


def to_json(value: DataclassInstance) -> dict[str, Any]:
    """A dict for ``json.dumps``. Fields that are None are left out; the content of mappings is not converted."""
    document = {}
    for name, key in _keys(type(value)):
        if (field := getattr(value, name)) is not None:
            document[key] = _plain(field)
    return document


def from_json(cls: type[T], value: Mapping[str, Any]) -> T:
    """The dataclass that ``to_json`` wrote. Unknown keys are ignored; leaves are not checked.

    Raises TypeError for a missing key, ValueError for an unknown ``type`` of a tagged union.
    """
    return cls(**{name: read(value[key]) for name, key, read in _readers(cls) if key in value})


def as_json(value: object) -> Any:
    """A value from a document as JSON can have it: keys are texts, and what JSON has no value for is its text."""
    if isinstance(value, dict):
        return {str(key): as_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return list(map(as_json, value))
    is_plain = isinstance(value, str | bool | int | NoneType) or (isinstance(value, float) and isfinite(value))
    return value if is_plain else str(value)


def _plain(value: Any) -> Any:
    if type(value) in LEAVES:
        return value
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if is_dataclass(value) and not isinstance(value, type):
        return to_json(value)
    return dict(value) if isinstance(value, Mapping) else value


@cache
def _keys(cls: type[DataclassInstance]) -> tuple[tuple[str, str], ...]:
    return tuple((field.name, camel_case(field.name)) for field in fields(cls))


@cache
def _readers(cls: Any) -> tuple[tuple[str, str, Callable[[Any], Any]], ...]:
    hints = get_type_hints(cls, localns=ANNOTATION_NAMES)
    return tuple((name, key, _reader(hints[name])) for name, key in _keys(cls))


def _reader(hint: Any) -> Callable[[Any], Any]:
    """The function that reads a value of that type: nested dataclasses, tuples of them, unions tagged by ``type``."""
    arguments = [argument for argument in get_args(hint) if argument not in (NoneType, Ellipsis)]
    if isinstance(hint, type) and is_dataclass(hint):
        return lambda value: from_json(hint, value)
    if get_origin(hint) is tuple:
        read = _reader(arguments[0])
        return lambda value: tuple(map(read, value))
    if get_origin(hint) in (Union, UnionType) and len(arguments) == 1 and get_origin(arguments[0]) is tuple:
        return _optional(_reader(arguments[0]))
    if get_origin(hint) in (Union, UnionType) and all(map(is_dataclass, arguments)):
        return _optional(_reader(arguments[0]) if len(arguments) == 1 else _tagged(arguments))
    return lambda value: value


def _optional(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else read(value)


def _tagged(classes: list[Any]) -> Callable[[Any], Any]:
    by_type = {field.default: cls for cls in classes for field in fields(cls) if field.name == "type"}
    if MISSING in by_type or len(by_type) < len(classes):
        raise TypeError(f"a union needs classes with a distinct `type` each: {classes}")

    def read(value: Mapping[str, Any]) -> Any:
        if (cls := by_type.get(value.get("type"))) is None:
            raise ValueError(f"unknown type {value.get('type')!r}")
        return from_json(cls, value)

    return read
