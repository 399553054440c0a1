"""Starts programs and waits for their end; the only module that does.

A program gets its own process session, an allow-listed environment, /dev/null or a text as stdin, and files for its
output. All processes that it starts end with it: see ``supervisor``.
"""

from __future__ import annotations

import errno
import math
import os
import resource
import select
import shlex
import shutil
import signal
import subprocess
import time
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from functools import cached_property
from math import inf
from pathlib import Path
from subprocess import DEVNULL, PIPE, CalledProcessError, TimeoutExpired
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Any, Self

from skillgym_action.model.limits import (
    CANCELLED_GRACE_SECONDS,
    MAX_OUTPUT_BYTES,
    RESULT_LINGER_SECONDS,
    TERMINATION_GRACE_SECONDS,
)
from skillgym_action.model.resource_limits import ResourceLimits
from skillgym_action.system.processes.outputs import OutputFile, OutputTail, is_too_large, truncate
from skillgym_action.system.processes.started_programs import SupervisorClient
from skillgym_action.system.processes.work_slots import WorkSlots

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from skillgym_action.model.session import Capture, Ending, Identity, Invocation, Watcher
    from skillgym_action.model.session_report import Trouble
    from skillgym_action.system.cancellation import Cancellation
    from skillgym_action.system.processes.disk_usage import DiskReserve
    from skillgym_action.system.processes.resource_usage import ResourceMonitor
    from skillgym_action.system.processes.started_programs import PipedProgram, RunningProgram
    from skillgym_action.system.processes.users import AgentUser

# What users of programs need of the library: only modules of `system` import it.
__all__ = ["DEVNULL", "PIPE", "CalledProcessError", "TimeoutExpired"]

# Variables that are passed on to any program: no key, no token, no GitHub file command.
ALLOWED_VARIABLES = frozenset(
    {
        "PATH",
        "LANG",
        "LC_ALL",
        "LC_CTYPE",
        "TERM",
        "TZ",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "NO_PROXY",
        "ALL_PROXY",
        "http_proxy",
        "https_proxy",
        "no_proxy",
        "all_proxy",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
        "REQUESTS_CA_BUNDLE",
        "CURL_CA_BUNDLE",
        "NODE_EXTRA_CA_CERTS",
        "GIT_SSL_CAINFO",
    }
)
OUTPUT_CHECK_SECONDS = 0.1  # between two checks of watched output and of the cancellation
ACCESS_CHECK_SECONDS = 10.0  # for a look at one path, which may be on a slow file system
RESOURCE_CHECK_SECONDS = 1.0  # between two checks of output size, memory, processes and disk
LONGEST_POLL_SECONDS = 24 * 3600.0  # the kernel counts milliseconds in 32 bits
TOO_MUCH_OUTPUT = f"more than {MAX_OUTPUT_BYTES // 1024**2} MiB were printed; the session was ended"
NOT_A_PROGRAM = frozenset({errno.ENOENT, errno.EACCES, errno.ENOEXEC, errno.ENOTDIR})
NO_LIMITS = ResourceLimits()
SHARED_UMASK = 0o002  # a session's group has no other member; programs that judge it share its workspace's group


