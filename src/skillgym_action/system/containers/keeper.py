"""The first process of a container: a Linux program without dependencies, put into it before its start.

An image need not have a shell, and what it has may be hostile, so this is machine code of about a hundred bytes. It
ends when its standard input does, which the engine closes once the tool is gone; all processes of the container end
with it. For each byte that it reads, it sends the signal of this number to all other processes, and answers with one
byte: 0, or the error number, which is 3 (ESRCH) if there is no other process. It needs no new process for that, hence
also works where the container has as many as it may. No process can change its memory, or end it with a signal.
"""

from __future__ import annotations

import struct

NO_PROCESS = 3  # ESRCH
MACHINES = {"amd64": 62, "arm64": 183}
ADDRESS = 0x400000
HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
SEGMENT = struct.Struct("<IIQQQQQQ")

# Hexadecimal machine code, an instruction group a line, as `as` and `objdump -d` show it.
CODE = {
    "amd64": """
        b89d000000 bf04000000 31f6 0f05               prctl(PR_SET_DUMPABLE, 0)
        6a00 6a00 6a00 6a01                           push a struct sigaction with SIG_IGN: children leave no zombies
        b80d000000 bf11000000 4889e6 31d2
        41ba08000000 0f05                             rt_sigaction(SIGCHLD, stack, NULL, 8)
        31c0 31ff 4889e6 ba01000000 0f05              next: read(0, stack, 1)
        83f801 752d                                   if it is not 1: exit
        b83e000000 48c7c7ffffffff 0fb63424 0f05       kill(-1, the byte)
        f7d8 880424                                   the byte = -result
        b801000000 bf01000000 4889e6 ba01000000 0f05  write(1, stack, 1)
        ebc0                                          next
        b8e7000000 31ff 0f05                          exit: exit_group(0)
    """,
    "arm64": """
        e81480d2 800080d2 010080d2 010000d4           prctl(PR_SET_DUMPABLE, 0)
        ff8300d1 200080d2 e07f00a9 ff7f01a9           a struct sigaction with SIG_IGN on the stack
        c81080d2 200280d2 e1030091 020080d2
        030180d2 010000d4                             rt_sigaction(SIGCHLD, stack, NULL, 8)
        e80780d2 000080d2 e1030091 220080d2 010000d4  next: read(0, stack, 1)
        1f0400f1 a1010054                             if it is not 1: exit
        281080d2 00008092 e1034039 010000d4           kill(-1, the byte)
        e00300cb e0030039                             the byte = -result
        080880d2 200080d2 e1030091 220080d2 010000d4  write(1, stack, 1)
        eeffff17                                      next
        c80b80d2 000080d2 010000d4                    exit: exit_group(0)
    """,
}


def keeper(architecture: str) -> bytes:
    """The executable for an architecture, a key of ``MACHINES``."""
    lines = [line.strip().partition("  ")[0] for line in CODE[architecture].strip().splitlines()]
    code = bytes.fromhex("".join(lines))
    size = HEADER.size + SEGMENT.size + len(code)
    ident = b"\x7fELF\x02\x01\x01"
    entry = ADDRESS + HEADER.size + SEGMENT.size
    header = HEADER.pack(
        ident, 2, MACHINES[architecture], 1, entry, HEADER.size, 0, 0, HEADER.size, SEGMENT.size, 1, 0, 0, 0
    )
    return header + SEGMENT.pack(1, 5, 0, ADDRESS, ADDRESS, size, size, 0x1000) + code
