"""What an agent did, in one form for all agents.

Standard library only: the Python suite host shows these classes to checks. On disk and in the suite host protocol the
same names are written in camelCase.
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from skillgym_action.model.records import record

if TYPE_CHECKING:
    from collections.abc import Mapping


@record
class RoundUsage:
    """Tokens of one model round, defined as in ``Usage``. Unknown is None, not zero."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    cache_tokens: int | None = None


@record
class Message:
    """A message. ``phase`` is None for messages of the user; ``at``: ISO 8601, here and in all events.

    ``usage``: of the model round that it belongs to; one message or tool call of each round has it, if any.
    """

    role: Literal["user", "assistant"]
    text: str
    phase: Literal["thinking", "commentary", "final"] | None = None
    at: str | None = None
    usage: RoundUsage | None = None
    type: Literal["message"] = "message"


@record
class ToolCall:
    """A call of a tool; ``tool`` is the agent's own name for it. ``usage``: as in ``Message``."""

    tool: str
    args: Any = None
    at: str | None = None
    duration_ms: int | None = None
    usage: RoundUsage | None = None
    type: Literal["toolCall"] = "toolCall"


@record
class ToolResult:
    """The output of a tool. ``failed``: whether it reported an error; None: the agent does not say that it did."""

    output: str
    tool: str | None = None
    failed: bool | None = None
    at: str | None = None
    type: Literal["toolResult"] = "toolResult"


@record
class Command:
    """A shell command that the agent ran. ``exit_code`` is None if the agent does not report it."""

    command: str
    exit_code: int | None = None
    at: str | None = None
    type: Literal["command"] = "command"


@record
class FileRead:
    """A file the agent read; an absolute path."""

    path: str
    at: str | None = None
    type: Literal["fileRead"] = "fileRead"


@record
class FileWrite:
    """A file the agent wrote; an absolute path."""

    path: str
    at: str | None = None
    type: Literal["fileWrite"] = "fileWrite"


@record
class SkillSignal:
    """A skill that the agent loaded explicitly; ``signal``: how."""

    skill: str
    signal: str
    at: str | None = None
    type: Literal["skillSignal"] = "skillSignal"


@record
class Raw:
    """A line that the agent's adapter does not know: kept, never an error."""

    line: str
    type: Literal["raw"] = "raw"


class MissingEventsError(Exception):
    """A session has more events than are kept, so nothing can be said about all of them."""


class MissingEvents(tuple[()]):
    """In place of events that are not all there: whoever looks at them gets a MissingEventsError."""

    __slots__ = ()

    def _refused(self, *_: object) -> NoReturn:
        """Raise MissingEventsError."""
        raise MissingEventsError(MISSING_EVENTS)

    __iter__ = __len__ = __getitem__ = __contains__ = __eq__ = __hash__ = __reversed__ = _refused


MISSING_EVENTS = "the session has more events than are kept: nothing can be said about all of them"
Event = Message | ToolCall | ToolResult | Command | FileRead | FileWrite | SkillSignal | Raw
Source = Literal["provider", "chars"]
Answered = Literal["loaded", "rounds"]
"""Why the session of a trigger query was ended: a skill was loaded, or none was in the model rounds that it has."""


@record
class UsageSource:
    """Where the numbers of a ``Usage`` come from: tokens counted by the provider, or characters only."""

    input: Source
    output: Source
    reasoning: Source


@record
class Usage:
    """Tokens, with the same definitions for all agents. Unknown is None, not zero.

    Input includes cached input; output excludes reasoning; cache is the reused part of the input;
    total = input + output + reasoning - cache. Characters are always known.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    cache_tokens: int | None = None
    total_tokens: int | None = None
    input_chars: int = 0
    output_chars: int = 0
    reasoning_chars: int = 0

    @property
    def source(self) -> UsageSource:
        """Which of the tokens are known."""
        input_, output, reasoning = map(_source, (self.input_tokens, self.output_tokens, self.reasoning_tokens))
        return UsageSource(input=input_, output=output, reasoning=reasoning)


def _source(tokens: int | None) -> Source:
    return "chars" if tokens is None else "provider"


@record
class Cost:
    """US dollars. ``source``: reported by the agent, or computed from tokens and prices."""

    usd: float | None = None
    source: Literal["reported", "computed", "unknown"] = "unknown"


@record
class Price:
    """US dollars per million tokens. ``cached``: of input from a cache; None: the price of other input."""

    input: float
    output: float
    cached: float | None = None


@record
class Trouble:
    """Why assertions do not decide a session: an infrastructure failure, or a failure of the agent's own.

    ``kind`` is a key of ``verdicts.TROUBLES``; ``retry_after``: seconds that the service asked to wait.
    """

    kind: str
    message: str
    retry_after: float | None = None


@record
class McpServer:
    """An MCP server of a session; ``status``: the last one in the agent's words; of a complaint only, ``failed``."""

    name: str
    status: str


