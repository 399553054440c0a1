"""The repository door: which files there are, which commit it is, and a copy of it for agents to work in."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from skillgym_action.repository.checkout import Checkout
from skillgym_action.repository.walk import GIT, PathRefusedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from skillgym_action.processes.launcher import ProcessLauncher

# Searched neither for suites nor copied, whether git ignores them or not.
NEVER = frozenset({".git", "node_modules", ".venv", "venv", ".tox", ".nox", "__pycache__", ".skillgym-results"})
OURS = frozenset({".skillgym-results"})
IGNORE_ALL = b"*\n"
REGULAR = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
CHUNK = 1024 * 1024
# A checkout may belong to somebody else; no program that its configuration names is started by git.
NO_PROGRAMS = ("-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}")
SAFE = ("-c", "safe.directory=*", *NO_PROGRAMS)
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

    def __init__(self, root: Path, processes: ProcessLauncher, checkout: Checkout | None = None) -> None:
        """``root`` is absolute; ``checkout`` is the same folder, where it is open already."""
        self.root = root
        self.checkout = checkout or Checkout(root)
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

    def committed_files(self) -> frozenset[str]:
        """The files that git tracks in a checkout, relative to its root; none without git. Raises OSError."""
        listed = self._git("ls-files", "-z", "--cached") if self.tracked else b""
        return frozenset(os.fsdecode(name) for name in listed.split(b"\0") if name)

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
        names = (name for name in self.files(self.root) if not _is_among(name, left_out))
        for folder, entries in groupby(names, key=lambda name: os.path.split(name.rstrip("/"))[0]):
            self._copy_entries(folder, [os.path.basename(name.rstrip("/")) for name in entries], target / folder)
        if self.tracked:
            self._git("init", "--quiet", "--template=", "--initial-branch=main", folder=target)
            self._git("add", "--all", "--force", folder=target)
            self._git(*IDENTITY, "commit", "--quiet", "--allow-empty", "--message=workspace", folder=target)

    def copy_folder(self, folder: int, path: Path, target: Path, exclude: Iterable[Path]) -> None:
        """Copy all that is in an open folder but ``.git``, what is special, and what cannot be read.

        ``path`` is its place; ``exclude``: what is left out, also of folders in it. Raises OSError.
        """
        target.mkdir()
        self._copy_opened(folder, os.listdir(folder), target, _LeftOut(path, frozenset(exclude)))

    def _copy_entries(self, folder: str, names: Iterable[str], target: Path) -> None:
        """Copy what is called so in a folder of the checkout, to which no link may lead: git does not follow any.

        A file that is tracked in a folder that became a link is gone for git, and is left out like one.
        """
        try:
            opened = self.checkout.open_folder(folder)
        except (PathRefusedError, FileNotFoundError, NotADirectoryError):
            return
        try:
            target.mkdir(parents=True, exist_ok=True)
            with _told_of(folder):
                self._copy_opened(opened, names, target)
        finally:
            os.close(opened)

    def _copy_opened(self, folder: int, names: Iterable[str], target: Path, left_out: _LeftOut | None = None) -> None:
        """Files, links as links, and folders without their ``.git``, as nested repositories are.

        With ``left_out``, what cannot be read is no error.
        """
        for name in names:
            self._processes.cancelled.raise_if_cancelled()
            if left_out and left_out.has(name):
                continue
            with _told_of(name), suppress(FileNotFoundError, *([PermissionError] if left_out else [])):
                mode = os.lstat(name, dir_fd=folder).st_mode
                if stat.S_ISLNK(mode):
                    (target / name).symlink_to(os.readlink(name, dir_fd=folder))
                elif stat.S_ISREG(mode):
                    _copy_file(folder, name, target / name)
                elif stat.S_ISDIR(mode):
                    inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
                    try:
                        (target / name).mkdir()
                        below = (one for one in os.listdir(inner) if one != GIT)
                        self._copy_opened(inner, below, target / name, left_out and left_out.below(name))
                        os.chmod(target / name, stat.S_IMODE(mode))
                    finally:
                        os.close(inner)

    def _git(self, *arguments: str, folder: Path | None = None) -> bytes:
        """Neither the user's nor the machine's git configuration has a say; a checkout may belong to somebody else.

        No program that the checkout's own configuration names is started. Raises OSError, also for what git cannot do.
        """
        quiet = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "GIT_TERMINAL_PROMPT": "0"}
        where = folder or self.root
        try:
            return self._processes.output(("git", *SAFE, *arguments), cwd=where, env=quiet)
        except subprocess.CalledProcessError as error:
            raise OSError(error.stderr.decode(errors="replace").strip()) from error


@dataclass(frozen=True, slots=True)
class _LeftOut:
    """What is not copied of the folder ``here``."""

    here: Path
    paths: frozenset[Path]

    def has(self, name: str) -> bool:
        return name == GIT or name in OURS or self.here / name in self.paths

    def below(self, name: str) -> _LeftOut:
        return _LeftOut(self.here / name, self.paths)


class _NotCopiedError(OSError):
    """``filename`` is a path from the folder on that is copied."""


@contextmanager
def _told_of(name: str) -> Iterator[None]:
    """What goes wrong with something in an open folder is told with the way to it."""
    try:
        yield
    except InterruptedError:
        raise
    except _NotCopiedError as error:
        raise _NotCopiedError(error.errno, error.strerror, f"{name}/{error.filename}".lstrip("/")) from error
    except OSError as error:
        raise _NotCopiedError(error.errno, error.strerror, name) from error


def _is_among(name: str, paths: tuple[str, ...]) -> bool:
    return any(name == path or name.startswith(path + "/") for path in paths)


def _copy_file(folder: int, name: str, target: Path) -> None:
    """With its mode and times."""
    with open(name, "rb", buffering=0, opener=lambda path, _: os.open(path, REGULAR, dir_fd=folder)) as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):  # a moment ago it was one
            return
        with open(target, "xb", buffering=0) as copy:
            shutil.copyfileobj(file, copy, CHUNK)
            os.chmod(copy.fileno(), stat.S_IMODE(found.st_mode))
            os.utime(copy.fileno(), ns=(found.st_atime_ns, found.st_mtime_ns))


def _walk(folder: Path) -> Iterator[str]:
    """Files where no git says what is ignored; a run directory, for one, ignores itself."""
    waiting = [os.fspath(folder)]  # os.walk is recursive, and a folder may be deeper than recursion goes
    while waiting:
        where = waiting.pop()
        with suppress(OSError), os.scandir(where) as found:
            entries = list(found)
            if any(entry.name == ".gitignore" for entry in entries) and _ignores_all(f"{where}/.gitignore"):
                continue
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting += [] if entry.name in NEVER else [entry.path]
                elif not _leads_to_folder(entry):
                    yield os.path.join(where, entry.name)


def _leads_to_folder(entry: os.DirEntry[str]) -> bool:
    with suppress(OSError):  # a link that leads to itself
        return entry.is_dir()
    return False


def _ignores_all(path: str) -> bool:
    """Whether a file says so; a link or a FIFO of that name says nothing."""
    with suppress(OSError), open(path, "rb", opener=lambda path, _: os.open(path, REGULAR)) as file:
        return stat.S_ISREG(os.fstat(file.fileno()).st_mode) and file.read(len(IGNORE_ALL) + 1) == IGNORE_ALL
    return False
