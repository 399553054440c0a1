"""PLUGINS: reporters. One module per output: a pure function from a run report to text.

``render(report)`` yields the text in pieces, so that memory use does not grow with the report. To add a reporter: a
module in this package, a line in ``REPORTERS``, tests. Help texts and ``--report`` take the names from ``REPORTERS``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillgym_action.model.run_report import RunReport

REPORTERS = {
    "results": "skillgym_action.storage.results_file.render",
    "junit": "skillgym_action.reporters.junit.render",
    "summary": "skillgym_action.reporters.markdown.summary",
    "comment": "skillgym_action.reporters.markdown.comment",
    "html": "skillgym_action.reporters.html.render",
    "annotations": "skillgym_action.reporters.annotations.render",
    "ctrf": "skillgym_action.reporters.ctrf.render",
    "otlp": "skillgym_action.reporters.otlp.render",
    "x-bench": "skillgym_action.reporters.xbench.render",
    "agentv": "skillgym_action.agentv.reporter.render",
}

FOLDER_REPORTS = ("skill-creator",)
"""Reports that are a folder of files: ``storage/report_folders.py`` writes them."""


class Reporter(Protocol):
    """The function that a line of ``REPORTERS`` names."""

    def __call__(self, report: RunReport) -> Iterator[str]:
        """Yield the text of the report in pieces."""
        ...


def reporter_named(name: str) -> Reporter:
    """Return the function of a reporter; its module is imported on first use."""
    module, function = REPORTERS[name].rsplit(".", 1)
    return cast("Reporter", getattr(import_module(module), function))
