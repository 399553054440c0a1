"""The last steps of a forked process on its way to becoming a program: user, limits, descriptors, exec."""

from __future__ import annotations

import os
import resource
import signal
import warnings  # noqa: F401 -- os.execvpe imports it, when the user may no longer be able to read Python's files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, NoReturn

FAILED = 127
DEFAULT_SIGNALS = (signal.SIGPIPE, signal.SIGXFSZ)  # Python ignores them, and exec would hand that on


def change_user(uid: int, gid: int, groups: Sequence[int]) -> None:
    """Become another user for good. Raises OSError."""
    os.setgroups(list(groups))
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)


def set_limits(wanted: Sequence[tuple[int, int]]) -> None:
    """Set limits of this process and what it starts, never above what it may have already. Raises OSError."""
    for kind, value in wanted:
        _, most = resource.getrlimit(kind)
        lowest = value if most == resource.RLIM_INFINITY else min(value, most)
        resource.setrlimit(kind, (lowest, lowest))


def enter(request: dict[str, Any], descriptors: Sequence[int]) -> None:
    """Go to the program's working directory. Raises OSError."""
    if len(descriptors) > 3:  # noqa: PLR2004 -- the standard streams come first
        os.fchdir(descriptors[3])
    else:
        os.chdir(request["cwd"])


def become(request: dict[str, Any], descriptors: Sequence[int]) -> NoReturn:
    """Execute the requested program. Raises OSError, ValueError: then this process can only end.

    ``request``: argv, env, cwd, umask, rlimits as [resource, value]; uid, gid and groups where the user changes now.
    ``descriptors``: stdin, stdout, stderr, and maybe one of the working directory, which then goes before ``cwd``.
    """
    os.setsid()
    set_limits(request["rlimits"])
    if request.get("uid") is not None:
        change_user(request["uid"], request["gid"], request["groups"])
    enter(request, descriptors)
    for number, descriptor in enumerate(descriptors[:3]):
        os.dup2(descriptor, number, inheritable=True)
    if request["umask"] is not None:
        os.umask(request["umask"])
    for number in DEFAULT_SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    argv = request["argv"]
    os.execvpe(argv[0], argv, request["env"])  # noqa: S606 -- an argument list, no shell


def told(error: Exception) -> dict[str, Any]:
    """An error of ``become`` as a message."""
    return {"errno": getattr(error, "errno", None), "error": getattr(error, "strerror", None) or str(error)}
