"""Records of paths that are closed to agents, and how they are restored.

A record has the mode and group that a path had, and the runs that close it. Records are JSON files, one per path, named
by device and inode, in a folder that only root can write. Every function with a parameter ``folder`` expects that the
folder is locked.

Standard library only: this file is also the program that restores paths after the tool was killed,
``closed_path_records.py PID START`` (see ``closed_paths.restored_after_kill``).
"""

from __future__ import annotations

import fcntl
import json
import os
import stat
import sys
import time
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PARENTS = ("/run", "/var/lib")  # the first one that can be used has the folder of records
BELOW = ("skillgym-action", "closures")
LOCK = "lock"
# Seconds to wait for another run, which has the lock for milliseconds. Not in limits.py: this file also runs as a
# program that finds no package.
LOCK_TIMEOUT = 10.0
FINISHED = b"finished"
PAUSE = 0.5  # seconds in which the programs of a killed run are ended, so that they cannot read what is reopened
COMPARED_BITS = 0o1777  # of a mode; not setuid and setgid, which chown may clear
# With O_PATH a link itself is opened, and refused afterwards; elsewhere opening it fails.
_WITHOUT_FOLLOWING = getattr(os, "O_PATH", os.O_RDONLY | os.O_NONBLOCK) | os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class NotPrivateError(OSError):
    """Others than root own the folder of records, or can write to it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ClosingRun:
    """A run that closes a path, identified by ``token``.

    ``pid``, ``start`` and ``boot`` identify its process, also after the pid was used again. ``closes``: only the owner
    and root keep access. ``group``: the group that programs of suites have; with ``opens`` it keeps access, too.
    """

    pid: int
    start: str
    boot: str
    token: str
    closes: bool = False
    group: int | None = None
    opens: bool = False

    def is_alive(self, dead: tuple[int, str] | None = None) -> bool:
        """Whether the process runs. ``dead``: pid and start of a process that is known to have ended."""
        if (self.pid, self.start) == dead or self.boot != boot_id():
            return False
        return process_start(self.pid) == self.start


@dataclass(kw_only=True, slots=True)
class Record:
    """``mode`` and ``gid`` are those of ``path`` while no run closes it. No component of ``path`` is a link.

    The keys are those of the file; ``holders`` are the runs that close the path.
    """

    path: str
    mode: int
    gid: int
    holders: list[ClosingRun] = field(default_factory=list)

    @classmethod
    def of(cls, text: bytes) -> Self:
        """Read a record from JSON. Raises ValueError, KeyError, TypeError."""
        fields = json.loads(text)
        holders = [ClosingRun(**holder) for holder in fields.pop("holders")]
        return cls(**fields, holders=holders)

    @property
    def group(self) -> int | None:
        """The group that programs of suites have in these runs; None if no run uses one."""
        return next((holder.group for holder in self.holders if holder.group is not None), None)

    def wanted(self) -> tuple[int, int]:
        """The mode and gid that the path must have for its holders."""
        group = next((holder.group for holder in self.holders if holder.opens), None)
        if group is not None:
            # The owner's rights to read and to pass become the group's.
            return self.mode & 0o1700 | (self.mode & 0o500) >> 3, group
        return (self.mode & 0o700 if any(holder.closes for holder in self.holders) else self.mode), self.gid

    def can_have_become(self, found: os.stat_result) -> bool:
        """Whether mode and group are among those that closing sets, also if it was interrupted.

        If not, someone changed them since, and they must stay as they are.
        """
        modes = {self.mode & COMPARED_BITS, self.mode & 0o700, self.mode & 0o1700 | (self.mode & 0o500) >> 3}
        groups = {self.gid, *(holder.group for holder in self.holders if holder.opens)}
        return stat.S_IMODE(found.st_mode) & COMPARED_BITS in modes and found.st_gid in groups


# --- the folder of records --------------------------------------------------------------------------


@contextmanager
def locked(parents: Iterable[str]) -> Iterator[int]:
    """A descriptor of the folder of records, locked against other runs. Raises OSError."""
    folder = _folder(parents)
    try:
        lock = os.open(LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=folder)
        try:
            _lock(lock)
            yield folder
        finally:
            os.close(lock)
    finally:
        os.close(folder)


def _folder(parents: Iterable[str]) -> int:
    refused: OSError | None = None
    for parent in parents:
        path = os.path.join(parent, *BELOW)
        try:
            folder = os.open(parent, _FOLDER)
            for name in BELOW:
                folder = _subfolder(folder, name)
        except NotPrivateError as error:  # an error, not a reason to use the next parent
            raise NotPrivateError(None, error.strerror, path) from None
        except OSError as error:
            refused = refused or OSError(error.errno, error.strerror, path)
        else:
            return folder
    raise refused or FileNotFoundError(None, "no folder is writable for them")


def _subfolder(parent: int, name: str) -> int:
    """A descriptor of the folder ``name``, which is made if it is missing; ``parent`` is closed."""
    try:
        with suppress(FileExistsError):
            os.mkdir(name, 0o700, dir_fd=parent)
        folder = os.open(name, _FOLDER, dir_fd=parent)
    finally:
        os.close(parent)
    found = os.fstat(folder)
    if found.st_uid != os.geteuid() or found.st_mode & 0o022:
        os.close(folder)
        raise NotPrivateError(None, "others can write to it, or own it")
    return folder


def _lock(file: int) -> None:
    deadline = time.monotonic() + LOCK_TIMEOUT
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise TimeoutError(None, f"another run has locked it for {LOCK_TIMEOUT:g} s", LOCK) from None
            time.sleep(0.01)
        else:
            return


def name_of(found: os.stat_result) -> str:
    """The file name of a path's record."""
    return f"{found.st_dev:x}-{found.st_ino:x}.json"


