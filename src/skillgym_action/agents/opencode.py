"""OpenCode: ``opencode run`` reads the prompt from stdin and prints one JSON object a line.

Verified with the version in ``AGENTS``: the CLI retries a failed model call, or an answer that was cut, without end and
without a message; it prints neither the model nor what sub-agents do, and a tool only when it has ended. Hence the
session gets a plugin, ``PLUGIN``, that prints all this in the same format, and exits after two retries.
"""

from __future__ import annotations

import json
import re
from dataclasses import field
from typing import TYPE_CHECKING

from skillgym_action.agents.defaults import StreamParser, Tools, cli_invocation, lines_of, reported, streamed_events
from skillgym_action.agents.output.agent_output import total
from skillgym_action.agents.output.lenient_json import LenientJson, json_object
from skillgym_action.agents.output.trouble_signs import ANSWER_ENDED, kind_of_error
from skillgym_action.model.records import record
from skillgym_action.model.session import Invocation, Progress
from skillgym_action.model.session_report import Usage

if TYPE_CHECKING:
    from skillgym_action.model.session import Capture, Session

PLUGIN = """\
const RETRIES = 2
const subagents = new Set()
let introduced = false
let unfinished = 0
let overflows = 0

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
    const { info, part, sessionID, status, error } = event.properties
    if (event.type === "session.created" && info.parentID) subagents.add(info.id)
    if (event.type === "session.updated" && info.model && !introduced) introduce(info)
    if (status?.type === "retry" && status.attempt > RETRIES) giveUp(status.message)
    if (part?.type === "tool") unfinished = overflows = 0
    if (part?.type === "step-finish") unfinished = part.reason === "unknown" ? unfinished + 1 : 0
    if (error?.name === "ContextOverflowError" && ++overflows > RETRIES) giveUp(error.data.message)
    if (unfinished > RETRIES) giveUp("the model's answer was cut off: its end is missing")
    if (!subagents.has(sessionID)) {
      if (status?.type === "idle") say({ type: "idle" })
    } else if (part?.type === "step-finish") say({ type: "step_finish", part })
    else if (part?.type === "tool" && part.state.time?.end) say({ type: "tool_use", part })
  },
})
"""
# Where the CLI finds it installed, it does not ask npm's registry for what plugins may import.
PLUGIN_LOCK = {"packages": {"": {"dependencies": {"@opencode-ai/plugin": "*"}}}}
# Model services whose address the environment may have: variable, and what is appended to the address.
BASE_URLS = {
    "anthropic": ("ANTHROPIC_BASE_URL", "/v1"),
    "openai": ("OPENAI_BASE_URL", ""),
    "google": ("GOOGLE_GEMINI_BASE_URL", "/v1beta"),
}
GOES_ON = frozenset({"tool-calls", "unknown"})
# Reasons of the last step for which the answer is not complete.
ENDINGS = {"length": "output-limit", "content-filter": "content-policy"}
TOOLS = Tools(
    commands={"bash": "command"},
    skills={"skill": "name"},
    reads={"read": "filePath"},
    writes={"write": "filePath", "edit": "filePath"},
    patches={"apply_patch": "patchText"},
)
NO_RIPGREP = "ripgrep execution failed"
# A model that the CLI does not find, and proposes itself: it knows the service, and has no key for it.
NO_KEY = re.compile(r"Model not found: [^/\s]+/(?P<model>\S+)\. Did you mean: (?:.*, )?(?P=model)[,?]")


def invocation(session: Session, *resumed: str) -> Invocation:
    """A session with a config folder of its own; the plugin lets the CLI retry a failed model call twice."""
    folder = session.home / ".config" / "opencode"
    plugin = folder / "node_modules" / "skillgym.js"
    # Without a title the CLI asks a model for one.
    options = ("run", "--format", "json", "--thinking", "--auto", "--title", "session")
    config = {
        "share": "disabled",
        "snapshot": False,
        "plugin": [plugin.as_uri()],
        "provider": {name: {"options": options} for name, options in _services(session).items()},
    }
    return cli_invocation(
        session,
        ("opencode", *options, "--print-logs", "--log-level", "ERROR", *resumed),
        env={
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
        },
        files={
            folder / "opencode.json": json.dumps(config),
            folder / "package-lock.json": json.dumps(PLUGIN_LOCK),
            plugin: PLUGIN,
        },
    )


