"""Git repositories of other machines that were fetched for workspaces: once in a run, as git bundles.

The first workspace that needs one fetches it, with the rights of its session and before its agent starts. The bundle
is copied to where sessions can read it, but not change it.
"""

from __future__ import annotations

import hashlib
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FOLDER_MODE, FILE_MODE = 0o711, 0o644


class FetchedRepositories:
    """The bundles of a run. Thread-safe."""

    def __init__(self, folder: Path) -> None:
        """``folder``: for the bundles; it is made with the first one."""
        self._folder = folder
        self._lock = threading.Lock()
        self._of_url: dict[str, threading.Lock] = {}
        self._bundles: dict[str, Path | None] = {}

    def bundle(self, url: str, fetch: Callable[[Path], Path | None]) -> Path | None:
        """The bundle of the repository, by ``fetch`` where it is the first one; None if it could not be fetched.

        ``fetch`` gets a path in the folder that does not exist, and returns the file that it made below it. It is
        called once for each URL; others wait for it. Raises OSError.
        """
        with self._lock:
            lock = self._of_url.setdefault(url, threading.Lock())
        with lock:
            if url not in self._bundles:
                self._bundles[url] = self._fetched(hashlib.sha256(url.encode()).hexdigest(), fetch)
            return self._bundles[url]

    def _fetched(self, name: str, fetch: Callable[[Path], Path | None]) -> Path | None:
        self._folder.mkdir(exist_ok=True)
        self._folder.chmod(FOLDER_MODE)
        target = self._folder / name
        found = fetch(target)
        if found is not None:
            target.chmod(FOLDER_MODE)
            found.chmod(FILE_MODE)
        return found
