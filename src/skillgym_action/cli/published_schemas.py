"""JSON Schemas as they are printed and published: with their address, and descriptions of keys.

The texts are in modules of their own, which nothing but the command ``schema`` imports.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from skillgym_action.cli import (
    schema_texts_configuration,
    schema_texts_documents,
    schema_texts_files,
    schema_texts_results,
)
from skillgym_action.documents.json_schemas import schema_address

if TYPE_CHECKING:
    from collections.abc import Iterator

DIALECT = "https://json-schema.org/draft/2020-12/schema"
TITLES = {
    "config": "Configuration of skillgym-action",
    "quarantine": "Quarantine file of skillgym-action",
    "x-bench": "Suite of x-bench",
    "results": "Results of skillgym-action",
    "plan": "Stored plan of skillgym-action",
}
TEXTS = (schema_texts_configuration, schema_texts_files, schema_texts_results, schema_texts_documents)
_BASES = {
    "WorkspaceSection": ("ContainerKeys",),
    "SuiteWorkspaceSection": ("ContainerKeys",),
    "RunnerEntry": ("TotalsEntry",),
    "ChangedPart": ("ExecutionPart",),
    "RunSidePart": ("SidePart",),
    "TrendGroupPart": ("TrendLinePart",),
    "TrendExecutionPart": ("TrendLinePart",),
    "SuggestionPart": ("ExecutionPart", "HistoryPart"),
    "NotProposedPart": ("ExecutionPart", "HistoryPart"),
}
"""Definition of a schema -> classes that it inherits keys from."""


def published(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    """The schema ``name`` that pydantic has made, complete."""
    whole = {"$schema": DIALECT, "$id": schema_address(name), **schema}
    for definition, part in definitions(whole):
        for key, value in part.get("properties", {}).items():
            _describe(value, definition, key)
        if text := part.get("description"):
            part["description"] = " ".join(text.replace("``", "").split())
    whole["title"] = TITLES.get(name, f"What {name} prints with --json")
    return whole


def definitions(schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The mappings of a schema by the names of their classes."""
    yield schema["title"], schema
    yield from schema.get("$defs", {}).items()


def bases_of(definition: str) -> tuple[str, ...]:
    """The classes that the class of a definition inherits keys from; () if it only has its own."""
    return ("JsonDocument",) if definition.endswith("Document") else _BASES.get(definition, ())


def _describe(value: dict[str, Any], definition: str, key: str) -> None:
    value.pop("title", None)
    if value.get("default", ...) is None:
        del value["default"]
    for texts in TEXTS:
        for name in (*bases_of(definition), definition):
            if text := texts.DESCRIPTIONS.get(name, {}).get(key):
                value["description"] = text
            if examples := texts.EXAMPLES.get(name, {}).get(key):
                value["examples"] = examples
