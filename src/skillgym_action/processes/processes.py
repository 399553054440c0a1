"""The process door: the only place that starts programs.

A program gets its own session, an allow-listed environment, /dev/null or a given text as stdin, and files for its
output. However it ends, everything that it started ends with it: see ``supervisor``.
"""

from __future__ import annotations

import errno
import os
import select
import signal
import subprocess
import time
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Any, Self

from skillgym_action.model.resource_limits import ResourceLimits
from skillgym_action.model.session import Capture, Ending
from skillgym_action.model.session_report import Trouble
from skillgym_action.processes.child import Child
from skillgym_action.processes.outputs import LARGEST, OutputFile, Tail, cut, is_too_much
from skillgym_action.processes.resource_usage import ResourceWatch
from skillgym_action.processes.rlimits import rlimits
from skillgym_action.processes.supervisor_client import SupervisorClient
from skillgym_action.processes.turns import Turns

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from skillgym_action.cancellation import Cancellation
    from skillgym_action.model.session import Identity, Invocation, Watcher
    from skillgym_action.processes.disk_usage import SpaceReserve
    from skillgym_action.processes.running import Running
    from skillgym_action.processes.users import AgentUser

# What any program may see of our environment: no key, no token, no GitHub file command.
ALLOWED = frozenset(
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
GRACE = 2.0
SECOND = 1.0  # after which we look how much was printed
TICK = 0.1
LONGEST_POLL = 24 * 3600.0  # the kernel counts milliseconds in 32 bits
TOO_MUCH = f"more than {LARGEST // 1024**2} MiB were printed; the session was ended"
LAST_SECOND = 1.0  # what a cancellation leaves to whatever runs
LINGER = 30.0  # seconds a program may take to exit once it has printed its result
MISSING = frozenset({errno.ENOENT, errno.EACCES, errno.ENOEXEC, errno.ENOTDIR})
NO_LIMITS = ResourceLimits()
SHARED_UMASK = 0o002  # a session's group has no other member; programs that judge it share its workspace's group


class Processes:
    """Starts programs and sees them end. Use as a context manager: nothing it started survives it."""

    def __init__(
        self, *, environment: Mapping[str, str], cancelled: Cancellation, user: AgentUser | None = None
    ) -> None:
        """``environment`` is ours; programs see the allow-listed part of it. ``user``: who they run as; None: we."""
        self.user = user
        self.supervisor = SupervisorClient()
        if user:
            self.supervisor.hold(user.ids.file, user.ids.take())
        self.linger = LINGER
        self.environment = {name: value for name, value in environment.items() if name in ALLOWED}
        self.cancelled = cancelled
        self.turns = Turns()
        self.reserve: SpaceReserve | None = None  # of the file system that sessions are on

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.supervisor.close()

    def spawn(self, argv: Iterable[str], **settings: Any) -> subprocess.Popen[bytes]:
        """A child of our own that follows no text of suites or agents, in its own session."""
        return subprocess.Popen(tuple(argv), start_new_session=True, **settings)

    def output(
        self,
        argv: tuple[str, ...],
        *,
        cwd: Path,
        env: Mapping[str, str],
        stdin: int | IO[bytes] = subprocess.DEVNULL,
        stdout: IO[bytes] | None = None,
    ) -> bytes:
        """What a short, trusted program prints, unless that goes to ``stdout``; a cancellation leaves it a second.

        Raises OSError, InterruptedError once cancelled, subprocess.CalledProcessError.
        """
        child = self.spawn(
            argv,
            cwd=cwd,
            env={**self.environment, **env},
            stdin=stdin,
            stdout=stdout or subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        out, err = self._printed(child)
        if child.returncode:
            raise subprocess.CalledProcessError(child.returncode, argv, out, err)
        return out or b""

    def _printed(self, child: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
        left = LAST_SECOND
        while True:
            try:
                return child.communicate(timeout=TICK)
            except subprocess.TimeoutExpired:
                left -= TICK if self.cancelled else 0.0
                if left <= 0:
                    with suppress(ProcessLookupError):
                        os.killpg(child.pid, signal.SIGKILL)
                    child.communicate()
                    self.cancelled.raise_if_cancelled()

    def connected(
        self, argv: tuple[str, ...], *, identity: Identity | None, cwd: Path, stderr: int, memory: int
    ) -> Child:
        """A program that is talked to through pipes; ``memory``: bytes it may have. Raises OSError."""
        with ExitStack() as stack:
            theirs, stdin = os.pipe()
            stack.callback(os.close, theirs)
            stdout, write = os.pipe()
            stack.callback(os.close, write)
            try:
                running = self.supervisor.start(
                    _request(argv, self.environment, cwd, identity, rlimits(NO_LIMITS, own_user=False, data=memory)),
                    (theirs, write, stderr),
                    identity,
                )
            except OSError:
                os.close(stdin)
                os.close(stdout)
                raise
        return Child(running, stdin, stdout)

    def run(self, invocation: Invocation, *, stdout: Path, stderr: Path, watch: Watcher | None = None) -> Capture:
        """Run to the end and say what happened; never raises for what the program did.

        A program that does not exit although ``watch`` has seen its result is ended, too.
        """
        began = time.monotonic()
        out, err = OutputFile(stdout), OutputFile(stderr)
        if not invocation.argv:
            return Capture(ending=Ending.EXITED, exit_code=0, stdout=out, stderr=err, seconds=0.0)
        if self.cancelled:
            return Capture(ending=Ending.CANCELLED, exit_code=None, stdout=out, stderr=err, seconds=0.0)
        try:
            running = self._start(invocation, stdout, stderr)
        except (OSError, ValueError) as error:
            reason = f"cannot start {invocation.argv[0]!r}: {getattr(error, 'strerror', None) or error}"
            ending = _not_started(getattr(error, "errno", None))
            return Capture(ending=ending, exit_code=None, stdout=out, stderr=err, seconds=0.0, error=reason)
        ending, trouble = Ending.CANCELLED, None
        try:
            with self.turns.waiting():
                tail = Tail(stdout, watch) if watch else None
                looks = Looks((stdout, stderr), self._watched(running, invocation))
                ending, trouble = self._wait(running, began + invocation.timeout, tail, looks)
        finally:
            if ending is not Ending.EXITED:
                running.end(LAST_SECOND if self.cancelled else GRACE)
            code = self._ended(running, invocation.identity)
        cut(stdout, stderr)
        if ending is Ending.EXITED and (code is None or code < 0):
            ending = Ending.LOST if code is None else Ending.SIGNALLED
        return Capture(
            ending=ending, exit_code=code, stdout=out, stderr=err, seconds=time.monotonic() - began, stopped_for=trouble
        )

    def _ended(self, running: Running, identity: Identity | None) -> int | None:
        """The exit code, once nothing is left of the program; None when that is not known."""
        code = running.exit_code()
        if identity and identity.is_own:
            try:
                self.supervisor.end_all(identity)
            except OSError:
                return None
        return code

    def _watched(self, running: Running, invocation: Invocation) -> ResourceWatch | None:
        """What measures the program, where it has limits."""
        if invocation.limits is None:
            return None
        identity = invocation.identity
        whose = {"uid": identity.uid} if identity and identity.is_own else {"pid": running.root}
        return ResourceWatch(invocation.limits, folders=invocation.folders, reserve=self.reserve, **whose)

    def _start(self, invocation: Invocation, stdout: Path, stderr: Path) -> Running:
        env = {**self.environment, **invocation.env}
        identity, limits = invocation.identity, invocation.limits
        wanted = rlimits(limits, own_user=bool(identity and identity.is_own)) if limits else ()
        request = _request(invocation.argv, env, invocation.cwd, identity, wanted)
        with ExitStack() as stack:
            descriptors = (
                stack.enter_context(_input(invocation.stdin)),
                stack.enter_context(open(stdout, "wb", buffering=0, opener=_no_link)).fileno(),
                stack.enter_context(open(stderr, "wb", buffering=0, opener=_no_link)).fileno(),
            )
            return self.supervisor.start(request, descriptors, invocation.identity)

    def _wait(
        self, running: Running, deadline: float, tail: Tail | None, looks: Looks
    ) -> tuple[Ending, Trouble | None]:
        lingers = False
        poll = select.poll()
        poll.register(running.fileno(), select.POLLIN)
        poll.register(self.cancelled.fileno(), select.POLLIN)
        with tail or nullcontext():
            while True:
                seconds = max(0.0, min(deadline - time.monotonic(), TICK if tail else SECOND, LONGEST_POLL))
                done = any(descriptor == running.fileno() for descriptor, _ in poll.poll(seconds * 1000))
                if found := looks.trouble(done=done):
                    return Ending.STOPPED, found
                if tail and (tail.watch.may_stop or not done) and (trouble := tail.trouble()):
                    return Ending.STOPPED, trouble
                if done:
                    return Ending.EXITED, None
                if self.cancelled:
                    return Ending.CANCELLED, None
                if tail and tail.watch.finished and not lingers:
                    lingers, deadline = True, min(deadline, time.monotonic() + self.linger)
                if time.monotonic() >= deadline:
                    return (Ending.LINGERED if lingers else Ending.TIMED_OUT), None


class Looks:
    """What is looked at while a program runs: how much it prints, and what it uses of the machine each second."""

    def __init__(self, outputs: tuple[Path, Path], watch: ResourceWatch | None) -> None:
        """``outputs`` are what it prints to."""
        self._outputs, self._watch = outputs, watch
        self._next = time.monotonic() + SECOND

    def trouble(self, *, done: bool) -> Trouble | None:
        """The limit that is passed, if any."""
        if is_too_much(*self._outputs):
            return Trouble(kind="runner-crash", message=TOO_MUCH)
        if done or not self._watch or time.monotonic() < self._next:
            return None
        self._next = time.monotonic() + SECOND
        return self._watch.exceeded()


def _request(
    argv: tuple[str, ...],
    env: Mapping[str, str],
    cwd: Path,
    identity: Identity | None,
    wanted: tuple[tuple[int, int], ...],
) -> dict[str, Any]:
    """What the supervisor is to start (see ``supervisor.program.become``)."""
    return {
        "argv": argv,
        "env": dict(env),
        "cwd": os.fspath(cwd),
        "umask": SHARED_UMASK if identity and identity.is_own else None,
        "rlimits": wanted,
    }


def _no_link(path: str, flags: int) -> int:
    """For the run directories of others, too: ``explain`` writes into one."""
    return os.open(path, flags | os.O_NOFOLLOW, 0o666)


def _memory_file() -> Any:
    """A file without a name; in memory, where the system has such files."""
    if hasattr(os, "memfd_create"):
        return open(os.memfd_create("stdin"), "w+b", buffering=0)
    return TemporaryFile(buffering=0)


@contextmanager
def _input(text: str | None) -> Iterator[int]:
    """The descriptor of a file to be read as standard input: unlike a pipe, nobody has to feed it."""
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


def _not_started(number: int | None) -> Ending:
    if number == errno.ECONNRESET:
        return Ending.LOST
    return Ending.NOT_STARTED if number in MISSING else Ending.REFUSED
