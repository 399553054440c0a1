"""Graders that ask the judge: about criteria, or whether an answer is at least as good as a stored one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import BaseModel, Field

from skillgym_action.assertions.graders import CheckResult, all_or_nothing, by_majority, not_gradable
from skillgym_action.limits import MAX_PLUGIN_JUDGED_CHARACTERS
from skillgym_action.model.judge_question import Question, QuotedText, needs_judge
from skillgym_action.plugin_evals.grading import LAST_MESSAGE, NotGradableError
from skillgym_action.text.escaping import clipped

if TYPE_CHECKING:
    from skillgym_action.assertions.graders import Grade
    from skillgym_action.model.assertion import AssertionContext
    from skillgym_action.model.judge_question import Answer
    from skillgym_action.plugin_evals.grading import Target

VOTES = 3
_INSTRUCTIONS = """You grade the work of a coding agent by criteria. Say PASS only if what you are shown meets all of
them; FAIL if it does not, or if you are in doubt. Say why in one or two sentences, and quote what decides."""


class CriteriaVerdict(BaseModel):
    """Whether criteria are met."""

    verdict: Annotated[Literal["PASS", "FAIL"], Field(description="PASS if all criteria are met, else FAIL")]
    reason: Annotated[str, Field(description="one or two sentences, with a quotation")] = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgedCriteria:
    """Criteria that the judge decides in three votes. ``baseline``: an answer that must not be better; None: none."""

    criteria: str
    focus: Target = LAST_MESSAGE
    baseline: str | None = None

    diagnostic: ClassVar[bool] = False

    def grade(self, context: AssertionContext) -> Grade:
        """All or nothing; not gradable without a judge, without what it is to look at, or without a majority."""
        try:
            shown = self.focus.text(context)
        except NotGradableError as error:
            return not_gradable(str(error))
        if shown is None:
            return all_or_nothing(CheckResult(f"there is no file {self.focus.title}", passed=False))
        poll = context.ask_judge(self._question(context, shown), VOTES)
        if poll is None:
            return not_gradable(needs_judge(1))
        votes = tuple([_grade_of(answer) for answer in poll.answers])
        grade = by_majority((*votes, *[not_gradable("the judge was not asked")] * (VOTES - len(votes))))
        answered = any(answer.content is not None for answer in poll.answers)
        return replace(grade, judge=poll.judge) if answered else grade

    def _question(self, context: AssertionContext, shown: str) -> Question[CriteriaVerdict]:
        task = context.report.prompt if context.report else ""
        text = clipped(shown, MAX_PLUGIN_JUDGED_CHARACTERS)
        parts: list[str | QuotedText] = [f"The agent's task:\n{task}", QuotedText(self.focus.title, text)]
        if self.baseline is not None:
            parts.append(QuotedText("the earlier answer", clipped(self.baseline, MAX_PLUGIN_JUDGED_CHARACTERS)))
            asked = f"PASS if {self.focus.title} is at least as good as the earlier answer, by these criteria:"
        else:
            asked = f"PASS if {self.focus.title} meets these criteria:"
        return Question(instructions=_INSTRUCTIONS, prompt=(*parts, f"{asked}\n{self.criteria}"), form=CriteriaVerdict)


def _grade_of(answer: Answer[CriteriaVerdict]) -> Grade:
    if answer.content is None:
        reason = answer.trouble.message if answer.trouble else "the answer is empty"
        return not_gradable(f"the judge gave no answer: {reason}")
    verdict, reason = answer.content.verdict, answer.content.reason
    explanation = f"the judge says {verdict}{f': {reason}' if reason else ''}"
    return all_or_nothing(CheckResult(explanation, passed=verdict == "PASS"))
