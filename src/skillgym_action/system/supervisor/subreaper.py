"""A process that runs one program at a time, and ends all processes that the program leaves behind.

It is a subreaper (``PR_SET_CHILD_SUBREAPER``): when the parent of a descendant ends, the descendant becomes a child of
this process, even with another name, process group or session. Without root this is how nothing of a session goes on
during the next one; as root it runs programs of fixed users, and those of the tool itself.

Messages: its own process id, start and descriptor when it starts (see ``process_signals``); ``run`` -> nothing, or the
error; then, when nothing of the program is left, its wait status. ``end`` ends the program. Programs inherit the
resource limits of this process: so one that runs as the same user is started by ``posix_spawn``, without a copy of this
process, which would take most of the time.
"""

from __future__ import annotations

import json
import os
import select
import signal
import time

from skillgym_action.model.limits import LEFTOVER_GRACE_SECONDS
from skillgym_action.system.supervisor.child import (
    DEFAULT_SIGNALS,
    EXEC_FAILED,
    change_directory,
    error_message,
    exec_program,
    set_limits,
)
from skillgym_action.system.supervisor.descendants import end_descendants, reap_children
from skillgym_action.system.supervisor.messages import ConnectionLostError, receive, send
from skillgym_action.system.supervisor.prctl import protect_process
from skillgym_action.system.supervisor.process_signals import descriptor_of, status_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Sequence
    from typing import Any


def serve(connection: socket.socket, limits: Sequence[tuple[int, int]]) -> None:
    """Run programs within these limits until the other end of ``connection`` is closed."""
    protect_process(subreaper=True)
    set_limits(limits)
    # SIGCHLD writes to the pipe, so that poll returns for a message or for an ended child, whichever comes first.
    wake_read, wake_write = os.pipe()
    for end in (wake_read, wake_write):
        os.set_blocking(end, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
    try:
        _introduce(connection)
        while received := receive(connection):
            request, descriptors = received
            if request["op"] == "run":
                _run(connection, wake_read, request, descriptors)
    except ConnectionLostError:
        pass
    end_descendants(0.0)


def _introduce(connection: socket.socket) -> None:
    """Send what the tool needs to signal this process, and no other one that gets its number."""
    pid = os.getpid()
    status, descriptor = status_of(pid), descriptor_of(pid)
    descriptors = () if descriptor is None else (descriptor,)
    send(connection, {"pid": pid, "start": status.start if status else None}, descriptors)
    for one in descriptors:
        os.close(one)


def _run(connection: socket.socket, wake_read: int, request: dict[str, Any], descriptors: list[int]) -> None:
    try:
        pid = _spawn(request, descriptors) if request.get("uid") is None else _fork(connection, request, descriptors)
    except (OSError, ValueError) as error:
        send(connection, error_message(error))
        return
    finally:
        for descriptor in descriptors:
            os.close(descriptor)
    send(connection, {})
    status = _wait(connection, wake_read, pid)
    send(connection, {"status": status})


def _spawn(request: dict[str, Any], descriptors: list[int]) -> int:
    """Start the program as the same user; its process id. Raises OSError, ValueError."""
    # posix_spawnp searches the PATH of this process, not the one that the program gets.
    os.putenv("PATH", request["env"].get("PATH", os.defpath))
    change_directory(request, descriptors)
    try:
        return os.posix_spawnp(
            request["argv"][0],
            request["argv"],
            request["env"],
            file_actions=[(os.POSIX_SPAWN_DUP2, fd, number) for number, fd in enumerate(descriptors[:3])],
            setsid=True,
            setsigdef=DEFAULT_SIGNALS,
        )
    finally:
        os.chdir("/")


def _fork(connection: socket.socket, request: dict[str, Any], descriptors: list[int]) -> int:
    """Start the program as another user; its process id. Raises OSError, ValueError.

    A pipe is closed by the exec; what comes through it before is the error that prevented it.
    """
    read_end, write_end = os.pipe()
    try:
        pid = os.fork()
    except OSError:
        os.close(read_end)
        os.close(write_end)
        raise
    if not pid:
        failed: dict[str, Any] = {"errno": None, "error": "interrupted"}
        try:
            signal.set_wakeup_fd(-1)
            connection.close()
            os.close(read_end)
            exec_program(request, descriptors)
        except Exception as error:  # noqa: BLE001 -- the forked process must never run the subreaper's code
            failed = error_message(error)
        finally:
            os.write(write_end, json.dumps(failed).encode())
            os._exit(EXEC_FAILED)
    os.close(write_end)
    with open(read_end, "rb", buffering=0) as pipe:
        text = pipe.read()
    if text:
        os.waitpid(pid, 0)
        failed = json.loads(text)
        raise OSError(failed["errno"], failed["error"])
    return pid


def _wait(connection: socket.socket, wake_read: int, pid: int) -> int:
    """The wait status of the program, once it and everything that it left have ended."""
    poll = select.poll()
    poll.register(wake_read, select.POLLIN)
    poll.register(connection, select.POLLIN)
    status: int | None = None
    while status is None:
        ready = {descriptor for descriptor, _ in poll.poll()}
        if wake_read in ready:
            _drain(wake_read)
            status = reap_children().get(pid)
        if status is None and connection.fileno() in ready:
            request = receive(connection)
            if request is None:
                end_descendants(0.0, group=pid)
                raise ConnectionLostError("the tool has ended")
            status = _end(pid, float(request[0].get("grace", 0.0)))
    if _has_children():
        end_descendants(LEFTOVER_GRACE_SECONDS, group=pid)
    return status


def _end(pid: int, grace: float) -> int:
    """End the program and everything below; its wait status, or that of a killed process if it is unknown."""
    statuses = end_descendants(grace, group=pid)
    deadline = time.monotonic() + 1.0
    while pid not in statuses and time.monotonic() < deadline:
        statuses |= reap_children()
        time.sleep(0.002)
    return statuses.get(pid, signal.SIGKILL)


def _has_children() -> bool:
    """Whether a child still runs. Children that have ended are reaped."""
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return False
        if not pid:
            return True


def _drain(pipe: int) -> None:
    try:
        os.read(pipe, 4096)
    except BlockingIOError:
        return
