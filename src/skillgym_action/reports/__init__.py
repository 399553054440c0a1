"""Reporters. One module per output: a pure function from a run report to text.

``render(report)`` yields the text in pieces, so that memory use does not grow with the report. To add a reporter: a
module in this package, a line in ``REPORTERS``, tests. Help texts and ``--report`` take the names from ``REPORTERS``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

from skillgym_action.model.plugin_table import PluginTable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillgym_action.model.report import RunReport

_OWN = {
    "results": "skillgym_action.results.results_file.render",
    "junit": "skillgym_action.reports.files.junit.render",
    "summary": "skillgym_action.reports.markdown.report.summary",
    "comment": "skillgym_action.reports.markdown.report.comment",
    "html": "skillgym_action.reports.html.report.render",
    "annotations": "skillgym_action.reports.files.annotations.render",
    "ctrf": "skillgym_action.reports.files.ctrf.render",
    "otlp": "skillgym_action.reports.files.otlp.render",
    "x-bench": "skillgym_action.reports.files.xbench.render",
    "agentv": "skillgym_action.reports.files.agentv.render",
}

FOLDER_REPORTS = ("skill-creator",)
"""Reports that are a folder of files: ``reports/files/skill_creator.py`` writes them."""
OUTPUT_FILE = "output"
"""The kind of the report in ``--output``: x bench's results if all suites have its format, else ``results.json``."""
REPORTERS = PluginTable(
    "reporters", _OWN, ("render",), lambda module: f"{module.__name__}.render", reserved=(*FOLDER_REPORTS, OUTPUT_FILE)
)


class Reporter(Protocol):
    """The function that a line of ``REPORTERS`` names."""

    def __call__(self, report: RunReport) -> Iterator[str]:
        """Yield the text of the report in pieces."""
        ...


def reporter_named(name: str) -> Reporter:
    """Return the function of a reporter; its module is imported on first use."""
    module, function = REPORTERS[name].rsplit(".", 1)
    return cast("Reporter", getattr(import_module(module), function))
