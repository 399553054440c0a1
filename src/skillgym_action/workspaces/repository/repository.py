"""The repository: its files, its commit, and copies of it for agents to work in."""

from __future__ import annotations

import os
import re
import shutil
import stat
from contextlib import contextmanager, suppress
from itertools import groupby
from typing import TYPE_CHECKING

from skillgym_action.model.records import record
from skillgym_action.system.files.checked_paths import GIT, REGULAR_FILE, PathRefusedError, open_regular
from skillgym_action.system.files.checkout import IGNORE_ALL, Checkout
from skillgym_action.system.files.open_below import FOLDER_FLAGS
from skillgym_action.system.processes.launcher import CalledProcessError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from skillgym_action.system.processes.launcher import ProcessLauncher

# Not searched for suites, and copied only as far as git tracks what is in them.
SKIPPED_FOLDERS = frozenset(
    {".git", "node_modules", ".venv", "venv", ".tox", ".nox", "__pycache__", ".skillgym-results"}
)
RESULT_FOLDERS = frozenset({".skillgym-results"})
CHUNK = 1024 * 1024
# git refuses checkouts of other users unless they are "safe", and starts programs that the checkout's configuration
# names: a commit or an agent may have written that configuration.
NO_PROGRAMS = ("-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}")
SAFE_GIT_OPTIONS = ("-c", "safe.directory=*", *NO_PROGRAMS)
BASE_BRANCHES = ("origin/HEAD", "origin/main", "origin/master", "main", "master")
"""Where the base of a commit is looked for if nothing names it: the first of these branches that exists."""
IDENTITY = (
    "-c",
    "user.name=skillgym-action",
    "-c",
    "user.email=skillgym-action@localhost",
    "-c",
    "commit.gpgsign=false",
)
GIT_ENVIRONMENT = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "GIT_TERMINAL_PROMPT": "0"}
COMMIT_ALL = (
    ("init", "--quiet", "--template=", "--initial-branch=main"),
    ("add", "--all", "--force"),
    (*IDENTITY, "commit", "--quiet", "--allow-empty", "--message=workspace"),
)
"""Arguments of the git commands that make a folder a repository, with everything in it as its only commit."""
CONVERTED = (":(attr:eol=crlf)", *(f":(exclude,attr:!{name})" for name in ("filter", "working-tree-encoding", "ident")))
"""Pathspecs of files that are not checked out as they are committed."""
_GIT_FILE = b"gitdir:"
_INDEX_LINE = re.compile(rb"(?P<tag>\w) (?P<mode>\d{6}) [0-9a-f]{40,64} \d\t(?P<path>.+)", re.DOTALL)
_BRANCH = re.compile(r"refs/(?:heads|remotes/origin)/(?!HEAD$)(.+)")


def repository_root(start: Path) -> Path:
    """The closest folder that is a git repository, from ``start`` upwards; ``start`` itself if there is none."""
    return next((folder for folder in (start, *start.parents) if is_repository(folder)), start)


def is_repository(folder: Path) -> bool:
    """Whether a folder has a ``.git`` that git would use: a folder with a ``HEAD``, or a file that names one.

    One that cannot be looked at counts: git says what is wrong with it.
    """
    try:
        return "HEAD" in os.listdir(folder / GIT)
    except FileNotFoundError:
        return False
    except NotADirectoryError:
        with suppress(OSError), open(folder / GIT, "rb", opener=open_regular) as file:
            return file.read(len(_GIT_FILE)) == _GIT_FILE
        return False
    except OSError:
        return True


