"""The workspace as assertions see it: paths stay inside, whatever symlinks an agent made."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skillgym_action.workspaces.workspace import Workspace


class WorkspaceFiles:
    """Fulfils ``assertions.Files``."""

    def __init__(self, workspace: Workspace) -> None:
        """The workspace after the agent has ended."""
        self._workspace = workspace

    def kind(self, path: str) -> str | None:
        """What is at ``path``; symlinks are followed, but never out of the workspace."""
        return self._workspace.inside.kind(path)

    def text(self, path: str, limit: int) -> str | None:
        """The content of a regular file of at most ``limit`` bytes."""
        return self._workspace.inside.text(path, limit)

    def existed(self, path: str) -> bool:
        """Whether the path was there before the agent."""
        place = self._workspace.inside.place(path)
        return place is not None and self._workspace.existed(place)

    def changed(self, path: str) -> bool:
        """Whether its content differs from what it was; a symlink's, if it points to something else or that changed."""
        place = self._workspace.inside.place(path)
        if place is None:
            return False
        if self._workspace.changed(place):
            return True
        target = self._workspace.inside.target(path)
        return target is not None and target != place and self._workspace.changed(target)

    def glob(self, pattern: str) -> tuple[str, ...]:
        """Files that match, inside the workspace."""
        found: tuple[str, ...] = ()
        with suppress(OSError):
            found = self._workspace.inside.glob(pattern)
        return found
