"""AgentV's ``mode: conversation``: turns, the assertions of each, and one score of all."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Literal

from skillgym_action.agentv.messages import agent_prompt
from skillgym_action.agentv.turn_context import TurnContext
from skillgym_action.assertions.graders import CheckResult, grade_of, not_gradable
from skillgym_action.javascript.values import stringified
from skillgym_action.limits import MAX_CONVERSATION_TURNS
from skillgym_action.model.judge_question import united_judges
from skillgym_action.model.scores import case_score, format_score, reaches_threshold
from skillgym_action.model.session_report import Cost, Usage
from skillgym_action.model.suite import CaseConversation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skillgym_action.agentv.messages import Message
    from skillgym_action.assertions.graders import Grade
    from skillgym_action.documents.suite_values import SuiteValue
    from skillgym_action.model.assertion import Assertion, AssertionContext
    from skillgym_action.model.result import Outcome
    from skillgym_action.model.session_report import SessionReport

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


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """A conversation, the assertions of the whole of it, and the threshold of its case."""

    conversation: CaseConversation
    whole: tuple[Assertion, ...]
    threshold: float


@dataclass(frozen=True, kw_only=True, slots=True)
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
            seen = TurnContext(whole=context, report=_read(context.report, transcript), messages=_messages(history))
            outcomes = _judged(self.whole, seen)
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
        return _judged(self.turns[index], TurnContext(whole=context, report=exchanges[index], messages=messages))

    def _score(self, outcomes: tuple[Outcome, ...]) -> float:
        return case_score(outcomes, self.threshold) if outcomes else 1.0

    def _aggregated(self, scores: Sequence[float]) -> float:
        if self.aggregation == "mean":
            return sum(scores) / len(scores)
        return min(scores) if self.aggregation == "min" else max(scores)


def _exchanges(context: AssertionContext) -> tuple[SessionReport, ...]:
    return (context.report and context.report.exchanges) or ()


def _judged(assertions: Sequence[Assertion], context: AssertionContext) -> tuple[Outcome, ...]:
    return tuple(outcome for assertion in assertions for outcome in assertion.judge(context))


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