class Repository:
    """A git checkout, or a folder without git."""

    def __init__(self, root: Path, processes: ProcessLauncher, checkout: Checkout | None = None) -> None:
        """``root`` is absolute; ``checkout`` is the same folder, if it is open already."""
        self.root = root
        self.checkout = checkout or Checkout(root)
        self.has_git = is_repository(root)
        self._processes = processes

    def files(self, folder: Path) -> Iterator[str]:
        """Paths of the files below ``folder`` that git does not ignore, sorted. Raises OSError.

        Relative to the root; absolute for a folder outside of it. Left out are results of earlier runs in the checkout
        that git does not track, and what it does not track in ``SKIPPED_FOLDERS``.
        """
        if not folder.is_relative_to(self.root):
            return iter(sorted(_files_without_git(folder)))
        if not self.has_git:
            found = (path for path in _files_without_git(folder) if not is_results_document(path))
            return iter(sorted(os.path.relpath(path, self.root) for path in found))
        listed = self._git("ls-files", "-zt", "--cached", "--others", "--exclude-standard", "--", os.fspath(folder))
        tagged = (os.fsdecode(line) for line in listed.split(b"\0") if line)  # `? NAME`: git does not track it
        return iter(sorted({line[2:] for line in tagged if self._is_listed(line[2:], tracked=line[0] != "?")}))

    def _is_listed(self, name: str, *, tracked: bool) -> bool:
        if tracked:
            return RESULT_FOLDERS.isdisjoint(name.split("/"))
        return SKIPPED_FOLDERS.isdisjoint(name.split("/")) and not is_results_document(self.root / name)

    def searched_files(self, folder: Path) -> Iterator[str]:
        """The files that may be suites: those that ``files`` returns, without ``SKIPPED_FOLDERS``. Raises OSError."""
        paths = self.files(folder)
        if not folder.is_relative_to(self.root):
            return paths
        return (path for path in paths if SKIPPED_FOLDERS.isdisjoint(path.split("/")))

    def tracked_paths(self, submodule: str = "") -> Iterator[TrackedPath]:
        """The paths in git's index, sorted, relative to the root; of a submodule its own. Raises OSError."""
        listed = self._git("ls-files", "-z", "-t", "--stage", folder=self.root / submodule)
        for line in listed.split(b"\0"):
            if found := _INDEX_LINE.fullmatch(line):
                yield TrackedPath(
                    path=os.path.join(submodule, os.fsdecode(found["path"])),
                    is_submodule=found["mode"] == b"160000",
                    checked_out=found["tag"] != b"S",
                )

    def paths_with_attribute(self, attribute: str) -> list[str]:
        """The paths that git tracks and gives an attribute, such as ``filter=lfs``. Raises OSError."""
        listed = self._git("ls-files", "-z", "--", f":(attr:{attribute})")
        return [os.fsdecode(name) for name in listed.split(b"\0") if name]

    def not_from_git_alone(self) -> frozenset[str]:
        """Paths whose content is not as git stores it, or not in git; a folder stands for all in it. Raises OSError.

        Filtered and converted files, submodules that are checked out, and what git does not track or ignores.
        """
        others = self._git("ls-files", "-z", "--others", "--directory")
        converted = b"".join(self._git("ls-files", "-z", "--", one) for one in CONVERTED)
        submodules = (one.path for one in self.tracked_paths() if one.is_submodule)
        listed = (os.fsdecode(name).rstrip("/") for name in (others + converted).split(b"\0") if name)
        listed = (path for path in listed if RESULT_FOLDERS.isdisjoint(path.split("/")))
        return frozenset((*listed, *(path for path in submodules if (self.root / path / GIT).exists())))

    def committed_files(self) -> frozenset[str]:
        """The files that git tracks, relative to the root; empty without git. Raises OSError."""
        listed = self._git("ls-files", "-z", "--cached") if self.has_git else b""
        return frozenset(os.fsdecode(name) for name in listed.split(b"\0") if name)

    def raise_if_cancelled(self) -> None:
        """Raises InterruptedError, an OSError, once the run is cancelled."""
        self._processes.cancelled.raise_if_cancelled()

    def commit(self) -> str | None:
        """The id of the commit that is checked out; None without git or without a commit."""
        with suppress(OSError):
            return self._git("rev-parse", "HEAD").decode().strip() if self.has_git else None
        return None

    def merge_parents(self) -> tuple[str, ...]:
        """The commits that the commit which is checked out merges; empty if it is no merge.

        They are read from the commit itself: a checkout of depth 1 does not have them.
        """
        with suppress(OSError):
            lines = self._git("cat-file", "commit", "HEAD").decode(errors="replace") if self.has_git else ""
            head = lines.partition("\n\n")[0].splitlines()
            parents = tuple(line.removeprefix("parent ") for line in head if line.startswith("parent "))
            return parents if len(parents) > 1 else ()
        return ()

    def remote_url(self) -> str | None:
        """The address of the remote ``origin``; None without git or without it."""
        with suppress(OSError):
            return self._git("remote", "get-url", "origin").decode().strip() if self.has_git else None
        return None

    def default_branch(self) -> str:
        """The name of the first of ``BASE_BRANCHES`` that exists; else the branch that is checked out, or ``main``."""
        # Full names: a tag may have the name of a branch.
        refs = [f"refs/{'remotes' if '/' in name else 'heads'}/{name}" for name in BASE_BRANCHES]
        existing = (("rev-parse", "--verify", "--quiet", "--symbolic-full-name", ref) for ref in refs)
        checked_out = ("symbolic-ref", "--quiet", "HEAD")  # also before the first commit
        for arguments in (*existing, checked_out) if self.has_git else ():
            with suppress(OSError):
                if found := _BRANCH.fullmatch(self._git(*arguments).decode().strip()):
                    return found[1]
        return "main"

    def copy_to(self, target: Path, exclude: Iterable[str]) -> None:
        """Copy all files that git does not ignore, and commit them as the only commit of a new repository.

        The checkout's ``.git`` is not copied: it may contain a credential, and its history the answers to the cases.
        ``exclude``: relative paths of files or folders. Raises OSError.
        """
        self.copy_files_to(target, exclude)
        if self.has_git:
            self.commit_all(target)

    def copy_files_to(self, target: Path, exclude: Iterable[str]) -> None:
        """Copy all files that git does not ignore to the new folder ``target``, without a commit. Raises OSError."""
        target.mkdir()
        exclusions = tuple(exclude)
        names = (name for name in self.files(self.root) if not _is_among(name, exclusions))
        for folder, entries in groupby(names, key=lambda name: os.path.split(name.rstrip("/"))[0]):
            self._copy_entries(folder, [os.path.basename(name.rstrip("/")) for name in entries], target / folder)

    def empty_folders(self) -> Iterator[str]:
        """Paths, relative to the root, of folders without any entry that git does not ignore. Raises OSError."""
        beginnings = [""]
        if self.has_git:
            listed = self._git("ls-files", "-z", "--others", "--directory", "--exclude-standard")
            beginnings = [os.fsdecode(name) for name in listed.split(b"\0") if name.endswith(b"/")]
        for beginning in beginnings:
            for folder, folders, files in os.walk(self.root / beginning):
                relative = os.path.relpath(folder, self.root)
                if not SKIPPED_FOLDERS.isdisjoint(relative.split("/")):
                    folders.clear()
                elif not folders and not files:
                    yield relative

    def commit_all(self, folder: Path) -> None:
        """Make a folder a new repository, with everything in it as its only commit. Raises OSError."""
        for arguments in COMMIT_ALL:
            self._git(*arguments, folder=folder)

    def copy_folder(self, folder: int, path: Path, target: Path, exclude: Iterable[Path]) -> None:
        """Copy an open folder, except ``.git``, special files, and what cannot be read.

        Of a folder of the checkout, results of earlier runs that git does not track are left out, too. ``folder``: its
        descriptor; ``path``: its path; ``exclude``: paths at any depth. Raises OSError.
        """
        target.mkdir()
        self._copy_from(folder, os.listdir(folder), target, _Exclusions(path, frozenset(exclude)))

    def _copy_entries(self, folder: str, names: Iterable[str], target: Path) -> None:
        """Copy some entries of a folder of the checkout.

        git follows no links: for git a file is deleted if one of its folders was replaced by a link. Such files are
        left out here as well.
        """
        try:
            source = self.checkout.open_folder(folder)
        except (PathRefusedError, FileNotFoundError, NotADirectoryError):
            return
        try:
            target.mkdir(parents=True, exist_ok=True)
            with _path_in_errors(folder):
                self._copy_from(source, names, target)
        finally:
            os.close(source)

    def _copy_from(
        self, folder: int, names: Iterable[str], target: Path, exclusions: _Exclusions | None = None
    ) -> None:
        """Copy files, links as links, and folders; without the ``.git`` of nested repositories.

        With ``exclusions``, entries that cannot be read are left out; otherwise they are errors.
        """
        for name in names:
            self.raise_if_cancelled()
            if exclusions and (exclusions.has(name) or self._is_untracked_results(exclusions.folder / name)):
                continue
            with _path_in_errors(name), suppress(FileNotFoundError, *([PermissionError] if exclusions else [])):
                mode = os.lstat(name, dir_fd=folder).st_mode
                if stat.S_ISLNK(mode):
                    (target / name).symlink_to(os.readlink(name, dir_fd=folder))
                elif stat.S_ISREG(mode):
                    _copy_file(folder, name, target / name)
                elif stat.S_ISDIR(mode):
                    inner = os.open(name, FOLDER_FLAGS, dir_fd=folder)
                    try:
                        (target / name).mkdir()
                        below = (one for one in os.listdir(inner) if one != GIT)
                        self._copy_from(inner, below, target / name, exclusions and exclusions.below(name))
                        os.chmod(target / name, stat.S_IMODE(mode))
                    finally:
                        os.close(inner)

    def _is_untracked_results(self, path: Path) -> bool:
        """Whether a file of the checkout is a results document that git does not track."""
        if not path.is_relative_to(self.root) or not is_results_document(path):
            return False
        return path.relative_to(self.root).as_posix() not in self.committed_files()

    def _git(self, *arguments: str, folder: Path | None = None) -> bytes:
        """Standard output of a git command. Raises OSError, with what git printed if it failed.

        The configuration of the user and of the machine is not read, and no program that the checkout's own
        configuration names is started.
        """
        where = folder or self.root
        try:
            return self._processes.output(("git", *SAFE_GIT_OPTIONS, *arguments), cwd=where, env=GIT_ENVIRONMENT)
        except CalledProcessError as error:
            raise OSError(error.stderr.decode(errors="replace").strip()) from error


