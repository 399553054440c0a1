"""Records of closed paths, and what restores them.

For each path they name its mode and group as they were, and the runs that close it. They lie in a folder that only
root can use, one JSON file per path, named by device and inode. Every function that takes ``folder`` wants it locked.
Standard library alone: this file is also the program that restores paths after the tool was killed,
``closure_records.py PID START``.
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

PLACES = ("/run", "/var/lib")
BELOW = ("skillgym-action", "closures")
LOCK = "lock"
LOCK_LIMIT = 10.0  # seconds to wait for another run, which has the lock for milliseconds
FINISHED = b"finished"
PAUSE = 0.5  # seconds in which the programs of a killed run are ended, before they could read what is opened
BITS = 0o1777  # of a mode; chown may clear setuid and setgid
# A link is opened as such on Linux, and refused elsewhere.
_AS_IT_IS = getattr(os, "O_PATH", os.O_RDONLY | os.O_NONBLOCK) | os.O_NOFOLLOW | os.O_CLOEXEC
# Not imported: this file is also run as a program, which finds no package.
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class NotPrivateError(OSError):
    """The folder of records is not root's alone."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Holder:
    """A run that uses a path. ``start`` and ``boot`` tell its process from another one that got its number.

    ``closes``: the path is closed to all but its owner and root. ``group``: the group that programs of suites have;
    with ``opens`` the path is closed to all others, and open to that group.
    """

    pid: int
    start: str
    boot: str
    token: str
    closes: bool = False
    group: int | None = None
    opens: bool = False

    def is_alive(self, dead: tuple[int, str] | None = None) -> bool:
        """Whether the process runs. ``dead``: pid and start of one that is known to have ended."""
        if (self.pid, self.start) == dead or self.boot != boot():
            return False
        return started(self.pid) == self.start


@dataclass(kw_only=True, slots=True)
class Record:
    """``mode`` and ``gid`` are those of ``path`` while no run closes it. ``path`` has no link in it."""

    path: str
    mode: int
    gid: int
    holders: list[Holder] = field(default_factory=list)

    @classmethod
    def of(cls, text: bytes) -> Self:
        """Read from JSON. Raises ValueError, KeyError, TypeError."""
        found = json.loads(text)
        holders = [Holder(**holder) for holder in found.pop("holders")]
        return cls(**found, holders=holders)

    @property
    def group(self) -> int | None:
        """The group that the runs use, where one does."""
        return next((holder.group for holder in self.holders if holder.group is not None), None)

    def wanted(self) -> tuple[int, int]:
        """Mode and gid of the path, as its holders want it."""
        group = next((holder.group for holder in self.holders if holder.opens), None)
        if group is not None:
            return self.mode & 0o1700 | (self.mode & 0o500) >> 3, group
        return (self.mode & 0o700 if any(holder.closes for holder in self.holders) else self.mode), self.gid

    def can_have_become(self, found: os.stat_result) -> bool:
        """Whether the path looks as closing leaves it, completely or half done; else somebody else changed it."""
        modes = {self.mode & BITS, self.mode & 0o700, self.mode & 0o1700 | (self.mode & 0o500) >> 3}
        groups = {self.gid, *(holder.group for holder in self.holders if holder.opens)}
        return stat.S_IMODE(found.st_mode) & BITS in modes and found.st_gid in groups


# --- the folder -------------------------------------------------------------------------------------


@contextmanager
def locked(places: Iterable[str] = PLACES) -> Iterator[int]:
    """The folder of records by a descriptor, while no other run has it. Raises OSError."""
    folder = _folder(places)
    try:
        lock = os.open(LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=folder)
        try:
            _lock(lock)
            yield folder
        finally:
            os.close(lock)
    finally:
        os.close(folder)


def _folder(places: Iterable[str]) -> int:
    refused: OSError | None = None
    for place in places:
        path = os.path.join(place, *BELOW)
        try:
            folder = os.open(place, _FOLDER)
            for name in BELOW:
                folder = _below(folder, name)
        except NotPrivateError as error:
            raise NotPrivateError(None, error.strerror, path) from None
        except OSError as error:
            refused = refused or OSError(error.errno, error.strerror, path)
        else:
            return folder
    raise refused or FileNotFoundError(None, "there is no place for them")


