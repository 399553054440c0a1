"""The parser that adapters of agents extend: from lines of JSON to a transcript; work in the background."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import deque
from dataclasses import field, replace
from typing import TYPE_CHECKING, ClassVar

from skillgym_action.agents.output.lenient_json import LenientJson, json_object, shortened, visible_line
from skillgym_action.agents.output.mcp_servers import (
    FAILED,
    MOST_SERVERS,
    NAME_CHARACTERS,
    has_failed,
    servers_complained_of,
)
from skillgym_action.agents.output.trouble_signs import (
    brief,
    crashed,
    is_killed,
    kind_of_text,
    stderr_words,
    unfinished,
)
from skillgym_action.agents.output.trouble_words import OWN_COMMAND
from skillgym_action.model.limits import MAX_ERROR_CHARACTERS, MAX_FINDINGS
from skillgym_action.model.records import record
from skillgym_action.model.session_report import (
    Command,
    Cost,
    FileRead,
    FileWrite,
    McpServer,
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

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from skillgym_action.model.session import Capture, Output
    from skillgym_action.model.session_report import Event

MAX_TRANSCRIPT_EVENTS = 120_000  # of a session; the first ones are kept
MAX_TRANSCRIPT_CHARACTERS = 64_000_000  # of all events of a session
TOKENS = ("input_tokens", "output_tokens", "reasoning_tokens", "cache_tokens")
LAST_LINES = 3
NO_MESSAGE = "the agent reported an error without a message"
NO_MODEL_CALL = "the agent ended without asking its model"
Effect = Command | FileRead | FileWrite | SkillSignal


@record(kw_only=False)
class _Call:
    """A tool call without its result yet. ``effects``: indices of the events that are its effects."""

    tool: str | None = None
    effects: range = range(0)


class Events:
    """Events in their order, up to the limits of a transcript. ``dropped``: how many came after the limits."""

    def __init__(self) -> None:
        self.kept: list[Event | None] = []
        self._remaining = MAX_TRANSCRIPT_CHARACTERS
        self._is_full = False
        self.dropped = 0

    def add(self, event: Event) -> bool:
        """Add an event; return False when it was dropped."""
        self._remaining -= _size(event)
        self._is_full = self._is_full or self._remaining < 0 or len(self.kept) >= MAX_TRANSCRIPT_EVENTS
        if self._is_full:
            self.dropped += 1
        else:
            self.kept.append(event)
        return not self._is_full


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
    effects are removed, except for commands: they did run. A call that was refused has no effects. ``round``: the id of
    the model round that messages and calls which are added next belong to; empty if it is not known.
    """

    def __init__(self) -> None:
        self.bounded = Events()
        self._events = self.bounded.kept
        self._calls: dict[str, _Call] = {}
        self.calls = 0  # all of them, also those that were dropped
        self.activity = 0  # messages and calls
        self._last_message: int | None = None
        self.last_text = ""  # of the last message of the main agent, also if it was dropped
        self._rounds: dict[str, int] = {}  # index of the first message or call of each round
        self._unended: dict[str, str] = {}  # calls of commands without a result yet
        self.background: dict[str, str] = {}  # work in the background that has not ended, by the key of its call
        self.round = ""

    def raw_line(self, line: str) -> None:
        """Add a line whose meaning is not known."""
        self.bounded.add(Raw(line=shortened(line)))

    def user_message(self, text: str, at: str | None = None) -> None:
        """Add a message of the user."""
        self.activity += 1
        self.bounded.add(Message(role="user", text=text, at=at))

    def thinking(self, text: str, at: str | None = None) -> None:
        """Add thoughts of the model."""
        if self.bounded.add(Message(role="assistant", phase="thinking", text=text, at=at)):
            self._note_round()

    def assistant_message(self, text: str, at: str | None = None, *, main: bool = True, of_model: bool = True) -> None:
        """Add a message of the model. The last one of the main agent is its final answer unless a call follows.

        ``of_model``: else it is the CLI's own, such as one about an error.
        """
        self.activity += 1
        self.last_text = text if main and of_model and text.strip() else self.last_text
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
        self.calls += 1
        self.activity += 1
        if not self.bounded.add(ToolCall(tool=tool, args=args, at=at)):
            return
        self._note_round()
        start = len(self._events)
        for effect in effects:
            self.bounded.add(replace(effect, at=at))
        self._calls[key] = _Call(tool, range(start, len(self._events)))
        if stops_work(tool):
            self.background.clear()
        elif is_in_background(args):
            self.background[key] = name_of_work(tool, args)
        commands = [event.command for event in self._events[start:] if isinstance(event, Command)]
        if commands:
            self._unended[key] = commands[0]

    def moved_to_background(self, key: str) -> None:
        """A call goes on in the background, whatever its result says."""
        if key in self._calls:
            self.background.setdefault(key, self._unended.get(key) or self._calls[key].tool or "")

    @property
    def left_running(self) -> tuple[str, ...]:
        """What has not ended: work in the background, and commands without a result."""
        return tuple(dict.fromkeys((*self.background.values(), *self._unended.values())))

    def called(self, key: str) -> bool:
        """Whether a call with that key was added."""
        return key in self._calls

    def deny(self, key: str) -> None:
        """A call was refused before it ran: it has no effect, and no command ran."""
        for index in self._calls.get(key, _Call()).effects:
            self._events[index] = None

    def result(
        self, key: str, output: str, *, failed: bool = False, exit_code: int | None = None, at: str | None = None
    ) -> None:
        """Add the result of a tool. ``exit_code``: of a command."""
        call = self._calls.get(key, _Call())
        self._unended.pop(key, None)
        if failed:
            self.background.pop(key, None)
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


