"""A statement is said by terminal, Markdown and HTML report: each escapes it, and cuts what is too much."""

from __future__ import annotations

from dataclasses import replace
from html import unescape
from typing import TYPE_CHECKING, Any

import pytest

from builders import run_report
from skillgym_action.model.limits import MAX_LISTED_NAMES
from skillgym_action.model.result import Quarantine, Reused
from skillgym_action.model.uplift import ArmAssertion, ArmCase, Uplift
from skillgym_action.reports.html import report as html
from skillgym_action.reports.html import statements as in_html
from skillgym_action.reports.markdown import statements as in_markdown
from skillgym_action.reports.markdown.report import summary
from skillgym_action.reports.markdown.rows import RowBudget, Rows
from skillgym_action.reports.terminal import statements as in_terminal
from skillgym_action.reports.wording.rates import mixed
from skillgym_action.reports.wording.results_apart import quarantined, reused, runs_reused
from skillgym_action.reports.wording.statements import Cell, Section, Statement
from users_templates import rendered_elsewhere

if TYPE_CHECKING:
    from skillgym_action.model.report import RunReport

ATTACK = "<img src=x> @ada\n::error::#1"
ISSUE = "https://github.com/o/r/issues/1"
WHY = Quarantine(reason="slow service", owner="@ada", expires="2026-12-01", issue=ISSUE)


def quarantine(*cases: str, **why: Any) -> RunReport:
    """A run with these executions in quarantine, ``NAME STATUS`` each."""
    results = run_report("\n".join(cases)).results
    return run_report(
        "green passed", quarantined=tuple(replace(one, quarantine=replace(WHY, **why)) for one in results)
    )


def with_reused(number: int, *, runs: int = 1, link: str | None = "https://e.x/runs/1") -> RunReport:
    """A run with so many results of earlier runs."""
    report = run_report("\n".join(f"case-{case} passed" for case in range(number)))
    days = (1 + case % runs for case in range(number))
    return replace(
        report,
        results=tuple(
            replace(
                one, reused=Reused(commit=f"{day:040}", at=f"2024-12-{day:02}T03:04:05Z", samples=(True,), link=link)
            )
            for one, day in zip(report.results, days, strict=True)
        ),
    )


def markdown(section: Section, report: RunReport, room: int = 10_000) -> in_markdown.Block:
    return in_markdown.list_of(section, Rows.of(report), RowBudget(room))


@pytest.mark.parametrize(
    ("statement", "text", "page"),
    [
        pytest.param("a*b", "a&#42;b", "a*b", id="a text"),
        pytest.param("<b>", "&lt;b&gt;", "&lt;b&gt;", id="a text with markup"),
        pytest.param(Cell("a*b", "name"), "`a*b`", "a*b", id="a name"),
        pytest.param(Cell("<b>|", "name"), "<code>&lt;b&gt;&#124;</code>", "&lt;b&gt;|", id="a name with markup"),
        pytest.param(Cell("1 of 2 [a]", "own"), "1 of 2 [a]", "1 of 2 [a]", id="words of the tool"),
        pytest.param(Cell("80 s", "number"), "80\u00a0s", "80 s", id="a number"),
        pytest.param(Cell("80 s", "strong"), "**80\u00a0s**", "80 s", id="a number that matters"),
        pytest.param(Cell("", "number"), "—", "—", id="no number"),
        pytest.param(Cell("", "strong"), "—", "—", id="no number that matters"),
    ],
)
def test_a_statement_is_escaped_for_its_output(statement: Statement, text: str, page: str):
    assert (in_markdown.said(statement), in_html.said(statement)) == (text, page)


def test_an_execution_in_quarantine():
    report = quarantine("edit failed 2of5")
    outcome, reason = "failed, 2 of 5 attempts passed", "until 2026-12-01, owner @ada: slow service"
    assert list(in_terminal.said(quarantined(report))) == [
        f"quarantine edit [claude] {outcome}; {reason}, {ISSUE}\n", "\n",
    ]  # fmt: skip
    (named,) = in_html.executions(quarantined(report))
    assert (named.title, named.detail, named.tone) == ("edit · claude", f"{outcome}; {reason}, {ISSUE}", "bad")
    block = markdown(quarantined(report), report)
    assert block.title == "1 execution in quarantine: run, but not counted in the verdict"
    (line,) = block.lines
    assert unescape(line).replace("\u2060", "") == f"`edit` · `claude` · {outcome} · {reason} · [issue]({ISSUE})"


def test_texts_of_others_stay_texts():
    report = quarantine("edit failed", reason=ATTACK, owner=ATTACK, issue="javascript:alert(1)")
    section = quarantined(report)
    (line, _), (named,), (text,) = (
        list(in_terminal.said(section)), in_html.executions(section), markdown(section, report).lines,
    )  # fmt: skip
    assert line.count("\n") == 1
    assert "<img" not in named.detail
    assert [found for found in ("<img", "@ada", "](") if found in text] == []


