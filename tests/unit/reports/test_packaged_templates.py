"""The packaged templates read only what their views have, also in parts that the showcase does not show."""

from __future__ import annotations

import re

import pytest

from paths import REPOSITORY
from skillgym_action.reports.html.report import HtmlView
from skillgym_action.reports.html.trend import TrendView
from skillgym_action.reports.markdown.report import RunningView
from skillgym_action.reports.markdown.run_without_report import RunWithoutReportView
from skillgym_action.reports.markdown.view import View


@pytest.mark.parametrize(
    ("template", "view"),
    [
        pytest.param("comment.md.j2", View, id="comment"),
        pytest.param("error.md.j2", RunWithoutReportView, id="a run without a report"),
        pytest.param("report.html.j2", HtmlView, id="HTML"),
        pytest.param("running.md.j2", RunningView, id="running"),
        pytest.param("summary.md.j2", View, id="summary"),
        pytest.param("trend.html.j2", TrendView, id="trend"),
    ],
)
def test_a_template_reads_only_what_its_view_has(template, view):
    folder = REPOSITORY / "templates"
    text = (folder / template).read_text(encoding="utf-8")
    text += "".join((folder / other).read_text(encoding="utf-8") for other in re.findall(r'extends "(.*?)"', text))
    read = set(re.findall(r"\bview\.(\w+)", text))
    assert len(read) >= 3
    assert {name for name in read if name not in view.__annotations__ and not hasattr(view, name)} == set()
