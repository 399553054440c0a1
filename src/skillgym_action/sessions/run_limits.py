"""Limits over all sessions of a run: how many use one provider at once, the budget, and failures.

A rate limit halves the number; a minute without one adds one again. Sessions wait for a slot without a work slot and
without the slot of a worker.
"""

from __future__ import annotations

import math
import threading
from collections import deque
from contextlib import contextmanager
from dataclasses import field, replace
from itertools import chain
from typing import TYPE_CHECKING

from skillgym_action.agents import AGENTS
from skillgym_action.agents.families import FAMILIES
from skillgym_action.agents.output.providers import provider_of_model, provider_of_url
from skillgym_action.model.figures import dollars
from skillgym_action.model.judgement import Judgement
from skillgym_action.model.limits import MAX_RETRY_WAIT_SECONDS
from skillgym_action.model.records import record
from skillgym_action.model.verdicts import RED, TROUBLES, UNKNOWN_COST, Status
from skillgym_action.text.words import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from contextlib import AbstractContextManager

    from skillgym_action.model.execution import Execution
    from skillgym_action.model.result import Result
    from skillgym_action.model.session import AgentConfig
    from skillgym_action.model.session_report import Trouble
    from skillgym_action.system.cancellation import Cancellation
    from skillgym_action.system.clock import Clock

PROVIDER_RECOVERY_SECONDS = 60.0  # without a rate limit, after which one more session may use a slowed provider
CANCELLATION_POLL_SECONDS = 0.25  # how often sessions that wait for their provider look whether the run was cancelled
_RECORDINGS = "recordings"  # what agents play that use no provider
_FAMILIES = tuple(family for family in chain(*FAMILIES.values()) if family.provider)


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
        keys = {one.provider for one in _FAMILIES if any(name in agent.env for name in one.secrets)}
        named = keys.pop() if len(keys) == 1 else None
    addresses = (agent.env.get(one.address or "") for one in _FAMILIES if one.provider == named)
    address = next(filter(None, addresses), None)
    return (provider_of_url(address) if address else None) or named


@record(frozen=False, kw_only=False, eq=False)
class ProviderSlots:
    """The slots of one provider. Not thread-safe; times are seconds of the monotonic clock.

    ``most``: how many there are without rate limits; ``number``: how many there are now. ``serial_groups``: those
    that are being run. ``not_before``: when the next session may start. ``lowest``, ``rate_limits``: for the summary.
    """

    name: str
    most: int
    number: int = field(init=False)
    running: int = 0
    serial_groups: int = 0
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

    def has_serial_group(self, now: float) -> bool:
        """Whether one more serial group can be run without waiting for a slot for long."""
        self._recover(now)
        return self.serial_groups < self.number and now >= self.not_before

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


@record(frozen=False, kw_only=False, eq=False)
class ProviderSlot:
    """The slot of one session at a time at its provider. Thread-safe.

    ``waited``: whether the session had to wait. The caller sets ``trouble`` at its end.
    """

    _slots: ProviderSlots
    _changed: threading.Condition
    _clock: Clock
    _log: Callable[[str], None]
    waited: bool = False
    trouble: Trouble | None = None
    _began: float | None = None  # None: it is not taken

    @property
    def provider(self) -> str:
        """The provider's name; sessions with the same one wait for the same slots."""
        return self._slots.name

    def take(self) -> bool:
        """Take the slot, which was not taken before, if a session may start now; whether it may."""
        with self._changed:
            if is_free := self._slots.is_free(self._clock.seconds()):
                self.take_now()
            return is_free

    def take_now(self) -> None:
        """Take the slot, free or not. The caller has the lock."""
        self._slots.running += 1
        self._began = self._clock.seconds()

    def give_back(self) -> None:
        """Give the slot back if it is taken; after a rate limit the provider has fewer."""
        with self._changed:
            if self._began is None:
                return
            if self.trouble and self.trouble.kind == "rate-limit" and self.provider != _RECORDINGS:
                now, after = self._clock.seconds(), self.trouble.retry_after
                halved = self._slots.rate_limited(self._began, now, after)
                self._log(_rate_limited(self._slots, after, halved=halved))
            self._slots.running -= 1
            self._began = None
            self._changed.notify()