def _below(above: int, name: str) -> int:
    """The folder ``name``, which is made where it is not; ``above`` is closed."""
    try:
        with suppress(FileExistsError):
            os.mkdir(name, 0o700, dir_fd=above)
        folder = os.open(name, _FOLDER, dir_fd=above)
    finally:
        os.close(above)
    found = os.fstat(folder)
    if found.st_uid != os.geteuid() or found.st_mode & 0o022:
        os.close(folder)
        raise NotPrivateError(None, "others can write to it, or own it")
    return folder


def _lock(file: int) -> None:
    deadline = time.monotonic() + LOCK_LIMIT
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise TimeoutError(None, f"another run has locked it for {LOCK_LIMIT:g} s", LOCK) from None
            time.sleep(0.01)
        else:
            return


def name_of(found: os.stat_result) -> str:
    """The name of a path's record."""
    return f"{found.st_dev:x}-{found.st_ino:x}.json"


def read(folder: int, name: str) -> Record | None:
    """None where there is no record, or none that can be read."""
    with suppress(FileNotFoundError, ValueError, KeyError, TypeError):
        file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        with open(file, "rb") as opened:
            return Record.of(opened.read())
    return None


def write(folder: int, name: str, record: Record) -> None:
    """Completely or not at all; without holders it is removed. Raises OSError."""
    if not record.holders:
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=folder)
        return
    beside = f"{name}.new"
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    with open(os.open(beside, flags, 0o600, dir_fd=folder), "w", encoding="utf-8") as file:
        json.dump(asdict(record), file)
    os.rename(beside, name, src_dir_fd=folder, dst_dir_fd=folder)


# --- paths ------------------------------------------------------------------------------------------


def opened(path: str) -> int:
    """A descriptor of an absolute path that has no link in any component. Raises OSError."""
    folder = os.open("/", _FOLDER)
    parts = [part for part in path.split("/") if part]
    for number, part in enumerate(parts, start=1):
        above = folder
        try:
            last = 0 if number == len(parts) else os.O_DIRECTORY
            folder = os.open(part, _AS_IT_IS | last, dir_fd=above)
        finally:
            os.close(above)
    if stat.S_ISLNK(os.fstat(folder).st_mode):
        os.close(folder)
        raise OSError(None, "is a link", path)
    return folder


def make(file: int, mode: int, gid: int) -> None:
    """Give what ``file`` is a descriptor of this mode and gid, if it has not. Raises OSError."""
    found = os.fstat(file)
    place: str | int = f"/proc/self/fd/{file}" if sys.platform == "linux" else file  # O_PATH: fchmod does not take it
    if found.st_gid != gid:
        os.chmod(place, stat.S_IMODE(found.st_mode) & 0o700)  # never open to a group that is not meant
        os.chown(place, -1, gid)
    if stat.S_IMODE(os.fstat(file).st_mode) != mode:
        os.chmod(place, mode)


def repair(folder: int, dead: tuple[int, str] | None = None) -> None:
    """Restore what runs closed that were killed. ``dead``: pid and start of one that was. Raises OSError."""
    for name in os.listdir(folder):
        if not name.endswith(".json") or (record := read(folder, name)) is None:
            continue
        alive = [holder for holder in record.holders if holder.is_alive(dead)]
        if len(alive) == len(record.holders):
            continue
        with suppress(OSError):  # it is gone, or a link
            _give_back(name, record, alive)
        record.holders = alive
        write(folder, name, record)


def _give_back(name: str, record: Record, alive: list[Holder]) -> None:
    file = opened(record.path)
    try:
        found = os.fstat(file)
        if name_of(found) == name and record.can_have_become(found):
            rest = Record(path=record.path, mode=record.mode, gid=record.gid, holders=alive)
            make(file, *rest.wanted())
    finally:
        os.close(file)


# --- processes --------------------------------------------------------------------------------------


def started(pid: int) -> str | None:
    """When a process was started, as the system counts; "" where it does not say, None where none runs."""
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


def boot() -> str:
    """What the system calls the time since it was started; "" where it does not say."""
    with suppress(OSError), open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return file.read().strip()
    return ""


def guard(arguments: list[str], places: Iterable[str] = PLACES) -> None:
    """Wait until standard input ends; unless it said that the run has finished, restore what that closed."""
    if FINISHED in sys.stdin.buffer.read():
        return
    time.sleep(PAUSE)
    pid, start = arguments
    with locked(places) as folder:
        repair(folder, (int(pid), start))


def asked() -> dict[str, Any]:
    """This process, as holders name it."""
    return {"pid": os.getpid(), "start": started(os.getpid()) or "", "boot": boot(), "token": os.urandom(8).hex()}


if __name__ == "__main__":
    guard(sys.argv[1:])
