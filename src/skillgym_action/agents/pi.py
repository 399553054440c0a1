"""pi: ``pi -p --mode json`` reads the prompt from stdin and prints one JSON object a line.

Verified with the version in ``AGENTS``: it exits with 0 when a call of the model failed, so the reason why
the last message stopped decides; a stream that was cut looks like a message without tokens, since services report them
at the end. Skills are used by reading them.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from skillgym_action.agents.defaults import StreamParser, Tools, cli_invocation, lines_of, reported, streamed_events
from skillgym_action.agents.output.agent_output import total
from skillgym_action.agents.output.lenient_json import LenientJson, json_object
from skillgym_action.agents.output.trouble_signs import ANSWER_ENDED, kind_of_text
from skillgym_action.model.session import Invocation, Progress
from skillgym_action.model.session_report import Usage

if TYPE_CHECKING:
    from skillgym_action.model.session import Capture, Session

# The CLI reads no base URL from the environment, only from a file.
BASE_URLS = {"anthropic": "ANTHROPIC_BASE_URL", "openai": "OPENAI_BASE_URL", "google": "GOOGLE_GEMINI_BASE_URL"}
RETRIES = {"enabled": True, "maxRetries": 2, "baseDelayMs": 1000, "provider": {"maxRetries": 0}}
EXIT_CODE = re.compile(r"Command exited with code (\d+)\s*\Z")
ENDINGS = {"length": "output-limit"}
REFUSAL = "refusal"  # the service's own reason why an answer ended, which is an error to the CLI
# Protocols in which every complete answer has tokens.
COUNTING = frozenset({"openai-responses", "anthropic-messages", "google-generative-ai", "google-vertex"})
# Printed to stderr; the CLI then uses the prices of another model.
PRICE_OF_ANOTHER = "Using custom model id"
NOISE = ('{"type":"message_update"', '{"type":"tool_execution_update"')
SILENT = frozenset(
    {
        *("agent_start", "turn_start", "turn_end", "message_start", "message_update"),
        *("tool_execution_update", "auto_retry_start", "auto_retry_end", "agent_settled"),
    }
)
TOOLS = Tools(commands={"bash": "command"}, reads={"read": "path"}, writes={"write": "path", "edit": "path"})


def invocation(session: Session, *resumed: str) -> Invocation:
    """A session with a config folder of its own; the CLI retries a failed model call twice."""
    env, home = session.agent.env, session.home / ".pi" / "agent"
    providers = {name: {"baseUrl": env[key]} for name, key in BASE_URLS.items() if env.get(key)}
    skills = [str(session.workspace / ".claude" / "skills")]
    # Without trust the CLI leaves out the skills and settings of the workspace.
    settings = {"retry": RETRIES, "skills": skills, "defaultProjectTrust": "always"}
    return cli_invocation(
        session,
        ("pi", "-p", "--mode", "json", *resumed),
        env={"PI_CODING_AGENT_DIR": str(home), "PI_OFFLINE": "1", "PI_TELEMETRY": "0"},
        files={
            home / "settings.json": json.dumps(settings),
            home / "models.json": json.dumps({"providers": providers}),
        },
        collect=(".pi/agent/sessions/*/*.jsonl",),
    )


def resume(session: Session, session_id: str) -> Invocation:
    """Needs the home of the session that is continued."""
    return invocation(session, "--session", session_id)


def progress(line: str) -> Progress | None:
    """A step is a message of the model, printed with its tokens when it has ended."""
    if line.startswith(NOISE):
        return None
    event = json_object(line) or LenientJson({})
    if event.text("type") == "auto_retry_start":
        return Progress(retrying=True, error=event.text("errorMessage") or "")
    if event.text("type") == "agent_settled":
        return Progress(late=True)
    messages = (event.child("message"), *event.children("messages"))
    if messages[-1].text("stopReason") in {None, "error"}:
        return None
    if event.text("type") == "message_end":
        return Progress(step=_round(messages[0]), usage=_usage(messages[0]), model=messages[0].text("model"))
    return Progress(finished=True) if event.text("type") == "agent_end" else None


class _Parser(StreamParser):
    NOISE = NOISE

    def take(self, event: LenientJson) -> bool:
        key = event.text("toolCallId") or ""
        match event.text("type"), event.text("message", "role"):
            case "session", _:
                self.session_id = event.text("id")
            case "message_end", "user":
                message = event.child("message")
                self.log.user_message("\n".join(_texts(message)), message.moment("timestamp"))
            case "message_end", "assistant":
                self._message(event.child("message"))
            case "tool_execution_start", _:
                tool = event.text("toolName") or ""
                self.log.call(key, tool, event.at("args"), TOOLS.effects(tool, event.child("args")))
            case "tool_execution_end", _:
                output, failed = "\n".join(_texts(event.child("result"))), event.true("isError")
                self.log.result(key, output, failed=failed, exit_code=_exit_code(output, failed=failed))
            case "agent_end", _:
                self.complete = True
            case "message_end", "toolResult" | "system":
                pass
            case kind, _:
                return kind in SILENT
        return True

    def finish(self, capture: Capture) -> None:
        """Leave out a cost that was computed with the prices of another model."""
        if PRICE_OF_ANOTHER in capture.stderr.tail(4096):
            self.usd = None

    def _message(self, message: LenientJson) -> None:
        self.log.round, at = _round(message), message.moment("timestamp")
        for part in message.children("content"):
            if text := part.text("text"):
                self.log.assistant_message(text, at)
            elif thought := part.text("thinking"):
                self.log.thinking(thought, at)
        self.model = message.text("model")
        self.answered_by(self.model)
        self.failure = None
        reason, tokens = message.text("stopReason"), message.count("usage", "totalTokens")
        if message.text("rawStopReason") == REFUSAL:
            self.fail(ANSWER_ENDED["refused"], "refused")
        elif reason in {"error", "aborted"}:
            why = message.text("errorMessage") or reason or ""
            self.fail(why, kind_of_text(why) or ("provider" if reason == "error" else None))
        elif ending := ENDINGS.get(reason or ""):
            self.fail(ANSWER_ENDED[ending], ending)
        elif not tokens and (self.rounds or message.text("api") in COUNTING or not message.children("content")):
            self.fail(ANSWER_ENDED["provider"], "provider")
        if tokens:
            self.rounds[_round(message)] = _usage(message)
            # A model without a price has a cost of 0, which means unknown.
            self.usd = ((self.usd or 0.0) + (message.amount("usage", "cost", "total") or 0.0)) or None


transcript = streamed_events(_Parser)
event_reader = lines_of(_Parser)
trouble = reported


def _texts(parent: LenientJson) -> list[str]:
    return [text for part in parent.children("content") if (text := part.text("text")) is not None]


def _exit_code(output: str, *, failed: bool) -> int | None:
    """The exit code of a command; the output has it in words if it is not 0."""
    code = EXIT_CODE.search(output)
    return (int(code[1]) if code else None) if failed else 0


def _round(message: LenientJson) -> str:
    return message.text("responseId") or str(message.at("timestamp"))


def _usage(message: LenientJson) -> Usage:
    """Input, and input that comes from or goes to the cache, exclude one another; output includes the reasoning."""
    counts = message.child("usage")
    cached = counts.count("cacheRead")
    output, reasoning = counts.count("output"), counts.count("reasoning")
    return Usage(
        input_tokens=total((counts.count("input"), cached, counts.count("cacheWrite"))),
        output_tokens=None if output is None else max(0, output - (reasoning or 0)),
        reasoning_tokens=reasoning,
        cache_tokens=cached,
    )
