"""The workspace as assertions see it: paths stay inside, whatever symlinks an agent made."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from skillgym_action.globs import paths_matching

if TYPE_CHECKING:
    from pathlib import Path

    from skillgym_action.effects.workspace import Workspace


class WorkspaceFiles:
    """Fulfils ``assertions.Files``."""

    def __init__(self, workspace: Workspace) -> None:
        """The workspace after the agent has ended."""
        self._workspace = workspace
        self._root = workspace.path

    def kind(self, path: str) -> str | None:
        """What is at ``path``; symlinks are followed, but never out of the workspace."""
        target = self._root / path
        try:
            mode = os.lstat(target).st_mode
            if not self._is_plain(path) and not self._inside(target):
                return "outside"
            if stat.S_ISLNK(mode):
                mode = os.stat(target).st_mode
        except FileNotFoundError:
            return "symlink" if target.is_symlink() else None
        except OSError:
            return None
        return "directory" if stat.S_ISDIR(mode) else "file" if stat.S_ISREG(mode) else "other"

    def text(self, path: str, limit: int) -> str | None:
        """The content of a regular file of at most ``limit`` bytes."""
        if self.kind(path) != "file":
            return None
        try:
            with (self._root / path).open("rb") as file:
                content = file.read(limit + 1)
        except OSError:
            return None
        return None if len(content) > limit else content.decode("utf-8", "replace").replace("\r\n", "\n")

    def existed(self, path: str) -> bool:
        """Whether the path was there before the agent."""
        return self._workspace.existed(self._place(path))

    def changed(self, path: str) -> bool:
        """Whether its content differs from what it was; a symlink's, if it points to something else or that changed."""
        place = self._place(path)
        if place == path and self._is_plain(path):
            return self._workspace.changed(path)
        return self._workspace.changed(place) or self._workspace.changed(
            self._relative(os.path.realpath(self._root / place))
        )

    def _place(self, path: str) -> str:
        """The path without symlinks on the way to its last part, as snapshots know it."""
        if self._is_plain(path):
            return path
        folder, name = os.path.split(os.path.normpath(self._root / path))
        return self._relative(os.path.join(os.path.realpath(folder), name))

    def _relative(self, place: str) -> str:
        return os.path.relpath(place, os.path.realpath(self._root))

    def glob(self, pattern: str) -> tuple[str, ...]:
        """Files that match, inside the workspace."""
        found = (path for path in paths_matching(self._root, pattern) if path.is_file() and self._inside(path))
        return tuple(sorted(path.relative_to(self._root).as_posix() for path in found))

    def _is_plain(self, path: str) -> bool:
        """Whether nothing needs to be resolved: a name at the top of the workspace, and no symlink."""
        return "/" not in path and path not in {"", ".", ".."} and not os.path.islink(os.path.join(self._root, path))

    def _inside(self, target: Path) -> bool:
        root = os.path.realpath(self._root)
        return os.path.realpath(target).startswith(root + os.sep) or os.path.realpath(target) == root
