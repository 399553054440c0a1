"""Graders: what they look at in a session, those that ask no judge, and the one that asks it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import BaseModel, Field

from skillgym_action.agents.output.skills import SKILL_FILE, skill_of
from skillgym_action.judging.assertions.graders import CheckResult, all_or_nothing, by_majority, not_gradable
from skillgym_action.model.judge_question import Question, QuotedText, needs_judge
from skillgym_action.model.limits import MAX_SEARCHED_FILE_BYTES, MAX_SHOWN_ARGUMENT_CHARACTERS
from skillgym_action.model.records import record
from skillgym_action.model.session_report import (
    Command,
    FileRead,
    FileWrite,
    Message,
    SkillSignal,
    ToolCall,
    ToolResult,
)
from skillgym_action.system.files.globs import matches
from skillgym_action.text.escaping import clipped, one_line
from skillgym_action.text.javascript.regex import SearchError
from skillgym_action.text.javascript.values import stringified

if TYPE_CHECKING:
    from collections.abc import Iterator

    import regex

    from skillgym_action.judging.assertions.graders import Grade
    from skillgym_action.model.assertion import AssertionContext
    from skillgym_action.model.judge_question import Answer
    from skillgym_action.model.session_report import Event, SessionReport

MAX_PLUGIN_MATCHES = 10_000  # of a pattern in one text, that are counted
MAX_PLUGIN_JUDGED_CHARACTERS = 100_000  # of a text that the judge sees


CLAUDE = "claude-code"
NO_REPORT = "the session has no report"


class NotGradableError(Exception):
    """What a grader looks at is not known; the message has the reason."""


# --- targets ------------------------------------------------------------------------------------------


def trace(report: SessionReport) -> str:
    """A line for each message and each call, as JSON in the shape that Claude Code prints."""
    return "\n".join(stringified(line) for event in report.events if (line := _line(event)))


@record(kw_only=False)
class Target:
    """What a grader looks at. ``source`` ``file``: the one at ``path`` in the workspace."""

    source: Literal["last_message", "trace", "files", "file"] = "last_message"
    path: str = ""

    @property
    def title(self) -> str:
        """The target in messages."""
        return {"last_message": "the last message", "trace": "the trace", "files": "the names of created files"}.get(
            self.source, self.path
        )

    def text(self, context: AssertionContext) -> str | None:
        """The text; None: there is no such file. Raises NotGradableError."""
        if self.source == "files":
            return "\n".join(context.files.created())
        if self.source == "file":
            return self._file(context)
        if context.report is None:
            raise NotGradableError(NO_REPORT)
        return context.report.final_output if self.source == "last_message" else trace(context.report)

    def _file(self, context: AssertionContext) -> str | None:
        kind = context.files.kind(self.path)
        if kind is None:
            return None
        text = context.files.text(self.path, MAX_SEARCHED_FILE_BYTES) if kind == "file" else None
        if text is None:
            what = f"has more than {MAX_SEARCHED_FILE_BYTES // 1024**2} MiB" if kind == "file" else f"is a {kind}"
            raise NotGradableError(f"{self.path} {what}, so it was not searched")
        return text


LAST_MESSAGE = Target()


def _line(event: Event) -> dict[str, object] | None:
    if isinstance(event, Message):
        kind = "thinking" if event.phase == "thinking" else "text"
        return _message(event.role, {"type": kind, kind: event.text})
    if isinstance(event, ToolCall):
        return _message("assistant", {"type": "tool_use", "name": event.tool, "input": event.args or {}})
    if isinstance(event, ToolResult):
        return _message("user", {"type": "tool_result", "content": event.output})
    return None


def _message(role: str, part: dict[str, object]) -> dict[str, object]:
    return {"type": role, "message": {"role": role, "content": [part]}}


# --- calls of tools -----------------------------------------------------------------------------------


@record(kw_only=False)
class ToolMatcher:
    """Calls of a tool by Claude's name for it; ``input_match``: searched for in the call's input as JSON."""

    tool: str
    input_match: regex.Pattern[str] | None = None

    def __str__(self) -> str:
        return self.tool if self.input_match is None else f"{self.tool} with an input that matches"

    def positions(self, context: AssertionContext) -> tuple[int, ...]:
        """The positions of the calls that match, among all events. Raises NotGradableError."""
        report = context.report
        if report is None:
            raise NotGradableError(NO_REPORT)
        calls = _calls(report, self.tool)
        if self.input_match is None:
            return tuple(position for position, _ in calls)
        pattern = self.input_match
        try:
            return tuple(place for place, arguments in calls if context.search(pattern, stringified(arguments)))
        except SearchError as error:
            raise NotGradableError(f"the input of {self.tool} {error}") from error


def _calls(report: SessionReport, tool: str) -> list[tuple[int, object]]:
    """(Position, input) of each call of a tool. Raises NotGradableError for a tool that only Claude Code has."""
    named = [
        (position, event.args or {})
        for position, event in enumerate(report.events)
        if isinstance(event, ToolCall) and event.tool == tool
    ]
    if report.runner.agent.type == CLAUDE or named:
        return named
    if tool not in _EVENTS:
        known = ", ".join(_EVENTS)
        raise NotGradableError(f"{report.runner.agent.type} has no tool {tool}; known of all agents: {known}")
    return list(_EVENTS[tool](report))


def _commands(report: SessionReport) -> Iterator[tuple[int, object]]:
    for position, event in enumerate(report.events):
        if isinstance(event, Command):
            yield position, {"command": event.command}


def _reads(report: SessionReport) -> Iterator[tuple[int, object]]:
    for position, event in enumerate(report.events):
        if isinstance(event, FileRead):
            yield position, {"file_path": event.path}


def _writes(report: SessionReport) -> Iterator[tuple[int, object]]:
    for position, event in enumerate(report.events):
        if isinstance(event, FileWrite):
            yield position, {"file_path": event.path}


def _skills(report: SessionReport) -> Iterator[tuple[int, object]]:
    """Skills that were loaded by a tool of the agent's, or by reading their SKILL.md, each once."""
    loaded: set[str] = set()
    for position, event in enumerate(report.events):
        skill = event.skill if isinstance(event, SkillSignal) else None
        if isinstance(event, FileRead) and event.path.endswith(f"/{SKILL_FILE}"):
            skill = skill_of(event.path)
        if skill and skill not in loaded:
            loaded.add(skill)
            yield position, {"skill": skill}


