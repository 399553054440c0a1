"""Files before and after the edits of a transcript."""

from __future__ import annotations

import pytest

from skillgym_action.authoring.promotion.files import (
    PromotedFile,
    changed_files,
    changes_of,
    hunks_of_diff,
    relative_path,
    tree_before,
)
from skillgym_action.authoring.promotion.local_session import FileEdit, Hunk

COMMITTED = {
    "notes.md": PromotedFile(content=b"one\ntwo\nthree\n"),
    "run.sh": PromotedFile(content=b"echo", mode=0o755),
    "link": PromotedFile(link="notes.md"),
}


def after(*edits: FileEdit):
    return changed_files(edits, "/w", COMMITTED)


@pytest.mark.parametrize(
    ("path", "relative"),
    [
        ("a/b.js", "a/b.js"),
        ("/w/a.js", "a.js"),
        ("./x/../a.js", "a.js"),
        ("../a.js", None),
        ("/w2/a.js", None),
        ("/w/../etc/passwd", None),
        ("/w", None),
        (".git/config", None),
        ("/w/sub/.GIT/hooks/x", None),
        ("a\0b", None),
    ],
)
def test_only_paths_in_the_session_s_folder_count(path, relative):
    assert relative_path(path, "/w") == relative


def test_edits_are_applied_one_after_the_other():
    found = after(
        FileEdit(path="/w/new.js", content="a\n"),
        FileEdit(path="new.js", hunks=(Hunk(line=1, lines=("-a", "+b")),)),
        FileEdit(path="notes.md", hunks=hunks_of_diff("@@ -2 +2,2 @@\n-two\n+2\n+2.5\n@@ -3,0 +5 @@\n+four\n")),
        FileEdit(path="run.sh", deleted=True),
    )
    assert found.after == {"new.js": b"b\n", "notes.md": b"one\n2\n2.5\nthree\nfour\n", "run.sh": None}
    assert (found.outside, found.unknown, found.before) == ([], [], {})


def test_a_hunk_at_another_line_fits_only_where_its_text_is_the_only_one():
    assert after(FileEdit(path="notes.md", hunks=(Hunk(line=9, lines=(" two", "+x")),))).after == {
        "notes.md": b"one\ntwo\nx\nthree\n"
    }
    doubled = {"a": PromotedFile(content=b"x\ny\nx\n")}
    found = changed_files([FileEdit(path="a", hunks=(Hunk(line=9, lines=("-x", "+z")),))], "/w", doubled)
    assert (found.after, found.unknown) == ({}, ["a"])


def test_a_file_with_an_edit_that_does_not_fit_is_unknown_also_for_later_edits():
    found = after(
        FileEdit(path="notes.md", hunks=(Hunk(line=1, lines=("-no such line", "+x")),)),
        FileEdit(path="notes.md", content="whole\n"),
    )
    assert (found.after, found.unknown) == ({}, ["notes.md"])


def test_a_file_keeps_that_it_has_no_line_end_at_its_end():
    assert after(FileEdit(path="run.sh", hunks=(Hunk(line=1, lines=("-echo", "+ls")),))).after == {"run.sh": b"ls"}


def test_what_was_there_before_is_taken_from_the_transcript_where_it_differs_from_the_commit():
    found = after(FileEdit(path="notes.md", before="uncommitted\n", content="new\n"))
    assert found.before == {"notes.md": b"uncommitted\n"}
    assert tree_before(COMMITTED, found)["notes.md"].content == b"uncommitted\n"
    same = after(FileEdit(path="notes.md", before="one\ntwo\nthree\n", content="new\n"))
    assert same.before == {}


def test_a_move_deletes_the_old_path_and_never_leads_out():
    moved = after(FileEdit(path="notes.md", hunks=(Hunk(line=1, lines=("-one", "+1")),), moved_to="/w/read.md"))
    assert moved.after == {"notes.md": None, "read.md": b"1\ntwo\nthree\n"}
    out = after(FileEdit(path="notes.md", content="x", moved_to="/etc/x"))
    assert (out.after, out.outside) == ({}, ["/etc/x"])


def test_changes_are_files_that_differ_and_deleted_ones_that_were_there():
    found = after(
        FileEdit(path="notes.md", content="one\ntwo\nthree\n"),
        FileEdit(path="run.sh", content="ls"),
        FileEdit(path="gone", deleted=True),
        FileEdit(path="link", deleted=True),
    )
    files, deleted = changes_of(COMMITTED, found)
    assert files == {"run.sh": PromotedFile(content=b"ls", mode=0o755)}
    assert deleted == ["link"]
