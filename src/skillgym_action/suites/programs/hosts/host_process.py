"""One suite host: a child process that answers one call at a time. A call that takes too long ends it."""

from __future__ import annotations

import json
import os
import select
import signal
import time
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING, Any

from skillgym_action.system.processes.launcher import TimeoutExpired
from skillgym_action.system.processes.outputs import OutputFile
from skillgym_action.text.documents.json_text import Extent, refuse_large
from skillgym_action.text.documents.located_values import NotationError

if TYPE_CHECKING:
    from pathlib import Path

    from skillgym_action.system.cancellation import Cancellation
    from skillgym_action.system.processes.started_programs import PipedProgram

MAX_HOST_REPLY_BYTES = 16 * 1024 * 1024  # bytes of a reply
MAX_HOST_REPLY_CONTAINERS = 250_000  # lists and objects in a reply; few bytes of JSON can take much memory
MAX_HOST_REPLY_VALUES = 1_000_000  # values in a reply
MAX_HOST_REPLY_MEMBERS = 100_000  # members of one object in a reply
MAX_HOST_LOG_BYTES = 64 * 1024 * 1024  # bytes that a suite may print
HOST_LOG_EXCERPT_BYTES = 4 * 1024  # bytes at the end of the log that are shown with an error
REPLY_EXTENT = Extent(
    containers=MAX_HOST_REPLY_CONTAINERS, values=MAX_HOST_REPLY_VALUES, members=MAX_HOST_REPLY_MEMBERS
)
CHUNK = 64 * 1024
TICK = 0.2  # seconds between two checks for cancellation


class HostLostError(Exception):
    """A suite host gave no reply, and cannot be used again.

    ``reason`` is a predicate, such as ``did not answer within 60 s``; ``log`` has what the suite printed.
    """

    def __init__(self, reason: str, log: Path) -> None:
        super().__init__(reason)
        self.reason = reason
        self.log = log

    @property
    def printed(self) -> str:
        """The end of what the suite printed. Read on access, since the log is redacted when the host has ended."""
        return OutputFile(self.log).tail(HOST_LOG_EXCERPT_BYTES)


class HostProcess:
    """A child process with one suite file.

    Its pipes are non-blocking, so a call never takes longer than its limit.
    """

    def __init__(self, file: Path, child: PipedProgram, log: Path) -> None:
        """``log``: the file that the child has as stderr."""
        self.file = file
        self.child = child
        self.log = log
        self._numbers = count(1)
        for pipe in (child.stdin, child.stdout):
            os.set_blocking(pipe, False)

    def call(self, request: dict[str, Any], limit: float, cancelled: Cancellation) -> dict[str, Any]:
        """The reply to a request; ``limit`` is in seconds. Raises HostLostError; the host cannot be used again then."""
        number = next(self._numbers)
        sent = json.dumps({**request, "number": number}).encode() + b"\n"
        line = self._exchange(sent, time.monotonic() + limit, cancelled)
        if line is None:
            raise self._lost(f"did not answer within {limit:g} s")
        try:
            refuse_large(line, REPLY_EXTENT)
            reply = json.loads(line)
        except (ValueError, RecursionError):
            reply = None
        except NotationError as error:
            raise self._lost(f"answered with {error.message}") from error
        if not isinstance(reply, dict) or reply.get("number") != number:
            raise self._lost("wrote to the connection of the suite host's protocol")
        return reply

    def close_stdin(self) -> None:
        """Close the child's input."""
        self.child.close_stdin()

    def close(self) -> None:
        """Close the pipes, after the child has ended."""
        self.child.close()

    def _exchange(self, request: bytes, deadline: float, cancelled: Cancellation) -> bytes | None:
        """Write the request and read one line; None if the deadline has passed."""
        stdin, stdout = self.child.stdin, self.child.stdout
        unsent, reply = self._sent(memoryview(request)), bytearray()
        poll = select.poll()
        poll.register(stdout, select.POLLIN)
        if unsent:
            poll.register(stdin, select.POLLOUT)
        while (left := deadline - time.monotonic()) > 0:
            for descriptor, _ in poll.poll(min(left, TICK) * 1000):
                if descriptor == stdin:
                    unsent = self._sent(unsent)
                    if not unsent:
                        poll.unregister(stdin)
                elif chunk := os.read(stdout, CHUNK):
                    reply += chunk
                else:
                    raise self._lost(self._ending())
            if reply.endswith(b"\n"):
                return bytes(reply)
            self._refuse_excess(reply)
            if cancelled:
                raise self._lost("was cancelled")
        return None

    def _sent(self, unsent: memoryview) -> memoryview:
        try:
            return unsent[os.write(self.child.stdin, unsent[:CHUNK]) :]
        except BlockingIOError:
            return unsent
        except BrokenPipeError:
            raise self._lost(self._ending()) from None

    def _refuse_excess(self, reply: bytearray) -> None:
        if len(reply) > MAX_HOST_REPLY_BYTES:
            raise self._lost(f"answered with more than {MAX_HOST_REPLY_BYTES // 1024**2} MiB")
        with suppress(FileNotFoundError):
            self._refuse_log(self.log.stat().st_size)

    def _refuse_log(self, size: int) -> None:
        if size > MAX_HOST_LOG_BYTES:
            raise self._lost(f"printed more than {MAX_HOST_LOG_BYTES // 1024**2} MiB")

    def _ending(self) -> str:
        with suppress(TimeoutExpired):
            code = self.child.wait(TICK)
            if code is None:
                return "was lost"
            if code < 0:
                return f"was ended by {signal.Signals(-code).name}"
            return f"ended its process with exit code {code}"
        return "closed its connection"

    def _lost(self, reason: str) -> HostLostError:
        return HostLostError(reason, self.log)