@record
class TrackedPath:
    """A path in git's index. ``checked_out``: not so if a sparse checkout leaves it out."""

    path: str
    is_submodule: bool
    checked_out: bool


@record(kw_only=False)
class _Exclusions:
    """What is not copied of the folder ``folder``."""

    folder: Path
    paths: frozenset[Path]

    def has(self, name: str) -> bool:
        return name == GIT or name in RESULT_FOLDERS or self.folder / name in self.paths

    def below(self, name: str) -> _Exclusions:
        return _Exclusions(self.folder / name, self.paths)


class _NotCopiedError(OSError):
    """``filename`` is a path relative to the folder that is copied."""


@contextmanager
def _path_in_errors(name: str) -> Iterator[None]:
    """Prefix the path in errors with ``name``: an error of a call with ``dir_fd`` has the last component only."""
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
    """Copy a regular file with its mode and times."""
    with open(name, "rb", buffering=0, opener=lambda path, _: os.open(path, REGULAR_FILE, dir_fd=folder)) as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):  # replaced since the caller's lstat
            return
        with open(target, "xb", buffering=0) as copy:
            shutil.copyfileobj(file, copy, CHUNK)
            os.chmod(copy.fileno(), stat.S_IMODE(found.st_mode))
            os.utime(copy.fileno(), ns=(found.st_atime_ns, found.st_mtime_ns))


