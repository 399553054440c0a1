"""Access to the files of a folder that a session can write.

With users for sessions, a worker process with the session's rights does it (``RemoteFolder``): the tool as root must
never use a name that a session can create or replace. If sessions run as the caller, the tool does it itself, by
descriptors and without following links (``LocalFolder``).
"""

from __future__ import annotations

import errno
import os
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any, Protocol

from skillgym_action.filesystem.bundle import CHUNK_BYTES, BundleError, BundleLimits, read_bundle, write_bundle
from skillgym_action.filesystem.folder import Folder
from skillgym_action.filesystem.packing import folder_entries
from skillgym_action.filesystem.unpacking import copy_into, unpack
from skillgym_action.supervisor.worker import TRUSTED

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from skillgym_action.cancellation import Cancellation
    from skillgym_action.filesystem.bundle import BundleEntry
    from skillgym_action.filesystem.folder import SnapshotEntry
    from skillgym_action.model.session import Identity
    from skillgym_action.processes.supervisor_client import SupervisorClient
    from skillgym_action.workspaces.template import Template


class SessionFiles(Protocol):
    """Operations on a folder of a session; paths are relative to it. All of them raise OSError.

    All but ``fill``, ``unpack``, ``pack`` and ``whole`` are documented in ``filesystem.folder.Folder``.
    """

    def snapshot(self, below: str = "", without: Collection[str] = ()) -> dict[str, SnapshotEntry]: ...

    def entry(self, path: str) -> SnapshotEntry | None: ...

    def digest(self, path: str) -> str | None: ...

    def read(self, path: str, limit: int) -> bytes | None: ...

    def readlink(self, path: str) -> str | None: ...

    def mode(self, path: str) -> int | None: ...

    def kind(self, path: str) -> str | None: ...

    def text(self, path: str, limit: int) -> str | None: ...

    def target(self, path: str) -> str | None: ...

    def snapshot_path(self, path: str) -> str | None: ...

    def glob(self, pattern: str) -> tuple[str, ...]: ...

    def files(self, patterns: Iterable[str]) -> tuple[str, ...]: ...

    def write(self, path: str, data: bytes, mode: int = 0o600) -> None: ...

    def begin(self, without: Collection[str] = ()) -> dict[str, SnapshotEntry]: ...

    def remove(self, paths: Iterable[str]) -> None: ...

    def empty(self) -> bool: ...

    def open_up(self, path: str = "") -> None: ...

    def fill(self, template: Template, cancelled: Cancellation) -> None:
        """Copy a template to the folder."""
        ...

    def unpack(self, entries: Iterable[BundleEntry]) -> None:
        """Create the entries of a bundle; nothing may be there already. Raises BundleError, too."""
        ...

    def pack(self, paths: Iterable[str] | None) -> Iterator[BundleEntry]:
        """The content of ``paths``, or of everything except ``.git``; the iterator must be read to its end."""
        ...

    def whole(self) -> Iterator[BundleEntry]:
        """The content of everything, with ``.git`` and large files; the iterator must be read to its end."""
        ...


class LocalFolder(Folder):
    """``SessionFiles`` by the tool itself, for sessions that run as the caller."""

    def __init__(self, fd: int, path: str | None = None, *, own: bool = True) -> None:
        """``own``: the folder was made for sessions, so unreadable files in it may be made readable."""
        super().__init__(fd, path)
        self._own = own

    def fill(self, template: Template, cancelled: Cancellation) -> None:
        if template.folder:
            copy_into(template.folder, self, cancelled.raise_if_cancelled)

    def unpack(self, entries: Iterable[BundleEntry]) -> None:
        unpack(self, entries)

    def pack(self, paths: Iterable[str] | None) -> Iterator[BundleEntry]:
        return folder_entries(
            self, paths, without=() if paths is not None else (".git",), limits=BundleLimits(), open_up=self._own
        )

    def whole(self) -> Iterator[BundleEntry]:
        return folder_entries(self, open_up=self._own)


