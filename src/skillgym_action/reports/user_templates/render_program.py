"""The program that renders a user's report templates: without rights, files, environment variables and secrets.

``renderer`` starts it and talks to it. The program sends ``READY``, receives the templates, then requests, and answers
each request with ``TEXT`` or ``ERROR``.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import sys
from importlib import import_module
from importlib.machinery import PathFinder
from types import SimpleNamespace
from typing import IO, TYPE_CHECKING, Any

from jinja2 import FunctionLoader, StrictUndefined, TemplateError, TemplateNotFound, TemplateSyntaxError
from jinja2.sandbox import ImmutableSandboxedEnvironment
from markupsafe import Markup

from skillgym_action.model.limits import MAX_RENDERED_BYTES, RENDERING_SECONDS
from skillgym_action.reports.user_templates.protocol import ERROR, HEAD, READY, TEXT, TOO_LONG, UNPRIVILEGED

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_RENDERER_MEMORY_BYTES = 512 * 1024**2  # address space of the process that renders them
MAX_TEMPLATE_ERROR_CHARACTERS = 2_000  # of the message about a report template
_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS = 1, 38
_LIMITS = {
    "RLIMIT_AS": MAX_RENDERER_MEMORY_BYTES,
    "RLIMIT_CPU": RENDERING_SECONDS + 1,
    "RLIMIT_FSIZE": 0,
    "RLIMIT_CORE": 0,
    "RLIMIT_NPROC": 0,  # it starts nothing, not even a thread
    "RLIMIT_NOFILE": 3,  # the standard streams are open already: nothing else can be opened
}
# What jinja2 and markupsafe import on first use, which is too late once files are out of reach.
_LATE = (
    "encodings.ascii",
    "encodings.unicode_escape",
    "html",
    "jinja2.constants",
    "jinja2.debug",
    "pprint",
    "textwrap",
)


class Fields(SimpleNamespace):
    """A part of the view, as templates see it."""

    __module__ = "builtins"  # messages of undefined names say "'Fields object' has no attribute"


def main() -> None:
    """Give up all rights, then render until the requests end."""
    for name in _LATE:
        import_module(name)
    requests, replies = sys.stdin.buffer, sys.stdout.buffer
    try:
        _give_up_rights()
    except (OSError, ValueError) as error:
        _send(replies, ERROR, json.dumps({"message": f"its rights cannot be given up: {error}"}).encode())
        return
    sys.meta_path = [finder for finder in sys.meta_path if finder is not PathFinder]
    _send(replies, READY, b"")
    sources = json.loads(_received(requests))
    environment = _environment(sources["users"], sources["packaged"])
    signal.signal(signal.SIGALRM, _too_late)
    while request := _received(requests):
        _answer(replies, environment, json.loads(request), sources["users"])


def _give_up_rights() -> None:
    """Raises OSError, and ValueError for a limit that the system does not take."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(UNPRIVILEGED)
        os.setuid(UNPRIVILEGED)
    linux = sys.platform == "linux"
    for name, most in _LIMITS.items():
        kind = getattr(resource, name)
        hard = resource.getrlimit(kind)[1]
        limit = most if hard == resource.RLIM_INFINITY else min(most, hard)
        try:
            resource.setrlimit(kind, (limit, limit))
        except (OSError, ValueError):
            if linux:
                raise
    if linux:
        prctl = ctypes.CDLL(None, use_errno=True).prctl
        # After the change of user, which takes the second of them back.
        for option, value in ((_PR_SET_NO_NEW_PRIVS, 1), (_PR_SET_PDEATHSIG, signal.SIGKILL)):
            if prctl(option, value, 0, 0, 0):
                raise OSError(ctypes.get_errno(), f"prctl {option}")


