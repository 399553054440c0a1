"""Runs that take stored results in place of running what has not changed."""

from __future__ import annotations

import json
import shutil
from copy import copy
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest

from ages import a_minute_old
from scratch import case, committed, config, git_in, repository, runner, skillgym, suite, written

if TYPE_CHECKING:
    from pathlib import Path

AGENT = 'echo session >> {log}; if grep -q "write" input.txt; then echo done > out.txt; fi'
TEMPLATE = {"templateDir": "template"}


class Reusing:
    """A repository with suites that have a template each, a store beside it, and runs in it."""

    def __init__(self, folder: Path) -> None:
        self.root, self.store, self.log = folder / "repo", folder / "store", folder / "sessions"
        self.number, self.before = 0, 0
        self.root.mkdir()
        files: dict[str, str | bytes] = {
            "skillgym.config.yaml": config(runner(AGENT.format(log=self.log))),
            ".gitignore": ".skillgym-results\n",
        }
        for name in "abc":
            files[f"{name}/template/input.txt"] = "write"
            files[f"{name}/core.bench.json"] = suite(case(f"{name}1"), case(f"{name}2"), workspace=TEMPLATE)
        repository(self.root, files | {"bench/core.json": None}, git=True)  # type: ignore[dict-item]

    def commit(self, files: dict[str, str | bytes]) -> str:
        written(self.root, files)
        committed(self.root)
        return git_in(self.root, "rev-parse", "HEAD").strip()

    def run(self, *args: str, **env: str) -> tuple[int, dict[str, Any], str]:
        """The exit code, the results file, and what the terminal shows."""
        self.number += 1
        output = f".skillgym-results/{self.number}"
        store = ("--store", f"path={self.store}")
        ran = skillgym("run", ".", *store, "--output", output, *args, cwd=self.root, **env)
        file = self.root / output / "results.json"
        return (
            ran.code,
            json.loads(file.read_text(encoding="utf-8")) if file.exists() else {},
            a_minute_old(ran.err + ran.out),
        )

    def reuse(self, *args: str) -> tuple[int, dict[str, Any], str]:
        return self.run("--reuse", "unchanged", *args)

    @property
    def sessions(self) -> int:
        """How many sessions were started so far, without those of other copies."""
        return (len(self.log.read_text().splitlines()) if self.log.exists() else 0) - self.before

    def lines(self) -> list[dict[str, Any]]:
        files = sorted(self.store.rglob("*.jsonl"), key=lambda file: file.stat().st_mtime_ns)
        return [json.loads(line) for file in files for line in file.read_text().splitlines()]

    def change_store(self, change: Any) -> None:
        """Replace the one line of the store by what ``change`` makes of it."""
        (file,) = self.store.rglob("*.jsonl")
        line = json.loads(file.read_text())
        change(line)
        file.write_text(json.dumps(line) + "\n")


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """One with a run in its store, to be copied."""
    made = Reusing(tmp_path_factory.mktemp("reused"))
    made.run("--store-write")
    assert made.sessions == 6
    return made


@pytest.fixture
def project(tmp_path, finished):
    """Of all copies, sessions are counted in one file: its name is a part of the configuration."""
    folder = shutil.copytree(finished.root.parent, tmp_path / "copy", symlinks=True)
    made = copy(finished)
    made.root, made.store, made.before = folder / "repo", folder / "store", finished.sessions - 6
    return made


def rows(file: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["caseId"]: row for one in file["suites"] for row in one["results"]}


def ran(file: dict[str, Any]) -> list[str]:
    """The cases that were not reused."""
    return [name for name, row in rows(file).items() if "reused" not in row]


def test_one_byte_changed_in_one_template_runs_exactly_its_cases(project):
    first = git_in(project.root, "rev-parse", "HEAD").strip()
    project.commit({"b/template/input.txt": "Write"})
    code, file, shown = project.reuse("--fail-on", "failed")
    assert (ran(file), project.sessions) == (["b1", "b2"], 8)
    assert (code, rows(file)["b1"]["status"]) == (1, "failed"), shown
    assert {row["reused"]["commit"] for row in rows(file).values() if "reused" in row} == {first}
    assert "6 executions: 4 reused from earlier runs, at most a minute old; 2 to run" in shown
    assert f"4 executions reused from {first[:12]}, a minute old: a1 [sh], a2 [sh], c1 [sh], c2 [sh]" in shown
    assert "2 failed, 4 passed of 6, 4 reused, 2 run, in" in shown


