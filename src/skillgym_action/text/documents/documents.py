"""Documents: the value of a JSON, YAML or TOML text, with the location of each part, and its validation.

Everything that is wrong with a document becomes a problem with line, column and key path.
"""

from __future__ import annotations

import json
import re
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, get_args

from skillgym_action.model.errors import Location, Problem, SkillgymError, closest_match, did_you_mean
from skillgym_action.model.limits import MAX_REPORTED_PROBLEMS
from skillgym_action.model.records import record
from skillgym_action.text.documents.located_values import KeyPath, Lines, LocatedValue, NotationError, key_path_text

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from pydantic import BaseModel
    from pydantic.fields import FieldInfo
    from pydantic_core import ErrorDetails

    Model = TypeVar("Model", bound=BaseModel)

Kind = Literal["json", "yaml", "toml"]
Misfit = tuple[KeyPath, Problem]

PERCENT = 100
_QUOTED_CHARACTERS = 60
SHOWN = 10
"""With more problems than ``MAX_REPORTED_PROBLEMS``, those of the first members of lists and mappings are reported."""

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
_QUOTED = {
    "float_type": re.compile(r"\s*[-+]?\d+(\.\d+)?\s*"),
    "int_type": re.compile(r"\s*[-+]?\d+\s*"),
    "bool_type": re.compile(r"true|false"),
}
"""Type that is wanted -> texts that are such a value in quotes."""


class ValueSource(Protocol):
    """What a value was read from; a ``Document`` is one."""

    @property
    def value(self) -> object:
        """The whole value, before variables are replaced."""
        ...

    def locate(self, key_path: KeyPath = ()) -> Location:
        """The place of a key or an element."""
        ...

    def scalar(self, key_path: KeyPath) -> str | None:
        """A number, or true or false, as the file has it; None: something else is there, or it is not known."""
        ...


@record(slots=False)
class Document:
    """The value of a file and the locations of its parts. ``path`` is the file's path in locations."""

    path: str
    value: object
    located: LocatedValue
    lines: Lines

    def locate(self, key_path: KeyPath = ()) -> Location:
        """The location of a key or an element, or of the nearest value around it whose location is known."""
        for length in range(len(key_path), -1, -1):
            if (offset := self.located.offset(key_path[:length])) is not None:
                line, column = self.lines.position(offset)
                return Location(path=self.path, line=line, column=column)
        return Location(path=self.path, line=1)

    def scalar(self, key_path: KeyPath) -> str | None:
        """A number, or true or false, as the file has it: ``1.10`` is not ``1.1``. None: something else is there."""
        return self.located.scalar(key_path)


def read_document(text: str, *, path: str, kind: Kind, error: type[SkillgymError], line: int = 1) -> Document:
    """The document in ``text``, whose first line is number ``line``; a byte order mark is accepted.

    Raises ``error`` with the location of the first thing that is wrong.
    """
    text = text.removeprefix("\ufeff")
    lines = Lines(text, line)
    try:
        located = _reader(kind)(text)
    except NotationError as trouble:
        row, column = (None, None) if trouble.offset is None else lines.position(trouble.offset)
        location = Location(path=path, line=row, column=column)
        raise error.of(Problem(message=trouble.message, location=location, remedy=trouble.remedy)) from trouble
    return Document(path=path, value=located.value, located=located, lines=lines)


@record(slots=False)
class ProgramDocument(Document):
    """A value that a program has made: its parts have no location but the file."""

    def locate(self, key_path: KeyPath = ()) -> Location:  # noqa: ARG002 - the program may be anywhere
        """The file, for every key path."""
        return Location(path=self.path)


def program_document(value: object, *, path: str) -> Document:
    """The document of a value that the program ``path`` has made."""
    located = LocatedValue(value=value, offset=lambda _: None)
    return ProgramDocument(path=path, value=value, located=located, lines=Lines(""))


def _reader(kind: Kind) -> Callable[[str], LocatedValue]:
    """What reads a notation; imported when it is needed."""
    if kind == "json":
        from skillgym_action.text.documents.json_text import read_json

        return read_json
    if kind == "toml":
        from skillgym_action.text.documents.toml_text import read_toml

        return read_toml
    from skillgym_action.text.documents.yaml_text import read_yaml

    return read_yaml


# --- validation -------------------------------------------------------------------------------------


def validated(
    document: Document, model: type[Model], *, at: KeyPath = (), extensions: bool = False, error: type[SkillgymError]
) -> Model:
    """The value at the key path ``at``, as an instance of ``model``. Raises ``error`` with every problem."""
    instance, misfits = checked(document, model, at=at, extensions=extensions)
    if instance is None:
        raise error.of(*(problem for _, problem in misfits))
    return instance


