"""A directory that workspaces are copies of."""

from __future__ import annotations

import os
import threading
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING

from skillgym_action.filesystem.descriptor_walk import FOLDER_FLAGS
from skillgym_action.filesystem.folder import Folder
from skillgym_action.workspaces.session_files import bundled

if TYPE_CHECKING:
    from pathlib import Path

    from skillgym_action.cancellation import Cancellation


class Template:
    """A directory that is copied into workspaces; each file in it is hashed at most once."""

    def __init__(self, root: Path | None, folder: int | None = None) -> None:
        """``folder``: a descriptor of ``root``, where it has been opened; None for both: workspaces start empty.

        Raises OSError.
        """
        self.root = root
        fd = os.open(root, FOLDER_FLAGS) if root and folder is None else folder
        self.folder = None if fd is None else Folder(fd, os.fspath(root) if root else None)
        self._digests: dict[str, str | None] = {}
        self._bundle: IO[bytes] | None = None
        self._lock = threading.Lock()

    def digest(self, path: str) -> str | None:
        """The hash of a template's file."""
        if path not in self._digests:
            self._digests[path] = self.folder.digest(path) if self.folder else None
        return self._digests[path]

    def bundle(self, cancelled: Cancellation) -> int | None:
        """All of it as a bundle, packed once: a new descriptor at its start; None for an empty one. Raises OSError."""
        if self.folder is None:
            return None
        with self._lock:
            if self._bundle is None:
                file = TemporaryFile(buffering=1024 * 1024)  # noqa: SIM115 -- open as long as the run
                bundled(self.folder, file, cancelled)
                file.flush()
                self._bundle = file
        # A descriptor that was passed on shares its position with the others: each reader opens the file anew.
        return os.open(f"/proc/self/fd/{self._bundle.fileno()}", os.O_RDONLY | os.O_CLOEXEC)
