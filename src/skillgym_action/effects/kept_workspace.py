"""A workspace that is kept for people to look at: without secrets, and with the history that the agent found.

What an agent commits is compressed, hence nobody could look for secrets in it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from skillgym_action.effects.kept import tidy
from skillgym_action.effects.redacted_files import remove_path
from skillgym_action.effects.snapshot import snapshot
from skillgym_action.effects.trees import copy_tree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillgym_action.effects.cancellation import Cancellation
    from skillgym_action.effects.run_directory import RunDirectory
    from skillgym_action.effects.workspace import Workspace

HISTORY = ".git"
OURS = ("index", "info/exclude")  # written without anything having been committed


def clean(workspace: Workspace, directory: RunDirectory, cancelled: Cancellation) -> None:
    """Take secrets out of whatever the session left in its workspace. Raises OSError, OutputError."""
    tidy(os.fspath(workspace.path))
    changes = workspace.changes()
    folders = (path for path, entry in snapshot(workspace.path).items() if entry.kind == "directory")
    made = [*changes.created, *changes.modified, *(path for path in folders if not workspace.existed(path))]
    for folder, names, _ in os.walk(workspace.path):
        if HISTORY in names:
            names.remove(HISTORY)
            if folder != os.fspath(workspace.path):
                remove_path(Path(folder, HISTORY))
    _restore(workspace.path / HISTORY, workspace.original(HISTORY), cancelled)
    directory.clean(workspace.path, [*made, *_texts(workspace.path)])


def _restore(history: Path, original: Path | None, cancelled: Cancellation) -> None:
    there = dict(_files(original)) if original else {}
    if dict(_files(history)) != there:
        remove_path(history)
        if original and there:
            copy_tree(original, history, cancelled)


def _files(history: Path) -> Iterator[tuple[str, int]]:
    """Sizes of its files; none where it is no folder."""
    if history.is_dir() and not history.is_symlink():
        for folder, _, names in os.walk(history):
            for name in names:
                path = os.path.join(folder, name)
                if os.path.relpath(path, history) not in OURS:
                    yield os.path.relpath(path, history), os.lstat(path).st_size


def _texts(workspace: Path) -> Iterator[str]:
    """What is not compressed of the history."""
    if not (workspace / HISTORY).is_symlink():
        for folder, folders, names in os.walk(workspace / HISTORY):
            folders[:] = [name for name in folders if name != "objects"]
            yield from (os.path.relpath(os.path.join(folder, name), workspace) for name in names if name != "index")
