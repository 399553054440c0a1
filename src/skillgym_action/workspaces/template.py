"""A directory that workspaces are copies of."""

from __future__ import annotations

import os
import threading
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING

from skillgym_action.system.files.bundle import write_bundle
from skillgym_action.system.files.folder import Folder
from skillgym_action.system.files.open_below import FOLDER_FLAGS
from skillgym_action.system.files.packing import folder_entries

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from skillgym_action.system.cancellation import Cancellation
    from skillgym_action.system.files.bundle import BundleEntry


class Template:
    """A directory that is copied into workspaces; each file in it is hashed at most once."""

    def __init__(self, root: Path | None, folder: int | None = None) -> None:
        """``folder``: a descriptor of ``root``, if it is open already. With neither, workspaces start empty.

        Raises OSError.
        """
        self.root = root
        fd = os.open(root, FOLDER_FLAGS) if root and folder is None else folder
        self.folder = None if fd is None else Folder(fd, os.fspath(root) if root else None)
        self._digests: dict[str, str | None] = {}
        self._bundle: IO[bytes] | None = None
        self._lock = threading.Lock()

    def digest(self, path: str) -> str | None:
        """The hash of a file in the template; None if there is none."""
        if path not in self._digests:
            self._digests[path] = self.folder.digest(path) if self.folder else None
        return self._digests[path]

    def bundle(self, cancelled: Cancellation) -> int | None:
        """A new descriptor, at position 0, of the whole template as a bundle; None for an empty one. Raises OSError.

        The template is packed once; sessions with users of their own unpack it themselves.
        """
        if self.folder is None:
            return None
        with self._lock:
            if self._bundle is None:
                file = TemporaryFile(buffering=1024 * 1024)  # noqa: SIM115 -- open as long as the run
                _write_bundle(self.folder, file, cancelled)
                file.flush()
                self._bundle = file
        # A duplicated descriptor would share its position with other readers, so each opens the file anew.
        return os.open(f"/proc/self/fd/{self._bundle.fileno()}", os.O_RDONLY | os.O_CLOEXEC)


def _write_bundle(folder: Folder, file: IO[bytes], cancelled: Cancellation) -> None:
    """Write everything in a folder to ``file``. Raises OSError, and InterruptedError when cancelled."""

    def until_cancelled() -> Iterator[BundleEntry]:
        for entry in folder_entries(folder):
            cancelled.raise_if_cancelled()
            yield entry

    write_bundle(file, until_cancelled())
