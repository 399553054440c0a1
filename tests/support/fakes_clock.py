"""A clock for tests: it stands still, but for the waits, which take no time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from skillgym_action.system.cancellation import Cancellation

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


class FakeClock:
    """``waits``: the seconds of each wait, as long as it was meant to be."""

    def __init__(self) -> None:
        self.waits: list[float] = []
        self.during_a_wait: Callable[[], None] = lambda: None
        self._passed = 0.0

    def now(self) -> datetime:
        return NOON + timedelta(seconds=self._passed)

    def seconds(self) -> float:
        return 1000 + self._passed

    def pause(self, seconds: float, cancelled: Cancellation | None) -> None:
        self.waits.append(seconds)
        self.during_a_wait()
        if not cancelled:
            self._passed += seconds
