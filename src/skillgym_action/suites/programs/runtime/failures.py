"""Errors that a suite program raised, in the form of the suite host protocol."""

from __future__ import annotations

import errno
import linecache
import os
import re
import sys
import sysconfig
import traceback
from pathlib import Path
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any

from skillgym_action.model.errors import suggestion
from skillgym_action.suites.programs.runtime.expectations import CLASS
from skillgym_action.suites.programs.runtime.failure_messages import QUESTION
from skillgym_action.suites.programs.runtime.matching import cut
from skillgym_action.suites.programs.runtime.suite import BOOTSTRAP, CONTAINER, SETTINGS

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_FAILURE_MESSAGE_CHARACTERS = 16_000  # characters of the message of a failed check; the middle is cut out
MAX_GROUPED_ERRORS = 100  # errors of an exception group that are reported; Node has the same number
MAX_TRACE_LINES = 8  # of the traceback in a message

Json = dict[str, Any]
_LIMITS = frozenset(
    {errno.ENOMEM, errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.EAGAIN}  # of the host's resources
)
_MISCALLED = re.compile(r"required (?:positional|keyword-only) argument|unexpected keyword argument|takes .*argument")

PACKAGE = str(Path(__file__).parents[3]) + os.sep
LIBRARY = sysconfig.get_path("stdlib") + os.sep
KNOWN = ("id", "prompt", "check", *SETTINGS, "mode", "template_dir", "cwd", *BOOTSTRAP, *CONTAINER)


class Places:
    """Locations in the author's files, with paths relative to the repository root."""

    def __init__(self, root: str) -> None:
        """``root`` is absolute. ``workspace``: that of the session that is judged; empty before."""
        self.root, self.workspace = root, ""

    def at(self, file: str, line: int | None = None, byte: int | None = None) -> Json:
        """A location; ``line`` counts from 1, ``byte`` from 0 within the line."""
        inside = file.startswith(self.root.rstrip(os.sep) + os.sep)
        place: Json = {"path": os.path.relpath(file, self.root).replace(os.sep, "/") if inside else file}
        if line is not None:
            place["line"] = line
            if byte is not None:
                place["column"] = len(linecache.getline(file, line).encode()[:byte].decode(errors="replace")) + 1
        return place

    def of(self, error: BaseException) -> Json | None:
        """The innermost line of the author's code in the traceback; for a SyntaxError, the wrong line."""
        if isinstance(error, SyntaxError) and error.filename and error.lineno and _is_authors(error.filename):
            place = self.at(error.filename, error.lineno)
            return {**place, "column": error.offset} if error.offset else place
        frames = list(_frames(error))
        return self.at(frames[-1].filename, frames[-1].lineno, frames[-1].colno) if frames else None

    def of_function(self, function: object) -> Json | None:
        """Where a function of the author begins; None for other objects."""
        code = getattr(function, "__code__", None)
        if not isinstance(code, CodeType) or not _is_authors(code.co_filename):
            return None
        return self.at(code.co_filename, code.co_firstlineno)

    def failure(self, error: BaseException) -> Json:
        """The failure for an error: ``assertion`` for an AssertionError, else ``crash``; a group's are joined.

        ``undecided``: the error says nothing about the agent, since the host or the suite lacks something.
        """
        if isinstance(error, BaseExceptionGroup):
            whole = joined([self.failure(part) for part in error.exceptions[:MAX_GROUPED_ERRORS]])
            return {**whole, "message": f"{error.message}\n{whole['message']}".lstrip("\n"), **_class(error)}
        verdict = isinstance(error, AssertionError)
        location, question = self.of(error), getattr(error, QUESTION, None)
        lacks = is_of_host(error) or (isinstance(error, ImportError) and not self._is_of_agent(error))
        failure: Json = {
            "kind": "assertion" if verdict else "undecided" if lacks else "crash",
            "name": type(error).__name__,
            "message": _message(error) or self._line(error),
            "raised": _message(error),
            "stack": self.trace(error),
            "location": location,
            "questions": [{"question": question, "location": location}] if question else [],
            **_class(error),
        }
        if not verdict:
            failure["trace"] = failure["stack"]
            failure["broken"] = looks_broken(error) and not self._is_of_agent(error)
        return failure

    def _is_of_agent(self, error: BaseException) -> bool:
        """Whether the error is about a module in the workspace, or comes from one: the agent wrote it, or did not."""
        if not self.workspace:
            return False
        inside = self.workspace.rstrip(os.sep) + os.sep
        places = [str(getattr(error, "path", None) or "")]
        if not self.root.startswith((self.workspace, inside)):  # else the suite, too, is in the workspace
            places += [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
            places += map(str, sys.path if isinstance(error, ModuleNotFoundError) else [])
        return any(f"{place}{os.sep}".startswith(inside) for place in places)

    def load_error(self, error: BaseException) -> Json:
        """The error and its remedy for a suite file that could not be imported."""
        return {
            "message": f"{type(error).__name__}: {_message(error)}".removesuffix(": "),
            "location": self.of(error),
            "remedy": _remedy(error),
        }

    def trace(self, error: BaseException) -> str:
        """The author's frames, innermost last, and the error."""
        lines = []
        for frame in list(_frames(error))[-MAX_TRACE_LINES:]:
            place = self.at(frame.filename, frame.lineno)
            lines.append(f"{place['path']}:{frame.lineno} in {frame.name}: {frame.line}")
        return "\n".join([*lines, f"{type(error).__name__}: {_message(error)}"])

    def _line(self, error: BaseException) -> str:
        """The source line of an error without a message."""
        frames = list(_frames(error))
        return (frames[-1].line or "") if frames else ""


def joined(failures: list[Json]) -> Json:
    """All failures as one; if one is undecided or a crash, it is that one, with the others in its message."""
    if len(failures) == 1:
        return failures[0]
    for crash in sorted(filter(_is_crash, failures), key=lambda failure: failure["kind"] == "crash"):
        others = _collected([failure for failure in failures if failure is not crash])
        return {**crash, "message": f"{crash['message']}\n{others}"}
    classes = [{"failureClass": each["failureClass"]} for each in failures if "failureClass" in each]
    questions = [question for each in failures for question in each["questions"]]
    return {**failures[0], "message": _collected(failures), **(classes or [{}])[0], "questions": questions}


def _collected(failures: list[Json]) -> str:
    what = "failure" if any(map(_is_crash, failures)) else "assertion failure"
    lines = [f"{len(failures)} {what}{'s' if len(failures) > 1 else ''} collected:"]
    for number, failure in enumerate(failures, start=1):
        place = failure["location"] or {}
        where = ":".join(str(place[key]) for key in ("path", "line") if key in place)
        name = failure["name"] if _is_crash(failure) else ""
        text = ": ".join(filter(None, (where, name, failure["message"].replace("\n", "\n   "))))
        lines.append(f"{number}. {text}")
    return cut("\n".join(lines), MAX_FAILURE_MESSAGE_CHARACTERS)


def _is_crash(failure: Json) -> bool:
    return bool(failure["kind"] != "assertion")


def is_of_host(error: BaseException) -> bool:
    """Whether the host has run into a limit of its own: memory, disk, files or processes."""
    return isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno in _LIMITS)


