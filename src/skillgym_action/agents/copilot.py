"""GitHub Copilot CLI: ``copilot`` reads the prompt from stdin and prints one JSON object a line.

Verified with the version in ``AGENTS``: ``session.error`` decides, if the ``result`` has a failure, too; a command that
failed is a success with an exit code. Tokens, the version and how the model's answers ended are in the CLI's record of
the session only, to which a resumed session appends.
"""

from __future__ import annotations

import re
from dataclasses import field
from typing import TYPE_CHECKING

from skillgym_action.agents.defaults import (
    PATCHED_FILE,
    StreamParser,
    Tools,
    cli_invocation,
    lines_of,
    reported,
    streamed_events,
)
from skillgym_action.agents.output.lenient_json import LenientJson, json_object
from skillgym_action.agents.output.trouble_signs import ANSWER_ENDED, NO_ANSWER, kind_of_error
from skillgym_action.model.records import record
from skillgym_action.model.session import Invocation, Progress
from skillgym_action.model.session_report import FileWrite, Usage

if TYPE_CHECKING:
    from collections.abc import Iterable

    from skillgym_action.agents.output.agent_output import Effect
    from skillgym_action.model.session import Capture, Session

ERRORS = {"authentication": "auth", "authorization": "auth", "rate_limit": "rate-limit", "quota": "quota"}
NOISE = tuple(
    f'{{"type":"{kind}"'
    for kind in (
        *("assistant.message_delta", "assistant.reasoning_delta", "assistant.tool_call_delta"),
        *("session.background_tasks_changed", "tool.execution_partial_result"),
    )
)
SILENT = frozenset(
    {
        *("assistant.turn_start", "assistant.turn_end", "abort"),
        *("subagent.started", "subagent.configured", "subagent.completed"),
    }
)
# How the model's last answer ended, if it is not complete.
ENDINGS = {
    "length": "output-limit",
    "max_tokens": "output-limit",
    "content_filter": "content-policy",
    "refusal": "refused",
    "error": "provider",
}
IN_RECORD = re.compile(r'"type": ?"session\.(?:start|resume|usage_record)"')
TOOLS = Tools(
    commands={"bash": "command"},
    skills={"skill": "skill"},
    reads={"view": "path"},
    writes={"create": "path", "edit": "path"},
)
NO_WORDS = "No response was returned"  # of an answer without words, which is an answer
PATCH_TOOL = "apply_patch"  # its arguments are one text


def invocation(session: Session, *resumed: str) -> Invocation:
    """A session with a config folder of its own; the CLI retries a failed model call up to five times."""
    options = ("--output-format", "json", "--no-color", "--allow-all", "--no-ask-user", "--disable-client-telemetry")
    # With the user's own model service, no other service is called; GitHub's service does not work offline.
    offline = {"COPILOT_OFFLINE": "true"} if session.agent.env.get("COPILOT_PROVIDER_BASE_URL") else {}
    return cli_invocation(
        session,
        ("copilot", *options, *resumed),
        env={"COPILOT_HOME": str(session.home / ".copilot"), "COPILOT_AUTO_UPDATE": "false", **offline},
        collect=(".copilot/session-state/*/events.jsonl",),
    )


def resume(session: Session, session_id: str) -> Invocation:
    """Needs the home of the session that is continued."""
    return invocation(session, f"--resume={session_id}")


def progress(line: str) -> Progress | None:
    """A step is a message of the model; tokens are not known while the CLI runs."""
    event = None if line.startswith(NOISE) else json_object(line)
    match event and event.text("type"):
        case "assistant.message" if event and (model := event.text("data", "model")):
            return Progress(step=event.text("data", "messageId"), model=model)
        case "result":
            return Progress(finished=True)
        case _:
            return None


