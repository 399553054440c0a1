"""A container of a Docker engine: its start, files in and out, programs and their processes, changes."""

from __future__ import annotations

import errno
import io
import math
import os
import posixpath
import select
import signal
import tarfile
import threading
import time
from contextlib import ExitStack, closing, suppress
from itertools import chain
from typing import IO, TYPE_CHECKING, Any, Self

from docker.errors import APIError, NotFound
from docker.types import LogConfig, Ulimit

from skillgym_action.model.containers import ContainerChange, Owner
from skillgym_action.model.errors import SandboxError
from skillgym_action.model.limits import (
    CANCELLED_GRACE_SECONDS,
    MAX_OUTPUT_BYTES,
    RESULT_LINGER_SECONDS,
    TERMINATION_GRACE_SECONDS,
)
from skillgym_action.model.resource_limits import format_size
from skillgym_action.model.session import Capture, Ending
from skillgym_action.model.session_report import Trouble
from skillgym_action.system.containers.docker_engine import ENGINE_ERRORS
from skillgym_action.system.containers.docker_images import KEEPER_FOLDER, KEEPER_PATH
from skillgym_action.system.containers.keeper import NO_PROCESS
from skillgym_action.system.containers.tar_entries import END, HardLink, read_tar, write_tar
from skillgym_action.system.files.bundle import BundleEntry, BundleError, BundleLimits, checked_entries
from skillgym_action.system.processes.launcher import OUTPUT_CHECK_SECONDS, TOO_MUCH_OUTPUT
from skillgym_action.system.processes.outputs import OutputFile, OutputTail, truncate

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

    from skillgym_action.model.containers import ContainerCommand, ContainerSpec, RefusedConnection
    from skillgym_action.model.session import Watcher
    from skillgym_action.system.cancellation import Cancellation
    from skillgym_action.system.containers.docker_engine import DockerEngine, Stream
    from skillgym_action.system.containers.docker_images import DockerVolumes

CONTAINER_KILL_SECONDS = 10.0  # for all processes of a container to end
CONTAINER_CHECK_SECONDS = 1.0  # between two questions to the engine whether a program still runs
CONTAINER_DRAIN_SECONDS = 1.0  # for the last output of a program that has ended, while others keep its output open
MAX_CONTAINER_CHANGES = 200_000
GO_FOLDER, GO_LINK, GO_IRREGULAR = 1 << 31, 1 << 27, (1 << 26) | (1 << 25) | (1 << 24) | (1 << 21) | (1 << 19)
CHANGES = {0: "changed", 1: "added", 2: "deleted"}
MAX_ACCOUNTS_BYTES = 1024 * 1024  # of /etc/passwd and /etc/group


