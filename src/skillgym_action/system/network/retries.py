"""Retries of requests that failed for a reason that may pass, and the time that they may take."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, NoReturn, TypeVar

from skillgym_action.model.limits import SECONDS_AFTER_CANCELLATION
from skillgym_action.system.clock import LONGEST_PAUSE

if TYPE_CHECKING:
    from collections.abc import Callable

    from tenacity import RetryCallState

    from skillgym_action.system.cancellation import Cancellation
    from skillgym_action.system.clock import Clock

MAX_REQUEST_TRIES = 5  # of one request, the first included


class TransientError(Exception):
    """A failure after which the same request may succeed.

    ``retry_after``: seconds after which the service asks to retry, if it does. Else ``backoff`` is the
    wait before the second try in seconds, doubled each time.
    """

    retry_after: float | None = None
    backoff: float = 1.0


T = TypeVar("T")
E = TypeVar("E", bound=TransientError)


def with_retries(
    send: Callable[[], T],
    kind: type[E],
    *,
    longest_wait: Callable[[], float],
    pause: Callable[[float], None],
    final_error: Callable[[E, str], Exception],
) -> T:
    """Return what ``send`` returns, which is called again after an error of that ``kind``, at most 5 times in all.

    A wait longer than ``longest_wait()`` is not begun. Raises what ``final_error`` makes of the last error and the
    reason for giving up, and all other exceptions of ``send``.
    """
    from tenacity import Retrying, retry_if_exception_type, wait_exponential

    def last_error(state: RetryCallState) -> E:
        error = state.outcome.exception() if state.outcome else None
        if not isinstance(error, kind):
            raise TypeError(f"retried after {error!r}")
        return error

    def seconds_to_wait(state: RetryCallState) -> float:
        error = last_error(state)
        return wait_exponential(multiplier=error.backoff)(state) if error.retry_after is None else error.retry_after

    def give_up(state: RetryCallState) -> NoReturn:
        reason = f"tried {state.attempt_number} times"
        if is_too_long(state.upcoming_sleep, left := longest_wait()):
            reason = f"a retry is possible in {state.upcoming_sleep:.0f} s, but only {max(0.0, left):.0f} s are left"
        raise final_error(last_error(state), reason) from None

    retrying = Retrying(
        retry=retry_if_exception_type(kind),
        wait=seconds_to_wait,
        stop=lambda state: (
            state.attempt_number >= MAX_REQUEST_TRIES or is_too_long(state.upcoming_sleep, longest_wait())
        ),
        sleep=pause,
        retry_error_callback=give_up,
    )
    result: T = retrying(send)
    return result


def is_too_long(seconds: float, left: float) -> bool:
    """Whether a wait may end after the time that is left."""
    return seconds * LONGEST_PAUSE > left


class RetryBudget:
    """The time that waits and failed tries of all requests together may take.

    Successful tries cost what they take longer than ``prompt`` seconds. ``waits``: whether requests may wait at all.
    """

    def __init__(self, seconds: float, clock: Clock, cancelled: Cancellation, prompt: float = 0.0) -> None:
        self.waits = True
        self.seconds = seconds
        self._reserved = 0.0
        self._prompt = prompt
        self._left = seconds
        self._end = inf
        self._clock = clock
        self._cancelled = cancelled

    def reserve(self, share: float) -> None:
        """Keep that share of the whole budget for requests that come later; 0: nothing any more."""
        self._reserved = share * self.seconds

    def end_within(self, seconds: float) -> None:
        """End everything, also what succeeds, in that many seconds; a later end is not taken."""
        self._end = min(self._end, self._clock.seconds() + seconds)

    def time_left(self) -> float:
        """Seconds that the next try may take, at most until everything has to end.

        GitHub kills a cancelled job after a few seconds.
        """
        if self._cancelled:
            self.end_within(SECONDS_AFTER_CANCELLATION)
        return min(self._left - self._reserved, self._end - self._clock.seconds())

    @property
    def is_used_up(self) -> bool:
        """Whether nothing is left but what is reserved."""
        return self._left <= self._reserved

    def longest_wait(self) -> float:
        """Seconds that the next wait may take."""
        return max(0.0, self.time_left()) if self.waits else 0.0

    def attempt(self, send: Callable[[], T]) -> T:
        """Return what ``send`` returns; the time it took is taken off the budget if it failed or was slow."""
        began, free = self._clock.seconds(), 0.0
        try:
            result = send()
            free = self._prompt
            return result
        finally:
            self._left -= max(0.0, self._clock.seconds() - began - free)

    def pause(self, seconds: float) -> None:
        """Wait. A cancellation ends the wait; a wait that begins after it is short (``time_left``), and not ended."""
        began = self._clock.seconds()
        self._clock.pause(seconds, None if self._cancelled else self._cancelled)
        self._left -= self._clock.seconds() - began
