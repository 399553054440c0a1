"""What sessions left, as far as summary and comment quote it: answer, commands, diff. Nothing is escaped yet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from skillgym_action.limits import (
    MAX_EXCERPT_COMMAND_CHARACTERS,
    MAX_SUMMARY_ANSWER_CHARACTERS,
    MAX_SUMMARY_COMMANDS,
    MAX_SUMMARY_DIFF_CHARACTERS,
)
from skillgym_action.text.escaping import clipped, one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skillgym_action.model.result import Result
    from skillgym_action.model.session_artifacts import ArtifactSource, SessionArtifacts

_MOST_EXIT_CODE = 2**32  # larger ones are not of any system


@dataclass(frozen=True, kw_only=True, slots=True)
class Excerpt:
    """``answer``: the end of it, ``cut`` if it is longer; ``commands``: the last of those that ``ran``, a line each."""

    answer: str = ""
    cut: bool = False
    commands: tuple[str, ...] = ()
    ran: int = 0
    diff: str = ""


class SessionExcerpts:
    """Excerpts of the sessions that results are about; each session is read once, however often reports are rendered.

    Without ``artifacts`` there is only what the results have: the answer.
    """

    def __init__(self, artifacts: ArtifactSource | None = None) -> None:
        self._artifacts = artifacts
        self._found: dict[tuple[int, str], Excerpt] = {}

    def of(self, result: Result) -> Excerpt:
        """What the session left, an empty excerpt if it left nothing."""
        directory = result.directory or ""
        key = result.index, directory
        if key not in self._found:
            readable = self._artifacts if directory else None
            stored = readable.session(directory, 2 * MAX_SUMMARY_DIFF_CHARACTERS) if readable else None
            self._found[key] = _excerpt(result, stored)
        return self._found[key]


def _excerpt(result: Result, stored: SessionArtifacts | None) -> Excerpt:
    answer = (result.final_output or "").strip()
    commands = _commands(stored.report) if stored and stored.report else []
    return Excerpt(
        answer=answer[-MAX_SUMMARY_ANSWER_CHARACTERS:],
        cut=len(answer) > MAX_SUMMARY_ANSWER_CHARACTERS,
        commands=tuple(commands[-MAX_SUMMARY_COMMANDS:]),
        ran=len(commands),
        diff=_diff(stored) if stored else "",
    )


def _commands(report: Mapping[str, Any]) -> list[str]:
    """The commands of a stored session report, which may be anybody's."""
    events = report.get("events")
    found = (event for event in events if isinstance(event, dict)) if isinstance(events, list) else ()
    return [_command(event) for event in found if event.get("type") == "command"]


def _command(event: Mapping[str, Any]) -> str:
    command, code = event.get("command"), event.get("exitCode")
    line = one_line(command) if isinstance(command, str) else ""
    failed = isinstance(code, int) and not isinstance(code, bool) and code != 0 and abs(code) < _MOST_EXIT_CODE
    return f"$ {clipped(line, MAX_EXCERPT_COMMAND_CHARACTERS)}" + (f"  # exit code {code}" if failed else "")


def _diff(stored: SessionArtifacts) -> str:
    if stored.diff is None:
        return ""
    left_out = stored.diff.left_out
    return f"{stored.diff.head}\n… {left_out:,} bytes left out …\n{stored.diff.tail}" if left_out else stored.diff.head
