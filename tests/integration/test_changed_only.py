"""Runs with ``--changed-only``: what runs, what is reused from the store, and what reports say about it."""

from __future__ import annotations

import json
import subprocess
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from action_step import step
from on_github import REPOSITORY
from scratch import case, committed, config, environment, git_in, repository, runner, skillgym, suite, written

if TYPE_CHECKING:
    from pathlib import Path

    from scratch import Ran

ALL = {"a": ["one", "two"], "b": ["three"]}


def suite_in(package: str, *case_ids: str) -> str:
    return suite(*map(case, case_ids), name=package, workspace={"templateDir": "template"})


class Project:
    """A repository with two packages, each with a suite and its template, and a store beside it."""

    def __init__(self, folder: Path) -> None:
        self.root, self.sessions = folder / "repo", folder / "sessions.txt"
        self.store = f"path={folder / 'store'}"
        self.root.mkdir()
        self._number = 0
        files = {f"packages/{name}/bench/core.json": suite_in(name, *ids) for name, ids in ALL.items()}
        files |= {f"packages/{name}/bench/template/app.txt": "app\n" for name in ALL}
        files |= {"bench/core.json": None, ".gitignore": ".skillgym-results\n", "README.md": "x\n"}  # type: ignore[dict-item]
        repository(self.root, files | {"skillgym.config.yaml": self.config()}, git=True)  # type: ignore[arg-type]

    def config(self, *inputs: dict[str, Any]) -> str:
        agent = f"echo session >> {self.sessions}; echo done > out.txt"
        return json.dumps(json.loads(config(runner(agent))) | ({"inputs": inputs} if inputs else {}))

    def change(self, **files: str | None) -> None:
        """A commit on the branch ``change``; ``__`` in a name is a slash."""
        if not git_in(self.root, "branch", "--list", "change"):
            git_in(self.root, "checkout", "--quiet", "-b", "change")
        names = {name.replace("__", "/").replace("_dot_", "."): text for name, text in files.items()}
        written(self.root, {name: text for name, text in names.items() if text is not None})
        committed(self.root)

    def touch_b(self) -> None:
        self.change(packages__b__bench__template__app_dot_txt="app, changed\n")

    def run(self, *args: str, **env: str) -> tuple[Ran, dict[str, Any]]:
        self._number += 1
        output = f".skillgym-results/{self._number}"
        ran = skillgym("run", "--output", output, *args, cwd=self.root, **env)
        assert "Traceback" not in ran.err
        file = self.root / output / "results.json"
        return ran, json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}

    def text(self, name: str) -> str:
        text = (self.root / f".skillgym-results/{self._number}" / name).read_text(encoding="utf-8")
        return text.replace("\u2060", "")  # which keeps GitHub from linking a commit

    def count(self) -> int:
        """Sessions so far."""
        return len(self.sessions.read_text().splitlines()) if self.sessions.exists() else 0

    def base(self) -> str:
        return git_in(self.root, "rev-parse", "main").strip()


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


def rows(file: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["caseId"]: row for one in file["suites"] for row in one["results"]}


def test_only_the_touched_cases_run_and_all_reports_say_what_is_left_out(project):
    project.touch_b()
    ran, file = project.run("--changed-only")
    assert (ran.code, project.count(), list(rows(file))) == (0, 1, ["three"])
    reason = f"packages/b/bench/template/app.txt changed since {project.base()[:12]}"
    assert f"changed-only: 1 of 3 executions: {reason}" in ran.err
    assert file["run"]["selection"] == {
        "selected": 1, "total": 3, "reason": reason, "base": project.base(), "leftOut": 2,
    }  # fmt: skip
    sentence = f"1 of 3 executions was selected: {reason}; 2 are not in this run"
    assert sentence in ran.err
    for name in ("summary.md", "comment.md", "report.html"):
        assert sentence in project.text(name), name


def test_verbose_lists_each_changed_file(project):
    project.change(packages__b__bench__template__new_dot_txt="new", skillgym_dot_quarantine_dot_yaml="quarantine: []\n")
    ran, _ = project.run("--changed-only", "--verbose")
    assert "\npackages/b/bench/template/new.txt: 1 execution (an input of cases)\n" in ran.err
    assert "\nskillgym.quarantine.yaml: 0 executions (no case depends on it)\n" in ran.err