def resume(session: Session, session_id: str) -> Invocation:
    """Needs the home of the session that is continued."""
    return invocation(session, f"--session={session_id}")


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
    """A step is a message of the model, printed with its tokens when it has ended."""
    event = json_object(line) or LenientJson({})
    match event.text("type"):
        case "step_finish":
            return Progress(
                step=event.text("part", "messageID"), usage=_usage(event.child("part", "tokens")), late=True
            )
        case "text" | "reasoning" | "step_start":
            return Progress(late=True)  # the plugin hears of the end before the CLI prints the last parts
        case "idle":
            return Progress(finished=True)
        case _:
            return None


@record(frozen=False, kw_only=False, slots=False)
class _Parser(StreamParser):
    """``logged``: the CLI's log of errors; ``running``: calls of tools that have not ended.

    ``ending``: of the last step, if its answer is not complete.
    """

    logged: str = ""
    ending: str | None = None
    running: dict[str, LenientJson] = field(default_factory=dict)

    def take(self, event: LenientJson) -> bool:
        part = event.child("part")
        self.log.round = part.text("messageID") or ""
        match event.text("type"):
            case "session":
                self.version, self.model = event.text("version"), event.text("model")
            case "text":
                self.log.assistant_message(part.text("text") or "", part.moment("time", "start"))
            case "reasoning":
                self.log.thinking(part.text("text") or "", part.moment("time", "start"))
            case "tool_start":
                self.running[event.text("callID") or ""] = event
            case "tool_use":
                self._tool(part)
            case "step_finish":
                self._step(part)
            case "error":
                self._error(event.child("error"))
            case "step_start" | "idle":
                pass
            case _:
                return False
        self.session_id = event.text("sessionID") or self.session_id
        return True

    def begin(self, capture: Capture) -> None:
        self.logged = capture.stderr.tail(8192)

    def finish(self, capture: Capture) -> None:  # noqa: ARG002 - all is known
        """Add the calls of tools that were still running when the CLI was ended; how the last answer ended."""
        if self.ending and self.failure is None:
            self.fail(ANSWER_ENDED[self.ending], self.ending)
        self.log.round = ""
        for key, call in self.running.items():
            tool = call.text("tool") or ""
            self.log.call(key, tool, call.at("args"), TOOLS.effects(tool, call.child("args")))

    def _tool(self, part: LenientJson) -> None:
        key, tool, state = part.text("callID") or "", part.text("tool") or "", part.child("state")
        self.running.pop(key, None)
        effects, began = TOOLS.effects(tool, state.child("input")), state.moment("time", "start")
        self.log.call(key, tool, state.at("input"), effects, began)
        output, error, ended = state.text("output") or "", state.text("error"), state.moment("time", "end")
        code = state.count("metadata", "exit")
        self.log.result(key, error or output, failed=error is not None, exit_code=code, at=ended)
        if tool == "skill" and error == NO_RIPGREP:
            self.fail("the agent cannot load skills without ripgrep; put rg on the PATH", "agent-missing")

    def _step(self, part: LenientJson) -> None:
        self.rounds[part.text("messageID") or ""] = _usage(part.child("tokens"))
        # A model without a price has a cost of 0, which means unknown.
        self.usd = ((self.usd or 0.0) + (part.amount("cost") or 0.0)) or None
        reason = part.text("reason") or ""
        self.complete = reason not in GOES_ON
        if self.complete and self.failure and self.failure.kind != "agent-missing":
            self.failure = None  # the CLI went on, for example with a summary of the conversation
        self.ending = ENDINGS.get(reason, None if reason in GOES_ON | {"stop"} else "provider")

    def _error(self, error: LenientJson) -> None:
        data = error.child("data")
        name, message = error.text("name") or "", data.text("message") or "the session failed"
        kind = kind_of_error(message, data.count("statusCode"))
        if name == "ContentFilterError" and (self.model or "").startswith("anthropic/"):
            kind = "refused"  # Anthropic's models end their answer themselves; its filter is an error of the API
        if reference := data.text("ref"):  # an error of the CLI's own, which its log explains
            logged = re.search(rf'ref={re.escape(reference)} error="([^"]*)"', self.logged)
            message, kind = (logged[1], None) if logged else (message, "runner-crash")
            kind = "auth" if NO_KEY.search(message) else kind
        self.fail(message, kind or ("provider" if name == "GaveUp" else None))


transcript = streamed_events(_Parser)
event_reader = lines_of(_Parser)
trouble = reported


def _usage(counts: LenientJson) -> Usage:
    """Input, and input that comes from or goes to the cache, exclude one another; so do output and reasoning."""
    cached = counts.count("cache", "read")
    return Usage(
        input_tokens=total((counts.count("input"), cached, counts.count("cache", "write"))),
        output_tokens=counts.count("output"),
        reasoning_tokens=counts.count("reasoning"),
        cache_tokens=cached,
    )
