"""AgentV's ``mode: conversation``: turns, the assertions of each with what they see, and one score of all."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Literal

from skillgym_action.judging.assertions.graders import CheckResult, grade_of, not_gradable
from skillgym_action.model.judge_question import united_judges
from skillgym_action.model.records import record
from skillgym_action.model.result import case_score, format_score, reaches_threshold
from skillgym_action.model.session_report import Cost, Usage
from skillgym_action.model.suite import CaseConversation
from skillgym_action.suites.agentv.messages import agent_prompt
from skillgym_action.text.javascript.values import stringified

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager

    import regex

    from skillgym_action.judging.assertions.graders import Grade
    from skillgym_action.model.assertion import (
        Assertion,
        AssertionContext,
        CaseContainer,
        CommandResult,
        Files,
        ModelAccess,
    )
    from skillgym_action.model.judge_question import Poll, Question, T
    from skillgym_action.model.judgement import FunctionReply, Judgement, Outcome
    from skillgym_action.model.session import Capture, Invocation
    from skillgym_action.model.session_report import SessionReport
    from skillgym_action.model.verdicts import FailureClass
    from skillgym_action.suites.agentv.grader_context import Task
    from skillgym_action.suites.agentv.messages import Message
    from skillgym_action.suites.values import SuiteValue

MAX_CONVERSATION_TURNS = 100

TURN_KEYS = frozenset({"input", "expected_output", "assertions"})
AGGREGATIONS = ("mean", "min", "max")
Aggregation = Literal["mean", "min", "max"]


# --- in suite files ---------------------------------------------------------------------------------


def is_conversation(value: SuiteValue) -> bool:
    """Whether a test has turns. Raises SuiteError for an unknown mode, and for turns without the mode."""
    mode, turns = value.text("mode"), value.get("turns")
    if mode not in {None, "conversation"}:
        raise value.error(f"the mode {mode!r} is not known", "write mode: conversation with turns, or leave it out")
    if mode and (turns is None or turns.value == []):
        raise value.missing("turns", "turns: [{input: What is 2 + 2?}]", "the conversation has no turns")
    if turns and not mode:
        message = "turns need the mode of a conversation"
        if value.misspelled("mode"):
            raise value.missing("mode", "", message)
        raise turns.error(message, "add mode: conversation")
    return mode is not None


def turns_of(value: SuiteValue) -> tuple[SuiteValue, ...]:
    """The turns of a test. Raises SuiteError."""
    turns = value.member("turns").items()
    if len(turns) > MAX_CONVERSATION_TURNS:
        raise value.member("turns").error(f"more than {MAX_CONVERSATION_TURNS} turns", "split the test")
    for turn in turns:
        turn.mapping()
        if turn.get("input") is None:
            raise turn.missing("input", "say what the user says: input: And now?", "the turn has no input")
    return tuple(turns)


def conversation_of(value: SuiteValue, opening: Sequence[Message]) -> CaseConversation:
    """What is said. ``opening``: the messages of ``input``. Raises SuiteError."""
    window = value.number("window_size", whole=True)
    if window is not None and window < 1:
        raise value.member("window_size").error("must be 1 or more")
    said = ((str(message["role"]), agent_prompt([message], lambda _: None).text) for message in opening)
    return CaseConversation(
        turns=tuple(_text(turn.member("input").value) for turn in turns_of(value)),
        opening=tuple((role, _unmarked(text)) for role, text in said),
        window=None if window is None else int(window),
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else stringified(value)


def _unmarked(text: str) -> str:
    """A message without the mark of its role, which the prompt of a single message of an assistant has."""
    return text.partition("\n")[2] if text.startswith("@[") else text


def aggregation_of(value: SuiteValue) -> Aggregation:
    """How one score is made of all. Raises SuiteError."""
    word = value.text("aggregation") or "mean"
    if word not in AGGREGATIONS:
        raise value.member("aggregation").error(f"must be one of {', '.join(AGGREGATIONS)}, not {word!r}")
    return word  # type: ignore[return-value]


def stops_on_failure(value: SuiteValue) -> bool:
    """``on_turn_failure: stop``. Raises SuiteError."""
    word = value.text("on_turn_failure") or "continue"
    if word not in {"continue", "stop"}:
        raise value.member("on_turn_failure").error(f"must be continue or stop, not {word!r}")
    return word == "stop"


def turn_entries(assertions: object) -> object:
    """The assertions of a turn; texts are one question to the judge, with the weight 1 whatever their number."""
    if not isinstance(assertions, list):
        return assertions
    texts = [entry for entry in assertions if isinstance(entry, str)]
    others = [entry for entry in assertions if not isinstance(entry, str)]
    return [{"type": "rubrics", "name": "turn-rubrics", "criteria": texts}, *others] if texts else others


# --- grading ----------------------------------------------------------------------------------------


@record
class Asked:
    """A conversation, the assertions of the whole of it, and the threshold of its case."""

    conversation: CaseConversation
    whole: tuple[Assertion, ...]
    threshold: float


@record
class ConversationGrader:
    """The assertions of each turn, and those of the whole conversation, as one grade.

    A turn without assertions scores 1. If ``stops``, turns after one below the threshold score 0, and the whole
    conversation ends with that one.
    """

    conversation: CaseConversation
    turns: tuple[tuple[Assertion, ...], ...]
    whole: tuple[Assertion, ...]
    aggregation: Aggregation
    threshold: float
    stops: bool = False

    diagnostic: ClassVar[bool] = False

    def grade(self, context: AssertionContext) -> Grade:
        """The aggregated score; not gradable if that is so for one of the assertions."""
        exchanges = _exchanges(context)
        replies = [report.final_output for report in exchanges]
        scores: list[float] = []
        checks: list[CheckResult] = []
        judged: list[Outcome] = []
        stopped, counted = False, 0
        for index in range(len(self.turns)):
            name = f"turn {index + 1}"
            if stopped:
                how = "counted" if index < len(exchanges) else "played"
                scores.append(0.0)
                checks.append(CheckResult(f"{name}: not {how}, since an earlier turn failed", passed=False))
                continue
            if index >= len(exchanges):
                return not_gradable(f"{len(exchanges)} of {len(self.turns)} turns were played")
            done = context.turn_outcomes[index : index + 1]
            outcomes = done[0] if done else self._judged_turn(context, index)
            if (undecided := _undecided(outcomes, name)) is not None:
                return undecided
            judged += outcomes
            scores.append(self._score(outcomes))
            checks += _checks(name, outcomes, scores[-1])
            counted, stopped = index + 1, not self.goes_on(outcomes)
        if self.whole and context.report:
            history = self.conversation.history(replies[:counted], counted)
            transcript = "\n\n".join(f"{role}: {text}" for role, text in history)
            outcomes = _judged(self.whole, context, lambda report: _read(report, transcript), _messages(history))
            if (undecided := _undecided(outcomes, "conversation")) is not None:
                return undecided
            judged += outcomes
            scores.append(self._score(outcomes))
            checks += _checks("conversation", outcomes, scores[-1])
        grade = grade_of(*checks, score=self._aggregated(scores))
        return replace(grade, judge=united_judges(outcome.judge for outcome in judged))

    def judge_turn(self, context: AssertionContext) -> tuple[Outcome, ...]:
        """The outcomes of the last turn so far. Turns see the workspace as they left it: the next one comes later."""
        return self._judged_turn(context, len(_exchanges(context)) - 1)

    def goes_on(self, outcomes: tuple[Outcome, ...]) -> bool:
        """Whether the turn after one with these outcomes counts."""
        return not self.stops or reaches_threshold(self._score(outcomes), self.threshold)

    def _judged_turn(self, context: AssertionContext, index: int) -> tuple[Outcome, ...]:
        exchanges = _exchanges(context)
        replies = [report.final_output for report in exchanges[: index + 1]]
        messages = _messages(self.conversation.shown(replies, index + 1))
        return _judged(self.turns[index], context, lambda report: (report.exchanges or ())[index], messages)

    def _score(self, outcomes: tuple[Outcome, ...]) -> float:
        return case_score(outcomes, self.threshold) if outcomes else 1.0

    def _aggregated(self, scores: Sequence[float]) -> float:
        if self.aggregation == "mean":
            return sum(scores) / len(scores)
        return min(scores) if self.aggregation == "min" else max(scores)


def _exchanges(context: AssertionContext) -> tuple[SessionReport, ...]:
    return (context.report and context.report.exchanges) or ()


def _judged(
    assertions: Sequence[Assertion],
    context: AssertionContext,
    part: Callable[[SessionReport], SessionReport],
    messages: tuple[object, ...],
) -> tuple[Outcome, ...]:
    """The outcomes of assertions that see a ``part`` of the report."""

    def seen() -> TurnContext:
        return TurnContext(whole=context, report=part(context.report) if context.report else None, messages=messages)

    return tuple(outcome for assertion in assertions for outcome in context.decided(assertion, seen))


def _undecided(outcomes: Sequence[Outcome], name: str) -> Grade | None:
    """The grade of a conversation of which one assertion cannot tell."""
    one = next((outcome for outcome in outcomes if outcome.passed is None), None)
    if one is None:
        return None
    return not_gradable(f"{name}: {one.assertion}: {one.explanation}", evidence=one.evidence)


def _checks(name: str, outcomes: Sequence[Outcome], score: float) -> list[CheckResult]:
    if not outcomes:
        return [CheckResult(f"{name}: no assertions", passed=True)]
    title = f"{name} ({format_score(score)})"
    return [
        CheckResult(f"{title}: {one.assertion}: {one.explanation}", passed=bool(one.passed), evidence=one.evidence)
        for one in outcomes
    ]


def _messages(history: Sequence[tuple[str, str]]) -> tuple[object, ...]:
    return tuple({"role": role, "content": text} for role, text in history)


def _read(report: SessionReport, transcript: str) -> SessionReport:
    """The session for assertions of the whole conversation: its transcript is the answer."""
    return replace(
        report,
        final_output=transcript,
        events=(),
        usage=Usage(),
        cost=Cost(),
        turns=None,
        duration_ms=None,
        exchanges=None,
    )


@record
class TurnContext:
    """An ``AssertionContext`` whose report is that of a turn. ``messages``: what was said, as graders get it."""

    whole: AssertionContext
    report: SessionReport | None
    messages: tuple[object, ...]

    @property
    def files(self) -> Files:
        return self.whole.files

    def decided(self, assertion: Assertion, seen: Callable[[], AssertionContext] | None = None) -> tuple[Outcome, ...]:
        return self.whole.decided(assertion, seen)

    @property
    def timeout(self) -> float:
        return self.whole.timeout

    def search(
        self, pattern: regex.Pattern[str], text: str, *, at_start: bool = False, start: int = 0
    ) -> regex.Match[str] | None:
        return self.whole.search(pattern, text, at_start=at_start, start=start)

    def run(self, command: str, timeout: float) -> CommandResult:
        return self.whole.run(command, timeout)

    def execute(self, invocation: Invocation) -> Capture:
        return self.whole.execute(invocation)

    @property
    def container(self) -> CaseContainer | None:
        return self.whole.container

    def file_changes(self) -> str | None:
        return self.whole.file_changes()

    @property
    def turn_outcomes(self) -> tuple[tuple[Outcome, ...], ...]:
        return self.whole.turn_outcomes

    def ask_judge(self, question: Question[T], votes: int | None = None) -> Poll[T] | None:
        return self.whole.ask_judge(question, votes)

    def model_access(self, max_calls: int) -> AbstractContextManager[ModelAccess] | None:
        return self.whole.model_access(max_calls)

    def check(self, case_id: str) -> tuple[Outcome, ...]:
        return self.whole.check(case_id)

    def call_function(self, number: int, answer: Mapping[str, object]) -> FunctionReply:
        return self.whole.call_function(number, answer)

    def classify(self, case_id: str, judgement: Judgement) -> FailureClass | None:
        return self.whole.classify(case_id, judgement)


def task_in(context: AssertionContext, task: Task) -> Task:
    """The task as graders get it: in a turn, its input is what was said until then."""
    return replace(task, input=context.messages) if isinstance(context, TurnContext) else task
