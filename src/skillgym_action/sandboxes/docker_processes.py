"""The processes of a container: signalled and ended through its keeper."""

from __future__ import annotations

import select
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from skillgym_action.model.resource_limits import format_size
from skillgym_action.model.session_report import Trouble
from skillgym_action.remote_limits import CONTAINER_KILL_SECONDS
from skillgym_action.sandboxes.docker_engine import ENGINE_ERRORS
from skillgym_action.sandboxes.keeper import NO_PROCESS

if TYPE_CHECKING:
    from skillgym_action.sandboxes.docker_engine import DockerEngine, Stream

KILL = 9
EVENT_SECONDS = 0.2  # in which an event comes after the end of a program
FIRST_WAIT_SECONDS = 0.002
LONGEST_WAIT_SECONDS = 0.1


class Processes:
    """All processes of one container but its keeper."""

    def __init__(self, engine: DockerEngine, container: str, stream: Stream, memory: int | None) -> None:
        """``stream`` leads to the keeper: the container ends when it is closed. ``memory``: the limit in bytes."""
        self._engine, self._container, self._stream, self._memory = engine, container, stream, memory
        self._lock = threading.Lock()

    def signal(self, number: int) -> int | None:
        """Send a signal to all; 0, or the error number; None: the container has ended, or does not answer."""
        with self._lock:
            try:
                self._stream.send(bytes((number,)))
            except OSError:
                return None
            return self._answer(time.monotonic() + CONTAINER_KILL_SECONDS)

    def _answer(self, deadline: float) -> int | None:
        poll = select.poll()
        poll.register(self._stream.fileno(), select.POLLIN)
        while not self._stream.ended and (left := deadline - time.monotonic()) > 0:
            if self._stream.pending() or poll.poll(left * 1000):
                for _, piece in self._stream.frames():
                    return piece[-1]
        return None

    def end(self) -> bool:
        """Kill all and wait until none is left; if they do not end, the container is killed. False: it has ended."""
        deadline, wait = time.monotonic() + CONTAINER_KILL_SECONDS, FIRST_WAIT_SECONDS
        while time.monotonic() < deadline:
            answer = self.signal(KILL)
            if answer == NO_PROCESS:
                return True
            if answer is None:
                break
            time.sleep(wait)
            wait = min(2 * wait, LONGEST_WAIT_SECONDS)
        with suppress(*ENGINE_ERRORS):
            self._engine.api.kill(self._container)
        return False

    def alive(self) -> bool:
        """Whether the container still runs."""
        return self.signal(0) is not None

    def ran_out_of_memory(self) -> bool:
        """Whether the kernel has ended a process of the container for want of memory. Raises ENGINE_ERRORS.

        Engines of older versions say so in events only, and for some time.
        """
        if self._engine.api.inspect_container(self._container)["State"]["OOMKilled"]:
            return True
        until = self._engine.time() + EVENT_SECONDS
        return bool(self._engine.events({"container": [self._container], "event": ["oom"]}, until))

    def out_of_memory(self) -> Trouble:
        limit = f"; the limit is {format_size(self._memory)} (limits.memory)" if self._memory else ""
        return Trouble(kind="out-of-memory", message=f"the container ran out of memory{limit}")

    def close(self) -> None:
        """Let the container end, unless it has."""
        self._stream.close()