@record(frozen=False, kw_only=False, slots=False)
class _Parser(StreamParser):
    """``ending``: a key of ``ANSWER_ENDED`` if the last answer is not complete.

    ``is_answer``: whether the service's last response was an answer, according to the record; None: it does not say.
    ``is_blank``: whether the last message has nothing, not even an id. An error with HTTP status 200 looks like a blank
    message of the model. ``failed_call``: the last call of the model, if it failed.
    """

    NOISE = NOISE
    COLLECTED = IN_RECORD
    ending: str | None = None
    is_answer: bool | None = None
    is_blank: bool = False
    failed_call: LenientJson = field(default_factory=lambda: LenientJson({}))

    def take_collected(self, record: LenientJson) -> None:
        """Take a line of the session's record. Rounds before a session was continued belong to the session before."""
        data = record.child("data")
        match record.text("type"):
            case "session.start":
                self.session_id, self.version = data.text("sessionId"), data.text("copilotVersion")
                self.model = data.text("selectedModel")
            case "session.resume":
                self.rounds.clear()
                self.ending = self.is_answer = None
            case "session.usage_record":
                usage = data.child("usage")
                self.rounds[usage.text("apiCallId") or ""] = _usage(usage)
                self.ending = ENDINGS.get(usage.text("finishReason") or "")
                self.is_answer = bool(usage.text("finishReason") or usage.count("outputTokens"))

    def finish(self, capture: Capture) -> None:  # noqa: ARG002 - all is in the record
        """Take how the last answer ended as the failure, if nothing else failed."""
        if not self.complete or self.failure:
            return
        if self.ending:
            self.fail(ANSWER_ENDED[self.ending], self.ending)
        elif self.is_blank and not self.is_answer:
            self.fail(NO_ANSWER, "provider")

    def take(self, event: LenientJson) -> bool:
        data, at = event.child("data"), event.text("timestamp")
        match event.text("type"):
            case "user.message":
                if data.at("source") is None:  # else an agent talks to its sub-agent
                    self.log.user_message(data.text("content") or "", at)
            case "assistant.message":
                self._message(data, at)
            case "tool.execution_start":
                tool = data.text("toolName") or ""
                self.log.call(data.text("toolCallId") or "", tool, data.at("arguments"), _effects(tool, data), at)
            case "tool.execution_complete":
                output = data.text("result", "content") or data.text("error", "message") or ""
                code = data.count("shellExecution", "exitCode")
                failed = data.at("success") is False
                self.log.result(data.text("toolCallId") or "", output, failed=failed, exit_code=code, at=at)
            case "session.skills_loaded" | "session.mcp_servers_loaded":
                named = tuple(name for skill in data.children("skills") if (name := skill.text("name")))
                self.skills = named or self.skills
                self._servers(event.text("type") or "", data)
            case "model.call_failure":
                self.failed_call = data
            case "session.error":
                self._error(data)
            case "result":
                self._result(event)
            case kind:
                self._servers(kind or "", data)
                return kind in SILENT or event.true("ephemeral")
        return True

    def _servers(self, kind: str, data: LenientJson) -> None:
        """Take the status of MCP servers: of all that were loaded, or a change of one."""
        if kind.startswith("session.mcp_server"):
            self.server_status(data.text("serverName") or data.text("name"), data.text("status"))
            self.servers_listed(data, "servers")

    def _result(self, result: LenientJson) -> None:
        self.complete, self.session_id = True, result.text("sessionId") or self.session_id
        if result.at("exitCode") == 0:
            self.failure = None
        elif self.failure is None and not self.wordless and (code := result.count("exitCode")):
            self.fail(f"exited with code {code}")

    def _message(self, message: LenientJson, at: str | None) -> None:
        main = message.at("parentToolCallId") is None
        self.log.round = message.text("apiCallId") or ""
        if thought := message.text("reasoningText"):
            self.log.thinking(thought, at)
        if text := message.text("content"):
            self.log.assistant_message(text, at, main=main)
        if main:
            self.failed_call = LenientJson({})
            self.is_blank = not (text or message.text("apiCallId") or message.children("toolRequests"))
        if model := message.text("model"):  # else the CLI called a tool itself
            self.model = model if main else self.model
            self.answered_by(model if main else None)
            self.rounds.setdefault(message.text("apiCallId") or message.text("messageId") or "", Usage())

    def _error(self, error: LenientJson) -> None:
        message, kind = error.text("message") or "the session failed", error.text("errorType") or ""
        self.wordless = message.startswith(NO_WORDS)
        if self.wordless:
            return
        # The CLI's message leaves out what the service said, which tells its errors from those of other servers.
        call = self.failed_call
        said = call.text("errorMessage") or ""
        words = (json_object(said) or LenientJson({})).text("message") or said.strip('"')
        if words and words not in message:
            message = f"{message.rstrip()} The service's answer: {words}"
        status = error.count("statusCode") or call.count("statusCode")
        known = kind_of_error(f"{message}\n{said}", status)
        known = ERRORS.get(kind, known) if known in {None, "runner-crash", "rate-limit"} else known
        self.fail(message, known or ("provider" if kind == "query" else None))


transcript = streamed_events(_Parser)
event_reader = lines_of(_Parser)
trouble = reported


def _effects(tool: str, call: LenientJson) -> Iterable[Effect]:
    if tool == PATCH_TOOL:
        return [FileWrite(path=path) for path in PATCHED_FILE.findall(call.text("arguments") or "")]
    return TOOLS.effects(tool, call.child("arguments"))


def _usage(counts: LenientJson) -> Usage:
    """Input includes what comes from the cache; output includes the reasoning."""
    output, reasoning = counts.count("outputTokens"), counts.count("reasoningTokens")
    return Usage(
        input_tokens=counts.count("inputTokens"),
        output_tokens=None if output is None else max(0, output - (reasoning or 0)),
        reasoning_tokens=reasoning,
        cache_tokens=counts.count("cacheReadTokens"),
    )
