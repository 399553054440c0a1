"""Which workspaces stay until the end of the run, and that none stays longer."""

from __future__ import annotations

import pytest

from scratch import git_in, repository, world_in
from skillgym_action.model.suite import WorkspaceSpec
from skillgym_action.workspaces.workspace import SMALL_WORKSPACE_BYTES, SMALL_WORKSPACE_ENTRIES


@pytest.fixture
def services(tmp_path):
    with world_in(repository(tmp_path / "repo")) as services:
        yield services


def retired_after(services, files: dict[str, int], *, determined: bool = True) -> list[str]:
    """What is left of a session's workspace once it was discarded: the relative paths of its files."""
    workspace = services.workspaces.create(WorkspaceSpec(source="empty"))
    workspace.record_state()
    for name, size in files.items():
        (workspace.path / name).write_bytes(b"x" * size)
    if determined:
        workspace.changes()
    services.workspaces.discard(workspace)
    assert not workspace.path.exists()
    return sorted(path.name for path in (services.workspaces.root / "retired").rglob("*") if path.is_file())


def test_a_small_workspace_is_moved_away_and_goes_with_the_run(tmp_path):
    with world_in(repository(tmp_path / "repo")) as services:
        assert retired_after(services, {"a.txt": 1, "b.txt": SMALL_WORKSPACE_BYTES - 1}) == ["a.txt", "b.txt"]
        root = services.workspaces.root
    assert not root.exists()


@pytest.mark.parametrize(
    "files",
    [
        pytest.param({"a.txt": SMALL_WORKSPACE_BYTES + 1}, id="bytes"),
        pytest.param({f"{number}.txt": 0 for number in range(SMALL_WORKSPACE_ENTRIES + 1)}, id="entries"),
    ],
)
def test_a_larger_workspace_is_removed_at_once(services, files):
    assert retired_after(services, files) == []


def test_a_workspace_whose_size_nobody_determined_is_removed_at_once(services):
    assert retired_after(services, {"a.txt": 1}, determined=False) == []


def test_a_workspace_with_a_git_repository_is_removed_at_once(services):
    workspace = services.workspaces.create(WorkspaceSpec(source="empty"))
    workspace.record_state()
    git_in(workspace.path, "init", "--quiet")
    (workspace.path / "a.txt").touch()
    workspace.changes()
    services.workspaces.discard(workspace)
    assert list((services.workspaces.root / "retired").iterdir()) == []


def test_a_session_that_follows_finds_nothing_of_the_one_before(services):
    retired_after(services, {"a.txt": 1})
    following = services.workspaces.create(WorkspaceSpec(source="empty"))
    assert list(following.path.iterdir()) == []
