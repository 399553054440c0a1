"""The user that agents run as, and with them all other programs that follow text of suites and pull requests."""

from __future__ import annotations

import os
import pwd
import stat
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict

from skillgym_action.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

IMAGES_OWN = "agent"  # the user that the action's image has for this


class Identity(TypedDict):
    """What starts a program as somebody else."""

    user: int
    group: int
    extra_groups: list[int]


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentUser:
    """A user of this machine without any rights of ours."""

    name: str
    uid: int
    gid: int

    @property
    def identity(self) -> Identity:
        """For ``subprocess.Popen``."""
        return {"user": self.uid, "group": self.gid, "extra_groups": []}

    def own(self, *paths: str | Path) -> None:
        """Give ``paths`` to the user, with all below them; links, never what they point to. Raises OSError."""
        for path in paths:
            os.chown(path, self.uid, self.gid, follow_symlinks=False)
            if stat.S_ISDIR(os.lstat(path).st_mode):
                for _, folders, files, descriptor in os.fwalk(path):
                    for name in folders + files:
                        os.chown(name, self.uid, self.gid, dir_fd=descriptor, follow_symlinks=False)


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
    return AgentUser(name=name, uid=found.pw_uid, gid=found.pw_gid)


def images_own_user() -> str | None:
    """The name of the image's own user, in the image."""
    if os.geteuid() != 0:
        return None
    with suppress(KeyError):
        return pwd.getpwnam(IMAGES_OWN).pw_name
    return None


@contextmanager
def closed_to_others(paths: Iterable[Path]) -> Iterator[None]:
    """Only their owners and root reach ``paths``, as long as the context lasts; what is not there is passed over."""
    modes: dict[Path, int] = {}
    for path in paths:
        with suppress(FileNotFoundError):
            modes[path] = stat.S_IMODE(path.stat().st_mode)
            path.chmod(modes[path] & 0o700)
    try:
        yield
    finally:
        for path, mode in modes.items():
            with suppress(OSError):
                path.chmod(mode)
