"""The users that agents run as, and with them all other programs that follow text of suites and pull requests.

Each session has a user id of its own, which no other session, program or user of the machine has: so nothing of it can
look into another one, signal it, or change its files, and killing all that the user runs ends the session. The named
user is who works where sessions have no folder of their own: in the checkout itself.
"""

from __future__ import annotations

import fcntl
import grp
import os
import pwd
import random
import stat
import struct
import threading
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillgym_action.model.errors import UsageError
from skillgym_action.model.session import Identity
from skillgym_action.supervisor.prctl import PR_GET_SECUREBITS, prctl

if TYPE_CHECKING:
    from collections.abc import Iterable

SECBIT_NO_SETUID_FIXUP = 4
IMAGES_OWN = "agent"  # the user that the action's image has for this; it has entries of that name for IDS, too
IDS = range(50_000, 60_000)  # free for such purposes by Debian's rules; every user namespace knows them
LOCK_FOLDERS = ("/run/skillgym-action", "/var/lib/skillgym-action")
# What programs keep of their users below a home; agents of ours never look there, hostile ones do.
CREDENTIALS = (
    *(".netrc", ".npmrc", ".pypirc", ".gitconfig", ".git-credentials", ".vault-token", ".claude.json"),
    *(".aws", ".azure", ".docker", ".gnupg", ".kube", ".ssh", ".config/gh", ".config/gcloud", ".config/git"),
    *(".claude/.credentials.json", ".codex/auth.json", ".gemini/oauth_creds.json", ".local/share/opencode/auth.json"),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentUser:
    """A user of this machine without any rights of ours, and the ids of sessions.

    ``readers``: the group to which the checkout is open while agents run; ``judges``: the one that workspaces are open
    to. Nobody of the machine is in them.
    """

    name: str
    uid: int
    gid: int
    readers: int
    judges: int
    ids: UserIds

    @property
    def have_names(self) -> bool:
        """Whether the system has a name for the users of sessions, which some programs need."""
        with suppress(KeyError):
            return bool(pwd.getpwuid(IDS.start) and pwd.getpwuid(IDS.stop - 1))
        return False

    @property
    def in_place(self) -> Identity:
        """Who works in a folder that is not the session's own."""
        return Identity(uid=self.uid, gid=self.gid, is_own=False)

    def session(self) -> Identity:
        """A user of its own for a session. Raises OSError when none is free."""
        uid = self.ids.take()
        return Identity(uid=uid, gid=uid)

    def suite(self, identity: Identity) -> Identity:
        """The same user, as programs that the suite brings along have it: they may read the checkout."""
        return Identity(uid=identity.uid, gid=identity.gid, groups=(self.readers,), is_own=identity.is_own)

    def host(self) -> Identity:
        """A user of its own for a suite host, which reads the checkout and judges workspaces. Raises OSError."""
        uid = self.ids.take()
        return Identity(uid=uid, gid=uid, groups=(self.readers, self.judges))


class UserIds:
    """User ids that nothing else on the machine has: no account, and no other run."""

    def __init__(self, taken: Iterable[int]) -> None:
        """Locks that other runs see are held on a file of root's. Raises OSError."""
        free = sorted(set(IDS) - set(taken))
        random.shuffle(free)
        self._free = free
        self._lock = threading.Lock()
        self.file = _lock_file()

    def exclude(self, number: int) -> None:
        """Never take that one: it is a group that other runs use."""
        with self._lock:
            self._free = [uid for uid in self._free if uid != number]

    def take(self) -> int:
        """One that is ours until the run has ended. Raises OSError when none is left."""
        with self._lock:
            while self._free:
                uid = self._free.pop()
                if self._locked(uid):
                    return uid
        raise OSError(f"no user id is left for another session: all of {IDS.start} to {IDS.stop - 1} are in use")

    def _locked(self, uid: int) -> bool:
        """Whether no other run has it. The lock belongs to the open file, hence lasts as long as the supervisor."""
        area = struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, uid, 1, 0)
        try:
            fcntl.fcntl(self.file, getattr(fcntl, "F_OFD_SETLK", fcntl.F_SETLK), area)
        except OSError:
            return False
        return True


def _lock_file() -> int:
    """A file in a folder that only root can write to. Raises OSError."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    for path in LOCK_FOLDERS:
        with suppress(OSError):
            with suppress(FileExistsError):
                os.mkdir(path, 0o700)
            folder = os.open(path, flags)
            try:
                found = os.fstat(folder)
                if found.st_uid == os.geteuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                    new = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
                    return os.open("user-ids", new, 0o600, dir_fd=folder)
            finally:
                os.close(folder)
    raise OSError(f"no lock can be kept in {' or '.join(LOCK_FOLDERS)}")


def agent_user(name: str) -> AgentUser:
    """The user of that name. Raises UsageError."""
    try:
        found = pwd.getpwnam(name)
    except KeyError:
        raise UsageError(f"--agent-user: there is no user {name!r}", remedy="create it, without a login") from None
    if found.pw_uid == 0:
        raise UsageError("--agent-user: root may do everything", remedy="name a user without rights")
    if os.geteuid() != 0:
        raise UsageError(
            "--agent-user: only root can start programs as somebody else", remedy="run as root, or without"
        )
    if _keeps_rights():
        raise UsageError(
            "--agent-user: this process would keep root's rights as another user (securebits: no_setuid_fixup)",
            remedy="start it without",
        )
    accounts = {user.pw_uid for user in pwd.getpwall() if user.pw_name not in {name, IMAGES_OWN}}
    groups = {group.gr_gid for group in grp.getgrall() if group.gr_name not in {name, IMAGES_OWN}}
    readers, judges, *free = (number for number in IDS if number not in groups)
    if not free:
        raise UsageError(f"--agent-user: the groups {IDS.start} to {IDS.stop - 1} are all taken")
    try:
        ids = UserIds({*accounts, *groups, readers, judges, found.pw_uid})
    except OSError as error:
        raise UsageError(f"--agent-user: {error}", remedy="make one of them writable for root") from error
    return AgentUser(name=name, uid=found.pw_uid, gid=found.pw_gid, readers=readers, judges=judges, ids=ids)


def _keeps_rights() -> bool:
    """Whether who stops being root keeps its capabilities, and its signals with them reach everybody."""
    return bool(prctl(PR_GET_SECUREBITS) & SECBIT_NO_SETUID_FIXUP)


def images_own_user() -> str | None:
    """The name of the image's own user, in the image."""
    if os.geteuid() != 0:
        return None
    with suppress(KeyError):
        return pwd.getpwnam(IMAGES_OWN).pw_name
    return None
