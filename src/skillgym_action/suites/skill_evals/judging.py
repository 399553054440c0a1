"""The assertion that asks the judge a case's questions, several at once, and the material that it shows."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import BaseModel, Field

from skillgym_action.model.judge_question import Question, QuotedText, majority, needs_judge
from skillgym_action.model.judgement import Outcome
from skillgym_action.model.limits import MAX_EVAL_NAME_CHARACTERS, MAX_LISTED_CHANGES, MAX_SEARCHED_FILE_BYTES
from skillgym_action.model.records import record
from skillgym_action.model.session_report import Command, FileWrite, ToolCall
from skillgym_action.system.files.folder import SKILLS as SKILL_FOLDERS
from skillgym_action.text.escaping import clipped, one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from skillgym_action.model.assertion import AssertionContext, Files
    from skillgym_action.model.judge_question import JudgeInfo, Poll
    from skillgym_action.model.session_report import Event, SessionReport
    from skillgym_action.suites.skill_evals.assertion_texts import JudgedQuestion

QUESTIONS_PER_CALL = 20  # that the judge is asked at once
MAX_EVAL_EVIDENCE_CHARACTERS = 4_000  # of the judge's evidence for one answer
MAX_JUDGED_MESSAGE_CHARACTERS = 60_000  # of the final message that the judge sees
MAX_JUDGED_ACTIONS_CHARACTERS = 40_000
MAX_JUDGED_ACTION_CHARACTERS = 2_000  # of one command or call of a tool
MAX_JUDGED_FILE_CHARACTERS = 40_000  # of one created or changed file
MAX_JUDGED_FILES_CHARACTERS = 160_000  # of all of them
MAX_JUDGED_NAMES = 500  # of files that are listed by name and size
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


@record(kw_only=False)
class _Vote:
    """One answer to one question."""

    verdict: Verdict
    evidence: str

    @property
    def passed(self) -> bool | None:
        return {"yes": True, "no": False}.get(self.verdict)


@record(kw_only=False)
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


@record
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


_SKILL_TOOLS = frozenset({"skill", "activate_skill", "load_skill", "use_skill"})

# Only from the beginning of a word, so that long words take no quadratic time.
_INSTALLED = re.compile(
    r"(?<![^\s'\"=:;|&()])[^\s'\"=:;|&()]*\.(?:claude|agents)/skills(?:/(?!SKILL\.md)[\w.-]+)?(?:/SKILL\.md)?"
)
_SEVERAL = re.compile(r"[;|&>\n`$]")  # in a command that does more than one thing
_BINARY = re.compile(r"[\0\ufffd]")
_MOST_BINARY = 0.05  # share of characters that no text has


@record(kw_only=False)
class JudgeMaterial:
    """Paragraphs of a question, and what was left out of them, in words; (): nothing."""

    parts: tuple[str | QuotedText, ...]
    cut: tuple[str, ...]


def material_of(context: AssertionContext, expected_output: str) -> JudgeMaterial:
    """The material of a session. ``expected_output``: of the case; empty: it has none.

    The judge sees neither the skill nor the arm.
    """
    cut: list[str] = []
    report = context.report
    parts: list[str | QuotedText] = [f"The agent's task:\n{report.prompt if report else ''}"]
    if expected_output.strip():
        parts.append(f"What its author expects of a good result:\n{expected_output}")
    message = report.final_output if report else ""
    parts.append(QuotedText("final message", _limited(message, MAX_JUDGED_MESSAGE_CHARACTERS, "final message", cut)))
    actions = "\n".join(_actions(report)) if report else ""
    parts.append(QuotedText("actions", _limited(actions, MAX_JUDGED_ACTIONS_CHARACTERS, "actions", cut)))
    parts.extend(_files(context.files, cut))
    return JudgeMaterial(tuple(parts), tuple(cut))


def _limited(text: str, limit: int, name: str, cut: list[str]) -> str:
    if len(text) > limit:
        cut.append(f"the middle of the {name}")
    return clipped(text, limit)


def _actions(report: SessionReport) -> Iterator[str]:
    """A line for each command, with its exit code, each other call of a tool, and each file written."""
    events = report.events
    for number, event in enumerate(events):
        if isinstance(event, Command):
            if _reads_skill(event.command) and not _SEVERAL.search(event.command):
                continue
            code = "its exit code is not known" if event.exit_code is None else f"exit code {event.exit_code}"
            yield f"command ({code}): {_shown(event.command, report)}"
        elif isinstance(event, FileWrite):
            yield f"file written: {_shown(event.path, report)}"
        elif isinstance(event, ToolCall) and event.tool.lower() not in _SKILL_TOOLS:
            arguments = json.dumps(event.args, ensure_ascii=False, default=str)
            following = events[number + 1] if number + 1 < len(events) else None
            if not (_is_same(arguments, following) or _reads_skill(arguments)):
                yield f"tool {one_line(event.tool)}: {_shown(arguments, report)}"


def _is_same(arguments: str, following: Event | None) -> bool:
    """Whether the event after a call of a tool is the same action: the command, or the file that it wrote."""
    if isinstance(following, FileWrite):
        return following.path.rpartition("/")[2] in arguments
    return isinstance(following, Command)


def _reads_skill(arguments: str) -> bool:
    return "SKILL.md" in arguments and _INSTALLED.search(arguments) is not None


def _shown(text: str, report: SessionReport) -> str:
    """A text without the workspace's path, and without the folders of installed skills."""
    neutral = text.replace(f"{report.cwd}/", "") if report.cwd else text
    return clipped(one_line(_INSTALLED.sub("[folder]", neutral)), MAX_JUDGED_ACTION_CHARACTERS)


def _files(files: Files, cut: list[str]) -> Iterator[str | QuotedText]:
    """The created and changed files, text as far as there is room; then the others, by name and size."""
    created = frozenset(files.created())
    names = [name for name in files.changed_names() if not name.startswith(tuple(f"{one}/" for one in SKILL_FOLDERS))]
    left, listed, number = MAX_JUDGED_FILES_CHARACTERS, [], 0
    for name in names[:MAX_LISTED_CHANGES]:
        kind = files.kind(name)
        if kind != "file":
            listed.append(f"{one_line(name)}: {'deleted' if kind is None else kind}")
            continue
        word = "created" if name in created else "changed"
        text = files.text(name, MAX_SEARCHED_FILE_BYTES) if left > 0 else None
        if text is None or _is_binary(text):
            size = files.size(name)
            listed.append(f"{one_line(name)}: {word}, {'size unknown' if size is None else f'{size:,} bytes'}")
            if text is None:
                cut.append(f"the content of {one_line(name)}")
            continue
        number += 1
        limit = min(left, MAX_JUDGED_FILE_CHARACTERS)
        left -= min(len(text), limit)
        shown = _limited(text, limit, f"file {one_line(name)}", cut)
        yield QuotedText(f"file {number}", f"{one_line(name)} ({word} by the agent)\n\n{shown}")
    if not names:
        yield "The agent created and changed no file."
    if unnamed := max(0, len(listed) - MAX_JUDGED_NAMES) + max(0, len(names) - MAX_LISTED_CHANGES):
        cut.append(f"the names of {unnamed:,} files")
    if listed:
        yield QuotedText("other files that the agent created, changed or deleted", "\n".join(listed[:MAX_JUDGED_NAMES]))


def _is_binary(text: str) -> bool:
    return len(_BINARY.findall(text)) > _MOST_BINARY * len(text)
