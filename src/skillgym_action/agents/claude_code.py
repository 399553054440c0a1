"""Claude Code: ``claude -p`` reads the prompt from stdin and prints one JSON object per line.

Verified with the version in ``AGENTS``: ``subtype`` says "success" even when the model call failed, so
``is_error`` decides; tokens on ``assistant`` lines are those of the start of a message, repeated for each of its
parts; ``result.usage`` leaves out sub-agents, ``result.modelUsage`` counts them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillgym_action.agents.defaults import (
    StreamParser,
    Tools,
    cli_invocation,
    lines_of,
    reported_or_crashed,
    streamed_events,
)
from skillgym_action.model.session import Invocation, Progress
from skillgym_action.model.session_report import Usage
from skillgym_action.transcripts.agent_output import total, total_usage
from skillgym_action.transcripts.lenient_json import json_object
from skillgym_action.transcripts.trouble_signs import kind_of_error

if TYPE_CHECKING:
    from skillgym_action.model.session import Session
    from skillgym_action.transcripts.lenient_json import LenientJson

LIMITS = {"error_max_turns": "max-steps", "error_max_budget_usd": "budget-exceeded"}
# How the model ended: the result's ``stop_reason``, and its ``terminal_reason``.
ENDINGS = {"refusal": "refused", "max_tokens": "output-limit", "model_context_window_exceeded": "context-exceeded"}
TERMINAL = {"prompt_too_long": "context-exceeded"}
EXIT_CODE = re.compile(r"(?:Error: )?Exit code (\d+)\b")
SYNTHETIC = "<synthetic>"
TOOLS = Tools(
    commands={"Bash": "command"},
    skills={"Skill": "skill"},
    reads={"Read": "file_path"},
    writes={"Write": "file_path", "Edit": "file_path", "MultiEdit": "file_path", "NotebookEdit": "notebook_path"},
)
# Keys of: uncached input, input written to the cache, input read from the cache, output. No token is in two of them.
MESSAGE_USAGE_KEYS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
MODEL_USAGE_KEYS = ("inputTokens", "cacheCreationInputTokens", "cacheReadInputTokens", "outputTokens")
# Subtypes of ``system`` lines that have no content of the session.
IGNORED_SUBTYPES = frozenset({"thinking_tokens", "task_started", "task_progress", "task_updated", "task_notification"})


def invocation(session: Session, *resumed: str) -> Invocation:
    """A session with its own configuration folder. The CLI retries a failed model call twice."""
    options = ("-p", "--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions")
    budget = () if session.budget is None else ("--max-budget-usd", f"{session.budget:.6f}")
    return cli_invocation(
        session,
        ("claude", *options, *resumed, *budget),
        env={
            "CLAUDE_CONFIG_DIR": str(session.home / ".claude"),
            "IS_SANDBOX": "1",  # without it the CLI refuses to run unattended as root
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_MAX_RETRIES": "2",
        },
        collect=(".claude/projects/*/*.jsonl",),
    )


def resume(session: Session, session_id: str) -> Invocation:
    """Needs the home folder of the continued session."""
    return invocation(session, f"--resume={session_id}")


def progress(line: str) -> Progress | None:
    """A step is a message of the model; tokens are those known when it starts."""
    event = json_object(line)
    if event is None:
        return None
    if event.text("type") == "result":
        return Progress(finished=True)
    if (event.text("type"), event.text("subtype")) == ("system", "api_retry"):
        return Progress(retrying=True)
    step, model = event.text("message", "id"), event.text("message", "model")
    if event.text("type") != "assistant" or step is None or model == SYNTHETIC:
        return None
    return Progress(step=step, usage=_usage(event.child("message", "usage")), model=model)


@dataclass
class _Parser(StreamParser):
    error: str = ""
    retry_after: float | None = None

    def take(self, event: LenientJson) -> bool:
        match event.text("type"), event.text("subtype"):
            case "system", "init":
                self.model, self.version = event.text("model"), event.text("claude_code_version")
                self.skills = event.texts("skills")
            case "system", "api_retry":
                delay = event.amount("retry_delay_ms")
                self.retry_after = delay / 1000 if delay is not None else None
            case "system", str(subtype) if subtype in IGNORED_SUBTYPES:
                pass
            case "assistant", _:
                self._assistant(event)
            case "user", _:
                self._user(event)
            case "result", _:
                self._result(event)
            case _:
                return False
        self.session_id = event.text("session_id") or self.session_id
        return True

    def _assistant(self, event: LenientJson) -> None:
        message = event.child("message")
        if message.text("model") == SYNTHETIC:
            self.error = event.text("error") or self.error
        elif step := message.text("id"):
            self.rounds[step] = _usage(message.child("usage"))
            self.model = self.model or message.text("model")
        at = event.text("timestamp")
        for part in message.children("content"):
            if (text := part.text("text")) is not None:
                self.log.assistant_message(text, at, main=event.at("parent_tool_use_id") is None)
            elif (thought := part.text("thinking")) is not None:
                self.log.thinking(thought, at)
            elif (tool := part.text("name")) is not None:
                effects = TOOLS.effects(tool, part.child("input"))
                self.log.call(part.text("id") or "", tool, part.at("input"), effects, at)

    def _user(self, event: LenientJson) -> None:
        at = event.text("timestamp")
        own = event.at("parent_tool_use_id") is None and not event.true("isSynthetic")
        if own and (text := event.text("message", "content")) is not None:
            self.log.user_message(text, at)
        for part in event.children("message", "content"):
            if part.text("type") == "tool_result":
                texts = [text for item in part.children("content") if (text := item.text("text")) is not None]
                output, failed = part.text("content") or "\n".join(texts), part.true("is_error")
                code = _exit_code(output, event, failed=failed)
                self.log.result(part.text("tool_use_id") or "", output, failed=failed, exit_code=code, at=at)
            elif own and (text := part.text("text")) is not None:
                self.log.user_message(text, at)

    def _result(self, result: LenientJson) -> None:
        self.complete = True
        self.final_output = result.text("result") or ""
        self.usd, self.turns = result.amount("total_cost_usd"), result.count("num_turns")
        by_model = [_usage(counts, MODEL_USAGE_KEYS) for counts in result.children("modelUsage")]
        self.usage = total_usage(by_model or [_usage(result.child("usage"))])
        if result.true("is_error"):
            subtype = result.text("subtype") or ""
            message = self.final_output or "; ".join(result.texts("errors")) or subtype
            ending = ENDINGS.get(result.text("stop_reason") or "") or TERMINAL.get(result.text("terminal_reason") or "")
            kind = LIMITS.get(subtype) or ending
            kind = kind or kind_of_error(f"{self.error} {message} {subtype}", result.count("api_error_status"))
            self.fail(message, kind, retry_after=self.retry_after if kind == "rate-limit" else None)


transcript = streamed_events(_Parser)
reading = lines_of(_Parser)
trouble = reported_or_crashed


def _exit_code(output: str, event: LenientJson, *, failed: bool) -> int | None:
    """The exit code of a command. One that is not 0 is in the output's text; a background command has none yet."""
    if failed:
        code = EXIT_CODE.match(output)
        return int(code[1]) if code else None
    return None if event.at("tool_use_result", "backgroundTaskId") else 0


def _usage(counts: LenientJson, names: tuple[str, str, str, str] = MESSAGE_USAGE_KEYS) -> Usage:
    uncached, written, cached, output = (counts.count(name) for name in names)
    return Usage(input_tokens=total((uncached, written, cached)), cache_tokens=cached, output_tokens=output)
