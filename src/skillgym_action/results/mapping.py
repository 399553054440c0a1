"""Objects of a JSON file and the nouns of ``model/``: each field is declared once, and written and read by that.

A ``MappedModel`` is the pydantic model of an object in the file: it validates what is read. Each field also declares
where the noun has its value: in the attribute of the same name, or in the one that its ``FieldSource`` names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache
from operator import attrgetter
from typing import Annotated, Any, ClassVar, NamedTuple, TypeVar, get_args, get_origin

from pydantic import AfterValidator, BaseModel, ConfigDict, FailFast, Field, ValidationInfo
from pydantic.alias_generators import to_camel

from skillgym_action.model.limits import MAX_STORED_SESSIONS
from skillgym_action.model.records import record
from skillgym_action.model.verdicts import Status

# An attribute of every object: read in place of a value that is computed, and as the last one, which is dropped, since
# attrgetter returns no tuple for a single attribute.
_PLACEHOLDER = "__class__"


def read(model: type[MappedModel], entry: MappedModel, **more: object) -> Any:
    """Return the noun for ``entry``, an instance of ``model``; ``more``: attributes that are not in the file."""
    return _reader(model)(entry, more)


@record
class FieldSource:
    """Where the noun has a field's value; part of the field's annotation.

    ``attribute``: a path such as ``judgement.status``, by default the field's name. ``convert``: what is written in
    place of an attribute that is not None. ``compute``: makes what is written of the whole noun. ``read``: whether the
    noun gets the value. ``always``: also written when it is the field's default.
    """

    attribute: str = ""
    convert: Callable[[Any], object] | None = None
    compute: Callable[[Any], object] | None = None
    read: bool = True
    always: bool = False


class MappedModel(BaseModel):
    """An object of the file: camelCase keys there, snake_case names here; unknown keys are refused.

    Fields that have a default are omitted from the file when they have that value.
    """

    model_config = ConfigDict(
        alias_generator=to_camel,
        extra="forbid",
        frozen=True,
        strict=True,
        allow_inf_nan=False,
        defer_build=True,  # most runs read no results, and the validators take 20 ms to build
    )

    noun: ClassVar[Callable[..., Any]]
    """The class that ``read`` makes."""
    parts: ClassVar[Mapping[str, Callable[..., Any]]] = {}
    """Attributes of the noun that are made of several fields, and their classes."""

    def attributes(self) -> dict[str, object]:
        """Return attributes of the noun that are not the value of one field each, by path."""
        return {}


def write(model: type[MappedModel], noun: object) -> dict[str, object]:
    """Return the object that a file has for ``noun``, keys in the order of the fields."""
    return writer(model)(noun)


@cache
def writer(model: type[MappedModel]) -> Callable[[object], dict[str, object]]:
    """Return ``write`` for one model. Made once, since a large run writes tens of thousands of objects."""
    fields = _fields(model)
    converted = [(field.key, field.source.convert) for field in fields if field.source.convert]
    converted += [(field.key, writer(field.entry)) for field in fields if field.entry and not field.is_list]
    return _writer_of(
        attrgetter(*(_PLACEHOLDER if field.source.compute else field.path for field in fields), _PLACEHOLDER),
        [field.key for field in fields],
        computed=[(field.key, field.source.compute) for field in fields if field.source.compute],
        converted=converted,
        lists=[(field.key, writer(field.entry)) for field in fields if field.entry and field.is_list],
        omitted=[(field.key, field.default) for field in fields if field.is_omitted],
    )


Functions = Sequence[tuple[str, Callable[[Any], object]]]
"""Keys, and what makes their values."""


def _writer_of(
    values_of: Callable[[object], tuple[object, ...]],
    keys: list[str],
    *,
    computed: Functions,
    converted: Functions,
    lists: Functions,
    omitted: Sequence[tuple[str, object]],
) -> Callable[[object], dict[str, object]]:
    """Return the function that makes a row. As fast as one that names each key: see ``bench/sinks.py``."""
    if not (computed or converted or lists or omitted):
        return lambda noun: dict(zip(keys, values_of(noun)))  # noqa: B905 - `strict` is slower by a third

    def written(noun: object) -> dict[str, Any]:
        row: dict[str, Any] = dict(zip(keys, values_of(noun)))  # noqa: B905 - as above
        for key, compute in computed:
            row[key] = compute(noun)
        for key, convert in converted:
            if (value := row[key]) is not None:
                row[key] = convert(value)
        for key, convert in lists:
            row[key] = tuple([convert(value) for value in row[key]])
        for key, default in omitted:
            if row[key] == default:
                del row[key]
        return row

    return written


@cache
def _reader(model: type[MappedModel]) -> Callable[[MappedModel, Mapping[str, object]], Any]:
    fields = [field for field in _fields(model) if field.source.read]
    paths = [field.path for field in fields]
    values_of = attrgetter(*(field.name for field in fields), _PLACEHOLDER)
    nested = [(field.path, _nested_reader(field.entry, is_list=field.is_list)) for field in fields if field.entry]
    parts = [(part, noun, _attributes_of(part, paths)) for part, noun in model.parts.items()]

    def noun_of(entry: MappedModel, more: Mapping[str, object]) -> Any:
        found = dict(zip(paths, values_of(entry), strict=False))
        for path, convert in nested:
            if found[path] is not None:
                found[path] = convert(found[path])
        others = entry.attributes()
        found |= others
        for part, noun, attributes in parts:
            own = {name: found.pop(path) for path, name in attributes}
            if others:
                own |= {name: found.pop(path) for path, name in _attributes_of(part, others) if path in found}
            found[part] = noun(**own)
        return model.noun(**found, **more)

    return noun_of


def _attributes_of(part: str, paths: Iterable[str]) -> list[tuple[str, str]]:
    """The paths of attributes of a part of the noun, with their names in it."""
    return [(path, path.removeprefix(f"{part}.")) for path in paths if path.startswith(f"{part}.")]


def _nested_reader(model: type[MappedModel], *, is_list: bool) -> Callable[[Any], object]:
    noun_of = _reader(model)
    if is_list:
        return lambda entries: tuple(noun_of(entry, {}) for entry in entries)
    return lambda entry: noun_of(entry, {})


class _Field(NamedTuple):
    """A field of a model: name in the model, key in the file, path in the noun; ``entry``: the model of its value."""

    name: str
    key: str
    path: str
    source: FieldSource
    entry: type[MappedModel] | None
    is_list: bool
    is_omitted: bool
    default: object


def _fields(model: type[MappedModel]) -> list[_Field]:
    found = []
    for name, info in model.model_fields.items():
        source = next((item for item in info.metadata if isinstance(item, FieldSource)), FieldSource())
        field = _Field(
            name=name,
            key=info.alias or name,
            path=source.attribute or name,
            source=source,
            entry=_entry_in(info.annotation),
            is_list=get_origin(info.annotation) is tuple,
            is_omitted=not (info.is_required() or source.always),
            default=info.default,
        )
        found.append(field)
    return found


def _entry_in(annotation: Any) -> type[MappedModel] | None:
    """Return the model in ``Model``, ``Model | None`` and ``tuple[Model, ...]``; None for other types."""
    if isinstance(annotation, type) and issubclass(annotation, MappedModel):
        return annotation
    return next(filter(None, map(_entry_in, get_args(annotation))), None)


_PART = r"(?:[^/\x00.][^/\x00]*|\.[^/\x00.][^/\x00]*|\.\.[^/\x00]+)"  # of a path: neither . nor ..
_KEY = r"[A-Za-z0-9_*-][A-Za-z0-9_.*-]*"  # an asterisk stands where a secret was
PATH = rf"^/?(?:{_PART}/)*{_PART}$"
ARTIFACTS = rf"^(?:{_KEY}/)*{_KEY}$"
NAME = r"^[^/\x00]*$"
COMMIT = r"^[0-9a-f]{1,64}$"
DIGEST = r"^[0-9a-f]{64}$"
SHORT_DIGEST = r"^[0-9a-f]{16}$"
SHARD = r"^[1-9][0-9]{0,5}/[1-9][0-9]{0,5}$"
SESSIONS = rf"^[pf]{{1,{MAX_STORED_SESSIONS}}}$"
WEB_ADDRESS = r"^https?://[^\s<>\"']+$"
TIME = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?Z$"

MEANINGS = {
    PATH: "a path without steps upwards",
    ARTIFACTS: "a path below the run directory, without steps upwards",
    NAME: "a name without slashes",
    COMMIT: "a commit in hexadecimal digits",
    DIGEST: "64 hexadecimal digits",
    SHORT_DIGEST: "16 hexadecimal digits",
    SESSIONS: f"a p or an f for each of at most {MAX_STORED_SESSIONS:,} sessions",
    WEB_ADDRESS: "an address that begins with https:// or http://",
    SHARD: "I/N, such as 2/4",
    TIME: "a time in UTC, such as 2025-01-02T03:04:05Z",
}
"""Pattern -> what error messages call a text that matches it."""

T = TypeVar("T")


def _moment(text: str) -> str:
    datetime.fromisoformat(text)
    return text


def _shared(value: T, info: ValidationInfo) -> T:
    """The first equal value that was validated with the same context, a dictionary; ``value`` itself without one."""
    return value if info.context is None else info.context.setdefault(value, value)


Count = Annotated[int, Field(ge=0, le=10**15)]
AttemptNumber = Annotated[int, Field(ge=1, le=10**18)]
LineOrColumn = Annotated[int, Field(ge=1, le=10**9)]
Seconds = Annotated[float, Field(gt=0, le=10**9)]
Usd = Annotated[float, Field(ge=0, le=10**9)]
Rate = Annotated[float, Field(ge=0, le=1)]
Id = Annotated[str, Field(max_length=65_536)]
Text = Annotated[str, Field(max_length=32 * 1024 * 1024)]  # longer than a suite file may be
Path = Annotated[str, Field(max_length=4_096, pattern=PATH)]
ArtifactDir = Annotated[str, Field(max_length=1_024, pattern=ARTIFACTS)]
Time = Annotated[str, Field(pattern=TIME), AfterValidator(_moment)]

# FailFast: each error of a list takes memory, and a file may have a million. JSON has no tuples, hence not strict.
Several = Annotated[tuple[T, ...], Field(strict=False), FailFast()]

SHARED = AfterValidator(_shared)
"""One object for equal values, which the results of a case on several runners have."""

State = Annotated[Status, Field(strict=False)]
