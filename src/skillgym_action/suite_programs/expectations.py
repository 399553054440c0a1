"""``expect``: assertions with an explanation of their own, for what a plain ``assert`` says less well.

The command line imports this module with the package, so what costs something is imported where it is used.
"""

from __future__ import annotations

from skillgym_action.suite_programs.showing import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from re import Pattern
    from types import TracebackType
    from typing import Any, NoReturn

    from skillgym_action.suite_programs.expect_events import Commands, FileReads, Output, ToolCalls
    from skillgym_action.suite_programs.expect_skills import Skills

CLASS = "skillgym_failure_class"


class Collected:
    """The soft failures of the check that is running; None outside of one: there, soft failures are hard."""

    def __init__(self) -> None:
        """No check is running."""
        self.failures: list[AssertionError] | None = None

    def __enter__(self) -> list[AssertionError]:
        self.failures = []
        return self.failures

    def __exit__(self, *_: object) -> None:
        self.failures = None


class Expect:
    """Each method returns, or raises AssertionError.

    Plain ones take a ``message`` that replaces the explanation's first line. Those of a group (``skills``,
    ``commands``, ``file_reads``, ``tool_calls``, ``output``) take the session report first; their ``message`` comes
    before the explanation, and ``explain={"question": …}`` (text, or a function of an ``ExplainContext``) is what the
    agent can be asked about the failure. A matcher is text, which has to be contained, or a regular expression of
    ``re.compile``, which is searched.
    """

    def __init__(self, collected: Collected) -> None:
        """``collected`` takes soft failures."""
        self.collected = collected

    @property
    def soft(self) -> SoftExpect:
        """The same assertions, but the check goes on after a failure; all of them are reported when it ends."""
        return SoftExpect(self.collected)

    @property
    def skills(self) -> Skills:
        """The skills that the session used."""
        from skillgym_action.suite_programs.expect_skills import Skills

        return Skills(self._failed)

    @property
    def commands(self) -> Commands:
        """The shell commands that the agent ran. A matcher may be a ``command_matcher``, or its plain form."""
        from skillgym_action.suite_programs.expect_events import commands

        return commands(self._failed)

    @property
    def file_reads(self) -> FileReads:
        """The paths of the files that the agent read."""
        from skillgym_action.suite_programs.expect_events import file_reads

        return file_reads(self._failed)

    @property
    def tool_calls(self) -> ToolCalls:
        """The tools that the agent called."""
        from skillgym_action.suite_programs.expect_events import ToolCalls

        return ToolCalls(self._failed)

    @property
    def output(self) -> Output:
        """The agent's last word."""
        from skillgym_action.suite_programs.expect_events import Output

        return Output(self._failed)

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
        """The regular expression is found somewhere in ``text``."""
        if _search(pattern, text) is None:
            self._fail("expected text that matches", message, text=text, pattern=_source(pattern))

    def does_not_match(self, text: str, pattern: str | Pattern[str], message: str | None = None) -> None:
        """The regular expression is found nowhere in ``text``."""
        if (found := _search(pattern, text)) is not None:
            self._fail("expected text that does not match", message, found=found, text=text, pattern=_source(pattern))

    def fail(self, message: str = "failed on purpose") -> NoReturn:
        """Always fails, softly or not."""
        raise AssertionError(message)

    def classify(self, failure_class: str | Mapping[str, str], body: Callable[[], Any] | None = None) -> Any:
        """Attach a failure class to what fails in ``body()``, or in ``with expect.classify("wrong-alias"):``.

        The class is an id, or ``{"id": "wrong-alias", "label": "Wrong alias"}``. The outermost one counts.
        An async ``body`` gives something to await.
        """
        classified = _Classified(failure_class, self.collected)
        if body is None:
            return classified
        with classified:
            value = body()
        return classified.awaited(value) if hasattr(value, "__await__") else value

    def _fail(self, problem: str, message: str | None, **values: object) -> None:
        width = max(map(len, values))
        lines = [f"  {name + ':':{width + 1}} {shown(value)}" for name, value in values.items()]
        self._failed(AssertionError("\n".join([message or problem, *lines])))

    def _failed(self, error: AssertionError) -> None:
        """The one place where expectations fail."""
        raise error


class SoftExpect(Expect):
    """Assertions whose failures are collected."""

    def fail(self, message: str = "failed on purpose") -> None:  # type: ignore[override]  # it goes on
        """Always fails, and goes on."""
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
    """``{"id", "label"}``; the label defaults to the id. Raises TypeError for anything that is no failure class."""
    if isinstance(value, str) and value:
        return {"id": value, "label": value}
    if isinstance(value, dict) and isinstance(value.get("id"), str) and value["id"]:
        return {"id": value["id"], "label": str(value.get("label") or value["id"])}
    raise TypeError(f'a failure class is an id, or {{"id": …, "label": …}}, not {shown(value)}')


def _stack() -> TracebackType | None:
    """The traceback that an exception would have if it was raised here and caught by nobody."""
    import sys
    from types import TracebackType

    traceback = None
    for frame in _frames(sys._getframe(1)):  # noqa: SLF001 - the public way, inspect.stack, reads all the sources
        traceback = TracebackType(traceback, frame, frame.f_lasti, frame.f_lineno or 1)
    return traceback


def _frames(frame: Any) -> Iterator[Any]:
    while frame:
        yield frame
        frame = frame.f_back


def _search(pattern: str | Pattern[str], text: str) -> str | None:
    """The part of ``text`` that matches."""
    import re

    if not isinstance(text, str):
        raise AssertionError(f"expected text, not {shown(text)}")  # noqa: TRY004 - a verdict, not a crash
    match = re.search(pattern, text)
    return None if match is None else match[0]


def _source(pattern: str | Pattern[str]) -> str:
    return pattern if isinstance(pattern, str) else pattern.pattern
