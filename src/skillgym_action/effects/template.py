"""A directory that workspaces are copies of, and what copies get on top."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from skillgym_action.effects.snapshot import digest
from skillgym_action.effects.trees import copy_tree

if TYPE_CHECKING:
    from skillgym_action.effects.cancellation import Cancellation

# Every agent looks for a project's skills in one of these.
SKILLS = (".claude/skills", ".agents/skills")


class Template:
    """A directory that is copied into workspaces; each file in it is hashed at most once."""

    def __init__(self, root: Path | None) -> None:
        """None: workspaces start empty."""
        self.root = root
        self._digests: dict[str, str | None] = {}

    def copy_to(self, target: Path, cancelled: Cancellation) -> None:
        """A full copy: dotfiles and ``.git`` too, symlinks as symlinks; devices, sockets and FIFOs are left out.

        Raises OSError.
        """
        if self.root is None:
            target.mkdir()
        else:
            copy_tree(self.root, target, cancelled)

    def digest(self, path: str) -> str | None:
        """The hash of a template's file."""
        if path not in self._digests:
            self._digests[path] = digest(self.root / path) if self.root else None
        return self._digests[path]


def linked_skills(workspace: Path) -> tuple[Path, ...]:
    """Make a project's skills visible to every agent: where one of the two folders is missing, it leads to the other.

    What was made is hidden from git, and returned. Raises OSError.
    """
    for here, there in (SKILLS, SKILLS[::-1]):
        if not os.path.isdir(f"{workspace}/{here}"):
            continue
        link = workspace / there
        if not link.parent.is_symlink() and not os.path.lexists(link):
            made = [link] if link.parent.exists() else [link.parent]
            link.parent.mkdir(exist_ok=True)
            link.symlink_to(Path("..") / here)
            if (git := workspace / ".git").is_dir() and not git.is_symlink():
                (git / "info").mkdir(exist_ok=True)
                with (git / "info" / "exclude").open("a", encoding="utf-8") as file:
                    file.write(f"/{there}\n")
            return tuple(made)
    return ()