def read(folder: int, name: str) -> Record | None:
    """The record with that file name; None if there is none, or it is not valid."""
    with suppress(FileNotFoundError, ValueError, KeyError, TypeError):
        file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        with open(file, "rb") as opened:
            return Record.of(opened.read())
    return None


def write(folder: int, name: str, record: Record) -> None:
    """Write a record, completely or not at all; one without holders is removed. Raises OSError."""
    if not record.holders:
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=folder)
        return
    temporary = f"{name}.new"
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    with open(os.open(temporary, flags, 0o600, dir_fd=folder), "w", encoding="utf-8") as file:
        json.dump(asdict(record), file)
    os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)


# --- paths ------------------------------------------------------------------------------------------


def open_without_links(path: str) -> int:
    """A descriptor of an absolute path, no component of which is a link. Raises OSError."""
    folder = os.open("/", _FOLDER)
    parts = [part for part in path.split("/") if part]
    for number, part in enumerate(parts, start=1):
        parent = folder
        try:
            directory = 0 if number == len(parts) else os.O_DIRECTORY
            folder = os.open(part, _WITHOUT_FOLLOWING | directory, dir_fd=parent)
        finally:
            os.close(parent)
    if stat.S_ISLNK(os.fstat(folder).st_mode):
        os.close(folder)
        raise OSError(None, "is a link", path)
    return folder


def set_mode_and_group(file: int, mode: int, gid: int) -> None:
    """Set mode and gid by a descriptor, if they differ. Raises OSError."""
    found = os.fstat(file)
    # fchmod does not accept a descriptor opened with O_PATH; its entry in /proc leads to the same file.
    target: str | int = f"/proc/self/fd/{file}" if sys.platform == "linux" else file
    if found.st_gid != gid:
        # The group's rights are removed first: neither group may have those that are meant for the other one.
        os.chmod(target, stat.S_IMODE(found.st_mode) & 0o700)
        os.chown(target, -1, gid)
    if stat.S_IMODE(os.fstat(file).st_mode) != mode:
        os.chmod(target, mode)


def repair(folder: int, dead: tuple[int, str] | None = None) -> None:
    """Restore paths that killed runs closed. ``dead``: pid and start of a run that was killed. Raises OSError."""
    for name in os.listdir(folder):
        if not name.endswith(".json") or (record := read(folder, name)) is None:
            continue
        alive = [holder for holder in record.holders if holder.is_alive(dead)]
        if len(alive) == len(record.holders):
            continue
        with suppress(OSError):  # the path is gone, or became a link: there is nothing to restore
            _restore(name, record, alive)
        record.holders = alive
        write(folder, name, record)


def _restore(name: str, record: Record, alive: list[ClosingRun]) -> None:
    file = open_without_links(record.path)
    try:
        found = os.fstat(file)
        if name_of(found) == name and record.can_have_become(found):
            remaining = Record(path=record.path, mode=record.mode, gid=record.gid, holders=alive)
            set_mode_and_group(file, *remaining.wanted())
    finally:
        os.close(file)


# --- processes --------------------------------------------------------------------------------------


def process_start(pid: int) -> str | None:
    """The start time of a process in the unit of the system; "" if it is unknown, None if it does not run."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            words = file.read().rpartition(b")")[2].split()
    except OSError:
        if os.path.exists("/proc/self/stat"):
            return None
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return None
        return ""
    return None if words[0] in {b"Z", b"X"} else words[19].decode()


def boot_id() -> str:
    """The system's id for the time since it was started; "" if it has none."""
    with suppress(OSError), open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return file.read().strip()
    return ""


def guard(arguments: list[str]) -> None:
    """Wait until standard input ends; restore what the run closed, unless it wrote that it has finished."""
    if FINISHED in sys.stdin.buffer.read():
        return
    time.sleep(PAUSE)
    pid, start = arguments
    with locked(PARENTS) as folder:
        repair(folder, (int(pid), start))


def this_process() -> dict[str, Any]:
    """The fields of ``ClosingRun`` that identify a run of this process."""
    start = process_start(os.getpid()) or ""
    return {"pid": os.getpid(), "start": start, "boot": boot_id(), "token": os.urandom(8).hex()}


if __name__ == "__main__":
    guard(sys.argv[1:])
