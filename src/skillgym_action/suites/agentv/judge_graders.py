"""AgentV's graders that ask the judge, and their prompts: about criteria, or about each of several rubrics."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Protocol, TypeVar

from pydantic import BaseModel, BeforeValidator, Field, create_model, model_validator

from skillgym_action.agents.output.tool_calls import call_list, calls_of
from skillgym_action.judging.assertions.graders import (
    PASSING_SCORE,
    CheckResult,
    by_majority,
    clamped,
    grade_of,
    not_gradable,
)
from skillgym_action.model.judge_question import CHANGED_FILES, Question, QuotedText
from skillgym_action.model.limits import MAX_JUDGE_VOTES
from skillgym_action.model.records import record
from skillgym_action.model.result import weighted_mean
from skillgym_action.text.javascript.values import stringified

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from skillgym_action.judging.assertions.graders import Grade
    from skillgym_action.model.assertion import AssertionContext
    from skillgym_action.model.judge_question import Answer
    from skillgym_action.suites.agentv.grader_context import EntryContext, Task
    from skillgym_action.suites.values import SuiteValue

    T = TypeVar("T", bound=BaseModel)

MAX_JUDGE_TEMPLATE_VARIABLES = 100  # replaced in a suite's own template for the judge
MAX_JUDGE_REASONS = 8  # kept of a judge that gives a score of its own; AgentV's own limit
_POINTS = re.compile(r"[0-9]{1,2}")

SATISFYING_POINTS = 7
"""Points from which a rubric with score ranges is satisfied. AgentV's number."""


class JudgePrompt(Protocol):
    """What makes the prompt of a question: a text, or a program."""

    def parts(self, context: AssertionContext, rubrics: tuple[Rubric, ...]) -> Parts | Grade:
        """The parts of the prompt; or, if that is impossible, the grade that explains it."""
        ...


@record(kw_only=False)
class ScoreRange:
    """Points from ``least`` to ``most``, and what earns them."""

    least: int
    most: int
    outcome: str


@record
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


@record
class JudgeGrader:
    """Asks the judge: without rubrics for a score of its own, else for a verdict on each rubric, or for its points.

    ``votes``: the number of answers; None: as configured.
    """

    prompt: JudgePrompt
    rubrics: tuple[Rubric, ...] = ()
    votes: int | None = None

    diagnostic: ClassVar[bool] = False

    def grade(self, context: AssertionContext) -> Grade:
        """The judge's grade; not gradable without a judge, or without a prompt."""
        parts = self.prompt.parts(context, self.rubrics)
        if not isinstance(parts, tuple):
            return parts
        ids = tuple(rubric.id for rubric in self.rubrics)
        if not ids:
            return grade_by_judge(context, parts, ScoreAnswer, _grade_of_score, self.votes)
        if any(rubric.ranges for rubric in self.rubrics):
            return grade_by_judge(context, parts, complete_form(PointsAnswer, ids), self._grade_of_points, self.votes)
        form = complete_form(ChecklistAnswer, ids)
        return grade_by_judge(context, parts, form, self._grade_of_checklist, self.votes)

    def _grade_of_checklist(self, answer: ChecklistAnswer) -> Grade:
        """The weight of the satisfied rubrics, of all. A required one that is not fails the grade, not the score."""
        verdicts = {verdict.id: verdict for verdict in answer.checks}
        decided = [(rubric, verdicts[rubric.id]) for rubric in self.rubrics]
        checks = [
            CheckResult(f"[{rubric.id}] {rubric.outcome}", verdict.satisfied, verdict.reasoning)
            for rubric, verdict in decided
        ]
        score = weighted_mean((float(verdict.satisfied), rubric.weight) for rubric, verdict in decided)
        failed = any(rubric.required and not verdict.satisfied for rubric, verdict in decided)
        return grade_of(*checks, score=clamped(score), passed=False if failed else None)

    def _grade_of_points(self, answer: PointsAnswer) -> Grade:
        """The weighted mean of the points. Points below a rubric's minimum fail the grade, not the score."""
        by_id = {points.id: points for points in answer.checks}
        checks, scored, failed = [], [], False
        for rubric in self.rubrics:
            points = by_id[rubric.id].score
            enough = rubric.min_score is None or points / MAX_POINTS >= rubric.min_score
            span = next((f" ({span.outcome})" for span in rubric.ranges if span.least <= points <= span.most), "")
            text = f"[{rubric.id}] {rubric.outcome or rubric.id}: {points} of {MAX_POINTS}{span}"
            checks.append(CheckResult(text, enough and points >= SATISFYING_POINTS, by_id[rubric.id].reasoning))
            scored.append((points / MAX_POINTS, rubric.weight))
            failed = failed or not enough
        return grade_of(*checks, score=clamped(weighted_mean(scored)), passed=False if failed else None)


def _grade_of_score(answer: ScoreAnswer) -> Grade:
    reasons = [CheckResult(one.text, one.passed, one.evidence) for one in answer.assertions[:MAX_JUDGE_REASONS]]
    checks = reasons or [CheckResult(f"the judge gives {answer.score:g}", answer.score >= PASSING_SCORE)]
    return grade_of(*checks, score=answer.score)


# --- in suite files -----------------------------------------------------------------------------------


