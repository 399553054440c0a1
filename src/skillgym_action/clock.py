"""The clock door."""

from __future__ import annotations

import select
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skillgym_action.cancellation import Cancellation


class Clock:
    """Real time. The time of day is read once; from then on a clock that never jumps counts, for durations as well.

    So nothing ends before it began, whoever sets the machine's clock meanwhile.
    """

    def __init__(self) -> None:
        """From now on."""
        self._began, self._at = datetime.now(UTC), time.monotonic()  # noqa: TID251 -- this is the clock

    def now(self) -> datetime:
        """The time in UTC."""
        return self._began + timedelta(seconds=time.monotonic() - self._at)

    def seconds(self) -> float:
        """Seconds since some fixed moment."""
        return time.monotonic()

    def pause(self, seconds: float, cancelled: Cancellation | None) -> None:
        """Wait that long and up to a quarter more, so that not all come back at once; a cancellation ends it.

        None: nothing ends it.
        """
        import random

        select.select([] if cancelled is None else [cancelled], [], [], seconds * random.uniform(1.0, 1.25))  # noqa: S311 -- jitter is no secret


def iso_timestamp(moment: datetime) -> str:
    """ISO 8601 with milliseconds and Z."""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
