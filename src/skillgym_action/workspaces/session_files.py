"""What the tool does with a folder that a session can write, whoever does it.

As root a worker with the session's rights (``RemoteFolder``); where sessions run as the caller the tool itself, by
descriptors and without following links (``LocalFolder``).
"""

from __future__ import annotations

import errno
import os
from typing import IO, TYPE_CHECKING, Any, Protocol

from skillgym_action.filesystem.bundle import BundleError, BundleLimits, read_bundle, write_bundle
from skillgym_action.filesystem.folder import Folder
from skillgym_action.filesystem.packing import folder_entries
from skillgym_action.filesystem.unpacking import copy_into

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from skillgym_action.cancellation import Cancellation
    from skillgym_action.filesystem.bundle import BundleEntry
    from skillgym_action.filesystem.folder import SnapshotEntry
    from skillgym_action.model.session import Identity
    from skillgym_action.processes.supervisor_client import SupervisorClient
    from skillgym_action.workspaces.template import Template


class SessionFiles(Protocol):
    """What can be done with a folder of a session (see ``filesystem.folder.Folder``). All raise OSError."""

    def snapshot(self, below: str = "", without: Collection[str] = ()) -> dict[str, SnapshotEntry]:
        """Every path, and what is there."""
        ...

    def entry(self, path: str) -> SnapshotEntry | None:
        """As in a snapshot."""
        ...

    def digest(self, path: str) -> str | None:
        """A hash of the content."""
        ...

    def read(self, path: str, limit: int) -> bytes | None:
        """The content of a regular file."""
        ...

    def readlink(self, path: str) -> str | None:
        """Where a link leads."""
        ...

    def mode(self, path: str) -> int | None:
        """Permissions, with type."""
        ...

    def kind(self, path: str) -> str | None:
        """What the path leads to."""
        ...

    def text(self, path: str, limit: int) -> str | None:
        """The content as text."""
        ...

    def target(self, path: str) -> str | None:
        """Where the path leads."""
        ...

    def place(self, path: str) -> str | None:
        """The path as snapshots know it."""
        ...

    def glob(self, pattern: str) -> tuple[str, ...]:
        """Files that match."""
        ...

    def files(self, patterns: Iterable[str]) -> tuple[str, ...]:
        """Regular files that match."""
        ...

    def write(self, path: str, data: bytes, mode: int = 0o600) -> None:
        """Put a file there."""
        ...

    def begin(self, without: Collection[str] = ()) -> dict[str, SnapshotEntry]:
        """Link folders of skills, then take a snapshot."""
        ...

    def remove(self, paths: Iterable[str]) -> None:
        """Remove files and folders."""
        ...

    def empty(self) -> bool:
        """Remove everything."""
        ...

    def open_up(self, path: str = "") -> None:
        """Make a folder usable for its owner."""
        ...

    def fill(self, template: Template, cancelled: Cancellation) -> None:
        """Put a copy of the template there."""
        ...

    def pack(self, paths: Iterable[str] | None) -> Iterator[BundleEntry]:
        """What is there, to be read to its end: all of it but ``.git``, or ``paths``."""
        ...


class LocalFolder(Folder):
    """A folder that sessions change as the caller; fulfils ``SessionFiles``."""

    def __init__(self, fd: int, path: str | None = None, *, own: bool = True) -> None:
        """``own``: the folder goes with the session, hence what is closed in it may be opened to be read."""
        super().__init__(fd, path)
        self._own = own

    def fill(self, template: Template, cancelled: Cancellation) -> None:
        """Put a copy of the template there. Raises OSError."""
        if template.folder:
            copy_into(template.folder, self, cancelled.raise_if_cancelled)

    def pack(self, paths: Iterable[str] | None) -> Iterator[BundleEntry]:
        """What is there. Raises OSError."""
        return folder_entries(
            self, paths, without=() if paths is not None else (".git",), limits=BundleLimits(), open_up=self._own
        )


