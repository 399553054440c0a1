"""Codex's own record of a session: ``~/.codex/sessions/YYYY/MM/DD/rollout-TIME-ID.jsonl``.

Verified with the version in ``AGENTS``: a first line ``session_meta`` names folder and commit; ``response_item`` lines
are messages and calls of tools, ``event_msg`` lines what became of them. Older versions report edits as
``patch_apply_end`` and the user's words as ``user_message``.
"""

from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING

from skillgym_action.agents.output.agent_output import EventLog
from skillgym_action.agents.output.lenient_json import LenientJson, json_object, shortened
from skillgym_action.authoring.promotion.files import hunks_of_diff
from skillgym_action.authoring.promotion.local_session import FileEdit, LocalSession
from skillgym_action.model.session_report import Command, FileWrite

if TYPE_CHECKING:
    from collections.abc import Iterable

    from skillgym_action.agents.output.agent_output import Effect
    from skillgym_action.authoring.promotion.local_session import TranscriptLines

_SHELLS = frozenset({"exec_command", "shell", "shell_command", "local_shell", "container.exec", "unified_exec"})
_SHELL = re.compile(r"(?:.*/)?(?:ba|z|da)?sh")
_WRAPPED_WORDS = 3  # bash -lc COMMAND
_EXIT_CODE = re.compile(r"^(?:Process exited with code|Exit code:) (\d{1,9})$", re.MULTILINE)
# What the CLI writes in the name of the user, in versions that do not mark it.
_NOT_OF_USER = re.compile(r"\s*(?:<(?:environment_context|user_instructions|permissions|turn_aborted)|# AGENTS\.md)")


def is_of_codex(first: Iterable[LenientJson]) -> bool:
    """Whether these are lines of Codex."""
    return any(line.text("type") == "session_meta" and line.text("payload", "cwd") for line in first)


def codex_session(lines: Iterable[LenientJson], source: TranscriptLines) -> LocalSession:
    """The session that the lines describe."""
    reader = _Reader()
    for line in lines:
        reader.take(line)
    meta = reader.meta
    prompts = next(filter(None, (reader.said, reader.items, reader.messages)), [])
    return LocalSession(
        agent="codex",
        cwd=meta.text("cwd") or "",
        prompts=tuple(prompts),
        events=reader.log.events({}),
        edits=tuple(reader.edits),
        session_id=meta.text("id"),
        commit=meta.text("git", "commit_hash"),
        branch=meta.text("git", "branch"),
        began=meta.text("timestamp"),
        model=reader.model,
        version=meta.text("cli_version"),
        skipped=tuple(source.skipped),
    )


