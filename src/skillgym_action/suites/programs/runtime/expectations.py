"""``expect``: assertions with messages that explain the failure.

The modules of the groups (``skills``, ``commands``, …) are imported on first use: they take about a tenth of the time
that a suite host needs to start, and many suites use none of them.
"""

from __future__ import annotations

import re
import sys
from types import TracebackType
from typing import TYPE_CHECKING

from skillgym_action.suites.programs.runtime.matching import value_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from re import Pattern
    from typing import Any, NoReturn

    from skillgym_action.suites.programs.runtime.session_expectations import (
        Commands,
        FileReads,
        OutputExpectations,
        Skills,
        ToolCalls,
    )

CLASS = "skillgym_failure_class"


class Collected:
    """The soft failures of the running check. ``failures`` is None if no check runs: soft failures are raised then."""

    def __init__(self) -> None:
        self.failures: list[AssertionError] | None = None

    def __enter__(self) -> list[AssertionError]:
        self.failures = []
        return self.failures

    def __exit__(self, *_: object) -> None:
        self.failures = None


class Expect:
    """Each method returns None, or raises AssertionError.

    Methods of this class take a ``message`` that replaces the first line of the explanation. Methods of a group
    (``skills``, ``commands``, ``file_reads``, ``tool_calls``, ``output``) take the session report first; their
    ``message`` comes before the explanation, and ``explain={"question": …}`` is a question that the agent can be asked
    about the failure: text, or a function of an ``ExplainContext``. A matcher is text that must be contained, or a
    compiled regular expression that must match somewhere.
    """

    def __init__(self, collected: Collected) -> None:
        self.collected = collected

    @property
    def soft(self) -> SoftExpect:
        """The same assertions, but the check continues after a failure; all failures are reported when it ends."""
        return SoftExpect(self.collected)

    @property
    def skills(self) -> Skills:
        """The skills that the session used."""
        from skillgym_action.suites.programs.runtime.session_expectations import Skills

        return Skills(self._failed)

    @property
    def commands(self) -> Commands:
        """The shell commands that the agent ran. A matcher may be a ``command_matcher``, or its plain form."""
        from skillgym_action.suites.programs.runtime.session_expectations import commands

        return commands(self._failed)

    @property
    def file_reads(self) -> FileReads:
        """The paths of the files that the agent read."""
        from skillgym_action.suites.programs.runtime.session_expectations import file_reads

        return file_reads(self._failed)

    @property
    def tool_calls(self) -> ToolCalls:
        """The tools that the agent called."""
        from skillgym_action.suites.programs.runtime.session_expectations import ToolCalls

        return ToolCalls(self._failed)

    @property
    def output(self) -> OutputExpectations:
        """The agent's final output."""
        from skillgym_action.suites.programs.runtime.session_expectations import OutputExpectations

        return OutputExpectations(self._failed)

    def ok(self, value: object, message: str | None = None) -> None:
        """``value`` is true."""
        if not value:
            self._fail("expected a true value", message, actual=value)

    def equal(self, actual: object, expected: object, message: str | None = None) -> None:
        """Both are equal; lists, dicts and dataclasses by their content."""
        if actual != expected:
            self._fail("expected equal values", message, actual=actual, expected=expected)

    def not_equal(self, actual: object, expected: object, message: str | None = None) -> None:
        """They differ."""
        if actual == expected:
            self._fail("expected different values", message, actual=actual)

    def match(self, text: str, pattern: str | Pattern[str], message: str | None = None) -> None:
        """The regular expression matches somewhere in ``text``."""
        if _search(pattern, text) is None:
            near = _nearest_line(text, pattern)
            self._fail("expected text that matches", message, text=text, pattern=_source(pattern), **near)

    def does_not_match(self, text: str, pattern: str | Pattern[str], message: str | None = None) -> None:
        """The regular expression matches nowhere in ``text``."""
        if (found := _search(pattern, text)) is not None:
            line = {"line": text.count("\n", 0, text.find(found)) + 1} if "\n" in text else {}
            context = {"text": text, "pattern": _source(pattern)}
            self._fail("expected text that does not match", message, found=found, **line, **context)

    def fail(self, message: str = "failed on purpose") -> NoReturn:
        """Always fails; ``expect.soft.fail`` fails softly."""
        raise AssertionError(message)

    def classify(self, failure_class: str | Mapping[str, str], body: Callable[[], Any] | None = None) -> Any:
        """Attach a failure class to failures in ``body()``, or in ``with expect.classify("wrong-alias"):``.

        The class is an id, or ``{"id": "wrong-alias", "label": "Wrong alias"}``. If calls are nested, the outermost
        class counts. Returns the value of ``body``, to be awaited if ``body`` is async.
        """
        classified = _Classified(failure_class, self.collected)
        if body is None:
            return classified
        with classified:
            value = body()
        return classified.awaited(value) if hasattr(value, "__await__") else value

    def _fail(self, problem: str, message: str | None, **values: object) -> None:
        width = max(map(len, values))
        lines = [f"  {name.replace('_', ' ') + ':':{width + 1}} {value_text(value)}" for name, value in values.items()]
        self._failed(AssertionError("\n".join([message or problem, *lines])))

    def _failed(self, error: AssertionError) -> None:
        """All expectations fail here; soft ones override it."""
        raise error


