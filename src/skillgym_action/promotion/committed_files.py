"""The files of a commit of the checkout as a template: all of them, or of a large commit those that a session used."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from skillgym_action.filesystem.descriptor_walk import FOLDER_FLAGS
from skillgym_action.filesystem.folder import Folder
from skillgym_action.limits import MAX_PROMOTED_BYTES, MAX_PROMOTED_FILES
from skillgym_action.promotion.file_trees import file_tree
from skillgym_action.repository.committed_tree import CommittedTree, changed_since
from skillgym_action.repository.reference_solutions import is_in_companion, recordings_folder

if TYPE_CHECKING:
    from collections.abc import Collection

    from skillgym_action.promotion.file_trees import FileTree
    from skillgym_action.services import Services


def committed_files(
    services: Services, commit: str, below: str, used: Collection[str], without: Collection[str] = ()
) -> tuple[FileTree, list[str]]:
    """The files of a commit below a folder, relative to it, and notes for people. Raises UsageError, OSError.

    ``used``: the paths that are taken if all files are more than the limits. ``without``: paths, or folders, that are
    left out; both are relative to the folder.
    """
    prefix = f"{below}/" if below else ""
    tree = CommittedTree(services.repository.root, services.processes, commit)
    sizes = {path.removeprefix(prefix): size for path, size in tree.sizes(below).items() if path.startswith(prefix)}
    hidden = tuple(without)
    wanted = [path for path in sizes if not _is_among(path, hidden)]
    notes = []
    if len(wanted) > MAX_PROMOTED_FILES or sum(sizes[path] for path in wanted) > MAX_PROMOTED_BYTES:
        limits = f"{MAX_PROMOTED_FILES:,} files or {MAX_PROMOTED_BYTES // 1024**2} MiB"
        notes.append(
            f"the commit has more than {limits}: the template has only files that the session read or changed; add the "
            "commands need"
        )
        wanted = [path for path in wanted if path in used]
    with TemporaryDirectory(prefix="skillgym-") as temporary:
        target = Path(temporary) / "tree"
        tree.write(target, below, only=frozenset(f"{prefix}{path}" for path in wanted))
        files, left_out = folder_tree(target / below, wanted, "the commit")
    if left_out:
        notes.append(f"not in the template, since they lead out of it: {', '.join(sorted(left_out)[:5])}")
    return files, notes


def files_changed_since(services: Services, commit: str, below: str) -> tuple[FileTree, list[str]]:
    """The present files below a folder of the checkout that differ from a commit, and the paths of those that are gone.

    Both relative to the folder. What `promote` wrote is left out. Raises UsageError, OSError.
    """
    root, prefix = services.repository.root, f"{below}/" if below else ""
    changed = changed_since(root, services.processes, commit, below)
    inner = [path.removeprefix(prefix) for path in changed if not _is_of_promotion(root, path)]
    gone = [path for path in inner if not os.path.lexists(root / below / path)]
    there = [path for path in inner if path not in set(gone)]
    files, left_out = folder_tree(root / below, there, "what changed since the commit")
    return {path: file for path, file in files.items() if path not in left_out}, gone


def _is_of_promotion(root: Path, path: str) -> bool:
    return is_in_companion(path) or (root / recordings_folder(path)).is_dir()


def folder_tree(folder: Path, paths: Collection[str] | None, what: str) -> tuple[FileTree, list[str]]:
    """``file_tree`` of a folder by its path, of all files below it without ``paths``. Raises UsageError, OSError."""
    if not folder.is_dir():
        return {}, []
    descriptor = os.open(folder, FOLDER_FLAGS)
    try:
        opened = Folder(descriptor)
        if paths is None:
            paths = [path for path, entry in opened.snapshot().items() if entry[0] in {"file", "symlink"}]
        return file_tree(opened, paths, what)
    finally:
        os.close(descriptor)


def _is_among(name: str, paths: tuple[str, ...]) -> bool:
    return any(name == path or name.startswith(f"{path}/") for path in paths)
