"""A run that lacks results says so in the first line of whatever people read, also where nothing may fail it."""

from __future__ import annotations

from dataclasses import replace
from html import unescape

import pytest

from builders import run_report
from on_github import SHA, api_of, event_of, github_with
from skillgym_action.github.options import PublisherOptions
from skillgym_action.github.publisher import Publisher
from skillgym_action.pipeline.stages.gate import gate
from skillgym_action.reports.html import report as html
from skillgym_action.reports.markdown import report as markdown
from skillgym_action.reports.terminal import terminal
from skillgym_action.settings.slices import GateOptions
from skillgym_action.text.redaction import Redactor

PLAN = "a passed\nb passed\nc failed: no file"
GREEN = "a passed\nb passed"
UNSET = GateOptions(fail_on=frozenset())
MISSING = {"incomplete": ("shard 15/16 is missing",), "missing_shards": ("15/16",)}
ENDED = {"incomplete": ("3 executions were not started: --maxfail",)}


def cut_off(text, changes, options=UNSET):
    report = run_report(text, commit=SHA, **changes)
    return replace(report, decision=gate(report, options))


def unpaid():
    report = run_report("a passed\nb skipped: the budget is spent", commit=SHA)
    last = report.results[1]
    last = replace(last, judgement=replace(last.judgement, origin="budget"))
    report = replace(report, results=(report.results[0], last))
    return replace(report, decision=gate(report, UNSET))


CASES = [
    pytest.param(cut_off(PLAN, MISSING), "! Incomplete: ", id="a missing shard, nothing may fail the run"),
    pytest.param(cut_off(GREEN, MISSING, GateOptions()), "! Incomplete: ", id="a missing shard, gated"),
    pytest.param(cut_off(PLAN, MISSING, GateOptions()), "✗ Incomplete: ", id="a missing shard, and failures"),
    pytest.param(cut_off(GREEN, ENDED), "! Incomplete: ", id="ended early, nothing may fail the run"),
    pytest.param(cut_off(GREEN, {"cancelled": True}), "! Cancelled: ", id="cancelled"),
    pytest.param(unpaid(), "! Stopped at $0.01: ", id="the budget was spent"),
]


def first_heading(text):
    return next(line for line in text.splitlines() if line.startswith("## "))


@pytest.mark.parametrize(("report", "words"), CASES)
def test_the_first_line_says_it(report, words):
    sign, title = "❌" if "✗" in words else "⚠️", words[2:]
    for kind in (markdown.summary, markdown.comment):
        assert unescape(first_heading("".join(kind(report)))).startswith(f"## {sign} {title}")
    assert [*terminal.render(report, color=False)][-1].startswith(words)
    page = "".join(html.render(report))
    assert f"<title>{words}" in page
    assert 'class="verdict good"' not in page


@pytest.mark.parametrize(("report", "words"), CASES)
def test_the_description_of_the_status_begins_with_it(report, words):
    with github_with() as github, api_of(github) as api:
        options = PublisherOptions(status="on", period=60.0)
        Publisher(api, event_of(github), options, Redactor(()), lambda _: None).publish(report)
        assert github.statuses(SHA)[0].description.startswith(words[2:])


@pytest.mark.parametrize(("report", "words"), CASES[:1])
def test_what_is_missing_is_a_reason_right_below_the_counts(report, words):
    lines = "".join(markdown.comment(report)).split("\n")
    assert next(number for number, line in enumerate(lines) if "shard 15/16 is missing" in line) < 10
    assert "shard 15/16 is missing" in [*terminal.render(report, color=False)][-1]


def test_a_whole_run_is_not_called_incomplete():
    report = run_report(GREEN)
    report = replace(report, decision=gate(report, UNSET))
    assert first_heading("".join(markdown.comment(report))) == "## ℹ️ All 2 results pass"  # noqa: RUF001


def test_a_run_for_which_no_case_was_selected_is_not_called_incomplete():
    report = cut_off("", {"incomplete": ("unknown case 'oen'; did you mean 'one'?",)}, GateOptions())
    line = [*terminal.render(report, color=False)][-1]
    assert line.startswith("! Not tested: unknown case")
    assert "did you mean 'one'?" in line
