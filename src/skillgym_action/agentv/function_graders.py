"""Functions of a suite in TypeScript as graders: they run in the suite host, which has them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from skillgym_action.assertions.graders import CheckResult, clamped, grade_of, not_gradable
from skillgym_action.javascript.values import stringified

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skillgym_action.agentv.grader_context import Task
    from skillgym_action.assertions.graders import Grade
    from skillgym_action.model.assertion import AssertionContext

SATISFIED = 0.5
"""The score from which what a function checked counts as found. AgentV's number; the grade passes from another one."""


@dataclass(frozen=True, slots=True)
class FunctionReference:
    """A function in a suite, by its number in the suite host."""

    number: int


@dataclass(frozen=True, slots=True)
class FunctionGrader:
    """Calls a function of the suite with the answer, and takes the score that it returns.

    ``compat``: one that fails scores 0, as with AgentV.
    """

    function: FunctionReference
    task: Task
    compat: bool = False

    diagnostic: ClassVar[bool] = False

    def grade(self, context: AssertionContext) -> Grade:
        """The function's score; 0 for an AssertionError; not gradable if it fails otherwise."""
        reply = context.call_function(self.function.number, self._answer(context))
        if reply.failed is not None:
            return grade_of(CheckResult(reply.failed, passed=False), evidence=reply.evidence)
        if reply.score is None:
            reason = f"the function failed: {reply.trouble}"
            if self.compat:
                return grade_of(CheckResult(reason, passed=False), evidence=reply.evidence)
            return not_gradable(reason, evidence=reply.evidence)
        score = clamped(reply.score)
        return grade_of(CheckResult(reply.name or f"the function says {score:g}", score >= SATISFIED), score=score)

    def _answer(self, context: AssertionContext) -> dict[str, object]:
        """What AgentV passes to such functions: the first question, the final answer, what the case expects."""
        task = self.task
        known = {
            "input": _question(task.input),
            "output": context.report.final_output if context.report else "",
            "criteria": task.criteria,
            "expectedOutput": _expected(task.expected_output),
            "metadata": task.metadata,
        }
        return {key: value for key, value in known.items() if value is not None}


def _question(messages: Sequence[object]) -> str:
    asked = (one for one in messages if isinstance(one, dict) and one.get("role") == "user")
    return _text(next((one.get("content") for one in asked), ""))


def _expected(messages: Sequence[object]) -> str | None:
    contents = [one.get("content") if isinstance(one, dict) else one for one in messages]
    return _text(contents[-1]) if contents else None


def _text(content: object) -> str:
    """Text of a message; the texts of its blocks if it has several; other values as JSON."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        texts = (_text_of(part) for part in content)
        return "\n".join(text for text in texts if isinstance(text, str))
    return stringified(content, indent=2)


def _text_of(part: object) -> object:
    """The text of a block; None for files and images."""
    if isinstance(part, dict):
        return part.get("value") if part.get("type") == "text" else None
    return part
