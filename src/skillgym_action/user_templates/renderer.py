"""Renders users' report templates in a process of their own, which runs ``render_program``.

An error of a template is reported with file and line. A process that takes too long, or has ended, is not started again
for the same report: later requests get the same error at once.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import fields
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillgym_action.limits import CANCELLED_RENDERING_SECONDS, MAX_RENDERED_BYTES, RENDERING_SECONDS
from skillgym_action.model.errors import ConfigError, Location, Problem
from skillgym_action.user_templates.protocol import (
    ERROR,
    HEAD,
    READY,
    REQUEST,
    TEXT,
    TOO_LONG,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from skillgym_action.processes.launcher import ProcessLauncher
    from skillgym_action.text.redaction import Redactor
    from skillgym_action.user_templates.template_folder import TemplateSources

PACKAGE = Path(__file__).parent.parent
PROGRAM = "import sys; sys.path += sys.argv[1:]; from skillgym_action.user_templates.render_program import main; main()"
REMEDY = "correct the report template; the built-in one is used instead"
CHUNK = 64 * 1024
TICK = 0.2  # seconds


class ReportTemplates:
    """Fulfils ``reporters.markdown.Templates``. Threads do not share processes."""

    def __init__(
        self,
        sources: TemplateSources,
        processes: ProcessLauncher,
        redactor: Redactor,
        seconds: float = RENDERING_SECONDS,
    ) -> None:
        """``redactor``: a filter can turn what a view shows into a form that is not recognized as a secret.

        ``seconds``: for all that one process renders.
        """
        self._sources, self._processes, self._redactor, self._seconds = sources, processes, redactor, seconds
        self._mine = threading.local()

    def replaces(self, name: str) -> bool:
        """Whether a template of the user takes part in this report; if not, the packaged ones need no process."""
        return self._sources.replaces(name)

    @contextmanager
    def stage(self) -> Iterator[None]:
        """Use one process, with one time limit, for all that this thread renders meanwhile."""
        self._mine.renderer = _Renderer(self._sources, self._processes, self._redactor, self._seconds)
        try:
            yield
        finally:
            self._mine.renderer.close()
            self._mine.renderer = None

    def rendered(self, name: str, view: object) -> str:
        """The text that a template makes of a view, which consists of dataclasses, tuples and texts.

        Raises ConfigError.
        """
        renderer: _Renderer | None = getattr(self._mine, "renderer", None)
        if renderer:
            return renderer.rendered(name, view)
        with self.stage():
            return self.rendered(name, view)


class _Renderer:
    """One process, started when it is needed first."""

    def __init__(
        self, sources: TemplateSources, processes: ProcessLauncher, redactor: Redactor, seconds: float
    ) -> None:
        self._sources, self._processes, self._redactor = sources, processes, redactor
        self._child: _Child | None = None
        self._left = float(seconds)
        self._given_up: Problem | None = None

    def rendered(self, name: str, view: object) -> str:
        """Raises ConfigError."""
        if self._given_up:
            raise ConfigError.of(self._given_up)
        began = time.monotonic()
        if self._processes.cancelled:
            self._left = min(self._left, CANCELLED_RENDERING_SECONDS)
        try:
            kind, content = self._answer(name, view, began + self._left)
        except _LostError as lost:
            raise ConfigError.of(self._final(self._problem(str(lost), name))) from None
        finally:
            self._left -= time.monotonic() - began
        if kind == TEXT:
            return content.decode("utf-8", "replace")
        problem = self._problem(*_reported(content, name))
        raise ConfigError.of(self._final(problem) if problem.message == TOO_LONG else problem)

    def _final(self, problem: Problem) -> Problem:
        """Fail all later requests with ``problem``: the time is used up, or the process has ended."""
        self._given_up = problem
        self.close()
        return problem

    def close(self) -> None:
        """End the process."""
        if self._child:
            self._child.end()
            self._child = None

    def _answer(self, name: str, view: object, deadline: float) -> tuple[bytes, bytes]:
        """Raises _LostError."""
        if self._child is None:
            self._child = _Child(self._processes, deadline)
            self._child.send(json.dumps({"users": dict(self._sources.texts), "packaged": _packaged()}), deadline)
        encoded = self._encoded(view)
        # A little less than there is: a process that notices by itself knows the line.
        seconds = 0.9 * (deadline - time.monotonic())
        request = f'{{"name": {json.dumps(name)}, "seconds": {seconds:.3f}, "view": {encoded}}}'
        return self._child.answer(request, deadline)

    def _encoded(self, view: object) -> str:
        """Return the view as JSON without secrets. Its texts are only searched one by one if it contains any."""
        encoded = json.dumps(_plain(view, str), ensure_ascii=False)
        if self._redactor.text(encoded) == encoded:
            return encoded
        return json.dumps(_plain(view, self._redactor.text), ensure_ascii=False)

    def _problem(self, message: str, name: str | None, line: int | None = None) -> Problem:
        """Return the problem, with its location if that is in a file of the user."""
        folder, known = self._sources.folder, name in self._sources.texts
        path = os.path.normpath(os.path.join(folder, name)) if name and known else folder
        return Problem(message=message, location=Location(path=path, line=line if known else None), remedy=REMEDY)


class _LostError(Exception):
    """The process can no longer be used; the message has the reason."""


class _Child:
    """The process, and the pipes to it. No call takes longer than its deadline."""

    def __init__(self, processes: ProcessLauncher, deadline: float) -> None:
        """Raises _LostError."""
        self._processes = processes
        self._was_cancelled = bool(processes.cancelled)
        try:
            child = processes.spawn(
                (sys.executable, "-I", "-S", "-B", "-c", PROGRAM, *_import_path()),
                # Of the tool's own user at first: it gives up its rights itself, since it must import with them.
                cwd="/",
                env={},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        except OSError as error:
            raise _LostError(f"the process that renders report templates cannot be started: {error}") from error
        self._child = child
        self._stdin, self._stdout = (pipe.fileno() for pipe in (child.stdin, child.stdout) if pipe)
        for pipe in (self._stdin, self._stdout):
            os.set_blocking(pipe, False)
        try:
            self._greeted(deadline)
        # BaseException, as a cancellation would leave the process running: no other object knows it yet.
        except BaseException:
            self.end()
            raise

    def _greeted(self, deadline: float) -> None:
        """Wait until the process has given up its rights. Raises _LostError."""
        kind, content = self._reply(b"", deadline)
        if kind != READY:
            raise _LostError(f"the process that renders report templates: {_reported(content, '')[0]}")

    def send(self, text: str, deadline: float) -> None:
        """A message without an answer. Raises _LostError."""
        self._exchange(_message(text), 0, deadline)

    def answer(self, request: str, deadline: float) -> tuple[bytes, bytes]:
        """Kind and content of the answer. Raises _LostError."""
        return self._reply(_message(request), deadline)

    def end(self) -> None:
        """Kill the process, which cannot have started others."""
        self._child.kill()
        self._child.wait()
        for pipe in (self._child.stdin, self._child.stdout):
            if pipe:
                with suppress(OSError):
                    pipe.close()

    def _reply(self, unsent: bytes, deadline: float) -> tuple[bytes, bytes]:
        kind, size = HEAD.unpack(self._exchange(unsent, HEAD.size, deadline))
        if kind not in {READY, TEXT, ERROR} or size > MAX_RENDERED_BYTES:
            raise _LostError("the process that renders report templates sent something else")
        return kind, self._exchange(b"", size, deadline)

    def _exchange(self, message: bytes, size: int, deadline: float) -> bytes:
        """Send all of ``message``, and receive ``size`` bytes. Raises _LostError."""
        unsent, received = memoryview(message), bytearray()
        while unsent or len(received) < size:
            for descriptor in self._ready(writing=bool(unsent), deadline=deadline):
                if descriptor == self._stdin:
                    unsent = self._sent(unsent)
                elif descriptor == self._stdout:
                    chunk = os.read(self._stdout, min(CHUNK, max(size - len(received), 1)))
                    if not chunk:
                        raise _LostError(self._ending())
                    received += chunk
        return bytes(received)

    def _ready(self, *, writing: bool, deadline: float) -> Iterator[int]:
        """The pipes on which something can be done. Raises _LostError at the deadline, or once cancelled."""
        poll = select.poll()
        poll.register(self._stdout, select.POLLIN)
        if writing:
            poll.register(self._stdin, select.POLLOUT)
        if not self._was_cancelled:
            poll.register(self._processes.cancelled, select.POLLIN)
        left = deadline - time.monotonic()
        ready = poll.poll(max(0.0, left) * 1000)
        if self._processes.cancelled and not self._was_cancelled:
            raise _LostError("the run was cancelled while report templates were rendered")
        if left <= 0 or not ready:
            raise _LostError(TOO_LONG)
        return (descriptor for descriptor, _ in ready)

    def _sent(self, unsent: memoryview) -> memoryview:
        try:
            return unsent[os.write(self._stdin, unsent[:CHUNK]) :]
        except BlockingIOError:
            return unsent
        except BrokenPipeError:
            raise _LostError(self._ending()) from None

    def _ending(self) -> str:
        """Return how the process ended; one that closed its pipes is killed if it has not."""
        with suppress(subprocess.TimeoutExpired):
            self._child.wait(TICK)
        self._child.kill()
        code = self._child.wait()
        how = f"by {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
        return f"the process that renders report templates ended {how}"


def _message(text: str) -> bytes:
    content = text.encode("utf-8", "surrogatepass")
    return HEAD.pack(REQUEST, len(content)) + content


def _plain(value: Any, text: Callable[[str], str]) -> Any:
    """Dataclasses as dictionaries, tuples as lists, each string as ``text`` returns it."""
    if isinstance(value, str):
        return text(str(value))
    if isinstance(value, tuple):
        return [_plain(part, text) for part in value]
    return {field.name: _plain(getattr(value, field.name), text) for field in fields(value)}


def _reported(content: bytes, name: str) -> tuple[str, str | None, int | None]:
    """Message, template and line of an error. Nothing that the process sends is trusted."""
    try:
        error = json.loads(content)
        message, named, line = error["message"], error.get("name"), error.get("line")
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return "the process that renders report templates sent something else", name, None
    found = isinstance(named, str)
    return str(message), named if found else name, line if found and isinstance(line, int) else None


def _packaged() -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in (PACKAGE / "templates").glob("*.j2")}


def _import_path() -> tuple[str, ...]:
    """Return the folders from which the process imports; its environment and ``.pth`` files do not count."""
    specs = (find_spec(name) for name in ("jinja2", "markupsafe"))
    places = (PACKAGE, *(Path(spec.origin).parent for spec in specs if spec and spec.origin))
    return tuple(dict.fromkeys(str(place.parent) for place in places))
