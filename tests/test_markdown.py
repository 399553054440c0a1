"""The job summary and the comment. After a change of the report templates: ``python tests/test_markdown.py``."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from markdown_it import MarkdownIt

from builders import run_report
from hostile import any_text
from skillgym_action.domain import Outcome
from skillgym_action.errors import ConfigError, Location, Problem
from skillgym_action.reporters.markdown import comment, marker, summary

GOLDENS = Path(__file__).parent / "goldens"
MARKDOWN = MarkdownIt("commonmark").enable("table")
OURS = {"<code>", "</code>", "<br>", "<sub>", "</sub>"}
BLOCKS = re.compile(r"(</?details>|<summary>[^<&]*</summary>|<!-- skillgym-action:[\w.-]+ -->|\n)+")
REFERENCES = re.compile(
    r"@[a-z0-9]|#\d|\b(?:gh|ghsa|cve)-\w|\w://|\bwww\.|[0-9a-f]{7}|[\w.+-]@[\w-]|:[a-z][\w+-]*:", re.IGNORECASE
)

RUNS = {
    "green": "edit passed $0.20 12s\nflaky expected-failed $0.05 3s: not yet",
    "mixed": """
        suite bench/core-refactors.json
        extract-auth passed $1.87 45s 15600t
        add-tests failed $0.92 61s 22100t: test/budget.test.ts does not exist
        fix-race unexpected-passed $1.10 88s 31000t
        slow-query errored timeout $0.77 120s 18000t: no result within 120 s
        update-docs passed $0.12 12s 3200t 2x
        extract-auth @codex passed $? 52s 17600t
        add-tests @codex failed $? 40s 20100t: exit code 1
        rename-module @codex errored rate-limit 3x $? 3s: 429 Too Many Requests
        fix-race @codex expected-failed $? 70s 28000t: the counter is 3, expected 4
        update-docs @codex skipped: the run's budget is spent
        suite tests/skills.suite.py
        find-skill passed $0.08 9s 2100t
        warning: the second expectation holds even before the agent starts
    """,
    "nothing": "",
}


def shown(reporter, report, **options):
    return "".join(reporter(report, **options))


def golden(name):
    return (GOLDENS / f"{name}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", RUNS)
def test_the_summary_is_as_it_was(name):
    assert shown(summary, run_report(RUNS[name], commit="4f2a9c1d0e")) == golden(f"summary-{name}")


def test_the_comment_is_the_summary_below_its_marker():
    report = run_report(RUNS["mixed"])
    assert shown(comment, report, comment_id="nightly run") == (
        "<!-- skillgym-action:nightly-run -->\n" + shown(summary, report)
    )


@pytest.mark.parametrize("name", ["default", "a b", "--> <b>", "", "x" * 1_000])
def test_a_marker_is_one_hidden_comment(name):
    assert re.fullmatch(r"<!-- skillgym-action:[\w.-]{0,100} -->", marker(name))
    assert "-->" not in marker(name)[:-3]


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("edit passed\nfix passed", "## ✅ Passed: 2 of 2 green"),
        ("edit passed\nfix failed", "## ❌ Failed: 1 of 2 green"),
        ("edit passed\nfix errored", "## ⚠️ Inconclusive: 1 of 2 green"),
        ("", "## ⚠️ Inconclusive: nothing ran"),
    ],
)
def test_the_title_is_the_verdict(text, title):
    assert shown(summary, run_report(text)).splitlines()[0] == title
    assert shown(summary, run_report(text, decision=None)).splitlines()[0] == title


def test_a_cancelled_run_says_so():
    report = run_report("edit passed", cancelled=True)
    assert shown(summary, report).startswith("## ✅ Passed: 1 of 1 green, cancelled\n")


@pytest.mark.parametrize(
    ("text", "cost"),
    [("a passed $?", "unknown"), ("a passed $?\nb passed $1", "≥\u00a0$1.00"), ("a passed $1", "$1.00")],
)
def test_what_is_not_known_is_never_shown_as_nothing(text, cost):
    markdown = shown(summary, run_report(text))
    assert f"cost\u00a0{cost} ·" in markdown
    assert "$0.00" not in markdown


def test_a_message_of_several_lines_opens_with_its_first():
    report = run_report("fix failed")
    (result,) = report.results
    failure = replace(result.judgement.failure, message="lists differ\n- a\n+ b")
    report = replace(report, results=(replace(result, judgement=replace(result.judgement, failure=failure)),))
    assert "> `file:out.txt exists`: lists differ\n" in shown(summary, report)
    assert "```\n- a\n+ b\n\nsrc/\nREADME.md\n```" in shown(summary, report)


def test_what_no_runner_ran_has_its_row():
    report = run_report("edit errored suite-invalid: no prompt\nfix passed")
    first, second = report.results
    markdown = shown(summary, replace(report, results=(replace(first, runner=None), second)))
    assert "\n| — | 0 | 0 | 1 |" in markdown
    assert "**Invalid suite (1)**: run &#96;skillgym-action check&#96;" in markdown


# --- hostile text -----------------------------------------------------------------------------------


def structure(markdown):
    """What kinds of blocks there are, after checking that none of them obeys anybody."""
    tokens = MARKDOWN.parse(markdown)
    for token in tokens:
        if token.type == "html_block":
            assert BLOCKS.fullmatch(token.content), token.content
        for child in token.children or ():
            assert child.type in {"text", "code_inline", "html_inline", "softbreak", "strong_open", "strong_close"}, (
                child
            )
            assert child.type != "html_inline" or child.content in OURS
            assert child.type != "text" or not REFERENCES.search(child.content), child.content
    return [token.type for token in tokens]


def spoken_by(report, name, message):
    """The report with each word of a suite or an agent replaced."""
    outcome = Outcome(assertion=name, type="x", passed=False, explanation=message, evidence="x" + message)
    suite = replace(report.suites[0], name=f"s{name}", path=f"p{name}")
    runner = replace(report.runners[0], id=f"r{name}")
    results = []
    for result in report.results:
        judgement = replace(result.judgement, outcomes=(outcome,), reason=f"m{message}")
        if judgement.failure:
            judgement = replace(judgement, failure=replace(judgement.failure, message=f"m {message}", location=None))
        results.append(
            replace(
                result, suite=suite, runner=runner, case_id=f"c{name}", judgement=judgement, model=f"m{name}",
                location=Location(path=f"p{name}"),
            )
        )  # fmt: skip
    warnings = (Problem(message=f"m{message}", location=Location(path=f"p{name}")),)
    other = replace(suite, name="other")
    return replace(
        report, results=tuple(results), suites=(suite, other), runners=(runner,), warnings=warnings, commit=f"c{name}"
    )


@given(any_text, any_text)
def test_any_text_stays_in_its_place(name, message):
    report = run_report(
        "a failed\nb unexpected-passed\nc errored timeout\nd skipped\ne expected-failed\nf passed", duration_ms=999
    )
    assert structure(shown(comment, spoken_by(report, name, message))) == structure(
        shown(comment, spoken_by(report, "name", "message"))
    )


# --- limits -----------------------------------------------------------------------------------------


def big_run(failed, passed):
    lines = [f"fails-{number} failed: it says {number} and more of that" for number in range(failed)]
    return run_report("\n".join(lines + [f"case-of-the-usual-length-{number} passed" for number in range(passed)]))


def test_a_large_summary_loses_passing_rows_and_says_so():
    markdown = shown(summary, big_run(100, 14_900))
    assert 800_000 < len(markdown.encode()) <= 1_000_000
    left_out = re.search(r"\n([\d,]+) passing rows left out\n", markdown)[1]
    assert markdown.count("| `case-of") + int(left_out.replace(",", "")) == 14_900
    assert markdown.count("**`fails-") == 100


def test_a_large_comment_loses_passing_rows_before_any_other():
    markdown = shown(comment, big_run(50, 9_950))
    assert 50_000 < len(markdown) <= 65_000
    assert markdown.count("**`fails-") == 50
    assert "passing rows left out" in markdown


def test_a_comment_with_more_failures_than_fit_says_how_many_are_missing():
    markdown = shown(comment, big_run(10_000, 10))
    left_out = int(re.search(r"\n([\d,]+) rows left out\n", markdown)[1].replace(",", ""))
    assert 40_000 < len(markdown) <= 65_000
    assert markdown.count("**`fails-") + left_out == 10_000
    assert "\n10 passing rows left out\n" in markdown
    assert markdown.endswith("</sub>\n")


def test_many_runners_and_warnings_fit_too():
    warnings = tuple(Problem(message="x" * 300) for _ in range(1_000))
    report = run_report("\n".join(f"edit @runner-{number} passed" for number in range(2_000)), warnings=warnings)
    markdown = shown(comment, report)
    assert len(markdown) <= 65_000
    assert re.search(r"[\d,]+ runners left out", markdown)


@pytest.mark.parametrize("fragment", ["漢", "&", "|", "`", "@a ", "\n"])
def test_what_grows_when_escaped_still_fits(fragment):
    report = run_report("\n".join(f"case-{number} failed" for number in range(2_000)))
    for one in (comment, summary):
        markdown = shown(one, spoken_by(report, fragment * 500, fragment * 5_000))
        assert len(markdown) <= (65_000 if one is comment else 1_000_000)
        assert len(markdown.encode()) <= 1_000_000


# --- templates of the user --------------------------------------------------------------------------


def test_a_user_may_replace_one_block(tmp_path):
    (tmp_path / "summary.md.j2").write_text(
        '{% extends "packaged/summary.md.j2" %}{% block head %}# Mine: {{ view.title }}{% endblock %}'
    )
    report = run_report("edit passed")
    assert shown(summary, report, templates=tmp_path).startswith("# Mine: ✅ Passed: 1 of 1 green")
    assert shown(comment, report, templates=tmp_path).startswith(f"{marker('default')}\n# Mine: ")


def test_what_a_template_repeats_is_taken_into_account(tmp_path):
    (tmp_path / "summary.md.j2").write_text(
        "{% for row in view.passed.rows %}{{ row.place }}{{ row.place }}{{ row.place }}{{ row.place }}\n{% endfor %}"
        "{{ view.passed.left_out }}"
    )
    assert len(shown(comment, big_run(0, 5_000), templates=tmp_path)) <= 65_000


@pytest.mark.parametrize(
    ("template", "message"),
    [
        pytest.param("a\n{% if %}", r"summary\.md\.j2:2: .*mend the report template", id="no template"),
        pytest.param("{{ view.titel }}", "no attribute 'titel'", id="a misspelt field"),
        pytest.param("{{ view.__class__ }}", "unsafe", id="the inside of Python"),
        pytest.param('{% include "other.md.j2" %}', "other.md.j2", id="a missing file"),
        pytest.param('{% include "../secret" %}', "secret", id="a file elsewhere"),
        pytest.param("x" * 1_000_001, "more text than fits", id="too long"),
    ],
)
def test_a_template_that_does_not_work_is_the_users_error(tmp_path, template, message):
    (tmp_path / "summary.md.j2").write_text(template)
    with pytest.raises(ConfigError, match=message):
        shown(summary, run_report("edit passed"), templates=tmp_path)


if __name__ == "__main__":
    for name, text in RUNS.items():
        markdown = shown(summary, run_report(text, commit="4f2a9c1d0e"))
        (GOLDENS / f"summary-{name}.md").write_text(markdown, encoding="utf-8")
