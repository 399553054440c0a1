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
