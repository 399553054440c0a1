"""Codex: ``codex exec`` reads the prompt from stdin and prints one JSON object a line.

Verified with the version in ``AGENTS``: an item of type "error" is a notice, and so is an "error" before
another try; ``turn.failed`` decides. The session's rollout file has what stdout has not: the model, the
version, the skills on offer, and the tokens of each model round. Skills are used by reading them with a command.
"""

from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING

from skillgym_action.agents.defaults import StreamParser, cli_invocation, lines_of, reported, streamed_events
from skillgym_action.agents.output.lenient_json import LenientJson, json_object
from skillgym_action.agents.output.mcp_servers import FAILED, servers_complained_of
from skillgym_action.model.session import Invocation, Progress
from skillgym_action.model.session_report import Command, FileWrite, Usage

if TYPE_CHECKING:
    from skillgym_action.agents.output.agent_output import Effect
    from skillgym_action.model.session import Session

DEFAULT_BASE_URL, CHATGPT_BASE_URL = "https://api.openai.com/v1", "https://chatgpt.com/backend-api/codex"
# The CLI's own provider reads no base URL from the environment and tries WebSockets first. Without the last switch the
# CLI would wait for a network until the timeout.
CONFIG = """\
model_provider = "skillgym"
check_for_update_on_startup = false

[model_providers.skillgym]
name = "OpenAI API"
base_url = {base_url}
{account}
wire_api = "responses"{query}
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
# Fields of an item that are not arguments of the tool.
RESULT_FIELDS = frozenset({"id", "type", "tool", "status", "aggregated_output", "exit_code", "result", "error"})


def invocation(session: Session, *resumed: str) -> Invocation:
    """A session with a config folder of its own; the CLI retries a failed model call twice."""
    env, home = session.agent.env, session.home / ".codex"
    key, address, version = ("CODEX_API_KEY" if env.get("CODEX_API_KEY") else "OPENAI_API_KEY"), "OPENAI_BASE_URL", None
    if session.agent.account.family == "azure-openai":
        key, address, version = "AZURE_OPENAI_API_KEY", "AZURE_OPENAI_BASE_URL", env.get("AZURE_OPENAI_API_VERSION")
    plan = bool(session.agent.account.home)  # the caller's login, in auth.json
    config = CONFIG.format(
        base_url=json.dumps(CHATGPT_BASE_URL if plan else env.get(address) or DEFAULT_BASE_URL, ensure_ascii=False),
        account="requires_openai_auth = true" if plan else f'env_key = "{key}"',
        query=f"\nquery_params = {{ api-version = {json.dumps(version)} }}" if version else "",
    )
    return cli_invocation(
        session,
        ("codex", "exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"),
        last=(*resumed, "-"),
        env={"CODEX_HOME": str(home)},
        files={home / "config.toml": config},
        collect=(ROLLOUTS,),
    )


def resume(session: Session, session_id: str) -> Invocation:
    """Needs the home of the session that is continued."""
    return invocation(session, "resume", "--", session_id)


def progress(line: str) -> Progress | None:
    """A step is a message of the model; the CLI prints tokens at the end only."""
    event = json_object(line) or LenientJson({})
    match event.text("type"), event.text("item", "type"):
        case "item.completed", "agent_message":
            return Progress(step=event.text("item", "id"))
        case (("turn.completed" | "turn.failed"), _):
            return Progress(finished=True)
        case "error", _ if _is_retry(event):
            return Progress(retrying=True, error=event.text("message") or "")
        case _:
            return None


class _Parser(StreamParser):
    COLLECTED = IN_ROLLOUT

    def take(self, event: LenientJson) -> bool:
        item = event.child("item")
        match event.text("type"), item.text("type"):
            case "thread.started", _:
                self.session_id = event.text("thread_id")
            case "turn.started", _:
                pass
            case "error", _ if _is_retry(event):
                pass
            case "turn.completed", _:
                self.ended(None)
                # Where the rollout has the tokens of each round, sub-agents' rounds among them, their sum counts.
                self.usage = None if self.rounds else _usage(event.child("usage"))
            case "turn.failed", _:
                self.fail(event.text("error", "message") or "the turn failed")
            case "item.completed", "agent_message":
                self.log.assistant_message(item.text("text") or "")
            case "item.completed", "reasoning":
                self.log.thinking(item.text("text") or "")
            case ("item.started" | "item.updated" | "item.completed") as moment, str(kind) if kind != "error":
                self._tool(item, kind, completed=moment == "item.completed")
            case _:
                # A notice. One about an MCP server is all that the CLI says of it in its events.
                notice = item.text("message") or event.text("message") or ""
                for server in servers_complained_of([notice]):
                    self.server_status(server, FAILED)
                return False
        return True

    def _tool(self, item: LenientJson, kind: str, *, completed: bool) -> None:
        key = item.text("id") or ""
        if not self.log.called(key):
            arguments = {name: value for name, value in item.value.items() if name not in RESULT_FIELDS}
            self.log.call(key, item.text("tool") or kind, arguments, _effects(item, kind))
        if completed:
            parts = [part.text("text") or "" for part in item.children("result", "content")]
            output = item.text("aggregated_output") or item.text("error", "message") or "\n".join(parts)
            failed = item.text("status") == "failed"
            if item.text("status") == "declined":
                failed = True
                self.log.deny(key)
            self.log.result(key, output, failed=failed, exit_code=item.count("exit_code"))

    def take_collected(self, record: LenientJson) -> None:
        """Take a line of the session's rollout, or of a sub-agent's, whose rounds count."""
        payload = record.child("payload")
        match record.text("type"):
            case "session_meta":
                self.version = self.version or payload.text("cli_version")
            case "turn_context":
                self.model = self.model or payload.text("model")
            case "token_usage_record":
                self.rounds[payload.text("response_id") or ""] = _usage(payload.child("usage"))
            case "response_item":
                texts = [part.text("text") or "" for part in payload.children("content")]
                self.skills = self.skills or tuple(OFFERED_SKILL.findall("\n".join(texts)))


transcript = streamed_events(_Parser)
event_reader = lines_of(_Parser)
trouble = reported


def _is_retry(event: LenientJson) -> bool:
    """Whether an "error" is a notice that the CLI tries a call again."""
    return (event.text("message") or "").startswith("Reconnecting")


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


def _usage(counts: LenientJson) -> Usage:
    """Input includes what comes from the cache; output includes the reasoning."""
    output, reasoning = counts.count("output_tokens"), counts.count("reasoning_output_tokens")
    return Usage(
        input_tokens=counts.count("input_tokens"),
        output_tokens=None if output is None else max(0, output - (reasoning or 0)),
        reasoning_tokens=reasoning,
        cache_tokens=counts.count("cached_input_tokens"),
    )
