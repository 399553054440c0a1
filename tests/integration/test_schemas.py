"""JSON Schemas: every key is described, addresses are right, and they refuse what loading the file refuses."""

from __future__ import annotations

import json
import re
import textwrap
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from jsonschema import Draft202012Validator, FormatChecker

from bad_suites import JSON
from mistakes import MISTAKES
from paths import REPOSITORY
from schema_variants import WHOLE, variants
from scratch import written
from skillgym_action.cli.commands.schema import MADE, SCHEMAS
from skillgym_action.cli.schemas import published as published_schemas
from skillgym_action.cli.schemas.json_documents import DOCUMENTS
from skillgym_action.cli.schemas.published import definitions
from skillgym_action.cli.schemas.schema_values import DEFAULTS, EXAMPLES, TYPES, UNITS
from skillgym_action.model.errors import ConfigError, SkillgymError
from skillgym_action.pipeline.stages.load import SuiteFileAccess
from skillgym_action.results.plan_file import read_plan
from skillgym_action.settings.configuration_file import KINDS, entries_of, read_config
from skillgym_action.settings.context import current_context
from skillgym_action.settings.engine_options import engine_options
from skillgym_action.settings.runners import selected_runners
from skillgym_action.settings.settings import Settings
from skillgym_action.suites.container_section import ContainerKeyError, container_spec
from skillgym_action.suites.xbench import suite as xbench
from skillgym_action.text.documents.documents import read_document
from skillgym_action.text.documents.json_schemas import schema_address
from table_rows import each_row, each_row_holds
from whole_suites import FOLDER, NoHosts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

WRITTEN_BY_HAND = ("config", "x-bench", "quarantine", "plan")
NAMES = tuple(name for name in SCHEMAS if name != "typescript")
each_schema = each_row([(name, name) for name in NAMES])
each_written_by_hand = each_row([(name, name) for name in WRITTEN_BY_HAND])


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


