"""The assertion that asks the judge a case's questions, several at once; each has an outcome of its own."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import BaseModel, Field

from skillgym_action.limits import MAX_EVAL_EVIDENCE_CHARACTERS, MAX_EVAL_NAME_CHARACTERS, QUESTIONS_PER_CALL
from skillgym_action.model.judge_question import Question, majority, needs_judge
from skillgym_action.model.result import Outcome
from skillgym_action.skill_evals.judge_material import material_of
from skillgym_action.text.escaping import clipped, one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from skillgym_action.model.assertion import AssertionContext
    from skillgym_action.model.judge_question import JudgeInfo, Poll
    from skillgym_action.skill_evals.judge_material import JudgeMaterial
    from skillgym_action.skill_evals.questions import JudgedQuestion

_INSTRUCTIONS = """You decide statements about the work of a coding agent, each for itself.

A statement has passed only if what you are shown proves it. Give the evidence: quote the message, the file or the
command that proves it, and say which one it is. It has not passed if there is no evidence, if the evidence is
superficial (such as a file with the right name and the wrong content), or if you are in doubt. There is no partial
credit. For a statement that has not passed, say what is missing or wrong."""
_NOTHING_CUT = "You are shown everything: passed is true or false."
_CUT = """Some material was too long and was left out: {cut}. If just that would decide a statement, passed is null.
In all other cases it is true or false."""
_AGAIN = (
    "You answered that these statements have passed, without evidence. A statement without a quotation has not passed."
)

_WORDS = {"yes": "yes", "no": "no", "bare": "no", "unknown": "cannot tell"}

Verdict = Literal["yes", "no", "bare", "unknown"]
"""``bare``: yes, without evidence."""


class StatementVerdict(BaseModel):
    """The verdict on one statement."""

    id: Annotated[str | int, Field(description="the statement's id")]
    passed: Annotated[bool | None, Field(description="whether the statement is proved")]
    evidence: Annotated[str | None, Field(description="the quotation that proves it, or what is missing")] = None


class StatementsAnswer(BaseModel):
    """A verdict on each statement."""

    answers: list[StatementVerdict]


@dataclass(frozen=True, slots=True)
class _Vote:
    """One answer to one question."""

    verdict: Verdict
    evidence: str

    @property
    def passed(self) -> bool | None:
        return {"yes": True, "no": False}.get(self.verdict)


@dataclass(frozen=True, slots=True)
class _Votes:
    """The answers to one question, and the judge that gave them. ``answered``: whether there was any answer."""

    votes: tuple[_Vote, ...]
    judge: JudgeInfo
    answered: bool

    @property
    def verdict(self) -> Verdict:
        """The verdict of more than half of the votes that were asked for; ``bare`` if votes without evidence decide."""
        needed = majority(self.judge.votes)
        verdicts = [vote.verdict for vote in self.votes]
        if verdicts.count("yes") >= needed:
            return "yes"
        if verdicts.count("no") >= needed:
            return "no"
        return "bare" if verdicts.count("yes") + verdicts.count("bare") >= needed else "unknown"

    @property
    def evidence(self) -> str:
        """That of the first vote that agrees with the verdict."""
        agreeing = (vote.evidence for vote in self.votes if vote.verdict == self.verdict)
        return next(agreeing, self.votes[0].evidence if self.votes else "the judge was not asked")


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgedQuestions:
    """Questions about a session. ``expected_output``: context for the judge; empty: there is none."""

    questions: tuple[JudgedQuestion, ...]
    expected_output: str = ""

    name: ClassVar[str] = "questions"
    type: ClassVar[str] = "question"
    diagnostic: ClassVar[bool] = False
    fail_fast: ClassVar[bool] = False

    def judge(self, context: AssertionContext) -> tuple[Outcome, ...]:
        """An outcome for each question, in order. None of them is decided without a judge."""
        material = material_of(context, self.expected_output)
        numbered = [(f"q{number}", question) for number, question in enumerate(self.questions, start=1)]
        decided: dict[str, _Votes] = {}
        for start in range(0, len(numbered), QUESTIONS_PER_CALL):
            found = _decide(context, dict(numbered[start : start + QUESTIONS_PER_CALL]), material)
            if found is None:
                break
            decided |= found
        names = _names(self.questions)
        needed = needs_judge(sum(not question.advisory for question in self.questions) or len(self.questions))
        return tuple(
            _outcome(name, question, decided[id_]) if id_ in decided else _unanswered(name, question, needed)
            for name, (id_, question) in zip(names, numbered, strict=True)
        )


# --- asking -------------------------------------------------------------------------------------------


def _decide(
    context: AssertionContext, questions: Mapping[str, JudgedQuestion], material: JudgeMaterial
) -> dict[str, _Votes] | None:
    """The votes on each question; asked again once where they say yes without evidence. None: there is no judge."""
    poll = context.ask_judge(_question(questions, material))
    if poll is None:
        return None
    found = _votes(poll, questions, material)
    unproved = {id_: questions[id_] for id_, votes in found.items() if votes.verdict == "bare"}
    if unproved and (again := context.ask_judge(_question(unproved, material, _AGAIN))):
        found |= _votes(again, unproved, material)
    return found


def _question(
    questions: Mapping[str, JudgedQuestion], material: JudgeMaterial, reminder: str | None = None
) -> Question[StatementsAnswer]:
    cut = _CUT.format(cut="; ".join(material.cut)) if material.cut else _NOTHING_CUT
    statements = "\n".join(line for id_, question in questions.items() for line in _lines(id_, question))
    last = f"Decide each of these statements, by its id:\n{statements}"
    parts = (*material.parts, *((reminder,) if reminder else ()), last)
    return Question(instructions=f"{_INSTRUCTIONS}\n\n{cut}", prompt=parts, form=StatementsAnswer)


def _lines(id_: str, question: JudgedQuestion) -> Iterator[str]:
    yield f"- [{id_}] {f'{question.topic}: ' if question.topic else ''}{question.text}"
    yield from (f"  {detail}" for detail in question.details)


def _votes(poll: Poll[StatementsAnswer], ids: Iterable[str], material: JudgeMaterial) -> dict[str, _Votes]:
    votes: dict[str, list[_Vote]] = defaultdict(list)
    for answer in poll.answers:
        if answer.content is None:
            reason = answer.trouble.message if answer.trouble else "the answer is empty"
            in_answer = {id_: _Vote("unknown", f"the judge gave no answer: {reason}") for id_ in ids}
        else:
            in_answer = _votes_in(answer.content, ids, material)
        for id_, vote in in_answer.items():
            votes[id_].append(vote)
    answered = any(answer.content is not None for answer in poll.answers)
    return {id_: _Votes(tuple(votes[id_]), poll.judge, answered) for id_ in ids}


def _votes_in(answer: StatementsAnswer, ids: Iterable[str], material: JudgeMaterial) -> dict[str, _Vote]:
    """The vote on each question in one answer."""
    by_id: dict[str, list[StatementVerdict]] = defaultdict(list)
    for verdict in answer.answers:
        by_id[_plain(str(verdict.id))].append(verdict)
    return {id_: _vote(by_id.get(id_, []), material) for id_ in ids}


def _plain(written: str) -> str:
    """The id of a statement as it was asked: models write ``[q1]`` and ``1``, too."""
    bare = written.strip().strip("[]").lower()
    return bare if bare.startswith("q") else f"q{bare}"


def _vote(verdicts: Sequence[StatementVerdict], material: JudgeMaterial) -> _Vote:
    if not verdicts:
        return _Vote("unknown", "the judge left this question out")
    if len({verdict.passed for verdict in verdicts}) > 1:
        return _Vote("unknown", "the judge gave two answers that contradict each other")
    evidence = (verdicts[0].evidence or "").strip()
    if verdicts[0].passed is None:
        if material.cut:
            return _Vote("unknown", evidence or f"what would decide it was left out: {'; '.join(material.cut)}")
        return _Vote("no", evidence or "the judge is in doubt")
    if verdicts[0].passed:
        return _Vote("yes", evidence) if evidence else _Vote("bare", "the judge says yes without evidence")
    return _Vote("no", evidence or "the judge gives no reason")


# --- outcomes -----------------------------------------------------------------------------------------


def _outcome(name: str, question: JudgedQuestion, votes: _Votes) -> Outcome:
    verdict = votes.verdict
    passed = {"yes": True, "no": False, "bare": False}.get(verdict)
    evidence = votes.evidence if verdict != "bare" else "the judge says yes without evidence, twice, which is a no"
    if verdict == "unknown" and votes.judge.votes > 1 and votes.answered:
        evidence = f"the votes of the judge have no majority: {evidence}"
    return Outcome(
        assertion=name,
        type=JudgedQuestions.type,
        passed=passed,
        explanation=f"{_WORDS[verdict]}: {clipped(one_line(evidence), MAX_EVAL_NAME_CHARACTERS)}",
        evidence=clipped(evidence, MAX_EVAL_EVIDENCE_CHARACTERS),
        location=question.location,
        advisory=question.advisory,
        trouble="grader" if passed is None else None,
        judge=votes.judge if votes.answered else None,
        votes=tuple([vote.passed for vote in votes.votes]) if votes.judge.votes > 1 else (),
    )


def _unanswered(name: str, question: JudgedQuestion, reason: str) -> Outcome:
    return Outcome(
        assertion=name,
        type=JudgedQuestions.type,
        passed=None,
        explanation=reason,
        location=question.location,
        advisory=question.advisory,
        trouble="grader",
    )


def _names(questions: Sequence[JudgedQuestion]) -> list[str]:
    """A name for each question: its label, else its topic, and its text; unique."""
    names: list[str] = []
    for question in questions:
        label = question.label or question.topic
        text = f"{label}: {question.text}" if label else question.text
        name = clipped(one_line(text), MAX_EVAL_NAME_CHARACTERS)
        name += " (advisory)" if question.advisory else ""
        number, unique = 2, name
        while unique in names:
            unique, number = f"{name} ({number})", number + 1
        names.append(unique)
    return names
