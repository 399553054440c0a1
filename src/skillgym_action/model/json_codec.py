"""Dataclasses as JSON: ``snake_case`` in Python, ``camelCase`` on disk and in the suite host protocol.

Standard library only: the Python suite host reads session reports with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, TypeVar, Union, get_args, get_origin, get_type_hints

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")
# What annotations may name although their module imports it for type checkers only.
NAMES = {"Mapping": Mapping}
LEAVES = frozenset({str, int, float, bool})


def camel_case(name: str) -> str:
    """``input_tokens`` -> ``inputTokens``."""
    head, *rest = name.split("_")
    return head + "".join(map(str.capitalize, rest))


def to_json(value: DataclassInstance) -> dict[str, Any]:
    """What ``json.dumps`` takes. Fields that are None are left out; what is inside mappings stays as it is."""
    found = {}
    for name, key in _keys(type(value)):
        if (field := getattr(value, name)) is not None:
            found[key] = _plain(field)
    return found


def from_json(cls: type[T], value: Mapping[str, Any]) -> T:
    """The dataclass that ``to_json`` wrote. Unknown keys are ignored; leaves are not checked.

    Raises TypeError for a missing key, ValueError for an unknown ``type`` of a tagged union.
    """
    return cls(**{name: read(value[key]) for name, key, read in _readers(cls) if key in value})


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
    hints = get_type_hints(cls, localns=NAMES)
    return tuple((name, key, _reader(hints[name])) for name, key in _keys(cls))


def _reader(hint: Any) -> Callable[[Any], Any]:
    """How a value of that type is read: nested dataclasses, tuples of them, unions told apart by ``type``."""
    arguments = [argument for argument in get_args(hint) if argument not in (NoneType, Ellipsis)]
    if isinstance(hint, type) and is_dataclass(hint):
        return lambda value: from_json(hint, value)
    if get_origin(hint) is tuple:
        read = _reader(arguments[0])
        return lambda value: tuple(map(read, value))
    if get_origin(hint) in (Union, UnionType) and all(map(is_dataclass, arguments)):
        return _optional(_reader(arguments[0]) if len(arguments) == 1 else _tagged(arguments))
    return lambda value: value


def _optional(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else read(value)


def _tagged(classes: list[Any]) -> Callable[[Any], Any]:
    by_type = {field.default: cls for cls in classes for field in fields(cls) if field.name == "type"}
    if MISSING in by_type or len(by_type) < len(classes):
        raise TypeError(f"only classes with a `type` of their own can be told apart: {classes}")

    def read(value: Mapping[str, Any]) -> Any:
        if (cls := by_type.get(value.get("type"))) is None:
            raise ValueError(f"unknown type {value.get('type')!r}")
        return from_json(cls, value)

    return read
