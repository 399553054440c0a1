"""Tables of keys: types, defaults and order are those of the schema."""

from __future__ import annotations

from typing import Any

import pytest

from key_tables import Key, default_of, keys_in, keys_of, of_keys, type_of

TEXT = {"type": "string"}
NULL = {"type": "null"}
WORDS = {"type": "string", "enum": ["a", "b"]}


def key(schema: dict[str, Any], *, required: bool = False, of: str = "Section", name: str = "key") -> Key:
    return Key(path=name, definition=of, name=name, schema=schema, required=required)


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        (TEXT, "text"),
        ({"type": "boolean"}, "`true`, `false`"),
        ({"anyOf": [{"type": "boolean"}, TEXT]}, "`true`, `false` or text"),
        ({"anyOf": [TEXT, NULL]}, "text"),
        (WORDS, "`a`, `b`"),
        ({"type": "integer", "enum": [1, 3]}, "1, 3"),
        ({"const": "branch", "type": "string"}, "`branch`"),
        ({"const": True, "type": "boolean"}, "`true`"),
        ({"const": 1, "type": "integer"}, "`1`"),
        ({"type": "integer", "exclusiveMinimum": 0}, "whole number, at least 1"),
        ({"type": "integer", "minimum": 0, "maximum": 255}, "whole number, 0 to 255"),
        ({"type": "integer", "minimum": 0, "maximum": 10**15}, "whole number, at least 0"),
        ({"type": "number", "minimum": 0, "maximum": 1}, "number, 0 to 1"),
        ({"type": "number", "exclusiveMinimum": 0, "maximum": 1024}, "number, more than 0, at most 1024"),
        ({"type": "string", "pattern": "^/"}, "text"),
        ({"anyOf": [WORDS, {"type": "string", "pattern": "^A$"}]}, "`a`, `b`"),
        ({"anyOf": [WORDS, {"type": "integer", "minimum": 1}]}, "`a`, `b`, or whole number, at least 1"),
        ({"anyOf": [TEXT, {"type": "array", "items": TEXT}, NULL]}, "text or list of text"),
        ({"anyOf": [TEXT, {"type": "array", "maxItems": 0}]}, "text"),
        ({"type": "array", "items": {"$ref": "#/$defs/Entry"}}, "list of mappings"),
        ({"anyOf": [{"$ref": "#/$defs/Entry"}, WORDS]}, "`a`, `b` or mapping"),
        ({"type": "object", "additionalProperties": TEXT}, "mapping of text"),
        ({"type": "array", "items": {"anyOf": [{"type": "boolean"}, NULL]}}, "list of `true`, `false` or null"),
        ({"type": "array", "items": {"anyOf": [{"type": "integer"}, NULL]}}, "list of whole numbers (or null)"),
        (
            {"anyOf": [{"type": "object", "additionalProperties": {"anyOf": [TEXT, NULL]}}, TEXT]},
            "mapping of text (or null), or text",
        ),
    ],
)
def test_a_type_in_words(schema, words):
    assert type_of(key(schema)) == words


def test_null_is_a_type_only_of_keys_that_cannot_be_absent():
    assert type_of(key({"anyOf": [TEXT, NULL]}, required=True)) == "text or null"
    assert type_of(key({"anyOf": [{"type": "integer", "minimum": 0}, NULL]}, required=True)) == (
        "whole number, at least 0, or null"
    )
    assert type_of(key({"anyOf": [{"type": "boolean"}, NULL]}, required=True)) == "`true`, `false` or null"
    assert type_of(key({"anyOf": [{"type": "number"}, NULL], "default": 1})) == "number or null"


