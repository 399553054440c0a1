"""The Linux system call ``prctl``: what other processes may do with this one, and who adopts its orphans.

``cli.process_protection`` imports this module before anything else, so it imports nothing that is slow or not needed.
"""

from __future__ import annotations

import sys

PR_GET_DUMPABLE, PR_SET_DUMPABLE = 3, 4  # 0: no process of the same user may trace this one or read its memory
PR_GET_SECUREBITS = 27
PR_SET_CHILD_SUBREAPER = 36  # descendants whose parent has ended become children of this process
PR_SET_NO_NEW_PRIVS, PR_GET_NO_NEW_PRIVS = 38, 39  # inherited; setuid and setgid bits of programs have no effect


def prctl(option: int, value: int = 0) -> int:
    """The result of the system call; 0 on other systems than Linux, where nothing happens."""
    if sys.platform != "linux":
        return 0
    import ctypes

    # The function is variadic: of a plain int ctypes would pass 32 bits, and the kernel wants zeros in the others, too.
    zero = ctypes.c_ulong(0)
    return int(ctypes.CDLL(None).prctl(option, ctypes.c_ulong(value), zero, zero, zero))


def protect_process(*, subreaper: bool) -> None:
    """Let no program started from here gain rights, and no process of the same user look into this one.

    ``subreaper``: adopt orphaned descendants.
    """
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    prctl(PR_SET_DUMPABLE, 0)
    prctl(PR_SET_CHILD_SUBREAPER, int(subreaper))


def is_protected() -> bool:
    """Whether the system reports that no rights are gained and that this process cannot be looked into."""
    return sys.platform == "linux" and prctl(PR_GET_NO_NEW_PRIVS) == 1 and prctl(PR_GET_DUMPABLE) == 0
