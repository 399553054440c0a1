"""Claude Code: ``claude -p`` reads the prompt from stdin and prints one JSON object per line.

Verified with the version in ``AGENTS``: ``subtype`` says "success" even when the model call failed, so ``is_error``
decides, and ``terminal_reason``; tokens on ``assistant`` lines are those of the start of a message, repeated for each
of its parts; ``result.usage`` leaves out sub-agents, ``result.modelUsage`` counts them.
"""

from __future__ import annotations

import re
from dataclasses import field
from http import HTTPStatus
from typing import TYPE_CHECKING

from skillgym_action.agents.defaults import StreamParser, Tools, cli_invocation, lines_of, reported, streamed_events
from skillgym_action.agents.output.agent_output import total, total_usage
from skillgym_action.agents.output.lenient_json import LenientJson, json_object
from skillgym_action.agents.output.trouble_signs import kind_of_error, kind_of_text
from skillgym_action.model.records import record
from skillgym_action.model.session import Invocation, Progress
from skillgym_action.model.session_report import Usage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillgym_action.model.session import Capture, Session

LIMITS = {"error_max_turns": "max-steps", "error_max_budget_usd": "budget-exceeded"}
# How the model ended: the result's ``stop_reason``, and its ``terminal_reason``.
ENDINGS = {"refusal": "refused", "max_tokens": "output-limit", "model_context_window_exceeded": "context-exceeded"}
TERMINAL = {
    **dict.fromkeys(("prompt_too_long", "blocking_limit", "rapid_refill_breaker"), "context-exceeded"),
    "max_turns": "max-steps",
    "budget_exhausted": "budget-exceeded",
}
# Reasons for which the session did not reach its end, whatever else the result says. Of those of the service, the
# class if the message tells none.
OF_SERVICE = frozenset({"api_error", "model_error", "image_error", "malformed_tool_use_exhausted"})
UNFINISHED = frozenset(
    {
        *TERMINAL,
        *OF_SERVICE,
        *("aborted_streaming", "aborted_tools", "structured_output_retry_exhausted"),
        *("tool_deferred_unavailable", "turn_setup_failed"),
    }
)
EXIT_CODE = re.compile(r"(?:Error: )?Exit code (\d+)\b")
SYNTHETIC = "<synthetic>"
NO_SERVICE = "HTTP status 404 without an error of the service, as from a wrong base URL"
TOOLS = Tools(
    commands={"Bash": "command"},
    skills={"Skill": "skill"},
    reads={"Read": "file_path"},
    writes={"Write": "file_path", "Edit": "file_path", "MultiEdit": "file_path", "NotebookEdit": "notebook_path"},
)
# Keys of: uncached input, input written to the cache, input read from the cache, output. No token is in two of them.
MESSAGE_USAGE_KEYS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
MODEL_USAGE_KEYS = ("inputTokens", "cacheCreationInputTokens", "cacheReadInputTokens", "outputTokens")
# Subtypes of ``system`` lines that have no content of the session.
IGNORED_SUBTYPES = frozenset({"thinking_tokens", "task_started", "task_progress", "task_updated", "task_notification"})

STOPPED_TASKS = frozenset({"stopped", "killed"})
ENDED_TASKS = frozenset({"completed", "failed", *STOPPED_TASKS})


def invocation(session: Session, *resumed: str) -> Invocation:
    """A session with its own configuration folder. The CLI retries a failed model call twice."""
    options = ("-p", "--output-format", "stream-json", "--verbose", *_permissions(session))
    budget = () if session.budget is None else ("--max-budget-usd", f"{session.budget:.6f}")
    plugins = (f"--plugin-dir={folder}" for folder in session.plugins)
    return cli_invocation(
        session,
        ("claude", *options, *plugins, *resumed, *budget),
        env={
            "CLAUDE_CONFIG_DIR": str(session.home / ".claude"),
            "IS_SANDBOX": "1",  # without it the CLI refuses to run unattended as root
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_MAX_RETRIES": "2",
        },
        collect=(".claude/projects/*/*.jsonl",),
    )


def _permissions(session: Session) -> Iterator[str]:
    """The tools of the session, and what is appended to the system prompt. A tool that is not allowed is refused."""
    settings = session.settings
    if settings.allowed_tools:
        yield f"--allowedTools={','.join(settings.allowed_tools)}"
    else:
        yield "--dangerously-skip-permissions"
    if settings.disallowed_tools:
        yield f"--disallowedTools={','.join(settings.disallowed_tools)}"
    if settings.system_prompt:
        yield f"--append-system-prompt={settings.system_prompt}"


