"""Tables of the keys of files, made of the JSON Schema of the file and of the texts that describe its keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from skillgym_action.cli.commands.schema import MADE
from skillgym_action.cli.schemas import schema_values
from skillgym_action.cli.schemas.published import inherited_keys, text_of, value_of

if TYPE_CHECKING:
    from collections.abc import Iterator

NO_DEFAULT = "–"  # noqa: RUF001 - the dash of all tables
LARGEST_SHOWN = 1_000_000  # greater limits only protect the tool
_TYPES = {"string": "text", "integer": "whole number", "number": "number"}
_PLURALS = {"whole number": "whole numbers", "number": "numbers"}

Schema = dict[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Key:
    """A key of a file. ``definition``: of the mapping that has the key ``name``; ``schema``: of the key's value."""

    path: str
    definition: str
    name: str
    schema: Schema
    required: bool


def of_keys(
    schema_name: str, section: str = "", *, base: str = "", without: str | None = None
) -> Iterator[tuple[str, str, str, str]]:
    """The keys of a file.

    ``section``: only this key, or the keys below it; ``base``: the part of all paths that is not repeated in each row;
    ``without``: the key whose inner keys are in another table.
    """
    yield "Key", "Type", "Default", "Meaning"
    for key in keys_of(schema_name):
        inside = _is_below(key.path, section) or (key.path == section and not list(_definitions_in(key.schema)))
        if inside and not (without and _is_below(key.path, without)):
            meaning = text_of(key.definition, key.name)
            assert meaning, f"{key.definition}.{key.name}: no text"
            yield f"`{key.path.removeprefix(base)}`", type_of(key), default_of(key), meaning


def keys_of(schema_name: str) -> Iterator[Key]:
    """All keys of a file in the order of its models; those that a class inherits are below its own."""
    return keys_in(MADE[schema_name]())


def keys_in(made: Schema) -> Iterator[Key]:
    """The keys of a file with this schema."""
    whole = _with_words_in_place(made, made.get("$defs", {}))
    definitions = {whole["title"]: whole, **whole.get("$defs", {})}

    def below(definition: str, path: str) -> Iterator[Key]:
        part, inherited = definitions[definition], inherited_keys(definition)
        for name, value in sorted(part["properties"].items(), key=lambda item: item[0] in inherited):
            place = f"{path}.{name}" if path else name
            required = name in part.get("required", ())
            yield Key(path=place, definition=definition, name=name, schema=value, required=required)
            for inner, step in _definitions_in(value):
                yield from below(inner, place + step)

    return below(whole["title"], "")


def type_of(key: Key, *, link: str = "", all_bounds: bool = True) -> str:
    """The type of a key in words.

    ``link``: where the word "mapping" leads to. ``all_bounds``: also bounds that are obvious or only protect the tool.
    """
    unit = value_of(schema_values.UNITS, key.definition, key.name)
    named = value_of(schema_values.TYPES, key.definition, key.name)
    wording = _Wording(link=link, all_bounds=all_bounds)
    words, types = ([], [named]) if named else wording.kinds(key.schema, f", {unit}" if unit else "")
    is_set = key.required or key.schema.get("default") is not None  # where a key may be absent, null means the same
    return _joined(words, [*types, "null"] if is_set and _may_be_null(key.schema) else types)


def default_of(key: Key) -> str:
    """What applies if the key is not set."""
    default = key.schema.get("default")
    named = value_of(schema_values.DEFAULTS, key.definition, key.name)
    if key.required:
        return "required"
    if named or default in (None, [], {}) or isinstance(default, dict):
        return named or NO_DEFAULT
    if isinstance(default, bool | str):
        return _code(default)
    return f"{default:g}" if default % 1 else f"{default:.0f}"


def _with_words_in_place(value: Any, definitions: Schema) -> Any:
    """A schema in which definitions of words are where they are used; definitions of mappings stay."""
    if isinstance(value, list):
        return [_with_words_in_place(one, definitions) for one in value]
    if not isinstance(value, dict):
        return value
    named = definitions.get(str(value.get("$ref", "")).rpartition("/")[2], {})
    if named and "properties" not in named:
        return {**named, **{key: inner for key, inner in value.items() if key != "$ref"}}
    return {key: _with_words_in_place(inner, definitions) for key, inner in value.items()}


def _is_below(path: str, section: str) -> bool:
    return not section or path.startswith((f"{section}.", f"{section}["))


