"""Files of ours given to somebody else, and copied whole or not at all; links are never followed."""

from __future__ import annotations

import errno
import os
import stat

CHUNK = 1024 * 1024


def give_tree(root: str | os.PathLike[str], uid: int, gid: int) -> None:
    """Give ``root`` to somebody, with all below it; links, never what they point to. Raises OSError."""
    os.chown(root, uid, gid, follow_symlinks=False)
    folders = [os.fspath(root)] if stat.S_ISDIR(os.lstat(root).st_mode) else []
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                os.chown(entry.path, uid, gid, follow_symlinks=False)
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)


def copy_file(source: str, target: str) -> None:
    """Copy a regular file to ``target``, which is not there yet: the whole of it, or nothing. Raises OSError."""
    with open(source, "rb", buffering=0, opener=_without_surprises) as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", source)
        try:
            with open(target, "xb") as copy:
                while chunk := file.read(CHUNK):
                    copy.write(chunk)
                copy.flush()
                os.chmod(copy.fileno(), stat.S_IMODE(found.st_mode))
                os.utime(copy.fileno(), ns=(found.st_atime_ns, found.st_mtime_ns))
        except OSError as error:
            if not isinstance(error, FileExistsError):
                os.unlink(target)
            raise


def _without_surprises(path: str, flags: int) -> int:
    """What was a file a moment ago may be a link or a FIFO by now."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)
