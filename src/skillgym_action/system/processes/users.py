"""The users that agents run as, and all other programs that follow text of suites and pull requests.

Each session has a user id of its own, which no other session, program or account of the machine has: so its processes
cannot look into another session, signal it, or change its files, and killing all processes of the user ends the
session. The named user runs sessions that have no folder of their own: those in the checkout itself.
"""

from __future__ import annotations

import fcntl
import grp
import os
import pwd
import random
import stat
import struct
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from skillgym_action.model.errors import UsageError
from skillgym_action.model.records import record
from skillgym_action.model.session import Identity
from skillgym_action.system.files.open_below import FOLDER_FLAGS
from skillgym_action.system.supervisor.prctl import PR_GET_SECUREBITS, prctl

if TYPE_CHECKING:
    from collections.abc import Iterable

SECBIT_NO_SETUID_FIXUP = 4
IMAGE_USER = "agent"  # of the action's image, which has accounts of that name for SESSION_UIDS, too
SESSION_UIDS = range(50_000, 60_000)  # free for such uses by the rules of Debian; every user namespace has them
ENGINE_SOCKET = Path("/var/run/docker.sock")  # which GitHub's runner mounts into every action's container
LOCK_FOLDERS = ("/run/skillgym-action", "/var/lib/skillgym-action")
# Where programs keep credentials below a home directory. They are closed to sessions while the tool runs as root.
CREDENTIALS = (
    *(".netrc", ".npmrc", ".pypirc", ".gitconfig", ".git-credentials", ".vault-token", ".claude.json"),
    *(".aws", ".azure", ".docker", ".gnupg", ".kube", ".ssh", ".config/gh", ".config/gcloud", ".config/git"),
    *(".claude/.credentials.json", ".codex/auth.json", ".gemini/oauth_creds.json", ".local/share/opencode/auth.json"),
)


@record
class AgentUser:
    """An unprivileged user of this machine, and the user ids of sessions.

    ``readers``: the group that may read the checkout while agents run; ``judges``: the group that may enter workspaces.
    No account of the machine is in them.
    """

    name: str
    uid: int
    gid: int
    readers: int
    judges: int
    ids: UserIds

    @property
    def have_accounts(self) -> bool:
        """Whether the system has accounts for the user ids of sessions, which some programs need."""
        with suppress(KeyError):
            return bool(pwd.getpwuid(SESSION_UIDS.start) and pwd.getpwuid(SESSION_UIDS.stop - 1))
        return False

    @property
    def in_place(self) -> Identity:
        """The identity of sessions in a folder that is not their own."""
        return Identity(uid=self.uid, gid=self.gid, is_own=False)

    def session_identity(self) -> Identity:
        """A new user for a session. Raises OSError if no user id is free."""
        uid = self.ids.take()
        return Identity(uid=uid, gid=uid)

    def suite_identity(self, identity: Identity) -> Identity:
        """The same user for programs of the suite, which may also read the checkout."""
        return Identity(uid=identity.uid, gid=identity.gid, groups=(self.readers,), is_own=identity.is_own)

    def host_identity(self) -> Identity:
        """A new user for a suite host, which reads the checkout and workspaces. Raises OSError if no id is free."""
        uid = self.ids.take()
        return Identity(uid=uid, gid=uid, groups=(self.readers, self.judges))


class UserIds:
    """User ids that no account and no other run of the machine has."""

    def __init__(self, taken: Iterable[int]) -> None:
        """Other runs see the locks on a file that belongs to root, one byte for each user id. Raises OSError."""
        free = sorted(set(SESSION_UIDS) - set(taken))
        random.shuffle(free)
        self._free = free
        self._lock = threading.Lock()
        self.file = _lock_file()

    def exclude(self, number: int) -> None:
        """Never take that id: it is a group that other runs use."""
        with self._lock:
            self._free = [uid for uid in self._free if uid != number]

    def take(self) -> int:
        """A user id, taken until the end of the run. Raises OSError if none is left."""
        with self._lock:
            while self._free:
                uid = self._free.pop()
                if self._try_lock(uid):
                    return uid
        first, last = SESSION_UIDS.start, SESSION_UIDS.stop - 1
        raise OSError(f"no user id is left for another session: all of {first} to {last} are in use")

    def _try_lock(self, uid: int) -> bool:
        """Lock a user id; False if another run has it.

        The lock belongs to the open file description (Linux), which the supervisor shares: it lasts as long as that.
        """
        region = struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, uid, 1, 0)
        try:
            fcntl.fcntl(self.file, getattr(fcntl, "F_OFD_SETLK", fcntl.F_SETLK), region)
        except OSError:
            return False
        return True


