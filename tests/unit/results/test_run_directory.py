"""The run directory door: whole files, no secrets, one clear error when it cannot be written."""

from __future__ import annotations

import base64
import json
import os
import resource
import subprocess
import sys

import pytest

from scratch import written
from skillgym_action.model.errors import OutputError
from skillgym_action.results.journal_file import JOURNAL
from skillgym_action.results.run_directory import REPORTS, STORE, WORKSPACES, RunDirectory, suite_folders
from skillgym_action.text.redaction import Redactor

SECRET = "s3cret/value+1"


@pytest.fixture
def directory(tmp_path):
    with RunDirectory(tmp_path / "run", Redactor([SECRET])) as opened:
        yield opened


def test_no_suite_has_the_folder_of_something_else():
    taken = [*REPORTS, JOURNAL, WORKSPACES, STORE, ".gitignore", "core_suite-1.log"]
    for name in (*taken, *(one.upper() for one in taken)):
        folder = suite_folders([name])[name]
        assert folder.casefold() not in taken
        assert suite_folders([folder]) == {folder: folder}
    fine = ("core", "v1.2", "results", "a.json5", "EVAL")
    assert suite_folders(fine) == {name: name for name in fine}


@pytest.mark.parametrize("kind", ["file", "link", "folder"])
def test_a_new_folder_replaces_what_is_there(directory, tmp_path, kind):
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").write_text("kept")
    there = directory.folder("a/repeat-1") / "session-2"
    if kind == "folder":
        there.mkdir()
        (there / "file").write_text("old")
    else:
        there.symlink_to(kept) if kind == "link" else there.write_text("old")
    made = directory.folder("a/repeat-1/session-2")
    assert (made.is_symlink(), list(made.iterdir())) == (False, [])
    assert (kept / "file").read_text() == "kept"


# --- secrets ----------------------------------------------------------------------------------------


def test_no_artifact_holds_a_secret(directory):
    directory.write_journal_line(SECRET)
    directory.write(directory.path / "small.json", f"a {SECRET} b")
    directory.write_whole(directory.path / "report.txt", iter([f"a {SECRET}", " b"]))
    assert (directory.path / "journal.jsonl").read_text() == "***\n"
    assert (directory.path / "small.json").read_text() == "a *** b"
    assert (directory.path / "report.txt").read_text() == "a *** b"


@pytest.mark.parametrize(
    ("printed", "left"),
    [
        pytest.param(f"key={SECRET}\n".encode(), b"key=***\n", id="as it is"),
        pytest.param(base64.b64encode(SECRET.encode()), b"***E=", id="in base64"),
        pytest.param(b"s3cret%2Fvalue%2B1", b"***", id="in a URL"),
        pytest.param(
            b"\xff\r\n" + SECRET.encode() + b"\r\xfe", b"\xff\r\n***\r\xfe", id="between bytes that are no text"
        ),
        pytest.param(b"ghp_" + b"a" * 36, b"***", id="a key nobody told us of"),
        pytest.param(b"nothing\r\nhere \xff", b"nothing\r\nhere \xff", id="nothing to hide"),
        pytest.param(b"", b"", id="nothing at all"),
    ],
)
def test_what_programs_wrote_is_rewritten_without_secrets(directory, printed, left):
    log = directory.path / "stdout.log"
    log.write_bytes(printed)
    directory.redact(log)
    assert log.read_bytes() == left


def test_a_large_file_is_rewritten_piece_by_piece(directory):
    log = directory.path / "stdout.log"
    around = b"x" * (4 * 1024 * 1024 - 7)  # the secret lies across the border of two pieces
    log.write_bytes(around + SECRET.encode() + around)
    directory.redact(log)
    assert log.read_bytes() == around + b"***" + around


def test_a_rewritten_file_keeps_its_mode(directory):
    script = directory.path / "run.sh"
    script.write_text(f"#!/bin/sh\n# {SECRET}\n")
    script.chmod(0o755)
    directory.redact(script)
    assert (script.read_text(), os.access(script, os.X_OK)) == ("#!/bin/sh\n# ***\n", True)


def test_redaction_neither_follows_symlinks_nor_needs_files(directory, tmp_path):
    outside = written(tmp_path, {"outside.txt": SECRET}) / "outside.txt"
    link = directory.path / "link"
    link.symlink_to(outside)
    directory.redact(link, directory.path / "missing", directory.path)
    assert (outside.read_text(), link.is_symlink()) == (SECRET, True)


def test_the_last_record_is_kept(directory, tmp_path):
    records = [written(tmp_path, {name: name}) / name for name in ("a.jsonl", "b.jsonl")]
    target = directory.folder("core/one/sh/repeat-1") / "session.jsonl"
    directory.take(records, target)
    assert target.read_text() == "b.jsonl"


# --- whole files ------------------------------------------------------------------------------------


def test_a_report_that_fails_half_way_leaves_the_old_one(directory):
    report = directory.path / "results.json"
    directory.write_whole(report, ["old"])

    def pieces():
        yield "new, but"
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        directory.write_whole(report, pieces())
    assert report.read_text() == "old"
    assert [path.name for path in directory.path.iterdir() if "results" in path.name] == ["results.json"]


def test_a_report_may_go_into_a_folder_that_is_not_there_yet(directory, tmp_path):
    directory.write_whole(tmp_path / "a/b/junit.xml", ["<x/>"])
    assert (tmp_path / "a/b/junit.xml").read_text() == "<x/>"


def test_a_folder_for_artifacts_begins_empty(directory):
    written(directory.folder("core/one/sh/repeat-1"), {"error.json": "{}", "session-2/error.json": "{}"})
    assert list(directory.folder("core/one/sh/repeat-1").iterdir()) == []