class ProviderLimits:
    """The slots of all providers of a run. Thread-safe."""

    def __init__(
        self, limits: Mapping[str, int], jobs: int, clock: Clock, cancelled: Cancellation, log: Callable[[str], None]
    ) -> None:
        """``limits``: sessions at once by provider; others have ``jobs``. ``log``: gets lines of a verbose log."""
        self._limits, self._jobs, self._log = limits, jobs, log
        self._clock, self._cancelled = clock, cancelled
        self._lock = threading.Lock()
        self._slots: dict[str, tuple[ProviderSlots, threading.Condition]] = {}
        self._watched: set[str] = set()

    @contextmanager
    def slot(
        self, execution: Execution, waiting: Callable[[], AbstractContextManager[None]] | None
    ) -> Iterator[ProviderSlot]:
        """Wait for a slot of the execution's provider and keep it for the block; a cancelled run does not wait.

        ``waiting`` is entered while the thread waits: it gives back what others need, such as a work slot. None: the
        block takes the slot itself, at the moment at which what else it needs is free, too.
        """
        slots, changed = self._of(execution)
        slot = ProviderSlot(slots, changed, self._clock, self._log)
        if waiting and not slot.take():
            slot.waited = True
            with waiting(), self._lock:
                self._wait(slots, changed)
                slot.take_now()
        try:
            yield slot
        finally:
            slot.give_back()

    def _wait(self, slots: ProviderSlots, changed: threading.Condition) -> None:
        """Wait until a session may start, or the run is cancelled.

        Of the threads that wait for one provider only one looks at clock and cancellation; it wakes the next one.
        """
        while not slots.is_free(self._clock.seconds()) and not self._cancelled:
            if watches := slots.name not in self._watched:
                self._watched.add(slots.name)
            changed.wait(CANCELLATION_POLL_SECONDS if watches else None)
            if watches:
                self._watched.discard(slots.name)
        changed.notify()

    def _of(self, execution: Execution) -> tuple[ProviderSlots, threading.Condition]:
        """The slots of the execution's provider; a runner whose provider is unknown has its own."""
        provider = provider_of(execution.agent, execution.model)
        unknown = _RECORDINGS if AGENTS[execution.runner.agent.type].replays else f"runner {execution.runner.id}"
        name = provider or unknown
        with self._lock:
            if name not in self._slots:
                most = min(self._jobs, self._limits.get(provider or "", self._jobs))
                self._slots[name] = ProviderSlots(name, most), threading.Condition(self._lock)
                if provider in self._limits:
                    self._log(f"{name}: at most {counted(most, 'session')} at once")
            return self._slots[name]

    def slowed(self, jobs: int | None = None) -> tuple[str, ...]:
        """A sentence for each provider that reported rate limits. ``jobs``: how many sessions can run at once."""
        with self._lock:
            return tuple(
                f"{slots.name}: {counted(slots.rate_limits, 'rate limit')}; "
                f"{min(slots.most, jobs or slots.most)} sessions at once became {slots.lowest}"
                for slots, _ in self._slots.values()
                if slots.rate_limits
            )

    # --- which serial group is run next

    def take_serial_group(self, waiting: SerialGroupQueue) -> tuple[Execution, ...]:
        """The first serial group whose provider has a slot, else the first one; () if no serial group is left."""
        with self._lock:
            now = self._clock.seconds()
            heads = [(queue[0][0], slots) for slots, queue in waiting.queues if queue]
            if not heads:
                return ()
            ready = [head for head in heads if head[1].has_serial_group(now)]
            _, chosen = min(ready or heads, key=lambda head: head[0])
            chosen.serial_groups += 1
            return next(queue for slots, queue in waiting.queues if slots is chosen).popleft()[1]

    def serial_group_ended(self, serial_group: tuple[Execution, ...]) -> None:
        """Count a serial group of ``take_serial_group`` as ended."""
        slots, _ = self._of(serial_group[0])
        with self._lock:
            slots.serial_groups -= 1

    def queue(self, serial_groups: Iterable[tuple[Execution, ...]]) -> SerialGroupQueue:
        """Serial groups that are to be run, for ``take_serial_group``."""
        queues: dict[str, tuple[ProviderSlots, deque[tuple[int, tuple[Execution, ...]]]]] = {}
        for number, serial_group in enumerate(serial_groups):
            slots, _ = self._of(serial_group[0])
            queues.setdefault(slots.name, (slots, deque()))[1].append((number, serial_group))
        return SerialGroupQueue(tuple(queues.values()))


