"""What is written outside of the run directory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from skillgym_action.model.session_artifacts import ArtifactSource
    from skillgym_action.reporters.markdown import Templates
    from skillgym_action.reporters.markdown_excerpts import SessionExcerpts


@dataclass(frozen=True, kw_only=True, slots=True)
class PublishOptions:
    """What is written outside of the run directory: ``reports`` as (kind, absolute path), and GitHub's step files.

    ``printed``: the kind of report that goes to standard output. Paths in step outputs are relative to ``workspace``;
    ``templates``: the user's; ``artifacts``: what reports about sessions show; ``excerpts``: what summary and comment
    quote of them.
    """

    reports: tuple[tuple[str, Path], ...] = ()
    printed: str | None = None
    annotations: bool = False
    step_summary: Path | None = None
    step_outputs: Path | None = None
    workspace: Path | None = None
    comment_id: str = "default"
    templates: Templates | None = None
    html: bool = True
    artifacts: ArtifactSource | None = None
    excerpts: SessionExcerpts | None = None
    otlp_content: bool = False
