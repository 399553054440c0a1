"""The summary and the comment of a run without a report."""

from __future__ import annotations

import time

import pytest

from builders import run_report
from skillgym_action.model.errors import Location, Problem
from skillgym_action.model.report import Links, RunWithoutReport
from skillgym_action.reports.markdown.report import comment
from skillgym_action.reports.markdown.run_without_report import (
    EarlierReport,
    earlier_report,
    run_without_report_comment,
    run_without_report_summary,
)

LINKS = Links(
    repository="https://github.com/octo/skills", commit="a" * 40, run="https://github.com/octo/skills/actions/runs/2"
)
PROBLEM = Problem(
    message="unknown agent 'comand'", location=Location(path="x.yaml", line=4, column=7), key_path="runners.sh",
    remedy="did you mean 'command'?",
)  # fmt: skip
END = RunWithoutReport(exit_code=2, problems=(PROBLEM,))
FOLDED = f"<details><summary>Report of an earlier run, on commit {'b' * 12}: ✅ edit passes</summary>"


def report_comment(commit="b" * 40, run_key="1/1"):
    return "".join(comment(run_report("edit passed"), run_key=run_key, commit=commit))


def early(replaced="", end=END, run_key="2/1", **more):
    return run_without_report_comment(end, replaced, links=LINKS, run_key=run_key, **more)


def test_the_summary_has_message_place_remedy_and_exit_code():
    assert run_without_report_summary(END, LINKS) == (
        "## ❌ Not run: nothing was tested\n\n"
        f"commit [`aaaaaaaaaaaa`](https://github.com/octo/skills/commit/{'a' * 40}) · exit code 2 · "
        "[all results](https://github.com/octo/skills/actions/runs/2)\n\n"
        f"- **[`x.yaml:4:7`](https://github.com/octo/skills/blob/{'a' * 40}/x.yaml#L4)**: runners.sh: "
        "unknown agent 'comand'<br>did you mean 'command'?\n"
    )


def test_without_links_there_are_none():
    assert run_without_report_summary(END, None).startswith(
        "## ❌ Not run: nothing was tested\n\nexit code 2\n\n- **`x.yaml:4:7`**: "
    )


@pytest.mark.parametrize(
    ("end", "title"),
    [
        pytest.param(RunWithoutReport(exit_code=3, problems=(PROBLEM,)), "Not tested: the run ended without", id="3"),
        pytest.param(
            RunWithoutReport(exit_code=3, problems=(PROBLEM,), reported=True), "failed after its report", id="reported"
        ),
        pytest.param(RunWithoutReport(exit_code=70, problems=(PROBLEM,)), "Internal error", id="70"),
        pytest.param(RunWithoutReport(exit_code=130, problems=(PROBLEM,)), "Cancelled", id="130"),
        pytest.param(RunWithoutReport(exit_code=141, problems=(PROBLEM,)), "Error", id="any other"),
    ],
)
def test_the_title_says_how_it_ended(end, title):
    assert title in run_without_report_summary(end, None).partition("\n")[0]


def test_the_report_of_an_earlier_commit_is_folded_once_however_often_runs_end_early():
    first = early(report_comment())
    second = early(first, run_key="3/1")
    for text in (first, second):
        assert text.count(FOLDED) == text.count("## ✅ edit passes") == 1
        assert text.count("<details>") == text.count("</details>")
        assert text.count("<!-- skillgym-action-report: ") == text.count("<!-- run: ") == 1
    assert second.startswith("<!-- skillgym-action:default -->\n<!-- run: 3/1 -->\n## ❌")


@pytest.mark.parametrize(
    ("replaced", "expected"),
    [
        pytest.param("", None, id="no comment"),
        pytest.param(
            "<!-- skillgym-action:default -->\n<!-- run: 1/1 -->\n## ⏳ Running: 1 of 2\n", None, id="progress"
        ),
        pytest.param(report_comment(None), (None, False), id="an unknown commit"),
        pytest.param(report_comment(), ("b" * 40, False), id="an earlier run"),
        pytest.param(report_comment(run_key="2/1"), ("b" * 40, True), id="this run"),
    ],
)
def test_what_a_comment_had_is_recognized(replaced, expected):
    found = earlier_report(replaced, "2/1")
    assert (found and (found.commit, found.own)) == expected
    assert found is None or isinstance(found, EarlierReport)


def test_the_report_of_this_run_stays_open():
    text = early(report_comment("a" * 40, "2/1"))
    assert "<details open><summary>Report of this run, on this commit: ✅ edit passes</summary>" in text


@pytest.mark.parametrize("limit", [65_000, 2_000, 500])
def test_it_has_at_most_as_many_characters_as_allowed(limit):
    many = RunWithoutReport(exit_code=2, problems=(Problem(message="x" * 300),) * 60)
    text = early(report_comment(), many, limit=limit)
    assert len(text) <= limit
    assert "problems left out" in text
    assert "on commit bbbbbbbbbbbb: ✅ edit passes" in text


@pytest.mark.timed
def test_a_comment_full_of_hidden_lines_takes_no_time():
    line = f"<!-- skillgym-action-report: {'c' * 40} -->\n"
    text = f"<!-- skillgym-action:default -->\n<!-- run: 1/1 -->\n{line * 3_600}"  # as much as GitHub takes
    began = time.process_time()
    found = earlier_report(text, "2/1")
    assert time.process_time() - began < 1
    assert found is not None
    assert found.commit == "c" * 40
