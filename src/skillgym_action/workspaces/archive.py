"""What stays of a session's workspace in the run directory: copies, of which the tool believes nothing.

Others pack and upload it with programs that follow links, wait at FIFOs and stop at what they may not read: so of links
only those stay that end at a regular file of the same copy, nothing special does, and all of it can be read.
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
from skillgym_action.workspaces.workspace import extract

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from skillgym_action.storage.run_directory import RunDirectory
    from skillgym_action.workspaces.changes import Changes
    from skillgym_action.workspaces.workspace import Workspace

SAVED_BYTES = 16 * 1024 * 1024
SAVED_FILES = 2000
HISTORY = ".git"


@dataclass(frozen=True, slots=True)
class Saved:
    """The changed files of a session. ``links`` lead elsewhere and were not made: path -> target."""

    complete: bool
    links: Mapping[str, str] = field(default_factory=dict)


def save_changes(workspace: Workspace, changes: Changes, target: Path) -> Saved:
    """Copy what changed to ``target``, so that it can be played again; nothing when it is too much or unreadable."""
    sizes = workspace.sizes(changes)
    if len(sizes) > SAVED_FILES or sum(sizes.values()) > SAVED_BYTES:
        return Saved(complete=False)
    if not sizes:
        return Saved(complete=True)
    links: dict[str, str] = {}
    try:
        extract(with_safe_links(workspace.inside.pack(sizes), links), target)
    except OSError:  # unreadable, gone, deeper than a path may be, or no room
        return Saved(complete=False)
    return Saved(complete=True, links=links)


def save_workspace(workspace: Workspace, changes: Changes, directory: RunDirectory, kept: str) -> None:
    """Copy the whole workspace to ``kept`` in the run directory, without secrets, for people to look at.

    Its history is the one that the agent found: what an agent commits is compressed, hence cannot be searched for
    secrets. Raises OSError, and then nothing of it is there; OutputError.
    """
    target = directory.place / kept
    beside = target.with_name(f".{os.urandom(8).hex()}")
    extract(with_safe_links(workspace.inside.pack(None)), beside)
    try:
        _copy_history(workspace, beside)
        directory.clean(beside, [*_not_of_template(workspace, changes, beside), *_texts(beside)])
        remove_path(target)
        os.rename(beside, target)
    # Also a cancellation: what was not searched for secrets to its end must not stay in the artifact.
    except BaseException:
        remove_path(beside)
        raise


def _copy_history(workspace: Workspace, target: Path) -> None:
    template = workspace.history()
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


def _not_of_template(workspace: Workspace, changes: Changes, copy: Path) -> list[str]:
    """All in the copy but what is known to be as the agent found it; also folders, whose names may be secrets.

    The copy is looked at, since more is in it than the session could see of its workspace: closed folders were opened.
    """
    changed = {*changes.created, *changes.modified, *changes.deleted}
    folder = os.open(copy, FOLDER_FLAGS)
    try:
        found = Folder(folder).snapshot()
    finally:
        os.close(folder)
    return [path for path in found if path in changed or not workspace.existed(path)]


def _texts(copy: Path) -> Iterator[str]:
    """What is not compressed of the history."""
    for folder, folders, names in os.walk(copy / HISTORY):
        folders[:] = [name for name in folders if name != "objects"]
        for name in names:
            path = os.path.join(folder, name)
            if name != "index" and stat.S_ISREG(os.lstat(path).st_mode):
                yield os.path.relpath(path, copy)
