"""Copies of a session's workspace in the run directory, and workspaces made of them. Their content is untrusted.

The run directory is packed and uploaded by programs that follow links, block on FIFOs and fail on unreadable files.
So a copy contains only readable files and folders, and links that end at a regular file of the same copy.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
from contextlib import contextmanager, suppress
from dataclasses import field
from itertools import accumulate, chain
from pathlib import Path
from typing import TYPE_CHECKING

from skillgym_action.model.errors import UsageError
from skillgym_action.model.records import record
from skillgym_action.model.resource_limits import format_size
from skillgym_action.system.files.artifact_links import with_safe_links
from skillgym_action.system.files.folder import Folder
from skillgym_action.system.files.open_below import FOLDER_FLAGS
from skillgym_action.system.files.packing import copy_into
from skillgym_action.system.files.removal import remove_path
from skillgym_action.workspaces.look import Look
from skillgym_action.workspaces.session_folder import HOME, SCRATCH, WORKSPACE, SessionFolder
from skillgym_action.workspaces.workspace import SessionWorkspace, extract_bundle

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from skillgym_action.results.run_directory import RunDirectory
    from skillgym_action.system.processes.launcher import ProcessLauncher
    from skillgym_action.workspaces.workspace import Changes

MAX_SAVED_CHANGES_BYTES = 16 * 1024 * 1024  # bytes; with more, nothing is saved: half of the changes cannot be rejudged
MAX_SAVED_CHANGES_FILES = 2000  # files and links
MAX_ARCHIVED_WORKSPACE_BYTES = 64 * 1024 * 1024  # of a workspace that the agent is asked about, MAX_BUNDLE_BYTES
MAX_ARCHIVED_WORKSPACE_ENTRIES = 20_000  # files and folders
HISTORY = ".git"
NOTE = "not-archived.txt"


@record(kw_only=False)
class SavedChanges:
    """Whether all changed files were copied. ``links``: path and target of those that lead elsewhere, left out."""

    complete: bool
    links: Mapping[str, str] = field(default_factory=dict)


def save_changes(workspace: SessionWorkspace, changes: Changes, target: Path) -> SavedChanges:
    """Copy the changed files to ``target``, so that the session can be replayed.

    Nothing is copied if they are too many, too large or unreadable.
    """
    sizes = workspace.sizes(changes)
    if len(sizes) > MAX_SAVED_CHANGES_FILES or sum(sizes.values()) > MAX_SAVED_CHANGES_BYTES:
        return SavedChanges(complete=False)
    if not sizes:
        return SavedChanges(complete=True)
    links: dict[str, str] = {}
    try:
        extract_bundle(with_safe_links(workspace.inside.pack(sizes), links), target)
    except OSError:  # unreadable, gone, nested deeper than a path can be, or no space left
        return SavedChanges(complete=False)
    return SavedChanges(complete=True, links=links)


def searchable(sizes: Mapping[str, int]) -> list[str]:
    """The paths of as many files as may be stored, the smallest first. ``sizes``: bytes of each."""
    paths, total = sorted(sizes, key=sizes.__getitem__)[:MAX_SAVED_CHANGES_FILES], accumulate(sorted(sizes.values()))
    return [path for path, size in zip(paths, total, strict=False) if size <= MAX_SAVED_CHANGES_BYTES]


def archive_workspace(workspace: SessionWorkspace, directory: RunDirectory, kept: str, *, any_size: bool) -> None:
    """Save the whole workspace, or in its place a note if it is larger than what is archived of any session.

    ``any_size``: also one that is larger. Raises OSError, OutputError.
    """
    changes = workspace.changes()
    entries, size = workspace.extent()
    if any_size or (entries <= MAX_ARCHIVED_WORKSPACE_ENTRIES and size <= MAX_ARCHIVED_WORKSPACE_BYTES):
        save_workspace(workspace, changes, directory, kept)
        return
    most, limit = f"{MAX_ARCHIVED_WORKSPACE_ENTRIES:,}", format_size(MAX_ARCHIVED_WORKSPACE_BYTES)
    note = (
        f"This workspace was not archived: it had {entries:,} files and folders of {format_size(size)}, and at most "
        f"{most} of {limit} are archived. The session's own folder has what the agent changed: workspace.json, "
        "changes.diff and changes/.\n"
    )
    directory.write(directory.folder(kept) / NOTE, note)


def save_workspace(workspace: SessionWorkspace, changes: Changes, directory: RunDirectory, kept: str) -> None:
    """Copy the whole workspace to ``kept`` in the run directory, with secrets redacted, for people to look at.

    ``.git`` is copied from the template: objects that an agent commits are compressed, so they cannot be searched for
    secrets. Raises OSError, and then there is no copy, and OutputError.
    """
    target = directory.open_path / kept
    temporary = target.with_name(f".{os.urandom(8).hex()}")
    extract_bundle(with_safe_links(workspace.inside.pack(None)), temporary)
    try:
        _copy_history(workspace, temporary)
        paths = chain(_changed_paths(workspace, changes, temporary), _history_texts(temporary))
        for path in workspace.folder.look.checked(paths):
            directory.clean(temporary, (path,))
        remove_path(target)
        os.rename(temporary, target)
    # Also on cancellation: a copy that was not completely searched for secrets must not stay in the artifact.
    except BaseException:
        remove_path(temporary)
        raise


def _copy_history(workspace: SessionWorkspace, target: Path) -> None:
    template = workspace.history_template()
    if not template or not template.folder:
        return
    with suppress(FileNotFoundError, NotADirectoryError):
        history = os.open(HISTORY, FOLDER_FLAGS, dir_fd=template.folder.fd)
        try:
            os.mkdir(target / HISTORY, 0o700)
            copy = os.open(target / HISTORY, FOLDER_FLAGS)
            try:
                copy_into(Folder(history), Folder(copy))
            finally:
                os.close(copy)
        finally:
            os.close(history)


def _changed_paths(workspace: SessionWorkspace, changes: Changes, copy: Path) -> list[str]:
    """All paths in the copy except those known to be unchanged; also folders, whose names may be secrets.

    The copy is listed, not the workspace: packing opened folders that the agent had closed, so the copy may have more.
    """
    changed = {*changes.created, *changes.modified, *changes.deleted}
    folder = os.open(copy, FOLDER_FLAGS)
    try:
        found = Folder(folder).snapshot()
    finally:
        os.close(folder)
    return [path for path in found if path in changed or not workspace.existed(path)]


def _history_texts(copy: Path) -> Iterator[str]:
    """The files of ``.git`` that are not compressed."""
    for folder, folders, names in os.walk(copy / HISTORY):
        folders[:] = [name for name in folders if name != "objects"]
        for name in names:
            path = os.path.join(folder, name)
            if name != "index" and stat.S_ISREG(os.lstat(path).st_mode):
                yield os.path.relpath(path, copy)


# Homes of sessions, below the temporary directory: see ``Workspaces``. No other path is written to.
HOME_PATH = re.compile(rf"skillgym-\w+/[0-9a-f]+/{HOME}")


@contextmanager
def restored_session(
    processes: ProcessLauncher, home: Path, cwd: Path, *, records: Path, kept: Path | None
) -> Iterator[SessionWorkspace]:
    """A workspace at ``cwd`` with a home at ``home``, removed afterwards. Raises UsageError.

    ``records`` is copied to the home, ``kept`` to the workspace. Existing files are not changed, except in a ``cwd``
    that was not a workspace made for the session.

    Agents identify a session by the path of its workspace, and mention files by their paths; so both are where they
    were.
    """
    temporary = Path(tempfile.gettempdir()).resolve()
    if not home.is_relative_to(temporary) or not HOME_PATH.fullmatch(home.relative_to(temporary).as_posix()):
        message = f"the session's home was {home}, which is not the home of a session below {temporary}"
        raise UsageError(message, remedy=f"set TMPDIR, if it was run with another one: {home.parents[2]}")
    root, workspace_of_session = home.parents[1], home.with_name(WORKSPACE)
    try:
        root.mkdir(mode=0o700)
    except FileExistsError:
        raise UsageError(
            f"{root} exists: its run is still in progress, or was killed", remedy="remove it if no run uses it"
        ) from None
    try:
        session = SessionFolder(home.parent, processes.supervisor, None, None, Look(processes.cancelled))
        session.make(HOME)
        session.make(SCRATCH)
        if records.is_dir() and not records.is_symlink():
            shutil.copytree(records, home, symlinks=True, dirs_exist_ok=True)
        if cwd == workspace_of_session:
            session.make(WORKSPACE)
            if kept:
                shutil.copytree(kept, cwd, symlinks=True, dirs_exist_ok=True)
        elif cwd.is_dir():
            session.adopt(WORKSPACE, os.open(cwd, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC), cwd)
        else:
            raise UsageError(f"the session's working directory is not there: {cwd}")
        yield SessionWorkspace(session, cwd, None)
        session.close()
    finally:
        remove_path(root)