def test_list_shows_what_is_selected_and_why(project):
    project.touch_b()
    listed = skillgym("list", "--changed-only", "--json", cwd=project.root)
    assert [row["case"] for row in json.loads(listed.out)["executions"]] == ["three"]
    assert "packages/b/bench/template/app.txt: 1 execution (an input of cases)" in listed.err
    listed = skillgym("list", "--changed-only", cwd=project.root)
    assert ("three" in listed.out, "two" in listed.out) == (True, False)
    shown = skillgym("run", "--dry-run", "--changed-only", cwd=project.root)
    assert (shown.code, "[sh]" in shown.out, "two" in shown.out) == (0, True, False)
    assert project.count() == 0


def test_a_change_that_concerns_no_case_is_a_green_run(project):
    (project.root / "skillgym.config.yaml").write_text(project.config({"files": ["docs"], "suites": []}))
    committed(project.root)
    project.change(docs__guide_dot_md="A guide.")
    ran, file = project.run("--changed-only", "--min-pass-rate", "0.9", "--fail-on", "failed,errored,no-cases")
    words = f"the changes affect no case since {project.base()[:12]}: 3 of 3 executions were not selected"
    assert (ran.code, project.count(), file["run"]["unchanged"]) == (0, 0, words), ran.err
    assert file["run"]["decision"]["verdict"] == "passed"
    for name in ("summary.md", "comment.md", "report.html"):
        assert words in project.text(name), name
    again = skillgym("report", ".skillgym-results/1", "--output", ".skillgym-results/again", cwd=project.root)
    assert (again.code, words in again.err) == (0, True), again.err
    for command in (("list", "--json"), ("run", "--dry-run")):
        told = skillgym(*command, "--changed-only", cwd=project.root)
        assert (told.code, words in told.err + told.out) == (0, True), told.err


def test_a_file_that_no_suite_names_selects_all(project):
    project.change(README_dot_md="other\n")
    ran, file = project.run("--changed-only")
    assert (ran.code, sorted(rows(file))) == (0, ["one", "three", "two"])
    assert "3 of 3 executions: README.md, which no suite names, changed since" in ran.err


def test_a_pull_request_cannot_hide_a_change_behind_inputs_of_its_own(project):
    hidden = project.config({"files": ["**"], "suites": []})
    project.change(packages__b__bench__template__app_dot_txt="worse\n", skillgym_dot_config_dot_yaml=hidden)
    ran, file = project.run("--changed-only")
    assert (ran.code, len(rows(file))) == (0, 3)
    assert "skillgym.config.yaml, the configuration, changed since" in ran.err


def test_a_configuration_that_is_added_selects_all(project):
    """Else one that lies nearer to the suites could come with inputs of its own."""
    project.change(packages__b__skillgym_dot_config_dot_json=project.config({"files": ["**"], "suites": []}))
    ran = skillgym("list", "--changed-only", "--json", cwd=project.root / "packages/b")
    assert len(json.loads(ran.out)["executions"]) == 3, ran.err
    assert "packages/b/skillgym.config.json, the configuration, changed since" in ran.err


@pytest.mark.parametrize(
    ("suites", "selected"),
    [
        pytest.param(["packages/*/bench/core.json"], ["one", "two", "three"], id="a pattern"),
        pytest.param([], [], id="none"),
        pytest.param(["package/a"], ["one", "two", "three"], id="a mistake, which must not hide a change"),
    ],
)
def test_declared_inputs(project, suites, selected):
    (project.root / "skillgym.config.yaml").write_text(project.config({"files": ["lib/*.py"], "suites": suites}))
    committed(project.root)
    project.change(lib__core_dot_py="pass\n")
    listed = skillgym("list", "--changed-only", "--json", cwd=project.root)
    assert [row["case"] for row in json.loads(listed.out)["executions"]] == selected, listed.err


