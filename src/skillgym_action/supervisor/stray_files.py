"""What a user left outside of its folders: files where everybody may write, memory that processes share."""

from __future__ import annotations

import os
import shutil

OPEN_TO_ALL = ("/tmp", "/var/tmp", "/dev/shm", "/dev/mqueue", "/run/lock")  # noqa: S108 -- looked through
SHARED = ("shm", "sem", "msg")
UID_COLUMNS = ("uid", "cuid")


def left_behind(uid: int) -> bool:
    """Whether the user has left anything there. Files are removed; shared memory, semaphores and queues are not.

    Called as that user, which can remove nothing but its own.
    """
    found = False
    for place in OPEN_TO_ALL:
        try:
            entries = list(os.scandir(place))
        except OSError:
            continue
        for entry in entries:
            try:
                if entry.stat(follow_symlinks=False).st_uid != uid:
                    continue
                found = True
                if entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(entry.path, ignore_errors=True)
                else:
                    os.unlink(entry.path)
            except OSError:
                continue
    return found or any(_shares(kind, uid) for kind in SHARED)


def _shares(kind: str, uid: int) -> bool:
    """Whether the user owns System V objects of that kind."""
    try:
        with open(f"/proc/sysvipc/{kind}", "rb") as file:  # as text it needs a codec, which can no longer be imported
            names, *rows = (line.decode("utf-8", "replace").split() for line in file)
    except (OSError, ValueError):
        return False
    columns = [names.index(name) for name in UID_COLUMNS if name in names]
    return any(row[column] == str(uid) for row in rows for column in columns if column < len(row))
