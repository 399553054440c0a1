"""What the comment says while a run goes on, written anew from time to time."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from skillgym_action.reporters.wording import money

if TYPE_CHECKING:
    from collections.abc import Callable

    from skillgym_action.model.execution import Execution
    from skillgym_action.model.result import Result


class Progress:
    """Counts results as they come, from any thread, and hands the counts on: at once, then every ``period`` seconds."""

    def __init__(self, write: Callable[[int, int, str], None], *, budget: float | None, period: float) -> None:
        """``write`` takes what is done, what there is in all, and the money spent in words; it raises nothing."""
        self._write, self._budget, self._period = write, budget, period
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._done = self._total = self._written = 0
        self._known: list[float] = []
        self._complete = True

    def planned(self, total: int) -> None:
        """That many results will come. Writes before it returns: nothing runs yet."""
        self._total = total
        self._write(*self._counts())
        self._thread = threading.Thread(target=self._keep_writing, name="progress", daemon=True)
        self._thread.start()

    def started(self, execution: Execution) -> None:
        """Not told."""

    def finished(self, result: Result) -> None:
        """One more."""
        with self._lock:
            self._done += 1
            if result.cost.usd is not None:
                self._known.append(result.cost.usd)
            elif result.attempts:
                self._complete = False

    def end(self) -> None:
        """Nothing is written after this has returned."""
        self._ended.set()
        if self._thread:
            self._thread.join()

    def _keep_writing(self) -> None:
        while not self._ended.wait(self._period):
            if self._done != self._written:
                self._write(*self._counts())

    def _counts(self) -> tuple[int, int, str]:
        with self._lock:
            self._written = self._done
            spent = money(sum(self._known), complete=self._complete)
        return self._done, self._total, spent + (f" of {money(self._budget)}" if self._budget else "")