def test_where_nothing_changed_nothing_runs_and_nothing_is_inconclusive(project):
    project.commit({"README.md": "other"})
    code, file, shown = project.reuse("--fail-on", "failed,no-cases,regression", "--store-write")
    assert (code, ran(file), project.sessions) == (0, [], 6), shown
    comparison = file["run"]["comparison"]
    assert (comparison["verdict"], comparison["pairs"], comparison["reused"]) == ("no-regression-shown", 0, 6)
    assert comparison["reason"] == "6 reused, not compared, because their inputs are unchanged"
    assert (file["totals"]["passed"], file["totals"]["passRate"], file["totals"]["costUsd"]) == (6, 1.0, None)
    assert len(project.lines()) == 1, "a reused result is never stored again"


def test_a_reused_failure_is_a_failure(project):
    project.commit({"b/template/input.txt": "nothing"})
    assert project.run("--store-write")[0] == 1
    _, file, shown = project.reuse("--report", "junit=out.xml", "--report", "ctrf=ctrf.json")
    assert (ran(file), file["run"]["decision"]["exitCode"]) == ([], 1), shown
    failed = rows(file)["b1"]
    assert (failed["status"], failed["failureClass"]["id"], failed["attempts"]) == ("failed", "assertion", [])
    commit = failed["reused"]["commit"]
    assert f"reused from {commit[:12]}: " in shown
    xml = ET.parse(project.root / "out.xml")
    of_case = next(one for one in xml.iter("testcase") if one.get("name") == "b1")
    assert f"reused from {commit[:12]}: " in str(of_case.find("failure").get("message"))
    assert {one.get("value") for one in of_case.iter("property") if one.get("name") == "skillgym.reused.commit"} == {
        commit
    }
    tests = json.loads((project.root / "ctrf.json").read_text())["results"]["tests"]
    assert {test["extra"]["reused"]["commit"] for test in tests if test["name"].endswith("b1")} == {commit}
    folder = next((project.root / ".skillgym-results").glob("3"))
    assert f"reused from `{commit[:12]}`, a minute old" in a_minute_old(
        (folder / "summary.md").read_text(encoding="utf-8")
    )
    page = a_minute_old((folder / "report.html").read_text(encoding="utf-8"))
    assert f"reused from {commit[:12]}, a minute old" in page


def test_the_text_of_a_stored_failure_is_shown_without_keys_and_without_markup(project):
    project.commit({"b/template/input.txt": "nothing"})
    for file in project.store.rglob("*.jsonl"):
        file.unlink()
    project.run("--store-write")
    key = "sk-ant-api03-0123456789abcdefghij"

    def forged(line: dict[str, Any]) -> None:
        line["run"]["link"] = "https://example.com/runs/1"
        for entry in line["entries"]:
            if "failure" in entry:
                entry["failure"]["message"] = f"\x1b[31m{key} <script>alert(1)</script>"

    project.change_store(forged)
    _, file, shown = project.run("--reuse", "unchanged", ANTHROPIC_API_KEY=key)
    assert (ran(file), key in json.dumps(file), key in shown, "\x1b" in shown) == ([], False, False, False)
    assert "(https://example.com/runs/1)" in shown
    folder = project.root / ".skillgym-results" / str(project.number)
    page, summary = ((folder / name).read_text(encoding="utf-8") for name in ("report.html", "summary.md"))
    assert (key in page + summary, "<script>alert" in page + summary) == (False, False)
    assert "[run](https://example.com/runs/1)" in summary


def test_only_what_ran_is_added_to_the_store_and_the_rest_by_name(project):
    project.commit({"b/template/input.txt": "write!"})
    project.reuse("--store-write")
    new = project.lines()[-1]
    assert [entry["case"] for entry in new["entries"]] == ["b1", "b2"]
    assert sorted(name for one in new["reused"] for name in one["cases"]) == ["a1", "a2", "c1", "c2"]
    project.commit({"a/core.bench.json": suite(case("a1"), workspace=TEMPLATE)})
    _, file, _ = project.reuse()
    assert file["run"]["comparison"]["removed"] == 1, "what a run reused was there, too"


def test_reused_results_are_no_samples_of_the_comparison(project):
    project.commit({"b/template/input.txt": "write!"})
    _, file, shown = project.reuse()
    comparison = file["run"]["comparison"]
    assert (comparison["pairs"], comparison["reused"], comparison["coverage"]) == (2, 4, 1.0), shown


def test_what_is_too_old_runs(project):
    def older(line: dict[str, Any]) -> None:
        line["run"]["at"] = (datetime.now(UTC) - timedelta(days=15)).strftime("%Y-%m-%dT%H:%M:%SZ")

    project.change_store(older)
    _, file, _ = project.reuse()
    assert len(ran(file)) == 6
    _, file, shown = project.run("--reuse", "unchanged,max-age=16d")
    assert ran(file) == []
    assert "at most 15 days old" in shown


