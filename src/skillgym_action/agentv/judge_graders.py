"""AgentV's graders that ask the judge: about criteria, or about each of several rubrics."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from skillgym_action.agentv.judge_questions import (
    MAX_POINTS,
    OPERATORS,
    TEMPLATE_VARIABLE,
    ChecklistAnswer,
    PointsAnswer,
    Rubric,
    ScoreAnswer,
    ScoreRange,
    TextPrompt,
    complete_form,
    grade_by_judge,
)
from skillgym_action.assertions.graders import PASSING_SCORE, CheckResult, clamped, grade_of
from skillgym_action.limits import MAX_JUDGE_REASONS, MAX_JUDGE_VOTES
from skillgym_action.model.scores import weighted_mean

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from skillgym_action.agentv.grader_context import EntryContext
    from skillgym_action.agentv.judge_questions import JudgePrompt
    from skillgym_action.assertions.graders import Grade
    from skillgym_action.documents.suite_values import SuiteValue
    from skillgym_action.model.assertion import AssertionContext

_POINTS = re.compile(r"[0-9]{1,2}")
SATISFYING_POINTS = 7
"""Points from which a rubric with score ranges is satisfied. AgentV's number."""


@dataclass(frozen=True, kw_only=True, slots=True)
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


# --- in suite files ---------------------------------------------------------------------------------


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