class _Reader:
    """``said``, ``items`` and ``messages``: the user's words, as different versions of the CLI report them."""

    def __init__(self) -> None:
        self.meta = LenientJson({})
        self.model: str | None = None
        self.log = EventLog()
        self.edits: list[FileEdit] = []
        self.said: list[str] = []
        self.items: list[str] = []
        self.messages: list[str] = []
        self._codes: dict[str, int] = {}

    def take(self, line: LenientJson) -> None:
        payload, at = line.child("payload"), line.text("timestamp")
        match line.text("type"), payload.text("type"):
            case "session_meta", _:
                self.meta = self.meta if self.meta.value else payload  # a forked session has its origin's, too
            case "turn_context", _:
                self.model = self.model or payload.text("model")
            case "response_item", str(kind):
                self._item(payload, kind, at)
            case "event_msg", "user_message":
                self.said += filter(None, [(payload.text("message") or "").strip()])
            case "event_msg", "item_completed":
                self._completed(payload.child("item"), at)
            case "event_msg", "exec_command_end":
                self._ended(payload.text("call_id"), payload)
            case "event_msg", "patch_apply_end" if payload.at("success") is not False:
                self._changed(payload.text("call_id") or "", payload.child("changes"), at)

    def _completed(self, item: LenientJson, at: str | None) -> None:
        match item.text("type"):
            case "UserMessage":
                words = "\n".join(part.text("text") or "" for part in item.children("content")).strip()
                self.items += filter(None, [words])
                self.log.user_message(shortened(words), at)
            case "CommandExecution":
                self._ended(item.text("id"), item)
            case "FileChange" if item.text("status") != "failed":
                self._changed(item.text("id") or "", item.child("changes"), at)

    def _ended(self, call: str | None, item: LenientJson) -> None:
        if call and (code := item.count("exit_code")) is not None:
            self._codes[call] = code

    def _item(self, item: LenientJson, kind: str, at: str | None) -> None:
        call = item.text("call_id") or item.text("id") or ""
        if kind == "message":
            self._message(item, at)
        elif kind in {"function_call", "custom_tool_call", "local_shell_call"}:
            tool = item.text("name") or kind.removesuffix("_call")
            arguments = _arguments(item)
            self.log.call(call, tool, arguments.value, _effects(tool, arguments), at)
        elif kind in {"function_call_output", "custom_tool_call_output"}:
            parts = [part.text("text") or "" for part in item.children("output")]
            output = item.text("output") or item.text("output", "content") or "\n".join(parts)
            code = self._codes.get(call, _exit_code(output))
            self.log.result(call, shortened(output), failed=bool(code), exit_code=code, at=at)
        elif kind == "reasoning":
            for part in item.children("summary"):
                self.log.thinking(shortened(part.text("text") or ""), at)

    def _message(self, item: LenientJson, at: str | None) -> None:
        text = "\n".join(part.text("text") or "" for part in item.children("content")).strip()
        if item.text("role") == "assistant" and text:
            self.log.assistant_message(shortened(text), at)
        elif item.text("role") == "user" and text and not _NOT_OF_USER.match(text):
            self.messages.append(text)

    def _changed(self, call: str, changes: LenientJson, at: str | None) -> None:
        """Take the edits of a patch: of each file its whole content, or the lines that changed."""
        for path, change in changes.value.items():
            edit = _edit(path, LenientJson(change))
            self.edits.append(edit)
            key = f"{call} {path}"
            effects = [] if edit.deleted else [FileWrite(path=edit.moved_to or path)]
            self.log.call(key, "apply_patch", {"path": path}, effects, at)
            self.log.result(key, "", at=at)


def _edit(path: str, change: LenientJson) -> FileEdit:
    """An edit; its kind is a field, or in older versions the only key."""
    kind = change.text("type") or next(iter(change.value), "")
    body = change if change.text("type") else change.child(kind)
    if kind == "delete":
        return FileEdit(path=path, before=body.text("content"), deleted=True)
    if kind == "add":
        return FileEdit(path=path, content=body.text("content") or "")
    hunks = hunks_of_diff(body.text("unified_diff") or "")
    return FileEdit(path=path, hunks=hunks, moved_to=body.text("move_path"))


def _arguments(item: LenientJson) -> LenientJson:
    """The arguments of a call: JSON in a text, a text, or an action."""
    if (text := item.text("arguments")) is not None:
        return json_object(text) or LenientJson({"input": shortened(text)})
    if (text := item.text("input")) is not None:
        return LenientJson({"input": shortened(text)})
    return item.child("action")


def _effects(tool: str, arguments: LenientJson) -> list[Effect]:
    if tool not in _SHELLS:
        return []
    words = arguments.texts("command") or arguments.texts("cmd")
    text = arguments.text("cmd") or arguments.text("command")
    if words:
        is_shell = len(words) == _WRAPPED_WORDS and _SHELL.fullmatch(words[0]) and words[1] in {"-lc", "-c"}
        text = words[2] if is_shell else shlex.join(words)
    return [Command(command=text)] if text else []


def _exit_code(output: str) -> int | None:
    """The exit code in the text of an output, as JSON or in words."""
    if found := _EXIT_CODE.search(output[:2000]):
        return int(found[1])
    try:
        return LenientJson(json.loads(output)).count("metadata", "exit_code") if output.startswith("{") else None
    except (ValueError, RecursionError):
        return None
