"""Finds users' report templates, and renders them in a process of their own, which runs ``render_program``.

An error of a template is reported with file and line. A process that takes too long, or has ended, is not started again
for the same report: later requests get the same error at once.
"""

from __future__ import annotations

import json
import os
import select
import signal
import stat
import sys
import threading
import time
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import field, fields
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from skillgym_action.model.errors import ConfigError, Location, Problem, closest_match, suggestion
from skillgym_action.model.limits import CANCELLED_RENDERING_SECONDS, MAX_RENDERED_BYTES, RENDERING_SECONDS
from skillgym_action.model.records import record
from skillgym_action.reports.user_templates.protocol import ERROR, HEAD, READY, REQUEST, TEXT, TOO_LONG
from skillgym_action.system.files.open_below import FILE_FLAGS, FOLDER_FLAGS
from skillgym_action.system.processes.launcher import DEVNULL, PIPE, TimeoutExpired

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from skillgym_action.system.processes.launcher import ProcessLauncher
    from skillgym_action.text.redaction import Redactor

MAX_TEMPLATE_FILES = 500  # files and folders
MAX_TEMPLATES_BYTES = 8 * 1024**2  # of all files together
MAX_TEMPLATE_LEVELS = 20  # of folders in each other
PACKAGE = Path(__file__).parents[2]
_PROGRAM = "skillgym_action.reports.user_templates.render_program"
PROGRAM = f"import sys; sys.path += sys.argv[1:]; from {_PROGRAM} import main; main()"
REMEDY = "correct the report template; the built-in one is used instead"
CHUNK = 64 * 1024
TICK = 0.2  # seconds


class ReportTemplates:
    """Fulfils ``reports.markdown.report.Templates``. Threads do not share processes."""

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
                stdin=PIPE,
                stdout=PIPE,
                stderr=DEVNULL,
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
        with suppress(TimeoutExpired):
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


# The templates that take part in a report, as far as the packaged ones are concerned.
PARTS = {
    "summary.md.j2": ("summary.md.j2",),
    "comment.md.j2": ("comment.md.j2", "summary.md.j2"),
    "running.md.j2": ("running.md.j2",),
    "report.html.j2": ("report.html.j2",),
}
_ONLY = "name a folder that contains only report templates"
_NO_LINKS = "use a real folder or file: links are not followed for report templates"


@record
class TemplateSources:
    """``texts``: the files by their path below ``folder``, with ``/``; None for a file that is not UTF-8.

    ``folder`` is as messages show it.
    """

    folder: str
    texts: Mapping[str, str | None]

    def replaces(self, name: str) -> bool:
        """Whether one of them takes part in the report that the packaged template of this name makes."""
        return any(part in self.texts for part in PARTS[name])


def template_sources(folder: Path, root: Path, *, committed: bool) -> TemplateSources:
    """The report templates in ``folder``.

    ``root`` is the checkout, without links in its path. ``committed``: a file of the checkout names the folder, which
    then may not lie outside. Raises ConfigError, also if no file in it replaces a template.

    A commit can put anything into that folder. Hence it is walked one component at a time by descriptors, no symbolic
    link is followed, and nothing but regular files is opened. What is rendered later is what was read here.
    """
    start, parts = _below(folder, root)
    inside = start == root
    shown = os.path.join("", *parts) or "." if inside else os.fspath(start)
    if committed and not inside:
        remedy = "move it into the repository, or name it with --template-dir"
        _refuse(shown, "the configuration names a folder of report templates outside the repository", remedy)
    if any(part.casefold() == ".git" for part in parts):
        _refuse(shown, "git's own folder contains no report templates", _ONLY)
    with ExitStack() as stack:
        descriptor = _opened(start, parts, stack)
        if descriptor is None:
            _refuse(shown, "there is no such folder of report templates", _similar_folder(folder))
        walk = _Walk(shown)
        walk.folder(descriptor, "", MAX_TEMPLATE_LEVELS)
    if not any(name in walk.texts for name in PARTS):
        _refuse(shown, "no file in this folder has the name of a report template", _similar_name(walk.texts))
    return TemplateSources(folder=shown, texts=walk.texts)


def _similar_folder(folder: Path) -> str:
    """A remedy that names the folder beside a missing one with the most similar name."""
    names: list[str] = []
    with suppress(OSError), os.scandir(folder.parent) as entries:
        names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    otherwise = "create it, or leave out template-dir (report.templates in the configuration)"
    return suggestion(folder.name, names) or otherwise


