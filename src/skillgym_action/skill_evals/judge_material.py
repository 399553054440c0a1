"""What the judge sees of a session: the task, the answer, files and actions. Neither the skill nor the arm."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillgym_action.filesystem.folder import SKILLS as SKILL_FOLDERS
from skillgym_action.limits import (
    MAX_JUDGED_ACTION_CHARACTERS,
    MAX_JUDGED_ACTIONS_CHARACTERS,
    MAX_JUDGED_FILE_CHARACTERS,
    MAX_JUDGED_FILES_CHARACTERS,
    MAX_JUDGED_MESSAGE_CHARACTERS,
    MAX_JUDGED_NAMES,
    MAX_SEARCHED_FILE_BYTES,
)
from skillgym_action.model.judge_question import QuotedText
from skillgym_action.model.session_report import Command, FileWrite, ToolCall
from skillgym_action.text.escaping import clipped, one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillgym_action.model.assertion import AssertionContext, Files
    from skillgym_action.model.session_report import Event, SessionReport

_SKILL_TOOLS = frozenset({"skill", "activate_skill", "load_skill", "use_skill"})
# Only from the beginning of a word, so that long words take no quadratic time.
_INSTALLED = re.compile(
    r"(?<![^\s'\"=:;|&()])[^\s'\"=:;|&()]*\.(?:claude|agents)/skills(?:/(?!SKILL\.md)[\w.-]+)?(?:/SKILL\.md)?"
)
_SEVERAL = re.compile(r"[;|&>\n`$]")  # in a command that does more than one thing
_BINARY = re.compile(r"[\0\ufffd]")
_MOST_BINARY = 0.05  # share of characters that no text has


@dataclass(frozen=True, slots=True)
class JudgeMaterial:
    """Paragraphs of a question, and what was left out of them, in words; (): nothing."""

    parts: tuple[str | QuotedText, ...]
    cut: tuple[str, ...]


def material_of(context: AssertionContext, expected_output: str) -> JudgeMaterial:
    """The material of a session. ``expected_output``: of the case; empty: it has none."""
    cut: list[str] = []
    report = context.report
    parts: list[str | QuotedText] = [f"The agent's task:\n{report.prompt if report else ''}"]
    if expected_output.strip():
        parts.append(f"What its author expects of a good result:\n{expected_output}")
    message = report.final_output if report else ""
    parts.append(QuotedText("final message", _limited(message, MAX_JUDGED_MESSAGE_CHARACTERS, "final message", cut)))
    actions = "\n".join(_actions(report)) if report else ""
    parts.append(QuotedText("actions", _limited(actions, MAX_JUDGED_ACTIONS_CHARACTERS, "actions", cut)))
    parts.extend(_files(context.files, cut))
    return JudgeMaterial(tuple(parts), tuple(cut))


def _limited(text: str, limit: int, name: str, cut: list[str]) -> str:
    if len(text) > limit:
        cut.append(f"the middle of the {name}")
    return clipped(text, limit)


# --- actions ------------------------------------------------------------------------------------------


def _actions(report: SessionReport) -> Iterator[str]:
    """A line for each command, with its exit code, each other call of a tool, and each file written."""
    events = report.events
    for number, event in enumerate(events):
        if isinstance(event, Command):
            if _reads_skill(event.command) and not _SEVERAL.search(event.command):
                continue
            code = "its exit code is not known" if event.exit_code is None else f"exit code {event.exit_code}"
            yield f"command ({code}): {_shown(event.command, report)}"
        elif isinstance(event, FileWrite):
            yield f"file written: {_shown(event.path, report)}"
        elif isinstance(event, ToolCall) and event.tool.lower() not in _SKILL_TOOLS:
            arguments = json.dumps(event.args, ensure_ascii=False, default=str)
            following = events[number + 1] if number + 1 < len(events) else None
            if not (_is_same(arguments, following) or _reads_skill(arguments)):
                yield f"tool {one_line(event.tool)}: {_shown(arguments, report)}"


def _is_same(arguments: str, following: Event | None) -> bool:
    """Whether the event after a call of a tool is the same action: the command, or the file that it wrote."""
    if isinstance(following, FileWrite):
        return following.path.rpartition("/")[2] in arguments
    return isinstance(following, Command)


def _reads_skill(arguments: str) -> bool:
    return "SKILL.md" in arguments and _INSTALLED.search(arguments) is not None


def _shown(text: str, report: SessionReport) -> str:
    """A text without the workspace's path, and without the folders of installed skills."""
    neutral = text.replace(f"{report.cwd}/", "") if report.cwd else text
    return clipped(one_line(_INSTALLED.sub("[folder]", neutral)), MAX_JUDGED_ACTION_CHARACTERS)


# --- files --------------------------------------------------------------------------------------------


def _files(files: Files, cut: list[str]) -> Iterator[str | QuotedText]:
    """The created and changed files, text as far as there is room; then the others, by name and size."""
    created = frozenset(files.created())
    names = [name for name in files.changed_names() if not name.startswith(tuple(f"{one}/" for one in SKILL_FOLDERS))]
    left, listed, number = MAX_JUDGED_FILES_CHARACTERS, [], 0
    for name in names:
        kind = files.kind(name)
        if kind != "file":
            listed.append(f"{one_line(name)}: {'deleted' if kind is None else kind}")
            continue
        word = "created" if name in created else "changed"
        text = files.text(name, MAX_SEARCHED_FILE_BYTES) if left > 0 else None
        if text is None or _is_binary(text):
            size = files.size(name)
            listed.append(f"{one_line(name)}: {word}, {'size unknown' if size is None else f'{size:,} bytes'}")
            if text is None:
                cut.append(f"the content of {one_line(name)}")
            continue
        number += 1
        limit = min(left, MAX_JUDGED_FILE_CHARACTERS)
        left -= min(len(text), limit)
        shown = _limited(text, limit, f"file {one_line(name)}", cut)
        yield QuotedText(f"file {number}", f"{one_line(name)} ({word} by the agent)\n\n{shown}")
    if not names:
        yield "The agent created and changed no file."
    if listed:
        if len(listed) > MAX_JUDGED_NAMES:
            cut.append(f"the names of {len(listed) - MAX_JUDGED_NAMES:,} files")
        yield QuotedText("other files that the agent created, changed or deleted", "\n".join(listed[:MAX_JUDGED_NAMES]))


def _is_binary(text: str) -> bool:
    return len(_BINARY.findall(text)) > _MOST_BINARY * len(text)
