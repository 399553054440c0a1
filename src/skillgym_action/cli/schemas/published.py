"""JSON Schemas as they are printed and published: with their address, and descriptions of keys.

The texts are in modules of their own, which nothing but the command ``schema`` imports.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeVar

from skillgym_action.cli.schemas import (
    schema_texts_comparison,
    schema_texts_configuration,
    schema_texts_documents,
    schema_texts_files,
    schema_texts_results,
    schema_values,
)
from skillgym_action.settings.settings import declared, keys_of
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
TEXTS = (
    schema_texts_configuration,
    schema_texts_files,
    schema_texts_results,
    schema_texts_comparison,
    schema_texts_documents,
)
_DESCRIPTIONS = {definition: keys for texts in TEXTS for definition, keys in texts.DESCRIPTIONS.items()}
_EXAMPLES = {definition: keys for texts in TEXTS for definition, keys in texts.EXAMPLES.items()}
_SETTINGS = {section: keys_of(section) for section in ("RunSection", "ReportSection")}
_BASES = {
    "WorkspaceSection": ("ContainerKeys",),
    "SuiteWorkspaceSection": ("ContainerKeys",),
    "ExpectationSection": ("ExpectationOptions",),
    "RunnerEntry": ("TotalsEntry",),
    "ExpectedDurationPart": ("ExpectedTotalPart",),
    "ChangedPart": ("ExecutionPart",),
    "RunSidePart": ("SidePart",),
    "TrendGroupPart": ("TrendLinePart",),
    "TrendExecutionPart": ("TrendLinePart",),
    "SuggestionPart": ("ExecutionPart", "HistoryPart"),
    "NotProposedPart": ("ExecutionPart", "HistoryPart"),
}
"""Definition of a schema -> classes that it inherits keys from."""
_ALIKE = {
    "SuiteLimitsSection": ("LimitsSection", "WorkspaceLimitsSection"),
    "SuiteBootstrapSection": ("BootstrapSection",),
    "SuiteArmSection": ("ArmSection",),
}
"""Definition of a schema -> classes with keys that mean the same; a text of its own replaces theirs."""
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
    if definition.endswith("Document"):
        return definition, "JsonDocument"
    return (definition, *_BASES.get(definition, ()), *_ALIKE.get(definition, ()))


def inherited_keys(definition: str) -> Collection[str]:
    """The keys that the class of a definition inherits."""
    return [key for base in _BASES.get(definition, ()) for key in _DESCRIPTIONS.get(base, {})]


def value_of(table: Mapping[str, Mapping[str, T]], definition: str, key: str) -> T | None:
    """What a table has for a key of a definition, or else of a class whose texts apply to it; None: nothing."""
    named = (table[name][key] for name in text_sources(definition) if key in table.get(name, {}))
    return next(named, None)


def text_of(definition: str, key: str) -> str | None:
    """The text that describes a key, in Markdown; links are relative to docs/reference."""
    text, field = value_of(_DESCRIPTIONS, definition, key), _SETTINGS.get(definition, {}).get(key)
    option = declared(field)[1] if field else None
    if text or not field or not option:
        return text
    return f"{option.help.removesuffix('.')}; same as `--{field.replace('_', '-')}`."


def _describe(value: dict[str, Any], definition: str, key: str) -> None:
    value.pop("title", None)
    if value.get("default", ...) is None:
        del value["default"]
    if text := text_of(definition, key):
        value["description"] = _plain(" ".join([text, *_about_values(definition, key)]))
    if examples := value_of(_EXAMPLES, definition, key):
        value["examples"] = examples
    elif (field := _SETTINGS.get(definition, {}).get(key)) and (example := declared(field)[0].example) is not None:
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
