"""Codex: ``codex exec`` reads the prompt from stdin and prints one JSON object a line.

Its signs, verified with the version in ``AGENTS``: an item of type "error" is a notice, and so is an "error" before
another try; ``turn.failed`` decides. What stdout does not tell is in the session's rollout file: the model, the
version, the skills on offer, and the tokens of each model round. Skills are used by reading them with a command.
"""

from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING

from skillgym_action.model.session import Invocation, Progress
from skillgym_action.model.session_report import Command, FileWrite, Usage
from skillgym_action.transcripts.agent_output import TranscriptParser, total_usage
from skillgym_action.transcripts.lenient_json import LenientJson, json_object
from skillgym_action.transcripts.trouble_signs import crashed

if TYPE_CHECKING:
    from skillgym_action.model.session import Capture, Session
    from skillgym_action.model.session_report import Transcript, Trouble
    from skillgym_action.transcripts.agent_output import Effect

DEFAULT_BASE_URL = "https://api.openai.com/v1"
# A provider of our own: the CLI's own one reads no base URL from the environment and tries WebSockets first. Without
# the last switch the CLI would wait for a network until the time is up.
CONFIG = """\
model_provider = "skillgym"
check_for_update_on_startup = false

[model_providers.skillgym]
name = "OpenAI API"
base_url = {base_url}
env_key = "{key}"
wire_api = "responses"
request_max_retries = 2
stream_max_retries = 2

[analytics]
enabled = false

[features]
apps = false
plugins = false
unbounded_connection_retries = false
"""
ROLLOUTS = ".codex/sessions/*/*/*/rollout-*.jsonl"
IN_ROLLOUT = re.compile(r'"type": ?"(?:session_meta|turn_context|token_usage_record)"|<skills_instructions>')
OFFERED_SKILL = re.compile(r"^- ([^\s:]+): .*\(file: [^)]*SKILL\.md\)$", re.MULTILINE)
SHELL = re.compile(r"(?:.*/)?(?:ba|z|da)?sh")
# Fields of an item that say nothing of what the tool was given.
TOLD_LATER = frozenset({"id", "type", "tool", "status", "aggregated_output", "exit_code", "result", "error"})


def invocation(session: Session) -> Invocation:
    """A session with a config folder of its own; the CLI tries a failed model call twice more."""
    return _invocation(session, "-")


def resume(session: Session, session_id: str) -> Invocation:
    """Needs the home of the session that is continued."""
    return _invocation(session, "resume", "--", session_id, "-")


def _invocation(session: Session, *prompt: str) -> Invocation:
    agent, home = session.agent, session.home / ".codex"
    argv = [*(agent.command or ("codex",)), "exec", "--json", "--skip-git-repo-check"]
    argv += ["--dangerously-bypass-approvals-and-sandbox"]
    if agent.model:
        argv += ["--model", agent.model]
    config = CONFIG.format(
        base_url=json.dumps(agent.env.get("OPENAI_BASE_URL") or DEFAULT_BASE_URL, ensure_ascii=False),
        key="CODEX_API_KEY" if agent.env.get("CODEX_API_KEY") else "OPENAI_API_KEY",
    )
    return Invocation(
        argv=(*argv, *agent.command_args, *prompt),
        cwd=session.workspace,
        timeout=session.timeout,
        stdin=session.prompt,
        env={"HOME": str(session.home), "CODEX_HOME": str(home), **agent.env},
        files={home / "config.toml": config},
        collect=(ROLLOUTS,),
    )


def progress(line: str) -> Progress | None:
    """A step is a message of the model; the tokens are told at the end only."""
    said = json_object(line) or LenientJson({})
    match said.text("type"), said.text("item", "type"):
        case "item.completed", "agent_message":
            return Progress(step=said.text("item", "id"))
        case (("turn.completed" | "turn.failed"), _):
            return Progress(finished=True)
        case _:
            return None


