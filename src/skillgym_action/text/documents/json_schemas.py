"""Where JSON Schemas are published, and the parts of them that types do not say themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from skillgym_action.model.records import record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

SCHEMA_SITE = "https://org.github.io/skillgym-action/"
SCHEMA_FOLDER = "schemas/v1"
"""The folder of the site with the schemas, a file ``NAME.json`` each."""


def schema_address(name: str) -> str:
    """The address of a schema, which is its ``$id``."""
    return f"{SCHEMA_SITE}{SCHEMA_FOLDER}/{name}.json"


def words(known: Iterable[str]) -> dict[str, Any]:
    """The schema of a text that is one of these words."""
    return {"type": "string", "enum": list(known)}


def matching(pattern: str) -> dict[str, Any]:
    """The schema of a text that matches a regular expression, which JavaScript has to understand, too."""
    return {"type": "string", "pattern": pattern}


def any_case(word: str) -> str:
    """A regular expression of a word in upper or lower case."""
    return "".join(f"[{letter.upper()}{letter}]" if letter.isalpha() else letter for letter in word)


def any_of(*schemas: dict[str, Any]) -> dict[str, Any]:
    """The schema of what fits one of these schemas."""
    return {"anyOf": list(schemas)}


def has(key: str) -> dict[str, Any]:
    """The schema of a mapping in which a key is set and not null."""
    return {"required": [key], "properties": {key: {"not": {"type": "null"}}}}


@record(kw_only=False, eq=False)
class AlsoAccepts:
    """In an annotation: a validator before the type accepts what fits ``schema``, too."""

    schema: dict[str, Any]

    def __get_pydantic_json_schema__(self, core: Any, handler: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
        """Return the schema of the type, or this one. Called by pydantic."""
        return any_of(handler(core), self.schema)


@record(kw_only=False, eq=False)
class MadeSchema:
    """In an annotation: the schema is what ``make`` returns, which is called only when the schema is wanted."""

    make: Callable[[], dict[str, Any]]

    def __get_pydantic_json_schema__(self, core: Any, handler: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
        """Return the schema. Called by pydantic."""
        return self.make()


FREE_KEYS: dict[str, Any] = {"patternProperties": {r"^(x-.*|\$schema)$": {}}}
"""Of a mapping in which ``$schema`` and keys that begin with x- are allowed."""
TEXTS = {"type": "array", "items": {"type": "string"}}
