"""JSON Schemas: every key is described, addresses are right, and they refuse what loading the file refuses."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from jsonschema import Draft202012Validator, FormatChecker

from bad_suites import JSON
from mistakes import MISTAKES
from paths import REPOSITORY
from scratch import written
from skillgym_action.cli import published_schemas
from skillgym_action.cli.published_schemas import definitions
from skillgym_action.cli.schema import MADE, SCHEMAS
from skillgym_action.documents.container_sections import ContainerKeyError, container_spec
from skillgym_action.documents.documents import read_document
from skillgym_action.documents.json_schemas import schema_address
from skillgym_action.formats import xbench
from skillgym_action.model.errors import ConfigError, SkillgymError
from skillgym_action.settings.configuration_file import KINDS, read_config
from skillgym_action.settings.quarantine_file import entries_of
from skillgym_action.stages.load import SuiteFileAccess
from whole_suites import FILES, FOLDER, NoHosts, at, changed, keys_of, mappings_of, misspelled

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WRITTEN_BY_HAND = ("config", "x-bench", "quarantine", "plan")
NAMES = tuple(name for name in SCHEMAS if name != "typescript")


@cache
def schema(name: str) -> dict[str, Any]:
    made = SCHEMAS[name]()
    assert isinstance(made, dict)
    return made


def fits(name: str, value: object) -> bool:
    """Whether the schema accepts a value."""
    return Draft202012Validator(schema(name), format_checker=FormatChecker()).is_valid(value)


def properties(name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for definition, part in definitions(schema(name)):
        for key, value in part.get("properties", {}).items():
            yield f"{definition}.{key}", value


# --- what they say --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_a_schema_is_valid_and_has_its_address(name):
    Draft202012Validator.check_schema(schema(name))
    assert schema(name)["$id"] == f"https://org.github.io/skillgym-action/schemas/v1/{name}.json"
    assert schema(name)["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema(name)["$id"] == schema_address(name)


@pytest.mark.parametrize("name", NAMES)
def test_every_key_is_described_in_words_that_say_more_than_its_name(name):
    short = [key for key, value in properties(name) if len(value.get("description", "").split()) < 3]
    assert short == []
    assert [key for key, value in properties(name) if words(value["description"]) <= words(key.split(".")[1])] == []


def words(text: str) -> set[str]:
    return set(re.findall(r"[a-z]+", re.sub(r"([A-Z])", r" \1", text).lower())) - {"a", "an", "the", "of", "its"}


@pytest.mark.parametrize("name", WRITTEN_BY_HAND)
def test_every_key_of_a_file_written_by_hand_has_an_example_or_a_default(name):
    assert [key for key, value in properties(name) if "default" not in value and not value.get("examples")] == []


@pytest.mark.parametrize("texts", published_schemas.TEXTS)
def test_every_text_describes_a_key_that_exists(texts):
    known = {f"{definition}.{key}" for name in NAMES for definition, key in keys_of_models(name)}
    for parts in (texts.DESCRIPTIONS, texts.EXAMPLES):
        assert {f"{definition}.{key}" for definition, keys in parts.items() for key in keys} - known == set()


def keys_of_models(name: str) -> Iterator[tuple[str, str]]:
    """The keys of a schema by the names of their classes, and by those of the classes that they are inherited from."""
    for definition, part in definitions(MADE[name]()):
        for key in part.get("properties", {}):
            for base in (definition, *published_schemas.bases_of(definition)):
                yield base, key


def test_entries_for_the_schema_store_name_published_schemas():
    entries = json.loads((REPOSITORY / ".github/schemastore.json").read_text(encoding="utf-8"))
    assert {entry["url"]: entry["fileMatch"] for entry in entries} == {
        schema_address("config"): [f"skillgym.config{ending}" for ending in KINDS if ending != ".toml"],
        schema_address("x-bench"): ["*.bench.json"],
    }
    assert [sorted(entry) for entry in entries] == [["description", "fileMatch", "name", "url"]] * 2


def test_the_page_about_editors_names_published_schemas():
    page = (REPOSITORY / "docs/how-to/editor.md").read_text(encoding="utf-8")
    named = set(re.findall(r"https://org\.github\.io/[\w./-]+json", page))
    assert named == {schema_address(name) for name in ("config", "quarantine", "x-bench")}


@pytest.mark.parametrize("name", NAMES)
def test_descriptions_are_sentences_without_markup(name):
    texts = dict(properties(name))
    assert [key for key, value in texts.items() if not value["description"].endswith(".")] == []
    assert [key for key, value in texts.items() if "`" in value["description"]] == []


@pytest.mark.parametrize("name", NAMES)
def test_examples_fit(name):
    whole = schema(name)
    for definition, part in definitions(whole):
        for key, value in part.get("properties", {}).items():
            validator = Draft202012Validator({**value, "$defs": whole.get("$defs", {})}, format_checker=FormatChecker())
            for example in value.get("examples", ()):
                assert [error.message for error in validator.iter_errors(example)] == [], (definition, key)


@pytest.mark.parametrize(
    ("definition", "key", "word"),
    [
        ("AgentSection", "type", "claude-code"),
        ("RunSection", "schedule", "isolated-by-runner"),
        ("RunSection", "failOn", "regression"),
        ("RunSection", "keep", "changed"),
        ("RunSection", "require", "any"),
        ("RunSection", "reporter", "json-summary"),
        ("RunSection", "onLimit", "errored"),
        ("ConfigFile", "store", "branch"),
        ("ConfigFile", "reuse", "unchanged"),
        ("ConfigFile", "limits", "anthropic"),
        ("JudgeSection", "votes", 15),
        ("WorkspaceSection", "network", "model-only"),
    ],
)
def test_known_values_are_listed(definition, key, word):
    parts = {"ConfigFile": schema("config"), **schema("config")["$defs"]}
    assert word in list(listed(parts[definition]["properties"][key]))


def listed(value: object) -> Iterator[object]:
    for member in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from listed(member)
    if isinstance(value, dict):
        yield from value.get("enum", ())


# --- agreement ------------------------------------------------------------------------------------------


def configuration_loads(folder: Path, text: str) -> bool:
    written(folder, {**FOLDER, "skillgym.config.yaml": text})
    try:
        config = read_config(folder / "skillgym.config.yaml", "skillgym.config.yaml")
        if workspace := config.file.run.workspace:
            container_spec(workspace, None, folder, lambda _: None)
    except (SkillgymError, ContainerKeyError):
        return False
    return True


def suite_loads(folder: Path, text: str) -> bool:
    name = "bench/core.json"
    written(folder, {**{f"bench/{path}": content for path, content in FOLDER.items()}, name: text})
    source = SuiteFileAccess(path=name, file=folder / name, hosts=NoHosts(), environment={})
    try:
        return not xbench.suite(source).invalid
    except SkillgymError:
        return False


def quarantine_loads(text: str) -> bool:
    return not entries_of(read_document(text, path="q", kind="yaml", error=ConfigError)).problems


BEYOND_SHAPE = {
    "secret of GitHub in the configuration": "a text in any place",
    "duplicate key": "parsers keep the last one",
    "doubled-below": "parsers keep the last one",
    "id twice": "ids are compared with each other",
    "invalid regular expression": "compiled",
    "calls-itself": "compiled",
    "deep-pattern": "compiled",
}
"""What loading refuses and a JSON Schema cannot: the mistakes, and what it takes to find them."""


@pytest.mark.parametrize(
    ("name", "text"),
    [
        pytest.param(mistake.name, text, id=mistake.name)
        for mistake in MISTAKES
        for path, text in mistake.files.items()
        if path == "skillgym.config.yaml" and text
    ],
)
def test_the_schema_refuses_the_mistakes_in_configurations_that_loading_refuses(tmp_path, name, text):
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError:
        assert not configuration_loads(tmp_path, text)
        return
    assert fits("config", value) == (configuration_loads(tmp_path, text) or name in BEYOND_SHAPE)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        pytest.param(mistake.name, text, id=mistake.name)
        for mistake in MISTAKES
        for path, text in mistake.files.items()
        if path.endswith(("core.json", ".bench.json")) and text
    ],
)
def test_the_schema_refuses_the_mistakes_in_suites_that_loading_refuses(tmp_path, name, text):
    agree(tmp_path, name, text)


@pytest.mark.parametrize("name", JSON)
def test_the_schema_refuses_the_broken_suites_that_loading_refuses(tmp_path, name):
    agree(tmp_path, name, JSON[name])


def agree(folder: Path, name: str, text: str) -> None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = ...
    loads = suite_loads(folder, text)
    assert not (loads and name in BEYOND_SHAPE)
    assert (value is not ... and fits("x-bench", value)) == (loads or name in BEYOND_SHAPE)


OTHERS = ("zzmarkzz", 7.25, True, None, ["zzmarkzz"], {"zzmarkzz": "zzmarkzz"}, -1, "")


def variants(value: Any) -> Iterator[tuple[str, Any]]:
    """A file with a key too many, misspelt, left out, or with a value of another type, at each place."""
    for path in mappings_of(value):
        for word in ("zzunknownzz", "x-zz", "$schema"):
            yield f"{path} {word}", changed(value, (*path, word), "x")
    for path in keys_of(value):
        for other in OTHERS:
            yield f"{path} = {other!r}", changed(value, path, other)
        copied = json.loads(json.dumps(value))
        del at(copied, path[:-1])[path[-1]]
        yield f"{path} left out", copied
        if len(path[-1]) > 2:
            copied = json.loads(json.dumps(value))
            mapping = at(copied, path[:-1])
            mapping[misspelled(path[-1])] = mapping.pop(path[-1])
            yield f"{path} misspelt", copied


def test_the_schema_and_loading_agree_about_every_key_of_a_configuration(tmp_path):
    value = FILES["configuration"].value
    wrong = [
        name for name, one in variants(value) if fits("config", one) != configuration_loads(tmp_path, json.dumps(one))
    ]
    assert wrong == []


def test_the_schema_and_loading_agree_about_every_key_of_a_suite(tmp_path):
    value = FILES["x-bench"].value
    wrong = [name for name, one in variants(value) if fits("x-bench", one) != suite_loads(tmp_path, json.dumps(one))]
    assert wrong == []


def test_the_schema_and_loading_agree_about_every_key_of_a_quarantine_file():
    entry = {"case": "a*", "suite": "b", "runner": "c", "reason": "r", "owner": "o", "issue": "https://a.example/1"}
    value = {"quarantine": [{**entry, "expires": "2026-12-15"}]}
    wrong = [name for name, one in variants(value) if fits("quarantine", one) != quarantine_loads(json.dumps(one))]
    assert wrong == []
