"""Objects of a JSON file and the nouns of ``model/``: each field is declared once, and written and read by that.

An ``Entry`` is a pydantic model of an object in the file. Its fields are validated by pydantic when a file is read, and
say here where the noun has their value: in the attribute of the same name, or in what ``Source`` describes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from operator import attrgetter
from typing import Any, ClassVar, get_args, get_origin

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

_ALWAYS = object()  # equal to no value: the field is never omitted
_PLACEHOLDER = "__class__"  # an attribute of every object, read in place of a value that is computed


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """Where the noun has a field's value; part of the field's annotation.

    ``attribute``: a path such as ``judgement.status``, by default the field's name. ``write``: computes the value from
    the noun. ``read``: whether the noun gets the value. ``always``: also written when it is the field's default.
    """

    attribute: str = ""
    write: Callable[[Any], object] | None = None
    read: bool = True
    always: bool = False


class Entry(BaseModel):
    """An object of the file: camelCase keys there, snake_case names here; unknown keys are refused.

    Fields that have a default are omitted from the file when they have that value.
    """

    model_config = ConfigDict(alias_generator=to_camel, extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    noun: ClassVar[Callable[..., Any]]
    """The class that ``read`` makes."""
    parts: ClassVar[Mapping[str, Callable[..., Any]]] = {}
    """Attributes of the noun that are made of several fields, and their classes."""

    def attributes(self) -> dict[str, object]:
        """Return attributes of the noun that are not the value of one field each, by path."""
        return {}


def write(model: type[Entry], noun: object) -> dict[str, object]:
    """Return the object that a file has for ``noun``, keys in the order of the fields."""
    return _writer(model)(noun)


def read(model: type[Entry], entry: Entry, **more: object) -> Any:
    """Return the noun for ``entry``, an instance of ``model``; ``more``: attributes that are not in the file."""
    return _reader(model)(entry, more)


@cache
def _writer(model: type[Entry]) -> Callable[[object], dict[str, object]]:
    """Return the function that ``write`` calls. A large run writes tens of thousands of objects: hence made once."""
    keys: list[str] = []
    paths: list[str] = []
    defaults: list[object] = []
    computed: list[tuple[int, Callable[[object], object]]] = []
    nested: list[tuple[int, Callable[[Any], object]]] = []
    for number, (name, field) in enumerate(model.model_fields.items()):
        source = _source(field.metadata)
        keys.append(field.alias or name)
        paths.append(_PLACEHOLDER if source.write else source.attribute or name)
        defaults.append(_ALWAYS if field.is_required() or source.always else field.default)
        if source.write:
            computed.append((number, source.write))
        if found := _entry_in(field.annotation):
            inner = _writer(found)
            nested.append((number, _each(inner) if get_origin(field.annotation) is tuple else inner))
    values_of = attrgetter(*paths, _PLACEHOLDER)

    def written(noun: object) -> dict[str, object]:
        values = [*values_of(noun)]
        for number, compute in computed:
            values[number] = compute(noun)
        for number, convert in nested:
            if values[number] is not None:
                values[number] = convert(values[number])
        return {key: value for key, value, default in zip(keys, values, defaults, strict=False) if value != default}

    return written


@cache
def _reader(model: type[Entry]) -> Callable[[Entry, Mapping[str, object]], Any]:
    names: list[str] = []
    paths: list[str] = []
    nested: list[tuple[str, Callable[[Any], object]]] = []
    for name, field in model.model_fields.items():
        source = _source(field.metadata)
        if not source.read:
            continue
        names.append(name)
        paths.append(path := source.attribute or name)
        if found := _entry_in(field.annotation):
            inner = _without_more(_reader(found))
            nested.append((path, _each(inner) if get_origin(field.annotation) is tuple else inner))
    values_of = attrgetter(*names, _PLACEHOLDER)

    def noun_of(entry: Entry, more: Mapping[str, object]) -> Any:
        found = dict(zip(paths, values_of(entry), strict=False))
        for path, convert in nested:
            if found[path] is not None:
                found[path] = convert(found[path])
        found |= entry.attributes()
        for part, noun in model.parts.items():
            own = [path for path in found if path.startswith(f"{part}.")]
            found[part] = noun(**{path.removeprefix(f"{part}."): found.pop(path) for path in own})
        return model.noun(**found, **more)

    return noun_of


def _without_more(noun_of: Callable[[Entry, Mapping[str, object]], Any]) -> Callable[[Entry], Any]:
    return lambda entry: noun_of(entry, {})


def _each(convert: Callable[[Any], object]) -> Callable[[Any], tuple[object, ...]]:
    return lambda values: tuple(map(convert, values))


def _source(metadata: list[Any]) -> Source:
    return next((item for item in metadata if isinstance(item, Source)), Source())


def _entry_in(annotation: Any) -> type[Entry] | None:
    """Return the model in ``Model``, ``Model | None`` and ``tuple[Model, ...]``; None for other types."""
    if isinstance(annotation, type) and issubclass(annotation, Entry):
        return annotation
    return next(filter(None, map(_entry_in, get_args(annotation))), None)
