"""The tool's own look at a workspace with many files: what it costs, and how it ends early."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

import psutil
import pytest

from bench_runs import Bench, statuses
from growth import exponent
from scratch import repository, world_in, written
from skillgym_action.model.limits import MAX_LISTED_CHANGES
from skillgym_action.model.suite import WorkspaceSpec
from skillgym_action.system.cancellation import Cancellation
from skillgym_action.system.files.open_below import FOLDER_FLAGS
from skillgym_action.system.processes.launcher import ProcessLauncher
from skillgym_action.system.processes.users import agent_user
from skillgym_action.workspaces.archive import save_workspace
from skillgym_action.workspaces.look import Look
from skillgym_action.workspaces.session_folder import LocalFolder, SessionFolder
from skillgym_action.workspaces.workspace import Changes
from table_rows import each_row_holds
from waiting import until, until_blocked

if TYPE_CHECKING:
    from pathlib import Path

IS_ROOT = os.geteuid() == 0
FILES = "import os, sys\nfor i in range(int(sys.argv[1])): os.makedirs(f'd{i // 500}', exist_ok=True); open(f'd{i // 500}/f{i}.js', 'w').close()"  # noqa: E501


def with_files(folder: Path, number: int) -> None:
    """Put so many new files into a folder, 500 in each of its folders."""
    subprocess.run([sys.executable, "-c", FILES, str(number)], cwd=folder, check=True)


@pytest.fixture
def cancelled():
    made = Cancellation()
    yield made
    made.close()


@pytest.fixture
def workspaces(tmp_path):
    with world_in(repository(tmp_path / "repo")) as services:
        yield services.workspaces


def started(workspaces):
    workspace = workspaces.create(WorkspaceSpec(source="empty"))
    workspace.record_state()
    return workspace


# --- many files -------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_look_at_new_files_takes_time_in_proportion_at_most(workspaces):
    """npm installs tens of thousands."""
    sizes = (5_000, 200_000)
    found = {}
    for size in sizes:
        found[size] = started(workspaces)
        with_files(found[size].path, size)

    def look(size):
        workspace = found[size]
        workspace.forget_changes()
        changes = workspace.changes()
        assert len(changes.created) == size
        workspace.diff(changes)
        changes.listed()
        workspace.files.changed_names()

    assert exponent(look, *sizes) < 1.25


def test_changes_that_are_too_many_to_be_listed_are_counted(tmp_path):
    more = 7
    bench = Bench(tmp_path)
    script = f"""mkdir d; cd d; seq -f 'f%06.0f' {MAX_LISTED_CHANGES + more} | xargs touch; echo > ../out.txt"""
    report = bench.run(script, {"id": "one", "prompt": "p", "expect": ["file:out.txt exists"]}, keep="changed")
    assert statuses(report) == ["passed"]
    folder = bench.artifact("core/one/sh/repeat-1")
    listed = json.loads((folder / "workspace.json").read_text())
    assert (len(listed["created"]), listed["leftOut"], listed["complete"]) == (
        MAX_LISTED_CHANGES,
        {"created": more + 1},
        False,
    )
    total = MAX_LISTED_CHANGES + more + 1
    assert (
        (folder / "changes.diff")
        .read_text()
        .endswith(f"(and more: {more + 1} of {total} changed files are left out)\n")
    )


def test_each_kind_of_change_is_counted():
    paths = tuple(f"{number:06}" for number in range(MAX_LISTED_CHANGES + 2))
    listed, more = Changes(created=("a",), modified=paths[:-1], deleted=paths).listed()
    assert listed == Changes(created=("a",), modified=paths[:-2], deleted=paths[:-2])
    assert more == {"modified": 1, "deleted": 2}
    assert Changes(created=("a",)).listed() == (Changes(created=("a",)), {})


# --- an early end -----------------------------------------------------------------------------------

TAKES_LONG = {
    "snapshot": lambda files: files.snapshot(),
    "begin": lambda files: files.begin(),
    "glob": lambda files: files.glob("**/*"),
    "files": lambda files: files.files(["d*/*"]),
    "digest": lambda files: files.digest("d0/f0.js"),
    "pack": lambda files: list(files.pack(None)),
    "pack some": lambda files: list(files.pack(["d0/f0.js"])),
    "whole": lambda files: list(files.whole()),
}


def test_work_on_files_ends_once_the_run_is_cancelled_or_the_time_is_over(tmp_path, cancelled):
    written(tmp_path, {"d0/f0.js": "x"})
    fd = os.open(tmp_path, FOLDER_FLAGS)
    look = Look(cancelled, 0.0)
    files = LocalFolder(fd, str(tmp_path), look)

    def ends_late(call):
        call(files)
        with look.limited(), pytest.raises(TimeoutError, match=r"^looking at its files took more than 0 s$"):
            call(files)
        call(files)

    def ends_cancelled(call):
        with pytest.raises(InterruptedError):
            call(files)

    each_row_holds(TAKES_LONG.items(), ends_late)
    cancelled.set()
    each_row_holds(TAKES_LONG.items(), ends_cancelled)
    assert not files.empty()
    assert (tmp_path / "d0/f0.js").exists()
    os.close(fd)


def test_a_workspace_is_not_looked_at_once_the_run_is_cancelled(workspaces):
    workspace = started(workspaces)
    with_files(workspace.path, 3)
    workspaces.cancelled.set()
    for call in (workspace.changes, workspace.diff, lambda: workspace.files.kind("d0")):
        with pytest.raises(InterruptedError):
            call()
    workspaces.discard(workspace)
    assert workspace.path.parent not in list(workspaces.root.iterdir())


class EndsTheRun:
    """A run directory; the run is cancelled when an archive in it is to be searched for secrets."""

    def __init__(self, services):
        self.open_path = services.directory.open_path
        self._services = services

    def clean(self, root, paths):
        assert (root / "d0/f2.js").exists()
        self._services.cancelled.set()
        return self._services.directory.clean(root, paths)


def test_an_archive_that_is_cancelled_is_removed(tmp_path):
    with world_in(repository(tmp_path / "repo")) as services:
        workspace = started(services.workspaces)
        with_files(workspace.path, 3)
        with pytest.raises(InterruptedError):
            save_workspace(workspace, workspace.changes(), EndsTheRun(services), "kept")
        assert [path for path in services.directory.path.iterdir() if path.is_dir()] == []


def test_a_workspace_that_takes_too_long_to_look_at_is_an_error_of_the_session(tmp_path):
    bench = Bench(tmp_path)
    report = bench.run("echo > out.txt", look_seconds=0.0)
    assert statuses(report) == ["errored"]
    (result,) = report.results
    message = "the workspace cannot be read: looking at its files took more than 0 s"
    assert (result.judgement.failure.message, result.judgement.origin) == (message, "workspace")


def test_a_wait_ends_with_what_is_waited_for_and_with_the_run(cancelled):
    read, write = os.pipe()
    look = Look(cancelled, 0.0)
    with look.limited(), pytest.raises(TimeoutError):
        look.wait(read)
    ended = []

    def wait():
        try:
            look.wait(read)
        except InterruptedError as error:
            ended.append(error)

    waiting = threading.Thread(target=wait)
    waiting.start()
    until_blocked(waiting)
    cancelled.set()
    waiting.join()
    assert len(ended) == 1
    os.write(write, b"x")
    look.wait(read)  # what is there is there
    os.close(read)
    os.close(write)


if IS_ROOT:

    def test_a_worker_that_takes_long_is_left_and_the_next_one_ends_it(workspaces, cancelled):
        """The worker reads a file whose content takes no space on the disk, for minutes."""
        user = agent_user("nobody")
        with ProcessLauncher(environment={}, cancelled=cancelled, user=user) as processes:
            look = Look(cancelled)
            folder = SessionFolder(
                workspaces.root / "session", processes.supervisor, user, user.session_identity(), look
            )
            folder.make("workspace")
            files = folder.files("workspace")
            files.write("large", b"")
            path = folder.path / "workspace/large"
            os.truncate(path, 2**42)
            errors = []

            def digest():
                try:
                    files.digest("large")
                except InterruptedError as error:
                    errors.append(error)

            reading = threading.Thread(target=digest, daemon=True)
            reading.start()
            (old,) = until(lambda: readers(path), "a worker that reads")
            until_blocked(reading)
            cancelled.set()
            until(lambda: errors, "the end of the call")
            folder.close()
            until(lambda: old not in readers(path), "the end of the worker")

    def readers(path: Path) -> list[int]:
        """The processes that have it open."""
        found = []
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                found += [process.pid for opened in process.open_files() if opened.path == str(path)]
        return found
