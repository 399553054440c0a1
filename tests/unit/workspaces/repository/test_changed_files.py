"""The files in which a checkout differs from a commit, with real git."""

from __future__ import annotations

import os

import pytest

from scratch import IDENTITY, committed, git_in, repository, world_in, written
from skillgym_action.workspaces.repository.changed_files import MissingObjectError, changed_files


@pytest.fixture
def root(tmp_path):
    files = {"a.txt": "one\n", "b/c d.txt": "two\n", "run.sh": "true\n", ".gitignore": "ignored/\n"}
    repository(tmp_path / "repository", files, git=True)
    (tmp_path / "repository/link").symlink_to("a.txt")
    committed(tmp_path / "repository")
    git_in(tmp_path / "repository", "tag", "base")
    return tmp_path / "repository"


def changed(root, commit="base"):
    with world_in(root) as services:
        return changed_files(root, services.processes, git_in(root, "rev-parse", commit).strip())


def test_nothing_has_changed(root):
    assert changed(root) == frozenset()


def test_a_commit_and_what_is_not_committed_both_count(root):
    written(root, {"a.txt": "other\n"})
    committed(root)
    written(root, {"b/c d.txt": "other\n", "new.txt": "new\n", "ignored/x.txt": "x"})
    assert changed(root) == {"a.txt", "b/c d.txt", "new.txt"}


def test_what_was_changed_and_changed_back_is_the_same(root):
    written(root, {"a.txt": "other\n"})
    git_in(root, "add", "a.txt")
    written(root, {"a.txt": "one\n"})
    assert changed(root) == {"a.txt"}  # what is staged would be committed
    git_in(root, "reset", "--quiet")
    assert changed(root) == frozenset()


def test_a_file_that_is_only_newer_is_the_same(root):
    os.utime(root / "a.txt", (1, 1))
    assert changed(root) == frozenset()


def test_a_file_of_the_same_size_and_time_as_before_the_last_add_is_read(root):
    time = (root / "a.txt").stat().st_mtime_ns
    written(root, {"a.txt": "eno\n"})
    os.utime(root / "a.txt", ns=(time, time))
    os.utime(root / ".git/index", ns=(time, time))
    assert changed(root) == {"a.txt"}


def test_deleted_and_renamed_files_count_with_all_their_names(root):
    (root / "a.txt").unlink()
    git_in(root, "mv", "b/c d.txt", "e.txt")
    assert changed(root) == {"a.txt", "b/c d.txt", "e.txt"}
    committed(root)
    assert changed(root) == {"a.txt", "b/c d.txt", "e.txt"}


def test_a_mode_and_the_target_of_a_link_count(root):
    (root / "run.sh").chmod(0o755)
    (root / "link").unlink()
    (root / "link").symlink_to("run.sh")
    assert changed(root) == {"run.sh", "link"}
    git_in(root, "config", "core.fileMode", "false")
    assert changed(root) == {"link"}


def test_a_link_in_place_of_a_file_counts_also_where_modes_do_not(root):
    git_in(root, "config", "core.fileMode", "false")
    (root / "a.txt").unlink()
    (root / "a.txt").symlink_to("run.sh")
    assert changed(root) == {"a.txt"}


def test_files_that_a_sparse_checkout_leaves_out_are_the_same(root):
    git_in(root, "update-index", "--skip-worktree", "a.txt")
    (root / "a.txt").unlink()
    assert changed(root) == frozenset()


def test_no_filter_of_the_repository_is_run(root, tmp_path):
    mark = tmp_path / "filtered"
    git_in(root, "config", "filter.own.clean", f"touch {mark}; cat")
    git_in(root, "config", "diff.own.textconv", f"touch {mark}; cat")
    git_in(root, "config", "core.fsmonitor", f"touch {mark}")
    written(root, {".gitattributes": "* filter=own diff=own\n", "a.txt": "other\n"})
    assert changed(root) == {".gitattributes", "a.txt"}
    assert not mark.exists()


def test_names_with_line_ends_and_quotes_are_as_they_are(root):
    names = {"two\nlines.txt", 'a "quote".txt', "ünïcode.txt"}
    for name in names:
        (root / name).write_text("x")
    committed(root)
    (root / "two\nlines.txt").write_text("y")
    assert changed(root) == names


def test_a_commit_that_is_not_in_the_clone_is_an_error(root):
    with world_in(root) as services, pytest.raises(MissingObjectError):
        changed_files(root, services.processes, "a" * 40)


@pytest.mark.parametrize("is_committed", [True, False])
def test_another_commit_of_a_submodule_is_a_change_whatever_gitmodules_says(root, is_committed):
    written(root, {".gitmodules": '[submodule "sub"]\n\tpath = sub\n\turl = ./sub\n\tignore = all\n'})
    (root / "sub").mkdir()
    git_in(root / "sub", "init", "--quiet")
    for tag in ("base", "head"):
        committed(root / "sub")
        commit = git_in(root / "sub", "rev-parse", "HEAD").strip()
        git_in(root, "update-index", "--add", "--cacheinfo", f"160000,{commit},sub")
        git_in(root, "add", ".gitmodules")
        if tag == "base" or is_committed:
            git_in(root, *IDENTITY, "commit", "--quiet", "--allow-empty", "--message=a commit of the submodule")
        git_in(root, "tag", "--force", tag)
    assert changed(root) == {"sub"}
