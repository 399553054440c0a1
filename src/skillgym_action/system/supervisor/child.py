"""The last steps of a forked process before it executes a program: user, limits, directory, descriptors, signals."""

from __future__ import annotations

import errno
import os
import resource
import signal
import sys
import warnings  # noqa: F401 -- os.execvpe imports it, when the user may no longer be able to read Python's files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, NoReturn

EXEC_FAILED = 127  # exit code, as of shells
DEFAULT_SIGNALS = (signal.SIGPIPE, signal.SIGXFSZ)  # Python ignores them, and exec would hand that on


def change_user(uid: int, gid: int, groups: Sequence[int]) -> None:
    """Become another user for good. Raises OSError.

    The user comes last, since only root can change groups; all three ids are set, so that there is no way back.
    """
    if sys.platform != "linux":
        raise OSError(errno.ENOTSUP, "no change of user on this system")
    os.setgroups(list(groups))
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)


def set_limits(rlimits: Sequence[tuple[int, int]]) -> None:
    """Set resource limits of this process and its descendants, never above the present hard limits. Raises OSError."""
    for kind, value in rlimits:
        _, most = resource.getrlimit(kind)
        lowest = value if most == resource.RLIM_INFINITY else min(value, most)
        resource.setrlimit(kind, (lowest, lowest))


def change_directory(request: dict[str, Any], descriptors: Sequence[int]) -> None:
    """Go to the program's working directory. Raises OSError."""
    if len(descriptors) > 3:  # noqa: PLR2004 -- the standard streams come first
        os.fchdir(descriptors[3])
    else:
        os.chdir(request["cwd"])


def exec_program(request: dict[str, Any], descriptors: Sequence[int]) -> NoReturn:
    """Execute the requested program. Raises OSError, ValueError; after that this process has to exit.

    ``request``: argv, env, cwd, umask, rlimits as [resource, value]; uid, gid and groups if the user changes now.
    ``descriptors``: stdin, stdout, stderr, and optionally one of the working directory, which takes precedence over
    ``cwd``.
    """
    os.setsid()
    set_limits(request["rlimits"])
    if request.get("uid") is not None:
        change_user(request["uid"], request["gid"], request["groups"])
    change_directory(request, descriptors)
    for number, descriptor in enumerate(descriptors[:3]):
        os.dup2(descriptor, number, inheritable=True)
    if request["umask"] is not None:
        os.umask(request["umask"])
    for number in DEFAULT_SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    argv = request["argv"]
    os.execvpe(argv[0], argv, request["env"])  # noqa: S606 -- an argument list, no shell


def error_message(error: Exception) -> dict[str, Any]:
    """An error as a message to the tool: errno, which may be None, and text."""
    return {"errno": getattr(error, "errno", None), "error": getattr(error, "strerror", None) or str(error)}
