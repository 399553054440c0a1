"""The process door: the only place that starts programs.

A program gets its own session, an allow-listed environment, /dev/null or a given text as stdin, and files for its
output. However it ends, its whole tree ends with it, also grandchildren that left the session: see ``orphans``.
"""

from __future__ import annotations

import errno
import os
import subprocess
import threading
import time
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self

from skillgym_action.effects.orphans import Orphans, Traces
from skillgym_action.effects.outputs import LARGEST, OutputFile, Tail, cut, is_too_much
from skillgym_action.effects.process_tree import TICK, Exit, end_tree
from skillgym_action.effects.turns import Turns
from skillgym_action.session import Capture, Ending
from skillgym_action.session_report import Trouble

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from skillgym_action.effects.agent_user import AgentUser
    from skillgym_action.effects.cancellation import Cancellation
    from skillgym_action.session import Invocation, Watcher

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
MARK = "SKILLGYM_SESSION"
GRACE = 2.0
SECOND = 1.0  # after which we look how much was printed
TOO_MUCH = f"more than {LARGEST // 1024**2} MiB were printed; the session was ended"
LAST_SECOND = 1.0  # what a cancellation leaves to whatever runs
LINGER = 30.0  # seconds a program may take to exit once it has told its result
PIPE = 4096
MISSING = frozenset({errno.ENOENT, errno.EACCES, errno.ENOEXEC, errno.ENOTDIR})


