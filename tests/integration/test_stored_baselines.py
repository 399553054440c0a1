"""Runs that are compared with what earlier runs stored."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from ages import a_minute_old
from scratch import (
    HUNG,
    PROGRAM,
    case,
    committed,
    config,
    environment,
    git_in,
    repository,
    runner,
    skillgym,
    suite,
    written,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

EIGHT = tuple(map(case, "abcdefgh"))
GOOD, BAD = "AGENTS.md says: write out.txt", "AGENTS.md says nothing"
AGENT = "if grep -q write AGENTS.md; then echo done > out.txt; fi"
"""An agent that does what the repository's instructions say, so that a commit can make it worse."""


class Project:
    """A repository with a store beside it, and what runs in it come to."""

    def __init__(self, folder: Path) -> None:
        self.root, self.store = folder / "repo", f"path={folder / 'store'}"
        self._number = 0
        self.root.mkdir()
        files = {"bench/core.json": suite(*EIGHT), "skillgym.config.yaml": config(runner(AGENT)), "AGENTS.md": GOOD}
        repository(self.root, files | {".gitignore": ".skillgym-results\n"}, git=True)

    def commit(self, **files: str) -> None:
        written(self.root, {name.replace("__", "/").replace("_", "."): text for name, text in files.items()})
        committed(self.root)

    def run(self, *args: str, **env: str) -> tuple[int, dict[str, Any], str]:
        """The exit code, the results file, and what the terminal shows."""
        self._number += 1
        output = f".skillgym-results/{self._number}"
        ran = skillgym("run", "bench", "--store", self.store, "--output", output, *args, cwd=self.root, **env)
        file = self.root / output / "results.json"
        return ran.code, json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}, ran.err

    def push(self, *args: str) -> tuple[int, dict[str, Any], str]:
        """A run that stores its results, and is red if it got worse."""
        return self.run("--store-write", "--fail-on", "regression", *args)

    def propose(self, *args: str) -> tuple[int, dict[str, Any], str]:
        """A run that only compares, and is red if it got worse."""
        return self.run("--fail-on", "regression", *args)


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


def test_the_first_run_has_a_message_and_the_next_ones_a_baseline(project):
    code, file, shown = project.push()
    assert (code, file["run"].get("comparison")) == (0, None)
    assert "has no results of the base: nothing was compared" in shown
    assert "this run is the first of its branch; later ones are compared with it" in shown
    assert "results added to the store" in shown
    project.commit(README_md="other")
    code, file, shown = project.propose()
    comparison = file["run"]["comparison"]
    assert (code, comparison["verdict"], comparison["pairs"]) == (0, "no-regression-shown", 8)
    assert "of 8 cases judged both in 1 run, a minute old, up to " in a_minute_old(shown)


def test_samples_of_several_runs_are_pooled(project):
    for _ in range(3):
        project.push("--repeat", "2")
    _, file, shown = project.propose()
    assert "judged both in 3 runs, a minute old, up to" in a_minute_old(shown)
    project.commit(AGENTS_md=BAD)
    _, file, shown = project.propose()
    assert file["run"]["comparison"]["verdict"] == "regression"
    assert "6 of 6 → 0 of 1" in (project.root / ".skillgym-results/5/summary.md").read_text(encoding="utf-8")


def test_a_lost_store_is_inconclusive_where_a_regression_counts(project):
    code, _, shown = project.propose()
    assert code == 3
    assert "no baseline to compare with, so regressions cannot be detected" in shown
    assert "run on the base branch once, with --store-write" in shown
    assert project.run()[0] == 0
    assert project.propose("--baseline-optional")[0] == 0


def test_a_forged_store_is_inconclusive_with_its_reason(project):
    project.push()
    project.commit(AGENTS_md=BAD)
    (file,) = (project.root.parent / "store").rglob("*.jsonl")
    file.write_text(file.read_text().replace('"at":"2', '"at":"9'))
    code, results, shown = project.propose()
    assert (code, results["run"]["comparison"]["verdict"]) == (3, "inconclusive"), shown
    assert "the baseline in the store cannot be used, so nothing was compared: " in shown
    assert "run.at: is in the future" in shown


@pytest.mark.parametrize("path", [pytest.param("store", id="a folder"), pytest.param(".", id="the root")])
def test_a_store_that_the_commit_brings_along_is_refused(project, path):
    project.store = f"path={path}"
    project.push()
    committed(project.root)
    code, _, shown = project.propose()
    assert (code, "is a file of the commit that is judged, which may say anything" in shown) == (3, True), shown


def test_a_long_key_of_a_forged_line_is_shortened(project):
    project.push()
    (file,) = (project.root.parent / "store").rglob("*.jsonl")
    key = f"@everyone<img src=x>{'A' * 1_000_000}"
    file.write_text(file.read_text().replace('"schema":1', f'"schema":1,"{key}":"me"'))
    code, results, shown = project.propose()
    assert (code, len(results["run"]["comparison"]["reason"]) < 1_000) == (3, True)
    assert len(shown) < 10_000
    for name in ("summary.md", "comment.md"):
        text = (project.root / ".skillgym-results/2" / name).read_text(encoding="utf-8")
        assert "cannot be used" in text
        assert ("<img" in text, "@everyone" in text) == (False, False)