def _definitions_in(value: Schema) -> Iterator[tuple[str, str]]:
    """The mappings that a value may be or contain: their definitions, and what the path of their keys has more."""
    if "$ref" in value:
        yield value["$ref"].rpartition("/")[2], ""
    for alternative in _alternatives(value):
        if alternative is not value:
            yield from _definitions_in(alternative)
    for inner, step in ((value.get("items"), "[]"), (value.get("additionalProperties"), ".<id>")):
        if isinstance(inner, dict):
            yield from ((definition, step + more) for definition, more in _definitions_in(inner))


def _alternatives(value: Schema) -> list[Schema]:
    """The schemas of which a value has to fit one; only the value's own, if there are no others."""
    return [
        inner
        for alternative in value.get("anyOf") or value.get("oneOf") or ()
        for inner in _alternatives(alternative)
        if inner.get("maxItems") != 0
    ] or [value]


def _may_be_null(value: Schema) -> bool:
    return any(one.get("type") == "null" for one in _alternatives(value))


def _joined(words: list[str], types: list[str]) -> str:
    """The values and the types that a key may have."""
    if not types:
        return ", ".join(words)
    *first, last = [*words, *types]
    comma = "," if any(part in one for one in (*first, last) for part in (" or ", "(or ", ", ")) else ""
    return f"{', '.join(first)}{comma} or {last}" if first else last


@dataclass(frozen=True, kw_only=True, slots=True)
class _Wording:
    """How types are written; see ``type_of``."""

    link: str
    all_bounds: bool

    def kinds(self, value: Schema, unit: str = "") -> tuple[list[str], list[str]]:
        """The values and the types that a value may have, without null.

        A pattern beside another type is only another way to write that type.
        """
        alternatives = [one for one in _alternatives(value) if one.get("type") != "null"]
        plain = [one for one in alternatives if "pattern" not in one] or alternatives
        words = [word for one in plain for word in _values(one)]
        return words, [self._type(one) + unit + self._range(one) for one in plain if not _values(one)]

    def _type(self, value: Schema) -> str:
        if "$ref" in value:
            return self._linked("mapping")
        if value["type"] not in ("array", "object"):
            return _TYPES[value["type"]]
        if value["type"] == "array":
            return f"list of {self._inner(value['items'])}"
        if value["additionalProperties"] is True:
            return "mapping"
        return f"mapping of {self._inner(value['additionalProperties'])}"

    def _inner(self, value: Schema) -> str:
        """The type of the values of a list or mapping."""
        words, types = self.kinds(value)
        if _may_be_null(value) and len(words) + len(types) > 1:
            return _joined(words, [*types, "null"])
        plurals = {self._linked("mapping"): self._linked("mappings"), **_PLURALS}
        inner = _joined(words, types)
        return plurals.get(inner, inner) + (" (or null)" if _may_be_null(value) else "")

    def _linked(self, word: str) -> str:
        return f"[{word}]({self.link})" if self.link else word

    def _range(self, value: Schema) -> str:
        """The smallest and the largest number, such as ", 0 to 1"; nothing for values that are no numbers."""
        if value.get("type") not in ("integer", "number"):
            return ""
        least, most = value.get("minimum"), value.get("maximum")
        if most and (most > LARGEST_SHOWN or (most == LARGEST_SHOWN and not self.all_bounds)):
            most = None
        if value["type"] == "integer" and "exclusiveMinimum" in value:
            least = value["exclusiveMinimum"] + 1
        if least is not None and most is not None:
            return f", {least} to {most}"
        if least in (0, 1) and not self.all_bounds:
            return ""
        parts = [f"more than {value['exclusiveMinimum']}" if "exclusiveMinimum" in value and least is None else ""]
        parts += [f"at least {least}" if least is not None else "", f"at most {most:g}" if most is not None else ""]
        return "".join(f", {part}" for part in parts if part)


def _values(value: Schema) -> list[str]:
    """The values of a type that has only a few; nothing for other types."""
    if "const" in value:
        return [_code(value["const"])]
    if value.get("type") == "boolean":
        return ["`true`", "`false`"]
    return [_code(one) if isinstance(one, str) else f"{one}" for one in value.get("enum", ())]


def _code(value: object) -> str:
    return f"`{value}`".lower() if isinstance(value, bool) else f"`{value}`"
