"""A program in a container of a Docker engine: started, watched, limited, ended."""

from __future__ import annotations

import os
import select
import signal
import threading
import time
from contextlib import ExitStack, closing, suppress
from typing import IO, TYPE_CHECKING, Any

from docker.errors import APIError, NotFound

from skillgym_action.limits import (
    CANCELLED_GRACE_SECONDS,
    MAX_OUTPUT_BYTES,
    TERMINATION_GRACE_SECONDS,
)
from skillgym_action.model.resource_limits import format_size
from skillgym_action.model.session import Capture, Ending
from skillgym_action.model.session_report import Trouble
from skillgym_action.processes.launcher import OUTPUT_CHECK_SECONDS, TOO_MUCH_OUTPUT
from skillgym_action.processes.outputs import OutputFile, OutputTail, truncate
from skillgym_action.remote_limits import CONTAINER_CHECK_SECONDS, CONTAINER_DRAIN_SECONDS
from skillgym_action.sandboxes.docker_engine import ENGINE_ERRORS

if TYPE_CHECKING:
    from pathlib import Path

    from skillgym_action.model.containers import ContainerCommand
    from skillgym_action.model.session import Watcher
    from skillgym_action.sandboxes.docker_container import DockerContainer
    from skillgym_action.sandboxes.docker_engine import DockerEngine, Stream

OUT_OF_MEMORY_CODES = frozenset({137, -signal.SIGKILL})
NOT_STARTED_CODES = frozenset({126, 127})
MAX_REASON_BYTES = 4096  # of what the engine prints in place of a program that did not start
SIGNALS_AFTER = 128  # shells and engines report a signal as this and its number
LAST_SIGNAL = 64  # of Linux, which programs in containers run on


