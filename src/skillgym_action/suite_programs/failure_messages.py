"""How an expectation about a session fails: the author's message, what was expected, what was observed, a question."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict

from skillgym_action.suite_programs.showing import shown

if TYPE_CHECKING:
    from skillgym_action.model.session_report import SessionReport

QUESTION = "skillgym_question"
Failed: TypeAlias = Callable[[AssertionError], None]


@dataclass(frozen=True, kw_only=True)
class ExplainContext:
    """What a function as ``explain["question"]`` is given."""

    report: SessionReport
    observed: Any
    expected: Any = None
    actual: Any = None


class Explain(TypedDict):
    """What the agent can be asked about a failure: a text, or a function that makes one, or None for no question."""

    question: str | Callable[[ExplainContext], str | None]


@dataclass(frozen=True, kw_only=True)
class Words:
    """What a failure says besides what was expected."""

    observed: str
    message: str | None
    explain: Explain | None

    def fail(self, failed: Failed, expectation: str, context: ExplainContext) -> None:
        """Hand an AssertionError to ``failed``."""
        own = [str(self.message)] if self.message else []
        error = AssertionError("\n".join([*own, expectation, self.observed]))
        if self.explain is not None and (question := _question(self.explain, context)):
            error.__dict__[QUESTION] = question
        failed(error)


def _question(explain: Explain, context: ExplainContext) -> str:
    question = explain["question"]
    text = (question(context) if callable(question) else question) or ""
    if not isinstance(text, str):
        raise TypeError(f"explain['question'] gives text, not {shown(text)}")
    return text.strip()