class RemoteFolder:
    """``SessionFiles`` by a worker process that has the session's user id."""

    def __init__(self, supervisor: SupervisorClient, identity: Identity, name: str, *, own: bool = True) -> None:
        """``name``: which of the folders that the worker has; ``own`` as in ``LocalFolder``."""
        self._supervisor, self._identity, self._name, self._own = supervisor, identity, name, own

    def _call(self, name: str, *arguments: object) -> Any:
        (value,) = self._supervisor.call(self._identity, (self._name, name, *arguments))
        return value

    def _call_for_text(self, name: str, *arguments: object) -> str | None:
        text: str | None = self._call(name, *arguments)
        return text

    def snapshot(self, below: str = "", without: Collection[str] = ()) -> dict[str, SnapshotEntry]:
        return _entries(self._call("snapshot", below, list(without)))

    def entry(self, path: str) -> SnapshotEntry | None:
        found = self._call("entry", path)
        return tuple(found) if found else None

    def digest(self, path: str) -> str | None:
        return self._call_for_text("digest", path)

    def read(self, path: str, limit: int) -> bytes | None:
        found = self._call("read", path, limit)
        return None if found is None else bytes.fromhex(found)

    def readlink(self, path: str) -> str | None:
        return self._call_for_text("readlink", path)

    def mode(self, path: str) -> int | None:
        found: int | None = self._call("mode", path)
        return found

    def kind(self, path: str) -> str | None:
        return self._call_for_text("kind", path)

    def text(self, path: str, limit: int) -> str | None:
        return self._call_for_text("text", path, limit)

    def target(self, path: str) -> str | None:
        return self._call_for_text("target", path)

    def snapshot_path(self, path: str) -> str | None:
        return self._call_for_text("snapshot_path", path)

    def glob(self, pattern: str) -> tuple[str, ...]:
        return tuple(self._call("glob", pattern))

    def files(self, patterns: Iterable[str]) -> tuple[str, ...]:
        return tuple(self._call("files", list(patterns)))

    def write(self, path: str, data: bytes, mode: int = 0o600) -> None:
        self._call("write", path, data.decode("latin-1"), mode)

    def begin(self, without: Collection[str] = ()) -> dict[str, SnapshotEntry]:
        return _entries(self._call("begin", list(without)))

    def remove(self, paths: Iterable[str]) -> None:
        self._call("remove", list(paths))

    def empty(self) -> bool:
        return bool(self._call("empty"))

    def open_up(self, path: str = "") -> None:
        self._call("open_up", path)

    def fill(self, template: Template, cancelled: Cancellation) -> None:
        cancelled.raise_if_cancelled()
        if (bundle := template.bundle(cancelled)) is not None:
            try:
                self._supervisor.request(self._identity, {"op": "unpack", "place": self._name}, [bundle])
            finally:
                os.close(bundle)

    def unpack(self, entries: Iterable[BundleEntry]) -> None:
        with TemporaryFile(buffering=CHUNK_BYTES) as file:
            write_bundle(file, entries)
            file.flush()
            file.seek(0)
            self._supervisor.request(self._identity, {"op": "unpack", "place": self._name}, [file.fileno()])

    def pack(self, paths: Iterable[str] | None) -> Iterator[BundleEntry]:
        wanted = None if paths is None else list(paths)
        return self._packed({"paths": wanted, "own": self._own}, BundleLimits())

    def whole(self) -> Iterator[BundleEntry]:
        return self._packed({"paths": None, "own": self._own, "whole": True}, TRUSTED)

    def _packed(self, wanted: dict[str, Any], limits: BundleLimits) -> Iterator[BundleEntry]:
        complete = False
        try:
            with self._supervisor.stream(self._identity, {"op": "pack", "place": self._name, **wanted}) as stream:
                yield from read_bundle(stream, limits, alone=False)
            complete = True
        except BundleError as error:
            raise OSError(errno.EPROTO, str(error)) from error
        finally:
            if not complete:  # the rest of the bundle may still be in the pipe: this worker cannot be used again
                self._supervisor.drop_worker(self._identity)


def _entries(found: dict[str, list[Any]]) -> dict[str, SnapshotEntry]:
    return {path: tuple(entry) for path, entry in found.items()}