def checked(
    document: Document, model: type[Model], *, at: KeyPath = (), extensions: bool = False
) -> tuple[Model | None, tuple[Misfit, ...]]:
    """An instance of ``model``, or the problems with their key paths, in the order of the text.

    ``extensions``: keys ``x-*`` and ``$schema`` are allowed wherever a model forbids unknown ones.
    """
    value = part_of(document.value, at)
    instance, details, count = _details(value, model)
    ignored = {path for path, detail in details if extensions and _is_extension(detail)}
    if ignored:
        value = _without(value, ignored)
        instance, details, count = _details(value, model)
    if instance is not None:
        return instance, ()
    details = _without_consequences(details, model)
    misfits = [((*at, *path), _problem(document, (*at, *path), detail, model)) for path, detail in details]
    misfits.sort(key=lambda misfit: _order(misfit[1]))
    if count > MAX_REPORTED_PROBLEMS:
        top = Problem(message=f"{count:,} problems; these are the first", location=document.locate(at))
        return None, ((at, top), *misfits[:SHOWN])
    return None, tuple(misfits)


def _without_consequences(
    details: list[tuple[KeyPath, ErrorDetails]], model: type[BaseModel]
) -> list[tuple[KeyPath, ErrorDetails]]:
    """The errors without keys that are missing only because they are misspelt."""
    meant = {
        (*path[:-1], closest_match(*_unknown_and_known(detail, model)))
        for path, detail in details
        if detail["type"] == "extra_forbidden"
    }
    return [(path, detail) for path, detail in details if detail["type"] != "missing" or path not in meant]


def _details(value: object, model: type[Model]) -> tuple[Model | None, list[tuple[KeyPath, ErrorDetails]], int]:
    """An instance, or pydantic's errors with their key paths, only the first of too many; and how many there are."""
    from pydantic import ValidationError

    try:
        return model.model_validate(value), [], 0
    except ValidationError as invalid:
        found, count = invalid, invalid.error_count()
    seen = value if count <= MAX_REPORTED_PROBLEMS else _beginning(value)
    if seen is not value:
        try:
            model.model_validate(seen)
        except ValidationError as invalid:
            found = invalid
        else:
            return None, [], count
    details = [(_resolved(seen, detail), detail) for detail in found.errors(include_url=False)]
    return None, [(path, detail) for path, detail in details if not _is_there(value, path, detail)], count


def _beginning(value: object) -> object:
    if isinstance(value, dict):
        return {key: _beginning(part) for key, part in islice(value.items(), SHOWN)}
    return [_beginning(part) for part in value[:SHOWN]] if isinstance(value, list) else value


def _is_there(value: object, path: KeyPath, detail: ErrorDetails) -> bool:
    """Whether a key is missing only because the value was cut to its beginning."""
    return detail["type"] == "missing" and path[-1] in part_of(value, path[:-1])  # type: ignore[operator]


def part_of(value: object, key_path: Iterable[str | int]) -> object:
    """The part of a value at ``key_path``, which it has."""
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
    """Pydantic's error in the words that suites use."""
    kind, value, remedy, located = detail["type"], detail["input"], None, key_path
    scalar = document.scalar(key_path) if isinstance(value, int | float) else None
    if kind == "extra_forbidden":
        key, known = _unknown_and_known(detail, model)
        message, remedy = f"unknown key {key!r}", did_you_mean(key, known)
    elif kind == "missing":
        message, located = "is missing", key_path[:-1]
    elif kind == "value_error":
        message = detail["msg"].removeprefix("Value error, ")
        if scalar and message.startswith(f"{value!r} "):
            message = scalar + message.removeprefix(repr(value))
    elif kind in _EMPTY:
        message = "must not be empty"
    else:
        wanted = _WANTED.get(kind) or detail["msg"].removeprefix("Input should be ")
        message = f"must be {wanted}, not {scalar or _shown(value)}"
        if kind in _QUOTED and isinstance(value, str) and _QUOTED[kind].fullmatch(value):
            remedy = "write it without quotes"
        elif kind == "less_than_equal" and detail["ctx"]["le"] == 1 and 1 < value <= PERCENT:
            remedy = f"write {value / PERCENT:g} for {scalar or f'{value:g}'}%"
    return Problem(
        message=message, location=document.locate(located), key_path=key_path_text(key_path) or None, remedy=remedy
    )


def _shown(value: object) -> str:
    if isinstance(value, dict | list):
        return f"a {'list' if isinstance(value, list) else 'mapping'}"
    value = value[: _QUOTED_CHARACTERS + 1] if isinstance(value, str) else value
    text = json.dumps(value, ensure_ascii=False, default=str).encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= _QUOTED_CHARACTERS else f"{text[:_QUOTED_CHARACTERS]}…"


def _unknown_and_known(detail: ErrorDetails, model: type[BaseModel]) -> tuple[str, set[str]]:
    """The key that is not known, and those that are known in its place."""
    return str(detail["loc"][-1]), _known_keys(model, detail["loc"][:-1])


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
    location = problem.location or Location(path="")
    return location.line or 0, location.column or 0
