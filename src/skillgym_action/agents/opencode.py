"""OpenCode: ``opencode run`` reads the prompt from stdin and prints one JSON object a line.

Its signs, verified with the version in ``AGENTS``: a failed model call is tried again without end and without a word,
and so is an answer that was cut; neither the model nor what sub-agents do is told, and a tool only when it has ended.
A plugin of ours tells all this in the CLI's own manner, and ends it after two more tries.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from skillgym_action.model.session import Invocation, Progress
from skillgym_action.model.session_report import Command, FileRead, FileWrite, SkillSignal, Usage
from skillgym_action.transcripts.agent_output import TranscriptParser, total
from skillgym_action.transcripts.lenient_json import LenientJson, json_object
from skillgym_action.transcripts.trouble_signs import crashed, kind_of_status, kind_of_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillgym_action.model.session import Capture, Session
    from skillgym_action.model.session_report import Transcript, Trouble
    from skillgym_action.transcripts.agent_output import Effect

PLUGIN = """\
const RETRIES = 2
const subagents = new Set()
let introduced = false
let empty = 0

const say = (line) => process.stdout.write(JSON.stringify(line) + "\\n")

const giveUp = (message) => {
  say({ type: "error", error: { name: "GaveUp", data: { message } } })
  process.exit(1)
}

const introduce = ({ id, version, model }) => {
  introduced = true
  say({ type: "session", sessionID: id, version, model: `${model.providerID}/${model.id}` })
}

export const Skillgym = async () => ({
  "tool.execute.before": async ({ tool, callID }, { args }) => say({ type: "tool_start", tool, callID, args }),
  event: async ({ event }) => {
    const { info, part, sessionID, status } = event.properties
    if (event.type === "session.created" && info.parentID) subagents.add(info.id)
    if (event.type === "session.updated" && info.model && !introduced) introduce(info)
    if (status?.type === "retry" && status.attempt > RETRIES) giveUp(status.message)
    if (part && part.type !== "step-start") empty = part.reason === "unknown" ? empty + 1 : 0
    if (empty > RETRIES) giveUp("the model's answer ended before its first word")
    if (!subagents.has(sessionID)) {
      if (status?.type === "idle") say({ type: "idle" })
    } else if (part?.type === "step-finish") say({ type: "step_finish", part })
    else if (part?.type === "tool" && part.state.time?.end) say({ type: "tool_use", part })
  },
})
"""
# Where the CLI finds it installed, it does not ask npm's registry for what plugins may import.
PLUGIN_LOCK = {"packages": {"": {"dependencies": {"@opencode-ai/plugin": "*"}}}}
# Services whose address the environment may tell: variable, what follows the address.
BASE_URLS = {
    "anthropic": ("ANTHROPIC_BASE_URL", "/v1"),
    "openai": ("OPENAI_BASE_URL", ""),
    "google": ("GOOGLE_GEMINI_BASE_URL", "/v1beta"),
}
GOES_ON = frozenset({"tool-calls", "unknown"})
FILES: dict[str, type[FileRead | FileWrite]] = {"read": FileRead, "write": FileWrite, "edit": FileWrite}
PATCHED = re.compile(r"^\*\*\* (?:Add File|Update File|Move to): (.+)$", re.MULTILINE)
NO_RIPGREP = "ripgrep execution failed"
# A model that the CLI does not find, and proposes itself: it knows the service, and has no key for it.
NO_KEY = re.compile(r"Model not found: [^/\s]+/(?P<model>\S+)\. Did you mean: (?:.*, )?(?P=model)[,?]")


def invocation(session: Session) -> Invocation:
    """A session with a config folder of its own; the CLI tries a failed model call twice more."""
    return _invocation(session)


def resume(session: Session, session_id: str) -> Invocation:
    """Needs the home of the session that is continued."""
    return _invocation(session, f"--session={session_id}")


def _invocation(session: Session, *resumed: str) -> Invocation:
    agent, folder = session.agent, session.home / ".config" / "opencode"
    plugin = folder / "node_modules" / "skillgym.js"
    # Without a title the CLI asks a model for one.
    argv = [*(agent.command or ("opencode",)), "run", "--format", "json", "--thinking", "--auto", "--title", "session"]
    argv += ["--print-logs", "--log-level", "ERROR", *resumed]
    if agent.model:
        argv += ["--model", agent.model]
    config = {
        "share": "disabled",
        "snapshot": False,
        "plugin": [plugin.as_uri()],
        "provider": {name: {"options": options} for name, options in _services(session).items()},
    }
    return Invocation(
        argv=(*argv, *agent.command_args),
        cwd=session.workspace,
        timeout=session.timeout,
        stdin=session.prompt,
        env={
            "HOME": str(session.home),
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            **agent.env,
        },
        files={
            folder / "opencode.json": json.dumps(config),
            folder / "package-lock.json": json.dumps(PLUGIN_LOCK),
            plugin: PLUGIN,
        },
    )


def _services(session: Session) -> dict[str, dict[str, str]]:
    """Options by service. The CLI takes its key itself, but for Google's when there is an address."""
    env = session.agent.env
    services = {
        name: {"baseURL": env[variable].rstrip("/") + path}
        for name, (variable, path) in BASE_URLS.items()
        if env.get(variable)
    }
    if "google" in services:
        services["google"]["apiKey"] = "{env:GEMINI_API_KEY}"
    return services