@each_schema
def test_a_schema_is_valid_and_has_its_address(name):
    Draft202012Validator.check_schema(schema(name))
    assert schema(name)["$id"] == f"https://org.github.io/skillgym-action/schemas/v1/{name}.json"
    assert schema(name)["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema(name)["$id"] == schema_address(name)


def test_every_document_that_a_command_prints_has_a_schema():
    assert set(NAMES) == {*WRITTEN_BY_HAND, "results", *DOCUMENTS}


@each_schema
def test_every_key_is_described_in_words_that_say_more_than_its_name(name):
    short = [key for key, value in properties(name) if len(value.get("description", "").split()) < 3]
    assert short == []
    assert [key for key, value in properties(name) if words(value["description"]) <= words(key.split(".")[1])] == []


def words(text: str) -> set[str]:
    return set(re.findall(r"[a-z]+", re.sub(r"([A-Z])", r" \1", text).lower())) - {"a", "an", "the", "of", "its"}


@each_written_by_hand
def test_every_key_of_a_file_written_by_hand_has_an_example_or_a_default(name):
    assert [key for key, value in properties(name) if "default" not in value and not value.get("examples")] == []


@each_row([("units", UNITS), ("types", TYPES), ("defaults", DEFAULTS), ("examples", EXAMPLES)])
def test_every_unit_type_default_and_example_is_of_a_key_that_exists(parts):
    assert names_in(parts) - known_names() == set()


def test_no_default_is_named_that_the_schema_has_or_that_cannot_apply():
    for name in WRITTEN_BY_HAND:
        for definition, part in definitions(MADE[name]()):
            own = {key for key, value in part["properties"].items() if value.get("default") not in (None, [], {})}
            simple = {key for key in own if not isinstance(part["properties"][key]["default"], dict)}
            assert DEFAULTS.get(definition, {}).keys() & (simple | {*part.get("required", ())}) == set(), definition


def test_every_unit_is_of_a_number():
    for definition, part in (found for name in WRITTEN_BY_HAND for found in definitions(MADE[name]())):
        for key in UNITS.get(definition, ()):
            kinds = {one["type"] for one in part["properties"][key].get("anyOf", [part["properties"][key]])}
            assert kinds - {"null"} <= {"number", "integer"}, f"{definition}.{key}"


def names_in(parts: Mapping[str, Iterable[str]]) -> set[str]:
    return {f"{definition}.{key}" for definition, keys in parts.items() for key in keys}


@cache
def known_names() -> set[str]:
    return {f"{definition}.{key}" for name in NAMES for definition, key in keys_of_models(name)}


def keys_of_models(name: str) -> Iterator[tuple[str, str]]:
    """The keys of a schema by the names of their classes, and by those of the classes that they are inherited from."""
    for definition, part in definitions(MADE[name]()):
        for key in part.get("properties", {}):
            for source in published_schemas.text_sources(definition):
                yield source, key


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


@each_schema
def test_descriptions_are_sentences_without_markup(name):
    texts = dict(properties(name))
    assert [key for key, value in texts.items() if not value["description"].endswith(".")] == []
    assert [key for key, value in texts.items() if "`" in value["description"] or "](" in value["description"]] == []


@each_schema
def test_examples_fit(name):
    whole = schema(name)
    for definition, part in definitions(whole):
        for key, value in part.get("properties", {}).items():
            validator = Draft202012Validator({**value, "$defs": whole.get("$defs", {})}, format_checker=FormatChecker())
            for example in value.get("examples", ()):
                assert [error.message for error in validator.iter_errors(example)] == [], (definition, key)


KNOWN_VALUES = [
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
]


@each_row([(f"{value[0]}.{value[1]}", value) for value in KNOWN_VALUES])
def test_known_values_are_listed(value):
    definition, key, word = value
    parts = {"ConfigFile": schema("config"), **schema("config")["$defs"]}
    assert word in list(listed(parts[definition]["properties"][key]))


def listed(value: object) -> Iterator[object]:
    for member in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from listed(member)
    if isinstance(value, dict):
        yield from value.get("enum", ())


# --- what is published --------------------------------------------------------------------------------

BLOCK = re.compile(r"^( *)```(yaml|json)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
PAGES = [
    REPOSITORY / "README.md",
    *(page for folder in ("docs", "examples") for page in sorted((REPOSITORY / folder).rglob("*.md"))),
]


def kind_of(value: object) -> str | None:
    """The schema of a file in the documentation, by its keys; None: it is another kind of file."""
    keys = set(value) if isinstance(value, dict) else set()
    if not keys:
        return None
    if keys & {"cases"} and keys <= schema("x-bench")["properties"].keys() | {"$schema"}:
        return "x-bench"
    return next((name for name in ("quarantine", "config") if keys <= schema(name)["properties"].keys()), None)


def plain(value: object) -> Any:
    """A value of YAML as JSON has it, with days as texts."""
    return json.loads(json.dumps(value, default=str))


def documented() -> list[tuple[str, str, object]]:
    """The files in code blocks of the documentation: their place, schema and value."""
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for block in BLOCK.finditer(text):
            try:
                value = plain(yaml.safe_load(textwrap.dedent(block[3])))
            except yaml.YAMLError:
                continue
            if kind := kind_of(value):
                line = text.count("\n", 0, block.start()) + 1
                found.append((f"{page.relative_to(REPOSITORY)}:{line}", kind, value))
    return found


def test_files_in_the_documentation_fit_their_schema():
    found = documented()
    counted = Counter(kind for _, kind, _ in found)
    assert counted["config"] >= 20
    assert counted["x-bench"] >= 3
    assert counted["quarantine"] >= 1
    assert [place for place, kind, value in found if not fits(kind, value)] == []


EXAMPLES = [
    path
    for pattern in ("skillgym.*.yaml", "*.bench.json")
    for path in sorted((REPOSITORY / "examples").rglob(pattern))
    if path.is_file()
]


@each_row([(path.relative_to(REPOSITORY).as_posix(), path) for path in EXAMPLES])
def test_examples_fit_their_schema(path):
    value = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert fits(kind_of(value) or "", value)


# --- agreement ------------------------------------------------------------------------------------------


def configuration_loads(folder: Path, text: str) -> bool:
    written(folder, {**FOLDER, "skillgym.config.yaml": text})
    try:
        config = read_config(folder / "skillgym.config.yaml", "skillgym.config.yaml")
        if workspace := config.file.run.workspace:
            isolated = workspace.mode == "isolated" and not workspace.cwd
            cpus = workspace.limits.cpus if workspace.limits else None
            container_spec(workspace, cpus, folder, lambda _: None, isolated=isolated)
        selected_runners(config, (), EveryVariable())
        (folder / "checkout").mkdir(exist_ok=True)
        engine_options(Settings(), config, current_context(folder / "checkout", {}))
    except (SkillgymError, ContainerKeyError):
        return False
    return True


class EveryVariable(dict[str, str]):
    """An environment in which each variable is set that a configuration refers to."""

    def get(self, name: str, default: object = None) -> str:  # type: ignore[override]  # noqa: ARG002
        return self[name]

    def __missing__(self, name: str) -> str:
        return "x"


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


def plan_loads(folder: Path, text: str) -> bool:
    try:
        read_plan(written(folder, {"plan.json": text}) / "plan.json", "plan.json")
    except SkillgymError:
        return False
    return True


BEYOND_SHAPE = {
    "duplicate key": "parsers keep the last one",
    "doubled-below": "parsers keep the last one",
    "duplicate id": "ids are compared with each other",
    "invalid regular expression": "compiled",
    "calls-itself": "compiled",
    "deep-pattern": "compiled",
}
"""What loading refuses and a JSON Schema cannot: the mistakes, and what it takes to find them."""
_EXISTS = "the file or folder has to exist"
BEYOND_SHAPE_KEYS = {
    **dict.fromkeys(("build", "context", "dockerfile", "files", "home"), _EXISTS),
    "costShare": "the shares of all shards are summed",
}
"""Keys whose values loading refuses though they fit the schema, and why."""
BEYOND_SHAPE_VALUES = {
    "half of a surrogate pair, which only JSON can write": {"run": {"outputDir": "\ud800"}},
    "a size in text of less than 4096 bytes": {"run": {"limits": {"memory": "1KB"}}},
    "an expression of GitHub where no variable is set": {"run": {"outputDir": "${{ github.workspace }}"}},
    "an API key in the configuration": {"run": {"outputDir": f"sk-ant-api03-{'a1B2' * 20}"}},
}
"""Values in any text that loading refuses though the configuration fits the schema."""


def texts_of_mistakes(*endings: str) -> list[tuple[str, str]]:
    """The names of mistakes, and the content of each file with such a name in them."""
    return [
        (mistake.name, text)
        for mistake in MISTAKES
        for path, text in mistake.files.items()
        if path.endswith(endings) and text
    ]


def test_the_schema_refuses_the_mistakes_in_configurations_that_loading_refuses(tmp_path):
    def agrees(mistake: tuple[str, str]) -> None:
        name, text = mistake
        try:
            value = yaml.safe_load(text)
        except yaml.YAMLError:
            assert not configuration_loads(tmp_path, text)
        else:
            assert fits("config", value) == (configuration_loads(tmp_path, text) or name in BEYOND_SHAPE)

    each_row_holds(((one[0], one) for one in texts_of_mistakes("skillgym.config.yaml")), agrees)


def test_the_schema_refuses_the_mistakes_in_suites_that_loading_refuses(tmp_path):
    mistakes = texts_of_mistakes("core.json", ".bench.json")
    each_row_holds(((one[0], one) for one in mistakes), lambda one: agree(tmp_path, *one))


def test_the_schema_refuses_the_broken_suites_that_loading_refuses(tmp_path):
    each_row_holds(((name, name) for name in JSON), lambda name: agree(tmp_path, name, JSON[name]))


def agree(folder: Path, name: str, text: str) -> None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = ...
    loads = suite_loads(folder, text)
    assert not (loads and name in BEYOND_SHAPE)
    assert (value is not ... and fits("x-bench", value)) == (loads or name in BEYOND_SHAPE)


def loads(name: str, folder: Path, value: object) -> bool:
    """Whether the tool loads a file with this value."""
    text = json.dumps(value)
    if name == "config":
        return configuration_loads(folder, text)
    if name == "plan":
        return plan_loads(folder, text)
    return suite_loads(folder, text) if name == "x-bench" else quarantine_loads(text)


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in WHOLE.items() for value in values])
def test_the_schema_and_loading_agree_about_every_key(tmp_path, name, value):
    assert fits(name, value)
    assert loads(name, tmp_path, value)
    found = []
    for path, what, one in variants(value):
        fitting, loading = fits(name, one), loads(name, tmp_path, one)
        if fitting != loading and not (fitting and path[-1] in BEYOND_SHAPE_KEYS):
            found.append((path, what, fitting))
    assert found == []