@record(kw_only=False)
class SerialGroupQueue:
    """Serial groups by the provider of their first execution, each with its number in the order of the plan."""

    queues: tuple[tuple[ProviderSlots, deque[tuple[int, tuple[Execution, ...]]]], ...]


def _rate_limited(slots: ProviderSlots, retry_after: float | None, *, halved: bool) -> str:
    wait = f", none before {retry_after:g} s have passed" if retry_after else ""
    change = f"at most {counted(slots.number, 'session')} at once from now on" if halved else "already slowed"
    return f"{slots.name}: rate limit, {change}{wait}"


# --- the budget, and failures -------------------------------------------------------------------------


class Budget:
    """US dollars that several sessions may cost together. Not thread-safe."""

    def __init__(self, owner: str, limit: float | None) -> None:
        """``owner``: what messages call it, such as "the run's"; ``limit``: US dollars, None: unlimited."""
        self._owner, self._limit = owner, limit
        self._spent = 0.0
        self._unknown: str | None = None

    @property
    def left(self) -> float | None:
        """US dollars that are left; None: unlimited, or unknown."""
        return None if self._limit is None or self._unknown else self._limit - self._spent

    def add(self, usd: float | None, what: str) -> None:
        """Add the cost of ``what``, such as "a session on codex"; None: unknown, after which nothing may start."""
        if usd is None:
            self._unknown = self._unknown or what
        else:
            self._spent += usd

    def refusal(self) -> Judgement | None:
        """The judgement on executions that may not start any more; None: they may."""
        if self._limit is None:
            return None
        if self._spent >= self._limit:
            spent, limit = dollars(self._spent, self._limit)
            reason = f"{self._owner} budget is spent: {spent} of {limit}"
            return Judgement(status=Status.SKIPPED, origin="budget", reason=reason)
        if self._unknown:
            _, limit = dollars(self._limit, self._limit)
            reason = (
                f"{self._owner} budget of {limit} cannot be checked, since the cost of {self._unknown} is "
                "unknown; set the price of its model under prices in the configuration, or remove the budget"
            )
            return Judgement(status=Status.SKIPPED, origin="budget", failure_class=UNKNOWN_COST, reason=reason)
        return None


Key = tuple[str, str, str | None]  # of a runner: its suite, its id, its arm


class FailureLimit:
    """Counts executions that failed, passed unexpectedly or could not be judged. Not thread-safe."""

    def __init__(self, limit: int | None) -> None:
        """``limit``: the number of them after which no session may start; None: unlimited."""
        self._limit = limit
        self._failed = 0
        self._refused = 0

    def add(self, result: Result) -> None:
        """Count the result of an execution; one that a refusal prevented is counted apart."""
        self._failed += result.status in RED
        self._refused += result.status is Status.SKIPPED and result.judgement.origin == "maxfail"

    def refusal(self) -> Judgement | None:
        """The judgement on executions that may not start any more; None: they may."""
        if self._limit is None or self._failed < self._limit:
            return None
        reason = f"the run ended before, with {counted(self._limit, 'failure')} (--maxfail {self._limit})"
        return Judgement(status=Status.SKIPPED, origin="maxfail", reason=reason)

    def missing(self) -> tuple[str, ...]:
        """Why results are missing: a sentence, if there is a reason."""
        if not self._refused:
            return ()
        were = "execution was" if self._refused == 1 else "executions were"
        failures = counted(self._limit or 0, "failure")
        return (f"{self._refused:,} {were} not started or not finished, since the run ended with {failures}",)


class StoppedRunners:
    """Runners whose sessions have met trouble that lets no other session work. Not thread-safe."""

    def __init__(self) -> None:
        self._met: dict[Key, dict[str, set[int]]] = {}  # executions by kind of trouble
        self._stopped: dict[Key, Trouble] = {}

    def trouble(self, runner: Key) -> Trouble | None:
        """Why no other session of the runner starts, if so."""
        return self._stopped.get(runner)

    def note(self, runner: Key, execution: int, trouble: Trouble | None) -> None:
        """Count how a session of an execution ended; one without trouble shows that the runner works."""
        if trouble is None:
            self._met.pop(runner, None)
            return
        met = self._met.setdefault(runner, {}).setdefault(trouble.kind, set())
        met.add(execution)
        if 0 < TROUBLES[trouble.kind].stops_after <= len(met):
            why = f"not started, since the runner failed before: {trouble.message}"
            self._stopped.setdefault(runner, replace(trouble, message=why))
