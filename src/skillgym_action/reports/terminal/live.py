"""Reporter: the live table on a terminal: counts, a progress bar, what is running, the cost so far."""

from __future__ import annotations

from collections import Counter
from threading import Lock
from typing import TYPE_CHECKING, Self, TextIO

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from skillgym_action.model.verdicts import Status
from skillgym_action.text.escaping import terminal_line
from skillgym_action.text.words import money

if TYPE_CHECKING:
    from rich.console import RenderableType

    from skillgym_action.model.execution import Execution
    from skillgym_action.model.result import Result

MAX_LIVE_ROWS = 10  # running executions that the terminal shows
_COLOURS = {
    Status.PASSED: "green",
    Status.FAILED: "red",
    Status.EXPECTED_FAILED: "green",
    Status.UNEXPECTED_PASSED: "red",
    Status.ERRORED: "yellow",
    Status.SKIPPED: "dim",
}


class LiveTable:
    """Watches a run from any thread; writes to stderr, or to ``stream``, and leaves nothing behind."""

    def __init__(self, total: int, *, color: bool = True, stream: TextIO | None = None) -> None:
        """``total``: executions to come."""
        console = Console(file=stream, stderr=stream is None, no_color=not color, highlight=False)
        self._progress = Progress(
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), console=console
        )
        self._task = self._progress.add_task("executions", total=total)
        self._running: dict[tuple[str, str, str, str | None], Text] = {}
        self._counts: Counter[Status] = Counter()
        self._only_compared = 0
        self._known: list[float] = []
        self._complete = True
        self._lock = Lock()
        self._spinner = Spinner("dots")
        self._live = Live(console=console, get_renderable=self._table, refresh_per_second=4, transient=True)

    def __enter__(self) -> Self:
        """Start to draw."""
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop, and clear what was drawn."""
        self._live.stop()

    def started(self, execution: Execution) -> None:
        """An execution has begun."""
        names = (
            terminal_line(execution.case.id),
            terminal_line(execution.runner.id),
            terminal_line(execution.suite.name),
        )
        with self._lock:
            key = (execution.suite.path, execution.case.id, execution.runner.id, execution.arm_name)
            arm = f" {execution.arm.name}" if execution.arm else ""
            self._running[key] = Text.assemble(names[0], (f" [{names[1]}] {names[2]}{arm}", "dim"))

    def finished(self, result: Result) -> None:
        """An execution has a result."""
        with self._lock:
            runner = result.runner.id if result.runner else ""
            self._running.pop((result.suite.path, result.case_id, runner, result.arm), None)
            if result.is_only_compared:
                self._only_compared += 1
            else:
                self._counts[result.status] += 1
            if result.cost.usd is not None:
                self._known.append(result.cost.usd)
            elif result.attempts:
                self._complete = False
        self._progress.advance(self._task)

    def note(self, line: str) -> None:
        """Write a line above the table."""
        self._live.console.print(Text(line))

    @property
    def done(self) -> int:
        """Results so far."""
        return self._counts.total() + self._only_compared

    def refresh(self) -> None:
        """Draw now; four times a second it happens anyway."""
        self._live.refresh()

    def _table(self) -> RenderableType:
        with self._lock:
            counts = [
                (f"{count} {status}   ", _COLOURS[status]) for status in Status if (count := self._counts[status])
            ]
            if self._only_compared:
                counts.append((f"{self._only_compared} only compared   ", "dim"))
            spent = money(sum(self._known) if self._known else None, complete=self._complete)
            shown, more = list(self._running.values())[:MAX_LIVE_ROWS], len(self._running) - MAX_LIVE_ROWS
        running = Table.grid(padding=(0, 1))
        for name in shown:
            running.add_row(self._spinner, name)
        if more > 0:
            running.add_row("", Text(f"and {more} more", style="dim"))
        return Group(running, self._progress, Text.assemble(*counts, f"cost {spent}"))
