"""The terminal door: progress on stderr, machine output on stdout.

A run does not end because nobody can read any more how it goes: its reports and its exit code tell.
"""

from __future__ import annotations

import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Self

from skillgym_action.reporters.terminal import finished_line
from skillgym_action.text.escaping import terminal_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from skillgym_action.model.execution import Execution
    from skillgym_action.model.result import Result
    from skillgym_action.reporters.live import LiveTable
    from skillgym_action.text.redaction import Redactor


class Terminal:
    """Shows a run: a live table where a person watches, else one line per finished execution."""

    def __init__(self, *, redactor: Redactor, color: bool, quiet: bool, live: bool) -> None:
        """``quiet``: nothing while it runs."""
        self.color, self.quiet, self.live = color, quiet, live
        self._redactor = redactor
        self._lock = threading.Lock()
        self._done = self._total = 0
        self._table: LiveTable | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._table:
            with suppress(OSError):
                self._table.__exit__(*error)
            self._table = None

    def planned(self, total: int) -> None:
        """That many results will come."""
        self._total = total
        if self.live and not self.quiet and total:
            from skillgym_action.reporters.live import LiveTable

            with suppress(OSError):
                self._table = LiveTable(total, color=self.color).__enter__()

    def started(self, execution: Execution) -> None:
        """An execution has begun."""
        if self._table:
            self._table.started(execution)

    def finished(self, result: Result) -> None:
        """An execution has a result."""
        if self._table:
            self._table.finished(result)
            return
        with self._lock:
            self._done += 1
            if not self.quiet:
                self.progress(finished_line(result, self._done, self._total, color=self.color))

    def progress(self, line: str) -> None:
        """A line for people."""
        self._tell(line + "\n")

    def show(self, pieces: Iterable[str]) -> None:
        """The end of a run, for people."""
        self.__exit__(None, None, None)
        self._tell("".join(pieces))

    def say(self, line: str) -> None:
        """A line for machines. What it says has been escaped by whoever made it. Raises OSError."""
        sys.stdout.write(line + "\n")
        sys.stdout.flush()

    def _tell(self, text: str) -> None:
        with suppress(OSError):
            sys.stderr.write(self._redactor.text(text))
            sys.stderr.flush()

    def untrusted(self, text: str) -> None:
        """Text of an agent, so that no line of it is a command to anybody."""
        for line in text.splitlines():
            self.progress("    " + terminal_text(line))
