"""A folder with report templates of a user's, and the process that renders them."""

from __future__ import annotations

from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from skillgym_action.model.limits import RENDERING_SECONDS
from skillgym_action.reports.user_templates.renderer import ReportTemplates, template_sources
from skillgym_action.system.cancellation import Cancellation
from skillgym_action.system.processes.launcher import ProcessLauncher
from skillgym_action.text.redaction import Redactor

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
