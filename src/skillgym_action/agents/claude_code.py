"""Claude Code: ``claude -p`` reads the prompt from stdin and prints one JSON object a line.

Its signs, verified with the version in ``AGENTS``: ``subtype`` says "success" even when the model call failed, so
``is_error`` decides; tokens on ``assistant`` lines are those of the start of a message, repeated for each of its
parts; ``result.usage`` leaves out sub-agents, ``result.modelUsage`` counts them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from skillgym_action.loose_json import Loose, object_in, shortened
from skillgym_action.session import Invocation, Progress
from skillgym_action.session_report import (
    Command,
    Cost,
    Event,
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
from skillgym_action.troubles import brief, crashed, kind_of_status, kind_of_text, unfinished

if TYPE_CHECKING:
    from skillgym_action.session import Capture, Session

LIMITS = {"error_max_turns": "max-steps", "error_max_budget_usd": "budget-exceeded"}
EXIT_CODE = re.compile(r"(?:Error: )?Exit code (\d+)\b")
SYNTHETIC = "<synthetic>"
FILES: dict[str, tuple[str, type[FileRead | FileWrite]]] = {
    "Read": ("file_path", FileRead),
    "Write": ("file_path", FileWrite),
    "Edit": ("file_path", FileWrite),
    "MultiEdit": ("file_path", FileWrite),
    "NotebookEdit": ("notebook_path", FileWrite),
}
# Input, input written to the cache, input read from the cache, output; inputs exclude one another.
IN_MESSAGE = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
BY_MODEL = ("inputTokens", "cacheCreationInputTokens", "cacheReadInputTokens", "outputTokens")
# Lines that say nothing of the session's content.
SILENT = frozenset({"thinking_tokens", "task_started", "task_progress", "task_updated", "task_notification"})


def invocation(session: Session) -> Invocation:
    """A session with a config folder of its own; the CLI tries a failed model call twice more, and so may we."""
    return _invocation(session)


def resume(session: Session, session_id: str) -> Invocation:
    """Needs the home of the session that is continued."""
    return _invocation(session, f"--resume={session_id}")


def _invocation(session: Session, *resumed: str) -> Invocation:
    agent = session.agent
    argv = [*(agent.command or ("claude",)), "-p", "--output-format", "stream-json", "--verbose"]
    argv += ["--dangerously-skip-permissions", *resumed]
    if agent.model:
        argv += ["--model", agent.model]
    if session.budget is not None:
        argv += ["--max-budget-usd", f"{session.budget:.6f}"]
    return Invocation(
        argv=(*argv, *agent.command_args),
        cwd=session.workspace,
        timeout=session.timeout,
        stdin=session.prompt,
        env={
            "HOME": str(session.home),
            "CLAUDE_CONFIG_DIR": str(session.home / ".claude"),
            "IS_SANDBOX": "1",  # without it the CLI refuses to run unattended as root
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_MAX_RETRIES": "2",
            **agent.env,
        },
        collect=(".claude/projects/*/*.jsonl",),
    )


def progress(line: str) -> Progress | None:
    """A step is a message of the model; tokens are those known when it starts."""
    said = object_in(line)
    if said is None:
        return None
    if said.text("type") == "result":
        return Progress(finished=True)
    step, model = said.text("message", "id"), said.text("message", "model")
    if said.text("type") != "assistant" or step is None or model == SYNTHETIC:
        return None
    return Progress(step=step, usage=_usage(said.child("message", "usage")), model=model)


def transcript(capture: Capture, session: Session) -> Transcript:  # noqa: ARG001  # the stream tells all there is
    """Read line by line; a session that was ended early gives what it had said so far."""
    reading = _Reading()
    for line in capture.stdout.lines():
        reading.add(line)
    return reading.transcript(capture)


def trouble(capture: Capture, transcript: Transcript) -> Trouble | None:
    """The stream's own word first; how the process ended is evidence only where the stream says nothing."""
    return transcript.trouble or crashed(capture)


@dataclass
class _Call:
    """A tool call that waits for its result: its tool, and where its command or other effect is in the events."""

    tool: str
    command: int | None = None
    effect: int | None = None