class ProcessLauncher:
    """Starts programs and waits for their end. A context manager: at its exit all that it started is ended."""

    def __init__(
        self, *, environment: Mapping[str, str], cancelled: Cancellation, user: AgentUser | None = None
    ) -> None:
        """``environment``: the tool's; programs get its allowed variables. ``user``: None: they run as the caller."""
        self.user = user
        self.supervisor = SupervisorClient()
        if user:
            self.supervisor.keep_open(user.ids.file, user.ids.take())
        self.result_linger = RESULT_LINGER_SECONDS
        self.environment = {name: value for name, value in environment.items() if name in ALLOWED_VARIABLES}
        self.cancelled = cancelled
        self.work_slots = WorkSlots()
        self.reserve: DiskReserve | None = None  # of the file system that sessions are on

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.supervisor.close()

    def spawn(self, argv: Iterable[str], **settings: Any) -> subprocess.Popen[bytes]:
        """A trusted program as a direct child of the tool, in its own process session."""
        return subprocess.Popen(tuple(argv), start_new_session=True, **settings)

    def output(
        self,
        argv: tuple[str, ...],
        *,
        cwd: Path,
        env: Mapping[str, str],
        stdin: int | IO[bytes] = DEVNULL,
        stdout: IO[bytes] | None = None,
        seconds: float = inf,
    ) -> bytes:
        """The output of a short, trusted program, unless it goes to ``stdout``; killed a second after a cancellation.

        Raises OSError, which is TimeoutError for one that was killed since it took more than ``seconds``,
        InterruptedError once cancelled, CalledProcessError.
        """
        child = self.spawn(
            argv,
            cwd=cwd,
            env={**self.environment, **env},
            stdin=stdin,
            stdout=stdout or PIPE,
            stderr=PIPE,
        )
        out, err = self._communicate(child, seconds)
        if child.returncode:
            raise CalledProcessError(child.returncode, argv, out, err)
        return out or b""

    def is_closed_to_agents(self, path: str | Path, permission: str) -> bool:
        """Whether programs of suites lack a permission, ``r`` or ``x``, for an absolute path.

        False if there is no agents' user, or no answer: what uses the path then says why it cannot.
        """
        if not self.user or not os.path.isabs(path) or not os.path.exists(path):
            return False
        try:
            identity = self._suite_host_identity
            child = self.spawn(
                ("/bin/sh", "-c", f'test -{permission} "$1"', "sh", os.fspath(path)),
                cwd="/",
                env={"PATH": os.defpath},
                stdin=DEVNULL,
                user=identity.uid,
                group=identity.gid,
                extra_groups=identity.groups,
            )
            self._communicate(child, ACCESS_CHECK_SECONDS)
        except OSError:
            return False
        return child.returncode == 1

    @cached_property
    def _suite_host_identity(self) -> Identity:
        if not self.user:
            raise ValueError("there is no agents' user")
        return self.user.host_identity()

    def _communicate(self, child: subprocess.Popen[bytes], seconds: float) -> tuple[bytes, bytes]:
        left, end = CANCELLED_GRACE_SECONDS, time.monotonic() + seconds
        while True:
            try:
                return child.communicate(timeout=OUTPUT_CHECK_SECONDS)
            except TimeoutExpired as error:
                left -= OUTPUT_CHECK_SECONDS if self.cancelled else 0.0
                late = time.monotonic() >= end
                if left <= 0 or late:
                    with suppress(ProcessLookupError):
                        os.killpg(child.pid, signal.SIGKILL)  # its number is not free until `communicate` reaps it
                    child.communicate()
                    self.cancelled.raise_if_cancelled()
                    if late:
                        raise TimeoutError(errno.ETIMEDOUT, f"timed out after {seconds:g} s") from error

    def start_piped(
        self, argv: tuple[str, ...], *, identity: Identity | None, cwd: Path, stderr: int, memory: int
    ) -> PipedProgram:
        """Start a program that is connected by pipes; ``memory``: bytes it may allocate. Raises OSError."""
        from skillgym_action.system.processes.started_programs import PipedProgram

        with ExitStack() as stack:
            read, stdin = os.pipe()
            stack.callback(os.close, read)
            stdout, write = os.pipe()
            stack.callback(os.close, write)
            try:
                running = self.supervisor.start(
                    _request(argv, self.environment, cwd, identity, rlimits(NO_LIMITS, own_user=False, data=memory)),
                    (read, write, stderr),
                    identity,
                )
            except OSError:
                os.close(stdin)
                os.close(stdout)
                raise
        return PipedProgram(running, stdin, stdout)

    def run(self, invocation: Invocation, *, stdout: Path, stderr: Path, watch: Watcher | None = None) -> Capture:
        """Run a program to its end; never raises for what the program does.

        A program that does not exit although ``watch`` has seen its result is ended, too.
        """
        from skillgym_action.model.session import Capture, Ending

        began = time.monotonic()
        out, err = OutputFile(stdout), OutputFile(stderr)
        if not invocation.argv:
            return Capture(ending=Ending.EXITED, exit_code=0, stdout=out, stderr=err, seconds=0.0)
        if self.cancelled:
            return Capture(ending=Ending.CANCELLED, exit_code=None, stdout=out, stderr=err, seconds=0.0)
        try:
            running = self._start(invocation, stdout, stderr)
        except (OSError, ValueError) as error:
            reason = f"cannot start {invocation.argv[0]!r}: {self._start_error(error, invocation)}"
            ending = _failed_start(getattr(error, "errno", None))
            return Capture(ending=ending, exit_code=None, stdout=out, stderr=err, seconds=0.0, error=reason)
        ending, trouble = Ending.CANCELLED, None
        try:
            with self.work_slots.released():
                tail = OutputTail(stdout, watch) if watch else None
                monitor = LimitMonitor((stdout, stderr), self._resource_monitor(running, invocation))
                ending, trouble = self._wait(running, began + invocation.timeout, tail, monitor)
        finally:
            if ending is not Ending.EXITED:
                running.end(CANCELLED_GRACE_SECONDS if self.cancelled else TERMINATION_GRACE_SECONDS)
            code = self._exit_code(running, invocation.identity)
        truncate(stdout, stderr)
        if ending is Ending.EXITED and (code is None or code < 0):
            ending = Ending.LOST if code is None else Ending.SIGNALLED
        return Capture(
            ending=ending, exit_code=code, stdout=out, stderr=err, seconds=time.monotonic() - began, stopped_for=trouble
        )

    def _start_error(self, error: OSError | ValueError, invocation: Invocation) -> str:
        """Why a program was not started, and what to do if it is not executable."""
        reason, remedy = getattr(error, "strerror", None) or str(error), None
        if getattr(error, "errno", None) == errno.EACCES:
            path = {**self.environment, **invocation.env}.get("PATH")
            remedy = permission_remedy(invocation.argv[0], path, invocation.cwd)
        return f"{reason}; {remedy}" if remedy else reason

    def _exit_code(self, running: RunningProgram, identity: Identity | None) -> int | None:
        """The exit code, once no process of the program is left; None if it is unknown."""
        code = running.exit_code()
        if identity and identity.is_own:
            try:
                self.supervisor.end_all(identity)
            except OSError:
                return None
        return code

    def _resource_monitor(self, running: RunningProgram, invocation: Invocation) -> ResourceMonitor | None:
        """What measures the program's use of resources; None without limits."""
        if invocation.limits is None:
            return None
        from skillgym_action.system.processes.resource_usage import ResourceMonitor

        identity = invocation.identity
        processes = {"uid": identity.uid} if identity and identity.is_own else {"pid": running.root}
        return ResourceMonitor(invocation.limits, folders=invocation.folders, reserve=self.reserve, **processes)

    def _start(self, invocation: Invocation, stdout: Path, stderr: Path) -> RunningProgram:
        env = {**self.environment, **invocation.env}
        identity, limits = invocation.identity, invocation.limits
        process_limits = rlimits(limits, own_user=bool(identity and identity.is_own)) if limits else ()
        request = _request(invocation.argv, env, invocation.cwd, identity, process_limits)
        with ExitStack() as stack:
            descriptors = (
                stack.enter_context(_input(invocation.stdin)),
                stack.enter_context(open(stdout, "wb", buffering=0, opener=_no_link)).fileno(),
                stack.enter_context(open(stderr, "wb", buffering=0, opener=_no_link)).fileno(),
            )
            return self.supervisor.start(request, descriptors, invocation.identity)

    def _wait(
        self, running: RunningProgram, deadline: float, tail: OutputTail | None, monitor: LimitMonitor
    ) -> tuple[Ending, Trouble | None]:
        """Wait until the program ends or has to be ended: how, and the trouble if it has to be stopped."""
        from skillgym_action.model.session import Ending

        results, exit_by = 0, math.inf
        poll = select.poll()
        poll.register(running.fileno(), select.POLLIN)
        poll.register(self.cancelled.fileno(), select.POLLIN)
        with tail or nullcontext():
            while True:
                interval = OUTPUT_CHECK_SECONDS if tail else RESOURCE_CHECK_SECONDS
                seconds = max(0.0, min(deadline - time.monotonic(), interval, LONGEST_POLL_SECONDS))
                done = any(descriptor == running.fileno() for descriptor, _ in poll.poll(seconds * 1000))
                if found := monitor.trouble(done=done):
                    return Ending.STOPPED, found
                if tail and (tail.watch.may_stop or not done) and (trouble := tail.trouble()):
                    return Ending.STOPPED, trouble
                if done:
                    return Ending.EXITED, None
                if self.cancelled:
                    return Ending.CANCELLED, None
                if tail and tail.watch.finished != results:
                    results = tail.watch.finished
                    exit_by = time.monotonic() + self.result_linger if results else math.inf
                if time.monotonic() >= min(deadline, exit_by):
                    return (Ending.LINGERED if tail and tail.watch.has_result else Ending.TIMED_OUT), None


