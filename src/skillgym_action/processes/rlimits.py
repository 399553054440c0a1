"""Limits of single processes (rlimits), which every kernel enforces: what they can express of a session's limits."""

from __future__ import annotations

import resource
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skillgym_action.model.resource_limits import ResourceLimits


def rlimits(limits: ResourceLimits, *, own_user: bool, data: int | None = None) -> tuple[tuple[int, int], ...]:
    """Resource and value, for ``setrlimit`` in a child before it becomes the program.

    ``own_user``: the session is a user of its own that is not root. The kernel counts processes by user: where others
    share it, theirs would count, too, and root is never refused one. ``data``: bytes of private memory of a process,
    for programs that can live with it; nothing limits address space, which Node.js reserves by gigabytes.
    """
    found = [(resource.RLIMIT_CORE, 0)]
    if limits.file_size is not None:
        found.append((resource.RLIMIT_FSIZE, limits.file_size))
    if limits.processes is not None and own_user:
        found.append((resource.RLIMIT_NPROC, limits.processes))
    if data is not None:
        found.append((resource.RLIMIT_DATA, data))
    return tuple(found)
