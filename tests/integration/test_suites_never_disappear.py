"""A suite that cannot be loaded, or a filter that selects nothing, never leaves a green run without a word."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from scratch import case, committed, config, git_in, repository, runner, skillgym, suite, written

if TYPE_CHECKING:
    from pathlib import Path

    from scratch import Ran

AGENTV = "tests:\n- id: a\n  input: do it\n  assertions:\n  - type: contains\n    value: done\n"
NEAR = "near.json: has cases with prompts, but its name does not match *.bench.json, so it is not run"


def reported(root: Path) -> list[dict]:
    """The results of a run, each with the path of its suite."""
    results = json.loads((root / "out/results.json").read_text())
    return [{"suite": part["path"], **one} for part in results["suites"] for one in part["results"]]


def warnings(root: Path) -> list[str]:
    return [one["message"] for one in json.loads((root / "out/results.json").read_text())["warnings"]]


# --- names decide -----------------------------------------------------------------------------------

SEEN = [
    pytest.param(
        "x.bench.json",
        '{"cases": [\n  {"id": "x", "promt": "p", "expect": ["file:o exists"]}]}',
        ("x.bench.json:2:15: cases[0].promt: unknown key 'promt'; did you mean 'prompt'?",),
        id="promt for prompt",
    ),
    pytest.param(
        "x.bench.json",
        '{"case": [{"id": "x", "prompt": "p", "expect": ["file:o exists"]}]}',
        ("x.bench.json:1:2: case: unknown key 'case'; did you mean 'cases'?",),
        id="case for cases",
    ),
    pytest.param(
        "x.bench.json",
        "case:\n- id: x\n  prompt: p\n",
        ("x.bench.json:1:1: not JSON: expecting value",),
        id="case: in YAML",
    ),
    pytest.param(
        "x_suite.py",
        "from skilgym_action import Case\nsuite = []\n",
        ("x_suite.py:1:1: ModuleNotFoundError: No module named 'skilgym_action'", "did you mean 'skillgym_action'"),
        id="a misspelt import in Python",
    ),
    pytest.param(
        "a.suite.ts",
        'import { assert } from "skilgym";\nexport default [];\n',
        ("a.suite.ts:1:24: Cannot find package 'skilgym'", "did you mean 'skillgym' instead of 'skilgym'?"),
        id="a misspelt import in TypeScript",
    ),
    pytest.param(
        "skills/pdf/evals/evals.json",
        '{"skill_name": "pdf",\n"eval": [{"id": 1, "prompt": "p", "expected_output": "o"}]}',
        ("evals.json:2:1: eval: has no evals; did you mean 'evals' instead of 'eval'?",),
        id="eval for evals",
    ),
    pytest.param(
        "suite.yaml",
        AGENTV.replace("tests", "test"),
        ("suite.yaml:1:1: test: has no tests; did you mean 'tests' instead of 'test'?",),
        id="suite.yaml of AgentV",
    ),
    pytest.param("x.bench.json", "", ("x.bench.json:1:1: not JSON",), id="an empty file"),
    pytest.param("EVAL.yaml", "name: x\n", ("EVAL.yaml:1:1: has no tests",), id="no tests"),
    pytest.param("EVAL.yaml", AGENTV.encode("utf-16"), ("not UTF-8 at byte 0",), id="another encoding"),
    pytest.param("X.BENCH.JSON", '{"cases": []}', ("X.BENCH.JSON:1:2: cases: must not be empty",), id="no cases"),
]


@pytest.mark.parametrize(("name", "content", "says"), SEEN)
def test_seen_8_a_suite_that_cannot_be_loaded_is_an_errored_entry(tmp_path, name, content, says):
    root = repository(tmp_path, {name: content})
    ran = skillgym("run", "--output", "out", cwd=root)
    assert ran.code == 2, ran.err
    entries = [one for one in reported(root) if one["suite"] == name]
    assert entries
    assert {(one["status"], one["failureClass"]["id"]) for one in entries} == {("errored", "suite-invalid")}
    assert [one["status"] for one in reported(root) if one["suite"] != name] == ["passed"]
    checked = skillgym("check", cwd=root)
    assert checked.code == 2
    assert [text for text in says if text not in checked.err] == []
    assert checked.out.startswith("bench/core.json: x-bench, 1 case\n") or f"{name}: " in checked.out


def test_seen_8_a_suite_yaml_of_agentv_is_run(tmp_path):
    files = {"suite.yaml": AGENTV, "skillgym.config.yaml": config(runner("echo done > out.txt; echo done"))}
    root = repository(tmp_path, files)
    ran = skillgym("run", "--output", "out", cwd=root)
    assert ran.code == 0, ran.err
    assert [(one["suite"], one["status"]) for one in reported(root)] == [
        ("bench/core.json", "passed"),
        ("suite.yaml", "passed"),
    ]


# --- near misses ------------------------------------------------------------------------------------


def test_a_near_miss_is_a_warning_in_every_report_and_makes_nothing_red(tmp_path):
    root = repository(tmp_path, {"near.json": suite()})
    ran = skillgym("run", "--output", "out", cwd=root)
    assert ran.code == 0, ran.err
    assert NEAR in ran.err
    assert [one["status"] for one in reported(root)] == ["passed"]
    (warning,) = warnings(root)
    assert warning.startswith(NEAR.partition(": ")[2])
    assert skillgym("run", "--output", "red", "--fail-on", "warnings", cwd=root).code == 1
    listed = skillgym("list", "--json", cwd=root)
    assert ([row["suite"] for row in json.loads(listed.out)["executions"]], listed.code) == (["bench/core.json"], 0)
    assert f"warning: {NEAR}" in listed.err


def test_evals_in_a_form_that_is_not_read_are_a_warning(tmp_path):
    root = repository(tmp_path, {"evals/evals.json": '{"skill_name": "pdf", "prompts": ["p"]}'})
    ran = skillgym("run", "--output", "out", cwd=root)
    assert ran.code == 0
    assert "evals/evals.json: has the name of evals of a skill, but no list of cases with prompts" in ran.err


MISUNDERSTOOD = [
    pytest.param(
        {"bench/core.json": suite(case("one", ("test:grep -q done out.txt fails",)))},
        r"bench/core\.json:1:\d+: cases\[0\]\.expect\[0\]: ",
        "`fails` is an argument of the command here; to require that the command fails, "
        'write {"test": "grep -q done out.txt", "fails": true}',
        id="a command that has to fail",
    ),
    pytest.param(
        {"more.bench.yaml": "cases: []\n"},
        r"more\.bench\.yaml: ",
        "is not run: x-bench suites are JSON files named *.bench.json; "
        "write it as JSON and name it *.bench.json, or exclude it with !PATH",
        id="a suite in YAML",
    ),
    pytest.param(
        {
            "skills/pdf/SKILL.md": "---\nname: pdf\ndescription: d\n---\n",
            "skills/pdf/evals/evals.json": json.dumps(
                {"evals": [{"prompt": "p", "checks": [{"type": "file_contain", "path": "a", "value": "b"}]}]}
            ),
            "skillgym.config.yaml": config(runner(), run={"judge": {"api": "openai", "model": "m"}}),
        },
        r"skills/pdf/evals/evals\.json:1:\d+: evals\[0\]\.checks\[0\]\.type: ",
        "unknown type 'file_contain', so this is a question to the judge; did you mean 'file_contains'?",
        id="a misspelt type of an assertion",
    ),
]


@pytest.mark.parametrize(("files", "place", "says"), MISUNDERSTOOD)
def test_what_is_probably_meant_otherwise_is_a_warning_of_check_and_of_the_run(tmp_path, files, place, says):
    root = repository(tmp_path, files)
    for command in (("check",), ("run", "--output", "out")):
        told = skillgym(*command, cwd=root).err
        assert re.search(f"^warning:? {place}{re.escape(says)}$", told, re.MULTILINE), (command, told)


# --- check ------------------------------------------------------------------------------------------


def test_check_lists_what_is_found_and_what_is_skipped_and_why(tmp_path):
    files = {
        "bench/core.json": suite(case("a"), case("b", promt="x")),
        "bench/package.json": '{"name": "x"}',
        "near.json": suite(),
        "suite.yaml": "services: {}\n",
        "x.bench.json": "{",
    }
    checked = skillgym("check", cwd=repository(tmp_path, files))
    assert checked.out.splitlines() == [
        "bench/core.json: x-bench, 1 case, and 1 that cannot be used",
        "x.bench.json: x-bench, cannot be loaded",
        "skipped: bench/package.json: is not an x-bench suite: it has no cases with prompts",
        f"skipped: {NEAR}",
        "skipped: suite.yaml: has no tests with an input, criteria or assertions, as suites of AgentV have",
    ]
    assert checked.code == 2


def test_check_does_not_list_hundreds_of_skipped_files(tmp_path):
    files = {f"bench/{number:03}.json": "{}" for number in range(60)}
    checked = skillgym("check", cwd=repository(tmp_path, files))
    assert checked.code == 0
    lines = checked.out.splitlines()
    assert lines[-2:] == ["skipped: 10 more files like that", "OK: 1 suite, 1 case, 1 runner"]
    assert len(lines) == 53


# --- filters ----------------------------------------------------------------------------------------

TWO = {"bench/core.json": suite(case("a", tags=["smoke"]), case("no-such"))}


def test_seen_8_an_id_that_selects_nothing_beside_one_that_does_is_a_warning(tmp_path):
    root = repository(tmp_path, TWO)
    ran = skillgym("run", "--output", "out", "--case", "a", "--case", "nosuch", cwd=root)
    says = "unknown case 'nosuch'; did you mean 'no-such'?"
    assert ran.code == 0, ran.err
    assert says in ran.err
    assert [one["caseId"] for one in reported(root)] == ["a"]
    assert warnings(root) == [says]
    for command in (("list", "--json"), ("check",), ("run", "--dry-run")):
        told = skillgym(*command, "--case", "a", "--case", "nosuch", cwd=root)
        assert (told.code, f"warning: {says}" in told.err) == (0, True), command


@pytest.mark.parametrize("command", [("run", "--output", "out"), ("run", "--dry-run"), ("list", "--json"), ("check",)])
@pytest.mark.parametrize(
    ("filters", "says"),
    [
        (("--case", "nosuch"), "unknown case 'nosuch'; did you mean 'no-such'?"),
        (("--tag", "smok"), "unknown tag 'smok'; did you mean 'smoke'?"),
        (
            ("--case", "no-such", "--tag", "smoke"),
            "the combination of --case no-such --tag smoke matches none of the 2 cases",
        ),
    ],
    ids=["an id", "a tag", "both"],
)
def test_a_filter_that_leaves_nothing_is_an_error_that_names_it(tmp_path, command, filters, says):
    ran = skillgym(*command, *filters, cwd=repository(tmp_path, TWO))
    assert ran.code == 2
    assert said(ran, command) == says
    if "--output" in command:
        assert reported(tmp_path) == []
        assert says in (tmp_path / "out/summary.md").read_text()


def said(ran: Ran, command: tuple[str, ...]) -> str:
    """The message of a command that finds nothing to run; a run has it in its verdict."""
    if "--output" in command:
        found = re.search(r"^! Not tested: (.*)$", ran.err, re.MULTILINE)
        return found[1] if found else ran.err
    return ran.err.removeprefix("error: ").removesuffix("\n")


@pytest.mark.parametrize("command", [("run", "--output", "out"), ("run", "--dry-run"), ("list", "--json"), ("check",)])
@pytest.mark.parametrize("filters", [(), ("--case", "nosuch")], ids=["no filter", "a filter"])
def test_without_a_suite_no_command_blames_a_filter(tmp_path, command, filters):
    ran = skillgym(*command, *filters, cwd=repository(tmp_path, {"bench/core.json": None}))
    assert ran.code == 2
    assert said(ran, command) == "no suite was found; name a suite file or its folder, or run `skillgym-action init`"


def test_a_pattern_that_finds_no_suite_is_a_warning(tmp_path):
    ran = skillgym("run", "--output", "out", "bench", "e2e/*.json", cwd=repository(tmp_path))
    assert ran.code == 0, ran.err
    assert "e2e/*.json: no suite was found there" in ran.err


def test_a_suite_of_the_base_alone_and_a_near_miss_of_the_base(tmp_path):
    base = repository(tmp_path / "base", {"extra.bench.json": suite(case("extra")), "near.json": suite()})
    head = repository(tmp_path / "head", {"bench/core.json": suite(case("head"))})
    for root in (base, head):
        git_in(root, "init", "--quiet")
        committed(root)
    written(head, {"own-near.json": suite()})
    ran = skillgym("run", "--output", "out", "--suites-from", "../base", cwd=head)
    assert ran.code == 0, ran.err
    assert [(one["suite"], one["caseId"]) for one in reported(head)] == [
        ("bench/core.json", "one"),
        ("extra.bench.json", "extra"),
    ]
    assert NEAR in ran.err
    assert "own-near.json" not in ran.err


# --- expectations that measure nothing --------------------------------------------------------------

ABSENT = ("file:out.txt exists", "no-file:legacy/old.ts")


def test_a_file_to_be_absent_that_never_was_is_marked_as_vacuous(tmp_path):
    files = {"bench/core.json": suite(case("a", ABSENT), case("b", ABSENT, prompt="Never make legacy/old.ts"))}
    root = repository(tmp_path, files)
    says = "a: no-file:legacy/old.ts is vacuous: it was not there before the agent starts"
    ran = skillgym("run", "--output", "out", "--repeat", "2", cwd=root)
    assert ran.code == 0, ran.err
    assert [[outcome.get("vacuous", False) for outcome in one["outcomes"]] for one in reported(root)] == [
        [False, True],
        [False, False],
    ]
    (warning,) = warnings(root)
    assert warning.startswith(says)
    checked = skillgym("check", cwd=root)
    assert checked.code == 0
    assert [line for line in checked.err.splitlines() if "vacuous" in line] == [
        line for line in checked.err.splitlines() if f"warning: bench/core.json:1:28: {says}" in line
    ]
    assert f"bench/core.json:1:28: {says}" in checked.err


def test_a_file_that_the_workspace_has_is_not_vacuous_in_check(tmp_path):
    template = {"workspace": {"templateDir": "../app"}}
    files = {
        "bench/core.json": suite(case("a", ABSENT)),
        "bench/template.json": suite(case("b", ABSENT), **template),
        "bench/made.json": suite(case("c", ABSENT), workspace={"bootstrap": "mkdir legacy; touch legacy/old.ts"}),
        "legacy/old.ts": "",
        "app/legacy/old.ts": "",
    }
    root = repository(tmp_path, files)
    checked = skillgym("check", cwd=root)
    assert (checked.code, checked.err) == (0, "")
    (root / "app/legacy/old.ts").unlink()
    assert "warning: bench/template.json:1:28: b: no-file:legacy/old.ts is vacuous" in skillgym("check", cwd=root).err


# --- names ------------------------------------------------------------------------------------------

PROGRAM = "from skillgym_action import Case\nsuite = [Case(id='one', prompt='p', check=print)]\n"


def test_suites_that_are_called_like_files_of_the_run_directory_harm_nobody(tmp_path):
    first = skillgym("run", "--output", "out", cwd=repository(tmp_path / "first", {"core_suite.py": PROGRAM}))
    assert first.code == 0, first.err
    own = sorted(path.name for path in (tmp_path / "first/out").iterdir() if not (path / "one").is_dir())
    assert {"journal.jsonl", "results.json", "core_suite-1.log"} <= set(own)
    names = [*own, "workspaces", "store", *(name.upper() for name in own)]
    files = {f"bench/{number}.json": suite(case("one"), name=name) for number, name in enumerate(names)}
    root = repository(tmp_path / "second", files | {"bench/core.json": None, "core_suite.py": PROGRAM})
    for again in ((), ("--resume", "out")):
        ran = skillgym("run", *(again or ("--output", "out")), "--keep", "all", cwd=root)
        assert ran.code == 0, ran.err
        results = reported(root)
        assert [one["status"] for one in results] == ["passed"] * (len(names) + 1)
        folders = [one["artifactDir"] for one in results]
        assert len({folder.casefold() for folder in folders}) == len(results)
        assert [folder for folder in folders if not (root / "out" / folder / "report.json").is_file()] == []
    assert {path.name for path in (root / "out").iterdir() if path.is_file()} == set(own)
    assert skillgym("report", "out", "--output", "merged", cwd=root).code == 0
