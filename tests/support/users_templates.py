"""A folder with report templates of a user's, and the process that renders them."""

from __future__ import annotations

from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from skillgym_action.cancellation import Cancellation
from skillgym_action.limits import RENDERING_SECONDS
from skillgym_action.processes.launcher import ProcessLauncher
from skillgym_action.text.redaction import Redactor
from skillgym_action.user_templates.renderer import ReportTemplates
from skillgym_action.user_templates.template_folder import template_sources

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def rendered_elsewhere(
    folder: Path, *secrets: str, cancelled: bool = False, seconds: float = RENDERING_SECONDS
) -> Iterator[ReportTemplates]:
    """What renders the report templates of a folder; ``secrets`` are not shown to them."""
    sources = template_sources(folder, folder, committed=True)
    with closing(Cancellation()) as cancellation, ProcessLauncher(environment={}, cancelled=cancellation) as processes:
        if cancelled:
            cancellation.set()
        yield ReportTemplates(sources, processes, Redactor(secrets), seconds)
