"""The checkout: which commit it has, and what that merges."""

from __future__ import annotations

from contextlib import closing

import pytest

from action_step import merged_on_github
from on_github import SHA
from scratch import git_in, repository
from skillgym_action.cancellation import Cancellation
from skillgym_action.processes.launcher import ProcessLauncher
from skillgym_action.repository.repository import Repository


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
