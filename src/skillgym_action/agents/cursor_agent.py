"""Cursor CLI: ``cursor-agent -p --output-format stream-json`` prints one JSON object a line.

Written from the published format, not verified with the program: it is not on npm, and talks to its own service only.
A tool's name is the key under which its arguments are; ``result`` repeats all that was ever said; when the session
fails, the process may end without one. Skills are used by reading them.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from skillgym_action.model.session import Invocation, Progress
from skillgym_action.model.session_report import Command, FileRead, FileWrite, Usage
from skillgym_action.transcripts.agent_output import TranscriptParser, total
from skillgym_action.transcripts.lenient_json import LenientJson, json_object
from skillgym_action.transcripts.trouble_signs import crashed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillgym_action.model.session import Capture, Session
    from skillgym_action.model.session_report import Transcript, Trouble
    from skillgym_action.transcripts.agent_output import Effect

FILES: dict[str, type[FileRead | FileWrite]] = {"read": FileRead, "write": FileWrite, "edit": FileWrite}
# What people would want to see of a result.
SHOWN = ("stdout", "stderr", "content", "error", "errorMessage", "message")
LATEST = 253402300799  # the last second of the year 9999


def invocation(session: Session) -> Invocation:
    """The prompt is an argument, as the published description has it."""
    return _invocation(session)


def resume(session: Session, session_id: str) -> Invocation:
    """Needs the home of the session that is continued."""
    return _invocation(session, f"--resume={session_id}")


def _invocation(session: Session, *resumed: str) -> Invocation:
    agent = session.agent
    argv = [*(agent.command or ("cursor-agent",)), "-p", "--output-format", "stream-json", "--trust", "--force"]
    argv += resumed
    if agent.model:
        argv += ["--model", agent.model]
    return Invocation(
        argv=(*argv, *agent.command_args, "--", session.prompt),
        cwd=session.workspace,
        timeout=session.timeout,
        env={"HOME": str(session.home), **agent.env},
    )


def progress(line: str) -> Progress | None:
    """A step is a model call, as far as lines name it; else a message, or a call of a tool."""
    said = json_object(line) or LenientJson({})
    step = _step(said)
    if step is not None:
        return Progress(step=step)
    return Progress(finished=True) if said.text("type") == "result" else None


def transcript(capture: Capture, session: Session) -> Transcript:  # noqa: ARG001  # the stream tells all there is
    """Read line by line; a session that was ended early gives what it had said so far."""
    reading = _Reading()
    reading.read(capture.stdout)
    return reading.transcript(capture)


def trouble(capture: Capture, transcript: Transcript) -> Trouble | None:
    """The stream's own word first; how the process ended is evidence only where the stream says nothing."""
    return transcript.trouble or crashed(capture)


class _Reading(TranscriptParser):
    def take(self, said: LenientJson) -> bool:
        self.session_id = said.text("session_id") or self.session_id
        if (step := _step(said)) is not None and (self.rounds or said.text("model_call_id")):
            self.rounds[step] = Usage()
        match said.text("type"), said.text("subtype"):
            case "system", "init":
                self.model = said.text("model")
            case "user", _:
                self.log.user_message(_words(said), _at(said))
            case "assistant", _:
                self.log.assistant_message(_words(said), _at(said))
            case "tool_call", "started" | "completed":
                self._tool(said)
            case "result", _:
                self._result(said)
            case kind, _:
                return kind == "thinking"
        return True

    def _tool(self, said: LenientJson) -> None:
        key, (tool, told) = said.text("call_id") or "", _tool(said)
        if not self.log.called(key):
            self.log.call(key, tool, told.at("args"), _effects(tool, told.child("args")), _at(said))
        if said.text("subtype") == "completed":
            result = told.child("result")
            outcome = (*result.children(), LenientJson({}))[0]
            shown = [text for name in SHOWN if (text := outcome.text(name))]
            failed = bool(result.value) and "success" not in result.value
            code = outcome.count("exitCode")
            self.log.result(key, "\n".join(shown), failed=failed, exit_code=code, at=_at(said))

    def _result(self, result: LenientJson) -> None:
        self.complete = True
        usage = result.child("usage")
        cached = usage.count("cacheReadTokens")
        self.usage = Usage(
            input_tokens=total((usage.count("inputTokens"), cached)),
            output_tokens=usage.count("outputTokens"),
            cache_tokens=cached,
        )
        if result.true("is_error"):
            self.fail(result.text("result") or result.text("subtype") or "the session failed")


def _step(said: LenientJson) -> str | None:
    """Lines of one model call name it; final messages, and older versions, do not."""
    call = said.text("model_call_id")
    match said.text("type"), said.text("subtype"):
        case "assistant", _:
            return call or f"message: {_words(said)}"
        case "tool_call", "started":
            return call or said.text("call_id")
        case _:
            return None


def _tool(said: LenientJson) -> tuple[str, LenientJson]:
    """The tool's name in lower case, words joined by hyphens; its arguments, and its result if it has one."""
    function = said.child("tool_call", "function")
    if (name := function.text("name")) is not None:
        args = json_object(function.text("arguments") or "") or function.child("arguments")
        return name, LenientJson({"args": args.value, "result": function.at("result")})
    for key in said.child("tool_call").value:
        if key.endswith("ToolCall"):
            name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", key.removesuffix("ToolCall")).lower()
            return name, said.child("tool_call", key)
    return "", LenientJson({})


def _effects(tool: str, given: LenientJson) -> Iterator[Effect]:
    if tool == "shell" and (command := given.text("command")) is not None:
        yield Command(command=command)
    elif tool in FILES and (path := given.text("path")):
        yield FILES[tool](path=path)


def _words(said: LenientJson) -> str:
    return "".join(part.text("text") or "" for part in said.children("message", "content"))


def _at(said: LenientJson) -> str | None:
    """The time of a line that has one, in ISO 8601."""
    milliseconds = said.amount("timestamp_ms")
    if milliseconds is None or milliseconds / 1000 > LATEST:
        return None
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