def test_lines_without_the_digest_of_everything_are_not_reused(project):
    def older(line: dict[str, Any]) -> None:
        for entry in line["entries"]:
            del entry["inputs"]["whole"]

    project.change_store(older)
    _, file, _ = project.reuse()
    assert len(ran(file)) == 6


def test_more_repetitions_than_are_stored_are_run(project):
    _, file, _ = project.reuse("--repeat", "2")
    assert len(ran(file)) == 6


@pytest.mark.parametrize("forged", ['{"schema": 1}\n', "not json\n"])
def test_a_forged_store_carries_nothing(project, forged):
    (file,) = project.store.rglob("*.jsonl")
    file.write_text(forged)
    code, results, shown = project.reuse("--fail-on", "failed,regression")
    assert (len(ran(results)), code) == (6, 3)
    assert "warning nothing is reused, all sessions run: the store cannot be used" in shown


def test_results_of_other_branches_are_not_reused(project):
    git_in(project.root, "checkout", "--quiet", "-b", "other")
    project.commit({"b/template/input.txt": "write on another branch"})
    project.run("--store-write")
    git_in(project.root, "checkout", "--quiet", "main")
    project.commit({"b/template/input.txt": "write on another branch"})
    _, file, _ = project.reuse()
    assert ran(file) == ["b1", "b2"]


def test_cases_that_depend_on_each_other_run_together(project):
    def tests(first: str) -> str:
        cases = (
            {"id": "d1", "input": first},
            {"id": "d2", "input": "b", "depends_on": ["d1"]},
            {"id": "d3", "input": "c"},
        )
        return json.dumps({"tests": [{"assertions": [{"type": "contains", "value": "ok"}]} | one for one in cases]})

    project.commit({"skillgym.config.yaml": config(runner("echo ok")), "d/EVAL.yaml": tests("a")})
    _, file, shown = project.run("--store-write", "--case", "d*")
    assert [row["status"] for row in rows(file).values()] == ["passed"] * 3, shown
    _, file, _ = project.reuse("--case", "d*")
    assert ran(file) == []
    project.commit({"d/EVAL.yaml": tests("other")})
    _, file, _ = project.reuse("--case", "d*")
    assert ran(file) == ["d1", "d2"]


def test_quarantined_cases_run(project):
    last = (datetime.now(UTC) + timedelta(days=5)).date().isoformat()
    entry = f"- {{case: a1, reason: flaky, owner: '@ada', expires: {last}}}\n"
    project.commit({"skillgym.quarantine.yaml": f"quarantine:\n{entry}"})
    _, file, shown = project.reuse()
    assert [row["caseId"] for one in file["suites"] for row in one.get("quarantined", [])] == ["a1"], shown
    assert (ran(file), project.sessions) == ([], 7)


def test_options_that_need_sessions_reuse_nothing(project):
    _, file, shown = project.reuse("--record", "recorded")
    assert len(ran(file)) == 6
    assert "nothing is reused, all sessions run: --record needs the sessions" in shown


def test_reuse_needs_a_store_and_a_known_word(project):
    ran_ = skillgym("run", "--reuse", "unchanged", cwd=project.root)
    assert (ran_.code, "reuse without a store" in ran_.err) == (2, True)
    for wrong in ("unchangd", "unchanged,max-age=1y", "unchanged,max-age=91d", "never,max-age=1d"):
        ran_ = skillgym("run", "--store", "path=x", "--reuse", wrong, cwd=project.root)
        assert (ran_.code, "--reuse" in ran_.err) == (2, True), wrong


def test_the_configuration_may_say_it_and_shards_and_merged_runs_keep_it(project):
    settings = json.loads(config(runner(AGENT.format(log=project.log)))) | {"reuse": "unchanged"}
    project.commit({"skillgym.config.yaml": json.dumps(settings)})
    files = []
    for part in ("1/2", "2/2"):
        _, file, _ = project.run("--shard", part)
        assert ran(file) == []
        files.append(project.root / ".skillgym-results" / str(project.number))
    assert project.sessions == 6
    done = skillgym("report", *map(str, files), "--store", f"path={project.store}", cwd=project.root)
    assert done.code == 0, done.err
    assert "6 passed of 6, 6 reused, 0 run" in done.err


def test_a_run_with_reused_results_is_judged_again_without_them(project):
    project.commit({"b/template/input.txt": "write!"})
    project.reuse("--output", ".skillgym-results/partly")
    again = skillgym("rejudge", ".skillgym-results/partly", cwd=project.root)
    assert (again.code, "2 passed of 2" in again.err) == (0, True), again.err
    project.reuse("--output", ".skillgym-results/none", "--case", "a*")
    again = skillgym("rejudge", ".skillgym-results/none", cwd=project.root)
    assert again.code == 2
    assert "all of its results are reused from earlier runs" in again.err