def _similar_name(texts: Iterable[str]) -> str:
    """A remedy that names the known template with the most similar name to one of the files."""
    for path in sorted(texts):
        if meant := closest_match(path.rpartition("/")[2], PARTS):
            return f"rename {path!r} to {meant!r}" if "/" not in path else f"move {path!r} to {meant!r}"
    return f"known: {', '.join(PARTS)}"


def _below(folder: Path, root: Path) -> tuple[Path, tuple[str, ...]]:
    """``root`` and the components from there, where ``folder`` leads into the checkout; else ``folder`` and none."""
    place = Path(os.path.normpath(folder))
    for above in (*reversed(place.parents), place):
        real = Path(os.path.realpath(above))
        if real.is_relative_to(root):
            return root, (*real.relative_to(root).parts, *place.relative_to(above).parts)
    return place, ()


def _opened(start: Path, parts: tuple[str, ...], stack: ExitStack) -> int | None:
    """A descriptor of the folder; None if it does not exist. Raises ConfigError."""
    way = os.fspath(start) if not parts else ""
    try:
        descriptor = os.open(start, os.O_RDONLY | os.O_DIRECTORY)  # trusted: links may lead there
        stack.callback(os.close, descriptor)
        for part in parts:
            way = os.path.join(way, part)
            mode = os.stat(part, dir_fd=descriptor, follow_symlinks=False).st_mode
            if stat.S_ISLNK(mode):
                _refuse(way, "a symbolic link on the way to report templates", _NO_LINKS)
            descriptor = os.open(part, FOLDER_FLAGS, dir_fd=descriptor)
            stack.callback(os.close, descriptor)
    except FileNotFoundError:
        return None
    except OSError as error:
        _refuse(way, f"this folder of report templates cannot be read: {error.strerror}", _ONLY)
    return descriptor


@record(frozen=False, kw_only=False)
class _Walk:
    """Reads a folder and those in it. Raises ConfigError."""

    shown: str
    texts: dict[str, str | None] = field(default_factory=dict)
    entries: int = 0
    size: int = 0

    def folder(self, descriptor: int, way: str, deeper: int) -> None:
        """Read all below ``way``, which ends with ``/`` unless it is empty."""
        for name in sorted(os.listdir(descriptor)):
            if name.casefold() == ".git":
                continue  # git's folder, where the templates lie at the top of a repository
            path = f"{way}{name}"
            self.entries += 1
            if self.entries > MAX_TEMPLATE_FILES:
                _refuse(self.shown, f"more than {MAX_TEMPLATE_FILES} files and folders", _ONLY)
            try:
                self._entry(descriptor, path, deeper)
            except OSError as error:
                self._refuse(path, f"this report template cannot be read: {error.strerror}", "make it readable")

    def _entry(self, descriptor: int, path: str, deeper: int) -> None:
        name = path.rpartition("/")[2]
        mode = os.stat(name, dir_fd=descriptor, follow_symlinks=False).st_mode
        if stat.S_ISLNK(mode):
            self._refuse(path, "a symbolic link among the report templates", _NO_LINKS)
        if stat.S_ISDIR(mode):
            if not deeper:
                self._refuse(path, f"folders of report templates are at most {MAX_TEMPLATE_LEVELS} deep", _ONLY)
            inner = os.open(name, FOLDER_FLAGS, dir_fd=descriptor)
            try:
                self.folder(inner, f"{path}/", deeper - 1)
            finally:
                os.close(inner)
            return
        content = _content(name, descriptor) if stat.S_ISREG(mode) else None
        if content is None:
            self._refuse(path, "not a regular file among the report templates", _ONLY)
        self.size += len(content)
        if self.size > MAX_TEMPLATES_BYTES:
            self._refuse(path, f"report templates have at most {MAX_TEMPLATES_BYTES:,} bytes together", _ONLY)
        try:
            self.texts[path] = content.decode()
        except UnicodeDecodeError:
            self.texts[path] = None  # an error only once it is rendered: it may be a picture

    def _refuse(self, path: str, message: str, remedy: str) -> NoReturn:
        _refuse(os.path.normpath(os.path.join(self.shown, path)), message, remedy)


def _content(name: str, folder: int) -> bytes | None:
    """Return the bytes of a regular file, at most one more than allowed; None if it is not a regular file any more."""
    descriptor = os.open(name, FILE_FLAGS, dir_fd=folder)
    with open(descriptor, "rb") as file:
        return file.read(MAX_TEMPLATES_BYTES + 1) if stat.S_ISREG(os.fstat(descriptor).st_mode) else None


def _refuse(path: str, message: str, remedy: str) -> NoReturn:
    raise ConfigError.of(Problem(message=message, location=Location(path=path), remedy=remedy))