def _files_without_git(folder: Path) -> Iterator[str]:
    """Files below a folder, without asking git. Folders that ignore themselves are skipped, such as run directories."""
    waiting = [os.fspath(folder)]  # os.walk is recursive, and the folder may be nested deeper than the recursion limit
    while waiting:
        current = waiting.pop()
        with suppress(OSError), os.scandir(current) as found:
            entries = list(found)
            if any(entry.name == ".gitignore" for entry in entries) and _ignores_all(f"{current}/.gitignore"):
                continue
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting += [] if entry.name in SKIPPED_FOLDERS else [entry.path]
                elif not _leads_to_folder(entry):
                    yield os.path.join(current, entry.name)


def _leads_to_folder(entry: os.DirEntry[str]) -> bool:
    with suppress(OSError):  # such as a link to itself
        return entry.is_dir()
    return False


def _ignores_all(path: str) -> bool:
    """Whether a ``.gitignore`` is a regular file that ignores everything."""
    with suppress(OSError), open(path, "rb", opener=lambda path, _: os.open(path, REGULAR_FILE)) as file:
        return stat.S_ISREG(os.fstat(file.fileno()).st_mode) and file.read(len(IGNORE_ALL) + 1) == IGNORE_ALL
    return False


HEAD_BYTES = 4096
_OWN = rb'\{"schema": 1,\n"tool": \{"name": "skillgym-action"'

# The name of the suite may be longer than what is read.
_OF_X_BENCH = (
    rb'(?:\[\n)?\{"suite": "(?:[^"\\]|\\.)*+(?:\\?\Z|", "passed": \d+, "failed": \d+, "total": \d+, "totalCost": )'
)
_HEAD = re.compile(rb"%b|%b" % (_OWN, _OF_X_BENCH))


def is_results_document(path: str | Path) -> bool:
    """Whether a file is a report of the kind ``results`` or ``x-bench`` that this tool wrote; only its head is read.

    By its name, it is a JSON file. False for a link, and for what cannot be read.

    Such files say what cases expect, so agents must not have them.
    """
    if not os.fspath(path).lower().endswith(".json"):
        return False
    with suppress(OSError), open(path, "rb", 0, opener=lambda name, _: os.open(name, REGULAR_FILE)) as file:
        return stat.S_ISREG(os.fstat(file.fileno()).st_mode) and _HEAD.match(file.read(HEAD_BYTES)) is not None
    return False
