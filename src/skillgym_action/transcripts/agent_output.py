"""The parser that adapters of agents extend: from lines of JSON that an agent printed to a transcript."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

from skillgym_action.limits import MAX_TRANSCRIPT_CHARACTERS, MAX_TRANSCRIPT_EVENTS
from skillgym_action.model.session_report import (
    Command,
    Cost,
    FileRead,
    FileWrite,
    Message,
    Raw,
    RoundUsage,
    SkillSignal,
    ToolCall,
    ToolResult,
    Transcript,
    Trouble,
    Usage,
)
from skillgym_action.transcripts.lenient_json import json_object, shortened
from skillgym_action.transcripts.trouble_signs import brief, crashed, kind_of_text, unfinished

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from skillgym_action.model.session import Capture, Output
    from skillgym_action.model.session_report import Event
    from skillgym_action.transcripts.lenient_json import LenientJson

Effect = Command | FileRead | FileWrite | SkillSignal


@dataclass(frozen=True, slots=True)
class _Call:
    """A tool call without its result yet. ``effects``: indices of the events that are its effects."""

    tool: str | None = None
    effects: range = range(0)


class Events:
    """Events in their order, up to the limits of a transcript. ``full``: at least one event was dropped."""

    def __init__(self) -> None:
        self.kept: list[Event | None] = []
        self._remaining = MAX_TRANSCRIPT_CHARACTERS
        self.full = False

    def add(self, event: Event) -> bool:
        """Add an event; return False when it was dropped."""
        self._remaining -= _size(event)
        self.full = self.full or self._remaining < 0 or len(self.kept) >= MAX_TRANSCRIPT_EVENTS
        if not self.full:
            self.kept.append(event)
        return not self.full

    def trouble(self) -> Trouble | None:
        """Return the trouble of an incomplete transcript, which cannot be judged."""
        if not self.full:
            return None
        limits = f"{MAX_TRANSCRIPT_EVENTS:,} events or {MAX_TRANSCRIPT_CHARACTERS:,} characters"
        return Trouble(kind="collection", message=f"more than {limits}: too much to be judged")


def _size(event: Event) -> int:
    """Characters in an event, roughly."""
    match event:
        case Message(text=text) | ToolResult(output=text) | Raw(line=text) | Command(command=text):
            return len(text)
        case ToolCall(args=dict() as args):
            return sum(len(value) for value in args.values() if isinstance(value, str))
        case _:
            return 0


class EventLog:
    """Events in the order the agent reported them. ``at`` is a time in ISO 8601.

    A tool call becomes an event for the call, one for each effect and one for the result. When a tool fails, its
    effects are removed, except for commands: they did run. ``round``: the id of the model round that messages and calls
    which are added next belong to; empty if it is not known.
    """

    def __init__(self) -> None:
        self.bounded = Events()
        self._events = self.bounded.kept
        self._calls: dict[str, _Call] = {}
        self._last_message: int | None = None
        self._rounds: dict[str, int] = {}  # index of the first message or call of each round
        self.round = ""

    def raw_line(self, line: str) -> None:
        """Add a line whose meaning is not known."""
        self.bounded.add(Raw(line=shortened(line)))

    def user_message(self, text: str, at: str | None = None) -> None:
        """Add a message of the user."""
        self.bounded.add(Message(role="user", text=text, at=at))

    def thinking(self, text: str, at: str | None = None) -> None:
        """Add thoughts of the model."""
        if self.bounded.add(Message(role="assistant", phase="thinking", text=text, at=at)):
            self._note_round()

    def assistant_message(self, text: str, at: str | None = None, *, main: bool = True) -> None:
        """Add a message of the model. The last one of the main agent is its final answer unless a call follows."""
        if self.bounded.add(Message(role="assistant", phase="commentary", text=text, at=at)):
            self._note_round()
            if main:
                self._last_message = len(self._events) - 1

    def _note_round(self) -> None:
        """The last event belongs to the current round."""
        if self.round:
            self._rounds.setdefault(self.round, len(self._events) - 1)

    def forget_rounds(self) -> None:
        """It is not known which events belong to which model round."""
        self._rounds.clear()

    def call(self, key: str, tool: str, args: object, effects: Iterable[Effect] = (), at: str | None = None) -> None:
        """Add a tool call, and its effects if it succeeds. ``key``: the id that its result refers to."""
        self._last_message = None
        if not self.bounded.add(ToolCall(tool=tool, args=args, at=at)):
            return
        self._note_round()
        start = len(self._events)
        for effect in effects:
            self.bounded.add(replace(effect, at=at))
        self._calls[key] = _Call(tool, range(start, len(self._events)))

    def called(self, key: str) -> bool:
        """Whether a call with that key was added."""
        return key in self._calls

    def result(
        self, key: str, output: str, *, failed: bool = False, exit_code: int | None = None, at: str | None = None
    ) -> None:
        """Add the result of a tool. ``exit_code``: of a command."""
        call = self._calls.get(key, _Call())
        for index in call.effects:
            effect = self._events[index]
            if isinstance(effect, Command):
                self._events[index] = replace(effect, exit_code=exit_code)
            elif failed:
                self._events[index] = None
        self.bounded.add(ToolResult(tool=call.tool, output=output, failed=failed or None, at=at))

    def events(self, rounds: Mapping[str, Usage]) -> tuple[Event, ...]:
        """Return all events, with the final answer marked, and the tokens of rounds at their first message or call."""
        events = list(self._events)
        for key, index in self._rounds.items():
            event, usage = events[index], round_usage(rounds.get(key, Usage()))
            if usage and isinstance(event, Message | ToolCall):
                events[index] = replace(event, usage=usage)
        if self._last_message is not None and isinstance(last := events[self._last_message], Message):
            events[self._last_message] = replace(last, phase="final")
        return tuple(event for event in events if event is not None)


class _Rounds(dict[str, Usage]):
    """Tokens by model round, of the first rounds only: a session out of control may have any number."""

    def __setitem__(self, key: str, usage: Usage) -> None:
        if key in self or len(self) < MAX_TRANSCRIPT_EVENTS:
            super().__setitem__(key, usage)


@dataclass
class TranscriptParser(ABC):
    """Builds a transcript from an agent's output. Subclasses know what a line means.

    ``rounds``: tokens of each model round by its id; ``usage``: their total, if the agent reports one; ``usd``: the
    cost that it reports. ``complete``: the agent reported that it has ended.
    """

    # Beginnings of lines that only repeat what other lines contain; they can be many, and are not parsed.
    NOISE: ClassVar[tuple[str, ...]] = ()
    # Whether ``rounds`` have all output of a round; else events do not tell it.
    WHOLE_ROUNDS: ClassVar[bool] = True

    log: EventLog = field(default_factory=EventLog)
    rounds: dict[str, Usage] = field(default_factory=_Rounds)
    usage: Usage | None = None
    usd: float | None = None
    turns: int | None = None
    session_id: str | None = None
    model: str | None = None
    version: str | None = None
    skills: tuple[str, ...] = ()
    final_output: str = ""
    complete: bool = False
    failure: Trouble | None = None

    @abstractmethod
    def take(self, event: LenientJson) -> bool:
        """Parse the object of one line; return False when its meaning is not known."""

    def read(self, output: Output) -> None:
        """Parse all lines except noise. Lines without an object, or with an unknown one, become raw events."""
        for line in output.lines():
            self.read_line(line)

    def read_line(self, line: str) -> None:
        """Parse one line."""
        if self.NOISE and line.startswith(self.NOISE):
            return
        event = json_object(line)
        if line.strip() and (event is None or not self.take(event)):
            self.log.raw_line(line)

    @property
    def events_so_far(self) -> Sequence[Event | None]:
        """The events of the lines so far; None: the effect of a call that failed."""
        return self.log.bounded.kept

    def fail(self, message: str, kind: str | None = None, *, retry_after: float | None = None) -> None:
        """Record that the session failed. Without ``kind``, the kind is found by the agent's message."""
        kind = kind or kind_of_text(message) or "runner-crash"
        self.failure = Trouble(kind=kind, message=brief(message), retry_after=retry_after)

    def transcript(self, capture: Capture) -> Transcript:
        """Return the transcript. How the process ended decides its trouble only if the agent reported none."""
        known = self.rounds
        if not self.WHOLE_ROUNDS:
            known = {key: replace(usage, output_tokens=None) for key, usage in known.items()}
        return Transcript(
            events=self.log.events(known),
            final_output=self.final_output,
            session_id=self.session_id,
            model=self.model,
            usage=self.usage or total_usage(self.rounds.values()),
            cost=Cost() if self.usd is None else Cost(usd=self.usd, source="reported"),
            turns=self.turns or len(self.rounds) or None,
            version=self.version,
            skills=self.skills,
            trouble=self.failure
            or (crashed(capture) if self.complete else unfinished(capture))
            or self.log.bounded.trouble(),
        )


def round_usage(usage: Usage) -> RoundUsage | None:
    """Return the tokens of a model round; None where no number is known."""
    numbers = (usage.input_tokens, usage.output_tokens, usage.reasoning_tokens, usage.cache_tokens)
    if all(number is None for number in numbers):
        return None
    return RoundUsage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        reasoning_tokens=usage.reasoning_tokens,
        cache_tokens=usage.cache_tokens,
    )


def total_usage(usages: Iterable[Usage]) -> Usage:
    """Return the sums of all known numbers; None where no number is known."""
    usages = tuple(usages)
    return Usage(
        input_tokens=total(usage.input_tokens for usage in usages),
        output_tokens=total(usage.output_tokens for usage in usages),
        reasoning_tokens=total(usage.reasoning_tokens for usage in usages),
        cache_tokens=total(usage.cache_tokens for usage in usages),
    )


def total(numbers: Iterable[int | None]) -> int | None:
    """Return the sum of all known numbers; None when none is known."""
    known = [number for number in numbers if number is not None]
    return sum(known) if known else None
