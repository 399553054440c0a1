"""A container of a Docker engine: files in and out, programs, changes."""

from __future__ import annotations

import errno
import io
import posixpath
import tarfile
from contextlib import closing, suppress
from itertools import chain
from typing import TYPE_CHECKING, Any, Self

from skillgym_action.filesystem.bundle import BundleEntry, BundleError, BundleLimits, checked_entries
from skillgym_action.limits import RESULT_LINGER_SECONDS
from skillgym_action.model.containers import ContainerChange, Owner
from skillgym_action.model.errors import SandboxError
from skillgym_action.remote_limits import MAX_CONTAINER_CHANGES
from skillgym_action.sandboxes.docker_commands import DiskWatch, DockerCommand
from skillgym_action.sandboxes.docker_engine import ENGINE_ERRORS
from skillgym_action.sandboxes.docker_volumes import KEEPER_FOLDER
from skillgym_action.sandboxes.tar_entries import END, HardLink, read_tar, write_tar

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

    from skillgym_action.cancellation import Cancellation
    from skillgym_action.model.containers import ContainerCommand, ContainerSpec, RefusedConnection
    from skillgym_action.model.session import Capture, Watcher
    from skillgym_action.sandboxes.docker_engine import DockerEngine
    from skillgym_action.sandboxes.docker_processes import Processes

GO_FOLDER, GO_LINK, GO_IRREGULAR = 1 << 31, 1 << 27, (1 << 26) | (1 << 25) | (1 << 24) | (1 << 21) | (1 << 19)
CHANGES = {0: "changed", 1: "added", 2: "deleted"}
MAX_ACCOUNTS_BYTES = 1024 * 1024  # of /etc/passwd and /etc/group


