"""Qwen Code: ``qwen --output-format stream-json`` reads the prompt from stdin and prints one JSON object a line.

Verified with the version in ``AGENTS``: it exits with 0 and "success" when a call of the model failed, and
lets the model say ``[API Error: …]``, for which no tokens were used; at its own limit of turns it prints no result. A
model round may be several lines, of which one has the tokens. Exit codes of commands are in the CLI's log of the
session only.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from skillgym_action.agents.defaults import (
    StreamParser,
    Tools,
    cli_invocation,
    lines_of,
    reported_or_crashed,
    streamed_events,
    wrong_argument,
)
from skillgym_action.model.session import Invocation, Progress
from skillgym_action.model.session_report import Usage
from skillgym_action.transcripts.lenient_json import LenientJson, json_object

if TYPE_CHECKING:
    from skillgym_action.model.session import Capture, Session

# The CLI retries a failed call six times in any case; its other retries wait for minutes. Its memory would ask the
# model once more at the end of each session.
SETTINGS = {
    "security": {"auth": {"selectedType": "openai"}},
    "general": {"enableAutoUpdate": False},
    "privacy": {"usageStatisticsEnabled": False},
    "memory": {"enableManagedAutoMemory": False},
    "model": {"generationConfig": {"maxRetries": 0}},
}
# With a proxy the CLI sends everything there, and ignores NO_PROXY.
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")
FAILED_CALL = re.compile(r"\[API Error: (?P<why>.*)\](?:\n[^\]]*)?\Z", re.DOTALL)  # a line of advice may follow
# Of an answer without words, which is an answer; and of one without an end, for which tokens may have been counted.
NO_WORDS = "Model stream ended with empty response text"
NO_END = "Model stream ended without a finish reason"
TURN_LIMIT = 53
ENDED = re.compile(r"\nExit Code: (\d+)\nSignal: (?:0|\(none\))\nProcess Group PGID: ")
TOOLS = Tools(
    commands={"run_shell_command": "command"},
    skills={"skill": "skill"},
    reads={"read_file": "file_path"},
    writes={"write_file": "file_path", "edit": "file_path"},
)


def invocation(session: Session, *resumed: str) -> Invocation:
    """A session with a config folder of its own."""
    return cli_invocation(
        session,
        ("qwen", "--yolo", "--output-format", "stream-json", *resumed),
        env=dict.fromkeys(PROXIES, ""),
        files={session.home / ".qwen" / "settings.json": json.dumps(SETTINGS)},
        collect=(".qwen/projects/*/chats/*.jsonl",),
    )


def resume(session: Session, session_id: str) -> Invocation:
    """Needs the home and the workspace of the session that is continued."""
    return invocation(session, f"--resume={session_id}")


def progress(line: str) -> Progress | None:
    """A step is the line of a model round that has its tokens, or that calls for tools."""
    event = json_object(line) or LenientJson({})
    if event.text("type") == "result":
        return Progress(finished=True)
    message = event.child("message")
    if event.text("type") != "assistant" or not (_paid(message) or message.text("stop_reason") == "tool_use"):
        return None
    return Progress(step=message.text("id"), usage=_usage(message), model=message.text("model"))


@dataclass
class _Parser(StreamParser):
    """``logged``: results of tool calls according to the log."""

    logged: dict[str, str] = field(default_factory=dict)
    failed_call: str = ""

    def take_collected(self, record: LenientJson) -> None:
        """Take a line of the log: results of tools, as the model gets them."""
        for part in record.children("message", "parts"):
            if (output := part.text("functionResponse", "response", "output")) is not None:
                self.logged[part.text("functionResponse", "id") or ""] = output

    def take(self, event: LenientJson) -> bool:
        self.session_id = event.text("session_id") or self.session_id
        match event.text("type"), event.text("subtype"):
            case "system", "init":
                self.model, self.version = event.text("model"), event.text("qwen_code_version")
            case "assistant", _:
                self._assistant(event)
            case "user", _:
                self._user(event)
            case "result", _:
                self._result(event)
            case _:
                return False
        return True

    def _assistant(self, event: LenientJson) -> None:
        message, main = event.child("message"), event.at("parent_tool_use_id") is None
        if (key := message.text("id")) and _paid(message):
            self.rounds[key], self.failed_call = _usage(message), ""
        for part in message.children("content"):
            if (text := part.text("text")) is not None:
                if words := _without_notice(text):
                    self.log.assistant_message(words, main=main)
                failed = FAILED_CALL.search(words) if main else None
                if failed and (failed["why"].startswith(NO_END) or not _paid(message)):
                    self.failed_call = failed[0]
            elif (thought := part.text("thinking")) is not None:
                self.log.thinking(thought)
            elif (tool := part.text("name")) is not None:
                effects = TOOLS.effects(tool, part.child("input"))
                self.log.call(part.text("id") or "", tool, part.at("input"), effects)

    def _user(self, event: LenientJson) -> None:
        for part in event.children("message", "content"):
            if part.text("type") == "tool_result":
                key, output = part.text("tool_use_id") or "", part.text("content") or ""
                code = _exit_code(self.logged.get(key, output))
                self.log.result(key, output, failed=part.true("is_error"), exit_code=code)

    def _result(self, result: LenientJson) -> None:
        self.complete, self.turns = True, result.count("num_turns")
        self.usage, self.final_output = _usage(result), _without_notice(result.text("result") or "")
        if result.true("is_error"):
            self.fail(result.text("error", "message") or self.final_output or "the session failed")
        elif self.failed_call and self.final_output.endswith(self.failed_call):
            self.fail(self.failed_call)

    def finish(self, capture: Capture) -> None:
        """Of a process that ended without a result."""
        if self.complete:
            return
        if capture.exit_code == TURN_LIMIT:
            self.fail(capture.stderr.tail(500), "max-steps")
        elif refusal := wrong_argument(capture):
            self.fail(refusal, "runner-crash")


transcript = streamed_events(_Parser)
reading = lines_of(_Parser)
trouble = reported_or_crashed


def _exit_code(output: str) -> int | None:
    """The exit code of a command that ended by itself, from the text that the model gets."""
    ended = ENDED.findall(output)
    return int(ended[-1]) if ended else None


def _without_notice(text: str) -> str:
    """What the model said, without the CLI's notice that it said nothing."""
    notice = FAILED_CALL.search(text)
    return text[: notice.start()] if notice and notice["why"].startswith(NO_WORDS) else text


def _paid(message: LenientJson) -> bool:
    return bool(message.count("usage", "input_tokens"))


def _usage(event: LenientJson) -> Usage:
    """Input includes what comes from the cache; output includes the reasoning, which the stream does not count."""
    return Usage(
        input_tokens=event.count("usage", "input_tokens"),
        output_tokens=event.count("usage", "output_tokens"),
        cache_tokens=event.count("usage", "cache_read_input_tokens"),
    )
