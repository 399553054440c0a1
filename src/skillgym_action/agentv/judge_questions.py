"""Questions to the judge about a session: rubrics, the prompt, and the forms of the answer."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, Protocol, TypeVar

from pydantic import BaseModel, Field, create_model, model_validator

from skillgym_action.assertions.graders import by_majority, not_gradable
from skillgym_action.javascript.values import stringified
from skillgym_action.limits import MAX_JUDGE_TEMPLATE_VARIABLES
from skillgym_action.model.judge_question import CHANGED_FILES, Question, QuotedText
from skillgym_action.transcripts.tool_calls import call_list, calls_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from skillgym_action.agentv.grader_context import Task
    from skillgym_action.assertions.graders import Grade
    from skillgym_action.model.assertion import AssertionContext
    from skillgym_action.model.judge_question import Answer

    T = TypeVar("T", bound=BaseModel)

NO_JUDGE = "no judge is configured; configure run.judge"
INSTRUCTIONS = "You grade the work of a coding agent. Be fair and brief, and keep to what you are asked."
OPERATORS = {
    "correctness": "satisfied only if the answer says or does it; leaving it out does not satisfy it",
    "contradiction": "satisfied unless the answer contradicts it; the answer need not mention it",
}
MAX_POINTS = 10
"""Points that a rubric with score ranges can earn. AgentV's number."""
TEMPLATE_VARIABLE = re.compile(r"\{\{\s*(\w+)\s*\}\}")

Parts = tuple[str | QuotedText, ...]


# --- rubrics ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ScoreRange:
    """Points from ``least`` to ``most``, and what earns them."""

    least: int
    most: int
    outcome: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Rubric:
    """One thing that the judge decides. ``min_score``: the share of the points that is needed; None: no minimum."""

    id: str
    outcome: str = ""
    weight: float = 1.0
    required: bool = True
    min_score: float | None = None
    operator: str | None = None
    ranges: tuple[ScoreRange, ...] = ()

    def __str__(self) -> str:
        """The rubric as the judge reads it."""
        lines = [f"- [{self.id}] {self.outcome}".rstrip()]
        if self.operator:
            lines.append(f"  {self.operator}: {OPERATORS[self.operator]}")
        lines += [f"  {span.least}-{span.most} points: {span.outcome}" for span in self.ranges]
        return "\n".join(lines)

    def as_json(self) -> dict[str, object]:
        """The rubric with the keys of a suite file."""
        ranges = [{"score_range": [span.least, span.most], "outcome": span.outcome} for span in self.ranges]
        optional = {"operator": self.operator, "min_score": self.min_score, "score_ranges": ranges or None}
        required = {"id": self.id, "outcome": self.outcome, "weight": self.weight, "required": self.required}
        return {**required, **{key: value for key, value in optional.items() if value is not None}}


# --- forms of answers -------------------------------------------------------------------------------

Sentences = Annotated[str, Field(description="one or two sentences")]


class ScoreReason(BaseModel):
    """One thing the judge looked at."""

    text: Annotated[str, Field(description="what was looked at, in brief")]
    passed: bool
    evidence: Sentences | None = None


class ScoreAnswer(BaseModel):
    """A score, and reasons."""

    score: Annotated[float, Field(ge=0, le=1, description="how well the criteria are met")]
    assertions: list[ScoreReason] = []


class RubricVerdict(BaseModel):
    """The verdict on one rubric."""

    id: Annotated[str, Field(description="the rubric's id")]
    satisfied: bool
    reasoning: Sentences = ""


class ChecklistAnswer(BaseModel):
    """A verdict on each rubric."""

    checks: list[RubricVerdict]
    overall_reasoning: Sentences = ""


class RubricPoints(BaseModel):
    """The points of one rubric."""

    id: Annotated[str, Field(description="the rubric's id")]
    score: Annotated[int, Field(ge=0, le=MAX_POINTS, description="points; the rubric says what earns how many")]
    reasoning: Sentences = ""


class PointsAnswer(BaseModel):
    """Points for each rubric."""

    checks: list[RubricPoints]
    overall_reasoning: Sentences = ""


Checks = TypeVar("Checks", ChecklistAnswer, PointsAnswer)


def complete_form(form: type[Checks], ids: tuple[str, ...]) -> type[Checks]:
    """The form of an answer that must have a check for each of ``ids``, and is like ``form`` otherwise."""

    def refuse_incomplete(answer: Checks) -> Checks:
        answered = {check.id for check in answer.checks}
        if missing := [one for one in ids if one not in answered]:
            raise ValueError(f"there is no check with the id {' or '.join(missing)}")
        return answer

    validators: dict[str, Any] = {"complete": model_validator(mode="after")(refuse_incomplete)}
    return create_model("Complete", __base__=form, __doc__=form.__doc__, __validators__=validators)


# --- prompts ----------------------------------------------------------------------------------------