class DockerCommand:
    """One program in one container; ``run`` is called once."""

    def __init__(self, container: DockerContainer, command: ContainerCommand) -> None:
        """The processes of the container are ended with the program unless the command keeps them."""
        self.container, self.command = container, command
        self.engine, self.processes, self.cancelled = container.engine, container.processes, container.cancelled
        self._head = bytearray()  # of standard output, where the engine writes why a program did not start
        self._sizes = [0, 0]
        self._program = ""

    def run(self, stdout: Path, stderr: Path, watch: Watcher | None) -> Capture:
        """Run it to its end; never raises for what the program, the container or the engine does."""
        began = time.monotonic()
        out, err = OutputFile(stdout), OutputFile(stderr)
        trouble, code, error = None, None, None
        if not self.command.argv:
            return Capture(ending=Ending.EXITED, exit_code=0, stdout=out, stderr=err, seconds=0.0)
        if self.cancelled:
            return Capture(ending=Ending.CANCELLED, exit_code=None, stdout=out, stderr=err, seconds=0.0)
        with ExitStack() as stack:
            files = tuple(
                stack.enter_context(open(path, "wb", buffering=0, opener=_no_link)) for path in (stdout, stderr)
            )
            try:
                stream = stack.enter_context(closing(self._start()))
                tail = stack.enter_context(OutputTail(stdout, watch)) if watch else None
                ending, trouble = self._wait(stream, files, began + self.command.timeout, tail)
                if ending is not Ending.EXITED:
                    self._end(stream, files)
                elif not self.command.keep_processes:
                    self.processes.end()
                ending, code, error, trouble = self._verdict(ending, trouble)
            except ENGINE_ERRORS as caught:
                ending, error = _failed(caught), self.engine.shown(getattr(caught, "explanation", None) or caught)
        truncate(stdout, stderr)
        seconds = time.monotonic() - began
        return Capture(
            ending=ending, exit_code=code, stdout=out, stderr=err, seconds=seconds, stopped_for=trouble, error=error
        )

    def _start(self) -> Stream:
        command, api = self.command, self.engine.api
        spec = self.container.spec
        made = api.exec_create(
            self.container.id,
            list(command.argv),
            stdin=command.stdin is not None,
            user=command.user or spec.user or "",
            environment={**self.container.environment, **command.env},
            workdir=command.cwd or spec.workdir,
        )
        self._program = made["Id"]
        stream = self.engine.stream(f"/exec/{self._program}/start", {"Detach": False, "Tty": False})
        if command.stdin is not None:
            content = command.stdin.encode(errors="replace")
            threading.Thread(target=_send_all, args=(stream, content), daemon=True).start()
        return stream

    def _wait(
        self, stream: Stream, files: tuple[IO[bytes], ...], deadline: float, tail: OutputTail | None
    ) -> tuple[Ending, Trouble | None]:
        """Pass output on until the program ends or has to be ended: how, and the trouble if it has to be stopped."""
        poll = select.poll()
        poll.register(stream.fileno(), select.POLLIN)
        poll.register(self.cancelled.fileno(), select.POLLIN)
        lingers, gone, next_check = False, 0.0, time.monotonic() + CONTAINER_CHECK_SECONDS
        while True:
            seconds = max(0.0, min(deadline - time.monotonic(), OUTPUT_CHECK_SECONDS))
            ready = [descriptor for descriptor, _ in poll.poll(0 if stream.pending() else seconds * 1000)]
            if stream.pending() or stream.fileno() in ready:
                self._copy(stream, files)
            done = stream.ended or bool(gone and time.monotonic() >= gone)
            if trouble := self._trouble(tail, done=done):
                return Ending.STOPPED, trouble
            if done or self.cancelled:
                return (Ending.EXITED if done else Ending.CANCELLED), None
            if tail and tail.watch.finished and not lingers:
                lingers, deadline = True, min(deadline, time.monotonic() + self.container.result_linger)
            if time.monotonic() >= deadline:
                return (Ending.LINGERED if lingers else Ending.TIMED_OUT), None
            if time.monotonic() >= next_check:
                next_check = time.monotonic() + CONTAINER_CHECK_SECONDS
                if self.container.disk and (trouble := self.container.disk.trouble()):
                    return Ending.STOPPED, trouble
                # another process may have the program's output open after its end
                gone = gone or (0.0 if self._runs() else time.monotonic() + CONTAINER_DRAIN_SECONDS)

    def _trouble(self, tail: OutputTail | None, *, done: bool) -> Trouble | None:
        """Why the program has to be stopped, by what it printed."""
        if max(self._sizes) > MAX_OUTPUT_BYTES:
            return Trouble(kind="runner-crash", message=TOO_MUCH_OUTPUT)
        return tail.trouble() if tail and (tail.watch.may_stop or not done) else None

    def _copy(self, stream: Stream, files: tuple[IO[bytes], ...]) -> None:
        for channel, piece in stream.frames():
            index = 1 if channel == 2 else 0  # noqa: PLR2004 -- the number of standard error
            if index == 0 and len(self._head) < MAX_REASON_BYTES:
                self._head += piece[:MAX_REASON_BYTES]
            room = MAX_OUTPUT_BYTES + 1 - self._sizes[index]
            if room > 0:
                files[index].write(piece[:room])
            self._sizes[index] += len(piece)

    def _runs(self) -> bool:
        return bool(self.engine.api.exec_inspect(self._program)["Running"])

    def _end(self, stream: Stream, files: tuple[IO[bytes], ...]) -> None:
        """End all processes of the container, and read what they print meanwhile."""
        self.processes.signal(signal.SIGTERM)
        end = time.monotonic() + (CANCELLED_GRACE_SECONDS if self.cancelled else TERMINATION_GRACE_SECONDS)
        poll = select.poll()
        poll.register(stream.fileno(), select.POLLIN)
        while not stream.ended and (left := end - time.monotonic()) > 0:
            if stream.pending() or poll.poll(left * 1000):
                self._copy(stream, files)
        self.processes.end()

    def _verdict(
        self, ending: Ending, trouble: Trouble | None
    ) -> tuple[Ending, int | None, str | None, Trouble | None]:
        """The ending, exit code, reason for not starting, and trouble, as the engine knows them now."""
        end = time.monotonic() + CONTAINER_DRAIN_SECONDS
        while (found := self._inspected()) and found["Running"] and time.monotonic() < end:
            time.sleep(0.01)
        code: int | None = found.get("ExitCode") if found and not found["Running"] else None
        if ending is not Ending.EXITED:
            return ending, code, None, trouble
        if code in NOT_STARTED_CODES and not found.get("Pid"):
            reason = self.engine.shown(self._head.decode("utf-8", "replace"))
            return _not_started(reason), None, f"cannot start {self.command.argv[0]!r}: {reason}", None
        if code in OUT_OF_MEMORY_CODES and self.processes.ran_out_of_memory():
            return Ending.STOPPED, code, None, self.processes.out_of_memory()
        if code is None or not self.processes.alive():
            return Ending.LOST, None, "the container has ended", None
        if SIGNALS_AFTER < code <= SIGNALS_AFTER + LAST_SIGNAL:
            return Ending.SIGNALLED, SIGNALS_AFTER - code, None, None
        return Ending.EXITED, code, None, None

    def _inspected(self) -> dict[str, Any]:
        try:
            found: dict[str, Any] = self.engine.api.exec_inspect(self._program)
        except NotFound:
            return {}
        return found


class DiskWatch:
    """Measures what a container has written, where the engine's storage cannot limit it."""

    def __init__(self, engine: DockerEngine, container: str, limit: int) -> None:
        """``limit`` is in bytes."""
        self.engine, self.container, self.limit = engine, container, limit

    def trouble(self) -> Trouble | None:
        """The trouble if it is more than the limit."""
        reply = self.engine.api.get(self.engine.url(f"/containers/{self.container}/json"), params={"size": 1})
        reply.raise_for_status()
        used = int(reply.json().get("SizeRw") or 0)
        if used <= self.limit:
            return None
        message = f"the container wrote {format_size(used)}; the limit is {format_size(self.limit)} (limits.disk)"
        return Trouble(kind="resource-limit", message=message)


def _send_all(stream: Stream, content: bytes) -> None:
    """Feed a program, which need not read all of it, and may print meanwhile."""
    with suppress(OSError):
        stream.send(content)
        stream.end_input()


def _failed(error: BaseException) -> Ending:
    """How a program ended that the engine did not start: it may be that the container is gone."""
    is_refused = isinstance(error, APIError) and error.status_code == 400  # noqa: PLR2004 -- a bad parameter
    return Ending.REFUSED if is_refused else Ending.LOST


def _not_started(reason: str) -> Ending:
    missing = ("executable file not found", "no such file or directory", "permission denied", "exec format error")
    return Ending.NOT_STARTED if any(words in reason.lower() for words in missing) else Ending.REFUSED


def _no_link(path: str, flags: int) -> int:
    """An opener that follows no link: the folder may be one that others can write to."""
    return os.open(path, flags | os.O_NOFOLLOW, 0o666)