@dataclass
class _Reading:
    """What has been read so far. An event is taken back (None) when its tool turns out to have failed."""

    events: list[Event | None] = field(default_factory=list)
    calls: dict[str, _Call] = field(default_factory=dict)
    rounds: dict[str, Usage] = field(default_factory=dict)
    start: Loose = field(default_factory=lambda: Loose({}))
    result: Loose | None = None
    session_id: str | None = None
    model: str | None = None
    error: str = ""
    retry_after: float | None = None
    last_text: int | None = None

    def add(self, line: str) -> None:
        """Take one line of stdout."""
        said = object_in(line)
        match (said.text("type"), said.text("subtype")) if said else (None, None):
            case _ if said is None:
                if line.strip():
                    self.events.append(Raw(line=shortened(line)))
            case "system", "init":
                self.start, self.model = said, said.text("model")
            case "system", "api_retry":
                delay = said.amount("retry_delay_ms")
                self.retry_after = delay / 1000 if delay is not None else None
            case "system", str(subtype) if subtype in SILENT:
                pass
            case "assistant", _:
                self._assistant(said)
            case "user", _:
                self._user(said)
            case "result", _:
                self.result = said
            case _:
                self.events.append(Raw(line=shortened(line)))
        if said:
            self.session_id = said.text("session_id") or self.session_id

    def _assistant(self, said: Loose) -> None:
        message = said.child("message")
        if message.text("model") == SYNTHETIC:
            self.error = said.text("error") or self.error
        elif step := message.text("id"):
            self.rounds[step] = _usage(message.child("usage"))
            self.model = self.model or message.text("model")
        at, main = said.text("timestamp"), said.at("parent_tool_use_id") is None
        for part in message.children("content"):
            if (text := part.text("text")) is not None:
                if main:
                    self.last_text = len(self.events)
                self.events.append(Message(role="assistant", phase="commentary", text=text, at=at))
            elif (thought := part.text("thinking")) is not None:
                self.events.append(Message(role="assistant", phase="thinking", text=thought, at=at))
            elif (tool := part.text("name")) is not None:
                self._call(tool, part, at)

    def _call(self, tool: str, part: Loose, at: str | None) -> None:
        self.last_text = None
        self.events.append(ToolCall(tool=tool, args=part.at("input"), at=at))
        call = self.calls[part.text("id") or ""] = _Call(tool)
        given = part.child("input")
        if tool == "Bash" and (command := given.text("command")) is not None:
            call.command = self._event(Command(command=command, at=at))
        elif tool == "Skill" and (skill := given.text("skill")):
            call.effect = self._event(SkillSignal(skill=skill.lstrip("/"), signal="Skill tool", at=at))
        elif tool in FILES and (path := given.text(FILES[tool][0])):
            call.effect = self._event(FILES[tool][1](path=path, at=at))

    def _event(self, event: Event) -> int:
        self.events.append(event)
        return len(self.events) - 1

    def _user(self, said: Loose) -> None:
        at = said.text("timestamp")
        own = said.at("parent_tool_use_id") is None and not said.true("isSynthetic")
        if own and (text := said.text("message", "content")) is not None:
            self.events.append(Message(role="user", text=text, at=at))
        for part in said.children("message", "content"):
            if part.text("type") == "tool_result":
                self._result(part, said, at)
            elif own and (text := part.text("text")) is not None:
                self.events.append(Message(role="user", text=text, at=at))

    def _result(self, part: Loose, said: Loose, at: str | None) -> None:
        call = self.calls.get(part.text("tool_use_id") or "", _Call(""))
        texts = [text for item in part.children("content") if (text := item.text("text")) is not None]
        output = part.text("content") or "\n".join(texts)
        failed = part.true("is_error")
        if failed and call.effect is not None:
            self.events[call.effect] = None
        command = self.events[call.command] if call.command is not None else None
        if isinstance(command, Command):
            self.events[call.command or 0] = replace(command, exit_code=_exit_code(output, said, failed=failed))
        self.events.append(ToolResult(tool=call.tool or None, output=output, at=at))

    def transcript(self, capture: Capture) -> Transcript:
        """All that was read, as one value."""
        result = self.result or Loose({})
        final = self.events[self.last_text] if self.last_text is not None else None
        if isinstance(final, Message):
            self.events[self.last_text or 0] = replace(final, phase="final")
        cost = result.amount("total_cost_usd")
        return Transcript(
            events=tuple(event for event in self.events if event is not None),
            final_output=result.text("result") or "",
            session_id=self.session_id,
            model=self.model,
            usage=_total_usage(result, self.rounds),
            cost=Cost(usd=cost, source="reported") if cost is not None else Cost(),
            turns=result.count("num_turns") or len(self.rounds) or None,
            version=self.start.text("claude_code_version"),
            skills=self.start.texts("skills"),
            trouble=self._trouble(capture),
        )

    def _trouble(self, capture: Capture) -> Trouble | None:
        if self.result is None:
            return unfinished(capture)
        if not self.result.true("is_error"):
            return crashed(capture)
        subtype = self.result.text("subtype") or ""
        message = self.result.text("result") or "; ".join(self.result.texts("errors")) or subtype
        kind = LIMITS.get(subtype) or kind_of_status(self.result.count("api_error_status"))
        kind = kind or kind_of_text(f"{self.error} {message}") or kind_of_text(subtype) or "runner-crash"
        after = self.retry_after if kind == "rate-limit" else None
        return Trouble(kind=kind, message=brief(message), retry_after=after)


def _exit_code(output: str, said: Loose, *, failed: bool) -> int | None:
    """The code is told in words, and only when it is not 0; a command in the background has none yet."""
    if failed:
        code = EXIT_CODE.match(output)
        return int(code[1]) if code else None
    return None if said.at("tool_use_result", "backgroundTaskId") else 0


def _usage(told: Loose, names: tuple[str, str, str, str] = IN_MESSAGE) -> Usage:
    fresh, written, cached, output = (told.count(name) for name in names)
    return Usage(input_tokens=_sum((fresh, written, cached)), cache_tokens=cached, output_tokens=output)


def _total_usage(result: Loose, rounds: dict[str, Usage]) -> Usage:
    """By model, so that sub-agents count; else of the result; else, as lower bounds, of the messages seen."""
    by_model = [_usage(told, BY_MODEL) for told in result.children("modelUsage")]
    usages = by_model or [_usage(result.child("usage"))] if result.value else list(rounds.values())
    return Usage(
        input_tokens=_sum([usage.input_tokens for usage in usages]),
        output_tokens=_sum([usage.output_tokens for usage in usages]),
        cache_tokens=_sum([usage.cache_tokens for usage in usages]),
    )


def _sum(numbers: list[int | None] | tuple[int | None, ...]) -> int | None:
    """The sum of what is known; None when nothing is."""
    known = [number for number in numbers if number is not None]
    return sum(known) if known else None