class DockerContainer:
    """See ``SandboxContainer``."""

    def __init__(
        self, engine: DockerEngine, container: str, spec: ContainerSpec, processes: Processes, cancelled: Cancellation
    ) -> None:
        """``processes``: its keeper runs. ``environment`` and what follows is set by the sandbox."""
        self.engine, self.id, self.spec = engine, container, spec
        self.processes, self.cancelled = processes, cancelled
        self.environment: Mapping[str, str] = {}
        self.disk: DiskWatch | None = None
        self.result_linger = RESULT_LINGER_SECONDS
        self.release: Callable[[], None] = lambda: None
        self.refusals: Callable[[], tuple[RefusedConnection, ...]] = tuple
        self._removed = False
        self._open_archive: io.BufferedReader | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()

    # --- files --------------------------------------------------------------------------------------------------

    def put(self, entries: Iterable[BundleEntry], path: str, owner: Owner | None = None) -> None:
        _require_absolute(path)
        with self.engine.errors(f"cannot write {self.engine.shown(path)} in the container"):
            folder, below = self._existing(posixpath.normpath(path))
            missing = [BundleEntry("folder", name, 0o755) for name in _prefixes(below)]
            content = write_tar(entries, owner, f"{below}/" if below else "")
            self.engine.api.put_archive(self.id, folder, chain(write_tar(missing, owner), content, (END,)))

    def _existing(self, path: str) -> tuple[str, str]:
        """The deepest folder on the way to ``path`` that exists, and the rest of the path."""
        folder, below = path, ""
        while folder != "/" and self._status(folder) is None:
            folder, name = posixpath.split(folder)
            below = f"{name}/{below}" if below else name
        return folder, below

    def get(self, path: str, limits: BundleLimits | None = None) -> Iterator[BundleEntry]:
        limits = limits or BundleLimits()
        with closing(self._entries(path, limits)) as entries:
            yield from checked_entries(entries, limits)

    def _entries(self, path: str, limits: BundleLimits) -> Generator[BundleEntry]:
        found = self._resolved(path)
        if found is None:
            raise FileNotFoundError(errno.ENOENT, "no such file or folder in the container", path)
        target, mode = found
        with self._reading(path):
            if not mode & GO_FOLDER:
                with closing(self._file(target)) as file:
                    if file.exists:
                        entry = BundleEntry("file", posixpath.basename(path), mode & 0o777)
                        yield entry.with_content(file.size, file.chunks)
                return
            hard_links: list[HardLink] = []
            with closing(self._archive(target)) as archive:
                try:
                    for each in read_tar(archive):
                        if isinstance(each, BundleEntry):
                            yield each
                        elif len(hard_links) < limits.entries:
                            hard_links.append(each)
                        else:
                            raise BundleError(f"{path} has more than {limits.entries:,} hard links")
                except tarfile.TarError as error:
                    raise BundleError(f"the archive of {path} is refused: {error}") from error
            # Only now: the engine lets other requests for a container wait while it sends an archive of it.
            for link in hard_links:
                with closing(self._file(posixpath.join(target, link.path))) as file:
                    if file.exists:
                        yield BundleEntry("file", *link).with_content(file.size, file.chunks)

    def read(self, path: str, size: int) -> bytes | None:
        found = self._resolved(path)
        with self._reading(path):
            if not found or found[1] & (GO_FOLDER | GO_IRREGULAR):
                return None
            with closing(self._file(found[0])) as file:
                if file.size > size:
                    raise BundleError(f"{path} has {file.size} bytes, which is more than {size}")
                return b"".join(file.chunks()) if file.exists else None

    def _resolved(self, path: str) -> tuple[str, int] | None:
        """The path without a link at its end, and Go's file mode; None: there is nothing."""
        _require_absolute(path)
        with self._reading(path):
            found = self._status(path)
            if found and found["mode"] & GO_LINK:
                path = posixpath.join(posixpath.dirname(path), found["linkTarget"])
                found = self._status(path)
        return (path, int(found["mode"])) if found and not found["mode"] & GO_LINK else None

    def _status(self, path: str) -> dict[str, Any] | None:
        """See ``DockerEngine.status``. What was read before may have been given up without reading it to its end."""
        self._end_archive()  # else the engine does not answer
        return self.engine.status(self.id, path)

    def _reading(self, path: str) -> AbstractContextManager[None]:
        return self.engine.errors(f"cannot read {self.engine.shown(path)} in the container")

    def _archive(self, path: str) -> io.BufferedReader:
        self._end_archive()
        self._open_archive = io.BufferedReader(_Chunks(self.engine.archive(self.id, path)))
        return self._open_archive

    def _end_archive(self) -> None:
        """Close an archive that was not read to its end: the engine lets all other requests for the container wait."""
        if self._open_archive:
            self._open_archive.close()
            self._open_archive = None

    def _file(self, path: str) -> _ArchivedFile:
        return _ArchivedFile(self._archive(path))

    def changes(self) -> tuple[ContainerChange, ...]:
        self._end_archive()
        with self.engine.errors("cannot list the changes of the container"):
            found: list[dict[str, Any]] = self.engine.api.diff(self.id) or []
        if len(found) > MAX_CONTAINER_CHANGES:
            raise SandboxError(f"the container changed more than {MAX_CONTAINER_CHANGES:,} files")
        listed = [ContainerChange(path=each["Path"], kind=CHANGES[each["Kind"]]) for each in found]  # type: ignore[arg-type]
        return tuple(
            sorted((change for change in listed if change.path != KEEPER_FOLDER), key=lambda change: change.path)
        )

    def owner(self, user: str | None = None) -> Owner:
        """The ids of a user of the container, ``name``, ``uid`` or either with ``:group``; None: the one of its spec.

        Raises SandboxError if there is no such user.
        """
        name, _, group = (user or self.spec.user or "0").partition(":")
        account = self._account("/etc/passwd", name)
        if account is None and not name.isdecimal():
            raise SandboxError(f"the image has no user {name!r}", remedy="name a user that it has, or a user id")
        uid = int(account[2]) if account else int(name)
        if not group:
            return Owner(uid=uid, gid=int(account[3]) if account else 0)
        found = self._account("/etc/group", group)
        if found is None and not group.isdecimal():
            raise SandboxError(f"the image has no group {group!r}", remedy="name a group that it has, or a group id")
        return Owner(uid=uid, gid=int(found[2]) if found else int(group))

    def _account(self, path: str, name: str) -> list[str] | None:
        lines = (self.read(path, MAX_ACCOUNTS_BYTES) or b"").decode("utf-8", "replace").splitlines()
        for fields in (line.split(":") for line in lines):
            if len(fields) >= 4 and name in {fields[0], fields[2]} and fields[2].isdecimal():  # noqa: PLR2004
                return fields
        return None

    # --- programs -----------------------------------------------------------------------------------------------

    def run(self, command: ContainerCommand, *, stdout: Path, stderr: Path, watch: Watcher | None = None) -> Capture:
        self._end_archive()
        running = DockerCommand(self, command)
        return running.run(stdout, stderr, watch)

    def refused(self) -> tuple[RefusedConnection, ...]:
        return self.refusals()

    def remove(self) -> None:
        if self._removed:
            return
        self._removed = True
        self._end_archive()
        with suppress(*ENGINE_ERRORS):
            self.engine.api.remove_container(self.id, force=True, v=True)
        self.processes.close()
        self.release()


