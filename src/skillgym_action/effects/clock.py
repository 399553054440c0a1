"""The clock door."""

from __future__ import annotations

import select
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skillgym_action.effects.cancellation import Cancellation


class Clock:
    """Real time. Durations come from a clock that never jumps."""

    def now(self) -> datetime:
        """The time in UTC."""
        return datetime.now(UTC)  # noqa: TID251 -- this is the clock

    def seconds(self) -> float:
        """Seconds since some fixed moment."""
        return time.monotonic()

    def pause(self, seconds: float, cancelled: Cancellation | None) -> None:
        """Wait that long and up to a quarter more, so that not all come back at once; a cancellation ends it.

        None: nothing ends it.
        """
        import random

        select.select([] if cancelled is None else [cancelled], [], [], seconds * random.uniform(1.0, 1.25))  # noqa: S311 -- jitter is no secret


def iso(moment: datetime) -> str:
    """ISO 8601 with milliseconds and Z."""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