_EVENTS = {"Skill": _skills, "Bash": _commands, "Read": _reads, "Write": _writes, "Edit": _writes}
"""What stands for Claude's tools in sessions of other agents."""


# --- graders ------------------------------------------------------------------------------------------


@record
class RegexGrader:
    """A pattern in a text. ``count``: how many matches there have to be; None: any, or none if it is not ``wanted``."""

    pattern: regex.Pattern[str]
    target: Target = LAST_MESSAGE
    wanted: bool = True
    count: int | None = None

    diagnostic: ClassVar[bool] = True

    def grade(self, context: AssertionContext) -> Grade:
        """All or nothing; not gradable if the target cannot be searched."""
        try:
            text = self.target.text(context)
            found = [] if text is None else self._found(context, text)
        except NotGradableError as error:
            return not_gradable(str(error))
        where = self.target.title
        if text is None:
            missing = f"there is no file {where}"
            return all_or_nothing(CheckResult(missing, passed=not self.wanted or self.count == 0))
        if self.count is not None:
            more = " or more" if len(found) > MAX_PLUGIN_MATCHES else ""
            explanation = f"{len(found):,}{more} of {self.count:,} matches in {where}"
            return all_or_nothing(CheckResult(explanation, len(found) == self.count), evidence=_first(found, text))
        explanation = f"{where} {'matches' if found else 'does not match'}"
        return all_or_nothing(CheckResult(explanation, bool(found) == self.wanted), evidence=_first(found, text))

    def _found(self, context: AssertionContext, text: str) -> list[str]:
        """What matches: with ``count`` all of it, up to a limit; else the first. Raises NotGradableError."""
        most = 1 if self.count is None else MAX_PLUGIN_MATCHES + 1
        found: list[str] = []
        start = 0
        try:
            while len(found) < most and (match := context.search(self.pattern, text, start=start)):
                found.append(match[0])
                start = match.end() + (match.end() == match.start())
                if start > len(text):
                    break
        except SearchError as error:
            raise NotGradableError(f"{self.target.title} {error}") from error
        return found