@pytest.mark.parametrize(
    ("changes", "again"),
    [
        pytest.param({"a/core.bench.json": ("file:out.txt exists", "file:out.txt contains 'done'")}, ["a1", "a2"]),
        pytest.param({"skillgym.config.yaml": "other"}, ["a1", "a2", "b1", "b2", "c1", "c2"]),
    ],
    ids=["assertions", "the agent's command"],
)
def test_a_change_of_what_decides_runs_what_it_decides(project, changes, again):
    for name, change in changes.items():
        if name.endswith(".json"):
            cases = (case("a1", expect=change), case("a2", expect=change))
            text = suite(*cases, workspace=TEMPLATE)
        else:
            text = config(runner(AGENT.format(log=project.log) + " # other"))
        project.commit({name: text})
    _, file, _ = project.reuse()
    assert ran(file) == again


def test_a_grader_in_a_folder_of_cases_is_a_part_of_what_is_unchanged(project):
    folder = project.root / "evals/cases"

    def case_of(name: str, text: str = "do it") -> str:
        grader = {"type": "code-grader", "name": "g", "command": ["sh", str(folder / "one/grade.sh")]}
        return json.dumps({"id": name, "input": text, "criteria": "x", "assertions": [grader]})

    graders = {"evals/cases/one/grade.sh": """echo '{"score": 1, "hits": [], "misses": []}'\n"""}
    files = {f"evals/cases/{name}/case.yaml": case_of(name) for name in ("one", "two")}
    text = "workspace: {template: ../a/template}\ntests: ./cases/\n"
    project.commit({**graders, **files, "evals/x.eval.yaml": text})
    project.run("--store-write")
    project.commit({"evals/cases/two/case.yaml": case_of("two", "do something else")})
    _, file, shown = project.reuse()
    assert ran(file) == ["two"], shown
    project.commit({"evals/cases/one/grade.sh": graders["evals/cases/one/grade.sh"].replace("1", "0")})
    code, file, shown = project.reuse("--fail-on", "failed")
    assert (code, ran(file), rows(file)["one"]["status"]) == (1, ["one", "two"], "failed"), shown


def test_a_grader_of_the_folder_that_suites_are_read_from_is_a_part_of_what_is_unchanged(project):
    grader = {"type": "code-grader", "name": "g", "command": ["sh", "evals/grade.sh"]}
    test = {"id": "one", "input": "do it", "criteria": "x", "assertions": [grader]}
    passing = """echo '{"score": 1, "hits": [], "misses": []}'\n"""
    text = json.dumps({"workspace": {"template": "../a/template"}, "tests": [test]})
    project.commit({"evals/x.eval.yaml": text, "evals/grade.sh": passing, ".gitignore": ".skillgym-results\nbase\n"})
    shutil.copytree(project.root, project.root / "base")
    project.run("--store-write")
    _, file, shown = project.reuse("--suites-from", "base")
    assert ran(file) == [], shown
    written(project.root / "base", {"evals/grade.sh": passing.replace("1", "0")})
    _, file, shown = project.reuse("--suites-from", "base")
    assert ran(file) == ["one"], shown


def test_a_program_that_judges_is_a_part_of_what_is_unchanged(project):
    graders = {"tools/grade.sh": "test -f out.txt\n", "tools/README.md": "a"}
    text = suite(
        case("a1", expect=(f"test:sh {project.root}/tools/grade.sh passes",)),
        case("a2"),
        workspace=TEMPLATE,
    )
    project.commit(graders | {"a/core.bench.json": text})
    project.run("--store-write")
    project.commit({"b/template/input.txt": "write!"})
    _, file, _ = project.reuse()
    assert ran(file) == ["b1", "b2"], "the template of another suite"
    project.commit({"tools/grade.sh": "test -s out.txt\n"})
    _, file, _ = project.reuse()
    assert ran(file) == ["a1", "b1", "b2"], "what the command reads"


def test_a_prompt_beside_the_program_of_an_agent_is_a_part_of_what_is_unchanged(project):
    """The program is in the root of the checkout, where nothing but the program says what it reads."""
    program = (
        f'echo session >> {project.log}; grep -q write "$(dirname "$0")/prompt.txt" && echo done > out.txt; true\n'
    )
    agent = {"agent": {"type": "command", "command": ["sh", "./agent.sh"]}}
    project.commit({"skillgym.config.yaml": config(agent), "agent.sh": program, "prompt.txt": "write"})
    project.run("--store-write")
    _, file, shown = project.reuse()
    assert ran(file) == [], shown
    project.commit({"prompt.txt": "read"})
    code, file, shown = project.reuse("--fail-on", "failed")
    assert (code, ran(file)) == (1, ["a1", "a2", "b1", "b2", "c1", "c2"]), shown
