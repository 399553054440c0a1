"""The folder of a session, and access to the files below it.

``<random>/`` belongs to the tool; in it ``workspace``, ``home`` and ``tmp`` belong to the session's user, who cannot
replace them. The tool keeps a descriptor of each, and accesses what is below them only by ``SessionFiles``.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any, Protocol

from skillgym_action.system.files.bundle import CHUNK_BYTES, BundleError, BundleLimits, read_bundle, write_bundle
from skillgym_action.system.files.folder import Folder
from skillgym_action.system.files.open_below import FOLDER_FLAGS
from skillgym_action.system.files.packing import copy_into, folder_entries, unpack
from skillgym_action.system.supervisor.worker import TRUSTED

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from skillgym_action.model.session import Identity
    from skillgym_action.system.cancellation import Cancellation
    from skillgym_action.system.files.bundle import BundleEntry
    from skillgym_action.system.files.folder import SnapshotEntry
    from skillgym_action.system.processes.started_programs import SupervisorClient
    from skillgym_action.system.processes.users import AgentUser
    from skillgym_action.workspaces.look import Look
    from skillgym_action.workspaces.template import Template

WORKSPACE, HOME, SCRATCH = "workspace", "home", "tmp"
PRIVATE, JUDGED = 0o700, 0o2770  # the group of programs that judge has access to a judged workspace
PASSABLE = 0o711  # the session's user must pass through the folder, but not list it


class SessionFolder:
    """The folder of one session. ``identity``: the session's own user; None if it runs as the caller.

    ``<random>/`` belongs to the tool; in it ``workspace``, ``home`` and ``tmp`` belong to the session's user, who
    cannot replace them. The tool keeps a descriptor of each, and accesses what is below them only by ``SessionFiles``.
    """

    def __init__(
        self, path: Path, supervisor: SupervisorClient, user: AgentUser | None, identity: Identity | None, look: Look
    ) -> None:
        """Create the folder at ``path``, empty. ``look``: when work on its files ends. Raises OSError."""
        self.path, self.identity, self.look = path, identity, look
        self.shares_user = False  # whether sessions in other folders run as the same user
        self._supervisor, self._user = supervisor, user
        os.mkdir(path, PRIVATE)
        self._real = os.path.realpath(path)
        self._fd = os.open(path, FOLDER_FLAGS)
        if identity:
            os.chmod(self._fd, PASSABLE)
        self._folders: dict[str, int] = {}
        self._adopted: dict[str, tuple[str, bool]] = {}  # path, and whether the folder was made for sessions
        self._ctimes: dict[str, int] = {}  # of each folder when it was made; -1: it was replaced since
        if identity:
            supervisor.attach(identity, self._folders)

    def make(self, name: str) -> None:
        """Create one of its folders. Raises OSError."""
        os.mkdir(name, PRIVATE, dir_fd=self._fd)
        self._open(name)

    def _open(self, name: str) -> None:
        folder = os.open(name, FOLDER_FLAGS, dir_fd=self._fd)
        if self.identity and self._user:
            judged = name == WORKSPACE
            os.chown(folder, self.identity.uid, self._user.judges if judged else self.identity.gid)
            if judged:
                os.chmod(folder, JUDGED)  # after chown, which clears the setgid bit
        self._register(name, folder)
        self._ctimes[name] = os.fstat(folder).st_ctime_ns

    def _register(self, name: str, folder: int) -> None:
        if name in self._folders:
            os.close(self._folders.pop(name))
        self._folders[name] = folder
        if self.identity:
            self._supervisor.replace_folder(self.identity, name, folder)

    def adopt(self, name: str, folder: int, path: Path, *, own: bool = False) -> None:
        """Use a folder that is elsewhere, at ``path``, under that name; its descriptor is closed with the others.

        ``own``: the folder was made for sessions, so unreadable files in it may be made readable.
        """
        self._register(name, folder)
        self._adopted[name] = os.fspath(path), own

    def access(self, name: str) -> tuple[bool, bool]:
        """Whether its user can work in an adopted folder, and whether it can change it. Raises OSError."""
        if self.identity is None:
            return True, True
        path, _ = self._adopted[name]
        works, changes = self._supervisor.request(self.identity, {"op": "reach", "place": name, "path": path})
        return works, changes

    def files(self, name: str) -> SessionFiles:
        """Access to the files in one of its folders, with the rights of the session."""
        path, own = self._adopted.get(name, (None, True))
        if self.identity:
            return RemoteFolder(self._supervisor, self.identity, name, self.look, own=own)
        real = os.path.realpath(path) if path else f"{self._real}/{name}"
        return LocalFolder(self._folders[name], real, self.look, own=own)

    def restore(self, *names: str) -> None:
        """Make folders again that the session removed, and give their owner access to all. Raises OSError.

        Only a session that runs as the caller can remove or replace them. A folder that it put there instead is used.
        """
        if self.identity:
            self._supervisor.call(self.identity, *((name, "open_up") for name in names))
            return
        for name in names:
            self._restore(name)
            self.files(name).open_up()

    def _restore(self, name: str) -> None:
        found = self._identity_of(name)
        if found is None:
            # A session that runs as the caller can remove the whole folder, or replace it by a file or link.
            os.makedirs(self.path, PRIVATE, exist_ok=True)
            os.close(self._fd)
            self._fd = os.open(self.path, FOLDER_FLAGS)
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=self._fd)
            os.mkdir(name, PRIVATE, dir_fd=self._fd)
        if found is None or found != _identity(self._folders[name]):
            self._open(name)
            self._ctimes[name] = -1  # never taken for untouched

    def _identity_of(self, name: str) -> tuple[int, int] | None:
        """Device and inode of the folder with that name; None if there is none, or something else."""
        try:
            found = os.stat(name, dir_fd=self._fd, follow_symlinks=False)
        except OSError:
            return None
        return (found.st_dev, found.st_ino) if stat.S_ISDIR(found.st_mode) else None

    def is_untouched(self, *names: str) -> bool:
        """Whether nothing was ever put into these folders, and mode, owner and attributes never changed.

        Each of these changes the ctime, which programs cannot set.
        """
        return all(os.fstat(self._folders[name]).st_ctime_ns == self._ctimes.get(name) for name in names)

    def release(self, name: str) -> None:
        """Stop using a folder, which stays as it is. The worker that has it open is ended, before the next session."""
        os.close(self._folders.pop(name))
        self._adopted.pop(name, None)
        if self.identity:
            self._supervisor.drop_worker(self.identity)

    def move(self, name: str, target: str) -> None:
        """Move one of its folders elsewhere in the file system, and stop using it. Raises OSError."""
        os.rename(name, target, src_dir_fd=self._fd)
        self.release(name)

    def remove(self, name: str) -> None:
        """Empty and remove one of its folders; what cannot be removed stays until the whole folder is discarded."""
        with suppress(OSError):
            self.files(name).empty()
            with suppress(FileNotFoundError):
                os.rmdir(name, dir_fd=self._fd)
            os.close(self._folders.pop(name))

    def discard(self, *names: str) -> bool:
        """Empty and remove these folders; return whether nothing is left, neither in them nor of its user elsewhere.

        Files of its user outside of the folder are removed. The worker that does it first ends all processes of the
        user, and continues as the worker of the next session's first step.
        """
        done = False
        with suppress(OSError):
            done = self._empty(names)
        for name in names:
            try:
                os.rmdir(name, dir_fd=self._fd)
            except FileNotFoundError:
                pass
            except OSError:
                done = False
        for name in names:
            os.close(self._folders.pop(name))
        return done

    def _empty(self, names: Sequence[str]) -> bool:
        """Empty these folders; return whether nothing of the user is left elsewhere. Raises OSError."""
        if self.identity is None:
            for name in names:
                self.files(name).empty()
            return True
        self.look.check()
        calls = [(name, "empty") for name in names]
        if not self.identity.is_own:  # what the user has elsewhere may not be this session's
            self._supervisor.call(self.identity, *calls, wait=self.look.wait)
            return True
        *_, left = self._supervisor.call(self.identity, *calls, ("", "left_behind"), wait=self.look.wait)
        return not left

    def close(self) -> None:
        """End the processes of its user, close all folders, and remove this folder if it is empty."""
        if self.identity:
            with suppress(OSError):
                self._supervisor.detach(self.identity)
        for folder in self._folders.values():
            os.close(folder)
        self._folders.clear()
        os.close(self._fd)
        with suppress(OSError):
            os.rmdir(self.path)

    @property
    def names(self) -> Mapping[str, int]:
        """The descriptors of its folders, by name."""
        return self._folders


def _identity(folder: int) -> tuple[int, int]:
    found = os.fstat(folder)
    return found.st_dev, found.st_ino


class SessionFiles(Protocol):
    """Operations on a folder of a session; paths are relative to it. All of them raise OSError.

    Those that take long where there is much also end as ``workspaces.look.Look`` says.

    All but ``fill``, ``unpack``, ``pack`` and ``whole`` are documented in ``system.files.folder.Folder``.

    With users for sessions, a worker process with the session's rights does them (``RemoteFolder``): the tool as root
    must never use a name that a session can create or replace. If sessions run as the caller, the tool does them
    itself, by descriptors and without following links (``LocalFolder``).
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

    def __init__(self, fd: int, path: str | None, look: Look, *, own: bool = True) -> None:
        """``own``: the folder was made for sessions, so unreadable files in it may be made readable."""
        super().__init__(fd, path, look.check)
        self._look, self._own = look, own

    def fill(self, template: Template, cancelled: Cancellation) -> None:
        if template.folder:
            copy_into(template.folder, self, cancelled.raise_if_cancelled)

    def unpack(self, entries: Iterable[BundleEntry]) -> None:
        unpack(self, entries)

    def pack(self, paths: Iterable[str] | None) -> Iterator[BundleEntry]:
        without = () if paths is not None else (".git",)
        return self._look.checked(
            folder_entries(self, paths, without=without, limits=BundleLimits(), open_up=self._own)
        )

    def whole(self) -> Iterator[BundleEntry]:
        return self._look.checked(folder_entries(self, open_up=self._own))


