"""``--output NAME.json``: a file of results; the run directory is at its default."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from action_step import step
from scratch import case, config, repository, runner, skillgym, suite, written

if TYPE_CHECKING:
    from pathlib import Path

PYTHON = """\
from skillgym_action import Suite
suite = Suite()
@suite.case("p", prompt="x")
def p(report): pass
"""


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def default_directory(root: Path) -> Path:
    """The only run directory at the default place."""
    (found,) = (root / ".skillgym-results").iterdir()
    return found


@pytest.mark.parametrize("command", ["run", "bench"])
def test_several_x_bench_suites_are_a_list(tmp_path, command):
    repository(tmp_path, {"bench/more.json": suite(name="more")})
    assert skillgym(command, "--output", "out/Results.JSON", cwd=tmp_path).code == 0
    assert [(one["suite"], one["passed"]) for one in read(tmp_path / "out/Results.JSON")] == [("core", 1), ("more", 1)]
    assert (default_directory(tmp_path) / "results.json").is_file()


@pytest.mark.parametrize("files", [{"a_suite.py": PYTHON}, {"a_suite.py": PYTHON, "bench/core.json": None}])
def test_suites_of_other_formats_have_results_in_the_format_of_this_tool(tmp_path, files):
    repository(tmp_path, files)
    assert skillgym("run", "--output", "results.json", cwd=tmp_path).code == 0
    directory = default_directory(tmp_path)
    assert (tmp_path / "results.json").read_bytes() == (directory / "results.json").read_bytes()


def test_a_name_with_a_slash_at_its_end_is_a_run_directory(tmp_path):
    repository(tmp_path)
    assert skillgym("run", "--output", "results.json/", cwd=tmp_path).code == 0
    assert (tmp_path / "results.json/results.json").is_file()
    ran = skillgym("run", "--output", "results.json", cwd=tmp_path)
    assert ran.code == 2
    assert ran.err == (
        "error: --output results.json is a folder, but a name that ends in .json is a results file; "
        "name another file, or write results.json/ for a run directory\n"
    )


def test_commands_for_stored_runs_write_it_but_never_over_a_file_that_they_read(tmp_path):
    repository(tmp_path)
    assert skillgym("run", "--output", "run", cwd=tmp_path).code == 0
    before = (tmp_path / "run/results.json").read_bytes()
    for command in (("report", "run"), ("rejudge", "run"), ("compare", "run", "run")):
        ran = skillgym(*command, "--output", "run/results.json", cwd=tmp_path)
        assert ran.code == 2
        assert "another file" in ran.err
        assert (tmp_path / "run/results.json").read_bytes() == before
        assert skillgym(*command, "--output", f"{command[0]}.json", cwd=tmp_path).code == 0
        assert read(tmp_path / f"{command[0]}.json")["total"] == 1


def test_a_check_of_the_cases_writes_it_too(tmp_path):
    repository(tmp_path)
    assert skillgym("check", "--nop", "--output", "results.json", cwd=tmp_path).code == 0
    assert read(tmp_path / "results.json")["failed"] == 1
    assert not (tmp_path / ".skillgym-results").exists()


def test_agents_do_not_see_what_an_earlier_run_expected(tmp_path):
    files = {
        "bench/core.json": suite(case(expect=("no-file:results.json", "file:notes.json exists"))),
        "skillgym.config.yaml": config(runner("ls")),
        "notes.json": "{}",
    }
    repository(tmp_path, files)
    for _ in range(2):
        ran = skillgym("run", "--output", "results.json", cwd=tmp_path)
        assert ran.code == 0, ran.err


def test_a_file_of_the_commit_is_hidden_if_this_run_writes_to_it_also_through_a_link(tmp_path):
    files = {
        "bench/core.json": suite(case(expect=("no-file:results.json",))),
        "skillgym.config.yaml": config(runner("ls")),
        "results.json": "[]",
    }
    root = repository(tmp_path / "repo", files, git=True)
    (tmp_path / "link").symlink_to(root)
    ran = skillgym("run", "--output", "../link/results.json", cwd=root)
    assert ran.code == 0, ran.err
    assert read(root / "results.json")["passed"] == 1


@pytest.mark.parametrize(
    "command",
    [
        ("run", "--output", "bench/core.json"),
        ("bench", "bench/core.json", "--report", "junit=bench/core.json"),
        ("check", "--nop", "--output", "bench/../bench/core.json"),
        ("rejudge", "run", "--output", "bench/core.json"),
        ("report", "run", "--suites", "bench", "--compare-suites", "--output", "bench/core.json"),
    ],
)
def test_a_suite_is_not_replaced(tmp_path, command):
    root = repository(tmp_path / "repo", git=True)
    assert skillgym("run", "--output", "run", cwd=root).code == 0
    ran = skillgym(*command, cwd=root)
    assert (ran.code, "bench/core.json is the suite bench/core.json, which" in ran.err) == (2, True), ran.err
    assert (root / "bench/core.json").read_text() == suite()


def test_a_file_that_a_suite_names_is_not_replaced(tmp_path):
    cases = json.dumps({"id": "a", "input": "x", "criteria": "y", "assertions": [{"type": "contains", "value": "z"}]})
    files = {"bench/a.eval.yaml": "tests: ./cases.jsonl\n", "bench/cases.jsonl": cases}
    repository(tmp_path, files)
    ran = skillgym("run", "--report", "ctrf=bench/cases.jsonl", cwd=tmp_path)
    assert (ran.code, "a file of a suite, bench/cases.jsonl, which" in ran.err) == (2, True), ran.err
    assert (tmp_path / "bench/cases.jsonl").read_text() == cases


def test_last_failed_does_not_read_it(tmp_path):
    repository(tmp_path, {"skillgym.config.yaml": config(runner("exit 0"))})
    assert skillgym("run", "--output", "results.json", cwd=tmp_path).code == 1
    again = skillgym("run", "--output", "results.json", "--last-failed", cwd=tmp_path)
    assert "last-failed: 1 of 1 execution in .skillgym-results/" in again.err


def test_report_dir_of_the_action_must_be_a_folder(tmp_path):
    repository(tmp_path, git=True)
    found = step(tmp_path, None, {"report-dir": "results.json"}, event=("push", {}))
    assert found.code == 2
    assert "input report-dir: results.json is the name of a file" in found.said
    written(tmp_path, {"bench/more.json": suite(name="more")})
    assert step(tmp_path, None, {"report-dir": "out"}, event=("push", {})).code == 0
    assert (tmp_path / "out/results.json").is_file()
