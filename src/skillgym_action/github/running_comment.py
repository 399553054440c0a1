"""Counts results during a run, and updates the comment with the counts from time to time."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from skillgym_action.reporters.markdown import RunProgress
from skillgym_action.reporters.wording import money

if TYPE_CHECKING:
    from collections.abc import Callable

    from skillgym_action.model.result import Result


class ProgressCounter:
    """Counts results from any thread. Calls ``write`` at once, then every ``period`` seconds if there are new results.

    ``budget``: US dollars that the run may spend. ``write`` must not raise.
    """

    def __init__(self, write: Callable[[RunProgress], None], *, budget: float | None, period: float) -> None:
        self._write, self._budget, self._period = write, budget, period
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._done = self._total = self._written = 0
        self._known_costs: list[float] = []
        self._is_cost_complete = True

    def planned(self, total: int) -> None:
        """Write ``0 of total`` before anything runs, then start the thread that writes the counts.

        Called again before a further stage of the run, which is counted on its own.
        """
        with self._lock:
            self._done, self._total = 0, total
        self._write(self._progress())
        if self._thread:
            return
        self._thread = threading.Thread(target=self._keep_writing, name="progress", daemon=True)
        self._thread.start()

    def finished(self, result: Result) -> None:
        with self._lock:
            self._done += 1
            if result.cost.usd is not None:
                self._known_costs.append(result.cost.usd)
            elif result.attempts:
                self._is_cost_complete = False

    def end(self) -> None:
        """Stop writing; nothing is written after this has returned."""
        self._ended.set()
        if self._thread:
            self._thread.join()

    def _keep_writing(self) -> None:
        while not self._ended.wait(self._period):
            if self._done != self._written:
                self._write(self._progress())

    def _progress(self) -> RunProgress:
        with self._lock:
            self._written = self._done
            spent = money(sum(self._known_costs), complete=self._is_cost_complete)
        of_budget = f" of {money(self._budget)}" if self._budget else ""
        return RunProgress(done=self._done, total=self._total, spent=spent + of_budget)
