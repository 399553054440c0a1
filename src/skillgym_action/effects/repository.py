"""The repository door: which files there are, which commit it is, and a copy of it for agents to work in."""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from skillgym_action.effects.trees import copy_tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from skillgym_action.effects.processes import Processes

# Searched neither for suites nor copied, whether git ignores them or not.
NEVER = frozenset({".git", "node_modules", ".venv", "venv", ".tox", ".nox", "__pycache__", ".skillgym-results"})
IGNORE_ALL = b"*\n"
IDENTITY = (
    "-c",
    "user.name=skillgym-action",
    "-c",
    "user.email=skillgym-action@localhost",
    "-c",
    "commit.gpgsign=false",
)


def repository_root(start: Path) -> Path:
    """The closest folder upward that holds ``.git``; ``start`` itself where there is none."""
    return next((folder for folder in (start, *start.parents) if (folder / ".git").exists()), start)


class Repository:
    """A checkout, or any folder."""

    def __init__(self, root: Path, processes: Processes) -> None:
        """``root`` is absolute."""
        self.root = root
        self.tracked = (root / ".git").exists()
        self._processes = processes

    def files(self, folder: Path) -> Iterator[str]:
        """Files below ``folder`` that git does not ignore, sorted. Raises OSError.

        Relative to the root with ``/``; absolute for a folder outside of it.
        """
        if not folder.is_relative_to(self.root):
            return iter(sorted(_walk(folder)))
        if not self.tracked:
            return iter(sorted(os.path.relpath(path, self.root) for path in _walk(folder)))
        listed = self._git("ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", os.fspath(folder))
        names = {os.fsdecode(name) for name in listed.split(b"\0") if name}
        return (name for name in sorted(names) if NEVER.isdisjoint(name.split("/")))

    def commit(self) -> str | None:
        """The commit that is checked out."""
        with suppress(OSError):
            return self._git("rev-parse", "HEAD").decode().strip() if self.tracked else None
        return None

    def copy_to(self, target: Path, exclude: Iterable[str]) -> None:
        """Copy tracked and untracked, not ignored files, and make their state the only commit of a new repository.

        The checkout's own ``.git`` stays behind: it may hold a credential, and its history the answers.
        ``exclude``: relative paths of files or folders. Raises OSError.
        """
        target.mkdir()
        left_out = tuple(exclude)
        for name in self.files(self.root):
            self._processes.cancelled.heed()
            if any(name == path or name.startswith(path + "/") for path in left_out):
                continue
            source, copy = self.root / name, target / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir() and not source.is_symlink():
                copy_tree(source, copy, self._processes.cancelled, without={".git"})
            elif source.is_symlink() or source.is_file():
                shutil.copy2(source, copy, follow_symlinks=False)
        if self.tracked:
            self._git("init", "--quiet", "--template=", "--initial-branch=main", folder=target)
            self._git("add", "--all", "--force", folder=target)
            self._git(*IDENTITY, "commit", "--quiet", "--allow-empty", "--message=workspace", folder=target)

    def _git(self, *arguments: str, folder: Path | None = None) -> bytes:
        """Neither the user's nor the machine's git configuration has a say; a checkout may belong to somebody else.

        Raises OSError, also for what git cannot do.
        """
        quiet = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "GIT_TERMINAL_PROMPT": "0"}
        where = folder or self.root
        try:
            return self._processes.output(("git", "-c", "safe.directory=*", *arguments), cwd=where, env=quiet)
        except subprocess.CalledProcessError as error:
            raise OSError(error.stderr.decode(errors="replace").strip()) from error


def _walk(folder: Path) -> Iterator[str]:
    """Files where no git says what is ignored; a run directory, for one, ignores itself."""
    for where, folders, files in os.walk(folder):
        hidden = ".gitignore" in files and Path(where, ".gitignore").read_bytes() == IGNORE_ALL
        folders[:] = [] if hidden else [name for name in folders if name not in NEVER]
        yield from [] if hidden else [os.path.join(where, name) for name in files]
