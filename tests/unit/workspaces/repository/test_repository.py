"""The checkout: which commit it has, and what that merges."""

from __future__ import annotations

import json
import os
from contextlib import closing

import pytest

from action_step import merged_on_github
from builders import run_report
from on_github import SHA
from scratch import git_in, repository, skillgym, suite, written
from skillgym_action.reports import reporter_named
from skillgym_action.system.cancellation import Cancellation
from skillgym_action.system.processes.launcher import ProcessLauncher
from skillgym_action.workspaces.repository.repository import (
    HEAD_BYTES,
    Repository,
    is_results_document,
    repository_root,
)


@pytest.fixture
def processes():
    with closing(Cancellation()) as cancelled, ProcessLauncher(environment={}, cancelled=cancelled) as launcher:
        yield launcher


def test_the_parents_of_a_merge_are_known_in_a_checkout_of_depth_1(tmp_path, processes):
    root = repository(tmp_path / "r", git=True)
    base = git_in(root, "rev-parse", "HEAD").strip()
    merge = merged_on_github(root)
    assert git_in(root, "rev-list", "--count", "HEAD").strip() == "1"
    assert (Repository(root, processes).commit(), Repository(root, processes).merge_parents()) == (merge, (base, SHA))


@pytest.mark.parametrize("git", [True, False])
def test_what_is_no_merge_has_none(tmp_path, processes, git):
    assert Repository(repository(tmp_path / "r", git=git), processes).merge_parents() == ()


NO_REPOSITORIES = [
    ("an empty folder", {}),
    ("a folder without HEAD", {"config": "[core]\n", "hooks/pre-commit": ""}),
    ("an empty file", ""),
    ("a file of something else", "see elsewhere\n"),
]


@pytest.mark.parametrize("content", [row[1] for row in NO_REPOSITORIES], ids=[row[0] for row in NO_REPOSITORIES])
def test_a_git_that_is_none_makes_no_repository(tmp_path, processes, content):
    folder = repository(tmp_path / "above/in")
    for above in (folder, folder.parent):
        if isinstance(content, str):
            (above / ".git").write_text(content)
        else:
            (above / ".git").mkdir()
            written(above / ".git", content)
    assert repository_root(folder / "bench") == folder / "bench"
    assert not Repository(folder, processes).has_git
    assert "bench/core.json" in list(Repository(folder, processes).files(folder))
    assert skillgym("check", cwd=folder).code == 0


def test_what_is_no_repository_does_not_hide_the_one_above(tmp_path, processes):
    root = repository(tmp_path / "r", git=True)
    (root / "bench/.git").mkdir()
    assert repository_root(root / "bench") == root
    git_in(root, "worktree", "add", "--quiet", "../tree")
    assert repository_root(tmp_path / "tree/bench") == tmp_path / "tree"
    assert Repository(tmp_path / "tree", processes).has_git
    (tmp_path / "alone").mkdir()
    (tmp_path / "alone/.git").symlink_to("nowhere")
    assert repository_root(tmp_path / "alone") == tmp_path / "alone"


REMOTE = "refs/remotes/origin"


@pytest.mark.parametrize(
    ("commands", "branch"),
    [
        ((), "main"),
        (("branch -m trunk",), "trunk"),
        (("checkout -q -b change",), "main"),
        (("branch -m master", "checkout -q -b change"), "master"),
        (("checkout -q -b change", "tag main"), "main"),
        (("branch -m change", "tag main"), "change"),
        ((f"update-ref {REMOTE}/master HEAD",), "master"),
        ((f"update-ref {REMOTE}/x/y HEAD", f"symbolic-ref {REMOTE}/HEAD {REMOTE}/x/y"), "x/y"),
        ((f"symbolic-ref {REMOTE}/HEAD {REMOTE}/renamed",), "main"),
        ((f"update-ref {REMOTE}/HEAD HEAD",), "main"),
        (("checkout -q --detach", "branch -D main"), "main"),
        (("checkout -q --orphan other", "branch -D main"), "other"),
    ],
)
def test_the_default_branch_is_the_base_of_changes_or_else_the_one_checked_out(tmp_path, processes, commands, branch):
    root = repository(tmp_path / "r", git=True)
    for command in commands:
        git_in(root, *command.split())
    assert Repository(root, processes).default_branch() == branch


def test_without_git_the_default_branch_is_main(tmp_path, processes):
    assert Repository(tmp_path, processes).default_branch() == "main"


# --- results of earlier runs ---------------------------------------------------------------------------


def results(kind: str, text: str = "edit passed\nfix failed $1: x") -> str:
    return "".join(reporter_named(kind)(run_report(text)))


LONG = 'a\\"' * HEAD_BYTES
WRITTEN = {
    "own": results("results"),
    "x-bench": results("x-bench"),
    "several": results("x-bench", "suite a/x.json\na passed\nsuite a/y.json\nb passed"),
    "cost unknown": results("x-bench", "a passed $?"),
    "a long name": results("x-bench").replace('"core"', json.dumps(LONG)),
}


@pytest.mark.parametrize("text", WRITTEN.values(), ids=WRITTEN)
def test_results_that_this_tool_wrote_are_recognized(tmp_path, text):
    written(tmp_path, {"results.JSON": text, "results.txt": text})
    (tmp_path / "link.json").symlink_to("results.JSON")
    (tmp_path / "folder.json").mkdir()
    found = [path.name for path in sorted(tmp_path.iterdir()) if is_results_document(path)]
    assert found == ["results.JSON"]


@pytest.mark.parametrize("text", ["", "{}", "[]", suite(), '{"suite": "core", "passed": true}', '{"schema": 1}'])
def test_other_json_is_not(tmp_path, text):
    written(tmp_path, {"a.json": text})
    assert not is_results_document(tmp_path / "a.json")


@pytest.mark.parametrize("git", [True, False])
def test_they_are_not_in_copies_unless_git_tracks_them(tmp_path, processes, git):
    root = repository(tmp_path / "r", {"sub/tracked.json": results("results")}, git=git)
    written(root, {"sub/new.json": results("x-bench"), "sub/other.json": "{}"})
    repo = Repository(root, processes)
    left = [f"sub/{name}" for name in (("other.json", "tracked.json") if git else ("other.json",))]
    assert [name for name in repo.files(root) if name.startswith("sub/")] == left
    folder = os.open(root / "sub", os.O_RDONLY)
    repo.copy_folder(folder, root / "sub", tmp_path / "copy", ())
    os.close(folder)
    assert sorted(f"sub/{path.name}" for path in (tmp_path / "copy").iterdir()) == left
