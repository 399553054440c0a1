"""What adapters of agents share: reading the lines an agent printed, from which a transcript grows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

from skillgym_action.model.session_report import (
    Command,
    Cost,
    FileRead,
    FileWrite,
    Message,
    Raw,
    SkillSignal,
    ToolCall,
    ToolResult,
    Transcript,
    Trouble,
    Usage,
)
from skillgym_action.transcripts.lenient_json import object_in, shortened
from skillgym_action.transcripts.trouble_signs import brief, crashed, kind_of_text, unfinished

if TYPE_CHECKING:
    from collections.abc import Iterable

    from skillgym_action.model.session import Capture, Output
    from skillgym_action.model.session_report import Event
    from skillgym_action.transcripts.lenient_json import Loose

Effect = Command | FileRead | FileWrite | SkillSignal
# More of a session is not held in memory. Whoever prints more has run wild.
MOST_EVENTS = 20_000
MOST_TEXT = 8_000_000  # characters


@dataclass(frozen=True, slots=True)
class _Call:
    """A tool call that waits for its result: its tool, and where its effects are in the log."""

    tool: str | None = None
    effects: range = range(0)


class Events:
    """Events in the order they came, as many as there is room for."""

    def __init__(self) -> None:
        """None yet."""
        self.kept: list[Event | None] = []
        self._room = MOST_TEXT
        self.full = False

    def add(self, event: Event) -> bool:
        """Keep it; False when there is no room."""
        self._room -= _size(event)
        self.full = self.full or self._room < 0 or len(self.kept) >= MOST_EVENTS
        if not self.full:
            self.kept.append(event)
        return not self.full

    def trouble(self) -> Trouble | None:
        """Nobody can judge what nobody has seen."""
        if not self.full:
            return None
        message = f"more than {MOST_EVENTS:,} events or {MOST_TEXT:,} characters: too much to be judged"
        return Trouble(kind="collection", message=message)


def _size(event: Event) -> int:
    """About as many characters as an event holds."""
    match event:
        case Message(text=text) | ToolResult(output=text) | Raw(line=text) | Command(command=text):
            return len(text)
        case ToolCall(args=dict() as args):
            return sum(len(value) for value in args.values() if isinstance(value, str))
        case _:
            return 0


class EventLog:
    """Events in the order they were told. ``at`` is a time in ISO 8601.

    A tool call becomes the call, its effects and its result. The effects of a tool that failed are taken back, but for
    a command: it did run.
    """

    def __init__(self) -> None:
        """Nothing has been told yet."""
        self.room = Events()
        self._events = self.room.kept
        self._calls: dict[str, _Call] = {}
        self._last_words: int | None = None

    def keep(self, line: str) -> None:
        """A line whose meaning is not known."""
        self.room.add(Raw(line=shortened(line)))

    def user(self, text: str, at: str | None = None) -> None:
        """Words of the user."""
        self.room.add(Message(role="user", text=text, at=at))

    def thought(self, text: str, at: str | None = None) -> None:
        """Thoughts of the model."""
        self.room.add(Message(role="assistant", phase="thinking", text=text, at=at))

    def words(self, text: str, at: str | None = None, *, main: bool = True) -> None:
        """Words of the model. Those of the main agent that no tool call follows are its final ones."""
        if self.room.add(Message(role="assistant", phase="commentary", text=text, at=at)) and main:
            self._last_words = len(self._events) - 1

    def call(self, key: str, tool: str, args: object, effects: Iterable[Effect] = (), at: str | None = None) -> None:
        """A tool call, and what it will have done if it does not fail; ``key`` leads its result here."""
        self._last_words = None
        if not self.room.add(ToolCall(tool=tool, args=args, at=at)):
            return
        start = len(self._events)
        for effect in effects:
            self.room.add(replace(effect, at=at))
        self._calls[key] = _Call(tool, range(start, len(self._events)))

    def called(self, key: str) -> bool:
        """Whether there was a call of that key."""
        return key in self._calls

    def result(
        self, key: str, output: str, *, failed: bool = False, exit_code: int | None = None, at: str | None = None
    ) -> None:
        """What a tool answered; ``exit_code`` is that of a command."""
        call = self._calls.get(key, _Call())
        for place in call.effects:
            effect = self._events[place]
            if isinstance(effect, Command):
                self._events[place] = replace(effect, exit_code=exit_code)
            elif failed:
                self._events[place] = None
        self.room.add(ToolResult(tool=call.tool, output=output, at=at))

    def events(self) -> tuple[Event, ...]:
        """All of them, the final words marked as such."""
        events = list(self._events)
        if self._last_words is not None and isinstance(last := events[self._last_words], Message):
            events[self._last_words] = replace(last, phase="final")
        return tuple(event for event in events if event is not None)


class _Rounds(dict[str, Usage]):
    """Of a session that has run wild only the first ones."""

    def __setitem__(self, key: str, usage: Usage) -> None:
        if key in self or len(self) < MOST_EVENTS:
            super().__setitem__(key, usage)


@dataclass
class Reading(ABC):
    """What has been read of a session so far. An adapter's own class says what a line means.

    ``rounds``: the tokens of each model round by its id; ``usage``: their total, where the agent tells one.
    ``complete``: the agent said that it has ended. ``usd``: what it says it cost.
    """

    # How lines begin that only repeat what others tell; they may be many, and are not even parsed.
    NOISE: ClassVar[tuple[str, ...]] = ()

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
    def take(self, said: Loose) -> bool:
        """Take the object of one line; False when its meaning is not known."""

    def read(self, output: Output) -> None:
        """Take all lines but noise; those that hold no object, or an unknown one, are kept."""
        for line in output.lines():
            if self.NOISE and line.startswith(self.NOISE):
                continue
            said = object_in(line)
            if line.strip() and (said is None or not self.take(said)):
                self.log.keep(line)

    def fail(self, message: str, kind: str | None = None, *, retry_after: float | None = None) -> None:
        """The session failed, in the agent's own words; without a kind, they tell it."""
        kind = kind or kind_of_text(message) or "runner-crash"
        self.failure = Trouble(kind=kind, message=brief(message), retry_after=retry_after)

    def transcript(self, capture: Capture) -> Transcript:
        """All that was read. How the process ended is evidence only where the agent said nothing."""
        return Transcript(
            events=self.log.events(),
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
            or self.log.room.trouble(),
        )


def total_usage(usages: Iterable[Usage]) -> Usage:
    """Sums of what is known; None where nothing is."""
    usages = tuple(usages)
    return Usage(
        input_tokens=total(usage.input_tokens for usage in usages),
        output_tokens=total(usage.output_tokens for usage in usages),
        reasoning_tokens=total(usage.reasoning_tokens for usage in usages),
        cache_tokens=total(usage.cache_tokens for usage in usages),
    )


def total(numbers: Iterable[int | None]) -> int | None:
    """The sum of what is known; None when nothing is."""
    known = [number for number in numbers if number is not None]
    return sum(known) if known else None