@pytest.mark.parametrize(
    ("inputs", "problem"),
    [
        ([{"files": ["docs"]}], "inputs[0].suites"),
        ([{"files": [".."], "suites": []}], "is not a pattern that can match a path"),
    ],
)
def test_an_entry_that_is_wrong_is_an_error_with_its_place(project, inputs, problem):
    (project.root / "skillgym.config.yaml").write_text(project.config(*inputs))
    ran = skillgym("list", cwd=project.root)
    assert (ran.code, problem in ran.err, "skillgym.config.yaml:1:" in ran.err) == (2, True, True), ran.err


# --- the base -----------------------------------------------------------------------------------------


def test_the_base_branch_itself_selects_all(project):
    ran, file = project.run("--changed-only")
    assert (ran.code, len(rows(file))) == (0, 3)
    assert "3 of 3 executions: the checkout is the base branch itself, and nothing in it has changed" in ran.err


def test_a_folder_without_git_selects_all(tmp_path):
    repository(tmp_path)
    ran = skillgym("list", "--changed-only", "--json", cwd=tmp_path)
    assert len(json.loads(ran.out)["executions"]) == 1
    assert "there is no git checkout to compare with" in ran.err


def test_a_clone_without_the_base_selects_all(project, tmp_path):
    project.touch_b()
    argv = ("git", "clone", "--quiet", "--depth", "1", f"file://{project.root}", "clone")
    subprocess.run(argv, cwd=tmp_path, env=environment(), check=True, capture_output=True)
    git_in(tmp_path / "clone", "update-ref", "-d", "refs/remotes/origin/HEAD")
    git_in(tmp_path / "clone", "update-ref", "-d", "refs/remotes/origin/change")
    ran = skillgym("list", "--changed-only", "--json", cwd=tmp_path / "clone")
    assert len(json.loads(ran.out)["executions"]) == 3
    assert "the base commit is not in the clone: give actions/checkout fetch-depth: 0" in ran.err


def test_base_names_the_commit_to_compare_with(project):
    project.touch_b()
    git_in(project.root, "tag", "first")
    project.change(packages__a__bench__template__app_dot_txt="other\n")
    listed = skillgym("list", "--changed-only", "--base", "first", "--json", cwd=project.root)
    assert [row["case"] for row in json.loads(listed.out)["executions"]] == ["one", "two"], listed.err
    listed = skillgym("list", "--changed-only", "--base", "nowhere", cwd=project.root)
    assert (listed.code, "--base nowhere: no such commit in the clone" in listed.err) == (2, True)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--base", "main"), "--base without --changed-only"),
        (("--changed-only", "--changed-skills"), "--changed-skills with --changed-only"),
    ],
)
def test_options_that_do_not_fit_together(project, options, problem):
    ran = skillgym("list", *options, cwd=project.root)
    assert (ran.code, problem in ran.err) == (2, True), ran.err


def test_in_a_job_the_base_is_that_of_the_pull_request(project):
    project.touch_b()
    payload = {"pull_request": {"number": 7, "head": {"sha": "a" * 40}, "base": {"sha": project.base(), "ref": "main"}}}
    done = step(project.root, inputs={"changed-only": "true", "comment": "off"}, event=("pull_request", payload))
    assert (done.code, project.count(), done.outputs["executions"]) == (0, 1, "1"), done.said
    assert "1 of 3 executions was selected" in done.summary


def test_a_push_has_no_base_and_selects_all(project):
    project.touch_b()
    done = step(project.root, inputs={"changed-only": "true"}, event=("push", {"ref": "refs/heads/main"}))
    assert (done.code, project.count()) == (0, 3), done.said
    assert "the event push has no base branch" in done.summary


def test_a_changed_workflow_of_the_job_selects_all_whatever_inputs_say(project):
    (project.root / "skillgym.config.yaml").write_text(project.config({"files": [".github"], "suites": []}))
    written(project.root, {".github/workflows/bench.yml": "a: 1\n", ".github/workflows/lint.yml": "a: 1\n"})
    committed(project.root)
    payload = {"pull_request": {"number": 7, "head": {"sha": "a" * 40}, "base": {"sha": project.base(), "ref": "main"}}}
    where = {"GITHUB_WORKFLOW_REF": f"{REPOSITORY}/.github/workflows/bench.yml@refs/pull/7/merge"}
    given = {"inputs": {"changed-only": "true", "comment": "off"}, "event": ("pull_request", payload)}
    project.change(_dot_github__workflows__lint_dot_yml="a: 2\n")
    assert step(project.root, **given, **where).outputs["executions"] == "0"
    project.change(_dot_github__workflows__bench_dot_yml="a: 2\n")  # such as another model
    done = step(project.root, **given, **where)
    assert (project.count(), done.outputs["executions"]) == (3, "3"), done.said
    assert ".github/workflows/bench.yml, the configuration, changed since" in done.summary