def agent(**keys: object) -> dict[str, object]:
    return {"runners": {"r": {"agent": keys}}}


def engine(**keys: object) -> dict[str, object]:
    return {"engine": {"type": "dask", **keys}}


TLS = {"ca": "ca.pem", "cert": "cert.pem", "key": "key.pem"}
TOGETHER = [
    *(agent(type="command", **keys) for keys in ({}, {"command": ""}, {"command": []}, {"command": None})),
    *(agent(type="replay", **keys) for keys in ({}, {"sessions": ""}, {"sessions": None})),
    agent(type="nop", version="1.2.3"),
    agent(type="command", command="x", version="1.2.3"),
    agent(type="codex", command="x", version="1.2.3"),
    *(engine(**keys) for keys in ({}, {"address": None}, {"address": ""}, {"address": "h:1"}, {"tls": TLS})),
    *(
        engine(address=address, tls=TLS)
        for address in ("http://h:1", "dask://h:65536", "dask://h:0", "dask://h", "tls://h:1/x", "tls://u@h:1")
    ),
    *(engine(address=address) for address in ("tls://h:1", "dask://h:1", "tls://127.0.0.1:1")),
    engine(address="tls://h:1", tls=None),
    *(
        engine(address=f"tcp://{host}:1")
        for host in ("1.2.3.4", "h", "localhost.example", "127.0.0.1.example", "[::2]", "0.0.0.0", "127.0.0")
    ),
    engine(address="tcp://localhost:1", lostAfter=5, **{"lost-after": 50}),
    engine(address="tcp://localhost:1", lostRetries=5, **{"lost-retries": 5}),
    *(engine(address="tcp://localhost:1", **{key: 5}) for key in ("slots-", "-slots", "lost--retries", "lost-after-")),
    *({"run": {key: "a\0b"}} for key in ("cwd", "outputDir", "baseline")),
    {"run": {"tags": [""]}},
    {
        "run": {
            "workspace": {
                "mode": "isolated",
                "image": "a",
                "network": {"mode": "allow-list", "hosts": [f"h{number}.example" for number in range(201)]},
            }
        }
    },
]
"""Configurations that loading refuses because of several keys together, or of the form of a text."""
FITTING = [
    agent(type="command", command=[""]),
    agent(type="codex", version="1.2.3", command=""),
    agent(type="codex", version=None, command="x"),
    {"engine": {"type": "local", "address": "x"}},
    *(
        engine(address=address, tls=TLS)
        for address in ("dask://h:65535", "tls://[::1]:00080", "dask://a-b.example:8786")
    ),
    *(engine(address=f"tcp://{host}:8786") for host in ("localhost", "127.0.0.1", "127.255.0.9", "[::1]", "[0:0::1]")),
    engine(address="tcp://localhost:1", **{"lost-after": 50, "lostRetries": 0}),
]


