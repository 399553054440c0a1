"""The files of a commit, and those that changed between commits. Nothing is fetched, filtered or executed.

Only git commands that print objects are used, so attributes, filters and hooks have no effect: files are as they were
committed, links are links, and submodules are empty folders.
"""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress
from functools import cached_property
from hashlib import new
from pathlib import PurePosixPath
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING

from skillgym_action.model.limits import MAX_BUNDLE_LINK_BYTES
from skillgym_action.system.files.bundle import BundleEntry
from skillgym_action.system.files.checked_paths import GIT, REGULAR_FILE
from skillgym_action.system.files.folder import Folder
from skillgym_action.system.files.open_below import FOLDER_FLAGS
from skillgym_action.system.files.packing import unpack
from skillgym_action.system.processes.launcher import DEVNULL, CalledProcessError
from skillgym_action.workspaces.repository.repository import BASE_BRANCHES, SAFE_GIT_OPTIONS, SKIPPED_FOLDERS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from skillgym_action.system.processes.launcher import ProcessLauncher

MAX_HISTORY_COMMITS = 50_000  # before the merge base, whose results may be a baseline
CHUNK = 1024 * 1024
# In a partial clone git fetches missing objects, with a program that the configuration names. GIT_NO_LAZY_FETCH stops
# that; for older versions of git, which do not know it, no protocol is allowed.
GIT_ENVIRONMENT = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
}
GIT_OPTIONS = (*SAFE_GIT_OPTIONS, "-c", "protocol.allow=never")
_LS_TREE_LINE = re.compile(rb"(\d{6}) (blob|tree|commit) ([0-9a-f]{40,64})\t(.+)", re.DOTALL)
_LS_TREE_SIZE = re.compile(rb"\d{6} blob [0-9a-f]{40,64} +(\d+)\t(.+)", re.DOTALL)
_FILE_MODES = {b"100644": 0o644, b"100755": 0o755, b"100664": 0o644}
_LINK_MODE = b"120000"


class MissingObjectError(OSError):
    """The checkout lacks the commit, or some of its files."""


class CommittedTree:
    """A commit of the repository that is checked out in ``root``."""

    def __init__(self, root: Path, processes: ProcessLauncher, commit: str) -> None:
        """``commit``: the full id."""
        self._root, self._processes, self._commit = root, processes, commit

    def write(self, target: Path, below: str = "", only: Collection[str] | None = None) -> None:
        """Create the folder ``target`` with the files of the commit. Raises MissingObjectError, OSError.

        ``below``: only what is at that path of the commit, a file or a folder; it may be absent. ``only``: of all files
        and links only these.
        """
        entries = list(self._entries(below))
        if only is not None:
            above = {parent.as_posix() for path in only for parent in PurePosixPath(path).parents}
            entries = [entry for entry in entries if entry[0].path in (above if entry[0].kind == "folder" else only)]
        os.mkdir(target)
        with TemporaryFile() as wanted, TemporaryFile() as contents:
            wanted.writelines(object_id + b"\n" for entry, object_id in entries if entry.kind != "folder")
            wanted.seek(0)
            self._git("cat-file", "--batch", stdin=wanted, stdout=contents)
            contents.seek(0)
            folder = os.open(target, FOLDER_FLAGS)
            try:
                unpack(Folder(folder), _filled(entries, contents))
            finally:
                os.close(folder)

    def paths(self) -> Iterator[str]:
        """The paths of all files of the commit. Raises MissingObjectError, OSError."""
        return (entry.path for entry, _ in self._entries("") if entry.kind == "file")

    def sizes(self, below: str = "") -> dict[str, int]:
        """The size in bytes of each file and link of the commit, or at a path of it.

        Raises MissingObjectError, OSError.
        """
        self._git("cat-file", "-e", f"{self._commit}^{{commit}}")
        only = ("--", below) if below else ()
        listed = self._git("ls-tree", "-r", "-l", "-z", "--full-tree", self._commit, *only)
        found = (_LS_TREE_SIZE.fullmatch(line) for line in listed.split(b"\0"))
        return {os.fsdecode(match[2]): int(match[1]) for match in found if match}

    def _entries(self, path: str) -> Iterator[tuple[BundleEntry, bytes]]:
        """Folders, files and links, with the ids of their objects; a folder comes before what is in it."""
        self._git("cat-file", "-e", f"{self._commit}^{{commit}}")
        only = ("--", path) if path else ()
        listed = self._git("ls-tree", "-r", "-t", "-z", "--full-tree", self._commit, *only)
        for line in listed.split(b"\0"):
            if line:
                yield _entry(line)

    def _git(self, *arguments: str, stdin: int | IO[bytes] = DEVNULL, stdout: IO[bytes] | None = None) -> bytes:
        try:
            return self._processes.output(
                ("git", *GIT_OPTIONS, *arguments), cwd=self._root, env=GIT_ENVIRONMENT, stdin=stdin, stdout=stdout
            )
        except CalledProcessError as error:
            raise MissingObjectError(None, error.stderr.decode(errors="replace").strip()) from error


