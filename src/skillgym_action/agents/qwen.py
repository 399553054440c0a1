"""Qwen Code: ``qwen --output-format stream-json`` reads the prompt from stdin and prints one JSON object a line.

Verified with the version in ``AGENTS``: when a call of the model failed, it lets the model say ``[API Error: …]``, for
which no tokens were used, and may exit with 0 and "success" all the same; at its own limit of turns it prints no
result. A model round may be several lines, of which one has the tokens. Exit codes of commands are in the CLI's log of
the session only.
"""

from __future__ import annotations

import json
import re
from dataclasses import field
from typing import TYPE_CHECKING

from skillgym_action.agents.defaults import StreamParser, Tools, cli_invocation, lines_of, reported, streamed_events
from skillgym_action.agents.output.lenient_json import LenientJson, json_object
from skillgym_action.agents.output.trouble_signs import kind_of_error
from skillgym_action.model.records import record
from skillgym_action.model.session import Ending, Invocation, Progress
from skillgym_action.model.session_report import Usage

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
# The tool that calls another one, which the CLI describes to the model on request only; and how its refusals begin.
BRIDGE = "tool_call"
REFUSED = ("[tool_call bridge refused]", "[tool_call bridge cancelled]")
# Of an answer without words, which is an answer; and of one without an end, for which tokens may have been counted.
NO_WORDS = "Model stream ended with empty response text"
NO_END = "Model stream ended without a finish reason"
TURN_LIMIT = 53
# In the CLI's log: how a call of the model ended.
CALL_FAILED = "qwen-code.api_error"
CALL_ENDED = frozenset({CALL_FAILED, "qwen-code.api_response"})
LOOP = "Loop detection halted the run"
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
        return Progress(finished=True, text=event.text("result"))
    if (event.text("type"), event.text("subtype")) == ("system", "retry"):
        return Progress(retrying=True)
    message = event.child("message")
    if event.text("type") != "assistant" or not (_paid(message) or message.text("stop_reason") == "tool_use"):
        return None
    own = event.at("parent_tool_use_id") is None
    texts = [text for part in message.children("content") if own and (text := part.text("text"))]
    usage, text = _usage(message), texts[-1] if texts else None
    return Progress(step=message.text("id"), usage=usage, model=message.text("model"), text=text)


@record(frozen=False, kw_only=False, slots=False)
class _Parser(StreamParser):
    """Of the log: ``logged``: results of tool calls; ``unanswered``: the last call of the model, if it failed."""

    NOISE = ('{"type":"stream_event"',)
    logged: dict[str, str] = field(default_factory=dict)
    failed_call: str = ""
    unanswered: LenientJson = field(default_factory=lambda: LenientJson({}))

    def take_collected(self, record: LenientJson) -> None:
        """Take a line of the log: results of tools, as the model gets them, and how calls of the model ended."""
        call = record.child("systemPayload", "uiEvent")
        if (name := call.text("event.name")) in CALL_ENDED:
            self.unanswered = call if name == CALL_FAILED else LenientJson({})
        for part in record.children("message", "parts"):
            if (output := part.text("functionResponse", "response", "output")) is not None:
                self.logged[part.text("functionResponse", "id") or ""] = output

    def take(self, event: LenientJson) -> bool:
        self.session_id = event.text("session_id") or self.session_id
        if event.at("parent_tool_use_id") is not None:
            self.complete = self.after_result  # a helper may go on after the end of the main agent
        match event.text("type"), event.text("subtype"):
            case "system", "init":
                self.model, self.version = event.text("model"), event.text("qwen_code_version")
                self.servers_listed(event, "mcp_servers")
            case ("system", "retry") | ("stream_event", _):
                pass
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
        self.log.round = ""
        if (key := message.text("id")) and _paid(message):
            self.log.round = key
            self.rounds[key], self.failed_call = _usage(message), ""
            self.answered_by(message.text("model") if main else None)
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
                arguments = part.at("input")
                if tool == BRIDGE and (called := part.text("input", "name")):
                    tool, arguments = called, part.at("input", "arguments")
                self.log.call(part.text("id") or "", tool, arguments, TOOLS.effects(tool, LenientJson(arguments)))

    def _user(self, event: LenientJson) -> None:
        for part in event.children("message", "content"):
            if part.text("type") == "tool_result":
                key, output = part.text("tool_use_id") or "", part.text("content") or ""
                if output.startswith(REFUSED):
                    self.log.deny(key)
                code = _exit_code(self.logged.get(key, output))
                self.log.result(key, output, failed=part.true("is_error"), exit_code=code)

    def _result(self, result: LenientJson) -> None:
        self.spent(None, _usage(result))
        for denied in result.children("permission_denials"):
            self.log.deny(denied.text("tool_use_id") or "")
        if not self.ended(result.count("num_turns")):
            return
        self.final_output = _without_notice(result.text("result") or "")
        error = result.text("error", "message") or self.final_output
        is_error = result.true("is_error") or (result.text("subtype") or "").startswith("error")
        if is_error and error and not _without_notice(error):
            self.wordless = True
        elif is_error:
            self.fail(error or "the session failed", "max-steps" if error.startswith(LOOP) else None)
        elif self.failed_call and self.final_output.endswith(self.failed_call):
            self.fail(self.failed_call)

    def finish(self, capture: Capture) -> None:
        """Of a process that ended without a result."""
        if self.complete:
            return
        if capture.exit_code == TURN_LIMIT:
            self.fail(capture.stderr.tail(500), "max-steps")
        elif capture.ending is Ending.TIMED_OUT and (error := self.unanswered.text("error_message")):
            # The CLI waits as long as the service asks it to, and prints nothing about it.
            self.fail(error, kind_of_error(error, self.unanswered.count("status_code")))


transcript = streamed_events(_Parser)
event_reader = lines_of(_Parser)
trouble = reported


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
