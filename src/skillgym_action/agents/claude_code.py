"""Claude Code: ``claude -p`` reads the prompt from stdin and prints one JSON object a line.

Its signs, verified with the version in ``AGENTS``: ``subtype`` says "success" even when the model call failed, so
``is_error`` decides; tokens on ``assistant`` lines are those of the start of a message, repeated for each of its
parts; ``result.usage`` leaves out sub-agents, ``result.modelUsage`` counts them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillgym_action.model.session import Invocation, Progress
from skillgym_action.model.session_report import (
    Command,
    FileRead,
    FileWrite,
    SkillSignal,
    Usage,
)
from skillgym_action.transcripts.agent_output import TranscriptParser, total, total_usage
from skillgym_action.transcripts.lenient_json import json_object
from skillgym_action.transcripts.trouble_signs import crashed, kind_of_status, kind_of_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillgym_action.model.session import Capture, Session
    from skillgym_action.model.session_report import Transcript, Trouble
    from skillgym_action.transcripts.agent_output import Effect
    from skillgym_action.transcripts.lenient_json import LenientJson

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
    said = json_object(line)
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
    reading.read(capture.stdout)
    return reading.transcript(capture)


def trouble(capture: Capture, transcript: Transcript) -> Trouble | None:
    """The stream's own word first; how the process ended is evidence only where the stream says nothing."""
    return transcript.trouble or crashed(capture)


@dataclass
class _Reading(TranscriptParser):
    error: str = ""
    retry_after: float | None = None

    def take(self, said: LenientJson) -> bool:
        match said.text("type"), said.text("subtype"):
            case "system", "init":
                self.model, self.version = said.text("model"), said.text("claude_code_version")
                self.skills = said.texts("skills")
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
                self._result(said)
            case _:
                return False
        self.session_id = said.text("session_id") or self.session_id
        return True

    def _assistant(self, said: LenientJson) -> None:
        message = said.child("message")
        if message.text("model") == SYNTHETIC:
            self.error = said.text("error") or self.error
        elif step := message.text("id"):
            self.rounds[step] = _usage(message.child("usage"))
            self.model = self.model or message.text("model")
        at = said.text("timestamp")
        for part in message.children("content"):
            if (text := part.text("text")) is not None:
                self.log.assistant_message(text, at, main=said.at("parent_tool_use_id") is None)
            elif (thought := part.text("thinking")) is not None:
                self.log.thinking(thought, at)
            elif (tool := part.text("name")) is not None:
                effects = _effects(tool, part.child("input"))
                self.log.call(part.text("id") or "", tool, part.at("input"), effects, at)

    def _user(self, said: LenientJson) -> None:
        at = said.text("timestamp")
        own = said.at("parent_tool_use_id") is None and not said.true("isSynthetic")
        if own and (text := said.text("message", "content")) is not None:
            self.log.user_message(text, at)
        for part in said.children("message", "content"):
            if part.text("type") == "tool_result":
                texts = [text for item in part.children("content") if (text := item.text("text")) is not None]
                output, failed = part.text("content") or "\n".join(texts), part.true("is_error")
                code = _exit_code(output, said, failed=failed)
                self.log.result(part.text("tool_use_id") or "", output, failed=failed, exit_code=code, at=at)
            elif own and (text := part.text("text")) is not None:
                self.log.user_message(text, at)

    def _result(self, result: LenientJson) -> None:
        self.complete = True
        self.final_output = result.text("result") or ""
        self.usd, self.turns = result.amount("total_cost_usd"), result.count("num_turns")
        by_model = [_usage(told, BY_MODEL) for told in result.children("modelUsage")]
        self.usage = total_usage(by_model or [_usage(result.child("usage"))])
        if result.true("is_error"):
            subtype = result.text("subtype") or ""
            message = self.final_output or "; ".join(result.texts("errors")) or subtype
            kind = LIMITS.get(subtype) or kind_of_status(result.count("api_error_status"))
            kind = kind or kind_of_text(f"{self.error} {message}") or kind_of_text(subtype)
            self.fail(message, kind, retry_after=self.retry_after if kind == "rate-limit" else None)


def _effects(tool: str, given: LenientJson) -> Iterator[Effect]:
    if tool == "Bash" and (command := given.text("command")) is not None:
        yield Command(command=command)
    elif tool == "Skill" and (skill := given.text("skill")):
        yield SkillSignal(skill=skill.lstrip("/"), signal="Skill tool")
    elif tool in FILES and (path := given.text(FILES[tool][0])):
        yield FILES[tool][1](path=path)


def _exit_code(output: str, said: LenientJson, *, failed: bool) -> int | None:
    """The code is told in words, and only when it is not 0; a command in the background has none yet."""
    if failed:
        code = EXIT_CODE.match(output)
        return int(code[1]) if code else None
    return None if said.at("tool_use_result", "backgroundTaskId") else 0


def _usage(told: LenientJson, names: tuple[str, str, str, str] = IN_MESSAGE) -> Usage:
    fresh, written, cached, output = (told.count(name) for name in names)
    return Usage(input_tokens=total((fresh, written, cached)), cache_tokens=cached, output_tokens=output)