def _entry(line: bytes) -> tuple[BundleEntry, bytes]:
    """An entry for a line of ``ls-tree``, and its object's id. Raises OSError for a path that no checkout can have."""
    match = _LS_TREE_LINE.fullmatch(line)
    if match is None:
        raise OSError(None, "git's list of files is not understood")
    mode, kind, object_id, name = match.groups()
    path = os.fsdecode(name)
    if any(part in {"", ".", ".."} or part.casefold() == GIT for part in path.split("/")):
        raise OSError(None, f"the commit has a file that no checkout can have: {path}")
    if kind != b"blob":
        return BundleEntry("folder", path, 0o755), object_id
    if mode == _LINK_MODE:
        return BundleEntry("link", path, 0o777), object_id
    return BundleEntry("file", path, _FILE_MODES.get(mode, 0o644)), object_id


def _filled(entries: list[tuple[BundleEntry, bytes]], contents: IO[bytes]) -> Iterator[BundleEntry]:
    """The entries with their content, from the output of ``cat-file --batch``. Raises MissingObjectError, OSError."""
    for entry, object_id in entries:
        if entry.kind == "folder":
            yield entry
            continue
        head = contents.readline().split()
        if len(head) != 3 or head[:2] != [object_id, b"blob"]:  # noqa: PLR2004 - id, kind, size
            raise MissingObjectError(None, f"{entry.path} is not in the checkout's objects")
        size = int(head[2])
        end = contents.tell() + size + 1  # a line feed follows each object
        if entry.kind == "link":
            entry.target = _target(contents.read(size) if size <= MAX_BUNDLE_LINK_BYTES else b"", entry.path)
            yield entry
        else:
            yield entry.with_content(size, lambda size=size: _chunks(contents, size))  # type: ignore[misc]
        contents.seek(end)


def _target(target: bytes, path: str) -> str:
    if not target or b"\0" in target:
        raise OSError(None, f"{path} is a link to no path")
    return os.fsdecode(target)


def _chunks(contents: IO[bytes], size: int) -> Iterator[bytes]:
    while size:
        chunk = contents.read(min(size, CHUNK))
        if not chunk:
            raise OSError(None, "git printed less than it announced")
        size -= len(chunk)
        yield chunk


def merge_base(root: Path, processes: ProcessLauncher, base: str | None) -> str | None:
    """The id of the merge base of the commit that is checked out in ``root`` and the commit ``base``.

    Without ``base``, the first of ``BASE_BRANCHES`` that exists is the base branch. None: there is no such branch, or
    the clone lacks what is needed to find out. Raises OSError if git does not start.
    """
    for name in (base,) if base else BASE_BRANCHES:
        if commit := _printed(root, processes, ("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")):
            return _printed(root, processes, ("merge-base", "HEAD", commit)) or None
    return None


def history(root: Path, processes: ProcessLauncher, base: str = "HEAD") -> frozenset[str] | None:
    """The ids of the merge base of ``base`` and HEAD of ``root``, and of those before it: ``MAX_HISTORY_COMMITS``.

    None without git, if the clone is shallow, or if it lacks ``base``. Raises OSError if git does not start.
    """
    if _printed(root, processes, ("rev-parse", "--is-shallow-repository")) != "false":
        return None
    if not (first := _printed(root, processes, ("merge-base", "HEAD", base))):
        return None
    listed = _printed(root, processes, ("rev-list", f"--max-count={MAX_HISTORY_COMMITS}", first))
    return frozenset(listed.split()) if listed else None