def _environment(users: Mapping[str, str | None], packaged: Mapping[str, str]) -> ImmutableSandboxedEnvironment:
    """The settings are those of ``reports.markdown.report.environment``."""

    def load(asked: str) -> tuple[str, str, None] | None:
        name = "/".join(part for part in asked.split("/") if part not in {"", "."})
        packaged_name = name.removeprefix("packaged/")
        if packaged_name != name and packaged_name in packaged:
            return packaged[packaged_name], name, None
        if name not in users:
            return (packaged[name], name, None) if name in packaged else None
        text = users[name]
        if text is None:
            raise TemplateSyntaxError("this file is not UTF-8 text", 1, name, name)
        return text, name, None

    return ImmutableSandboxedEnvironment(
        loader=FunctionLoader(load),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _answer(
    replies: IO[bytes],
    environment: ImmutableSandboxedEnvironment,
    request: dict[str, Any],
    users: Mapping[str, str | None],
) -> None:
    try:
        signal.setitimer(signal.ITIMER_REAL, max(0.01, request["seconds"]))
        try:
            text = _rendered(environment, request["name"], _as_templates_see_it(request["view"]))
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except Exception as error:  # noqa: BLE001 - every error of a template is reported to its user
        name, line = _place_of(error, users)
        message = {"message": _message_of(error)[:MAX_TEMPLATE_ERROR_CHARACTERS], "name": name, "line": line}
        _send(replies, ERROR, json.dumps(message).encode())
    else:
        _send(replies, TEXT, text)


def _rendered(environment: ImmutableSandboxedEnvironment, name: str, view: object) -> bytes:
    pieces: list[str] = []
    size = 0
    for piece in environment.get_template(name).generate(view=view):
        size += len(piece)
        if size > MAX_RENDERED_BYTES:
            break
        pieces.append(piece)
    text = "".join(pieces).encode("utf-8", "replace")
    if max(size, len(text)) > MAX_RENDERED_BYTES:
        raise TemplateError(f"it makes more than {MAX_RENDERED_BYTES // 1024**2} MiB of text")
    return text


def _as_templates_see_it(value: Any) -> Any:
    """Return the view as templates get it: escaped texts as Markup, lists as tuples, objects with attributes."""
    if isinstance(value, str):
        return Markup(value)  # noqa: S704 - the parent escaped it
    if isinstance(value, list):
        return tuple(map(_as_templates_see_it, value))
    return Fields(**{name: _as_templates_see_it(part) for name, part in value.items()})


def _too_late(*_: object) -> None:
    raise TimeoutError


def _message_of(error: Exception) -> str:
    """Return the error message, where possible in words that need no knowledge of Python."""
    if isinstance(error, TimeoutError):
        return TOO_LONG
    if isinstance(error, MemoryError):
        return f"rendering takes more than {MAX_RENDERER_MEMORY_BYTES // 1024**2} MiB of memory"
    if isinstance(error, RecursionError):
        return "templates, calls or expressions are nested without end, or too deep"
    if isinstance(error, TemplateNotFound):
        return f"there is no report template {error.message or error.name!r}"
    if isinstance(error, SyntaxError):
        return f"it cannot be compiled: {error.msg}"
    return (error.message if isinstance(error, TemplateError) else None) or str(error) or type(error).__name__


def _place_of(error: Exception, users: Mapping[str, str | None]) -> tuple[str | None, int | None]:
    """Return name and line of the user's template that cannot be read, or of the innermost that was being rendered."""
    if isinstance(error, TemplateSyntaxError) and error.filename:
        return error.filename, error.lineno
    found: tuple[str | None, int | None] = None, None
    trace = error.__traceback__
    while trace:
        name = trace.tb_frame.f_code.co_filename
        if name in users:
            found = name, trace.tb_lineno
        trace = trace.tb_next
    return found


def _send(stream: IO[bytes], kind: bytes, content: bytes) -> None:
    stream.write(HEAD.pack(kind, len(content)))
    stream.write(content)
    stream.flush()


def _received(stream: IO[bytes]) -> bytes:
    """Return the content of the next message; empty at the end."""
    head = stream.read(HEAD.size)
    return stream.read(HEAD.unpack(head)[1]) if len(head) == HEAD.size else b""