def test_the_word_mapping_can_be_a_link():
    entry = {"$ref": "#/$defs/Entry"}
    assert type_of(key(entry), link="#entry") == "[mapping](#entry)"
    assert type_of(key({"type": "array", "items": entry}), link="#entry") == "list of [mappings](#entry)"
    assert type_of(key({"type": "object", "additionalProperties": entry}), link="#a") == "mapping of [mappings](#a)"


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "integer", "minimum": 0}, "whole number"),
        ({"type": "integer", "minimum": 1, "maximum": 1_000_000}, "whole number"),
        ({"type": "integer", "minimum": 2}, "whole number, at least 2"),
        ({"type": "number", "minimum": 0, "maximum": 1}, "number, 0 to 1"),
        ({"type": "number", "exclusiveMinimum": 0}, "number, more than 0"),
    ],
)
def test_bounds_that_are_obvious_can_be_left_out(schema, words):
    assert type_of(key(schema), all_bounds=False) == words


def test_units_and_types_that_the_schema_does_not_have_are_added():
    assert type_of(key({"type": "number", "minimum": 0}, of="RunSection", name="maxCost")) == (
        "number, US dollars, at least 0"
    )
    assert type_of(key(TEXT, of="RunSection", name="cwd")) == "path"
    for definition in ("LimitsSection", "SuiteLimitsSection"):
        assert type_of(key(TEXT, of=definition, name="memory")) == "number of bytes, text such as `512MiB`, or `none`"


@pytest.mark.parametrize(
    ("schema", "default"),
    [
        (TEXT, "–"),  # noqa: RUF001
        ({"type": "boolean", "default": False}, "`false`"),
        ({"type": "integer", "default": 300_000}, "300000"),
        ({"type": "number", "default": 300.0}, "300"),
        ({"type": "number", "default": 0.5}, "0.5"),
        ({**WORDS, "default": "a"}, "`a`"),
        ({"type": "array", "items": TEXT, "default": []}, "–"),  # noqa: RUF001
        ({"$ref": "#/$defs/Entry", "default": {"a": 1}}, "–"),  # noqa: RUF001
    ],
)
def test_a_default(schema, default):
    assert default_of(key(schema)) == default
    assert default_of(key(schema, required=True)) == "required"


def test_a_default_that_the_schema_does_not_have():
    assert default_of(key(TEXT, of="CaseSection", name="model")) == "`model` of the suite"


SCHEMA = {
    "title": "File",
    "properties": {
        "name": TEXT,
        "entries": {"type": "array", "items": {"$ref": "#/$defs/EntrySection"}},
        "byName": {"type": "object", "additionalProperties": {"$ref": "#/$defs/EntrySection"}},
        "status": {"$ref": "#/$defs/Status"},
    },
    "required": ["name"],
    "$defs": {"EntrySection": {"properties": {"case": TEXT, "reason": TEXT}}, "Status": WORDS},
}


def test_keys_have_the_path_that_messages_show():
    paths = ["name", "entries", "entries[].case", "entries[].reason", "byName", "byName.<id>.case"]
    found = {key.path: key for key in keys_in(SCHEMA)}
    assert list(found) == [*paths, "byName.<id>.reason", "status"]
    assert found["name"].required
    assert type_of(found["status"]) == "`a`, `b`"


def test_a_table_has_a_section_with_short_names():
    head, *rows = of_keys("quarantine", "quarantine[]", base="quarantine[].")
    assert head == ("Key", "Type", "Default", "Meaning")
    assert [row[0] for row in rows][:2] == ["`case`", "`suite`"]
    assert rows[0] == ("`case`", "[pattern](patterns.md)", "required", "Ids of the cases that are in quarantine.")


def test_a_table_of_one_key_has_this_key():
    assert [row[0] for row in of_keys("config", "store")] == ["Key", "`store`"]


def test_a_table_can_leave_out_what_is_in_another_one():
    rows = [row[0] for row in of_keys("x-bench", "cases", without="cases[].expect[]")]
    assert "`cases[].expect`" in rows
    assert not [row for row in rows if "expect[]" in row]


def test_keys_that_a_class_inherits_are_below_its_own():
    below = [key.path for key in keys_of("config") if key.path.startswith("run.workspace.")]
    assert below.index("run.workspace.mode") < below.index("run.workspace.image")