def resume(session: Session, session_id: str) -> Invocation:
    """Needs the home folder of the continued session."""
    return invocation(session, f"--resume={session_id}")


def progress(line: str) -> Progress | None:
    """A step is a message of the model; tokens are those known when it starts."""
    event = json_object(line)
    if event is None:
        return None
    match event.text("type"), event.text("subtype"):
        case "result", _:
            return Progress(finished=True, text=event.text("result"))
        case "system", "api_retry":
            return Progress(retrying=True, error=f"{event.text('error') or ''} error {event.count('error_status')}")
        case "system", ("task_started" | "task_notification") as moment if event.text("task_type") != "local_bash":
            return Progress(helper=(event.text("task_id") or "", moment == "task_started"))
    step, model = event.text("message", "id"), event.text("message", "model")
    if event.text("type") != "assistant" or step is None or model == SYNTHETIC:
        return None
    own = event.at("parent_tool_use_id") is None
    texts = [text for part in event.children("message", "content") if own and (text := part.text("text"))]
    usage = _usage(event.child("message", "usage"))
    return Progress(step=step, usage=usage, model=model, text=texts[-1] if texts else None)


@record(frozen=False, kw_only=False, slots=False)
class _Parser(StreamParser):
    NOISE = ('{"type":"stream_event"', '{"type": "stream_event"')
    WHOLE_ROUNDS = False
    error: str = ""
    limit: str | None = None
    no_error_of_service: bool = False
    retry_after: float | None = None
    tasks: dict[str, str] = field(default_factory=dict)  # work in the background -> the call that began it

    def take(self, event: LenientJson) -> bool:
        if event.at("parent_tool_use_id") is not None:
            self.complete = self.after_result  # a helper may go on after the end of the main agent
        match event.text("type"), event.text("subtype"):
            case "system", str(subtype):
                if not self._system(event, subtype):
                    return False
            case "rate_limit_event", _:
                self._limit(event.child("rate_limit_info"))
            case "stream_event", _:
                pass
            case "assistant", _:
                self._assistant(event)
            case "user", _:
                self._user(event)
            case "result", _:
                self._result(event)
            case _:
                return False
        self.session_id = event.text("session_id") or self.session_id
        return True

    def _system(self, event: LenientJson, subtype: str) -> bool:
        match subtype:
            case "init":
                self.model, self.version = event.text("model"), event.text("claude_code_version")
                self.skills = event.texts("skills")
                self.servers_listed(event, "mcp_servers")
            case "permission_denied":
                self.log.deny(event.text("tool_use_id") or "")
            case "api_retry":
                delay = event.amount("retry_delay_ms")
                self.retry_after = delay / 1000 if delay is not None else None
            case _ if subtype in IGNORED_SUBTYPES:
                self._task(event, subtype)
            case _:
                return False
        return True

    def _task(self, event: LenientJson, subtype: str) -> None:
        """Work in the background: one that the CLI itself ends after its result has not ended by itself."""
        task, call = event.text("task_id") or "", event.text("tool_use_id") or ""
        if subtype == "task_started":
            self.tasks[task] = call
            if event.true("is_backgrounded"):
                self.log.moved_to_background(call)
        status = event.text("status") or event.text("patch", "status")
        if status in ENDED_TASKS and not (status in STOPPED_TASKS and self.after_result):
            self.log.background.pop(self.tasks.get(task, call), None)

    def _assistant(self, event: LenientJson) -> None:
        message = event.child("message")
        self.log.round = ""
        if message.text("model") == SYNTHETIC:
            self.error = event.text("error") or self.error
            # An error of the service itself has a type. Another server that does not know the path gives none.
            has_type = event.text("api_error_type") or not event.true("is_api_error_message")
            self.no_error_of_service = event.count("api_error_status") == HTTPStatus.NOT_FOUND and not has_type
        elif step := message.text("id"):
            self.log.round = step
            self.rounds[step] = _usage(message.child("usage"))
            self.model = self.model or message.text("model")
            if event.at("parent_tool_use_id") is None:
                self.answered_by(message.text("model"))
        at = event.text("timestamp")
        for part in message.children("content"):
            if (text := part.text("text")) is not None:
                main = event.at("parent_tool_use_id") is None
                self.log.assistant_message(text, at, main=main, of_model=message.text("model") != SYNTHETIC)
            elif (thought := part.text("thinking")) is not None:
                self.log.thinking(thought, at)
            elif (tool := part.text("name")) is not None:
                effects = TOOLS.effects(tool, part.child("input"))
                self.log.call(part.text("id") or "", tool, part.at("input"), effects, at)

    def _user(self, event: LenientJson) -> None:
        at = event.text("timestamp")
        own = event.at("parent_tool_use_id") is None and not event.true("isSynthetic")
        if own and (text := event.text("message", "content")) is not None:
            self.log.user_message(text, at)
        for part in event.children("message", "content"):
            if part.text("type") == "tool_result":
                texts = [text for item in part.children("content") if (text := item.text("text")) is not None]
                output, failed = part.text("content") or "\n".join(texts), part.true("is_error")
                code = _exit_code(output, event, failed=failed)
                if event.at("tool_use_result", "backgroundTaskId"):
                    self.log.moved_to_background(part.text("tool_use_id") or "")
                self.log.result(part.text("tool_use_id") or "", output, failed=failed, exit_code=code, at=at)
            elif own and (text := part.text("text")) is not None:
                self.log.user_message(text, at)

    def _limit(self, info: LenientJson) -> None:
        """Note a limit of the account that refuses calls, and when it ends."""
        if info.text("status") == "rejected":
            ends = LenientJson({"at": (info.amount("resetsAt") or 0) * 1000}).moment("at")
            which = (info.text("rateLimitType") or "usage").replace("_", " ")
            self.limit = f"the account's limit ({which}) is reached" + (f"; it resets at {ends}" if ends else "")

    def _result(self, result: LenientJson) -> None:
        by_model = [_usage(counts, MODEL_USAGE_KEYS) for counts in result.children("modelUsage")]
        self.spent(result.amount("total_cost_usd"), total_usage(by_model or [_usage(result.child("usage"))]))
        for denied in result.children("permission_denials"):
            self.log.deny(denied.text("tool_use_id") or "")
        if not self.ended(result.count("num_turns")):
            return
        self.final_output = result.text("result") or ""
        self.own_command = f"/{command}" if (command := result.text("local_command")) else ""
        subtype = result.text("subtype") or ""
        is_error = result.true("is_error") or subtype.startswith("error")
        terminal = result.text("terminal_reason") or ""
        ending = ENDINGS.get(result.text("stop_reason") or "") or TERMINAL.get(terminal)
        kind = (LIMITS.get(subtype) if is_error else None) or ending
        if not is_error and not kind and terminal not in UNFINISHED:
            return
        message = self.final_output or "; ".join(result.texts("errors")) or terminal or subtype
        if self.limit and not kind:
            message, kind = f"{self.limit}: {message}", "quota"
        if self.no_error_of_service and not kind:
            message, kind = f"{NO_SERVICE}: {message}", "network"
        kind = kind or kind_of_error(message, result.count("api_error_status"))
        if kind in {None, "runner-crash"}:
            kind = kind_of_text(f"{self.error} {subtype}") or ("provider" if terminal in OF_SERVICE else kind)
        self.fail(message, kind, retry_after=self.retry_after if kind == "rate-limit" else None)

    def finish(self, capture: Capture) -> None:  # noqa: ARG002 - all is in the stream
        """Of a process that ended without a result."""
        if self.limit and not self.complete and self.failure is None:
            self.fail(self.limit, "quota")


transcript = streamed_events(_Parser)
event_reader = lines_of(_Parser)
trouble = reported


def _exit_code(output: str, event: LenientJson, *, failed: bool) -> int | None:
    """The exit code of a command. One that is not 0 is in the output's text; a background command has none yet."""
    if failed:
        code = EXIT_CODE.match(output)
        return int(code[1]) if code else None
    return None if event.at("tool_use_result", "backgroundTaskId") else 0


def _usage(counts: LenientJson, names: tuple[str, str, str, str] = MESSAGE_USAGE_KEYS) -> Usage:
    uncached, written, cached, output = (counts.count(name) for name in names)
    return Usage(input_tokens=total((uncached, written, cached)), cache_tokens=cached, output_tokens=output)