def differing(
    name: str, folder: Path, values: Iterable[object], *, load: bool, fit: bool
) -> list[tuple[bool, bool, object]]:
    """The values that the tool does not load, or the schema not accept, as expected; before each: what they do."""
    found = [(loads(name, folder, value), fits(name, value), value) for value in values]
    return [one for one in found if one[:2] != (load, fit)]


def test_the_schema_refuses_keys_that_loading_refuses_together(tmp_path):
    assert differing("config", tmp_path, TOGETHER, load=False, fit=False) == []


def test_the_schema_accepts_keys_that_loading_accepts_together(tmp_path):
    assert differing("config", tmp_path, FITTING, load=True, fit=True) == []


def test_the_template_of_a_suite_is_relative(tmp_path):
    cases = [{"id": "a", "prompt": "p", "expect": ["diff:x"]}]
    values = [{"cases": cases, "workspace": {"templateDir": folder}} for folder in ("/", "/srv/template")]
    assert differing("x-bench", tmp_path, values, load=False, fit=False) == []


def test_loading_refuses_what_a_schema_cannot_say(tmp_path):
    assert differing("config", tmp_path, BEYOND_SHAPE_VALUES.values(), load=False, fit=True) == []


def test_a_number_in_quotes_is_refused_with_one_message(tmp_path):
    text = 'run: {maxSteps: "2", maxCost: "2.5", minPassRate: "x", allowPartial: "true"}'
    written(tmp_path, {"skillgym.config.yaml": text})
    with pytest.raises(ConfigError) as refused:
        read_config(tmp_path / "skillgym.config.yaml", "skillgym.config.yaml")
    assert [(problem.key_path, problem.message, problem.remedy) for problem in refused.value.problems] == [
        ("run.maxSteps", 'must be a whole number, not "2"', "write it without quotes"),
        ("run.maxCost", 'must be a number, not "2.5"', "write it without quotes"),
        ("run.minPassRate", 'must be a number, not "x"', None),
        ("run.allowPartial", 'must be true or false, not "true"', "write it without quotes"),
    ]


