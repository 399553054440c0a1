"""Claude Code's own record of a session: ``~/.claude/projects/FOLDER/ID.jsonl``.

Verified with the version in ``AGENTS``. Messages are as in its output, with other names for some fields. Lines with
``isSidechain`` are of sub-agents, those with ``isMeta`` and those of commands such as ``/clear`` are not the user's
words. The result of an edit has the file's content before it.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from skillgym_action.agents import agent_named
from skillgym_action.authoring.promotion.local_session import FileEdit, Hunk, LocalSession
from skillgym_action.model.errors import UsageError
from skillgym_action.model.limits import (
    MAX_PROMOTED_BYTES,
    MAX_PROMOTED_TRANSCRIPT_BYTES,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from skillgym_action.agents.output.lenient_json import LenientJson
    from skillgym_action.authoring.promotion.local_session import TranscriptLines
    from skillgym_action.model.session import Session

# What the CLI writes in the name of the user.
_NOT_OF_USER = re.compile(
    r"\s*(?:<(?:command-(?:name|message|args)|local-command-|bash-|task-notification|system-reminder)"
    r"|Caveat: The messages below|\[Request interrupted"
    r"|This session is being continued from a previous conversation)"
)


def is_of_claude_code(first: Iterable[LenientJson]) -> bool:
    """Whether these are lines of Claude Code."""
    return any(
        line.text("sessionId") is not None
        and (line.text("type") in {"user", "assistant", "queue-operation", "system"} or "cwd" in line.value)
        for line in first
    )


def claude_code_session(lines: Iterable[LenientJson], source: TranscriptLines, session: Session) -> LocalSession:
    """The session that the lines describe. ``session``: any; the agent's adapter wants one. Raises UsageError."""
    reading = agent_named("claude-code").event_reader(session)
    prompts: list[str] = []
    edits: list[FileEdit] = []
    edited = 0  # characters; one line can have many times its own length
    facts: dict[str, str] = {}
    for line in lines:
        if line.text("type") not in {"user", "assistant"}:
            continue
        is_main = not line.true("isSidechain")
        for name in ("cwd", "gitBranch", "sessionId", "version", "timestamp"):
            if is_main and (value := line.text(name)):
                facts.setdefault(name, value)
        if (model := line.text("message", "model")) and model != "<synthetic>":
            facts.setdefault("model", model)
        if is_main and (prompt := _prompt(line)):
            prompts.append(prompt)
        for edit in _edits(line):
            edits.append(edit)
            edited += len(edit.content or "")
        if edited > MAX_PROMOTED_TRANSCRIPT_BYTES:
            limit = f"{MAX_PROMOTED_TRANSCRIPT_BYTES // 1024**2} MiB"
            raise UsageError(f"{source.path}: its edits make more than {limit}", remedy="write the case by hand")
        if reading:
            reading.read_line(json.dumps(_as_printed(line)))
    events = tuple(event for event in (reading.events_so_far if reading else ()) if event is not None)
    return LocalSession(
        agent="claude-code",
        cwd=facts.get("cwd", ""),
        prompts=tuple(prompts),
        events=events,
        edits=tuple(edits),
        session_id=facts.get("sessionId"),
        branch=facts.get("gitBranch"),
        began=facts.get("timestamp"),
        model=facts.get("model"),
        version=facts.get("version"),
        skipped=tuple(source.skipped),
    )


def _as_printed(line: LenientJson) -> dict[str, object]:
    """The line as ``claude -p --output-format stream-json`` prints it."""
    return {
        "type": line.text("type"),
        "message": line.at("message"),
        "timestamp": line.text("timestamp"),
        "session_id": line.text("sessionId"),
        "parent_tool_use_id": "sidechain" if line.true("isSidechain") else None,
        "isSynthetic": not _is_of_user(line),
        "tool_use_result": line.at("toolUseResult"),
    }


def _is_of_user(line: LenientJson) -> bool:
    if line.true("isMeta") or line.true("isCompactSummary") or line.true("isVisibleInTranscriptOnly"):
        return False
    return not _NOT_OF_USER.match(_text(line))


def _prompt(line: LenientJson) -> str:
    """What the user said; empty for other lines."""
    if line.text("type") != "user" or not _is_of_user(line):
        return ""
    if any(part.text("type") == "tool_result" for part in line.children("message", "content")):
        return ""
    return _text(line).strip()


def _text(line: LenientJson) -> str:
    whole = line.text("message", "content")
    parts = line.children("message", "content")
    return whole if whole is not None else "\n".join(part.text("text") or "" for part in parts)


def _edits(line: LenientJson) -> Iterator[FileEdit]:
    """The edit that a result of a tool reports. Those that failed report a text."""
    result = line.child("toolUseResult")
    path = result.text("filePath")
    if line.text("type") != "user" or not path:
        return
    before, content = result.text("originalFile"), result.text("content")
    if content is not None and result.text("type") in {"create", "update"}:
        yield FileEdit(path=path, before=before, content=content)
        return
    old, new = result.text("oldString"), result.text("newString")
    if before is not None and old and new is not None and (places := before.count(old)):
        places = places if result.true("replaceAll") else 1
        if len(before) + places * (len(new) - len(old)) > MAX_PROMOTED_BYTES:
            limit = f"{MAX_PROMOTED_BYTES // 1024**2} MiB"
            raise UsageError(f"an edit makes {path} larger than {limit}", remedy="write the case by hand")
        content = before.replace(old, new, places)
        yield FileEdit(path=path, before=before, content=content)
    elif hunks := tuple(_hunk(hunk) for hunk in result.children("structuredPatch")):
        yield FileEdit(path=path, before=before, hunks=hunks)


def _hunk(hunk: LenientJson) -> Hunk:
    return Hunk(line=hunk.count("oldStart") or 0, lines=hunk.texts("lines"))
