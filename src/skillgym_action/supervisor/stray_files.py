"""What a session's user left outside of its folders: files in folders open to all, and System V objects."""

from __future__ import annotations

import os
import shutil

OPEN_TO_ALL = ("/tmp", "/var/tmp", "/dev/shm", "/dev/mqueue", "/run/lock")  # noqa: S108 -- searched
SYSTEM_V_KINDS = ("shm", "sem", "msg")
UID_COLUMNS = ("uid", "cuid")


def remove_stray_files(uid: int) -> bool:
    """Remove the user's files from folders open to all; return whether it had left any, or owns System V objects.

    Shared memory, semaphores and message queues are not removed: the user is not used again if it left something.
    Called as that user, which can remove nothing but its own files.
    """
    found = False
    for folder in OPEN_TO_ALL:
        try:
            entries = list(os.scandir(folder))
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
    return found or any(_owns_system_v(kind, uid) for kind in SYSTEM_V_KINDS)


def _owns_system_v(kind: str, uid: int) -> bool:
    """Whether the user owns or created System V objects of that kind."""
    try:
        with open(f"/proc/sysvipc/{kind}", "rb") as file:  # as text it needs a codec, which can no longer be imported
            names, *rows = (line.decode("utf-8", "replace").split() for line in file)
    except (OSError, ValueError):
        return False
    columns = [names.index(name) for name in UID_COLUMNS if name in names]
    return any(row[column] == str(uid) for row in rows for column in columns if column < len(row))
