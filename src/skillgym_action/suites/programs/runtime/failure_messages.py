"""Failures of expectations about a session: message, expectation, what was observed, and a question to the agent."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict

from skillgym_action.model.records import record
from skillgym_action.suites.programs.runtime.matching import value_text

if TYPE_CHECKING:
    from skillgym_action.model.session_report import SessionReport

QUESTION = "skillgym_question"
Failed: TypeAlias = Callable[[AssertionError], None]  # raises the error, or collects it if assertions are soft


@record(slots=False)
class ExplainContext:
    """The argument of a function in ``explain["question"]``."""

    report: SessionReport
    observed: Any
    expected: Any = None
    actual: Any = None


class Explain(TypedDict):
    """The question for the agent about a failure: text, or a function that returns text, or None for no question."""

    question: str | Callable[[ExplainContext], str | None]


@record(slots=False)
class FailureMessage:
    """The parts of a failure's message that do not depend on what was expected."""

    observed: str
    message: str | None
    explain: Explain | None

    def fail(self, failed: Failed, expectation: str, context: ExplainContext) -> None:
        """Call ``failed`` with an AssertionError, which has the question for the agent, if there is one."""
        authors = [str(self.message)] if self.message else []
        error = AssertionError("\n".join([*authors, expectation, self.observed]))
        if self.explain is not None and (question := _question(self.explain, context)):
            error.__dict__[QUESTION] = question
        failed(error)


def _question(explain: Explain, context: ExplainContext) -> str:
    question = explain["question"]
    text = (question(context) if callable(question) else question) or ""
    if not isinstance(text, str):
        raise TypeError(f"explain['question'] gives text, not {value_text(text)}")
    return text.strip()
