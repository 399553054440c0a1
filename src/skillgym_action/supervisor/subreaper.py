"""A process that runs one program at a time, and ends all that the program leaves behind.

It is a subreaper: whatever a program's descendants call themselves, and whatever session they move to, once their
parents have ended they are its children. Without root this is what keeps sessions apart in time; with root it runs
programs of fixed users, and those of the tool itself.

Messages: its own process id, as it starts; ``run`` -> nothing, or the error; then, when nothing of the program is left,
its wait status. ``end`` ends the program. The limits of programs are its own, which they inherit: so a program that has
no other user is started without a copy of this process, which would take most of the time.
"""

from __future__ import annotations

import json
import os
import select
import signal
import time

from skillgym_action.supervisor.descendants import end_descendants, protect, reaped
from skillgym_action.supervisor.messages import ConnectionLostError, receive, send
from skillgym_action.supervisor.program import DEFAULT_SIGNALS, FAILED, become, enter, set_limits, told

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Sequence
    from typing import Any

LEFT_GRACE = 0.3  # seconds that what a program left running has to end by itself


def serve(link: socket.socket, limits: Sequence[tuple[int, int]]) -> None:
    """Run programs within these limits until the other end of ``link`` is closed."""
    protect(subreaper=True)
    set_limits(limits)
    awake, wake = os.pipe()
    for end in (awake, wake):
        os.set_blocking(end, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    try:
        send(link, {"pid": os.getpid()})
        while received := receive(link):
            request, descriptors = received
            if request["op"] == "run":
                _run(link, awake, request, descriptors)
    except ConnectionLostError:
        pass
    end_descendants(0.0)


def _run(link: socket.socket, awake: int, request: dict[str, Any], descriptors: list[int]) -> None:
    try:
        pid = _spawned(request, descriptors) if request.get("uid") is None else _forked(link, request, descriptors)
    except (OSError, ValueError) as error:
        send(link, told(error))
        return
    finally:
        for descriptor in descriptors:
            os.close(descriptor)
    send(link, {})
    status = _waited(link, awake, pid)
    send(link, {"status": status})


def _spawned(request: dict[str, Any], descriptors: list[int]) -> int:
    """A process that executes the program. Raises OSError, ValueError."""
    os.putenv("PATH", request["env"].get("PATH", os.defpath))  # where the program is looked for
    enter(request, descriptors)
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


def _forked(link: socket.socket, request: dict[str, Any], descriptors: list[int]) -> int:
    """The same as another user. Raises OSError, ValueError."""
    said, say = os.pipe()  # closed on exec
    try:
        pid = os.fork()
    except OSError:
        os.close(said)
        os.close(say)
        raise
    if not pid:
        failed: dict[str, Any] = {"errno": None, "error": "interrupted"}
        try:
            signal.set_wakeup_fd(-1)
            link.close()
            os.close(said)
            become(request, descriptors)
        except Exception as error:  # noqa: BLE001 -- nothing of this process may go on in the subreaper's code
            failed = told(error)
        finally:
            os.write(say, json.dumps(failed).encode())
            os._exit(FAILED)
    os.close(say)
    with open(said, "rb", buffering=0) as pipe:
        text = pipe.read()
    if text:
        os.waitpid(pid, 0)
        failed = json.loads(text)
        raise OSError(failed["errno"], failed["error"])
    return pid


def _waited(link: socket.socket, awake: int, pid: int) -> int:
    """The wait status of the program, when it and everything that it left has ended."""
    poll = select.poll()
    poll.register(awake, select.POLLIN)
    poll.register(link, select.POLLIN)
    status: int | None = None
    while status is None:
        ready = {descriptor for descriptor, _ in poll.poll()}
        if awake in ready:
            _drain(awake)
            status = reaped().get(pid)
        if status is None and link.fileno() in ready:
            request = receive(link)
            if request is None:
                end_descendants(0.0, group=pid)
                raise ConnectionLostError("the tool has ended")
            status = _ended(pid, float(request[0].get("grace", 0.0)))
    if _has_children():
        end_descendants(LEFT_GRACE, group=pid)
    return status


def _ended(pid: int, grace: float) -> int:
    """End the program and everything below; its wait status, as if killed where it cannot be found out."""
    statuses = end_descendants(grace, group=pid)
    deadline = time.monotonic() + 1.0
    while pid not in statuses and time.monotonic() < deadline:
        statuses |= reaped()
        time.sleep(0.002)
    return statuses.get(pid, signal.SIGKILL)


def _has_children() -> bool:
    """Whether a child still runs; those that have ended are reaped."""
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
