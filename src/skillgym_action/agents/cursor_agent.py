"""Cursor CLI: ``cursor-agent -p --output-format stream-json`` prints one JSON object a line.

Written from the published format, not verified with the program: it is not on npm, and talks to its own service only.
A tool's name is the key under which its arguments are; ``result`` repeats all texts of the session; when the session
fails, the process may end without one. Skills are used by reading them.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from skillgym_action.agents.defaults import StreamParser, Tools, cli_invocation, lines_of, reported, streamed_events
from skillgym_action.agents.output.agent_output import total
from skillgym_action.agents.output.lenient_json import LenientJson, json_object
from skillgym_action.model.session import Invocation, Progress
from skillgym_action.model.session_report import Usage

if TYPE_CHECKING:
    from skillgym_action.model.session import Session

TOOLS = Tools(commands={"shell": "command"}, reads={"read": "path"}, writes={"write": "path", "edit": "path"})
# Fields of a result that are shown in reports.
SHOWN = ("stdout", "stderr", "content", "error", "errorMessage", "message")


def invocation(session: Session, *resumed: str) -> Invocation:
    """The prompt is an argument, as the published description has it."""
    options = ("-p", "--output-format", "stream-json", "--trust", "--force")
    started = cli_invocation(session, ("cursor-agent", *options, *resumed), last=("--", session.prompt))
    return replace(started, stdin=None)


def resume(session: Session, session_id: str) -> Invocation:
    """Needs the home of the session that is continued."""
    return invocation(session, f"--resume={session_id}")


def progress(line: str) -> Progress | None:
    """A step is a model call, as far as lines name it; else a message, or a call of a tool."""
    event = json_object(line) or LenientJson({})
    step = _step(event)
    if step is not None:
        return Progress(step=step)
    return Progress(finished=True) if event.text("type") == "result" else None


class _Parser(StreamParser):
    def take(self, event: LenientJson) -> bool:
        self.session_id = event.text("session_id") or self.session_id
        if (step := _step(event)) is not None and (self.rounds or event.text("model_call_id")):
            self.rounds[step] = Usage()
        match event.text("type"), event.text("subtype"):
            case "system", "init":
                self.model = event.text("model")
            case "user", _:
                self.log.user_message(_words(event), event.moment("timestamp_ms"))
            case "assistant", _:
                self.log.assistant_message(_words(event), event.moment("timestamp_ms"))
            case "tool_call", "started" | "completed":
                self._tool(event)
            case "result", _:
                self._result(event)
            case kind, _:
                return kind == "thinking"
        return True

    def _tool(self, event: LenientJson) -> None:
        key, (tool, call) = event.text("call_id") or "", _tool(event)
        if not self.log.called(key):
            self.log.call(
                key, tool, call.at("args"), TOOLS.effects(tool, call.child("args")), event.moment("timestamp_ms")
            )
        if event.text("subtype") == "completed":
            result = call.child("result")
            outcome = (*result.children(), LenientJson({}))[0]
            shown = [text for name in SHOWN if (text := outcome.text(name))]
            failed = bool(result.value) and "success" not in result.value
            code = outcome.count("exitCode")
            self.log.result(key, "\n".join(shown), failed=failed, exit_code=code, at=event.moment("timestamp_ms"))

    def _result(self, result: LenientJson) -> None:
        self.ended(None)
        usage = result.child("usage")
        cached = usage.count("cacheReadTokens")
        tokens = Usage(
            input_tokens=total((usage.count("inputTokens"), cached)),
            output_tokens=usage.count("outputTokens"),
            cache_tokens=cached,
        )
        self.spent(None, tokens)
        if result.true("is_error"):
            self.fail(result.text("result") or result.text("subtype") or "the session failed")


transcript = streamed_events(_Parser)
event_reader = lines_of(_Parser)
trouble = reported


def _step(event: LenientJson) -> str | None:
    """Lines of one model call name it; final messages, and older versions, do not."""
    call = event.text("model_call_id")
    match event.text("type"), event.text("subtype"):
        case "assistant", _:
            return call or f"message: {_words(event)}"
        case "tool_call", "started":
            return call or event.text("call_id")
        case _:
            return None


def _tool(event: LenientJson) -> tuple[str, LenientJson]:
    """The tool's name in lower case, words joined by hyphens; its arguments, and its result if it has one."""
    function = event.child("tool_call", "function")
    if (name := function.text("name")) is not None:
        args = json_object(function.text("arguments") or "") or function.child("arguments")
        return name, LenientJson({"args": args.value, "result": function.at("result")})
    for key in event.child("tool_call").value:
        if key.endswith("ToolCall"):
            name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", key.removesuffix("ToolCall")).lower()
            return name, event.child("tool_call", key)
    return "", LenientJson({})


def _words(event: LenientJson) -> str:
    return "".join(part.text("text") or "" for part in event.children("message", "content"))
