"""The command ``trend`` and the action's mode of that name: from stores, as runs have written them, to a page."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from action_step import step
from html_runs import ATTACK
from scratch import case, committed, config, git_in, repository, runner, skillgym, suite, written
from skillgym_action.cli.schemas.json_documents import TrendDocument
from trend_stores import FIRST, StoredRun, project_runs, stored

if TYPE_CHECKING:
    from pathlib import Path

PAGE = ".skillgym-results/trend/index.html"
AGENT = "if grep -q write AGENTS.md; then echo done > out.txt; fi"


@pytest.fixture
def project(tmp_path) -> Path:
    """A repository with a store of a small project beside it."""
    stored(tmp_path / "store", *project_runs())
    return repository(tmp_path / "repo", {"README.md": "bench"}, git=True)


def newest_file(store: Path) -> Path:
    return max(store.rglob("*.jsonl"))


# --- pages --------------------------------------------------------------------------------------------


def test_runs_that_were_stored_are_points_and_a_regression_is_the_largest_difference(tmp_path):
    files = {"bench/core.json": suite(case("a"), case("b")), "skillgym.config.yaml": config(runner(AGENT))}
    root = repository(tmp_path / "repo", files | {"AGENTS.md": "write", ".gitignore": ".skillgym-results\n"}, git=True)
    named = ("--store", f"path={tmp_path / 'store'}")
    for instructions in ("write", "write", "do nothing"):
        written(root, {"AGENTS.md": instructions})
        committed(root)
        skillgym("run", "bench", *named, "--store-write", "--repeat", "3", "--fail-on", "none", cwd=root)
    ran = skillgym("trend", *named, cwd=root)
    assert (ran.code, ran.out) == (0, f"{PAGE}\n"), ran.err
    shown, largest = ran.err.splitlines()
    assert shown.startswith("3 runs, 20")
    assert shown.endswith(": 2 cases on 1 runner")
    assert largest.startswith("largest difference: a on ")
    assert ", 3 of 3 [44, 100] → 3 of 6 [19, 81]; 0 changes of model, CLI, suite or judge" in largest
    text = (root / PAGE).read_text()
    assert "0 of 3 [0, 56]" in text
    assert git_in(root, "rev-parse", "HEAD").strip()[:12] in text


def test_a_page_is_written_where_it_is_named_and_the_store_can_be_that_of_the_configuration(project):
    shutil.move(project.parent / "store", project / "store")
    written(project, {"skillgym.config.yaml": "store: path=store\n"})
    ran = skillgym("trend", "--output", "site/index.html", cwd=project)
    assert (ran.code, ran.out) == (0, "site/index.html\n"), ran.err
    assert "77 runs of main" in (project / "site/index.html").read_text()
    assert not (project / PAGE).exists()


def test_cases_in_quarantine_are_marked(project):
    soon, never = (f"{datetime.now(UTC) + timedelta(days=days):%Y-%m-%d}" for days in (30, 3_000))
    of_codex = {"case": "says-*", "runner": "cod*", "reason": "two prompts", "owner": "@ada", "expires": soon}
    too_long = {"case": "tags-*", "reason": "later", "owner": "@ada", "expires": never}
    written(project, {"skillgym.quarantine.yaml": json.dumps({"quarantine": [of_codex, too_long]})})
    assert f"in quarantine until {soon}: two prompts" in page(project, "--store", "path=../store")
    document = json.loads(skillgym("trend", "--store", "path=../store", "--json", cwd=project).out)
    found = {(one["case"], one["runner"]): one["quarantined"] for one in document["executions"]}
    assert {name: until for name, until in found.items() if until} == {("says-what-breaks", "codex"): soon}


def page(root: Path, *args: str) -> str:
    ran = skillgym("trend", *args, cwd=root)
    assert ran.code == 0, ran.err
    return (root / PAGE).read_text()


# --- the document -------------------------------------------------------------------------------------


def test_the_document_has_what_the_page_has(project):
    ran = skillgym("trend", "--store", "path=../store", "--json", cwd=project)
    found = TrendDocument.model_validate_json(ran.out)
    assert (found.exit_code, found.branch, found.runs, found.period, found.page) == (0, "main", 77, 7, None)
    assert not (project / PAGE).exists(), "it was not asked for"
    assert len(found.executions) == 16
    codex = next(one for one in found.executions if (one.case, one.runner) == ("names-the-area", "codex"))
    assert sum(point.judged for point in codex.points) == 3 * 63
    assert all(point.interval and point.interval.low <= (point.pass_rate or 0) for point in codex.points)
    claude = next(one for one in found.executions if (one.case, one.runner) == ("names-the-area", "claude"))
    (change,) = claude.changes
    assert {(one.what, one.before, one.after) for one in change.changes} == {
        ("model", "claude-sonnet-4-6", "claude-sonnet-5"),
        ("CLI version", "2.1.197", "2.1.202"),
    }
    assert found.differences[0].case == "links-the-pull-request"
    assert [one.case for one in found.executions if one.expected_fail] == ["asks-before-it-pushes"] * 2


def test_page_and_document_can_both_be_had(project):
    ran = skillgym("trend", "--store", "path=../store", "--json", "--output", "t.html", cwd=project)
    assert json.loads(ran.out)["page"] == "t.html"
    assert (project / "t.html").exists()


@pytest.mark.parametrize(
    ("args", "cases", "runs"),
    [
        pytest.param(("--case", "*-the-*"), 4, 77, id="cases"),
        pytest.param(("bench",), 5, 77, id="a folder of suites"),
        pytest.param(("--since", "2026-03-20"), 8, 10, id="since a day"),
    ],
)
def test_a_part_of_the_store_can_be_shown(project, args, cases, runs):
    found = json.loads(skillgym("trend", "--store", "path=../store", "--json", *args, cwd=project).out)
    assert (len({one["case"] for one in found["executions"]}), found["runs"]) == (cases, runs)


def test_paths_are_relative_to_the_working_directory(project):
    written(project, {"skills/x.txt": ""})
    ran = skillgym("trend", "release", "--store", "path=../../store", "--json", cwd=project / "skills")
    assert {one["suite"] for one in json.loads(ran.out)["executions"]} == {"skills/release/evals/evals.json"}


# --- stores that cannot be shown ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "message"),
    [
        pytest.param((), "trend without a store: there is nothing to show; name a --store", id="no store"),
        pytest.param(("--store", "path=../nothing"), "the store ../nothing has no results yet", id="an empty store"),
        pytest.param(
            ("--store", "path=../store", "--branch", "topic"), "has no runs of the branch topic", id="another branch"
        ),
        pytest.param(
            ("--store", "path=../store", "--since", "yesterday"),
            "--since: 'yesterday' is neither a time such as 90d or 12w nor a date such as 2026-01-31",
            id="no time",
        ),
    ],
)
def test_where_there_is_nothing_to_show_a_message_says_why(project, args, message):
    ran = skillgym("trend", *args, cwd=project)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err
    assert not (project / PAGE).exists()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        pytest.param(b'{"schema": 1, "' + ATTACK.encode() + b'": 1}\n', ":1: ", id="an attack"),
    ],
)
def test_a_forged_line_ends_the_command_with_its_place(project, line, message):
    forged = newest_file(project.parent / "store")
    forged.write_bytes(line)
    ran = skillgym("trend", "--store", "path=../store", cwd=project)
    assert (ran.code, ran.out) == (3, "")
    name = forged.relative_to(project.parent / "store").as_posix()
    assert f"no page was written: the store ../store: {name}:1: " in ran.err
    assert message in ran.err
    assert not (project / PAGE).exists()
    document = json.loads(skillgym("trend", "--store", "path=../store", "--json", cwd=project).out)
    assert document["exitCode"] == 3
    assert name in document["errors"][0]["message"]


def test_a_page_is_not_written_through_a_link_of_a_commit(project):
    (project / ".skillgym-results").symlink_to(project.parent)
    ran = skillgym("trend", "--store", "path=../store", cwd=project)
    assert ran.code == 2
    assert f"the trend page {PAGE}: " in ran.err
    assert not (project.parent / "trend").exists()


# --- the branch of a repository -----------------------------------------------------------------------


def test_the_branch_of_the_remote_is_read_and_a_remote_that_is_gone_is_an_error(tmp_path):
    files = {"bench/core.json": suite(case("a")), "skillgym.config.yaml": config(runner(AGENT)), "AGENTS.md": "write"}
    root = repository(tmp_path / "repo", files | {".gitignore": ".skillgym-results\n"}, git=True)
    without = skillgym("trend", "--store", "branch", cwd=root)
    assert (without.code, "git knows no remote origin here; add it" in without.err) == (3, True)
    remote = tmp_path / "remote.git"
    remote.mkdir()
    git_in(remote, "init", "--quiet", "--bare")
    git_in(root, "remote", "add", "origin", str(remote))
    assert skillgym("trend", "--store", "branch", cwd=root).err.startswith(
        "error: the branch skillgym-data has no results"
    )
    skillgym("run", "bench", "--store", "branch", "--store-write", cwd=root)
    assert "from the branch skillgym-data." in page(root, "--store", "branch")
    shutil.rmtree(remote)
    ran = skillgym("trend", "--store", "branch", cwd=root)
    assert ran.code == 3
    assert "no page was written: the branch skillgym-data: " in ran.err


# --- the action ---------------------------------------------------------------------------------------


def test_the_action_writes_the_page_and_its_path_is_an_output(project):
    shutil.move(project.parent / "store", project / "store")
    inputs = {"mode": "trend", "store": "path=store", "html-path": "site/index.html", "since": "2026-03-01"}
    inputs["matrix"] = "null"  # what GitHub makes of the default in a job without a matrix
    found = step(project, None, inputs, event=("schedule", {}), GITHUB_REF="refs/heads/main")
    assert found.code == 0, found.said
    assert found.outputs == {"html-path": "site/index.html", "exit-code": "0"}
    assert "29 runs of main" in (project / "site/index.html").read_text()


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        pytest.param(
            {"mode": "trend", "fail-on": "none"}, "mode trend does not use the input fail-on", id="an input of runs"
        ),
        pytest.param({"mode": "trend"}, "trend without a store", id="no store"),
        pytest.param(
            {"mode": "trend", "store": "path=nothing", "html-path": "/etc/page.html"},
            "/etc/page.html does not exist inside the action's container",
            id="a path outside",
        ),
    ],
)
def test_the_action_says_what_is_wrong(project, inputs, message):
    found = step(project, None, inputs, event=("schedule", {}), GITHUB_REF="refs/heads/main")
    assert found.code == 2
    assert message in found.said


def test_in_a_job_the_runs_of_the_base_branch_are_shown(project):
    of_topic = StoredRun(number=1, at=FIRST + timedelta(days=300), suites={"s.json": "1"}, head={"branch": "topic"})
    of_topic.add("s.json", "a", "p")
    stored(project.parent / "store", of_topic)
    newest = skillgym("trend", "--store", "path=../store", "--json", cwd=project)
    assert json.loads(newest.out)["branch"] == "topic"
    shutil.move(project.parent / "store", project / "store")
    found = step(
        project, None, {"mode": "trend", "store": "path=store"}, event=("schedule", {}), GITHUB_REF="refs/heads/main"
    )
    assert found.code == 0, found.said
    assert "77 runs of main" in (project / PAGE).read_text()
    assert "Left out: 1 run of other branches." in (project / PAGE).read_text()


def test_a_path_that_no_file_can_have_is_an_error(project):
    done = skillgym("trend", "x" * 5_000, "--store", f"path={project.parent / 'store'}", cwd=project)
    assert (done.code, done.out) == (2, ""), done.err
    assert "File name too long; name a path that can exist" in done.err
