"""JSON Schemas as they are printed and published: with their address, and descriptions of keys.

The description of a key is the string under its field in the source: Markdown, with links relative to docs/reference.
A word such as ``{MAX_ARMS:,}`` in it is the value of that constant. Only the command ``schema`` reads these strings.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel

from skillgym_action.cli.schemas import schema_values
from skillgym_action.model import limits
from skillgym_action.model.resource_limits import format_size
from skillgym_action.settings.settings import Settings, declared, keys_of
from skillgym_action.text.documents.json_schemas import schema_address

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

T = TypeVar("T")

DIALECT = "https://json-schema.org/draft/2020-12/schema"
TITLES = {
    "config": "Configuration of skillgym-action",
    "quarantine": "Quarantine file of skillgym-action",
    "x-bench": "Suite of x-bench",
    "results": "Results of skillgym-action",
    "plan": "Stored plan of skillgym-action",
}
_ALIKE = {
    "SuiteLimitsSection": ("LimitsSection", "WorkspaceLimitsSection"),
    "SuiteBootstrapSection": ("BootstrapSection",),
}
"""Definition of a schema -> classes with keys that mean the same; a text of its own replaces theirs."""
_OURS = "skillgym_action."
_CONSTANT = re.compile(r"(?<!\$)\{([A-Z_]+)(?::(,|size))?\}")
_LINK = re.compile(r"\[([^\]]+)\]\([^)]+\)")
_RELATIVE = "A relative path is relative to the folder of this file."


def published(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    """The schema ``name`` that pydantic has made, complete."""
    whole = {"$schema": DIALECT, "$id": schema_address(name), **schema}
    for definition, part in definitions(whole):
        part.pop("description", None)  # the docstring of the class, for readers of the source
        for key, value in part.get("properties", {}).items():
            _describe(value, definition, key)
    whole["title"] = TITLES.get(name, f"What {name} prints with --json")
    return whole


def definitions(schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The mappings of a schema by the names of their classes."""
    yield schema["title"], schema
    yield from schema.get("$defs", {}).items()


def text_sources(definition: str) -> tuple[str, ...]:
    """The definition, and the classes whose texts apply to keys for which it has no text; the first one counts."""
    bases = [base.__name__ for base in _model(definition).__mro__ if base.__name__ != definition]
    return (definition, *bases, *_ALIKE.get(definition, ()))


def inherited_keys(definition: str) -> Collection[str]:
    """The keys that the class of a definition inherits, but for those of a ``…Head``, which is the beginning of it."""
    bases = [base for base in _model(definition).__mro__[1:] if not base.__name__.endswith(("Head", definition))]
    return {field.alias or name for base in bases for name, field in getattr(base, "model_fields", {}).items()}


def value_of(table: Mapping[str, Mapping[str, T]], definition: str, key: str) -> T | None:
    """What a table has for a key of a definition, or else of a class whose texts apply to it; None: nothing."""
    named = (table[name][key] for name in text_sources(definition) if key in table.get(name, {}))
    return next(named, None)


def text_of(definition: str, key: str) -> str | None:
    """The text that describes a key, in Markdown; links are relative to docs/reference."""
    setting = keys_of(definition).get(key)
    if setting:
        option = declared(setting)[1]
        same = f"{option.help.removesuffix('.')}; same as `--{setting.replace('_', '-')}`." if option else None
        return _texts_in(Settings.__module__)[Settings.__name__].get(setting, same)
    models = map(_model, (definition, *_ALIKE.get(definition, ())))
    return next(filter(None, (_text_at(model, key) for model in models)), None)


def _model(name: str) -> type[BaseModel]:
    """The class of that name, of those that are loaded; ``BaseModel`` if there is none."""
    models: list[type[BaseModel]] = [BaseModel]
    for model in models:
        models += model.__subclasses__()
    named = (model for model in models if model.__name__ == name and model.__module__.startswith(_OURS))
    return next(named, BaseModel)


def _text_at(model: type[BaseModel], key: str) -> str | None:
    for name, field in model.model_fields.items():
        if key == (field.alias or name):
            bases = (base for base in model.__mro__ if base.__module__.startswith(_OURS))
            texts = (_texts_in(base.__module__).get(base.__name__, {}) for base in bases)
            return field.description or next((found[name] for found in texts if name in found), None)
    return None


@cache
def _texts_in(module: str) -> dict[str, dict[str, str]]:
    """Class of a module -> field -> the string under the field."""
    constants = vars(limits) | vars(sys.modules[module])

    def value(found: re.Match[str]) -> str:
        number = constants[found[1]]
        return format_size(number) if found[2] == "size" else format(number, found[2] or "")

    texts: dict[str, dict[str, str]] = {}
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    for node in [node for node in tree.body if isinstance(node, ast.ClassDef)]:
        for pair in pairwise(node.body):
            match pair:
                case ast.AnnAssign(target=ast.Name(id=field)), ast.Expr(value=ast.Constant(value=str(text))):
                    texts.setdefault(node.name, {})[field] = _CONSTANT.sub(value, " ".join(text.split()))
    return texts


def _describe(value: dict[str, Any], definition: str, key: str) -> None:
    value.pop("title", None)
    if value.get("default", ...) is None:
        del value["default"]
    if text := text_of(definition, key):
        value["description"] = _plain(" ".join([text, *_about_values(definition, key)]))
    if examples := value_of(schema_values.EXAMPLES, definition, key):
        value["examples"] = examples
    elif (field := keys_of(definition).get(key)) and (example := declared(field)[0].example) is not None:
        value["examples"] = [example]


def _about_values(definition: str, key: str) -> Iterator[str]:
    """Sentences about the values of a key that the schema does not say itself."""
    if unit := value_of(schema_values.UNITS, definition, key):
        yield f"Unit: {unit}."
    if words := value_of(schema_values.TYPES, definition, key):
        yield f"Type: {words}."
        if words in schema_values.PATHS:
            yield _RELATIVE
    if default := value_of(schema_values.DEFAULTS, definition, key):
        yield f"Default: {default}."


def _plain(markdown: str) -> str:
    """A text without the marks of code, and with the words of links in place of links."""
    return _LINK.sub(r"\1", markdown).replace("`", "")