def transcript(capture: Capture, session: Session) -> Transcript:  # noqa: ARG001  # the CLI tells all there is
    """Read line by line; a session that was ended early gives what it had said so far."""
    reading = _Reading()
    reading.read(capture.stdout)
    for rollout in capture.collected:
        for line in rollout.lines():
            if IN_ROLLOUT.search(line):
                reading.take_of_rollout(json_object(line) or LenientJson({}))
    return reading.transcript(capture)


def trouble(capture: Capture, transcript: Transcript) -> Trouble | None:
    """The stream's own word first; how the process ended is evidence only where the stream says nothing."""
    return transcript.trouble or crashed(capture)


class _Reading(TranscriptParser):
    def take(self, said: LenientJson) -> bool:
        item = said.child("item")
        match said.text("type"), item.text("type"):
            case "thread.started", _:
                self.session_id = said.text("thread_id")
            case "turn.started", _:
                pass
            case "turn.completed", _:
                self.complete, self.usage = True, _usage(said.child("usage"))
            case "turn.failed", _:
                self.fail(said.text("error", "message") or "the turn failed")
            case "item.completed", "agent_message":
                self.log.assistant_message(item.text("text") or "")
            case "item.completed", "reasoning":
                self.log.thinking(item.text("text") or "")
            case ("item.started" | "item.updated" | "item.completed") as moment, str(kind) if kind != "error":
                self._tool(item, kind, completed=moment == "item.completed")
            case _:
                return False
        return True

    def _tool(self, item: LenientJson, kind: str, *, completed: bool) -> None:
        key = item.text("id") or ""
        if not self.log.called(key):
            given = {name: value for name, value in item.value.items() if name not in TOLD_LATER}
            self.log.call(key, item.text("tool") or kind, given, _effects(item, kind))
        if completed:
            parts = [part.text("text") or "" for part in item.children("result", "content")]
            output = item.text("aggregated_output") or item.text("error", "message") or "\n".join(parts)
            failed = item.text("status") == "failed"
            self.log.result(key, output, failed=failed, exit_code=item.count("exit_code"))

    def take_of_rollout(self, said: LenientJson) -> None:
        """A session's rollout, and those of its sub-agents, whose rounds count."""
        told = said.child("payload")
        match said.text("type"):
            case "session_meta":
                self.version = self.version or told.text("cli_version")
            case "turn_context":
                self.model = self.model or told.text("model")
            case "token_usage_record":
                self.rounds[told.text("response_id") or ""] = _usage(told.child("usage"))
                self.usage = total_usage(self.rounds.values())
            case "response_item":
                texts = [part.text("text") or "" for part in told.children("content")]
                self.skills = self.skills or tuple(OFFERED_SKILL.findall("\n".join(texts)))


def _effects(item: LenientJson, kind: str) -> list[Effect]:
    if kind == "command_execution":
        return [Command(command=_unwrapped(item.text("command") or ""))]
    if kind == "file_change":
        changes = item.children("changes")
        paths = [change.text("path") for change in changes if change.text("kind") != "delete"]
        return [FileWrite(path=path) for path in paths if path]
    return []


def _unwrapped(command: str) -> str:
    """The command as the model gave it: the CLI shows it as ``/bin/bash -lc '…'``."""
    try:
        words = shlex.split(command)
    except ValueError:
        return command
    wrapped = len(words) == 3 and SHELL.fullmatch(words[0]) and words[1] in {"-lc", "-c"}  # noqa: PLR2004
    return words[2] if wrapped else command


def _usage(told: LenientJson) -> Usage:
    """Input includes what comes from the cache; output includes the reasoning."""
    output, reasoning = told.count("output_tokens"), told.count("reasoning_output_tokens")
    return Usage(
        input_tokens=told.count("input_tokens"),
        output_tokens=None if output is None else max(0, output - (reasoning or 0)),
        reasoning_tokens=reasoning,
        cache_tokens=told.count("cached_input_tokens"),
    )