class LimitMonitor:
    """Checks the limits of a program while it runs: the size of its output, and each second its use of resources."""

    def __init__(self, outputs: tuple[Path, Path], resources: ResourceMonitor | None) -> None:
        """``outputs``: the files it prints to."""
        self._outputs, self._resources = outputs, resources
        self._next = time.monotonic() + RESOURCE_CHECK_SECONDS

    def trouble(self, *, done: bool) -> Trouble | None:
        """The limit that is exceeded, if any. ``done``: the program has ended and uses no resources."""
        from skillgym_action.model.session_report import Trouble

        if is_too_large(*self._outputs):
            return Trouble(kind="runner-crash", message=TOO_MUCH_OUTPUT)
        if done or not self._resources or time.monotonic() < self._next:
            return None
        self._next = time.monotonic() + RESOURCE_CHECK_SECONDS
        return self._resources.exceeded()


def rlimits(limits: ResourceLimits, *, own_user: bool, data: int | None = None) -> tuple[tuple[int, int], ...]:
    """Resource limits of the kernel for one process, as (resource, value): the part of a session's limits they can do.

    ``own_user``: the session has a user of its own that is not root. The kernel counts processes by user: with a shared
    user it would count those of others, too, and root is never refused one. ``data``: bytes of private memory. Address
    space is not limited, since Node.js reserves gigabytes of it.
    """
    found = [(resource.RLIMIT_CORE, 0)]  # a core dump would have the session's secrets
    if limits.file_size is not None:
        found.append((resource.RLIMIT_FSIZE, limits.file_size))
    if limits.processes is not None and own_user:
        found.append((resource.RLIMIT_NPROC, limits.processes))
    if data is not None:
        found.append((resource.RLIMIT_DATA, data))
    return tuple(found)