class RemoteFolder:
    """A folder of a session with a user of its own, worked on by that user; fulfils ``SessionFiles``."""

    def __init__(self, supervisor: SupervisorClient, identity: Identity, name: str, *, own: bool = True) -> None:
        """``name`` is the folder's among those that the user's workers have; ``own`` as in ``LocalFolder``."""
        self._supervisor, self._identity, self._name, self._own = supervisor, identity, name, own

    def _call(self, name: str, *arguments: object) -> Any:
        (value,) = self._supervisor.call(self._identity, (self._name, name, *arguments))
        return value

    def snapshot(self, below: str = "", without: Collection[str] = ()) -> dict[str, SnapshotEntry]:
        """Every path."""
        return _entries(self._call("snapshot", below, list(without)))

    def entry(self, path: str) -> SnapshotEntry | None:
        """As in a snapshot."""
        found = self._call("entry", path)
        return tuple(found) if found else None

    def digest(self, path: str) -> str | None:
        """A hash of the content."""
        found: str | None = self._call("digest", path)
        return found

    def read(self, path: str, limit: int) -> bytes | None:
        """The content."""
        found = self._call("read", path, limit)
        return None if found is None else bytes.fromhex(found)

    def readlink(self, path: str) -> str | None:
        """Where a link leads."""
        found: str | None = self._call("readlink", path)
        return found

    def mode(self, path: str) -> int | None:
        """Permissions, with type."""
        found: int | None = self._call("mode", path)
        return found

    def kind(self, path: str) -> str | None:
        """What the path leads to."""
        found: str | None = self._call("kind", path)
        return found

    def text(self, path: str, limit: int) -> str | None:
        """The content as text."""
        found: str | None = self._call("text", path, limit)
        return found

    def target(self, path: str) -> str | None:
        """Where the path leads."""
        found: str | None = self._call("target", path)
        return found

    def place(self, path: str) -> str | None:
        """The path as snapshots know it."""
        found: str | None = self._call("place", path)
        return found

    def glob(self, pattern: str) -> tuple[str, ...]:
        """Files that match."""
        return tuple(self._call("glob", pattern))

    def files(self, patterns: Iterable[str]) -> tuple[str, ...]:
        """Regular files that match."""
        return tuple(self._call("files", list(patterns)))

    def write(self, path: str, data: bytes, mode: int = 0o600) -> None:
        """Put a file there."""
        self._call("write", path, data.decode("latin-1"), mode)

    def begin(self, without: Collection[str] = ()) -> dict[str, SnapshotEntry]:
        """Link folders of skills, then take a snapshot."""
        return _entries(self._call("begin", list(without)))

    def remove(self, paths: Iterable[str]) -> None:
        """Remove files and folders."""
        self._call("remove", list(paths))

    def empty(self) -> bool:
        """Remove everything."""
        return bool(self._call("empty"))

    def open_up(self, path: str = "") -> None:
        """Make a folder usable for its owner."""
        self._call("open_up", path)

    def fill(self, template: Template, cancelled: Cancellation) -> None:
        """Put a copy of the template there."""
        cancelled.raise_if_cancelled()
        if (bundle := template.bundle(cancelled)) is not None:
            try:
                self._supervisor.request(self._identity, {"op": "unpack", "place": self._name}, [bundle])
            finally:
                os.close(bundle)

    def pack(self, paths: Iterable[str] | None) -> Iterator[BundleEntry]:
        """What is there. Raises OSError."""
        wanted = None if paths is None else list(paths)
        complete = False
        try:
            request = {"op": "pack", "place": self._name, "paths": wanted, "own": self._own}
            with self._supervisor.stream(self._identity, request) as stream:
                yield from read_bundle(stream, BundleLimits(), alone=False)
            complete = True
        except BundleError as error:
            raise OSError(errno.EPROTO, str(error)) from error
        finally:
            if not complete:  # nobody knows what the worker sends next
                self._supervisor.drop_worker(self._identity)


def _entries(found: dict[str, list[Any]]) -> dict[str, SnapshotEntry]:
    return {path: tuple(entry) for path, entry in found.items()}


def bundled(folder: Folder, file: IO[bytes], cancelled: Cancellation) -> None:
    """Write all that is in a folder of ours to ``file``. Raises OSError."""

    def heeded() -> Iterator[BundleEntry]:
        for entry in folder_entries(folder):
            cancelled.raise_if_cancelled()
            yield entry

    write_bundle(file, heeded())
