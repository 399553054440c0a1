"""An option, an input and a key of the configuration that set the same have the same name, or are in a table."""

from __future__ import annotations

import json
import re
from typing import Any

import yaml

from paths import REPOSITORY
from scratch import case, config, repository, runner, skillgym, suite
from skillgym_action.cli.action.inputs import known_inputs
from skillgym_action.cli.commands.schema import SCHEMAS
from skillgym_action.model.json_codec import camel_case
from skillgym_action.settings.settings import Settings, declared, inputs_of_settings, other_names
from table_rows import each_row_holds

REFERENCE = (REPOSITORY / "docs/reference/command-line.md").read_text(encoding="utf-8")
TABLE = REFERENCE.partition("<!-- differing names -->\n")[2].partition("<!-- end of differing names -->")[0]
ROWS = [[re.findall(r"`([^`]+)`", cell) for cell in row.split("|")[2:5]] for row in TABLE.splitlines()[2:]]
OPTIONS, INPUTS, KEYS = ([name for row in ROWS for name in row[column]] for column in range(3))
SECTIONS = ("run", "report", "defaults", "skills", "sandbox", "engine", "snapshots")
"""The sections of the configuration whose keys set what options and inputs can set."""
ONLY_KEYS = {
    *("run.judge", "run.workspace", "skills.workspace", "skills.triggerRounds"),
    *("sandbox.agents", "sandbox.proxyImage", "engine.slots", "engine.tls", "engine.wait", "engine.lostAfter"),
    *("run.publicVariables", "snapshots.metric", "snapshots.tolerance"),
}
"""Keys of these sections without an option and an input."""


def named() -> dict[str, tuple[list[str], list[str]]]:
    """Field of ``Settings`` -> the names of its option, without dashes, and of its input."""
    found = {}
    inputs = {field: name for name, field in inputs_of_settings().items()}
    for name in Settings.model_fields:
        _, option = declared(name)
        names = [name.replace("_", "-"), *option.aliases] if option else []
        found[name] = (names, [inputs[name]] if name in inputs else [])
    return found


def properties(schema: dict[str, Any], node: dict[str, Any]) -> dict[str, Any]:
    """The properties of an object, which may be one of several types, or defined elsewhere."""
    if "$ref" in node:
        return properties(schema, schema["$defs"][node["$ref"].removeprefix("#/$defs/")])
    if "properties" in node:
        return dict(node["properties"])
    return {name: one for part in node.get("anyOf", ()) for name, one in properties(schema, part).items()}


def configuration_keys() -> set[str]:
    """The keys of ``SECTIONS``, with the section."""
    made = SCHEMAS["config"]()
    assert isinstance(made, dict)
    top = properties(made, made)
    return {f"{section}.{name}" for section in SECTIONS for name in properties(made, top[section])}


def test_an_option_and_its_input_have_one_name_or_are_in_the_table():
    differing = [
        (f"--{names[0]}", inputs[0]) for names, inputs in named().values() if names and inputs and inputs != names[:1]
    ]
    assert differing
    assert [(option, name) for option, name in differing if option not in OPTIONS or name not in INPUTS] == []


def test_a_key_of_the_configuration_has_the_name_of_an_option_or_an_input_or_is_in_the_table():
    names = {camel_case(name) for name in named()}
    others = {
        key for key in configuration_keys() if key.split(".")[1] not in names or not key.startswith(("run", "report"))
    }
    assert others - set(KEYS) - ONLY_KEYS == set()
    assert others - set(KEYS) >= ONLY_KEYS


def test_the_table_names_what_there_is():
    known = {f"--{name}" for names, _ in named().values() for name in names}
    assert set(OPTIONS) - {"PATH"} <= known
    assert set(INPUTS) <= set(yaml.safe_load((REPOSITORY / "action.yml").read_text(encoding="utf-8"))["inputs"])
    assert {key for key in KEYS if "." in key} <= configuration_keys()


def test_each_row_of_the_table_has_a_difference_and_a_reason():
    assert len(ROWS) >= 15
    for row, line in zip(ROWS, TABLE.splitlines()[2:], strict=True):
        options, inputs, keys = row
        names = {camel_case(name.removeprefix("--").replace("-", "_")) for name in options}
        of_inputs = {camel_case(name.replace("-", "_")) for name in inputs}
        assert not (names == of_inputs and {f"run.{name}" for name in names} == set(keys)), line
        assert line.rstrip(" |").rpartition("|")[2].strip(), line


def test_options_accept_the_names_of_inputs_and_help_does_not_show_them():
    differing = {
        field: inputs[0] for field, (names, inputs) in named().items() if names and inputs and inputs != names[:1]
    }
    assert other_names() == differing | {"runner": "runners", "report": "reports"}
    assert set(other_names().values()) <= set(known_inputs())
    text = skillgym("run", "--help", cwd=REPOSITORY).out
    assert [name for name in other_names().values() if re.search(rf"--{name}\b", text)] == []


PYTHON = """\
from skillgym_action import Suite
suite = Suite()
@suite.case("p", prompt="x")
def p(report): pass
"""


BOTH_NAMES = {
    "cases": (["--cases", "a*"], ["--case", "a*"], ["ab sh", "ab second"]),
    "tags": (["--tags=quick"], ["--tag", "quick"], ["ab sh", "ab second"]),
    "runners": (["--runners", "sh"], ["--runner", "sh"], ["ab sh", "b sh", "p sh"]),
    "formats": (["--formats", "python"], ["--format", "python"], ["p sh", "p second"]),
}
"""Input -> its name as an option, the option, and what both select."""


def test_the_name_of_an_input_selects_what_the_option_selects(tmp_path):
    files = {
        "bench/core.json": suite(case("ab", tags=["quick"]), case("b")),
        "bench/own_suite.py": PYTHON,
        "skillgym.config.yaml": config(runner(), runner()),
    }
    folder = repository(tmp_path, files)

    def selects(names: tuple[list[str], list[str], list[str]]) -> None:
        other, own, selected = names
        ran = skillgym("list", "--json", *other, cwd=folder)
        assert ran == skillgym("list", "--json", *own, cwd=folder)
        assert [f"{one['case']} {one['runner']}" for one in json.loads(ran.out)["executions"]] == selected

    each_row_holds(BOTH_NAMES.items(), selects)


def test_the_run_directory_and_reports_have_the_names_of_inputs_too(tmp_path):
    ran = skillgym("run", "--report-dir", "out", "--reports", "junit=j.xml", cwd=repository(tmp_path))
    assert ran.code == 0
    assert (tmp_path / "out" / "results.json").is_file()
    assert (tmp_path / "j.xml").is_file()