def test_red_ones_in_quarantine_come_first_where_few_fit():
    report = quarantine("a passed", "b failed", "c errored")
    section = quarantined(report, red_first=True)
    assert [topic.result.case_id for topic in section.topics() if topic.result] == ["b", "c", "a"]
    block = markdown(section, report, room=200)
    assert [line[:3] for line in block.lines] == ["`b`"]
    assert block.left_out == "2 lines left out"


def test_runs_that_results_are_from():
    report = with_reused(2)
    commit, names = "0" * 12, "case-0 [claude], case-1 [claude]"
    start, age = "2 executions reused from", "32 days old"
    assert list(in_terminal.said(runs_reused(report))) == [
        f"{start} {commit}, {age}: {names} (https://e.x/runs/1)\n", "\n",
    ]  # fmt: skip
    block = markdown(runs_reused(report), report)
    assert block.title == "2 reused, 0 run"
    assert [unescape(line) for line in block.lines] == [
        f"{start} `{commit}`, {age}: {names} · [run](https://e.x/runs/1)",
    ]  # fmt: skip
    details = [named.detail for named in in_html.executions(reused(report))]
    assert details == [f"passed, 1 of 1, reused from {commit}, {age}, https://e.x/runs/1"] * 2
    assert "https" not in "".join(in_terminal.said(runs_reused(with_reused(2, link=None))))


def test_a_terminal_names_the_first_and_counts_the_others():
    more = 3
    report = quarantine(*(f"case-{number} failed" for number in range(MAX_LISTED_NAMES + more)))
    *lines, last, _ = in_terminal.said(quarantined(report), MAX_LISTED_NAMES)
    assert (len(lines), last) == (MAX_LISTED_NAMES, "quarantine 3 more\n")
    runs = with_reused(24, runs=12)
    *lines, last, _ = in_terminal.said(runs_reused(runs), 10)
    assert (len(lines), last) == (10, "and of 2 older runs\n")
    assert list(in_terminal.said(runs_reused(run_report("a passed")), 10)) == [""]


def test_flaky_executions_come_before_mixed_ones_and_are_counted_apart():
    report = run_report("few failed 2of3\nflaky failed 9of12\ngreen passed 3of3")
    section = mixed(report)
    assert section.title == "1 flaky result, 1 result with some failed attempts"
    assert [line.split(" · ")[0] for line in markdown(section, report).lines] == ["`flaky`", "`few`"]
    assert list(mixed(run_report("green passed")).topics()) == []


SUMMARY = """
{{ view.uplift.explanation }}{{ view.uplift.table.left_out }}{{ view.uplift.spending }}
{% for row in view.uplift.table.rows %}{{ row[0] }}|{{ row[5] }}
{% endfor %}
{% for one in view.uplift.comparisons %}
{{ one.title }}: {% for line in one.lines %}{{ line }}; {% endfor %}
{% for list in one.lists %}{{ list.title }}: {% for line in list.lines %}{{ line }}{% endfor %}{% endfor %}
{% endfor %}

{{ view.quarantined.title }}: {% for line in view.quarantined.lines %}{{ line }}{% endfor %}
{{ view.reused.title }}{{ view.mixed.title }}{{ view.quarantined.left_out }}
"""
PAGE = """{{ view.policy }}{{ view.arms_explained }}
{% for row in view.arms %}
{{ row.suite }}|{{ row.runner }}|{{ row.arms }}|{{ row.shares }}|{{ row.uplift }}|{{ row.verdict }}
{{ row.more[0] }}|{{ row.lists[0][0] }}|{{ row.lists[0][1][0] }}
{% endfor %}
{% for one in view.quarantined %}{{ one.title }}|{{ one.detail }}{% endfor %}
"""


@pytest.mark.slow
def test_templates_of_users_see_what_is_documented(tmp_path):
    found = Uplift(
        suite="s.json",
        suite_name="s",
        runner="r",
        arm="with",
        other="without",
        verdict="helps",
        cases=(ArmCase(case_id="a", deciding=1.0, other=0.5),),
        fixed=("a",),
        in_both=(ArmAssertion(case_id="a", assertion="there"),),
    )
    report = replace(quarantine("edit failed"), uplifts=(found,))
    (tmp_path / "summary.md.j2").write_text(SUMMARY)
    (tmp_path / "report.html.j2").write_text(PAGE)
    with rendered_elsewhere(tmp_path) as templates:
        text = unescape("".join(summary(report, templates=templates)))
        page = "".join(html.render(report, templates=templates))
    assert "s|helps\n" in text
    assert "s [r]: with against without: fixed, passed in with only: a; cost unknown" in text
    assert "1 assertion passes in both arms and shows nothing about the difference: a: there" in text
    assert "1 execution in quarantine: run, but not counted in the verdict: `edit` · `claude` · failed" in text
    assert "s|r|with against without|100% against 50%|+50 points|helps\nfixed, passed in with only: a|1 asser" in page
    assert "difference|a: there" in page
    assert "edit · claude|failed; until 2026-12-01" in page
