"""The documentation tells what is there: names of the code are in it, names in it exist, its examples run."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from docs_tables import COMMANDS, FILE, REPOSITORY, documents, files_in, renewed
from scratch import skillgym, written
from skillgym_action.agents import AGENTS
from skillgym_action.agents.command import EVENTS, PLACEHOLDER
from skillgym_action.cli.schema import SCHEMAS
from skillgym_action.formats import FORMATS
from skillgym_action.formats.xbench_expectations import KIND_BY_PREFIX, ExpectationSection
from skillgym_action.model.exit_codes import EXIT_CODES, ExitCode
from skillgym_action.model.verdicts import GREEN, JUDGED, Status
from skillgym_action.reporters import REPORTERS
from skillgym_action.settings.options import FAIL_ON
from skillgym_action.settings.other_names import NAMES_OF_INPUTS
from skillgym_action.skill_evals import keys as eval_keys
from skillgym_action.skill_evals.deterministic import TYPES as DECIDED_TYPES
from skillgym_action.suite_programs.expectations import Expect
from skillgym_action.suite_programs.suite import SETTINGS, Context

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
ROW = re.compile(r"^\| (.+) \|$", re.MULTILINE)
HELPED = re.compile(r"^ +(?:-\w, )?(--[a-z-]+)", re.MULTILINE)
NAMED_VARIABLES = ("STAND_IN_LEVEL", "TEAM_KEY", "GATEWAY_KEY", "MODEL_URL", "MODEL_KEY")  # in configurations
RED_UNTIL = "<!-- red until here -->"
# Knows the changelog's rule only if somebody wrote it down.
STAND_IN = """\
area=API
if grep -q brackets CLAUDE.md 2>/dev/null; then area=CLI; fi
case $1 in
  *dark*) echo '- [UI] Dark mode' >>CHANGELOG.md ;;
  *json*) echo "- [$area] The option --json" >>CHANGELOG.md ;;
esac
"""
STAND_IN_RUNNER = """\
runners:
  claude:
    agent: {type: command, command: [sh, ./stand-in.sh, "{prompt}"]}
