"""Changing the owner of files of the tool, in folders that only the tool changes."""

from __future__ import annotations

import os
import stat


def chown_tree(root: str | os.PathLike[str], uid: int, gid: int) -> None:
    """Change the owner of ``root`` and of all below it; of links themselves, not of their targets. Raises OSError."""
    os.chown(root, uid, gid, follow_symlinks=False)
    folders = [os.fspath(root)] if stat.S_ISDIR(os.lstat(root).st_mode) else []
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                os.chown(entry.path, uid, gid, follow_symlinks=False)
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