@pytest.mark.parametrize(
    ("before", "ignored"),
    [
        pytest.param(None, True, id="a new folder ignores itself"),
        pytest.param({}, True, id="an empty one as well"),
        pytest.param({"mine.txt": "x"}, False, id="a folder somebody uses is left alone"),
    ],
)
def test_a_run_directory_is_nothing_to_commit(tmp_path, before, ignored):
    if before is not None:
        written(tmp_path / "run", before).mkdir(exist_ok=True)
    with RunDirectory(tmp_path / "run", Redactor()) as directory:
        assert (directory.path / ".gitignore").exists() is ignored


# --- a session to be played again -------------------------------------------------------------------


def test_a_recording_holds_what_playing_needs_and_no_place_of_this_machine(directory, tmp_path):
    folder = directory.folder("core/one/sh/repeat-1")
    report = {"cwd": "/tmp/skillgym-1/2/workspace", "finalOutput": "see /tmp/skillgym-1/2/workspace/a.txt"}
    written(
        folder,
        {"report.json": json.dumps(report), "workspace.json": "{}", "changes/a.txt": "a", "stdout.log": "not needed"},
    )
    (folder / "changes/link").symlink_to("a.txt")
    target = written(tmp_path / "recorded", {"stale.txt": "x"})
    directory.record("core/one/sh/repeat-1", target)
    recorded = sorted(path.relative_to(target).as_posix() for path in target.rglob("*"))
    assert recorded == ["changes", "changes/a.txt", "changes/link", "report.json", "workspace.json"]
    assert json.loads((target / "report.json").read_text()) == {
        "cwd": "/workspace",
        "finalOutput": "see /workspace/a.txt",
    }
    assert (target / "changes/link").is_symlink()


def test_a_session_without_a_report_is_not_recorded(directory, tmp_path):
    directory.folder("core/one/sh/repeat-1")
    directory.record("core/one/sh/repeat-1", tmp_path / "recorded")
    assert not (tmp_path / "recorded").exists()


# --- what cannot be written -------------------------------------------------------------------------

REMEDY = "name another path"


def test_a_file_in_the_way_is_an_output_error(tmp_path):
    written(tmp_path, {"run": "a file"})
    with pytest.raises(OutputError) as caught, RunDirectory(tmp_path / "run", Redactor()):
        pass
    assert str(caught.value) == f"cannot write {tmp_path}/run: File exists; {REMEDY}"


def test_an_artifact_is_not_written_through_a_link(directory, tmp_path):
    (tmp_path / "outside").write_text("mine")
    (directory.path / "report.json").symlink_to("../outside")
    with pytest.raises(OutputError):
        directory.write(directory.path / "report.json", "x")
    assert (tmp_path / "outside").read_text() == "mine"


@pytest.mark.parametrize(
    "write",
    [
        pytest.param(lambda directory: directory.write(directory.path / "blocked/x", "x"), id="an artifact"),
        pytest.param(lambda directory: directory.write_whole(directory.path / "blocked/x", ["x"]), id="a report"),
        pytest.param(lambda directory: directory.folder("blocked/x"), id="a folder"),
        pytest.param(
            lambda directory: directory.take([directory.path / "blocked"], directory.path / "blocked/x"), id="a record"
        ),
    ],
)
def test_whatever_cannot_be_written_is_an_output_error(directory, write):
    written(directory.path, {"blocked": "a file where a folder should be"})
    with pytest.raises(OutputError) as caught:
        write(directory)
    assert caught.value.exit_code == 3
    assert str(caught.value).endswith(f"; {REMEDY}")


WRITE_TOO_MUCH = """
import sys
from pathlib import Path
from skillgym_action.results.run_directory import RunDirectory, suite_folders
from skillgym_action.model.errors import OutputError
from skillgym_action.text.redaction import Redactor

with RunDirectory(Path(sys.argv[1]), Redactor()) as directory:
    report = directory.path / "results.json"
    directory.write_whole(report, ["old"])
    try:
        directory.write_whole(report, ["x" * 100_000])
    except OutputError as error:
        print(error)
    print(report.read_text(), sorted(path.name for path in directory.path.iterdir()))
"""


def test_a_full_disk_is_an_output_error_and_leaves_the_old_report(tmp_path):
    def no_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))

    argv = [sys.executable, "-c", "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)" + WRITE_TOO_MUCH]
    ran = subprocess.run([*argv, tmp_path / "run"], capture_output=True, text=True, check=True, preexec_fn=no_room)
    of_size = f"raise the limit of file sizes (ulimit -f), or {REMEDY}"
    assert ran.stdout.splitlines() == [
        f"cannot write {tmp_path}/run/results.json: File too large; {of_size}",
        "old ['.gitignore', 'journal.jsonl', 'results.json']",
    ]


# Permissions say nothing to root, hence another user in a process of its own.
ENTER_LOCKED = """
import os
import sys
from pathlib import Path
from skillgym_action.results.run_directory import RunDirectory
from skillgym_action.model.errors import OutputError
from skillgym_action.text.redaction import Redactor

directory = RunDirectory(Path("run"), Redactor())  # it imports modules, perhaps from a folder that only root may enter
os.chdir(sys.argv[1])
if os.geteuid() == 0:
    os.setuid(65534)
try:
    directory.__enter__()
except OutputError as error:
    print(error)
"""


def test_a_read_only_folder_is_an_output_error(tmp_path):
    (tmp_path / "locked").mkdir(mode=0o555)
    argv = [sys.executable, "-c", ENTER_LOCKED, tmp_path / "locked"]
    ran = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert ran.stdout == f"cannot write run: Permission denied; allow writing there, or {REMEDY}\n"