@record(frozen=False, kw_only=False, slots=False)
class TranscriptParser(ABC):
    """Builds a transcript from an agent's output. Subclasses know what a line means.

    ``rounds``: tokens of each model round by its id; ``usage``: their total, if the agent reports one; ``usd``: the
    cost that it reports. ``complete``: the agent reported that it has ended. ``models``: those that answered the main
    agent, as a set in order. ``servers``: the last status of each MCP server. ``has_turns``: whether a result had model
    rounds; None: there is no result. ``own_command``: a command of the CLI itself, which it ran in place of asking its
    model. ``after_result``: the line comes after a result. ``unread``: notes on lines that are too long; ``words``: the
    last lines that are no JSON.
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
    models: dict[str, None] = field(default_factory=dict)
    servers: dict[str, str] = field(default_factory=dict)
    has_turns: bool | None = None
    own_command: str = ""
    after_result: bool = False
    exit_note: str | None = None
    unread: list[str] = field(default_factory=list)
    words: deque[str] = field(default_factory=lambda: deque(maxlen=LAST_LINES))

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
        line, _, cut = line.partition("\n")
        if cut:
            self.unread.append(cut)
            self.log.bounded.dropped += 1
        # Of a line that is too long, its beginning tells what it is, unless the end of its outer text is missing.
        event = json_object(line) or (json_object(f'{line}"}}') if cut else None)
        self.after_result, self.complete, before = self.complete, False, self.log.activity
        if event is None and not cut and visible_line(line)[:1] not in {"", "{", "["}:
            self.words.append(shortened(visible_line(line), MAX_ERROR_CHARACTERS))
        if line.strip() and (event is None or not self.take(event)):
            self.log.raw_line(line)
        # What the agent does after a result means that the result was not its last one.
        self.complete = self.complete or (self.after_result and self.log.activity == before)

    @property
    def events_so_far(self) -> Sequence[Event | None]:
        """The events of the lines so far; None: the effect of a call that failed."""
        return self.log.bounded.kept

    def answered_by(self, model: str | None) -> None:
        """Record the model of an answer to the main agent."""
        if model and len(self.models) < MAX_FINDINGS:
            self.models[model] = None

    def server_status(self, name: str | None, status: str | None) -> None:
        """Record the status of an MCP server; the last one counts."""
        if name and status and (name[:NAME_CHARACTERS] in self.servers or len(self.servers) < MOST_SERVERS):
            self.servers[name[:NAME_CHARACTERS]] = status

    def servers_listed(self, event: LenientJson, *path: str) -> None:
        """Record the status of each MCP server in a list of a line. ``path``: keys to it."""
        for server in event.children(*path):
            self.server_status(server.text("name"), server.text("status"))

    def fail(self, message: str, kind: str | None = None, *, retry_after: float | None = None) -> None:
        """Record that the session failed. Without ``kind``, the kind is found by the agent's message."""
        kind = kind or kind_of_text(message) or "runner-crash"
        message = NO_MESSAGE if message.strip().lower() in {"", "success"} else message
        self.failure = Trouble(kind=kind, message=brief(message), retry_after=retry_after)

    def spent(self, usd: float | None, usage: Usage | None = None) -> None:
        """Take the cost and the tokens that a result reports. A later result may leave out what an earlier one has."""
        if usd is not None:
            self.usd = max(usd, self.usd or 0.0)
        if usage is not None:
            old = self.usage or Usage()
            input_, output, reasoning, cache = (_larger(getattr(old, name), getattr(usage, name)) for name in TOKENS)
            self.usage = Usage(
                input_tokens=input_, output_tokens=output, reasoning_tokens=reasoning, cache_tokens=cache
            )

    def ended(self, turns: int | None) -> bool:
        """Take the end of the agent's work, and return whether this result decides: the last one that has turns does.

        ``turns``: its model rounds; None: the agent does not count them. What was reported before is no failure then.
        """
        decides = turns != 0 or not self.has_turns
        self.complete = True
        self.has_turns = bool(self.has_turns) or turns != 0
        self.turns = max(turns or 0, self.turns or 0) or None
        if decides:
            self.failure = None
        return decides

    def asked_model(self) -> bool:
        """Whether there is any sign of a model call: a round, a message of the model, a call of a tool, tokens.

        A result without turns may repeat the tokens of another session. Where the agent counts turns or tokens, and
        there were none, its words are the CLI's own.
        """
        shown = self.rounds or self.log.calls or (self.log.last_text and self.has_turns is not False)
        counted = self.usage is not None and any(getattr(self.usage, name) is not None for name in TOKENS)
        of_model = _tokens(self.usage) if counted else self.final_output
        return bool(shown or (self.has_turns and of_model))

    def _trouble(self, capture: Capture) -> Trouble | None:
        """Why the session cannot be judged: what the agent reported, else how it ended."""
        if self.failure:
            of_command = self.failure.kind == "runner-crash" and OWN_COMMAND.search(self.failure.message)
            return self._no_model_call(self.failure.message) if of_command and not self.asked_model() else self.failure
        if not self.complete:
            trouble = unfinished(capture, "\n".join(self.words))
            return replace(trouble, message=brief("; ".join((trouble.message, *self.unread))))
        crash = crashed(capture, stderr_words(capture))
        if crash and (crash.kind != "runner-crash" or is_killed(capture)):
            return crash
        if not self.asked_model():
            words = self.final_output.strip() or capture.stderr.tail(MAX_ERROR_CHARACTERS).strip()
            return replace(self._no_model_call(words), kind="runner-crash" if crash else "no-model-call")
        self.exit_note = crash.message if crash else None
        return None

    def _no_model_call(self, words: str) -> Trouble:
        command = f"it ran its own command {self.own_command}" if self.own_command else ""
        return Trouble(kind="no-model-call", message=brief(": ".join(filter(None, (NO_MODEL_CALL, command, words)))))

    def transcript(self, capture: Capture) -> Transcript:
        """Return the transcript. How the process ended decides its trouble only if the agent reported none."""
        known = self.rounds
        if not self.WHOLE_ROUNDS:
            known = {key: replace(usage, output_tokens=None) for key, usage in known.items()}
        trouble, answer = self._trouble(capture), self.log.last_text
        if self.usd == 0 and (_tokens(self.usage) or any(map(_tokens, self.rounds.values()))):
            self.usd = None  # of a model whose price the agent does not know
        return Transcript(
            events=self.log.events(known),
            dropped_events=self.log.bounded.dropped,
            # Some results have only the beginning of the last message.
            final_output=answer if self.final_output and answer.startswith(self.final_output) else self.final_output,
            session_id=self.session_id,
            model=self.model,
            usage=self.usage or total_usage(self.rounds.values()),
            cost=Cost() if self.usd is None else Cost(usd=self.usd, source="reported"),
            turns=self.turns or len(self.rounds) or None,
            version=self.version,
            skills=self.skills,
            models=tuple(self.models),
            background=self.log.left_running[:MAX_FINDINGS] if self.complete and not self.unread else (),
            mcp_servers=self._all_servers(capture) or None,
            trouble=trouble,
            exit_note=None if trouble else self.exit_note,
        )

    def _all_servers(self, capture: Capture) -> tuple[McpServer, ...]:
        """Those whose status the agent reported, and those of which it complains on stderr."""
        for name in servers_complained_of(capture.stderr.lines()):
            if not has_failed(self.servers.get(name, "")):
                self.servers[name] = FAILED
        return tuple(McpServer(name=name, status=status) for name, status in self.servers.items())