def _first(found: list[str], text: str) -> str:
    shown = found[0] if found else text
    return clipped(shown, MAX_SHOWN_ARGUMENT_CHARACTERS * 4)


@record
class ToolUsed:
    """The number of calls of a tool, from ``least`` to ``most``; None: there is no upper limit."""

    matcher: ToolMatcher
    least: int = 1
    most: int | None = None

    diagnostic: ClassVar[bool] = True

    def grade(self, context: AssertionContext) -> Grade:
        """All or nothing; not gradable if calls of the tool are not known."""
        try:
            calls = len(self.matcher.positions(context))
        except NotGradableError as error:
            return not_gradable(str(error))
        wanted = f"{self.least:,} or more" if self.most is None else f"{self.least:,} to {self.most:,}"
        explanation = f"{calls:,} call{'' if calls == 1 else 's'} of {self.matcher}, and {wanted} are wanted"
        holds = self.least <= calls and (self.most is None or calls <= self.most)
        return all_or_nothing(CheckResult(explanation, holds))


@record
class ToolOrder:
    """Both tools are called, and the first call of the one is before the first call of the other."""

    before: ToolMatcher
    after: ToolMatcher

    diagnostic: ClassVar[bool] = True

    def grade(self, context: AssertionContext) -> Grade:
        """All or nothing; not gradable if calls of a tool are not known."""
        try:
            first, second = self.before.positions(context), self.after.positions(context)
        except NotGradableError as error:
            return not_gradable(str(error))
        missing = [str(matcher) for matcher, calls in ((self.before, first), (self.after, second)) if not calls]
        if missing:
            return all_or_nothing(CheckResult(f"{' and '.join(missing)} not called", passed=False))
        holds = first[0] < second[0]
        explanation = f"the first call of {self.before} is {'before' if holds else 'not before'} that of {self.after}"
        return all_or_nothing(CheckResult(explanation, holds))


@record
class CreatedFile:
    """Whether a file was created in the session whose path matches a glob pattern."""

    path: str
    exists: bool = True

    diagnostic: ClassVar[bool] = True

    def grade(self, context: AssertionContext) -> Grade:
        """All or nothing."""
        created = context.files.created()
        found = [name for name in created if matches(name, self.path)]
        explanation = f"{one_line(found[0])} was created" if found else f"no file {self.path} was created"
        listed = "\n".join(created[:MAX_PLUGIN_MATCHES]) or "no file was created"
        return all_or_nothing(CheckResult(explanation, bool(found) == self.exists), evidence=clipped(listed, 2_000))


VOTES = 3
_INSTRUCTIONS = """You grade the work of a coding agent by criteria. Say PASS only if what you are shown meets all of
them; FAIL if it does not, or if you are in doubt. Say why in one or two sentences, and quote what decides."""


class CriteriaVerdict(BaseModel):
    """Whether criteria are met."""

    verdict: Annotated[Literal["PASS", "FAIL"], Field(description="PASS if all criteria are met, else FAIL")]
    reason: Annotated[str, Field(description="one or two sentences, with a quotation")] = ""


@record
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
