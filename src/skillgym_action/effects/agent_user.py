"""The user that agents run as, and with them all other programs that follow text of suites and pull requests.

Linux lets a program look into another one (its memory, environment, directory, open files) when user *and* group are
the same. Hence each session has a group of its own, and programs that suites bring along have another, to which the
checkout is open while agents run.
"""

from __future__ import annotations

import grp
import os
import pwd
import random
import resource
import stat
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict

from skillgym_action.effects.leftovers import remove_of_group
from skillgym_action.effects.trees import give_tree
from skillgym_action.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

IMAGES_OWN = "agent"  # the user that the action's image has for this
GROUPS = range(50_000, 60_000)  # nobody's, by Debian's rules; every user namespace knows them
SESSIONS = 256
PROCESSES = 4096  # and threads, of all sessions: no fork storm takes the machine
# What programs keep of their users below a home; agents of ours never look there, hostile ones do.
CREDENTIALS = (
    *(".netrc", ".npmrc", ".pypirc", ".git-credentials", ".vault-token", ".claude.json"),
    *(".aws", ".azure", ".docker", ".gnupg", ".kube", ".ssh", ".config/gh", ".config/gcloud", ".config/git"),
    *(".claude/.credentials.json", ".codex/auth.json", ".gemini/oauth_creds.json", ".local/share/opencode/auth.json"),
)


class Identity(TypedDict):
    """What starts a program as somebody else."""

    user: int
    group: int
    extra_groups: list[int]


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentUser:
    """A user of this machine without any rights of ours. ``suites`` and ``sessions`` are groups that nobody is in."""

    name: str
    uid: int
    gid: int
    suites: int
    sessions: tuple[int, ...]

    def identity(self, groups: tuple[int, ...] = ()) -> Identity:
        """For ``subprocess.Popen``; the first group is the one that a program looks into others with."""
        group, *others = groups or (self.gid,)
        return {"user": self.uid, "group": group, "extra_groups": others}

    @property
    def hosts(self) -> tuple[int, ...]:
        """The groups of a suite host, which judges sessions of any group."""
        return (self.suites, *self.sessions)

    def restrict(self) -> None:
        """Let the user have so many processes at a time; it is a limit of ours that root does not feel."""
        _, most = resource.getrlimit(resource.RLIMIT_NPROC)
        limit = PROCESSES if most == resource.RLIM_INFINITY else min(PROCESSES, most)
        resource.setrlimit(resource.RLIMIT_NPROC, (limit, limit))

    def own(self, *paths: str | Path) -> None:
        """Give ``paths`` to the user, with all below them; links, never what they point to. Raises OSError."""
        for path in paths:
            give_tree(path, self.uid, self.gid)


class Caller:
    """Whom a session's folder belongs to where agents run as the caller: nothing has to be done."""

    groups: tuple[int, ...] = ()
    suites_groups: tuple[int, ...] = ()

    def own(self, *paths: str | Path) -> None:
        """They are the caller's."""

    def enclose(self, folder: Path) -> None:
        """It is open to what the caller runs."""

    def clear(self) -> None:
        """Nobody can say whose a temporary file is."""


class SessionUser(Caller):
    """The user as one session has it, with a group of its own, and maybe those of a workspace that it shares."""

    def __init__(self, user: AgentUser, group: int, shared: tuple[int, ...] = ()) -> None:
        """``groups`` are the agent's, ``suites_groups`` those of programs that the suite brings along."""
        self.groups = (group, *shared)
        self.suites_groups = (user.suites, *self.groups)
        self._user = user

    def own(self, *paths: str | Path) -> None:
        """Give them to the user. Raises OSError."""
        self._user.own(*paths)

    def enclose(self, folder: Path) -> None:
        """What is in ``folder`` belongs to the user, but only the session's group gets in. Raises OSError."""
        os.chown(folder, os.geteuid(), self.groups[0])
        os.chmod(folder, 0o770)  # noqa: S103 - the group has one member, the session
        self._user.own(*(os.path.join(folder, name) for name in os.listdir(folder)))

    def clear(self) -> None:
        """Remove what the session left in the folders for everybody's temporary files."""
        remove_of_group(self._user.uid, self.groups[0])


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
    taken = {group.gr_gid for group in grp.getgrall()}
    suites, *free = (group for group in GROUPS if group not in taken)
    sessions = tuple(random.sample(free, SESSIONS))
    return AgentUser(name=name, uid=found.pw_uid, gid=found.pw_gid, suites=suites, sessions=sessions)


def images_own_user() -> str | None:
    """The name of the image's own user, in the image."""
    if os.geteuid() != 0:
        return None
    with suppress(KeyError):
        return pwd.getpwnam(IMAGES_OWN).pw_name
    return None


@contextmanager
def closed_to_others(paths: Iterable[Path]) -> Iterator[None]:
    """Only their owners and root reach ``paths``, as long as the context lasts; what is not there is passed over.

    Raises UsageError.
    """
    modes: dict[Path, int] = {}
    for path in paths:
        with suppress(FileNotFoundError):
            modes[path] = stat.S_IMODE(path.stat().st_mode)
            try:
                path.chmod(modes[path] & 0o700)
            except OSError as error:
                what = f"{path} cannot be closed to agents: {error.strerror}"
                raise UsageError(what, remedy="mount it so that it can be written to") from error
    try:
        yield
    finally:
        for path, mode in modes.items():
            with suppress(OSError):
                path.chmod(mode)


@contextmanager
def closed_but_to(group: int, paths: Iterable[Path]) -> Iterator[list[tuple[Path, os.stat_result]]]:
    """Only their owners, root and ``group`` reach ``paths``, as long as the context lasts, which has what they were.

    What is closed already was closed by another run, and stays so. Raises OSError.
    """
    before: list[tuple[Path, os.stat_result]] = []
    try:
        for path in paths:
            found = path.stat()
            mode = stat.S_IMODE(found.st_mode)
            if found.st_gid == group and not mode & stat.S_IRWXO:
                continue
            before.append((path, found))
            os.chown(path, -1, group)
            path.chmod(mode & 0o1700 | (mode & 0o500) >> 3)
        yield before
    finally:
        for path, found in before:
            with suppress(OSError):
                os.chown(path, -1, found.st_gid)
                path.chmod(stat.S_IMODE(found.st_mode))