class JudgePrompt(Protocol):
    """What makes the prompt of a question: a text, or a program."""

    def parts(self, context: AssertionContext, rubrics: tuple[Rubric, ...]) -> Parts | Grade:
        """The parts of the prompt; or, if that is impossible, the grade that explains it."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class TextPrompt:
    """The prompt: the suite's own template, or else the built-in one, with values of the case and the session."""

    task: Task
    criteria: str
    template: str | None = None

    def parts(self, context: AssertionContext, rubrics: tuple[Rubric, ...]) -> Parts:
        """The suite's text as it is; what the agent wrote and did is quoted."""
        case, session = self._of_case(context), _of_session(context)
        if self.template is not None:
            rubric = "\n".join(map(str, rubrics)) or self.criteria
            known = {**case, "rubric": rubric, **_as_json(self.task, rubrics)}
            return tuple(_filled(self.template, known, session))
        asked = [f"{_TITLES[name]}:\n{text}" for name, text in case.items() if text.strip()]
        done = [QuotedText(_TITLES[name], text) for name, text in session.items() if text.strip() or name == "output"]
        last = "\n".join(["Decide each of these rubrics:", *map(str, rubrics)]) if rubrics else _WITHOUT_RUBRICS
        return (*asked, *done, last)

    def _of_case(self, context: AssertionContext) -> dict[str, str]:
        return {
            "input": context.report.prompt if context.report else "",
            "criteria": self.criteria,
            "expected_output": _expected_output(self.task.expected_output),
        }


_WITHOUT_RUBRICS = "How well are task and criteria met?"
_TITLES = {
    "input": "The agent's task",
    "criteria": "The criteria",
    "expected_output": "An answer that would be right; others may be, too",
    "output": "final answer",
    "file_changes": CHANGED_FILES,
    "tool_calls": "tool calls",
}


def grade_by_judge(
    context: AssertionContext, parts: Parts, form: type[T], read: Callable[[T], Grade], votes: int | None = None
) -> Grade:
    """The grade that ``read`` makes of the judge's answer, or that the majority of several answers agrees on.

    ``votes``: the number of answers; None: as configured. Not gradable without a judge, an answer, or a majority.
    """
    poll = context.ask_judge(Question(instructions=INSTRUCTIONS, prompt=parts, form=form), votes)
    if poll is None:
        return not_gradable(NO_JUDGE)
    grades = tuple([_grade_of_answer(answer, read) for answer in poll.answers])
    if poll.judge.votes > 1:
        missing = poll.judge.votes - len(grades)
        grade = by_majority((*grades, *[not_gradable("the judge was not asked")] * missing))
    else:
        (grade,) = grades
    answered = any(answer.content is not None for answer in poll.answers)
    return replace(grade, judge=poll.judge) if answered else grade


def _grade_of_answer(answer: Answer[T], read: Callable[[T], Grade]) -> Grade:
    if answer.content is None:
        reason = answer.trouble.message if answer.trouble else "it says nothing"
        return not_gradable(f"the judge gave no answer: {reason}")
    return read(answer.content)


def _expected_output(messages: Sequence[object]) -> str:
    """The content of a single message; all of several messages as JSON."""
    contents = [message.get("content") if isinstance(message, dict) else message for message in messages]
    if len(contents) == 1:
        (content,) = contents
        return content if isinstance(content, str) else stringified(content, indent=2)
    return stringified(list(messages), indent=2) if messages else ""


def _of_session(context: AssertionContext) -> dict[str, str]:
    report = context.report
    return {
        "output": report.final_output if report else "",
        "file_changes": context.file_changes() or "",
        "tool_calls": call_list(calls_of(report)) if report else "",
    }


def _as_json(task: Task, rubrics: tuple[Rubric, ...]) -> dict[str, str]:
    values: dict[str, object] = {"metadata": task.metadata, "rubrics": [rubric.as_json() for rubric in rubrics] or None}
    texts = {name: "" if value is None else stringified(value, indent=2) for name, value in values.items()}
    return texts | {f"{name}_json": "" if value is None else stringified(value) for name, value in values.items()}


def _filled(template: str, of_case: dict[str, str], of_session: dict[str, str]) -> Iterator[str | QuotedText]:
    """The template with its variables replaced. Unknown ones stay, and so do those beyond the limit.

    Only texts of the suite become part of the prompt. Texts of the agent are quoted, so that they cannot be taken for
    instructions to the judge.
    """
    text, end = "", 0
    for found in islice(TEMPLATE_VARIABLE.finditer(template), MAX_JUDGE_TEMPLATE_VARIABLES):
        name = found[1]
        text += template[end : found.start()]
        end = found.end()
        if name in of_session:
            yield from filter(None, (text.strip(),))
            yield QuotedText(_TITLES[name], of_session[name])
            text = ""
        else:
            text += of_case.get(name, found[0]).strip()
    yield from filter(None, ((text + template[end:]).strip(),))
