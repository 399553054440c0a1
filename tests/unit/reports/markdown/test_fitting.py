"""Reports of every size: what goes first when there is no room, and that nothing is ever cut."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import run_report
from hostile import any_text
from markdown_structure import EACH, MARKDOWN, REPOSITORY, big_run, of_each, shown, spoken_by, structure
from showcase import RUN, showcase
from skillgym_action.model.errors import Problem
from skillgym_action.model.report import Links
from skillgym_action.reports.markdown.report import comment, summary


@pytest.mark.slow
@given(any_text, any_text, st.integers(min_value=300, max_value=9_000))
def test_at_every_size_all_that_is_opened_is_closed(name, message, limit):
    markdown = shown(comment, spoken_by(run_report(of_each(2)), name, message), run_key="4711/1", limit=limit)
    assert len(markdown) <= limit
    assert "## ❌ " in markdown
    assert RUN in markdown
    structure(markdown)
    lines = markdown.split("\n")
    blocks = [token for token in MARKDOWN.parse(markdown) if token.type in ("fence", "html_block")]
    opened = 0
    for block in blocks:
        assert block.type != "fence" or set(lines[block.map[1] - 1]) == {"`"}, block
        for tag in re.findall(r"</?details(?: open)?>", block.content if block.type == "html_block" else ""):
            opened += -1 if tag == "</details>" else 1
            assert opened in (0, 1, 2)  # in an entry of the summary's list of failures
    assert opened == 0


@pytest.mark.parametrize("limit", [65_000, 30_000, 8_000, 2_000])
@pytest.mark.parametrize("report", ["everything", "hostile", "many failures", "many of everything"])
def test_every_step_of_the_ladder_is_useful(report, limit):
    links = Links(repository=REPOSITORY, commit="a" * 40, run=RUN)
    reports = {
        "everything": showcase(),
        "hostile": spoken_by(run_report(EACH), "``` | @a <b> \n" * 40, "~~~\n</details> #1 " * 400),
        "many failures": replace(big_run(3_000, 10), links=links),
        "many of everything": run_report(of_each(300, 40) + "\nwarning: odd" * 300, links=links),
    }
    markdown = shown(comment, reports[report], limit=limit, run_key="4711/1")
    assert len(markdown) <= limit
    assert re.search(r"^## ❌ ", markdown, re.MULTILINE)
    assert "\n|---|--" in markdown or limit == 2_000
    assert f"**[Open the report]({RUN}#artifacts)**" in markdown
    assert "\n### Why\n" in markdown or limit == 2_000 or "Left out because of the size limit: " in markdown
    structure(markdown)


@pytest.mark.slow
def test_room_is_used():
    assert 850_000 < len(shown(summary, big_run(6_000, 10)).encode()) <= 1_000_000
    assert 0.8 * 2_000 < len(shown(comment, big_run(3_000, 10), limit=2_000)) <= 2_000


def test_titles_of_reasons_go_after_all_evidence():
    report = run_report("\n".join(f"fails-{number} failed: it says m{number}x{'x' * 100}" for number in range(10)))
    found = [shown(comment, report, limit=limit) for limit in (9_000, 4_000, 2_500)]
    counts = [tuple(text.count(word) for word in ("it says", "README.md")) for text in found]
    assert counts[0] == (10, 10)
    assert counts[1][0] == 10
    assert counts[1][1] < 10
    assert 0 < counts[2][0] <= 10
    assert counts[2][1] == 0
    assert [("some details" in text) for text in found] == [False, True, True]


@pytest.mark.slow
def test_a_large_summary_loses_passing_rows_and_says_so():
    markdown = shown(summary, big_run(100, 14_900))
    assert 800_000 < len(markdown.encode()) <= 1_000_000
    left_out = re.search(r"\n([\d,]+) passing rows left out\n", markdown)[1]
    assert markdown.count("| `case-of") + int(left_out.replace(",", "")) == 14_900
    assert markdown.count("<b>1 result:</b>") == 100


@pytest.mark.slow
@pytest.mark.parametrize("failed", [60, 10_000])
def test_a_comment_has_a_hundred_reasons_and_says_how_many_are_missing(failed):
    markdown = shown(comment, big_run(failed, 20))
    assert len(markdown) <= 65_000
    assert markdown.count("<b>1 result:</b>") == min(failed, 100)
    missing = f"\nand {failed - 100:,} more reasons with {failed - 100:,} results\n"
    assert (missing in markdown) == (failed > 100)
    assert "\nOnly in the job summary: 20 passed.\n" in markdown
    assert markdown.endswith("</sub>\n")


def test_failures_with_long_evidence_share_the_room_of_the_comment():
    report = run_report("\n".join(f"fails-{number} failed: m{number}x" for number in range(95)))
    results = []
    for result in report.results:
        (outcome,) = result.judgement.outcomes
        judgement = replace(result.judgement, outcomes=(replace(outcome, evidence="y\n" * 5_000),))
        results.append(replace(result, judgement=judgement, final_output="word " * 1_000))
    markdown = shown(comment, replace(report, results=tuple(results)))
    assert 31_000 < len(markdown) < 65_000
    assert markdown.count("<b>1 result:</b>") == 95
    assert "Only in the job summary: some evidence of failures." in markdown


@pytest.mark.slow
def test_a_summary_with_more_failures_than_fit_says_how_many_are_missing():
    markdown = shown(summary, big_run(10_000, 10))
    assert len(markdown.encode()) <= 1_000_000
    left_out = re.search(r"\nand ([\d,]+) more reasons with ", markdown)
    assert markdown.count("<b>1 result:</b>") + (int(left_out[1].replace(",", "")) if left_out else 0) == 10_000
    assert "Left out because of the size limit: 10 passed, some details.\n" in markdown


def test_many_runners_and_warnings_fit_too():
    warnings = tuple(Problem(message="x" * 300) for _ in range(1_000))
    report = run_report("\n".join(f"edit @runner-{number} passed" for number in range(2_000)), warnings=warnings)
    markdown = shown(comment, report)
    assert len(markdown) <= 65_000
    assert re.search(r"[\d,]+ runners left out", markdown)


@pytest.mark.slow
@pytest.mark.parametrize("fragment", ["漢", "&", "|", "`", "@a ", "\n"])
def test_what_grows_when_escaped_still_fits(fragment):
    report = run_report("\n".join(f"case-{number} failed" for number in range(2_000)))
    for one in (comment, summary):
        markdown = shown(one, spoken_by(report, fragment * 500, fragment * 5_000))
        assert len(markdown) <= (65_000 if one is comment else 1_000_000)
        assert len(markdown.encode()) <= 1_000_000
