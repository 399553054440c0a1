"""Removal of folders, whatever is in them."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from typing import TYPE_CHECKING

from skillgym_action.filesystem.folder import Folder

if TYPE_CHECKING:
    from pathlib import Path


def remove(path: str | Path) -> None:
    """Remove a file, a link (never what it leads to) or a folder of any depth and modes, as far as that is possible.

    Only for places in which nothing but the tool changes names.
    """
    with suppress(OSError):
        found = os.lstat(path)
        if not stat.S_ISDIR(found.st_mode):
            os.unlink(path)
            return
        if found.st_mode & stat.S_IRWXU != stat.S_IRWXU:
            os.chmod(path, stat.S_IRWXU)
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            Folder(folder).empty()
        finally:
            os.close(folder)
        os.rmdir(path)
