"""Qwen Code: ``qwen --output-format stream-json`` reads the prompt from stdin and prints one JSON object a line.

Its signs, verified with the version in ``AGENTS``: it exits with 0 and "success" when a call of the model failed, and
lets the model say ``[API Error: …]``, for which no tokens were used; at its own limit of turns it prints no result. A
model round may be several lines, of which one has the tokens. Exit codes of commands are in the CLI's log of the
session only.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from skillgym_action.model.session import Invocation, Progress
from skillgym_action.model.session_report import Command, FileRead, FileWrite, SkillSignal, Usage
from skillgym_action.transcripts.agent_output import TranscriptParser
from skillgym_action.transcripts.lenient_json import LenientJson, json_object
from skillgym_action.transcripts.trouble_signs import crashed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillgym_action.model.session import Capture, Session
    from skillgym_action.model.session_report import Transcript, Trouble
    from skillgym_action.transcripts.agent_output import Effect

# The CLI tries a failed call six times more in any case; its other retries wait for minutes. Its memory would ask the
# model once more at the end of each session.
SETTINGS = {
    "security": {"auth": {"selectedType": "openai"}},
    "general": {"enableAutoUpdate": False},
    "privacy": {"usageStatisticsEnabled": False},
    "memory": {"enableManagedAutoMemory": False},
    "model": {"generationConfig": {"maxRetries": 0}},
}
# With a proxy the CLI sends everything there, whatever NO_PROXY says.
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")
FAILED_CALL = "[API Error: "
TURN_LIMIT = 53
ENDED = re.compile(r"\nExit Code: (\d+)\nSignal: (?:0|\(none\))\nProcess Group PGID: ")
FILES: dict[str, type[FileRead | FileWrite]] = {"read_file": FileRead, "write_file": FileWrite, "edit": FileWrite}


def invocation(session: Session) -> Invocation:
    """A session with a config folder of its own."""
    return _invocation(session)


def resume(session: Session, session_id: str) -> Invocation:
    """Needs the home and the workspace of the session that is continued."""
    return _invocation(session, f"--resume={session_id}")


def _invocation(session: Session, *resumed: str) -> Invocation:
    agent = session.agent
    argv = [*(agent.command or ("qwen",)), "--yolo", "--output-format", "stream-json", *resumed]
    if agent.model:
        argv += ["--model", agent.model]
    return Invocation(
        argv=(*argv, *agent.command_args),
        cwd=session.workspace,
        timeout=session.timeout,
        stdin=session.prompt,
        env={"HOME": str(session.home), **dict.fromkeys(PROXIES, ""), **agent.env},
        files={session.home / ".qwen" / "settings.json": json.dumps(SETTINGS)},
        collect=(".qwen/projects/*/chats/*.jsonl",),
    )


def progress(line: str) -> Progress | None:
    """A step is the line of a model round that has its tokens, or that calls for tools."""
    said = json_object(line) or LenientJson({})
    if said.text("type") == "result":
        return Progress(finished=True)
    message = said.child("message")
    if said.text("type") != "assistant" or not (_paid(message) or message.text("stop_reason") == "tool_use"):
        return None
    return Progress(step=message.text("id"), usage=_usage(message), model=message.text("model"))


def transcript(capture: Capture, session: Session) -> Transcript:  # noqa: ARG001  # the CLI tells all there is
    """Read line by line; a session that was ended early gives what it had said so far."""
    reading = _Reading()
    for log in capture.collected:
        for line in log.lines():
            reading.take_of_log(json_object(line) or LenientJson({}))
    reading.read(capture.stdout)
    reading.find_trouble(capture)
    return reading.transcript(capture)


def trouble(capture: Capture, transcript: Transcript) -> Trouble | None:
    """The stream's own word first; how the process ended is evidence only where the stream says nothing."""
    return transcript.trouble or crashed(capture)


@dataclass
class _Reading(TranscriptParser):
    """``logged``: what the log says that a call of a tool answered."""

    logged: dict[str, str] = field(default_factory=dict)
    failed_call: str = ""

    def take_of_log(self, said: LenientJson) -> None:
        """Answers of tools, as the model saw them."""
        for part in said.children("message", "parts"):
            if (output := part.text("functionResponse", "response", "output")) is not None:
                self.logged[part.text("functionResponse", "id") or ""] = output

    def take(self, said: LenientJson) -> bool:
        self.session_id = said.text("session_id") or self.session_id
        match said.text("type"), said.text("subtype"):
            case "system", "init":
                self.model, self.version = said.text("model"), said.text("qwen_code_version")
            case "assistant", _:
                self._assistant(said)
            case "user", _:
                self._user(said)
            case "result", _:
                self._result(said)
            case _:
                return False
        return True

    def _assistant(self, said: LenientJson) -> None:
        message, main = said.child("message"), said.at("parent_tool_use_id") is None
        if (key := message.text("id")) and _paid(message):
            self.rounds[key], self.failed_call = _usage(message), ""
        for part in message.children("content"):
            if (text := part.text("text")) is not None:
                self.log.assistant_message(text, main=main)
                if main and text.startswith(FAILED_CALL) and not _paid(message):
                    self.failed_call = text
            elif (thought := part.text("thinking")) is not None:
                self.log.thinking(thought)
            elif (tool := part.text("name")) is not None:
                given = part.child("input")
                self.log.call(part.text("id") or "", tool, part.at("input"), _effects(tool, given))

    def _user(self, said: LenientJson) -> None:
        for part in said.children("message", "content"):
            if part.text("type") == "tool_result":
                key, output = part.text("tool_use_id") or "", part.text("content") or ""
                code = _exit_code(self.logged.get(key, output))
                self.log.result(key, output, failed=part.true("is_error"), exit_code=code)

    def _result(self, result: LenientJson) -> None:
        self.complete, self.turns = True, result.count("num_turns")
        self.usage, self.final_output = _usage(result), result.text("result") or ""
        if result.true("is_error"):
            self.fail(result.text("error", "message") or self.final_output or "the session failed")
        elif self.failed_call and self.final_output.endswith(self.failed_call):
            self.fail(self.failed_call)

    def find_trouble(self, capture: Capture) -> None:
        """Of a process that ended without a result."""
        if self.complete:
            return
        if capture.exit_code == TURN_LIMIT:
            self.fail(capture.stderr.tail(500), "max-steps")
        elif refusal := _refusal(capture):
            self.fail(refusal, "runner-crash")


def _effects(tool: str, given: LenientJson) -> Iterator[Effect]:
    if tool == "run_shell_command" and (command := given.text("command")) is not None:
        yield Command(command=command)
    elif tool == "skill" and (skill := given.text("skill")):
        yield SkillSignal(skill=skill, signal="skill tool")
    elif tool in FILES and (path := given.text("file_path")):
        yield FILES[tool](path=path)


def _exit_code(output: str) -> int | None:
    """Of a command that ended by itself, as the CLI tells it to the model."""
    ended = ENDED.findall(output)
    return int(ended[-1]) if ended else None


def _paid(message: LenientJson) -> bool:
    return bool(message.count("usage", "input_tokens"))


def _usage(told: LenientJson) -> Usage:
    """Input includes what comes from the cache; output includes the reasoning, of which the stream tells nothing."""
    return Usage(
        input_tokens=told.count("usage", "input_tokens"),
        output_tokens=told.count("usage", "output_tokens"),
        cache_tokens=told.count("usage", "cache_read_input_tokens"),
    )


def _refusal(capture: Capture) -> str | None:
    """The first line of a long help that follows wrong arguments."""
    return next((line for line in capture.stderr.lines() if line.startswith("Unknown argument")), None)