def _larger(old: int | None, new: int | None) -> int | None:
    return new if old is None else old if new is None else max(old, new)


def _tokens(usage: Usage | None) -> int:
    """The tokens that are known; 0: none is."""
    return sum(getattr(usage, name) or 0 for name in TOKENS) if usage else 0


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


_FLAGS = frozenset({"runinbackground", "isbackground", "background", "detach", "detached"})
_MODES = frozenset({"async", "background", "detached"})
_NAMES = ("command", "cmd", "description", "prompt")
_STOPS = re.compile(r"kill|stop|cancel", re.IGNORECASE)


def is_in_background(args: object) -> bool:
    """Whether the arguments of a tool call ask for work in the background, by the names that agents give to that.

    Such work ends with the session at the latest, whether it is done or not.
    """
    if not isinstance(args, dict):
        return False
    flags = {re.sub(r"[^a-z]", "", str(key).lower()): value for key, value in args.items()}
    return any(flags.get(name) is True for name in _FLAGS) or flags.get("mode") in _MODES


def name_of_work(tool: str, args: object) -> str:
    """What the work is: its command or its description, else the tool."""
    arguments = LenientJson(args)
    return next((text for name in _NAMES if (text := arguments.text(name))), tool)


def stops_work(tool: str) -> bool:
    """Whether a tool ends work in the background, such as KillShell."""
    return _STOPS.search(tool) is not None
