"""A small program that opens what was closed to agents when the tool is killed: its end of a pipe closes then."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from skillgym_action.model.errors import UsageError
from skillgym_action.workspaces import closed_path_records

if TYPE_CHECKING:
    from collections.abc import Iterator

# The shell ends at once: what it leaves running is no child of ours, and outlives all that we end.
BEHIND = 'exec 3<&0; "$@" <&3 3<&- &'


@contextmanager
def reopened() -> Iterator[None]:
    """If we are killed meanwhile, what this process has closed (see ``closures``) is open again a second later.

    Other runs that close it count. Raises UsageError.
    """
    start = closed_path_records.started(os.getpid()) or ""
    program = (sys.executable, "-I", "-S", closed_path_records.__file__, str(os.getpid()), start)
    argv = ("/bin/sh", "-c", BEHIND, "guardian", *program)
    pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
    try:
        shell = subprocess.Popen(
            argv, cwd="/", env={}, stdin=pipe, stdout=nothing, stderr=nothing, start_new_session=True
        )
    except OSError as error:
        raise UsageError(
            f"--agent-user: /bin/sh cannot be started: {error.strerror}", remedy="run where there is a shell"
        ) from error
    shell.wait()
    try:
        yield
    finally:
        if shell.stdin:
            with suppress(OSError):
                shell.stdin.write(closed_path_records.FINISHED)
            with suppress(OSError):
                shell.stdin.close()
