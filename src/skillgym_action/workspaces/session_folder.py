"""A session's own folder.

``<random>`` belongs to the tool; in it ``workspace``, ``home`` and ``tmp`` belong to the session, which cannot replace
them. The tool names nothing below them itself: see ``session_files``.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from typing import TYPE_CHECKING

from skillgym_action.filesystem.descriptor_walk import FOLDER_FLAGS
from skillgym_action.workspaces.session_files import LocalFolder, RemoteFolder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from skillgym_action.model.session import Identity
    from skillgym_action.processes.supervisor_client import SupervisorClient
    from skillgym_action.processes.users import AgentUser
    from skillgym_action.workspaces.session_files import SessionFiles

WORKSPACE, HOME, SCRATCH = "workspace", "home", "tmp"
PRIVATE, JUDGED = 0o700, 0o2770  # a judged workspace is open to the group of programs that judge
PASSABLE = 0o711  # its own user reaches what is in it


class SessionFolder:
    """The folder of one session, made when it is needed. ``identity``: its own user; None: the caller."""

    def __init__(
        self, path: Path, supervisor: SupervisorClient, user: AgentUser | None, identity: Identity | None
    ) -> None:
        """The folder is made, empty. Raises OSError."""
        self.path, self.identity = path, identity
        self.is_shared = False  # whether sessions elsewhere have the same user
        self._supervisor, self._user = supervisor, user
        os.mkdir(path, PRIVATE)
        self._fd = os.open(path, FOLDER_FLAGS)
        if identity:
            os.chmod(self._fd, PASSABLE)
        self._folders: dict[str, int] = {}
        self._elsewhere: dict[str, tuple[str, bool]] = {}  # path of those that are, and whether they are sessions' own
        self._made: dict[str, int] = {}  # ctime of each when it was made
        if identity:
            supervisor.attach(identity, self._folders)

    def make(self, name: str) -> None:
        """Make one of its folders. Raises OSError."""
        os.mkdir(name, PRIVATE, dir_fd=self._fd)
        self._open(name)

    def _open(self, name: str) -> None:
        folder = os.open(name, FOLDER_FLAGS, dir_fd=self._fd)
        if self.identity and self._user:
            judged = name == WORKSPACE
            os.chown(folder, self.identity.uid, self._user.judges if judged else self.identity.gid)
            if judged:
                os.chmod(folder, JUDGED)
        self._take(name, folder)
        self._made[name] = os.fstat(folder).st_ctime_ns

    def _take(self, name: str, folder: int) -> None:
        if name in self._folders:
            os.close(self._folders.pop(name))
        self._folders[name] = folder
        if self.identity:
            self._supervisor.replace_folder(self.identity, name, folder)

    def adopt(self, name: str, folder: int, path: Path, *, own: bool = False) -> None:
        """Work on a folder that is elsewhere, at ``path``, under that name; its descriptor is closed with the others.

        ``own``: it is that of sessions, and nobody else's: what is closed in it may be opened to be read.
        """
        self._take(name, folder)
        self._elsewhere[name] = os.fspath(path), own

    def reach(self, name: str) -> tuple[bool, bool]:
        """Whether its user can work in a folder that is elsewhere, and whether change it. Raises OSError."""
        if self.identity is None:
            return True, True
        path, _ = self._elsewhere[name]
        works, changes = self._supervisor.request(self.identity, {"op": "reach", "place": name, "path": path})
        return works, changes

    def files(self, name: str) -> SessionFiles:
        """Calls for one of its folders."""
        path, own = self._elsewhere.get(name, (self.path / name, True))
        if self.identity:
            return RemoteFolder(self._supervisor, self.identity, name, own=own)
        return LocalFolder(self._folders[name], os.path.realpath(path), own=own)

    def settle(self, *names: str) -> None:
        """Where the session, as the caller, removed or replaced one of its folders, there is a folder again.

        One that it put there itself is taken. Those that it closed are open. Raises OSError.
        """
        if self.identity:
            self._supervisor.call(self.identity, *((name, "open_up") for name in names))
            return
        for name in names:
            self._replace(name)
            self.files(name).open_up()

    def _replace(self, name: str) -> None:
        found = self._found(name)
        if found is None:
            os.makedirs(self.path, PRIVATE, exist_ok=True)
            os.close(self._fd)
            self._fd = os.open(self.path, FOLDER_FLAGS)
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=self._fd)
            os.mkdir(name, PRIVATE, dir_fd=self._fd)
        if found is None or found != _identity(self._folders[name]):
            self._open(name)
            self._made[name] = -1

    def _found(self, name: str) -> tuple[int, int] | None:
        """Device and inode of the folder that is there; None for anything else."""
        try:
            found = os.stat(name, dir_fd=self._fd, follow_symlinks=False)
        except OSError:
            return None
        return (found.st_dev, found.st_ino) if stat.S_ISDIR(found.st_mode) else None

    def is_untouched(self, *names: str) -> bool:
        """Whether nothing was ever put into these folders, and their modes are as they were made."""
        return all(os.fstat(self._folders[name]).st_ctime_ns == self._made.get(name) for name in names)

    def forget(self, name: str) -> None:
        """Leave a folder where it is, as it is. A worker that has it open does not serve the next session."""
        os.close(self._folders.pop(name))
        self._elsewhere.pop(name, None)
        if self.identity:
            self._supervisor.drop_worker(self.identity)

    def move(self, name: str, target: str) -> None:
        """Move one of its folders elsewhere in the file system. Raises OSError."""
        os.rename(name, target, src_dir_fd=self._fd)
        self.forget(name)

    def remove(self, name: str) -> None:
        """Empty and remove one of its folders; what cannot be removed stays until all are discarded."""
        with suppress(OSError):
            self.files(name).empty()
            with suppress(FileNotFoundError):
                os.rmdir(name, dir_fd=self._fd)
            os.close(self._folders.pop(name))

    def discard(self, *names: str) -> bool:
        """Empty and remove these folders; whether nothing is left of them, and of its user elsewhere.

        Files of its user outside of the folder are removed. The worker that did it has ended all that its user ran: the
        next session's first step goes on with it.
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
        """Whether nothing is left elsewhere. Raises OSError."""
        if self.identity is None:
            for name in names:
                self.files(name).empty()
            return True
        calls = [(name, "empty") for name in names]
        if not self.identity.is_own:
            self._supervisor.call(self.identity, *calls)
            return True
        *_, left = self._supervisor.call(self.identity, *calls, ("", "left_behind"))
        return not left

    def close(self) -> None:
        """End what its user runs, close its folders, and remove it where it is empty."""
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
        """Its folders, by name."""
        return self._folders


def _identity(folder: int) -> tuple[int, int]:
    found = os.fstat(folder)
    return found.st_dev, found.st_ino
