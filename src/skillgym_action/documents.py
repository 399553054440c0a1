"""Documents: JSON, YAML or TOML text as a value that knows where everything is, and its validation.

Whatever is wrong with a document becomes problems with a line, a column and a key path.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

from skillgym_action.errors import Location, Problem, SkillgymError, did_you_mean
from skillgym_action.notations import KeyPath, NotationError, Reading, key_path_text, read_json, read_toml

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from pydantic import BaseModel
    from pydantic.fields import FieldInfo
    from pydantic_core import ErrorDetails

    Model = TypeVar("Model", bound=BaseModel)

Kind = Literal["json", "yaml", "toml"]
Misfit = tuple[KeyPath, Problem]

LONGEST_QUOTE = 60

_WANTED = {
    "model_type": "a mapping of keys to values",
    "dict_type": "a mapping of keys to values",
    "list_type": "a list",
    "tuple_type": "a list",
    "string_type": "text",
    "string_unicode": "text without halves of surrogate pairs",
    "float_type": "a number",
    "int_type": "a whole number",
    "bool_type": "true or false",
}
_EMPTY = {"string_too_short", "too_short"}


@dataclass(frozen=True, kw_only=True)
class Document:
    """A value and the places of its parts. ``path`` is what locations call the file."""

    path: str
    value: object
    reading: Reading
    line_starts: Callable[[], list[int]]

    def locate(self, key_path: KeyPath = ()) -> Location:
        """Where a key or an element is written, or its nearest ancestor that has a known place."""
        for length in range(len(key_path), -1, -1):
            if (offset := self.reading.offset(key_path[:length])) is not None:
                return _location(self.path, self.line_starts(), offset)
        return Location(path=self.path, line=1)


def read_document(text: str, *, path: str, kind: Kind, error: type[SkillgymError]) -> Document:
    """The document in ``text``; a byte order mark is accepted. Raises ``error`` with the place of the trouble."""
    text = text.removeprefix("\ufeff")
    starts: list[int] = []

    def line_starts() -> list[int]:
        if not starts:
            starts.extend([0, *(newline.end() for newline in re.finditer("\n", text))])
        return starts

    try:
        reading = _READERS[kind](text)
    except NotationError as trouble:
        place = Location(path=path) if trouble.offset is None else _location(path, line_starts(), trouble.offset)
        raise error.of(Problem(message=trouble.message, location=place, remedy=trouble.remedy)) from trouble
    return Document(path=path, value=reading.value, reading=reading, line_starts=line_starts)


@dataclass(frozen=True, kw_only=True)
class ToldDocument(Document):
    """A value that a program made: all that is known of its parts is the file."""

    def locate(self, key_path: KeyPath = ()) -> Location:  # noqa: ARG002 - wherever it is, nobody knows
        """The file."""
        return Location(path=self.path)


def told_document(value: object, *, path: str) -> Document:
    """A document without a text."""
    reading = Reading(value=value, offset=lambda _: None)
    return ToldDocument(path=path, value=value, reading=reading, line_starts=lambda: [0])


def _read_yaml(text: str) -> Reading:
    from skillgym_action.yaml_notation import read_yaml

    return read_yaml(text)


_READERS: dict[Kind, Callable[[str], Reading]] = {"json": read_json, "toml": read_toml, "yaml": _read_yaml}


def _location(path: str, line_starts: list[int], offset: int) -> Location:
    line = bisect_right(line_starts, offset)
    return Location(path=path, line=line, column=offset - line_starts[line - 1] + 1)


# --- validation -------------------------------------------------------------------------------------


def validated(
    document: Document, model: type[Model], *, at: KeyPath = (), extensions: bool = False, error: type[SkillgymError]
) -> Model:
    """What stands at ``at``, as an instance of ``model``. Raises ``error`` with every problem."""
    instance, misfits = checked(document, model, at=at, extensions=extensions)
    if instance is None:
        raise error.of(*(problem for _, problem in misfits))
    return instance


def checked(
    document: Document, model: type[Model], *, at: KeyPath = (), extensions: bool = False
) -> tuple[Model | None, tuple[Misfit, ...]]:
    """An instance of ``model``, or everything that keeps it from being one, in the order of the text.

    ``extensions``: keys ``x-*`` and ``$schema`` are allowed wherever a model forbids unknown ones.
    """
    from pydantic import ValidationError

    value = part_of(document.value, at)
    try:
        return model.model_validate(value), ()
    except ValidationError as invalid:
        details = [(_resolved(value, detail), detail) for detail in invalid.errors(include_url=False)]
    ignored = {path for path, detail in details if extensions and _is_extension(detail)}
    if ignored:
        try:
            return model.model_validate(_without(value, ignored)), ()
        except ValidationError as invalid:
            details = [(_resolved(value, detail), detail) for detail in invalid.errors(include_url=False)]
    misfits = [((*at, *path), _problem(document, (*at, *path), detail, model)) for path, detail in details]
    return None, tuple(sorted(misfits, key=lambda misfit: _order(misfit[1])))


def part_of(value: object, key_path: Iterable[str | int]) -> object:
    """What stands at ``key_path`` of a value, which has it."""
    for part in key_path:
        value = value[part]  # type: ignore[index]
    return value


def _resolved(value: object, detail: ErrorDetails) -> KeyPath:
    """The error's key path in the document: pydantic's has the names of union members between the keys."""
    path: list[str | int] = []
    for part in detail["loc"]:
        if part in (value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()):
            value = value[part]  # type: ignore[index]
            path.append(part)
    if detail["type"] == "missing":
        path.append(detail["loc"][-1])
    return tuple(path)


def _problem(document: Document, key_path: KeyPath, detail: ErrorDetails, model: type[BaseModel]) -> Problem:
    """Pydantic's error in the words of people who write suites."""
    kind, given, remedy, place = detail["type"], detail["input"], None, key_path
    if kind == "extra_forbidden":
        key = str(detail["loc"][-1])
        message, remedy = f"unknown key {key!r}", did_you_mean(key, _known_keys(model, detail["loc"][:-1]))
    elif kind == "missing":
        message, place = "is missing", key_path[:-1]
    elif kind == "value_error":
        message = detail["msg"].removeprefix("Value error, ")
    elif kind in _EMPTY:
        message = "must not be empty"
    else:
        message = f"must be {_WANTED.get(kind) or detail['msg'].removeprefix('Input should be ')}{_but_is(given)}"
    return Problem(
        message=message, location=document.locate(place), key_path=key_path_text(key_path) or None, remedy=remedy
    )


