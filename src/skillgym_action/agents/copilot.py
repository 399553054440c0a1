"""GitHub Copilot CLI: ``copilot`` reads the prompt from stdin and prints one JSON object a line.

Its signs, verified with the version in ``AGENTS``: ``session.error`` decides, if the ``result`` tells a failure, too; a
command that failed is a success with an exit code. Tokens and the version are in the CLI's record of the session only,
where a session that is continued goes on below its first part.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from skillgym_action.model.session import Invocation, Progress
from skillgym_action.model.session_report import Command, FileRead, FileWrite, SkillSignal, Usage
from skillgym_action.transcripts.agent_output import TranscriptParser
from skillgym_action.transcripts.lenient_json import LenientJson, json_object
from skillgym_action.transcripts.trouble_signs import crashed, kind_of_status, kind_of_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillgym_action.model.session import Capture, Session
    from skillgym_action.model.session_report import Transcript, Trouble
    from skillgym_action.transcripts.agent_output import Effect

ERRORS = {"authentication": "auth", "authorization": "auth", "rate_limit": "rate-limit", "quota": "rate-limit"}
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
IN_RECORD = re.compile(r'"type": ?"session\.(?:start|resume|usage_record)"')
FILES: dict[str, type[FileRead | FileWrite]] = {"view": FileRead, "create": FileWrite, "edit": FileWrite}
PATCHED = re.compile(r"^\*\*\* (?:Add File|Update File|Move to): (.+)$", re.MULTILINE)


def invocation(session: Session) -> Invocation:
    """A session with a config folder of its own; the CLI tries a failed model call up to five times more."""
    return _invocation(session)


def resume(session: Session, session_id: str) -> Invocation:
    """Needs the home of the session that is continued."""
    return _invocation(session, f"--resume={session_id}")


def _invocation(session: Session, *resumed: str) -> Invocation:
    agent = session.agent
    argv = [*(agent.command or ("copilot",)), "--output-format", "json", "--no-color", "--allow-all", "--no-ask-user"]
    argv += ["--disable-client-telemetry", *resumed]
    if agent.model:
        argv += ["--model", agent.model]
    # With a service of the user's own, nobody else is called; GitHub's service cannot be had offline.
    offline = {"COPILOT_OFFLINE": "true"} if agent.env.get("COPILOT_PROVIDER_BASE_URL") else {}
    return Invocation(
        argv=(*argv, *agent.command_args),
        cwd=session.workspace,
        timeout=session.timeout,
        stdin=session.prompt,
        env={
            "HOME": str(session.home),
            "COPILOT_HOME": str(session.home / ".copilot"),
            "COPILOT_AUTO_UPDATE": "false",
            **offline,
            **agent.env,
        },
        collect=(".copilot/session-state/*/events.jsonl",),
    )


def progress(line: str) -> Progress | None:
    """A step is a message of the model; tokens are not told while the CLI runs."""
    said = None if line.startswith(NOISE) else json_object(line)
    match said and said.text("type"):
        case "assistant.message" if said and (model := said.text("data", "model")):
            return Progress(step=said.text("data", "messageId"), model=model)
        case "result":
            return Progress(finished=True)
        case _:
            return None


def transcript(capture: Capture, session: Session) -> Transcript:  # noqa: ARG001  # the CLI tells all there is
    """Read line by line; a session that was ended early gives what it had said so far."""
    reading = _Reading()
    for record in capture.collected:
        for line in record.lines():
            if IN_RECORD.search(line):
                reading.take_of_record(json_object(line) or LenientJson({}))
    reading.read(capture.stdout)
    return reading.transcript(capture)


def trouble(capture: Capture, transcript: Transcript) -> Trouble | None:
    """The stream's own word first; how the process ended is evidence only where the stream says nothing."""
    return transcript.trouble or crashed(capture)


class _Reading(TranscriptParser):
    NOISE = NOISE

    def take_of_record(self, said: LenientJson) -> None:
        """Rounds before a session was continued belong to the session before."""
        told = said.child("data")
        match said.text("type"):
            case "session.start":
                self.session_id, self.version = told.text("sessionId"), told.text("copilotVersion")
                self.model = told.text("selectedModel")
            case "session.resume":
                self.rounds.clear()
            case "session.usage_record":
                self.rounds[told.text("usage", "apiCallId") or ""] = _usage(told.child("usage"))

    def take(self, said: LenientJson) -> bool:
        told, at = said.child("data"), said.text("timestamp")
        match said.text("type"):
            case "user.message":
                if told.at("source") is None:  # else an agent talks to its sub-agent
                    self.log.user_message(told.text("content") or "", at)
            case "assistant.message":
                self._message(told, at)
            case "tool.execution_start":
                tool = told.text("toolName") or ""
                self.log.call(told.text("toolCallId") or "", tool, told.at("arguments"), _effects(tool, told), at)
            case "tool.execution_complete":
                output = told.text("result", "content") or told.text("error", "message") or ""
                code = told.count("shellExecution", "exitCode")
                failed = told.at("success") is False
                self.log.result(told.text("toolCallId") or "", output, failed=failed, exit_code=code, at=at)
            case "session.skills_loaded":
                self.skills = tuple(name for skill in told.children("skills") if (name := skill.text("name")))
            case "session.error":
                self._error(told)
            case "result":
                self.complete, self.session_id = True, said.text("sessionId") or self.session_id
                if said.at("exitCode") == 0:
                    self.failure = None
            case kind:
                return kind in SILENT or said.true("ephemeral")
        return True

    def _message(self, message: LenientJson, at: str | None) -> None:
        main = message.at("parentToolCallId") is None
        if thought := message.text("reasoningText"):
            self.log.thinking(thought, at)
        if text := message.text("content"):
            self.log.assistant_message(text, at, main=main)
        if model := message.text("model"):  # else the CLI called a tool itself
            self.model = model if main else self.model
            self.rounds.setdefault(message.text("apiCallId") or message.text("messageId") or "", Usage())

    def _error(self, error: LenientJson) -> None:
        message, kind = error.text("message") or "the session failed", error.text("errorType") or ""
        known = ERRORS.get(kind) or kind_of_text(message) or kind_of_status(error.count("statusCode"))
        self.fail(message, known or ("provider" if kind == "query" else None))


def _effects(tool: str, call: LenientJson) -> Iterator[Effect]:
    given = call.child("arguments")
    if tool == "bash" and (command := given.text("command")) is not None:
        yield Command(command=command)
    elif tool == "skill" and (skill := given.text("skill")):
        yield SkillSignal(skill=skill, signal="skill tool")
    elif tool == "apply_patch":
        for path in PATCHED.findall(call.text("arguments") or ""):
            yield FileWrite(path=path)
    elif tool in FILES and (path := given.text("path")):
        yield FILES[tool](path=path)


def _usage(told: LenientJson) -> Usage:
    """Input includes what comes from the cache; output includes the reasoning."""
    output, reasoning = told.count("outputTokens"), told.count("reasoningTokens")
    return Usage(
        input_tokens=told.count("inputTokens"),
        output_tokens=None if output is None else max(0, output - (reasoning or 0)),
        reasoning_tokens=reasoning,
        cache_tokens=told.count("cacheReadTokens"),
    )
