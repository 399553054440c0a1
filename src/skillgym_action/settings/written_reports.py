"""What is written outside of the run directory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from skillgym_action.model.run_report import RunReport
    from skillgym_action.model.session_artifacts import ArtifactSource
    from skillgym_action.reporters.markdown import Templates
    from skillgym_action.reporters.markdown_excerpts import SessionExcerpts


OUTPUT_FILE = "output"
"""The kind of the report in ``--output``: x bench's results if all suites have its format, else ``results.json``."""

OF_RESULTS = (OUTPUT_FILE, "results", "x-bench")
"""The kinds of reports that ``repository/results_documents.py`` recognizes."""


def is_results_file(output: str) -> bool:
    """Whether ``--output`` names a file for the results; with a slash at its end it is a run directory."""
    return output.lower().endswith(".json")


def output_directory(output: str | None) -> str | None:
    """The run directory that ``--output`` names; None if there is none."""
    return None if output is None or is_results_file(output) else output


def kind_for(report: RunReport, kind: str) -> str:
    """The name of the reporter for a report of that kind; for ``OUTPUT_FILE``, it depends on the suites."""
    if kind != OUTPUT_FILE:
        return kind
    return "x-bench" if {suite.format for suite in report.suites} == {"x-bench"} else "results"


@dataclass(frozen=True, kw_only=True, slots=True)
class PublishOptions:
    """What is written outside of the run directory: ``reports`` as (kind, absolute path), and GitHub's step files.

    The kind of a report may be ``OUTPUT_FILE``. ``printed``: the kind of report that goes to standard output. Paths in
    step outputs are relative to ``workspace``; ``templates``: the user's; ``artifacts``: what reports about sessions
    show; ``excerpts``: what summary and comment quote of them.
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