def _but_is(given: object) -> str:
    if isinstance(given, dict | list):
        return f", not a {'list' if isinstance(given, list) else 'mapping'}"
    text = json.dumps(given, ensure_ascii=False, default=str).encode("utf-8", "backslashreplace").decode()
    return f", not {text if len(text) <= LONGEST_QUOTE else text[:LONGEST_QUOTE] + '…'}"


def _known_keys(model: type[BaseModel], loc: tuple[str | int, ...]) -> set[str]:
    """The keys of the model that ``loc`` leads to; parts that are no fields are indexes, free keys or union members."""
    models = [model]
    for part in loc:
        fields = [field for model in models for names, field in _fields(model) if part in names]
        models = [inner for field in fields for inner in _models_in(field.annotation)] or models
    return {names[0] for model in models for names, _ in _fields(model)}


def _fields(model: type[BaseModel]) -> Iterator[tuple[tuple[str, ...], FieldInfo]]:
    """Every field with the keys it may be written as, the usual one first."""
    for name, field in model.model_fields.items():
        yield _spellings(name, field), field


def _spellings(name: str, field: FieldInfo) -> tuple[str, ...]:
    alias = field.validation_alias
    choices = getattr(alias, "choices", None) or (alias,)
    return (*(choice for choice in choices if isinstance(choice, str)), name)


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if hasattr(annotation, "model_fields"):
        yield annotation
    for argument in get_args(annotation):
        yield from _models_in(argument)


def _is_extension(detail: ErrorDetails) -> bool:
    if detail["type"] != "extra_forbidden":
        return False
    key = str(detail["loc"][-1])
    return key.startswith("x-") or key == "$schema"


def _without(value: object, unwanted: Collection[KeyPath], at: KeyPath = ()) -> object:
    if isinstance(value, dict):
        return {key: _without(part, unwanted, (*at, key)) for key, part in value.items() if (*at, key) not in unwanted}
    if isinstance(value, list):
        return [_without(part, unwanted, (*at, index)) for index, part in enumerate(value)]
    return value


def _order(problem: Problem) -> tuple[int, int]:
    place = problem.location or Location(path="")
    return place.line or 0, place.column or 0
