"""Time: the time of day, durations, and waiting."""

from __future__ import annotations

import select
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from skillgym_action.system.cancellation import Cancellation


LONGEST_PAUSE = 1.25  # times as long as was asked for
_LONGEST_POLL_MS = 2**31 - 1


class Clock:
    """The real time.

    The time of day is read once; later times are computed with the monotonic clock. So nothing ends before it began,
    even if the machine's clock is set meanwhile.
    """

    def __init__(self) -> None:
        self._began, self._at = datetime.now(UTC), time.monotonic()  # noqa: TID251 -- this is the clock

    def now(self) -> datetime:
        return self._began + timedelta(seconds=time.monotonic() - self._at)

    def seconds(self) -> float:
        """Seconds of the monotonic clock, for durations."""
        return time.monotonic()

    def pause(self, seconds: float, cancelled: Cancellation | None) -> None:
        """Wait for ``seconds`` and up to a quarter more, so that parallel retries do not start at the same time.

        ``cancelled`` ends the wait; None: nothing does.
        """
        import random

        descriptors = [] if cancelled is None else [cancelled.fileno()]
        wait_readable(descriptors, seconds * random.uniform(1.0, LONGEST_PAUSE))  # noqa: S311 -- jitter is no secret


def wait_readable(descriptors: Iterable[int], seconds: float) -> bool:
    """Wait until one of them can be read, or was closed at its other end; False after ``seconds``, which may be inf.

    ``select`` would refuse descriptors from 1,024 on, which a run with many parallel sessions has.
    """
    poll = select.poll()
    for descriptor in descriptors:
        poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(min(max(0.0, seconds) * 1000, _LONGEST_POLL_MS)))


def iso_timestamp(moment: datetime) -> str:
    """ISO 8601 with milliseconds, such as ``2025-01-02T03:04:05.678Z``; ``moment`` is in UTC."""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
