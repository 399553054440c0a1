"""AgentV's graders that ask a model: about criteria, or rubric by rubric."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from skillgym_action.agentv.judge_prompts import VARIABLE, Asking, asked
from skillgym_action.agentv.rubrics import BEST, OPERATORS, Range, Rubric
from skillgym_action.assertions.grades import GOOD, Check, clamped, graded
from skillgym_action.documents.entries import Entry
from skillgym_action.model.scores import weighted_mean

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from skillgym_action.agentv.assertions import Where
    from skillgym_action.agentv.judge_forms import Checklist, FreeForm, Points
    from skillgym_action.agentv.judge_prompts import Prompt
    from skillgym_action.assertions.grades import Grade
    from skillgym_action.model.assertion import AssertionContext

_POINTS = re.compile(r"[0-9]{1,2}")
MOST_CHECKS = 8
SATISFYING = 7
"""Points, of ten, from which on a rubric with ranges is satisfied."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Judged:
    """Asks the judge. Without rubrics it gives a score of its own; otherwise it decides on each of them."""

    prompt: Prompt
    rubrics: tuple[Rubric, ...] = ()

    diagnostic: ClassVar[bool] = False

    def grade(self, context: AssertionContext) -> Grade:
        """Cannot tell without a judge, or without a prompt."""
        from skillgym_action.agentv.judge_forms import FreeForm, checklist_of, points_of

        parts = self.prompt.parts(context, self.rubrics)
        if not isinstance(parts, tuple):
            return parts
        ids = tuple(rubric.id for rubric in self.rubrics)
        if not ids:
            return asked(context, parts, FreeForm, free_grade)
        if any(rubric.ranges for rubric in self.rubrics):
            return asked(context, parts, points_of(ids), self._points)
        return asked(context, parts, checklist_of(ids), self._checklist)

    def _checklist(self, said: Checklist) -> Grade:
        """The weight of what is satisfied, of all. A required rubric that is not fails the grade, not the score."""
        told = {check.id: check for check in said.checks}
        decided = [(rubric, told[rubric.id]) for rubric in self.rubrics]
        checks = [Check(f"[{one.id}] {one.outcome}", said.satisfied, said.reasoning) for one, said in decided]
        score = weighted_mean((float(said.satisfied), rubric.weight) for rubric, said in decided)
        failed = any(rubric.required and not said.satisfied for rubric, said in decided)
        return graded(*checks, score=clamped(score), passed=False if failed else None)

    def _points(self, said: Points) -> Grade:
        """The weighted mean of the points. One below what a rubric needs fails the grade, not the score."""
        told = {check.id: check for check in said.checks}
        checks, scored, failed = [], [], False
        for rubric in self.rubrics:
            points = told[rubric.id].score
            enough = rubric.needed is None or points / BEST >= rubric.needed
            span = next((f" ({span.outcome})" for span in rubric.ranges if span.least <= points <= span.most), "")
            text = f"[{rubric.id}] {rubric.outcome or rubric.id}: {points} of {BEST}{span}"
            checks.append(Check(text, enough and points >= SATISFYING, told[rubric.id].reasoning))
            scored.append((points / BEST, rubric.weight))
            failed = failed or not enough
        return graded(*checks, score=clamped(weighted_mean(scored)), passed=False if failed else None)


def free_grade(said: FreeForm) -> Grade:
    """The judge's own score, with its reasons."""
    reasons = [Check(one.text, one.passed, one.evidence) for one in said.assertions[:MOST_CHECKS]]
    checks = reasons or [Check(f"the judge gives {said.score:g}", said.score >= GOOD)]
    return graded(*checks, score=said.score)


# --- what is written --------------------------------------------------------------------------------


def rubrics_of(entry: Entry, key: str) -> tuple[Rubric, ...]:
    """The rubrics of a list: texts, or mappings. Raises SuiteError."""
    found = []
    for place, (item, path) in enumerate(entry.items(key), start=1):
        if isinstance(item, str):
            item = {"outcome": item}  # noqa: PLW2901 - the same in its long form
        found.append(_rubric(Entry(item, entry.location, path), f"rubric-{place}"))
    if doubled := next((name for name, count in Counter(rubric.id for rubric in found).items() if count > 1), None):
        raise entry.error(f"two rubrics have the id {doubled!r}", key)
    if not found:
        raise entry.wrong(key, "a list of rubrics that is not empty")
    return tuple(found)


def asking(entry: Entry, at: Where) -> Asking:
    """What ``prompt`` says, or the file it names as ``file://``; without variables, that is the criteria.

    Raises SuiteError.
    """
    text = entry.text("prompt")
    if text and text.startswith("file://"):
        text = at.text_of(entry, "prompt", text.removeprefix("file://"))
    if text and VARIABLE.search(text):
        return Asking(task=at.task, criteria=at.task.criteria, template=text)
    return Asking(task=at.task, criteria=text or at.task.criteria)


def _rubric(item: Entry, name: str) -> Rubric:
    ranges = tuple(_ranges(item)) if item.has("score_ranges") else ()
    outcome = item.text("outcome") or item.text("criteria") or ""
    if not outcome and not ranges:
        raise item.wrong("outcome", "a text that says what is to be decided")
    needed = item.number("min_score", most=1)
    if needed is None and (points := item.number("required_min_score", most=BEST)) is not None:
        needed = points / BEST
    required = item.flag("required", default=not ranges)
    weight = item.number("weight")
    return Rubric(
        id=item.text("id") or name,
        outcome=outcome,
        weight=1.0 if weight is None else weight,
        required=required,
        needed=1.0 if needed is None and required else needed,
        operator=item.choice("operator", OPERATORS),
        ranges=ranges,
    )


def _ranges(item: Entry) -> Iterator[Range]:
    """Ranges of points, which together are 0 to 10: a list, or a mapping of the points where each begins."""
    written = item.value["score_ranges"]
    found = (
        _beginnings(item, written) if isinstance(written, dict) else list(map(_range, item.children("score_ranges")))
    )
    following = 0
    for span in sorted(found, key=lambda span: span.least):
        if span.least != following or span.most < span.least:
            raise item.error(f"has to cover every number of points from 0 to {BEST} once", "score_ranges")
        following = span.most + 1
        yield span
    if following != BEST + 1:
        raise item.error(f"has to cover every number of points from 0 to {BEST} once", "score_ranges")


def _beginnings(item: Entry, written: Mapping[object, object]) -> list[Range]:
    keys = [key for key, text in written.items() if isinstance(text, str) and text and _POINTS.fullmatch(str(key))]
    if not keys or len(keys) < len(written):
        raise item.wrong("score_ranges", "a mapping of points to texts, or a list of ranges")
    texts = {int(str(key)): str(text) for key, text in written.items()}
    starts = sorted(texts)
    ends = [start - 1 for start in starts[1:]] + [BEST]
    return [Range(start, end, texts[start]) for start, end in zip(starts, ends, strict=True)]


def _range(item: Entry) -> Range:
    bounds = item.value.get("score_range")
    if not isinstance(bounds, list) or [type(bound) for bound in bounds] != [int, int]:
        raise item.wrong("score_range", "a list of two whole numbers")
    return Range(bounds[0], bounds[1], item.needed_text("outcome"))
