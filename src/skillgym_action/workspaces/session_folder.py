"""The folder of a session.

``<random>/`` belongs to the tool; in it ``workspace``, ``home`` and ``tmp`` belong to the session's user, who cannot
replace them. The tool keeps a descriptor of each, and accesses what is below them only by ``session_files``.
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
PRIVATE, JUDGED = 0o700, 0o2770  # the group of programs that judge has access to a judged workspace
PASSABLE = 0o711  # the session's user must pass through the folder, but not list it


class SessionFolder:
    """The folder of one session. ``identity``: the session's own user; None if it runs as the caller."""

    def __init__(
        self, path: Path, supervisor: SupervisorClient, user: AgentUser | None, identity: Identity | None
    ) -> None:
        """Create the folder at ``path``, empty. Raises OSError."""
        self.path, self.identity = path, identity
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
            return RemoteFolder(self._supervisor, self.identity, name, own=own)
        return LocalFolder(self._folders[name], os.path.realpath(path) if path else f"{self._real}/{name}", own=own)

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
        calls = [(name, "empty") for name in names]
        if not self.identity.is_own:  # what the user has elsewhere may not be this session's
            self._supervisor.call(self.identity, *calls)
            return True
        *_, left = self._supervisor.call(self.identity, *calls, ("", "left_behind"))
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
