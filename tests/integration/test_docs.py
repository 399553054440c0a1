"""The documentation tells what is there: names of the code are in it, names in it exist, its examples run."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from docs_tables import COMMANDS, EXPECTATION, TABLES, renewed
from documentation import FILE, TABLE, documents, files_in
from key_tables import keys_of
from paths import REPOSITORY
from result_tables import HEADINGS, rows_of
from scratch import skillgym, written
from skillgym_action.agents import AGENTS
from skillgym_action.agents.command import EVENTS, PLACEHOLDER
from skillgym_action.cli.arguments import cli
from skillgym_action.cli.commands.schema import MADE, SCHEMAS
from skillgym_action.cli.schemas.published import inherited_keys
from skillgym_action.model.exit_codes import EXIT_CODES, ExitCode
from skillgym_action.model.verdicts import GREEN, JUDGED, Status
from skillgym_action.reports import REPORTERS
from skillgym_action.settings.declarations import RESUME
from skillgym_action.settings.option_types import FAIL_ON
from skillgym_action.settings.settings import other_names, settings_for
from skillgym_action.suites import FORMATS
from skillgym_action.suites.programs.runtime.expectations import Expect
from skillgym_action.suites.programs.runtime.suite import SETTINGS, Context
from skillgym_action.suites.skill_evals import keys as eval_keys
from skillgym_action.suites.skill_evals.assertions import TYPES as DECIDED_TYPES
from skillgym_action.suites.xbench.expectations import KIND_BY_PREFIX
from table_rows import each_row, each_row_holds

if TYPE_CHECKING:
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


DOCUMENTS = [(shown(path), path) for path in documents()]
each_document = each_row(DOCUMENTS)


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


@each_document
def test_tables_that_are_made_of_the_code_are_up_to_date(document):
    text = document.read_text(encoding="utf-8")
    assert text == renewed(text), "run: make docs"


def test_every_table_has_its_place():
    placed = Counter(name for path in documents() for _, name, _, _ in TABLE.findall(path.read_text(encoding="utf-8")))
    assert placed == Counter(list(TABLES))


def test_make_docs_writes_all_that_is_generated_and_contributors_know_it():
    makefile, guide = text_of("Makefile"), text_of("CONTRIBUTING.md")
    planned = subprocess.run(["make", "-n", "docs"], cwd=REPOSITORY, check=True, capture_output=True, text=True).stdout
    scripts = re.findall(r"python (\S+)", planned)[-4:]
    assert scripts == [
        f"tools/{name}.py" for name in ("composite_action", "typescript_keys", "docs_tables", "mistakes")
    ]
    targets = set(re.findall(r"^([a-z-]+):.*## ", makefile, re.MULTILINE)) - {"help"}
    assert targets <= set(re.findall(r"`make ([a-z-]+)", guide))


def test_the_reference_has_the_inputs_and_outputs_of_the_action():
    action = yaml.safe_load(text_of("action.yml"))
    for section in ("inputs", "outputs"):
        table = reference("action").split(f"<!-- table: {section} -->")[1].split("<!-- end of table -->")[0]
        described = {name: entry["description"].replace("`", "") for name, entry in action[section].items()}
        assert {name: meaning.replace("`", "") for name, meaning in rows(table)[1:]} == described


def test_every_command_is_in_the_reference_once():
    assert {name.split()[0] for name in COMMANDS} == {name for name, one in cli.commands.items() if not one.hidden}
    table = reference("command-line").split("| Command | What it does |")[1].split("\n\n")[0]
    assert sorted(re.findall(r"^\| `([a-z]+(?: [a-z]+)*)", table, re.MULTILINE)) == sorted(COMMANDS)


def test_the_options_that_help_shows_are_documented_and_no_others():
    helped: set[str] = set()
    for command in COMMANDS:
        helped.update(HELPED.findall(shown_help(*command.split())))
    documented = {row[0].split()[0].rstrip("`,") for row in rows(reference("command-line")) if row[0].startswith("--")}
    assert documented == helped - {"--help"}


def test_the_reference_names_the_options_that_a_resumed_run_compares():
    sentence = reference("command-line").split("The current options apply. If ")[1].split("the commit or")[0]
    assert set(re.findall(r"`--([a-z-]+)`", sentence)) == {name.replace("_", "-") for name in settings_for(RESUME)}


def test_every_option_of_a_job_is_an_input_or_says_why_not():
    renamed = {f"--{name.replace('_', '-')}" for name in other_names()} | {"--suites"}
    inputs = {f"--{name}" for name in yaml.safe_load(text_of("action.yml"))["inputs"]}
    helped = {option for command in ("run", "report") for option in HELPED.findall(shown_help(command))}
    section = reference("command-line").split("### Options and the action's inputs")[1].split("\n## ")[0]
    excepted = {row[0]: row[1] for row in rows(section) if row[0].startswith("--")}
    assert set(excepted) == helped - inputs - renamed - {"--help"}
    assert all(excepted.values())


# --- keys of files ----------------------------------------------------------------------------------


def shown_keys(name: str) -> set[str]:
    """The key paths in the tables of a document whose names begin with ``name``."""
    expectations = f"{name}-expectations"
    tables = {found[2]: found[3] for found in TABLE.finditer(reference("configuration") + reference("x-bench"))}
    shown = {row[0] for table, text in tables.items() if table.startswith(name) for row in rows(text)[1:]}
    inner = {row[0] for row in rows(tables.get(expectations, ""))[1:]}
    return (shown - inner) | {f"{EXPECTATION}.{key}" for key in inner}


def key_paths(value: Any, definitions: dict[str, Any], path: str = "") -> set[str]:
    """The paths of all keys in what fits a JSON Schema: those of mappings, and those in them."""
    found = set()
    if "$ref" in value:
        found |= key_paths(definitions[value["$ref"].removeprefix("#/$defs/")], definitions, path)
    for part in (*value.get("anyOf", ()), *value.get("oneOf", ())):
        if not part.keys() <= {"required", "properties"}:  # otherwise a condition, which has no keys of its own
            found |= key_paths(part, definitions, path)
    for name, part in value.get("properties", {}).items():
        place = f"{path}.{name}" if path else name
        found |= {place} | key_paths(part, definitions, place)
    for name, step in (("items", "[]"), ("additionalProperties", ".<id>")):
        if isinstance(part := value.get(name), dict):
            found |= key_paths(part, definitions, path + step)
    return found


@pytest.mark.parametrize("schema", ["config", "x-bench"])
def test_every_key_is_in_a_table_and_no_other(schema):
    made = MADE[schema]()
    known = key_paths(made, made["$defs"]) - {"$schema"}  # type: ignore[arg-type]
    sections = {key for key in known if any(other.startswith((f"{key}.", f"{key}[")) for other in known)}
    headings = {key for key in sections if "." not in key} if schema == "config" else set()
    assert len(known) > 40
    assert shown_keys(schema) == known - headings


def test_every_field_of_a_results_file_is_described_once():
    fields = {(key.definition, key.name) for key in keys_of("results")}
    inherited = {(name, key) for name, _ in fields for key in inherited_keys(name)}
    described = Counter((row.key.definition, row.key.name) for table in HEADINGS for row in rows_of(table))
    assert described == Counter(fields - inherited)


# --- words ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("document", "column", "green"),
    [("README.md", "Fails the job?", ("no", "yes")), ("docs/reference/results.md", "Green?", ("yes", "no"))],
)
def test_every_status_is_documented_with_what_follows(document, column, green):
    table = text_of(document).split(f"| Status | {column} |")[1].split("\n\n")[0]
    told = {row[0]: row[1].partition(",")[0] for row in rows(table) if row[0] in set(Status)}
    follows = {status: green[status not in GREEN] for status in Status} | {Status.SKIPPED: "–"}  # noqa: RUF001
    assert told == follows


def test_what_counts_as_judged_is_documented():
    table = reference("results").split("| Status | Green? | Judged? |")[1].split("\n\n")[0]
    assert {row[0] for row in rows(table) if row[2] == "yes"} == JUDGED


def test_every_exit_code_has_a_meaning():
    assert set(EXIT_CODES) == set(ExitCode)


@each_row(
    [
        ("words of --fail-on", ("command-line", {*FAIL_ON, "none"})),
        ("formats", ("command-line", FORMATS)),
        ("schemas", ("command-line", SCHEMAS)),
        ("kinds of expectations", ("x-bench", KIND_BY_PREFIX)),
        ("agents", ("agents", AGENTS)),
        ("keys of agents", ("agents", {key for agent in AGENTS.values() for key in agent.keys})),
        ("events of a command", ("agents", EVENTS)),
        ("placeholders of a command", ("agents", re.findall(r"\w+", PLACEHOLDER.pattern))),
        ("settings of a case", ("python-suites", SETTINGS)),
        ("the context", ("python-suites", {name for name in vars(Context) if name[0] != "_"})),
        ("expect", ("python-suites", {name for name in vars(Expect) if name[0] != "_"})),
        ("reports", ("results", REPORTERS)),
        ("keys of a case of a skill's evals", ("skill-evals", eval_keys.CASE_KEYS)),
        ("keys of a skill's evals", ("skill-evals", {*eval_keys.CASE_LISTS, *eval_keys.THRESHOLD})),
        ("keys of a question", ("skill-evals", {*eval_keys.QUESTION_TEXT, *eval_keys.QUESTION_LABEL})),
        ("what needs no judge", ("skill-evals", DECIDED_TYPES)),
    ],
)
def test_every_word_of_a_kind_is_documented(row):
    document, known = row
    assert set(known) - words(reference(document)) == set()


def test_the_verified_versions_are_documented():
    told = {row[0]: row[2] for row in rows(reference("agents").split("\n## ")[0]) if row[0] in AGENTS}
    assert told == {name: agent.version or "–" for name, agent in AGENTS.items()}  # noqa: RUF001


def test_versions_of_agents_are_those_that_were_verified():
    named = {f"{name}@{agent.version}" for one, agent in AGENTS.items() for name in (one, agent.package) if name}
    names = "|".join(re.escape(entry.rpartition("@")[0]) for entry in named)
    version = re.compile(rf"(?:{names})@\d[\w.]*\w")
    found = [(name, one) for name, path in DOCUMENTS for one in version.findall(path.read_text(encoding="utf-8"))]
    assert len({name for name, _ in found}) >= 3
    assert [(name, one) for name, one in found if one not in named] == []


def test_the_architecture_names_every_package_and_no_other():
    package = REPOSITORY / "src" / "skillgym_action"
    packages = {f"{path.parent.name}/" for path in package.glob("*/__init__.py")}
    packages |= {path.stem for path in package.glob("*.py")} - {"__init__"}
    section = text_of("docs/architecture.md").split("\n## Packages\n")[1].split("\n## ")[0]
    named = {word for row in re.findall(r"^\| (`.*?) \|", section, re.MULTILINE) for word in re.findall("`(.*?)`", row)}
    assert named == packages


# --- links ------------------------------------------------------------------------------------------


def anchors(text: str) -> set[str]:
    """The anchors that GitHub gives to headings."""
    titles = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


@each_document
def test_links_inside_the_repository_lead_somewhere(document):
    for link in LINK.findall(document.read_text(encoding="utf-8")):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = (document.parent / path).resolve() if path else document
        assert target.exists(), link
        assert not anchor or anchor in anchors(target.read_text(encoding="utf-8")), link


# --- examples ---------------------------------------------------------------------------------------


def test_suites_and_configurations_of_a_document_are_sound(tmp_path):
    def is_sound(document: Path) -> None:
        folder = written(tmp_path / shown(document), files_in(document.read_text(encoding="utf-8")))
        ran = skillgym("check", cwd=folder, **dict.fromkeys(NAMED_VARIABLES, "1"))
        if any(list(folder.rglob(name)) for name in ("bench/*", "evals.json", "plugin.json", "task.toml")):
            assert (ran.code, ran.err) == (0, "")
        else:
            message = "no suite was found; name a suite file or its folder, or run `skillgym-action init`"
            assert ran.err == f"error: {message}\n"

    with_files = [(name, path) for name, path in DOCUMENTS if FILE.search(path.read_text(encoding="utf-8"))]
    each_row_holds(with_files, is_sound)


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
    failure = red.err[red.err.index("✗ 1 result: ") :].splitlines()[:4]
    assert failure[-1].endswith("- [API] The option --json")
    assert "\n".join(failure).removeprefix("✗ ") in tutorial

    written(tmp_path, files_in(after))
    green = skillgym("run", "--config", "stand-in.yaml", cwd=tmp_path)
    assert green.code == 0
    assert green.err[green.err.index("All 2 results pass") :].split("\n")[0] in tutorial


def test_the_tutorials_check_prints_what_it_says(tmp_path):
    tutorial = text_of("docs/tutorial.md")
    files = files_in(tutorial)
    del files["skillgym.config.yaml"]
    ran = skillgym("check", cwd=written(tmp_path, files))
    assert ran.out in tutorial
    assert json.loads(files["bench/changelog.json"])["name"] == "changelog"
