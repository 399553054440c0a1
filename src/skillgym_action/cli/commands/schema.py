"""The command ``schema``: JSON Schemas of files, and the types for suites in TypeScript."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING

from skillgym_action.model.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable


def print_schema(name: str | None) -> int:
    """Print a schema; without a name, the names there are. Raises UsageError for an unknown name."""
    if name is None:
        print("\n".join(SCHEMAS))  # noqa: T201
        return 0
    if name not in SCHEMAS:
        raise UsageError(f"unknown schema {name!r}", remedy=did_you_mean(name, SCHEMAS))
    schema = SCHEMAS[name]()
    print(schema if isinstance(schema, str) else json.dumps(schema, indent=2))  # noqa: T201
    return 0


def _config_schema() -> dict[str, object]:
    from skillgym_action.settings.configuration import ConfigFile

    return ConfigFile.model_json_schema(by_alias=True)


def _quarantine_schema() -> dict[str, object]:
    from skillgym_action.settings.configuration_file import QuarantineSections

    return QuarantineSections.model_json_schema(by_alias=True)


def _suite_schema() -> dict[str, object]:
    from skillgym_action.suites.xbench.suite import suite_schema

    return suite_schema()


def _results_schema() -> dict[str, object]:
    from skillgym_action.results.schema import results_schema

    return results_schema()


def _plan_schema() -> dict[str, object]:
    from skillgym_action.results.plan_file import plan_schema

    return plan_schema()


def _document_schema(name: str) -> dict[str, object]:
    from skillgym_action.cli.schemas.json_documents import DOCUMENTS

    return DOCUMENTS[name].model_json_schema(by_alias=True)


def _typescript_types() -> str:
    from skillgym_action.suites.programs.typescript import types

    return types()


def _published(name: str, make: Callable[[], dict[str, object]]) -> dict[str, object]:
    from skillgym_action.cli.schemas.published import published

    return published(name, make())


_DOCUMENTS = ("list", "check", "check-cases", "doctor", "compare", "quarantine-suggest", "trend", "error")
MADE: dict[str, Callable[[], dict[str, object]]] = {
    "config": _config_schema,
    "quarantine": _quarantine_schema,
    "x-bench": _suite_schema,
    "results": _results_schema,
    "plan": _plan_schema,
    **{name: partial(_document_schema, name) for name in _DOCUMENTS},
}
"""Name of a schema -> what makes it of the models, without descriptions."""
SCHEMAS: dict[str, Callable[[], dict[str, object] | str]] = {
    **{name: partial(_published, name, make) for name, make in MADE.items()},
    "typescript": _typescript_types,
}
