"""How the processor time of a call grows with the size of its input: a ratio, which is the same on any machine."""

from __future__ import annotations

import time
from math import log
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

FACTOR = 8
MOST = 32  # between 8, if it grows in proportion, and 64, if it grows with the square
LEAST_SECONDS = 0.001  # shorter times are too close to the resolution of the clock


def processor_seconds(call: Callable[[], object], *, tries: int = 3) -> float:
    """Processor seconds of this process for the call: the least of several tries, since other load only adds to it."""

    def once() -> float:
        began = time.process_time()
        call()
        return time.process_time() - began

    return min(once() for _ in range(tries))


def grows_in_proportion(call: Callable[[int], object], size: int) -> bool:
    """Whether the time of ``call(size)`` grows in proportion to ``size``, not with its square, from an eighth on."""
    small = processor_seconds(lambda: call(size // FACTOR))
    most = MOST * max(small, LEAST_SECONDS)
    return any(processor_seconds(lambda: call(size), tries=1) < most for _ in range(3))


def exponent(call: Callable[[int], object], smaller: int, larger: int) -> float:
    """The power of the size with which the time of a call grows: 1 in proportion, 2 with the square."""
    times = [max(processor_seconds(lambda size=size: call(size)), LEAST_SECONDS) for size in (smaller, larger)]  # type: ignore[misc]
    return log(times[1] / times[0]) / log(larger / smaller)
