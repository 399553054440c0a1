"""What a user left outside of its folders: files where everybody may write, memory that processes share."""

from __future__ import annotations

import os
import stat

from skillgym_action.hosts import emptying

OPEN_TO_ALL = ("/tmp", "/var/tmp", "/dev/shm", "/dev/mqueue", "/run/lock")  # noqa: S108 -- looked through
SHARED = ("shm", "sem", "msg")
UID_COLUMNS = (b"uid", b"cuid")
CHUNK = 65536


def left_behind(uid: int) -> bool:
    """Whether the user has left anything there. Files are removed; shared memory, semaphores and queues are not.

    Called as that user, which can remove nothing but its own, in a process that can import nothing any more.
    """
    found = False
    for place in OPEN_TO_ALL:
        try:
            folder = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
        except OSError:
            continue
        try:
            for name in os.listdir(folder):  # noqa: PTH208 -- a descriptor
                found |= _removed(folder, name, uid)
        except OSError:
            continue
        finally:
            os.close(folder)
    return found or any(_shares(kind, uid) for kind in SHARED)


def _removed(folder: int, name: str, uid: int) -> bool:
    """Whether this is the user's; then it has been removed as far as that is possible."""
    try:
        entry = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return False
    if entry.st_uid != uid:
        return False
    try:
        if stat.S_ISDIR(entry.st_mode):
            emptying.remove(folder, name)
        else:
            os.unlink(name, dir_fd=folder)
    except OSError:
        return True
    return True


def _shares(kind: str, uid: int) -> bool:
    """Whether the user owns System V objects of that kind."""
    try:
        table = os.open(f"/proc/sysvipc/{kind}", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        text = b"".join(iter(lambda: os.read(table, CHUNK), b""))
    except OSError:
        return False
    finally:
        os.close(table)
    names, *rows = (line.split() for line in text.splitlines())
    columns = [names.index(name) for name in UID_COLUMNS if name in names]
    return any(row[column] == b"%d" % uid for row in rows for column in columns if column < len(row))