class Processes:
    """Starts programs and sees them end. Use as a context manager: nothing it started survives it."""

    def __init__(
        self, *, environment: Mapping[str, str], cancelled: Cancellation, user: AgentUser | None = None
    ) -> None:
        """``environment`` is ours; programs see the allow-listed part of it. ``user``: who they run as; None: we."""
        self.user = user
        if user:
            user.restrict()
        self.linger = LINGER
        self.environment = {name: value for name, value in environment.items() if name in ALLOWED}
        self.cancelled = cancelled
        self.turns = Turns()
        self.mark = os.urandom(8).hex()  # every mark begins with it
        self._orphans = Orphans()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._orphans.end(Traces(), self._grace)

    def spawn(
        self, argv: Iterable[str], *, trusted: bool = False, groups: tuple[int, ...] = (), **settings: Any
    ) -> subprocess.Popen[bytes]:
        """A child in its own session, for doors that talk to it; ``release`` it when it has been waited for.

        ``trusted``: it runs as we do, and follows nobody's text. ``groups``: what it is a member of, if not.
        """
        if self.user and not trusted:
            settings |= self.user.identity(groups)
        with self._orphans.lock:
            child = subprocess.Popen(tuple(argv), start_new_session=True, **settings)
            self._orphans.known.add(child.pid)
        return child

    def release(self, child: subprocess.Popen[bytes]) -> None:
        """Forget a child that has been waited for."""
        self._orphans.known.discard(child.pid)

    @property
    def _grace(self) -> float:
        return LAST_SECOND if self.cancelled else GRACE

    def end(self, child: subprocess.Popen[bytes], grace: float = GRACE) -> None:
        """End a spawned child and its tree, and forget it."""
        end_tree(child.pid, grace)
        child.wait()
        self.release(child)

    def output(self, argv: tuple[str, ...], *, cwd: Path, env: Mapping[str, str]) -> bytes:
        """What a short, trusted program prints; a cancellation leaves it a second.

        Raises OSError, InterruptedError once cancelled, subprocess.CalledProcessError.
        """
        child = self.spawn(
            argv,
            trusted=True,
            cwd=cwd,
            env={**self.environment, **env},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        try:
            out, err = self._told(child)
        finally:
            self.release(child)
        if child.returncode:
            raise subprocess.CalledProcessError(child.returncode, argv, out, err)
        return out

    def _told(self, child: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
        left = LAST_SECOND
        while True:
            try:
                return child.communicate(timeout=TICK)
            except subprocess.TimeoutExpired:
                left -= TICK if self.cancelled else 0.0
                if left <= 0:
                    end_tree(child.pid, 0.0)
                    child.communicate()
                    self.cancelled.heed()

    def run(
        self,
        invocation: Invocation,
        *,
        stdout: Path,
        stderr: Path,
        watch: Watcher | None = None,
        trusted: bool = False,
    ) -> Capture:
        """Run to the end and say what happened; never raises for what the program did.

        A program that does not exit although ``watch`` has seen its result is ended, too.
        """
        began = time.monotonic()
        out, err = OutputFile(stdout), OutputFile(stderr)
        if not invocation.argv:
            return Capture(ending=Ending.EXITED, exit_code=0, stdout=out, stderr=err, seconds=0.0)
        if self.cancelled:
            return Capture(ending=Ending.CANCELLED, exit_code=None, stdout=out, stderr=err, seconds=0.0)
        mark = self.mark + os.urandom(16).hex()
        try:
            child = self._start(invocation, mark, stdout, stderr, trusted=trusted)
        except (OSError, ValueError) as error:
            reason = f"cannot start {invocation.argv[0]!r}: {getattr(error, 'strerror', None) or error}"
            ending = Ending.NOT_STARTED if getattr(error, "errno", None) in MISSING else Ending.REFUSED
            return Capture(ending=ending, exit_code=None, stdout=out, stderr=err, seconds=0.0, error=reason)
        ending, trouble = Ending.CANCELLED, None
        try:
            with self.turns.waiting():
                tail = Tail(stdout, watch) if watch else None
                ending, trouble = self._wait(child, began + invocation.timeout, tail, (stdout, stderr))
        finally:
            if ending is not Ending.EXITED:
                end_tree(child.pid, self._grace)
        code = child.wait()
        cut(stdout, stderr)
        self.release(child)
        traces, lasted = Traces(mark=f"{MARK}={mark}".encode(), groups=invocation.groups), time.monotonic() - began
        self._orphans.end(traces, self._grace, lasted=lasted)
        if ending is Ending.EXITED and code < 0:
            ending = Ending.SIGNALLED
        return Capture(
            ending=ending, exit_code=code, stdout=out, stderr=err, seconds=time.monotonic() - began, stopped_for=trouble
        )

    def _start(
        self, invocation: Invocation, mark: str, stdout: Path, stderr: Path, *, trusted: bool
    ) -> subprocess.Popen[bytes]:
        with open(stdout, "wb", buffering=0) as out, open(stderr, "wb", buffering=0) as err:
            child = self.spawn(
                invocation.argv,
                trusted=trusted,
                groups=invocation.groups,
                cwd=invocation.cwd,
                env={**self.environment, **invocation.env, MARK: mark},
                stdin=subprocess.DEVNULL if invocation.stdin is None else subprocess.PIPE,
                stdout=out,
                stderr=err,
            )
        if child.stdin and invocation.stdin is not None:
            _feed(child.stdin, invocation.stdin.encode(errors="replace"))
        return child

    def _wait(
        self, child: subprocess.Popen[bytes], deadline: float, tail: Tail | None, outputs: tuple[Path, Path]
    ) -> tuple[Ending, Trouble | None]:
        lingers = False
        with Exit(child) as exited, tail or nullcontext():
            while True:
                left = deadline - time.monotonic()
                done = exited.within(max(0.0, min(left, TICK if tail else SECOND)), self.cancelled)
                if is_too_much(*outputs):
                    return Ending.STOPPED, Trouble(kind="runner-crash", message=TOO_MUCH)
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


def _feed(pipe: IO[bytes], text: bytes) -> None:
    """What fits into a pipe's buffer is written at once; the rest waits for its reader in a thread."""
    if len(text) <= PIPE:
        _write(pipe, text)
    else:
        threading.Thread(target=_write, args=(pipe, text), daemon=True).start()


def _write(pipe: IO[bytes], text: bytes) -> None:
    with suppress(OSError), pipe:
        pipe.write(text)
