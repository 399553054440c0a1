"""How many sessions use one provider at the same time: limits of the user, and fewer after rate limits.

A rate limit halves the number; a minute without one adds one again. Sessions wait for a place without a work slot and
without the slot of a worker.
"""

from __future__ import annotations

import math
import threading
from collections import deque
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from skillgym_action.agents import AGENTS
from skillgym_action.limits import CANCELLATION_POLL_SECONDS, MAX_RETRY_WAIT_SECONDS, PROVIDER_RECOVERY_SECONDS
from skillgym_action.reporters.wording import counted
from skillgym_action.transcripts.providers import provider_of_model, provider_of_url

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from contextlib import AbstractContextManager

    from skillgym_action.cancellation import Cancellation
    from skillgym_action.clock import Clock
    from skillgym_action.model.execution import Execution
    from skillgym_action.model.session import AgentConfig
    from skillgym_action.model.session_report import Trouble

_RECORDINGS = "recordings"  # what agents play that use no provider
_ADDRESSES = {
    "anthropic": "ANTHROPIC_BASE_URL",
    "github-copilot": "COPILOT_PROVIDER_BASE_URL",
    "google": "GOOGLE_GEMINI_BASE_URL",
    "openai": "OPENAI_BASE_URL",
}
_KEYS = {
    "ANTHROPIC_API_KEY": "anthropic",
    "CLAUDE_CODE_OAUTH_TOKEN": "anthropic",
    "CODEX_API_KEY": "openai",
    "GEMINI_API_KEY": "google",
    "OPENAI_API_KEY": "openai",
    "OPENROUTER_API_KEY": "openrouter",
}


def provider_of(agent: AgentConfig, model: str | None) -> str | None:
    """The provider that an agent's sessions use; None: none, or an unknown one, as of a `command` without a model.

    An address decides if the table of providers knows it; then the agent's own provider, the model, and the keys. A
    gateway counts as the provider whose protocol it speaks.
    """
    listing = AGENTS[agent.type]
    if listing.replays:
        return None
    own = listing.provider
    named = own or (provider_of_model(model) if model else None)
    if named is None:
        keys = {_KEYS[name] for name in agent.env if name in _KEYS}
        named = keys.pop() if len(keys) == 1 else None
    address = agent.env.get(_ADDRESSES.get(named or "", ""))
    return (provider_of_url(address) if address else None) or named


