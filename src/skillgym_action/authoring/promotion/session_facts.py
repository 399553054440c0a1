"""What a case is made of: the facts about one session, wherever it was found."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from skillgym_action.model.records import record

if TYPE_CHECKING:
    from pathlib import Path

    from skillgym_action.authoring.promotion.files import FileTree
    from skillgym_action.model.session_report import SessionReport


@record
class OriginalCase:
    """The case that a stored session was run for.

    ``path``, ``file``: of its suite. ``expect``: its expectations as the suite file has them, and ``settings``: its
    other keys, both of an x-bench suite only. ``failed``: names and explanations of the assertions that did not hold.
    ``bootstrap``: the command that prepares workspaces, as an x-bench suite has it.
    """

    id: str
    path: str
    file: Path
    format: str
    expect: tuple[object, ...] = ()
    settings: dict[str, object] = field(default_factory=dict)
    bootstrap: object = None
    failed: tuple[tuple[str, str], ...] = ()


@record
class SessionFacts:
    """A session to be promoted.

    ``origin``: a phrase that names it. ``template``: the files before it; ``changed``, ``deleted``: what it did to
    them. ``turns``: what the user said after the prompt. ``status``: of the stored session; None: it was not judged.
    ``notes``: what people have to know about the facts, a sentence each.
    """

    origin: str
    prompt: str
    report: SessionReport
    template: FileTree
    changed: FileTree
    deleted: tuple[str, ...] = ()
    turns: tuple[str, ...] = ()
    status: str | None = None
    commit: str | None = None
    case: OriginalCase | None = None
    notes: tuple[str, ...] = ()

    @property
    def has_failed(self) -> bool:
        """Whether the session was judged, and failed."""
        return self.status in {"failed", "expected-failed"}

    @property
    def has_passed(self) -> bool:
        """Whether the session was judged, and passed. Without a judgement, or with trouble, it did neither."""
        return self.status in {"passed", "unexpected-passed"}