class _ArchivedFile:
    """The file in an archive of one path. ``exists``: whether there is one, and it is regular; ``size``: in bytes.

    The container is locked until it is closed.
    """

    def __init__(self, archive: io.BufferedReader) -> None:
        self._archive, self.size, self._file = archive, 0, None
        with suppress(tarfile.TarError):
            tar = tarfile.open(fileobj=archive, mode="r|", errors="surrogateescape")  # noqa: SIM115 -- read later
            member = tar.next()
            if member and member.isreg():
                self.size, self._file = member.size, tar.extractfile(member)
        self.exists = self._file is not None

    def chunks(self) -> Iterator[bytes]:
        while self._file and (chunk := self._file.read(io.DEFAULT_BUFFER_SIZE * 16)):
            yield chunk

    def close(self) -> None:
        self._archive.close()


class _Chunks(io.RawIOBase):
    """The pieces of a reply as a file."""

    def __init__(self, chunks: Any) -> None:
        """``chunks`` is a generator that closes the reply."""
        self._chunks, self._rest = chunks, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            chunk = next(self._chunks, None)
            if chunk is None:
                return 0
            self._rest = chunk
        size = min(len(buffer), len(self._rest))
        buffer[:size], self._rest = self._rest[:size], self._rest[size:]
        return size

    def close(self) -> None:
        if not self.closed:
            self._chunks.close()
        super().close()


def _require_absolute(path: str) -> None:
    if not path.startswith("/") or "\0" in path:
        raise SandboxError(f"{path!r} is not an absolute path in the container")


def _prefixes(path: str) -> list[str]:
    parts = path.split("/") if path else []
    return ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]


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
        results, exit_by, gone, next_check = 0, math.inf, 0.0, time.monotonic() + CONTAINER_CHECK_SECONDS
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
            if tail and tail.watch.finished != results:
                results = tail.watch.finished
                exit_by = time.monotonic() + self.container.result_linger if results else math.inf
            if time.monotonic() >= min(deadline, exit_by):
                return (Ending.LINGERED if tail and tail.watch.has_result else Ending.TIMED_OUT), None
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


class DockerStarter:
    """Starts containers that end with the tool, and are then removed by the engine."""

    def __init__(self, engine: DockerEngine, volumes: DockerVolumes) -> None:
        self._engine, self._volumes = engine, volumes

    def start(
        self, image: str, workdir: str, labels: dict[str, str], host: dict[str, Any], address: str | None = None
    ) -> tuple[str, Processes]:
        """A container in which only its keeper runs: its id and its processes. ``image``: a digest.

        ``host``: arguments of ``create_host_config`` for limits, network and mounts, which get what all containers
        have. ``address``: of the container in its network. Raises SandboxError, ENGINE_ERRORS.
        """
        api = self._engine.api
        networking = None
        if address:
            endpoint = api.create_endpoint_config(ipv4_address=address)
            networking = {"EndpointsConfig": {host["network_mode"]: endpoint}}
        made = api.create_container(
            image,
            command=[],
            entrypoint=[KEEPER_PATH],
            user="0:0",
            working_dir=workdir,
            stdin_open=True,
            labels=labels,
            healthcheck={"test": ["NONE"]},
            networking_config=networking,
            host_config=api.create_host_config(
                auto_remove=True,
                cap_drop=["ALL"],
                security_opt=["no-new-privileges"],
                privileged=False,
                ipc_mode="private",
                log_config=LogConfig(type="none"),
                ulimits=[Ulimit(name="core", soft=0, hard=0)],
                **{**host, "mounts": [self._volumes.keeper(), *host.get("mounts", ())]},
            ),
        )
        container, stream = str(made["Id"]), None
        try:
            stream = self._engine.stream(f"/containers/{container}/attach?stream=1&stdin=1&stdout=1")
            api.start(container)
            processes = Processes(self._engine, container, stream, host.get("mem_limit"))
            _require_keeper(processes)
        except BaseException:
            if stream:
                stream.close()
            with suppress(*ENGINE_ERRORS):
                api.remove_container(container, force=True, v=True)
            raise
        return container, processes


def _require_keeper(processes: Processes) -> None:
    if processes.signal(0) != NO_PROCESS:
        raise SandboxError("a container cannot be made: its first process does not run")