class DockerContainer:
    """See ``SandboxContainer``."""

    def __init__(
        self, engine: DockerEngine, container: str, spec: ContainerSpec, processes: Processes, cancelled: Cancellation
    ) -> None:
        """``processes``: its keeper runs. ``environment`` and what follows is set by the sandbox."""
        self.engine, self.id, self.spec = engine, container, spec
        self.processes, self.cancelled = processes, cancelled
        self.environment: Mapping[str, str] = {}
        self.disk: DiskWatch | None = None
        self.result_linger = RESULT_LINGER_SECONDS
        self.release: Callable[[], None] = lambda: None
        self.refusals: Callable[[], tuple[RefusedConnection, ...]] = tuple
        self._removed = False
        self._open_archive: io.BufferedReader | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()

    # --- files --------------------------------------------------------------------------------------------------

    def put(self, entries: Iterable[BundleEntry], path: str, owner: Owner | None = None) -> None:
        _require_absolute(path)
        with self.engine.errors(f"cannot write {self.engine.shown(path)} in the container"):
            folder, below = self._existing(posixpath.normpath(path))
            missing = [BundleEntry("folder", name, 0o755) for name in _prefixes(below)]
            content = write_tar(entries, owner, f"{below}/" if below else "")
            self.engine.api.put_archive(self.id, folder, chain(write_tar(missing, owner), content, (END,)))

    def _existing(self, path: str) -> tuple[str, str]:
        """The deepest folder on the way to ``path`` that exists, and the rest of the path."""
        folder, below = path, ""
        while folder != "/" and self._status(folder) is None:
            folder, name = posixpath.split(folder)
            below = f"{name}/{below}" if below else name
        return folder, below

    def get(self, path: str, limits: BundleLimits | None = None) -> Iterator[BundleEntry]:
        limits = limits or BundleLimits()
        with closing(self._entries(path, limits)) as entries:
            yield from checked_entries(entries, limits)

    def _entries(self, path: str, limits: BundleLimits) -> Generator[BundleEntry]:
        found = self._resolved(path)
        if found is None:
            raise FileNotFoundError(errno.ENOENT, "no such file or folder in the container", path)
        target, mode = found
        with self._reading(path):
            if not mode & GO_FOLDER:
                with closing(self._file(target)) as file:
                    if file.exists:
                        entry = BundleEntry("file", posixpath.basename(path), mode & 0o777)
                        yield entry.with_content(file.size, file.chunks)
                return
            hard_links: list[HardLink] = []
            with closing(self._archive(target)) as archive:
                try:
                    for each in read_tar(archive):
                        if isinstance(each, BundleEntry):
                            yield each
                        elif len(hard_links) < limits.entries:
                            hard_links.append(each)
                        else:
                            raise BundleError(f"{path} has more than {limits.entries:,} hard links")
                except tarfile.TarError as error:
                    raise BundleError(f"the archive of {path} is refused: {error}") from error
            # Only now: the engine lets other requests for a container wait while it sends an archive of it.
            for link in hard_links:
                with closing(self._file(posixpath.join(target, link.path))) as file:
                    if file.exists:
                        yield BundleEntry("file", *link).with_content(file.size, file.chunks)

    def read(self, path: str, size: int) -> bytes | None:
        found = self._resolved(path)
        with self._reading(path):
            if not found or found[1] & (GO_FOLDER | GO_IRREGULAR):
                return None
            with closing(self._file(found[0])) as file:
                if file.size > size:
                    raise BundleError(f"{path} has {file.size} bytes, which is more than {size}")
                return b"".join(file.chunks()) if file.exists else None

    def _resolved(self, path: str) -> tuple[str, int] | None:
        """The path without a link at its end, and Go's file mode; None: there is nothing."""
        _require_absolute(path)
        with self._reading(path):
            found = self._status(path)
            if found and found["mode"] & GO_LINK:
                path = posixpath.join(posixpath.dirname(path), found["linkTarget"])
                found = self._status(path)
        return (path, int(found["mode"])) if found and not found["mode"] & GO_LINK else None

    def _status(self, path: str) -> dict[str, Any] | None:
        """See ``DockerEngine.status``. What was read before may have been given up without reading it to its end."""
        self._end_archive()  # else the engine does not answer
        return self.engine.status(self.id, path)

    def _reading(self, path: str) -> AbstractContextManager[None]:
        return self.engine.errors(f"cannot read {self.engine.shown(path)} in the container")

    def _archive(self, path: str) -> io.BufferedReader:
        self._end_archive()
        self._open_archive = io.BufferedReader(_Chunks(self.engine.archive(self.id, path)))
        return self._open_archive

    def _end_archive(self) -> None:
        """Close an archive that was not read to its end: the engine lets all other requests for the container wait."""
        if self._open_archive:
            self._open_archive.close()
            self._open_archive = None

    def _file(self, path: str) -> _ArchivedFile:
        return _ArchivedFile(self._archive(path))

    def changes(self) -> tuple[ContainerChange, ...]:
        self._end_archive()
        with self.engine.errors("cannot list the changes of the container"):
            found: list[dict[str, Any]] = self.engine.api.diff(self.id) or []
        if len(found) > MAX_CONTAINER_CHANGES:
            raise SandboxError(f"the container changed more than {MAX_CONTAINER_CHANGES:,} files")
        listed = [ContainerChange(path=each["Path"], kind=CHANGES[each["Kind"]]) for each in found]  # type: ignore[arg-type]
        return tuple(
            sorted((change for change in listed if change.path != KEEPER_FOLDER), key=lambda change: change.path)
        )

    def owner(self, user: str | None = None) -> Owner:
        """The ids of a user of the container, ``name``, ``uid`` or either with ``:group``; None: the one of its spec.

        Raises SandboxError if there is no such user.
        """
        name, _, group = (user or self.spec.user or "0").partition(":")
        account = self._account("/etc/passwd", name)
        if account is None and not name.isdecimal():
            raise SandboxError(f"the image has no user {name!r}", remedy="name a user that it has, or a user id")
        uid = int(account[2]) if account else int(name)
        if not group:
            return Owner(uid=uid, gid=int(account[3]) if account else 0)
        found = self._account("/etc/group", group)
        if found is None and not group.isdecimal():
            raise SandboxError(f"the image has no group {group!r}", remedy="name a group that it has, or a group id")
        return Owner(uid=uid, gid=int(found[2]) if found else int(group))

    def _account(self, path: str, name: str) -> list[str] | None:
        lines = (self.read(path, MAX_ACCOUNTS_BYTES) or b"").decode("utf-8", "replace").splitlines()
        for fields in (line.split(":") for line in lines):
            if len(fields) >= 4 and name in {fields[0], fields[2]} and fields[2].isdecimal():  # noqa: PLR2004
                return fields
        return None

    # --- programs -----------------------------------------------------------------------------------------------

    def run(self, command: ContainerCommand, *, stdout: Path, stderr: Path, watch: Watcher | None = None) -> Capture:
        self._end_archive()
        running = DockerCommand(self, command)
        return running.run(stdout, stderr, watch)

    def refused(self) -> tuple[RefusedConnection, ...]:
        return self.refusals()

    def remove(self) -> None:
        if self._removed:
            return
        self._removed = True
        self._end_archive()
        with suppress(*ENGINE_ERRORS):
            self.engine.api.remove_container(self.id, force=True, v=True)
        self.processes.close()
        self.release()


class _ArchivedFile:
    """The file in an archive of one path. ``exists``: whether there is one, and it is regular; ``size``: in bytes.

    The container is locked until it is closed.
    """

    def __init__(self, archive: io.BufferedReader) -> None:
        self._archive, self.size, self._file = archive, 0, None
        with suppress(tarfile.TarError):
            tar = tarfile.open(fileobj=archive, mode="r|", errors="surrogateescape")  # noqa: SIM115 -- read later
            member = tar.next()
            if member and member.isreg():
                self.size, self._file = member.size, tar.extractfile(member)
        self.exists = self._file is not None

    def chunks(self) -> Iterator[bytes]:
        while self._file and (chunk := self._file.read(io.DEFAULT_BUFFER_SIZE * 16)):
            yield chunk

    def close(self) -> None:
        self._archive.close()


class _Chunks(io.RawIOBase):
    """The pieces of a reply as a file."""

    def __init__(self, chunks: Any) -> None:
        """``chunks`` is a generator that closes the reply."""
        self._chunks, self._rest = chunks, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            chunk = next(self._chunks, None)
            if chunk is None:
                return 0
            self._rest = chunk
        size = min(len(buffer), len(self._rest))
        buffer[:size], self._rest = self._rest[:size], self._rest[size:]
        return size

    def close(self) -> None:
        if not self.closed:
            self._chunks.close()
        super().close()


def _require_absolute(path: str) -> None:
    if not path.startswith("/") or "\0" in path:
        raise SandboxError(f"{path!r} is not an absolute path in the container")


def _prefixes(path: str) -> list[str]:
    parts = path.split("/") if path else []
    return ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]