def progress(line: str) -> Progress | None:
    """A step is a message of the model, told with its tokens when it has ended."""
    said = json_object(line) or LenientJson({})
    match said.text("type"):
        case "step_finish":
            return Progress(step=said.text("part", "messageID"), usage=_usage(said.child("part", "tokens")))
        case "idle":
            return Progress(finished=True)
        case _:
            return None


def transcript(capture: Capture, session: Session) -> Transcript:  # noqa: ARG001  # the stream tells all there is
    """Read line by line; a session that was ended early gives what it had said so far."""
    reading = _Reading(logged=capture.stderr.tail(8192))
    reading.read(capture.stdout)
    reading.end()
    return reading.transcript(capture)


def trouble(capture: Capture, transcript: Transcript) -> Trouble | None:
    """The stream's own word first; how the process ended is evidence only where the stream says nothing."""
    return transcript.trouble or crashed(capture)


@dataclass
class _Reading(TranscriptParser):
    """``logged``: the CLI's log of errors; ``running``: calls of tools that have not ended."""

    logged: str = ""
    running: dict[str, LenientJson] = field(default_factory=dict)

    def take(self, said: LenientJson) -> bool:
        part = said.child("part")
        match said.text("type"):
            case "session":
                self.version, self.model = said.text("version"), said.text("model")
            case "text":
                self.log.assistant_message(part.text("text") or "")
            case "reasoning":
                self.log.thinking(part.text("text") or "")
            case "tool_start":
                self.running[said.text("callID") or ""] = said
            case "tool_use":
                self._tool(part)
            case "step_finish":
                self._step(part)
            case "error":
                self._error(said.child("error"))
            case "step_start" | "idle":
                pass
            case _:
                return False
        self.session_id = said.text("sessionID") or self.session_id
        return True

    def end(self) -> None:
        """Tools that were still running when the CLI was ended."""
        for key, call in self.running.items():
            tool = call.text("tool") or ""
            self.log.call(key, tool, call.at("args"), _effects(tool, call.child("args")))

    def _tool(self, part: LenientJson) -> None:
        key, tool, state = part.text("callID") or "", part.text("tool") or "", part.child("state")
        self.running.pop(key, None)
        self.log.call(key, tool, state.at("input"), _effects(tool, state.child("input")))
        output, error = state.text("output") or "", state.text("error")
        self.log.result(key, error or output, failed=error is not None, exit_code=state.count("metadata", "exit"))
        if tool == "skill" and error == NO_RIPGREP:
            self.fail("the agent cannot load skills without ripgrep; put rg on the PATH", "agent-missing")

    def _step(self, part: LenientJson) -> None:
        self.rounds[part.text("messageID") or ""] = _usage(part.child("tokens"))
        # A model without a price costs 0 here, which means unknown.
        self.usd = ((self.usd or 0.0) + (part.amount("cost") or 0.0)) or None
        self.complete = part.text("reason") not in GOES_ON

    def _error(self, error: LenientJson) -> None:
        told = error.child("data")
        name, message = error.text("name") or "", told.text("message") or "the session failed"
        kind = kind_of_status(told.count("statusCode")) or kind_of_text(message)
        if reference := told.text("ref"):  # an error of the CLI's own, which its log explains
            logged = re.search(rf'ref={re.escape(reference)} error="([^"]*)"', self.logged)
            message, kind = (logged[1], None) if logged else (message, "runner-crash")
            kind = "auth" if NO_KEY.search(message) else kind
        self.fail(message, kind or ("provider" if name == "GaveUp" else None))


def _effects(tool: str, given: LenientJson) -> Iterator[Effect]:
    if tool == "bash" and (command := given.text("command")) is not None:
        yield Command(command=command)
    elif tool == "skill" and (skill := given.text("name")):
        yield SkillSignal(skill=skill, signal="skill tool")
    elif tool == "apply_patch":
        for path in PATCHED.findall(given.text("patchText") or ""):
            yield FileWrite(path=path)
    elif tool in FILES and (path := given.text("filePath")):
        yield FILES[tool](path=path)


def _usage(told: LenientJson) -> Usage:
    """Input, and input that comes from or goes to the cache, exclude one another; so do output and reasoning."""
    cached = told.count("cache", "read")
    return Usage(
        input_tokens=total((told.count("input"), cached, told.count("cache", "write"))),
        output_tokens=told.count("output"),
        reasoning_tokens=told.count("reasoning"),
        cache_tokens=cached,
    )