def test_keys_are_not_taken_in_the_spelling_of_python(tmp_path):
    written(tmp_path, {"skillgym.config.yaml": "run: {max_parallel: 2}"})
    with pytest.raises(ConfigError, match="unknown key 'max_parallel'; did you mean 'maxParallel'"):
        read_config(tmp_path / "skillgym.config.yaml", "skillgym.config.yaml")


def test_a_dockerfile_that_is_no_path_of_a_file_is_refused(tmp_path):
    names = ("a\0b", ".", "..", "template/..", "x" * 5_000)
    values = [{"run": {"workspace": {"mode": "isolated", "dockerfile": name}}} for name in names]
    assert [value for value in values if loads("config", tmp_path, value)] == []


@each_row([(name, name) for name in WHOLE])
def test_the_files_that_are_changed_have_every_key(name):
    whole = schema(name)
    found = set()
    for value in WHOLE[name]:
        found |= set(used(whole, whole, value))
    assert {key for key, _ in properties(name)} - found == set()


def used(whole: dict[str, Any], part: dict[str, Any], value: object, name: str = "") -> Iterator[str]:
    """The keys of the schema that a value has, by their definition."""
    if reference := part.get("$ref"):
        name = reference.removeprefix("#/$defs/")
        yield from used(whole, whole["$defs"][name], value, name)
    for alternative in (*part.get("anyOf", ()), *part.get("oneOf", ())):
        yield from used(whole, alternative, value)
    for item in value if isinstance(value, list) else ():
        yield from used(whole, part.get("items", {}), item)
    for key, member in value.items() if isinstance(value, dict) else ():
        if key in part.get("properties", {}):
            yield f"{name or whole['title']}.{key}"
            yield from used(whole, part["properties"][key], member)
        elif isinstance(part.get("additionalProperties"), dict):
            yield from used(whole, part["additionalProperties"], member)