def _lock_file() -> int:
    """A file in a folder that only root can write to. Raises OSError."""
    for path in LOCK_FOLDERS:
        with suppress(OSError):
            with suppress(FileExistsError):
                os.mkdir(path, 0o700)
            folder = os.open(path, FOLDER_FLAGS)
            try:
                found = os.fstat(folder)
                if found.st_uid == os.geteuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
                    return os.open("user-ids", flags, 0o600, dir_fd=folder)
            finally:
                os.close(folder)
    raise OSError(f"no lock can be created in {' or '.join(LOCK_FOLDERS)}")


def agent_user(name: str) -> AgentUser:
    """The user of that name. Raises UsageError."""
    try:
        found = pwd.getpwnam(name)
    except KeyError:
        raise UsageError(f"--agent-user: there is no user {name!r}", remedy="create it, without a login") from None
    if sys.platform != "linux":
        raise UsageError(f"--agent-user: not possible on {sys.platform}", remedy="use Linux, or run without")
    if found.pw_uid == 0:
        raise UsageError("--agent-user: root may do everything", remedy="name a user without rights")
    if os.geteuid() != 0:
        raise UsageError("--agent-user: only root can start programs as another user", remedy="run as root, or without")
    if _keeps_rights():
        raise UsageError(
            "--agent-user: this process would keep root's rights as another user (securebits: no_setuid_fixup)",
            remedy="start it without",
        )
    accounts = {user.pw_uid for user in pwd.getpwall() if user.pw_name not in {name, IMAGE_USER}}
    groups = {group.gr_gid for group in grp.getgrall() if group.gr_name not in {name, IMAGE_USER}}
    readers, judges, *free = (number for number in SESSION_UIDS if number not in groups)
    if not free:
        raise UsageError(f"--agent-user: the groups {SESSION_UIDS.start} to {SESSION_UIDS.stop - 1} are all taken")
    try:
        ids = UserIds({*accounts, *groups, readers, judges, found.pw_uid})
    except OSError as error:
        raise UsageError(f"--agent-user: {error}", remedy="make one of them writable for root") from error
    return AgentUser(name=name, uid=found.pw_uid, gid=found.pw_gid, readers=readers, judges=judges, ids=ids)


def _keeps_rights() -> bool:
    """Whether a process that changes from root to another user keeps its capabilities, also to signal any process."""
    return bool(prctl(PR_GET_SECUREBITS) & SECBIT_NO_SETUID_FIXUP)


def job_user(named: str | None, workspace: Path, *, engine: Path = ENGINE_SOCKET) -> str | None:
    """The user that agents run as in a job: the named one, else the image's; None: the caller.

    Raises UsageError for one that owns the workspace, and so the job's token in it, or the engine that started the
    container, whose socket is ``engine``. ``agent_user`` refuses root.
    """
    if not named:
        return image_user()
    with suppress(KeyError, OSError):
        user = pwd.getpwnam(named)
        if user.pw_uid == 0:
            return named
        if user.pw_uid == workspace.stat().st_uid:
            message = (
                f"agent-user: {named} owns the workspace, and could read files that are closed to agents, such as .git"
            )
            raise UsageError(message, remedy="name a user of the image without files in the workspace, or none")
        socket = engine.stat()
        if user.pw_uid == socket.st_uid or user.pw_gid == socket.st_gid:
            message = f"agent-user: {named} may use the container engine, which may do everything on the runner"
            raise UsageError(message, remedy="name a user without rights, or none")
    return named


def image_user() -> str | None:
    """The name of the image's user; None outside of the image, and where the tool is not root."""
    if os.geteuid() != 0:
        return None
    with suppress(KeyError):
        return pwd.getpwnam(IMAGE_USER).pw_name
    return None