class RemoteFolder:
    """``SessionFiles`` by a worker process that has the session's user id."""

    def __init__(
        self, supervisor: SupervisorClient, identity: Identity, name: str, look: Look, *, own: bool = True
    ) -> None:
        """``name``: which of the folders that the worker has; ``own`` as in ``LocalFolder``."""
        self._supervisor, self._identity, self._name, self._look, self._own = supervisor, identity, name, look, own

    def _call(self, name: str, *arguments: object) -> Any:
        self._look.check()
        (value,) = self._supervisor.call(self._identity, (self._name, name, *arguments), wait=self._look.wait)
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
                self._unpack(bundle)
            finally:
                os.close(bundle)

    def unpack(self, entries: Iterable[BundleEntry]) -> None:
        with TemporaryFile(buffering=CHUNK_BYTES) as file:
            write_bundle(file, entries)
            file.flush()
            file.seek(0)
            self._unpack(file.fileno())

    def _unpack(self, bundle: int) -> None:
        self._look.check()
        request = {"op": "unpack", "place": self._name}
        self._supervisor.request(self._identity, request, [bundle], wait=self._look.wait)

    def pack(self, paths: Iterable[str] | None) -> Iterator[BundleEntry]:
        wanted = None if paths is None else list(paths)
        return self._packed({"paths": wanted, "own": self._own}, BundleLimits())

    def whole(self) -> Iterator[BundleEntry]:
        return self._packed({"paths": None, "own": self._own, "whole": True}, TRUSTED)

    def _packed(self, wanted: dict[str, Any], limits: BundleLimits) -> Iterator[BundleEntry]:
        complete = False
        self._look.check()
        try:
            with self._supervisor.stream(self._identity, {"op": "pack", "place": self._name, **wanted}) as stream:
                yield from self._look.checked(read_bundle(stream, limits, alone=False))
            complete = True
        except BundleError as error:
            raise OSError(errno.EPROTO, str(error)) from error
        finally:
            if not complete:  # the rest of the bundle may still be in the pipe: this worker cannot be used again
                self._supervisor.drop_worker(self._identity)


def _entries(found: dict[str, list[Any]]) -> dict[str, SnapshotEntry]:
    return {path: tuple(entry) for path, entry in found.items()}
