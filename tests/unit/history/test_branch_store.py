"""The store on a branch, with real git and a remote in a folder."""

from __future__ import annotations

import os
from base64 import b64decode
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest

from fakes_clock import FakeClock
from scratch import IDENTITY, git_in
from skillgym_action.history import StoreError
from skillgym_action.history import branch_store as module
from skillgym_action.history.branch_store import COMMITS_UNTIL_SQUASH, BranchStore, Remote
from skillgym_action.model.limits import MAX_STORE_BYTES
from skillgym_action.system.cancellation import Cancellation
from skillgym_action.system.processes.launcher import ProcessLauncher

AT = datetime(2026, 1, 31, 23, 59, tzinfo=UTC)


@pytest.fixture
def remote(tmp_path):
    folder = tmp_path / "remote.git"
    folder.mkdir()
    git_in(folder, "init", "--quiet", "--bare")
    return folder


@pytest.fixture
def store(remote):
    with (
        closing(Cancellation()) as cancelled,
        ProcessLauncher(environment=os.environ, cancelled=cancelled) as processes,
    ):
        yield BranchStore(Remote(url=str(remote)), processes, FakeClock())


def contents(store):
    return [text.content[:9] for text in store.newest_first()]


def test_runs_are_commits_and_read_the_newest_first(store, remote):
    assert contents(store) == []
    for number in range(3):
        store.add(b"%d\n" % number, str(number), AT + timedelta(days=number))
    assert contents(store) == [b"2", b"1", b"0"]
    assert git_in(remote, "rev-list", "--count", module.STORE_BRANCH) == "3\n"


@pytest.mark.slow
def test_the_oldest_runs_are_dropped_and_other_files_stay(store, remote):
    line = b"x" * (MAX_STORE_BYTES // 2)
    for number in range(3):
        store.add(b"%d" % number + line + b"\n", str(number), AT + timedelta(days=number))
    assert [text[:1] for text in contents(store)] == [b"2"]
    assert "README.md" in git_in(remote, "ls-tree", "-r", "--name-only", module.STORE_BRANCH)


def test_the_history_begins_anew_after_some_commits(store, remote, tmp_path):
    store.add(b"1\n", "1", AT)
    clone = tmp_path / "clone"
    git_in(tmp_path, "clone", "--quiet", "--branch", module.STORE_BRANCH, str(remote), str(clone))
    for number in (COMMITS_UNTIL_SQUASH - 1, COMMITS_UNTIL_SQUASH):
        message = f"--message=Results\n\nCommits since the history began: {number}\n"
        git_in(clone, *IDENTITY, "commit", "--quiet", "--allow-empty", message)
    git_in(clone, "push", "--quiet", "origin", module.STORE_BRANCH)
    store.add(b"2\n", "2", AT + timedelta(days=1))
    assert git_in(remote, "rev-list", "--count", module.STORE_BRANCH) == "1\n"
    assert contents(store) == [b"2", b"1"]


def test_where_the_history_may_not_begin_anew_it_grows(store, remote, tmp_path):
    """A rule for branches may forbid it, which must not end what is stored."""
    git_in(remote, "config", "receive.denyNonFastForwards", "true")
    store.add(b"1\n", "1", AT)
    clone = tmp_path / "clone"
    git_in(tmp_path, "clone", "--quiet", "--branch", module.STORE_BRANCH, str(remote), str(clone))
    message = f"--message=Results\n\nCommits since the history began: {COMMITS_UNTIL_SQUASH}\n"
    git_in(clone, *IDENTITY, "commit", "--quiet", "--allow-empty", message)
    git_in(clone, "push", "--quiet", "origin", module.STORE_BRANCH)
    for number in (2, 3):
        store.add(b"%d\n" % number, str(number), AT + timedelta(days=number))
    assert contents(store) == [b"3", b"2", b"1"]
    assert git_in(remote, "rev-list", "--count", module.STORE_BRANCH) == "4\n"


def test_a_remote_that_is_not_there_is_an_error_without_credentials(tmp_path):
    url = f"file://user:hunter2@{tmp_path}/nothing.git"
    with (
        closing(Cancellation()) as cancelled,
        ProcessLauncher(environment=os.environ, cancelled=cancelled) as processes,
    ):
        broken = BranchStore(Remote(url=url), processes, FakeClock())
        with pytest.raises(StoreError, match="the branch skillgym-data: ") as failed:
            contents(broken)
    assert "hunter2" not in str(failed.value)


def test_the_token_is_in_no_argument_and_only_for_the_repository():
    remote = Remote(url="https://github.example/octo/skills.git", token="abc")
    assert "abc" not in repr(remote)
    variables = remote.variables()
    assert variables["GIT_CONFIG_KEY_0"] == "http.https://github.example/octo/skills.git.extraheader"
    assert "GIT_CONFIG_COUNT" not in Remote(url="file:///srv/skills.git", token="abc").variables()


def test_credentials_of_an_address_are_in_no_argument():
    """Such as those that GitLab writes into the address of a checkout's remote."""
    remote = Remote(url="https://ci-token:hunter%402@gitlab.example:8443/octo/skills.git")
    assert remote.address == "https://gitlab.example:8443/octo/skills.git"
    assert "hunter" not in repr(remote)
    variables = remote.variables()
    assert variables["GIT_CONFIG_KEY_0"] == "http.https://gitlab.example:8443/octo/skills.git.extraheader"
    scheme, _, sent = variables["GIT_CONFIG_VALUE_0"].removeprefix("Authorization: ").partition(" ")
    assert (scheme, b64decode(sent)) == ("Basic", b"ci-token:hunter@2")
    for other in ("git@gitlab.example:octo/skills.git", "ssh://git@gitlab.example/octo/skills.git", "/srv/skills.git"):
        assert Remote(url=other).address == other
        assert "GIT_CONFIG_COUNT" not in Remote(url=other).variables()


@pytest.mark.timed
def test_a_transfer_over_ssh_that_does_not_end_is_an_error(tmp_path):
    """What limits slow transfers over HTTP does nothing there."""
    remote = Remote(url="ssh://example.com/r.git", environment={"GIT_SSH_COMMAND": "exec sleep 60 #"})
    with (
        closing(Cancellation()) as cancelled,
        ProcessLauncher(environment=os.environ, cancelled=cancelled) as processes,
    ):
        store = BranchStore(remote, processes, FakeClock(), seconds=0.5)
        told = "the branch skillgym-data: git timed out after 0.5 s; see whether the remote answers"
        for use in (lambda: contents(store), lambda: store.add(b"1", "1", AT)):
            with pytest.raises(StoreError) as found:
                use()
            assert str(found.value) == told