@dataclass(eq=False, slots=True)
class ProviderPlaces:
    """The places of one provider. Not thread-safe; times are seconds of the monotonic clock.

    ``most``: how many there are without rate limits; ``number``: how many there are now. ``lanes``: those that are
    being run. ``not_before``: when the next session may start. ``lowest``, ``rate_limits``: for the summary.
    """

    name: str
    most: int
    number: int = field(init=False)
    running: int = 0
    lanes: int = 0
    not_before: float = -math.inf
    rate_limits: int = 0
    lowest: int = field(init=False)
    _changed: float = -math.inf
    _quiet_since: float = 0.0

    def __post_init__(self) -> None:
        self.number = self.lowest = self.most

    def is_free(self, now: float) -> bool:
        """Whether a session may start."""
        self._recover(now)
        return self.running < self.number and now >= self.not_before

    def has_lane(self, now: float) -> bool:
        """Whether one more lane can be run without waiting for a place for long."""
        self._recover(now)
        return self.lanes < self.number and now >= self.not_before

    def rate_limited(self, began: float, now: float, retry_after: float | None) -> bool:
        """Count a rate limit of a running session, which began at ``began``. Whether the number was halved.

        Sessions that ran at the same time meet the same limit: together they halve the number once.
        """
        self._recover(now)
        self.rate_limits += 1
        self._quiet_since = now
        self.not_before = max(self.not_before, now + min(retry_after or 0.0, MAX_RETRY_WAIT_SECONDS))
        if began < self._changed:
            return False
        self.number = max(1, min(self.number, self.running) // 2)
        self.lowest = min(self.lowest, self.number)
        self._changed = now
        return True

    def _recover(self, now: float) -> None:
        if self.number < self.most:
            minutes = int((now - self._quiet_since) // PROVIDER_RECOVERY_SECONDS)
            self.number = min(self.most, self.number + minutes)
            self._quiet_since += minutes * PROVIDER_RECOVERY_SECONDS


@dataclass(eq=False, slots=True)
class Place:
    """The place of one session at a time at its provider. Thread-safe.

    ``waited``: whether the session had to wait. The caller sets ``trouble`` at its end.
    """

    _places: ProviderPlaces
    _changed: threading.Condition
    _clock: Clock
    _log: Callable[[str], None]
    waited: bool = False
    trouble: Trouble | None = None
    _began: float | None = None  # None: it is not taken

    @property
    def provider(self) -> str:
        """The provider's name; sessions with the same one wait for the same places."""
        return self._places.name

    def take(self) -> bool:
        """Take the place, which was not taken before, if a session may start now; whether it may."""
        with self._changed:
            if is_free := self._places.is_free(self._clock.seconds()):
                self.take_now()
            return is_free

    def take_now(self) -> None:
        """Take the place, free or not. The caller has the lock."""
        self._places.running += 1
        self._began = self._clock.seconds()

    def give_back(self) -> None:
        """Give the place back if it is taken; after a rate limit the provider has fewer."""
        with self._changed:
            if self._began is None:
                return
            if self.trouble and self.trouble.kind == "rate-limit" and self.provider != _RECORDINGS:
                now, after = self._clock.seconds(), self.trouble.retry_after
                halved = self._places.rate_limited(self._began, now, after)
                self._log(_rate_limited(self._places, after, halved=halved))
            self._places.running -= 1
            self._began = None
            self._changed.notify()


class ProviderLimits:
    """The places of all providers of a run. Thread-safe."""

    def __init__(
        self, limits: Mapping[str, int], jobs: int, clock: Clock, cancelled: Cancellation, log: Callable[[str], None]
    ) -> None:
        """``limits``: sessions at once by provider; others have ``jobs``. ``log``: gets lines of a verbose log."""
        self._limits, self._jobs, self._log = limits, jobs, log
        self._clock, self._cancelled = clock, cancelled
        self._lock = threading.Lock()
        self._places: dict[str, tuple[ProviderPlaces, threading.Condition]] = {}
        self._watched: set[str] = set()

    @contextmanager
    def place(
        self, execution: Execution, waiting: Callable[[], AbstractContextManager[None]] | None
    ) -> Iterator[Place]:
        """Wait for a place of the execution's provider and keep it for the block; a cancelled run does not wait.

        ``waiting`` is entered while the thread waits: it gives back what others need, such as a work slot. None: the
        block takes the place itself, at the moment at which what else it needs is free, too.
        """
        places, changed = self._of(execution)
        place = Place(places, changed, self._clock, self._log)
        if waiting and not place.take():
            place.waited = True
            with waiting(), self._lock:
                self._wait(places, changed)
                place.take_now()
        try:
            yield place
        finally:
            place.give_back()

    def _wait(self, places: ProviderPlaces, changed: threading.Condition) -> None:
        """Wait until a session may start, or the run is cancelled.

        Of the threads that wait for one provider only one looks at clock and cancellation; it wakes the next one.
        """
        while not places.is_free(self._clock.seconds()) and not self._cancelled:
            if watches := places.name not in self._watched:
                self._watched.add(places.name)
            changed.wait(CANCELLATION_POLL_SECONDS if watches else None)
            if watches:
                self._watched.discard(places.name)
        changed.notify()

    def _of(self, execution: Execution) -> tuple[ProviderPlaces, threading.Condition]:
        """The places of the execution's provider; a runner whose provider is unknown has its own."""
        provider = provider_of(execution.agent, execution.model)
        unknown = _RECORDINGS if AGENTS[execution.runner.agent.type].replays else f"runner {execution.runner.id}"
        name = provider or unknown
        with self._lock:
            if name not in self._places:
                most = min(self._jobs, self._limits.get(provider or "", self._jobs))
                self._places[name] = ProviderPlaces(name, most), threading.Condition(self._lock)
                if provider in self._limits:
                    self._log(f"{name}: at most {counted(most, 'session')} at once")
            return self._places[name]

    def slowed(self, jobs: int | None = None) -> tuple[str, ...]:
        """A sentence for each provider that reported rate limits. ``jobs``: how many sessions can run at once."""
        with self._lock:
            return tuple(
                f"{places.name}: {counted(places.rate_limits, 'rate limit')}; "
                f"{min(places.most, jobs or places.most)} sessions at once became {places.lowest}"
                for places, _ in self._places.values()
                if places.rate_limits
            )

    # --- which lane is run next

    def take_lane(self, waiting: LaneQueue) -> tuple[Execution, ...]:
        """The first lane whose provider has a place, else the first one; () if no lane is left."""
        with self._lock:
            now = self._clock.seconds()
            heads = [(queue[0][0], places) for places, queue in waiting.queues if queue]
            if not heads:
                return ()
            ready = [head for head in heads if head[1].has_lane(now)]
            _, chosen = min(ready or heads, key=lambda head: head[0])
            chosen.lanes += 1
            return next(queue for places, queue in waiting.queues if places is chosen).popleft()[1]

    def lane_ended(self, lane: tuple[Execution, ...]) -> None:
        """Count a lane of ``take_lane`` as ended."""
        places, _ = self._of(lane[0])
        with self._lock:
            places.lanes -= 1

    def queue(self, lanes: Iterable[tuple[Execution, ...]]) -> LaneQueue:
        """Lanes that are to be run, for ``take_lane``."""
        queues: dict[str, tuple[ProviderPlaces, deque[tuple[int, tuple[Execution, ...]]]]] = {}
        for number, lane in enumerate(lanes):
            places, _ = self._of(lane[0])
            queues.setdefault(places.name, (places, deque()))[1].append((number, lane))
        return LaneQueue(tuple(queues.values()))


@dataclass(frozen=True, slots=True)
class LaneQueue:
    """Lanes by the provider of their first execution, each with its number in the order of the plan."""

    queues: tuple[tuple[ProviderPlaces, deque[tuple[int, tuple[Execution, ...]]]], ...]


def _rate_limited(places: ProviderPlaces, retry_after: float | None, *, halved: bool) -> str:
    wait = f", none before {retry_after:g} s have passed" if retry_after else ""
    change = f"at most {counted(places.number, 'session')} at once from now on" if halved else "already slowed"
    return f"{places.name}: rate limit, {change}{wait}"