def _request(
    argv: tuple[str, ...],
    env: Mapping[str, str],
    cwd: Path,
    identity: Identity | None,
    limits: tuple[tuple[int, int], ...],
) -> dict[str, Any]:
    """The request to the supervisor (see ``supervisor.child.exec_program``)."""
    return {
        "argv": argv,
        "env": dict(env),
        "cwd": os.fspath(cwd),
        "umask": SHARED_UMASK if identity and identity.is_own else None,
        "rlimits": limits,
    }


def _no_link(path: str, flags: int) -> int:
    """An opener that follows no link: ``explain`` writes into run directories that others may have made."""
    return os.open(path, flags | os.O_NOFOLLOW, 0o666)


def _memory_file() -> Any:
    """A file without a name; in memory, if the system has such files."""
    if hasattr(os, "memfd_create"):
        return open(os.memfd_create("stdin"), "w+b", buffering=0)
    return TemporaryFile(buffering=0)


@contextmanager
def _input(text: str | None) -> Iterator[int]:
    """The descriptor of a file to read as standard input: unlike a pipe, it needs no thread that writes to it."""
    if text is None:
        with open(os.devnull, "rb") as nothing:
            yield nothing.fileno()
        return
    with _memory_file() as file:
        left = memoryview(text.encode(errors="replace"))
        while left:
            left = left[file.write(left) :]
        file.seek(0)
        yield file.fileno()


def _failed_start(number: int | None) -> Ending:
    from skillgym_action.model.session import Ending

    if number == errno.ECONNRESET:
        return Ending.LOST
    return Ending.NOT_STARTED if number in NOT_A_PROGRAM else Ending.REFUSED


def permission_remedy(program: str, search_path: str | None, cwd: Path | None = None) -> str | None:
    """The command that makes a program executable; None if it is, or if there is no such file.

    ``program``: a name on ``search_path``, or a path relative to ``cwd``.
    """
    named = os.path.join(cwd or "", program) if os.path.dirname(program) else program
    if shutil.which(named, path=search_path):
        return None
    file = shutil.which(named, mode=os.F_OK, path=search_path)
    return f"run chmod +x {shlex.quote(file)}" if file else None