def rubrics_in(entry: SuiteValue, key: str) -> tuple[Rubric, ...]:
    """The rubrics of a list: texts, or mappings. Raises SuiteError."""
    rubrics = []
    for number, item in enumerate(entry.member(key).items() if entry.has(key) else (), start=1):
        long_form = replace(item, value={"outcome": item.value}) if isinstance(item.value, str) else item
        rubrics.append(_rubric(long_form.snake_case(), f"rubric-{number}"))
    counts = Counter(rubric.id for rubric in rubrics)
    if repeated := next((name for name, count in counts.items() if count > 1), None):
        raise entry.member(key).error(f"two rubrics have the id {repeated!r}")
    if not rubrics:
        raise entry.invalid(key, "a list of rubrics that is not empty")
    return tuple(rubrics)


def votes_in(entry: SuiteValue) -> int | None:
    """The odd number of ``votes``; None: not set. Raises SuiteError."""
    votes = entry.member("votes").value
    if votes is None:
        return None
    if isinstance(votes, bool) or not isinstance(votes, int) or not (0 < votes <= MAX_JUDGE_VOTES and votes % 2):
        raise entry.invalid("votes", f"an odd number from 1 to {MAX_JUDGE_VOTES}")
    return votes


def text_prompt(entry: SuiteValue, at: EntryContext) -> TextPrompt:
    """The text of ``prompt``, or of the file it names as ``file://``; a text without variables is the criteria.

    Raises SuiteError.
    """
    text = entry.scalar_text("prompt")
    if text and text.startswith("file://"):
        text = at.file_text(entry.member("prompt"), text.removeprefix("file://"))
    if text and TEMPLATE_VARIABLE.search(text):
        return TextPrompt(task=at.task, criteria=at.task.criteria, template=text)
    return TextPrompt(task=at.task, criteria=text or at.task.criteria)


def _rubric(item: SuiteValue, default_id: str) -> Rubric:
    ranges = tuple(_score_ranges(item)) if item.has("score_ranges") else ()
    outcome = item.scalar_text("outcome") or item.scalar_text("criteria") or ""
    if not outcome and not ranges:
        raise item.invalid("outcome", "a text that says what is to be decided")
    min_score = item.number("min_score", most=1)
    if min_score is None and (points := item.number("required_min_score", most=MAX_POINTS)) is not None:
        min_score = points / MAX_POINTS
    required = item.flag("required", default=not ranges)
    weight = item.number("weight")
    return Rubric(
        id=item.scalar_text("id") or default_id,
        outcome=outcome,
        weight=1.0 if weight is None else weight,
        required=required,
        min_score=1.0 if min_score is None and required else min_score,
        operator=item.choice("operator", OPERATORS),
        ranges=ranges,
    )


def _score_ranges(item: SuiteValue) -> Iterator[ScoreRange]:
    """Ranges that together are 0 to 10 points: a list, or a mapping of the points where each range begins."""
    written = item.member("score_ranges")
    if isinstance(written.value, dict):
        ranges = _ranges_by_start(item, written.value)
    else:
        ranges = list(map(_score_range, item.children("score_ranges")))
    incomplete = f"has to cover every number of points from 0 to {MAX_POINTS} once"
    following = 0
    for span in sorted(ranges, key=lambda span: span.least):
        if span.least != following or span.most < span.least:
            raise written.error(incomplete)
        following = span.most + 1
        yield span
    if following != MAX_POINTS + 1:
        raise written.error(incomplete)


def _ranges_by_start(item: SuiteValue, written: Mapping[object, object]) -> list[ScoreRange]:
    keys = [key for key, text in written.items() if isinstance(text, str) and text and _POINTS.fullmatch(str(key))]
    if not keys or len(keys) < len(written):
        raise item.invalid("score_ranges", "a mapping of points to texts, or a list of ranges")
    texts = {int(str(key)): str(text) for key, text in written.items()}
    starts = sorted(texts)
    ends = [start - 1 for start in starts[1:]] + [MAX_POINTS]
    return [ScoreRange(start, end, texts[start]) for start, end in zip(starts, ends, strict=True)]


def _score_range(item: SuiteValue) -> ScoreRange:
    bounds = item.member("score_range").value
    if not isinstance(bounds, list) or [type(bound) for bound in bounds] != [int, int]:
        raise item.invalid("score_range", "a list of two whole numbers")
    return ScoreRange(bounds[0], bounds[1], item.required_text("outcome"))


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
Sentences = Annotated[str, Field(description="one or two sentences")]


# --- questions and answers ----------------------------------------------------------------------------


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
    score: Annotated[
        int,
        Field(ge=0, le=MAX_POINTS, description="points; the rubric says what earns how many"),
        BeforeValidator(lambda points: int(points) if isinstance(points, float) and points.is_integer() else points),
    ]
    reasoning: Sentences = ""


class PointsAnswer(BaseModel):
    """Points for each rubric."""

    checks: list[RubricPoints]
    overall_reasoning: Sentences = ""


Checks = TypeVar("Checks", ChecklistAnswer, PointsAnswer)


def complete_form(form: type[Checks], ids: tuple[str, ...]) -> type[Checks]:
    """The form of an answer that must have one check for each of ``ids``, and is like ``form`` otherwise."""

    def refuse_incomplete(answer: Checks) -> Checks:
        answered = Counter(check.id for check in answer.checks)
        if missing := [one for one in ids if one not in answered]:
            raise ValueError(f"there is no check with the id {' or '.join(missing)}")
        if repeated := [one for one in ids if answered[one] > 1]:
            raise ValueError(f"there are several checks with the id {' and '.join(repeated)}")
        return answer

    validators: dict[str, Any] = {"complete": model_validator(mode="after")(refuse_incomplete)}
    return create_model("Complete", __base__=form, __doc__=form.__doc__, __validators__=validators)


@record
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
