"""Copies of a session's workspace in the run directory. Their content is untrusted.

The run directory is packed and uploaded by programs that follow links, block on FIFOs and fail on unreadable files.
So a copy contains only readable files and folders, and links that end at a regular file of the same copy.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from skillgym_action.filesystem.artifact_links import with_safe_links
from skillgym_action.filesystem.descriptor_walk import FOLDER_FLAGS
from skillgym_action.filesystem.folder import Folder
from skillgym_action.filesystem.removal import remove_path
from skillgym_action.filesystem.unpacking import copy_into
from skillgym_action.limits import MAX_SAVED_CHANGES_BYTES, MAX_SAVED_CHANGES_FILES
from skillgym_action.workspaces.workspace import extract_bundle

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from skillgym_action.storage.run_directory import RunDirectory
    from skillgym_action.workspaces.changes import Changes
    from skillgym_action.workspaces.workspace import SessionWorkspace

HISTORY = ".git"


@dataclass(frozen=True, slots=True)
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
        directory.clean(temporary, [*_changed_paths(workspace, changes, temporary), *_history_texts(temporary)])
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
