"""What is stored of a session, as far as reports show it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredText:
    """A file, or its beginning and its end. ``left_out``: bytes between the two, None if ``head`` is the whole file."""

    name: str
    head: str
    tail: str = ""
    left_out: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionArtifacts:
    """The artifacts of a session, without secrets. Apart from that nothing in them is trusted.

    ``found``: whether the session's folder exists. ``report``, ``workspace`` and ``questions`` are the JSON objects of
    ``report.json``, ``workspace.json`` and each ``judge-N.json``; their values have not been validated. ``diff``: the
    changes of the workspace as a unified diff; ``changed``: the changed files, only where there is no diff.
    ``problems``: what could not be read, a sentence each.
    """

    found: bool = True
    report: Mapping[str, Any] | None = None
    workspace: Mapping[str, Any] | None = None
    questions: tuple[Mapping[str, Any], ...] = ()
    diff: StoredText | None = None
    changed: tuple[StoredText, ...] = ()
    logs: tuple[StoredText, ...] = ()
    problems: tuple[str, ...] = ()


NOT_STORED = SessionArtifacts(found=False)


class ArtifactSource(Protocol):
    """Reads artifacts of sessions, one session at a time. ``directory`` is the session's folder in its run directory.

    ``most``: bytes that are read of each log and changed file, half of them at its end.
    """

    def session(self, directory: str, most: int) -> SessionArtifacts:
        """The artifacts of a session of the run."""
        ...

    def baseline_session(self, directory: str, most: int) -> SessionArtifacts:
        """The artifacts of a session of the baseline; none where there is no baseline, or only its results file."""
        ...
