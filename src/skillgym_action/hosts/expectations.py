"""``expect``: assertions with an explanation of their own, for what a plain ``assert`` says less well."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from re import Pattern
    from types import TracebackType
    from typing import Any, NoReturn

SHOWN = 400
CLASS = "skillgym_failure_class"


class Expect:
    """Each method returns, or raises AssertionError. ``message`` replaces the explanation's first line."""

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
        """Always fails."""
        raise AssertionError(message)

    def classify(self, failure_class: str | Mapping[str, str], body: Callable[[], Any] | None = None) -> Any:
        """Attach a failure class to what fails in ``body()``, or in ``with expect.classify("wrong-alias"):``.

        The class is an id, or ``{"id": "wrong-alias", "label": "Wrong alias"}``. The innermost one counts.
        An async ``body`` gives something to await.
        """
        classified = _Classified(failure_class)
        if body is None:
            return classified
        with classified:
            value = body()
        return classified.awaited(value) if hasattr(value, "__await__") else value

    def _fail(self, problem: str, message: str | None, **values: object) -> None:
        """The one place where expectations fail."""
        width = max(map(len, values))
        lines = [f"  {name + ':':{width + 1}} {shown(value)}" for name, value in values.items()]
        raise AssertionError("\n".join([message or problem, *lines]))


expect = Expect()


class _Classified:
    def __init__(self, failure_class: str | Mapping[str, str]) -> None:
        self.failure_class = failure_class_of(failure_class)

    def __enter__(self) -> None:
        return None

    def __exit__(self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None) -> None:
        if isinstance(error, AssertionError):
            error.__dict__.setdefault(CLASS, self.failure_class)

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


def shown(value: object) -> str:
    """``repr``, cut in the middle to about 400 characters; never raises."""
    try:
        text = repr(value)
    except Exception as error:  # noqa: BLE001 - a suite's own class may do anything
        return f"<a {type(value).__name__} whose repr raises {type(error).__name__}>"
    return cut(text, SHOWN)


def cut(text: str, limit: int) -> str:
    """Head and tail of a text longer than ``limit`` characters."""
    if len(text) <= limit:
        return text
    return f"{text[: limit // 2]}[… {len(text) - limit} characters …]{text[-(limit // 2) :]}"


def _search(pattern: str | Pattern[str], text: str) -> str | None:
    """The part of ``text`` that matches."""
    import re

    if not isinstance(text, str):
        raise AssertionError(f"expected text, not {shown(text)}")  # noqa: TRY004 - a verdict, not a crash
    match = re.search(pattern, text)
    return None if match is None else match[0]


def _source(pattern: str | Pattern[str]) -> str:
    return pattern if isinstance(pattern, str) else pattern.pattern