@record
class Transcript:
    """What an agent's adapter read from its output; ``normalise`` makes a ``SessionReport`` of it.

    ``duration_ms`` as the agent reports it; ``turns``: model rounds; ``skills``: names of all skills the agent had.
    ``mcp_servers``: None: it had none, or the agent does not tell.
    ``watched_skills`` and ``answered``: as in a session report, of a recorded session. ``exchanges``: of a recorded
    conversation. ``models``: those that answered the main agent; (): ``model``. ``background``: what was not waited
    for, such as commands in the background. ``dropped_events``: how many events came after the limits. ``exit_note``:
    how the process ended after a result that is judged, if it was not with 0.
    """

    events: tuple[Event, ...] = ()
    final_output: str = ""
    session_id: str | None = None
    model: str | None = None
    usage: Usage = field(default_factory=Usage)
    cost: Cost = field(default_factory=Cost)
    turns: int | None = None
    version: str | None = None
    skills: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    background: tuple[str, ...] = ()
    mcp_servers: tuple[McpServer, ...] | None = None
    duration_ms: int | None = None
    trouble: Trouble | None = None
    watched_skills: tuple[str, ...] | None = None
    answered: Answered | None = None
    exchanges: tuple[SessionReport, ...] | None = None
    dropped_events: int = 0
    exit_note: str | None = None


@record
class SkillDetection:
    """A skill that the session used, with confidence and evidence."""

    skill: str
    confidence: Literal["explicit", "strong", "medium", "weak"]
    evidence: tuple[str, ...] = ()


@record
class ObservedFiles:
    """Absolute paths of files that the agent read, with a tool or a shell command."""

    observed_reads: tuple[str, ...] = ()
    observed_skill_reads: tuple[str, ...] = ()


@record
class AgentRef:
    """The agent of a session."""

    type: str
    model: str | None = None


@record
class RunnerRef:
    """The runner of a session; ``path_key``: its folder in the artifacts."""

    id: str
    path_key: str
    agent: AgentRef


@record
class SessionReport:
    """What the agent did, in one form for all agents. Assertions see it and the workspace, nothing else.

    Times are ISO 8601 in UTC; ``cwd``: absolute path of the workspace; ``raw_artifacts``: name -> file beside the
    report; ``exit_code``: of the agent's process. ``mcp_servers``: None: it had none, or does not tell.
    ``watched_skills``: names of the skills that were installed for the session, and whose load would be among the
    events; (): none was, for a suite about a skill; None: it is not about one, or the agent reports no events.
    ``answered``: why the session of a trigger query was ended; None: it was not. ``exchanges``: of a conversation, a
    report for each of its turns. ``dropped_events``: how many events are not in ``events``, which has the first ones;
    None: all are.
    """

    runner: RunnerRef
    prompt: str
    cwd: str
    session_id: str | None = None
    usage: Usage = field(default_factory=Usage)
    files: ObservedFiles = field(default_factory=ObservedFiles)
    detected_skills: tuple[SkillDetection, ...] = ()
    events: tuple[Event, ...] = ()
    final_output: str = ""
    started_at: str | None = None
    ended_at: str | None = None
    duration_ms: int | None = None
    raw_artifacts: Mapping[str, str] = field(default_factory=dict)
    cost: Cost = field(default_factory=Cost)
    model: str | None = None
    turns: int | None = None
    version: str | None = None
    exit_code: int | None = None
    mcp_servers: tuple[McpServer, ...] | None = None
    trouble: Trouble | None = None
    watched_skills: tuple[str, ...] | None = None
    answered: Answered | None = None
    exchanges: tuple[SessionReport, ...] | None = None
    dropped_events: int | None = None

    def guarded(self) -> SessionReport:
        """The report, from which nothing is read that depends on events if some of them are not there."""
        if not self.dropped_events:
            return self
        missing = MissingEvents()
        files = ObservedFiles(observed_reads=missing, observed_skill_reads=missing)
        return replace(self, events=missing, files=files, detected_skills=missing)
