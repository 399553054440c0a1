"""What an agent changed, as a unified diff."""

from __future__ import annotations

import os
import time

import pytest

from scratch import repository, world_in, written
from skillgym_action.model.suite import WorkspaceSpec
from skillgym_action.text.redaction import Redactor
from skillgym_action.workspaces.workspace import MAX_DIFF_FILE_BYTES
from ways_of_writing import lines


@pytest.fixture
def workspaces(tmp_path):
    with world_in(repository(tmp_path / "repo")) as services:
        yield services.workspaces


def started(workspaces, tmp_path, files):
    template = written(tmp_path / "t", files)
    workspace = workspaces.create(WorkspaceSpec(source="template", template=template))
    workspace.record_state()
    return workspace


def test_a_folded_secret_is_in_no_line_of_a_diff(workspaces, tmp_path):
    key = "Vq7xE4rT1yU8iO0pAs2dF5gH6jK9lX3cVbN"
    workspace = started(workspaces, tmp_path, {"a": f"1\n{lines(key, 10)}\n2\n", "gone": lines(key, 8)})
    (workspace.path / "gone").unlink()
    written(workspace.path, {"a": f"1\n{lines(key, 10)}\n3\n", "new": lines(key.encode().hex(), 10)})
    diff = workspace.diff(clean=Redactor([key]).text)
    assert [line for line in diff.splitlines() if line[1:] in ("***", "1", "2", "3")] == [
        *(" ***", " ***", " ***", "-2", "+3"), *["-***"] * 5, *["+***"] * 7,
    ]  # fmt: skip


def test_files_are_shown_as_git_shows_them(workspaces, tmp_path):
    workspace = started(workspaces, tmp_path, {"a.txt": "1\n2\n3\n", "d/gone": "x\n", "same": "s\n"})
    written(workspace.path, {"a.txt": "1\nzwei\n3", "new/b": "b\n"})
    (workspace.path / "d/gone").unlink()
    assert workspace.diff() == (
        "diff --git a/a.txt b/a.txt\n"
        "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n 1\n-2\n-3\n+zwei\n+3\n\\ No newline at end of file\n"
        "diff --git a/d/gone b/d/gone\ndeleted file mode 100644\n--- a/d/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
        "diff --git a/new/b b/new/b\nnew file mode 100644\n--- /dev/null\n+++ b/new/b\n@@ -0,0 +1 @@\n+b\n"
    )


def test_nothing_changed_is_an_empty_diff(workspaces, tmp_path):
    assert started(workspaces, tmp_path, {"a": "1"}).diff() == ""


def test_a_place_that_is_not_ours_has_no_diff(workspaces, tmp_path):
    assert workspaces.create(WorkspaceSpec(mode="none", cwd=tmp_path)).diff() is None


def test_modes_and_links(workspaces, tmp_path):
    workspace = started(workspaces, tmp_path, {"a": "1"})
    (workspace.path / "run").write_text("x\n")
    (workspace.path / "run").chmod(0o755)
    (workspace.path / "to").symlink_to("a")
    diff = workspace.diff()
    assert "b/run\nnew file mode 100755\n" in diff
    assert "b/to\nnew file mode 120000\n--- /dev/null\n+++ b/to\n@@ -0,0 +1 @@\n+a\n\\ No newline" in diff


def test_what_is_no_text_is_named(workspaces, tmp_path):
    workspace = started(workspaces, tmp_path, {"a": "1"})
    (workspace.path / "a").write_bytes(b"\0")
    (workspace.path / "big").write_bytes(b"x" * (MAX_DIFF_FILE_BYTES + 1))
    diff = workspace.diff()
    assert "Binary files a/a and b/a differ\n" in diff
    assert "Binary files /dev/null and b/big differ\n" in diff


def test_what_a_bootstrap_wrote_is_not_kept(workspaces, tmp_path):
    workspace = workspaces.create(WorkspaceSpec(source="template", template=written(tmp_path / "t", {"a": "1\n"})))
    with workspace.bootstrapping():
        written(workspace.path, {"a": "2\n"})
    written(workspace.path, {"a": "3\n"})
    assert workspace.diff() == "diff --git a/a b/a\nBinary files a/a and b/a differ\n"


def test_a_diff_has_an_end(workspaces, tmp_path):
    workspace = started(workspaces, tmp_path, {"a": "1"})
    size = MAX_DIFF_FILE_BYTES - 1
    for number in range(12):
        (workspace.path / f"f{number:02}").write_text("x" * size + "\n")
    assert workspace.diff().endswith("(and more: 4 of 12 changed files are left out)\n")


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        pytest.param("two\nlines", r'"a/two\nlines" "b/two\nlines"', id="two lines"),
        pytest.param("tab\t", r'"a/tab\t" "b/tab\t"', id="a tab"),
        pytest.param('a"b\\', r'"a/a\"b\\" "b/a\"b\\"', id="quotes"),
        pytest.param(os.fsdecode(b"caf\xe9"), r'"a/caf\351" "b/caf\351"', id="no text"),
        pytest.param("\u754c a", "a/\u754c a b/\u754c a", id="text"),
    ],
)
def test_names_are_written_as_git_writes_them(workspaces, tmp_path, name, shown):
    workspace = started(workspaces, tmp_path, {"kept": ""})
    written(workspace.path, {name: ""})
    assert workspace.diff() == f"diff --git {shown}\nnew file mode 100644\n"


def test_what_is_no_file_is_not_opened(workspaces, tmp_path):
    workspace = started(workspaces, tmp_path, {"kept": ""})
    os.mkfifo(workspace.path / "fifo")
    assert "Binary files /dev/null and b/fifo differ\n" in workspace.diff()


def numbered(count: int, step: int) -> str:
    return "".join(f"{number * step % 101}\n" for number in range(count))


@pytest.mark.timed
def test_files_that_take_long_to_compare_are_shown_as_replaced(workspaces, tmp_path):
    """With difflib alone these would take hours."""
    workspace = started(workspaces, tmp_path, {"a": "same\n" * 9 + numbered(60_000, 1) + "end\n"})
    written(workspace.path, {"a": "same\n" * 9 + numbered(60_000, 7) + "end\n"})
    began = time.process_time()
    lines = workspace.diff().splitlines()
    assert time.process_time() - began < 5
    assert lines[:7] == ["diff --git a/a b/a", "--- a/a", "+++ b/a", "@@ -8,60003 +8,60003 @@", "-same", "-same", "-0"]
    assert (len(lines), lines[-1]) == (4 + 2 * 60_003, "+end")


def test_a_large_file_with_two_small_changes_is_shown_as_git_shows_it(workspaces, tmp_path):
    lines = [f"{number}\n" for number in range(9_000)]
    workspace = started(workspaces, tmp_path, {"a": "".join(lines)})
    lines[5_000], lines[5_100] = "x\n", "y\n"
    written(workspace.path, {"a": "".join(lines)})
    hunks = [line for line in workspace.diff().splitlines() if line.startswith("@@")]
    assert hunks == ["@@ -4998,7 +4998,7 @@", "@@ -5098,7 +5098,7 @@"]
