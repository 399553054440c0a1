"""How often GitHub is asked again, and how long that may take in all."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, NoReturn, TypeVar

from skillgym_action.github.api_reply import GitHubError, PassingError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tenacity import RetryCallState

    from skillgym_action.cancellation import Cancellation
    from skillgym_action.clock import Clock

T = TypeVar("T")

_TRIES = 5
_UNNAMED_LIMIT = 60.0  # seconds to wait at a limit that does not say how long it holds; doubled each time
LAST_WORDS = 2.5  # seconds for all that is said once the run is cancelled, or has broken off


class Patience:
    """The time that may be spent on waits and on tries that fail. Those that succeed cost nothing.

    ``waits``: whether anything is waited for at all.
    """

    def __init__(self, seconds: float, clock: Clock, cancelled: Cancellation) -> None:
        """``seconds``: for everything that is asked, together."""
        self.waits = True
        self._left = seconds
        self._end = inf
        self._clock = clock
        self._cancelled = cancelled

    def hurry(self, seconds: float) -> None:
        """Everything from now on has to be over after that time."""
        self._end = min(self._end, self._clock.seconds() + seconds)

    def time_left(self) -> float:
        """Seconds until everything has to be over; a cancelled job is killed soon."""
        if self._cancelled:
            self.hurry(LAST_WORDS)
        return self._end - self._clock.seconds()

    def until_answered(self, ask: Callable[[], T]) -> T:
        """What ``ask`` returns, which is called again after a PassingError. Raises GitHubError."""
        from tenacity import Retrying, retry_if_exception_type

        retrying = Retrying(
            retry=retry_if_exception_type(PassingError),
            wait=_seconds_to_wait,
            stop=lambda state: state.attempt_number >= _TRIES or state.upcoming_sleep > self._longest_wait(),
            sleep=self._wait,
            retry_error_callback=self._give_up,
        )
        answer: T = retrying(self._tried, ask)
        return answer

    def _tried(self, ask: Callable[[], T]) -> T:
        began = self._clock.seconds()
        try:
            return ask()
        except PassingError:
            self._left -= self._clock.seconds() - began
            raise

    def _wait(self, seconds: float) -> None:
        """A cancellation ends a wait; those that begin after it are short, and real."""
        began = self._clock.seconds()
        self._clock.pause(seconds, None if self._cancelled else self._cancelled)
        self._left -= self._clock.seconds() - began

    def _longest_wait(self) -> float:
        if not self.waits:
            return 0.0
        return max(0.0, min(self._left, self.time_left()))

    def _give_up(self, state: RetryCallState) -> NoReturn:
        error = _passing(state)
        if state.upcoming_sleep > self._longest_wait():
            reason = f"it can be asked again in {state.upcoming_sleep:.0f} s, {self._longest_wait():.0f} s are left"
        else:
            reason = f"asked {state.attempt_number} times"
        raise GitHubError(
            f"{error.message}; {reason}", operation=error.operation, status=error.status, remedy=error.remedy
        ) from None


def _seconds_to_wait(state: RetryCallState) -> float:
    from tenacity import wait_exponential

    error = _passing(state)
    unnamed = wait_exponential(multiplier=_UNNAMED_LIMIT if error.limit else 1)
    return unnamed(state) if error.wait is None else error.wait


def _passing(state: RetryCallState) -> PassingError:
    error = state.outcome.exception() if state.outcome else None
    if not isinstance(error, PassingError):
        raise TypeError(f"asked again for no reason: {error!r}")
    return error