def commit_named(root: Path, processes: ProcessLauncher, name: str) -> str | None:
    """The id of the commit that a name such as a branch or an abbreviated id stands for; None if there is none."""
    wanted = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    return _printed(root, processes, wanted) or None


def last_commit_before(root: Path, processes: ProcessLauncher, branch: str, moment: str) -> str | None:
    """The id of the last commit of a local branch that was made before a time in ISO 8601; None if there is none."""
    if commit := commit_named(root, processes, f"refs/heads/{branch}"):
        return _printed(root, processes, ("rev-list", "--max-count=1", f"--before={moment}", commit)) or None
    return None


def changed_since(root: Path, processes: ProcessLauncher, commit: str, below: str) -> list[str]:
    """The paths below a folder whose file is not as in a commit, new ones that git does not ignore among them.

    Relative to the checkout. Raises OSError.
    """
    only = ("--", below) if below else ()
    listed = [("diff", "--name-only", "--no-renames", "--no-ext-diff", "--no-textconv", "-z", commit, *only)]
    listed += [("ls-files", "--others", "--exclude-standard", "--full-name", "-z", *only)]
    try:
        printed = [processes.output(("git", *GIT_OPTIONS, *one), cwd=root, env=GIT_ENVIRONMENT) for one in listed]
    except CalledProcessError as error:
        raise OSError(None, error.stderr.decode(errors="replace").strip()) from error
    return sorted({os.fsdecode(name) for output in printed for name in output.split(b"\0") if name})


def _printed(root: Path, processes: ProcessLauncher, arguments: tuple[str, ...]) -> str:
    """What a git command prints; empty if it fails."""
    try:
        printed = processes.output(("git", *GIT_OPTIONS, *arguments), cwd=root, env=GIT_ENVIRONMENT)
        return printed.decode().strip()
    except (CalledProcessError, ValueError):  # ValueError: a name that no command line can have
        return ""


_CHUNK = 1024 * 1024
_INDEX_ENTRY = re.compile(
    rb"(?P<mode>\d{6}) (?P<id>[0-9a-f]{40,64}) (?P<stage>\d)\t(?P<path>[^\0]+)\0  ctime: [^\n]*\n"
    rb"  mtime: (?P<seconds>\d+):(?P<nanoseconds>\d+)\n  dev: [^\n]*\n  uid: [^\n]*\n"
    rb"  size: (?P<size>\d+)\tflags: (?P<flags>[0-9a-f]+)\n"
)
_FILE, _PROGRAM, _LINK, _SUBMODULE = b"100644", b"100755", b"120000", b"160000"
_NOT_CHECKED_OUT = 0x40000000  # git's flag skip-worktree: a file that a sparse checkout leaves out
_SHA_1_DIGITS = 40

# A commit's .gitmodules can have git ignore what changes in submodules.
_PATHS = ("-z", "--name-only", "--no-renames", "--ignore-submodules=none")
_DIFFERENT = ("diff-tree", "-r", *_PATHS)


def changed_files(root: Path, processes: ProcessLauncher, commit: str) -> frozenset[str]:
    """Paths of the files that differ between ``commit`` and the working tree of the checkout ``root``.

    Of a renamed file both paths, and those of deleted and of new files, unless git ignores them. Raises
    MissingObjectError if the clone lacks the commit or its folders, OSError.

    Nothing is filtered or executed: commits are compared as trees, and files of the working tree with the index as git
    does it first, by time and size, then by their content as it is.
    """
    checkout = _Checkout(root, processes)
    committed = _paths(checkout.git(*_DIFFERENT, commit, "HEAD"))
    staged = _paths(checkout.git("diff-index", "--cached", *_PATHS, "HEAD"))
    new_files = _paths(checkout.git("ls-files", "-z", "--others", "--exclude-standard"))
    untracked = (path for path in new_files if SKIPPED_FOLDERS.isdisjoint(path.split("/")))
    return frozenset((*committed, *staged, *untracked, *checkout.not_as_in_index()))