def test_results_that_no_run_could_read_are_not_added(project):
    """Else one case would make every later comparison inconclusive."""
    project.push()
    project.commit(skillgym_config_yaml=config(runner(AGENT, model="m" * 5_000)))
    code, _, shown = project.push()
    assert (code, "the results were not added to the store: " in shown) == (0, True), shown
    project.commit(skillgym_config_yaml=config(runner(AGENT)))
    assert project.propose()[1]["run"]["comparison"]["verdict"] == "no-regression-shown"


def test_keys_are_not_stored(project):
    key = f"ghp_{'a1B2' * 9}"
    project.commit(bench__core_json=suite(*EIGHT, case(f"with {key}")))
    _, _, shown = project.push()
    assert "results added to the store" in shown
    (file,) = (project.root.parent / "store").rglob("*.jsonl")
    assert key not in file.read_text()
    assert project.propose()[1]["run"]["comparison"]["pairs"] == 9


def test_shards_are_stored_and_compared_by_the_job_that_puts_them_together(project):
    def sharded(name: str, *args: str):
        for part in ("1/2", "2/2"):
            output = f".skillgym-results/{name}-{part[0]}"
            ran = skillgym(
                "run", "bench", "--store", project.store, "--shard", part, "--output", output, cwd=project.root
            )
            assert "results added" not in ran.err
        runs = f".skillgym-results/{name}-*"
        output = f".skillgym-results/{name}"
        return skillgym("report", runs, "--store", project.store, "--output", output, *args, cwd=project.root)

    first = sharded("first", "--store-write")
    assert (first.code, "results added to the store" in first.err) == (0, True), first.err
    project.commit(AGENTS_md=BAD)
    second = sharded("second", "--fail-on", "regression")
    assert (second.code, "the pass rate dropped by 100 points" in second.err) == (1, True), second.err


def test_a_dry_run_says_what_a_comparison_with_the_store_can_show(project):
    project.push()
    ran = skillgym("run", "bench", "--store", project.store, "--dry-run", cwd=project.root)
    assert (ran.code, "drop" in ran.out) == (0, True), ran.err


def test_auto_needs_a_store(project):
    ran = skillgym("run", "bench", "--baseline", "auto", cwd=project.root)
    assert (ran.code, "baseline auto without a store" in ran.err) == (2, True)
    ran = skillgym("run", "bench", "--store", "brunch", cwd=project.root)
    assert (ran.code, "unknown store 'brunch'" in ran.err) == (2, True)
    ran = skillgym("run", "bench", "--store", "artifact=../x", cwd=project.root)
    assert (ran.code, "'artifact=../x' does not name a workflow's file" in ran.err) == (2, True)


def cancelled(project: Project, remote: str, waiting: Callable[[], object]) -> str:
    """What a run says that is cancelled while git waits for a remote; it has to have its reports all the same."""
    git_in(project.root, "remote", "add", "origin", remote)
    argv = (PROGRAM, "run", "bench", "--store", "branch", "--store-write", "--output", ".skillgym-results/1")
    with subprocess.Popen(argv, cwd=project.root, env=environment(), stderr=subprocess.PIPE, text=True) as running:
        waiting()
        running.terminate()
        shown = running.communicate(timeout=HUNG)[1]
    assert running.returncode == 130, shown
    file = project.root / ".skillgym-results/1/results.json"
    assert json.loads(file.read_text(encoding="utf-8"))["run"]["status"] == "cancelled"
    return shown


def test_a_run_that_is_cancelled_while_it_pushes_has_its_reports(project):
    remote, pushing = project.root.parent / "remote.git", project.root.parent / "pushing"
    git_in(project.root.parent, "init", "--quiet", "--bare", str(remote))
    os.mkfifo(pushing)
    hook = remote / "hooks" / "pre-receive"
    hook.write_text(f"#!/bin/sh\necho now > {pushing}\nexec sleep 600 >/dev/null 2>&1\n")
    hook.chmod(0o755)
    shown = cancelled(project, str(remote), pushing.read_text)
    assert "the results were not added to the branch skillgym-data: the run was cancelled" in shown
    assert "8 results" in shown


def test_a_run_that_is_cancelled_while_it_reads_the_store_has_its_reports(project):
    with socket.create_server(("127.0.0.1", 0)) as server, ExitStack() as connections:
        server.settimeout(HUNG)
        address = f"http://127.0.0.1:{server.getsockname()[1]}/r.git"
        shown = cancelled(project, address, lambda: connections.enter_context(server.accept()[0]))  # it never answers
        assert "cancelled" in shown