def looks_broken(error: BaseException) -> bool:
    """Whether the error is one that a mistake in the check makes, whatever the agent did."""
    if isinstance(error, AttributeError):
        module = type(error.obj).__module__ or ""
        return isinstance(error.obj, ModuleType) or module.partition(".")[0] == __name__.partition(".")[0]
    return isinstance(error, NameError) or (isinstance(error, TypeError) and bool(_MISCALLED.search(_message(error))))


def _class(error: BaseException) -> Json:
    found = getattr(error, CLASS, None)
    return {"failureClass": found} if found else {}


def _frames(error: BaseException) -> Iterator[traceback.FrameSummary]:
    return (frame for frame in traceback.extract_tb(error.__traceback__) if _is_authors(frame.filename))


def _is_authors(file: str) -> bool:
    return not (file.startswith((PACKAGE, LIBRARY, "<")) or f"{os.sep}site-packages{os.sep}" in file)


def _message(error: BaseException) -> str:
    try:
        text = error.msg if isinstance(error, SyntaxError) else str(error)
    except BaseException as trouble:  # noqa: BLE001 - a suite's own class may do anything
        text = f"its message cannot be read: {type(trouble).__name__}"
    if isinstance(error, ImportError) and error.path:
        text = text.removesuffix(f" ({error.path})")  # where the tool is installed does not help
    return cut(text, MAX_FAILURE_MESSAGE_CHARACTERS)


def _remedy(error: BaseException) -> str | None:
    if isinstance(error, ModuleNotFoundError):
        return f"install {error.name!r} for the interpreter that runs suites, or put it beside the suite file"
    if isinstance(error, SystemExit):
        return "a suite file only defines cases; put what must not run on import under `if __name__ == '__main__'`"
    if isinstance(error, ImportError) and (missing := re.match(r"cannot import name '(\w+)'", str(error))):
        module = sys.modules.get(error.name or "")
        known = [name for name in getattr(module, "__all__", dir(module)) if not name.startswith("_")]
        return suggestion(missing[1], known)
    unexpected = re.search(r"unexpected keyword argument '(\w+)'", _message(error))
    return suggestion(unexpected[1], KNOWN) if unexpected else None
