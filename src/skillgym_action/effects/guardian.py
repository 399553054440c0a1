"""What is left when we are killed: a small program that then ends what we started, and removes the workspaces.

It waits at the end of a pipe, which closes with us however we end. Programs are found by the mark in their environment;
one that took it off goes on. Where there is no ``/proc``, only the workspaces are removed. Another one opens what was
closed to agents.
"""

from __future__ import annotations

import stat
import subprocess
from contextlib import contextmanager, suppress
from itertools import chain
from typing import TYPE_CHECKING

from skillgym_action.effects.processes import MARK

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from skillgym_action.effects.processes import Processes

# Told anything at all, we have ended as we should. Killed programs may have started others, hence the rounds.
WATCH = r"""
read -r _ && exit
for signal in TERM KILL KILL KILL; do
  found=$(grep -lsz "^$1" /proc/[0-9]*/environ)
  [ "$found" ] || break
  for environ in $found; do
    process=${environ#/proc/}
    kill -s "$signal" "${process%/environ}"
  done
  sleep 1
done
rm -rf "$2" || { chmod -R u+rwX "$2"; rm -rf "$2"; }
"""


REOPEN = """
read -r _ && exit
while [ "$3" ]; do chgrp "$1" "$3"; chmod "$2" "$3"; shift 3; done
"""


def guarded(processes: Processes, workspaces: Path) -> AbstractContextManager[None]:
    """If we are killed meanwhile, nothing of this run goes on."""
    return _if_killed(processes, WATCH, f"{MARK}={processes.mark}", str(workspaces))


def reopened(processes: Processes, before: Iterable[tuple[Path, os.stat_result]]) -> AbstractContextManager[None]:
    """If we are killed meanwhile, these paths belong to the group they belonged to, and are as open."""
    words = ((str(was.st_gid), f"{stat.S_IMODE(was.st_mode):o}", str(path)) for path, was in before)
    return _if_killed(processes, REOPEN, *chain.from_iterable(words))


@contextmanager
def _if_killed(processes: Processes, script: str, *arguments: str) -> Iterator[None]:
    argv = ("/bin/sh", "-c", script, "guardian", *arguments)
    child = processes.spawn(
        argv,
        trusted=True,
        cwd="/",
        env=processes.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield
    finally:
        with suppress(OSError):
            child.communicate(b"done\n")
        processes.release(child)
