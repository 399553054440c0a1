"""The files in which the checkout differs from a commit, those included that are not committed.

Nothing is filtered or executed: commits are compared as trees, and files of the working tree with the index as git does
it first, by time and size, then by their content as it is.
"""

from __future__ import annotations

import os
import re
import stat
import subprocess
from contextlib import suppress
from functools import cached_property
from hashlib import new
from typing import TYPE_CHECKING

from skillgym_action.repository.repository import SKIPPED_FOLDERS
from skillgym_action.repository.walk import REGULAR_FILE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from skillgym_action.processes.launcher import ProcessLauncher

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
        from skillgym_action.repository.committed_tree import GIT_ENVIRONMENT, GIT_OPTIONS, MissingObjectError

        try:
            return self._processes.output(("git", *GIT_OPTIONS, *arguments), cwd=self._root, env=GIT_ENVIRONMENT)
        except subprocess.CalledProcessError as error:
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