"""


def shown(path: Path) -> str:
    return path.relative_to(REPOSITORY).as_posix()


def text_of(name: str) -> str:
    return (REPOSITORY / name).read_text(encoding="utf-8")


def reference(name: str) -> str:
    return text_of(f"docs/reference/{name}.md")


def rows(text: str) -> list[list[str]]:
    """The cells of all table rows, without the marks of code."""
    return [[cell.strip("`") for cell in row.replace(r"\|", "/").split(" | ")] for row in ROW.findall(text)]


def words(text: str) -> set[str]:
    """Every word that is written as code."""
    return {word for code in re.findall(r"`([^`\n]+)`", text) for word in re.findall(r"[\w-]+", code)}


def shown_help(*command: str) -> str:
    return skillgym(*command, "--help", cwd=REPOSITORY).out


WITH_FILES = [path for path in documents() if FILE.search(path.read_text(encoding="utf-8"))]


# --- promises ---------------------------------------------------------------------------------------


def test_every_promise_of_safety_names_tests_that_there_are():
    promised = text_of("docs/explanation/security.md").split("## What is guaranteed\n")[1].split("\n## ")[0]
    tests = "".join(path.read_text(encoding="utf-8") for path in (REPOSITORY / "tests").rglob("test_*.py"))
    for promise in promised.strip().split("\n\n"):
        named = re.findall(r"`(test_\w+)`", promise)
        assert named, f"no test stands behind: {promise[:60]}"
        for name in named:
            assert f"\ndef {name}(" in tests, name


def test_every_attack_by_position_names_tests_that_there_are():
    section = text_of("docs/explanation/security.md").split("## Attacks by position\n")[1].split("\n## ")[0]
    tests = "".join(path.read_text(encoding="utf-8") for path in (REPOSITORY / "tests").rglob("test_*.py"))
    attacks = [row for row in rows(section) if row[0].isdigit()]
    assert [int(row[0]) for row in attacks] == list(range(1, 37))
    for row in attacks:
        named = re.findall(r"test_\w+", row[-1])
        assert named, f"no test tries attack {row[0]}"
        assert [name for name in named if f"\ndef {name}(" not in tests] == []


# --- tables -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("document", documents(), ids=shown)
def test_tables_that_are_made_of_the_code_are_up_to_date(document):
    text = document.read_text(encoding="utf-8")
    assert text == renewed(text), "run: python tests/support/docs_tables.py"


@pytest.mark.parametrize(
    ("document", "table"),
    [
        ("docs/reference/action.md", "inputs"),
        ("docs/reference/action.md", "outputs"),
        ("docs/reference/command-line.md", "options"),
        ("docs/reference/command-line.md", "exit-codes"),
        ("docs/reference/results.md", "troubles"),
    ],
)
def test_every_table_has_its_place(document, table):
    assert text_of(document).count(f"<!-- table: {table} -->\n| ") == 1


def test_the_reference_has_the_inputs_and_outputs_of_the_action():
    action = yaml.safe_load(text_of("action.yml"))
    for section in ("inputs", "outputs"):
        table = reference("action").split(f"<!-- table: {section} -->")[1].split("<!-- end of table -->")[0]
        described = {name: entry["description"].replace("`", "") for name, entry in action[section].items()}
        assert {name: meaning.replace("`", "") for name, meaning in rows(table)[1:]} == described


def test_the_options_that_help_shows_are_documented_and_no_others():
    helped: set[str] = set()
    for command in COMMANDS:
        helped.update(HELPED.findall(shown_help(*command.split())))
    documented = {row[0].split()[0].rstrip("`,") for row in rows(reference("command-line")) if row[0].startswith("--")}
    assert documented == helped - {"--help"}


def test_every_option_of_a_job_is_an_input_or_says_why_not():
    renamed = {f"--{name.replace('_', '-')}" for name in NAMES_OF_INPUTS} | {"--suites"}
    inputs = {f"--{name}" for name in yaml.safe_load(text_of("action.yml"))["inputs"]}
    helped = {option for command in ("run", "report") for option in HELPED.findall(shown_help(command))}
    section = reference("command-line").split("### Options and the action's inputs")[1].split("\n## ")[0]
    excepted = {row[0]: row[1] for row in rows(section) if row[0].startswith("--")}
    assert set(excepted) == helped - inputs - renamed - {"--help"}
    assert all(excepted.values())


# --- keys of files ----------------------------------------------------------------------------------


def keys(name: str) -> dict[str, Any]:
    """The key paths of a JSON Schema with what it says of them; containers have a None."""
    schema: Any = SCHEMAS[name]()

    def below(node: Any, path: str) -> Iterator[tuple[str, Any]]:
        node = schema["$defs"][node["$ref"].rpartition("/")[2]] if "$ref" in node else node
        for alternative in node.get("anyOf", ()):
            yield from below(alternative, path)
        inner = node.get("additionalProperties")
        places = [(f"{path}[]", node.get("items", {})), (f"{path}.<id>", inner if isinstance(inner, dict) else {})]
        for place, part in places:
            yield from below(part, place) if "$ref" in part else ()
        for key, part in node.get("properties", {}).items():
            place = f"{path}.{key}" if path else key
            found = list(below(part, place))
            yield place, None if found else part
            yield from found

    return dict(below(schema, ""))


@pytest.mark.parametrize(
    ("document", "schema", "prefix"),
    [
        pytest.param(
            "configuration",
            "config",
            r"(?:run|defaults|report|snapshots|prices|runners|skills|arms|plugins|engine|limits|sandbox|inputs\[\])\.|store$|reuse$",
            id="configuration",
        ),
        pytest.param("x-bench", "x-bench", r"[a-zA-Z.\[\]<>]+$", id="x-bench suites"),
    ],
)
def test_every_key_of_a_file_is_documented_and_no_other(document, schema, prefix):
    section = reference(document).split("## Expectations")[0]
    documented = {row[0] for row in rows(section) if re.match(prefix, row[0])} - {"Key"}
    known = {key: part for key, part in keys(schema).items() if key != "$schema"}
    assert documented - known.keys() == set()
    assert {key for key, part in known.items() if part is not None} - documented == set()


def test_the_configurations_defaults_are_documented():
    told = {row[0]: row[2] for row in rows(reference("configuration")) if len(row) > 2}
    defaults = {key: part["default"] for key, part in keys("config").items() if part and part.get("default")}
    assert {key: told[key] for key in defaults} == {key: str(value) for key, value in defaults.items()}


def test_every_key_of_an_expectation_object_is_documented():
    spelled = {field.alias or name for name, field in ExpectationSection.model_fields.items()}
    assert spelled - words(reference("x-bench")) == set()


def test_every_field_of_a_results_file_is_documented():
    fields = {part for path in keys("results") for part in re.findall(r"\w+", path)}
    assert fields - words(reference("results").split("## results.json")[1].split("## JUnit")[0]) == set()


# --- words ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("document", ["README.md", "docs/reference/results.md"])
def test_every_status_is_documented_with_its_colour(document):
    table = text_of(document).split("| Status | Green? |")[1].split("\n\n")[0]
    told = {row[0]: row[1] for row in rows(table) if row[0] in set(Status)}
    colour = {status: "yes" if status in GREEN else "no" for status in Status} | {Status.SKIPPED: "–"}  # noqa: RUF001
    assert told == colour


def test_what_counts_as_judged_is_documented():
    table = reference("results").split("| Status | Green? | Judged? |")[1].split("\n\n")[0]
    assert {row[0] for row in rows(table) if row[2] == "yes"} == JUDGED


def test_every_exit_code_has_a_meaning():
    assert set(EXIT_CODES) == set(ExitCode)


@pytest.mark.parametrize(
    ("document", "known"),
    [
        pytest.param("command-line", {*FAIL_ON, "none"}, id="words of --fail-on"),
        pytest.param("command-line", FORMATS, id="formats"),
        pytest.param("command-line", SCHEMAS, id="schemas"),
        pytest.param("x-bench", KIND_BY_PREFIX, id="kinds of expectations"),
        pytest.param("agents", AGENTS, id="agents"),
        pytest.param("agents", {key for agent in AGENTS.values() for key in agent.keys}, id="keys of agents"),
        pytest.param("agents", EVENTS, id="events of a command"),
        pytest.param("agents", re.findall(r"\w+", PLACEHOLDER.pattern), id="placeholders of a command"),
        pytest.param("python-suites", SETTINGS, id="settings of a case"),
        pytest.param("python-suites", {name for name in vars(Context) if name[0] != "_"}, id="the context"),
        pytest.param("python-suites", {name for name in vars(Expect) if name[0] != "_"}, id="expect"),
        pytest.param("results", REPORTERS, id="reports"),
        pytest.param("skill-evals", eval_keys.CASE_KEYS, id="keys of a case of a skill's evals"),
        pytest.param("skill-evals", {*eval_keys.CASE_LISTS, *eval_keys.THRESHOLD}, id="keys of a skill's evals"),
        pytest.param("skill-evals", {*eval_keys.QUESTION_TEXT, *eval_keys.QUESTION_LABEL}, id="keys of a question"),
        pytest.param("skill-evals", DECIDED_TYPES, id="what needs no judge"),
    ],
)
def test_every_word_of_a_kind_is_documented(document, known):
    assert set(known) - words(reference(document)) == set()


def test_the_verified_versions_are_documented():
    told = {row[0]: row[2] for row in rows(reference("agents").split("\n## ")[0]) if row[0] in AGENTS}
    assert told == {name: agent.version or "–" for name, agent in AGENTS.items()}  # noqa: RUF001


@pytest.mark.parametrize("document", documents(), ids=shown)
def test_versions_of_agents_are_those_that_were_verified(document):
    named = {f"{name}@{agent.version}" for one, agent in AGENTS.items() for name in (one, agent.package) if name}
    names = "|".join(re.escape(entry.rpartition("@")[0]) for entry in named)
    found = re.findall(rf"(?:{names})@\d[\w.]*\w", document.read_text(encoding="utf-8"))
    assert set(found) <= named


def test_the_architecture_names_every_room_and_no_other():
    package = REPOSITORY / "src" / "skillgym_action"
    rooms = {f"{path.parent.name}/" for path in package.glob("*/__init__.py")}
    rooms |= {path.stem for path in package.glob("*.py")} - {"__init__"}
    section = text_of("docs/architecture.md").split("\n## The rooms\n")[1].split("\n## ")[0]
    named = {word for row in re.findall(r"^\| (`.*?) \|", section, re.MULTILINE) for word in re.findall("`(.*?)`", row)}
    assert named == rooms


# --- links ------------------------------------------------------------------------------------------


def anchors(text: str) -> set[str]:
    """The anchors that GitHub gives to headings."""
    titles = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("document", documents(), ids=shown)
def test_links_inside_the_repository_lead_somewhere(document):
    for link in LINK.findall(document.read_text(encoding="utf-8")):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = (document.parent / path).resolve() if path else document
        assert target.exists(), link
        assert not anchor or anchor in anchors(target.read_text(encoding="utf-8")), link


# --- examples ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("document", WITH_FILES, ids=shown)
def test_suites_and_configurations_of_a_document_are_sound(document, tmp_path):
    written(tmp_path, files_in(document.read_text(encoding="utf-8")))
    ran = skillgym("check", cwd=tmp_path, **dict.fromkeys(NAMED_VARIABLES, "1"))
    if any(list(tmp_path.rglob(name)) for name in ("bench/*", "evals.json", "plugin.json", "task.toml")):
        assert (ran.code, ran.err) == (0, "")
    else:
        assert ran.err == "error: no suite was found; name a suite file or its folder, or run `skillgym-action init`\n"


@pytest.mark.parametrize("document", ["README.md", "docs/tutorial.md"])
def test_workflows_of_a_document_are_what_github_takes(document, tmp_path):
    name = ".github/workflows/bench.yml"
    file = written(tmp_path, {name: files_in(text_of(document))[name]}) / name
    checker = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows"]
    finished = subprocess.run([*checker, file], capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stdout
    workflow = yaml.safe_load(file.read_text(encoding="utf-8"))
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    (ours,) = [step for step in steps if step.get("uses", "").startswith("org/skillgym-action@")]
    assert ours.get("with", {}).keys() - yaml.safe_load(text_of("action.yml"))["inputs"].keys() == set()
    assert workflow["permissions"] == {"contents": "read", "pull-requests": "write"}
    assert [step["run"] for step in steps if "run" in step] == [], "the action installs the agent"


def test_the_tutorial_turns_red_and_then_green(tmp_path):
    tutorial = text_of("docs/tutorial.md")
    before, after = tutorial.split(RED_UNTIL)
    written(tmp_path, files_in(before) | {"stand-in.sh": STAND_IN, "stand-in.yaml": STAND_IN_RUNNER})

    told = skillgym("run", "--dry-run", cwd=tmp_path)
    assert (told.code, told.err) == (0, "")
    assert told.out in tutorial

    red = skillgym("run", "--config", "stand-in.yaml", cwd=tmp_path)
    assert red.code == 1
    failure = red.err[red.err.index("✗ names-the-area [claude] failed:") :].splitlines()[:5]
    assert failure[-1].endswith("- [API] The option --json")
    assert "\n".join(failure).removeprefix("✗ ") in tutorial

    written(tmp_path, files_in(after))
    green = skillgym("run", "--config", "stand-in.yaml", cwd=tmp_path)
    assert green.code == 0
    assert green.err[green.err.index("passed: 2 passed") :].split(",")[0] in tutorial


def test_the_tutorials_check_prints_what_it_says(tmp_path):
    tutorial = text_of("docs/tutorial.md")
    files = files_in(tutorial)
    del files["skillgym.config.yaml"]
    ran = skillgym("check", cwd=written(tmp_path, files))
    assert ran.out in tutorial
    assert json.loads(files["bench/changelog.json"])["name"] == "changelog"
