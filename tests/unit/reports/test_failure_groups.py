"""Failures that a suite has given one class are together in every report, whatever their messages are."""

from __future__ import annotations

from dataclasses import replace

from builders import run_report
from html_tree import html_tree, text_of
from skillgym_action.model.verdicts import FailureClass
from skillgym_action.reports.files.junit import render as junit
from skillgym_action.reports.html.report import render
from skillgym_action.reports.markdown.report import summary
from skillgym_action.reports.wording.reasons import by_reason

ALIAS = FailureClass(id="wrong-alias", label="Wrong alias")
FAILED = "a failed: said cursr\nb failed: said crsr\nc failed: something else\nd passed"


def classified():
    """Two failures with a class of the suite's, one without, and a pass."""
    report = run_report(FAILED)
    results = [
        replace(result, judgement=replace(result.judgement, failure_class=ALIAS)) if result.case_id in "ab" else result
        for result in report.results
    ]
    return replace(report, results=tuple(results))


def test_a_class_that_a_suite_gives_groups_failures_in_every_report():
    report = classified()
    failed = [result for result in report.results if result.status == "failed"]
    assert [[one.case_id for one in group] for group in by_reason(failed)] == [["a", "b"], ["c"]]
    shown = "".join(summary(report))
    assert "<br>a on claude, b on claude; 2 messages, the first is above</summary>" in shown
    assert "Wrong alias" in shown
    assert "said crsr" in shown
    (group,) = [
        text_of(one) for one in html_tree("".join(render(report))).iter("article") if "Wrong alias" in text_of(one)
    ]
    assert "2 messages, the first: said cursr" in group
    assert all(f"core › {name}" in group or name in group.split() for name in "ab")  # noqa: RUF001
    assert "".join(junit(report)).count('type="assertion.wrong-alias"') == 2


def test_classes_of_the_tool_are_grouped_by_their_reasons():
    failed = [result for result in run_report(FAILED).results if result.status == "failed"]
    assert [[one.case_id for one in group] for group in by_reason(failed)] == [["a"], ["b"], ["c"]]
