"""pi: ``pi -p --mode json`` reads the prompt from stdin and prints one JSON object a line.

Its signs, verified with the version in ``AGENTS``: it exits with 0 when a call of the model failed, so the reason why
the last message stopped decides; a stream that was cut looks like a message without words and tokens. Skills are used
by reading them. Output includes the reasoning, of which the CLI tells nothing.
"""

from __future__ import annotations

import json
import re
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

# The CLI reads no base URL from the environment, only from a file.
BASE_URLS = {"anthropic": "ANTHROPIC_BASE_URL", "openai": "OPENAI_BASE_URL", "google": "GOOGLE_GEMINI_BASE_URL"}
RETRIES = {"enabled": True, "maxRetries": 2, "baseDelayMs": 1000, "provider": {"maxRetries": 0}}
EXIT_CODE = re.compile(r"Command exited with code (\d+)\s*\Z")
# Said on stderr; the CLI then takes the prices of some other model.
PRICE_OF_ANOTHER = "Using custom model id"
NOISE = ('{"type":"message_update"', '{"type":"tool_execution_update"')
SILENT = frozenset(
    {
        *("agent_start", "turn_start", "turn_end", "message_start", "message_update"),
        *("tool_execution_update", "auto_retry_start", "auto_retry_end"),
    }
)
FILES: dict[str, type[FileRead | FileWrite]] = {"read": FileRead, "write": FileWrite, "edit": FileWrite}


def invocation(session: Session) -> Invocation:
    """A session with a config folder of its own; the CLI tries a failed model call twice more."""
    return _invocation(session)


def resume(session: Session, session_id: str) -> Invocation:
    """Needs the home of the session that is continued."""
    return _invocation(session, "--session", session_id)


def _invocation(session: Session, *resumed: str) -> Invocation:
    agent, home = session.agent, session.home / ".pi" / "agent"
    argv = [*(agent.command or ("pi",)), "-p", "--mode", "json", *resumed]
    if agent.model:
        argv += ["--model", agent.model]
    providers = {name: {"baseUrl": agent.env[key]} for name, key in BASE_URLS.items() if agent.env.get(key)}
    settings = {"retry": RETRIES, "skills": [str(session.workspace / ".claude" / "skills")]}
    return Invocation(
        argv=(*argv, *agent.command_args),
        cwd=session.workspace,
        timeout=session.timeout,
        stdin=session.prompt,
        env={
            "HOME": str(session.home),
            "PI_CODING_AGENT_DIR": str(home),
            "PI_OFFLINE": "1",
            "PI_TELEMETRY": "0",
            **agent.env,
        },
        files={
            home / "settings.json": json.dumps(settings),
            home / "models.json": json.dumps({"providers": providers}),
        },
        collect=(".pi/agent/sessions/*/*.jsonl",),
    )


def progress(line: str) -> Progress | None:
    """A step is a message of the model, told with its tokens when it has ended."""
    if line.startswith(NOISE):
        return None
    said = json_object(line) or LenientJson({})
    messages = (said.child("message"), *said.children("messages"))
    if messages[-1].text("stopReason") in {None, "error"}:
        return None
    if said.text("type") == "message_end":
        return Progress(step=_round(messages[0]), usage=_usage(messages[0]), model=messages[0].text("model"))
    return Progress(finished=True) if said.text("type") == "agent_end" else None


def transcript(capture: Capture, session: Session) -> Transcript:  # noqa: ARG001  # the stream tells all there is
    """Read line by line; a session that was ended early gives what it had said so far."""
    reading = _Reading()
    reading.read(capture.stdout)
    if PRICE_OF_ANOTHER in capture.stderr.tail(4096):
        reading.usd = None
    return reading.transcript(capture)


def trouble(capture: Capture, transcript: Transcript) -> Trouble | None:
    """The stream's own word first; how the process ended is evidence only where the stream says nothing."""
    return transcript.trouble or crashed(capture)


class _Reading(TranscriptParser):
    NOISE = NOISE

    def take(self, said: LenientJson) -> bool:
        key = said.text("toolCallId") or ""
        match said.text("type"), said.text("message", "role"):
            case "session", _:
                self.session_id = said.text("id")
            case "message_end", "user":
                self.log.user_message("\n".join(_texts(said.child("message"))))
            case "message_end", "assistant":
                self._message(said.child("message"))
            case "tool_execution_start", _:
                tool = said.text("toolName") or ""
                self.log.call(key, tool, said.at("args"), _effects(tool, said.child("args")))
            case "tool_execution_end", _:
                output, failed = "\n".join(_texts(said.child("result"))), said.true("isError")
                self.log.result(key, output, failed=failed, exit_code=_exit_code(output, failed=failed))
            case "agent_end", _:
                self.complete = True
            case "message_end", "toolResult":
                pass
            case kind, _:
                return kind in SILENT
        return True

    def _message(self, message: LenientJson) -> None:
        for part in message.children("content"):
            if text := part.text("text"):
                self.log.assistant_message(text)
            elif thought := part.text("thinking"):
                self.log.thinking(thought)
        self.model = message.text("model")
        self.failure = None
        reason, tokens = message.text("stopReason"), message.count("usage", "totalTokens")
        if reason in {"error", "aborted"}:
            self.fail(message.text("errorMessage") or reason)
        elif not tokens and not message.children("content"):
            self.fail("the model's answer ended before its first word", "provider")
        if tokens:
            self.rounds[_round(message)] = _usage(message)
            # A model without a price costs 0 here, which means unknown.
            self.usd = ((self.usd or 0.0) + (message.amount("usage", "cost", "total") or 0.0)) or None


def _texts(told: LenientJson) -> list[str]:
    return [text for part in told.children("content") if (text := part.text("text")) is not None]


def _effects(tool: str, given: LenientJson) -> Iterator[Effect]:
    if tool == "bash" and (command := given.text("command")) is not None:
        yield Command(command=command)
    elif tool in FILES and (path := given.text("path")):
        yield FILES[tool](path=path)


def _exit_code(output: str, *, failed: bool) -> int | None:
    """The code is told in words, and only when it is not 0."""
    code = EXIT_CODE.search(output)
    return (int(code[1]) if code else None) if failed else 0


def _round(message: LenientJson) -> str:
    return message.text("responseId") or str(message.at("timestamp"))


def _usage(message: LenientJson) -> Usage:
    """Input, and input that comes from or goes to the cache, exclude one another."""
    told = message.child("usage")
    cached = told.count("cacheRead")
    return Usage(
        input_tokens=total((told.count("input"), cached, told.count("cacheWrite"))),
        output_tokens=told.count("output"),
        cache_tokens=cached,
    )