def files_between(root: Path, processes: ProcessLauncher, first: str, second: str) -> frozenset[str]:
    """Paths of the files that differ between two commits, of a renamed file both.

    Raises MissingObjectError if the clone lacks a commit or its folders, OSError.
    """
    checkout = _Checkout(root, processes)
    return frozenset(_paths(checkout.git(*_DIFFERENT, first, second)))


def _paths(listed: bytes) -> list[str]:
    return [os.fsdecode(path).rstrip("/") for path in listed.split(b"\0") if path]


class _Checkout:
    def __init__(self, root: Path, processes: ProcessLauncher) -> None:
        self._root, self._processes = root, processes

    def git(self, *arguments: str) -> bytes:

        try:
            return self._processes.output(("git", *GIT_OPTIONS, *arguments), cwd=self._root, env=GIT_ENVIRONMENT)
        except CalledProcessError as error:
            raise MissingObjectError(None, error.stderr.decode(errors="replace").strip()) from error

    def not_as_in_index(self) -> Iterator[str]:
        """Tracked files that were deleted or changed since they were added to the index."""
        listed = self.git("ls-files", "-s", "-z", "--debug")
        written = self._index_time()
        end = 0
        for entry in _INDEX_ENTRY.finditer(listed):
            if entry.start() != end:
                raise OSError(None, "git's list of files is not understood")
            end = entry.end()
            if entry["mode"] != _SUBMODULE and not self._is_as_in_index(entry, written):
                yield os.fsdecode(entry["path"])
        if end != len(listed):
            raise OSError(None, "git's list of files is not understood")

    def _index_time(self) -> int:
        """When the index was written, in nanoseconds; 0 if that is unknown, so that the times in it do not count."""
        path = os.fsdecode(self.git("rev-parse", "--git-path", "index").rstrip(b"\n"))
        with suppress(OSError):
            return os.stat(self._root / path).st_mtime_ns
        return 0

    def _is_as_in_index(self, entry: re.Match[bytes], written: int) -> bool:
        file = self._root / os.fsdecode(entry["path"])
        try:
            found = os.lstat(file)
        except FileNotFoundError:
            return bool(int(entry["flags"], 16) & _NOT_CHECKED_OUT)
        except OSError:
            return False
        if entry["stage"] != b"0" or self._mode(found, entry["mode"]) != entry["mode"]:
            return False
        modified = int(entry["seconds"]) * 10**9 + int(entry["nanoseconds"])
        # A file that was written after the index may have been changed without another time or size.
        if found.st_mtime_ns == modified < written and found.st_size == int(entry["size"]):
            return True
        return self._has_content(file, found, entry)

    def _mode(self, found: os.stat_result, expected: bytes) -> bytes:
        """The mode that git gives a file; ``expected`` is that of the index, for file systems without permissions."""
        if stat.S_ISLNK(found.st_mode):
            return _LINK
        if not stat.S_ISREG(found.st_mode):
            return b""
        if not self._has_modes:
            return expected if expected != _LINK else b""
        return _PROGRAM if found.st_mode & stat.S_IXUSR else _FILE

    @cached_property
    def _has_modes(self) -> bool:
        with suppress(OSError):
            return self.git("config", "--bool", "core.fileMode").strip() != b"false"
        return True  # not set

    def _has_content(self, file: Path, found: os.stat_result, entry: re.Match[bytes]) -> bool:
        """Whether a file, or a link's target, is the object that the index names."""
        object_id = entry["id"].decode()
        digest = new("sha1" if len(object_id) == _SHA_1_DIGITS else "sha256", usedforsecurity=False)
        try:
            if stat.S_ISLNK(found.st_mode):
                target = os.fsencode(os.readlink(file))
                digest.update(b"blob %d\0" % len(target) + target)
                return digest.hexdigest() == object_id
            digest.update(b"blob %d\0" % found.st_size)
            with open(file, "rb", opener=lambda path, _: os.open(path, REGULAR_FILE)) as opened:
                while chunk := opened.read(_CHUNK):
                    digest.update(chunk)
        except OSError:
            return False
        return digest.hexdigest() == object_id
