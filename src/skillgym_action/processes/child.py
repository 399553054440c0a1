"""A program that is talked to through pipes."""

from __future__ import annotations

import os
import select
import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skillgym_action.processes.running import Running


class Child:
    """Like ``subprocess.Popen``, as far as suite hosts need it. ``stdin`` and ``stdout`` are descriptors."""

    def __init__(self, running: Running, stdin: int, stdout: int) -> None:
        """The pipes are closed by ``close``."""
        self.stdin, self.stdout = stdin, stdout
        self._running = running
        self._code: int | None = None
        self._has_ended = False

    def wait(self, seconds: float) -> int | None:
        """Its exit code; None: nobody can tell. Raises subprocess.TimeoutExpired while it runs."""
        if not self._has_ended:
            poll = select.poll()
            poll.register(self._running.fileno(), select.POLLIN)
            if not poll.poll(seconds * 1000):
                raise subprocess.TimeoutExpired("a suite host", seconds)
            self._code, self._has_ended = self._running.exit_code(), True
        return self._code

    def end(self, grace: float) -> None:
        """End it, with everything it started."""
        if not self._has_ended:
            self._running.end(grace)
            self._code, self._has_ended = self._running.exit_code(), True

    def hang_up(self) -> None:
        """Close its standard input."""
        if self.stdin >= 0:
            os.close(self.stdin)
            self.stdin = -1

    def close(self) -> None:
        """Give the pipes back; it has ended."""
        self.hang_up()
        if self.stdout >= 0:
            with suppress(OSError):
                os.close(self.stdout)
            self.stdout = -1
