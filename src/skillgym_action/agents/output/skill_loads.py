"""Whether a session loaded a skill that was installed for it: by a tool that named it, or by reading its SKILL.md.

A mention is no load, nor is a listing of the folder.
"""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from skillgym_action.agents.output.file_reads import files_read
from skillgym_action.agents.output.skills import SKILL_FILE
from skillgym_action.model.session_report import Command, FileRead, SkillSignal, ToolCall, ToolResult

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from skillgym_action.model.session_report import Event

_INSTALLED = re.compile(rf"\.[^/]+/skills/(?P<skill>[^/]+)/{re.escape(SKILL_FILE)}")


def loaded_skill(event: Event, names: Collection[str], cwd: str) -> str | None:
    """The one of the skills that this event loads; None: it loads none. ``cwd``: absolute path of the workspace."""
    if isinstance(event, SkillSignal):
        name = event.skill if event.skill in names else event.skill.rpartition(":")[2]
        return name if name in names else None
    if isinstance(event, FileRead):
        paths: Iterable[str] = (event.path,)
    elif isinstance(event, Command) and not event.exit_code:
        paths = files_read(event.command)
    else:
        return None
    found = (_installed(path, cwd) for path in paths)
    return next((name for name in found if name in names), None)


def _installed(path: str, cwd: str) -> str | None:
    """The skill whose installed SKILL.md is at ``path``; None: it is another file."""
    relative = posixpath.relpath(posixpath.normpath(posixpath.join(cwd, path)), cwd)
    found = _INSTALLED.fullmatch(relative)
    return found["skill"] if found else None


class LoadWatch:
    """Finds in the events of a session that is not over that it has loaded one of the skills.

    Each event is looked at once. A load counts when its call has a result: a call that fails loads nothing.
    """

    def __init__(self, names: Collection[str], cwd: str) -> None:
        self._names, self._cwd = names, cwd
        self._seen = self._calls = self._results = 0
        self._candidates: list[tuple[int, int]] = []

    def loaded(self, events: Sequence[Event | None]) -> str | None:
        """The skill that was loaded; None: none yet. ``events``: those of the last call and the new ones."""
        for index in range(self._seen, len(events)):
            event = events[index]
            if isinstance(event, ToolCall):
                self._calls += 1
            elif isinstance(event, ToolResult):
                self._results += 1
            elif event is not None and self._may_load(event):
                self._candidates.append((index, self._calls))
        self._seen = len(events)
        for index, calls in self._candidates:
            event = events[index]
            if event is not None and self._results >= calls and (name := self._loads(event)):
                return name
        return None

    def _may_load(self, event: Event) -> bool:
        return isinstance(event, SkillSignal | FileRead | Command) and self._loads(event) is not None

    def _loads(self, event: Event) -> str | None:
        return loaded_skill(event, self._names, self._cwd)