class SoftExpect(Expect):
    """Assertions whose failures are collected."""

    def fail(self, message: str = "failed on purpose") -> None:  # type: ignore[override]  # it goes on
        """Always fails, and the check continues."""
        self._failed(AssertionError(message))

    def _failed(self, error: AssertionError) -> None:
        if self.collected.failures is None:
            raise error
        self.collected.failures.append(error.with_traceback(_stack()))


expect = Expect(Collected())


class _Classified:
    def __init__(self, failure_class: str | Mapping[str, str], collected: Collected) -> None:
        self.failure_class = failure_class_of(failure_class)
        self.collected = collected
        self.before = 0

    def __enter__(self) -> None:
        self.before = len(self.collected.failures or ())

    def __exit__(self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None) -> None:
        soft = (self.collected.failures or [])[self.before :]
        for failure in [*soft, error] if error else soft:
            failure.__dict__[CLASS] = self.failure_class

    async def awaited(self, value: Any) -> Any:
        with self:
            return await value


def failure_class_of(value: object) -> dict[str, str]:
    """``{"id", "label"}``; the label defaults to the id. Raises TypeError for a value that is not a failure class."""
    if isinstance(value, str) and value:
        return {"id": value, "label": value}
    if isinstance(value, dict) and isinstance(value.get("id"), str) and value["id"]:
        return {"id": value["id"], "label": str(value.get("label") or value["id"])}
    raise TypeError(f'a failure class is an id, or {{"id": …, "label": …}}, not {value_text(value)}')


def _stack() -> TracebackType | None:
    """The traceback that an uncaught exception raised here would have: a soft failure is not raised, so it has none."""
    traceback = None
    for frame in _frames(sys._getframe(1)):  # noqa: SLF001 - the public way, inspect.stack, reads all the sources
        traceback = TracebackType(traceback, frame, frame.f_lasti, frame.f_lineno or 1)
    return traceback


def _frames(frame: Any) -> Iterator[Any]:
    while frame:
        yield frame
        frame = frame.f_back


def _search(pattern: str | Pattern[str], text: str) -> str | None:
    """The part of ``text`` that matches, or None."""
    if not isinstance(text, str):
        raise AssertionError(f"expected text, not {value_text(text)}")  # noqa: TRY004 - a verdict, not a crash
    match = re.search(pattern, text)
    return None if match is None else match[0]


def _nearest_line(text: str, pattern: str | Pattern[str]) -> dict[str, object]:
    """The line of a text of several lines that is most like the pattern, as a value to show."""
    from skillgym_action.suites.programs.runtime.matching import nearest_line
    from skillgym_action.text.likeness import literal_part

    number, _, line = nearest_line(text, literal_part(_source(pattern))).partition(". ")
    return {f"line_{number}": line} if number else {}


def _source(pattern: str | Pattern[str]) -> str:
    return pattern if isinstance(pattern, str) else pattern.pattern