# --- with a store -------------------------------------------------------------------------------------


def pushed(project: Project, *args: str) -> None:
    ran, _ = project.run("--store", project.store, "--store-write", *args)
    assert ran.code == 0, ran.err


def test_the_results_of_the_others_are_reused_from_the_store(project):
    pushed(project)
    before = project.count()
    project.touch_b()
    ran, file = project.run("--changed-only", "--store", project.store)
    assert (ran.code, project.count() - before) == (0, 1), ran.err
    assert [case_id for case_id, row in rows(file).items() if "reused" in row] == ["one", "two"]
    assert rows(file)["one"]["reused"]["commit"] == project.base()
    assert file["run"]["selection"].keys() == {"selected", "total", "reason", "base"}  # nothing is left out
    assert "changed-only: 2 results reused from earlier runs\n" in ran.err


def test_what_the_store_lacks_runs(project):
    pushed(project, "packages/b")
    before = project.count()
    project.touch_b()
    ran, file = project.run("--changed-only", "--store", project.store)
    assert (ran.code, project.count() - before, len(rows(file))) == (0, 3, 3), ran.err
    assert file["run"]["selection"]["unstored"] == 2
    assert "; 2 more ran, since the store has no result of them" in ran.err


def test_cases_in_quarantine_are_left_out_and_not_missing_in_the_comparison(project):
    entry = {
        "case": "one",
        "reason": "flaky",
        "owner": "me",
        "expires": f"{datetime.now(UTC).date() + timedelta(days=30)}",
    }
    pushed(project)
    written(project.root, {"skillgym.quarantine.yaml": json.dumps({"quarantine": [entry]})})
    committed(project.root)
    project.touch_b()
    ran, file = project.run("--changed-only", "--store", project.store)
    assert ran.code == 0, ran.err
    comparison = file["run"]["comparison"]
    assert (list(rows(file)), comparison["pairs"], comparison["coverage"]) == (["two", "three"], 1, 1.0)
    assert (comparison.get("removed", 0), file["run"]["selection"]["leftOut"]) == (0, 1)


def test_shards_select_from_their_parts_and_the_report_adds_them_up(project):
    project.touch_b()
    for number in (1, 2):
        args = ("run", "--changed-only", "--shard", f"{number}/2", "--output", f".skillgym-results/{number}")
        assert skillgym(*args, cwd=project.root).code == 0
    args = (".skillgym-results/1", ".skillgym-results/2", "--output", ".skillgym-results/whole")
    ran = skillgym("report", *args, cwd=project.root)
    assert (ran.code, "1 of 3 executions was selected" in ran.err) == (0, True), ran.err
    assert "2 are not in this run" in ran.err


def test_a_result_from_before_a_change_of_the_base_itself_is_not_reused(project):
    pushed(project)
    written(project.root, {"packages/a/bench/template/app.txt": "app, changed on main\n"})
    committed(project.root)  # the run of this commit was cancelled, so that the store has nothing of it
    project.touch_b()
    ran, file = project.run("--changed-only", "--store", project.store)
    assert {name for name, row in rows(file).items() if "reused" in row} == set(), ran.err
    assert "1 of 3 executions was selected" in ran.err
    assert "; 2 more ran, since the store has no result of them" in ran.err


def test_a_change_of_the_base_that_touches_other_cases_leaves_older_results_as_they_are(project):
    pushed(project)
    stored = project.base()
    written(project.root, {"packages/b/bench/template/app.txt": "app, changed on main\n"})
    committed(project.root)
    project.change(packages__b__bench__core_dot_json=suite_in("b", "three", "four"))
    ran, file = project.run("--changed-only", "--store", project.store)
    found = {name: row["reused"]["commit"] for name, row in rows(file).items() if "reused" in row}
    assert found == {"one": stored, "two": stored}, ran.err
