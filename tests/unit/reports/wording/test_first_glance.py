"""The title and the line below it are the same in every output, and their numbers agree with the table."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import run_report
from on_github import SHA, api_of, github_with
from skillgym_action.github.publisher import CommitStatus
from skillgym_action.model.report import Decision
from skillgym_action.reports.files import annotations
from skillgym_action.reports.html import report as html
from skillgym_action.reports.markdown.report import comment, summary
from skillgym_action.reports.terminal import terminal
from skillgym_action.reports.wording.first_glance import FirstGlance
from skillgym_action.reports.wording.results_table import ResultsTable
from skillgym_action.reports.wording.statements import Share
from skillgym_action.results.statistics.comparison import compare

NAMES = "abcdefgh"
GOOD = "\n".join(f"{name} @{runner} passed 5of5" for name in NAMES for runner in ("sonnet", "haiku"))
BAD = re.sub(r"^([abc]) @(\w+) passed 5of5", r"\1 @\2 failed 0of5: no line matches", GOOD, flags=re.MULTILINE)
NO_KEY = "\n".join(f"c{number} errored auth: ANTHROPIC_API_KEY is not set" for number in range(60))
FAILED = Decision(verdict="failed", exit_code=1)
SHOWN = "\u2139\ufe0f"
UNSURE = Decision(verdict="inconclusive", exit_code=3)


def compared(before, after, branch="main", **changes):
    head = run_report(after, **changes)
    return replace(head, comparison=compare(run_report(before), head, branch))


TITLES = {
    "worse": (compared(GOOD, BAD), "❌ Worse than main: 100% → 62% of attempts pass"),
    "better": (compared(BAD, GOOD), "✅ Better than main: 62% → 100% of attempts pass"),
    "same": (compared(GOOD, GOOD), "✅ No change: 100% → 100% of attempts pass"),
    "few attempts": (
        compared("a passed\nb passed", "a passed\nb passed", decision=Decision(verdict="passed", exit_code=0)),
        "✅ No change seen: 100% → 100% of attempts pass",
    ),
    "one case": (compared("edit passed", "edit failed"), "❌ edit fails; it passed on main"),
    "as on main": (
        compared("a failed\nb passed", "a failed\nb passed"),
        "❌ No change, but 1 of 2 results fails, as on main",
    ),
    "first run": (
        run_report(BAD, decision=replace(FAILED, uncompared=True)),
        "❌ First run: 10 of 16 results pass, 6 fail for 1 reason",
    ),
    "no baseline": (run_report(GOOD), "✅ All 16 results pass"),
    "no key": (run_report(NO_KEY), "⚠️ Not tested: ANTHROPIC_API_KEY is not set"),
    "several causes": (run_report("a errored auth: x\nb errored timeout: y"), "⚠️ Not tested: 2 causes"),
    "some missing": (run_report("a passed\nb errored timeout: y"), "⚠️ Not sure: 1 of 2 results is missing"),
    "unexpected": (run_report("a passed\nb unexpected-passed"), "❌ 1 result passes although marked as failing"),
    "a leaked key": (
        run_report("a passed !OPENAI_KEY:out", decision=FAILED),
        "❌ An agent wrote the key OPENAI_KEY into its output",
    ),
    "another rule": (
        run_report("a passed\nb failed", decision=replace(FAILED, reasons=("1 failed", "pass rate 50% is below 60%"))),
        "❌ Failed: pass rate 50% is below 60%",
    ),
    "not gated": (
        run_report("a passed\nb passed", decision=Decision(verdict="not-gated", exit_code=0)),
        f"{SHOWN} All 2 results pass",
    ),
    "unverified": (
        run_report("a passed\nb passed", decision=Decision(verdict="unverified", exit_code=0)),
        f"{SHOWN} Unverified: all 2 results pass",
    ),
    "cancelled": (
        run_report("a passed\nb skipped", cancelled=True, decision=UNSURE),
        "⚠️ Cancelled: Not sure: 1 of 2 results is missing",
    ),
}


def title_of(markdown):
    return unescape(next(line for line in markdown.splitlines() if line.startswith("## ")))[3:].replace("\u00a0", " ")


@pytest.mark.parametrize(("report", "title"), TITLES.values(), ids=TITLES)
def test_a_run_has_one_title(report, title):
    sign, _, words = title.partition(" ")
    assert {title_of("".join(reporter(report))) for reporter in (comment, summary)} == {title}
    assert [*terminal.render(report)][-1].partition("\n")[0][2:] == words
    page = "".join(html.render(report))
    assert f" {words} · skillgym</title>" in page
    assert f"<h1>{words}</h1>" in page
    assert ("verdict good" in page) == (sign == "✅")


@pytest.mark.parametrize("name", ["worse", "better", "no key"])
def test_the_status_has_the_title_and_what_newly_fails(name):
    report, title = TITLES[name]
    with github_with() as github, api_of(github) as api:
        CommitStatus(api, "octo/skills", SHA, context="x", run=None).decided(report)
        newly = ", 6 of 16 results newly fail" if name == "worse" else ""
        assert github.statuses(SHA)[0].description == title.partition(" ")[2] + newly


def test_sixty_cases_without_a_key_are_a_few_lines():
    report = run_report(NO_KEY)
    assert len("".join(comment(report))) <= 1_500
    assert len("".join(terminal.render(report)).splitlines()) <= 12
    (only,) = "".join(annotations.render(report)).splitlines()
    assert only.startswith("::warning ")


RESULTS = {
    "passed": "passed {n}of{n}",
    "failed": "failed 0of{n}",
    "some": "failed {k}of{n}",
    "errored": "errored timeout",
    "skipped": "skipped",
    "expected": "expected-failed",
    "unexpected": "unexpected-passed",
}
cells = st.tuples(st.sampled_from([*RESULTS]), st.sampled_from([*RESULTS]), st.integers(1, 4))


@given(
    st.dictionaries(st.tuples(st.sampled_from("abcdefgh"), st.sampled_from("xyz")), cells, min_size=1), st.booleans()
)
def test_rows_add_up_to_all_and_parts_to_the_results(found, with_base):
    def text(side):
        return "\n".join(
            f"{case} @{runner} {RESULTS[kinds[side]].format(n=5, k=kinds[2])}"
            for (case, runner), kinds in found.items()
        )

    head = run_report(text(1))
    glance = FirstGlance(replace(head, comparison=compare(run_report(text(0)), head)) if with_base else head)
    table = ResultsTable(glance)
    assert sum(number for number, _ in glance.parts()) == len(found)
    counted = [
        (result, table.cell(result))
        for result in head.results
        if glance.kind_of(result) not in ("no-result", "skipped") and "marked" not in table.cell(result).note
    ]
    counted = [(result, cell) for result, cell in counted if "not compared" not in cell.note and "new" not in cell.note]
    sums = [tuple(map(int, cell.words.split("/"))) for _, cell in counted]
    before, here = table.passed()
    assert (here.passed, here.judged) == (sum(passed for passed, _ in sums), sum(judged for _, judged in sums))
    of_runners = [table.passed(runner) for runner in table.runners]
    assert sum(one.passed for _, one in of_runners) == here.passed
    assert sum(one.passed for one, _ in of_runners) == before.passed
    if glance.pairs and table.is_even:
        rate = glance.report.comparison.rate
        assert (rate.before, rate.after) == pytest.approx((before.rate, here.rate))
    main = [topic.cells for topic in table.main().topics()]
    if main and main[0] and table.main().head[0] == "Passed":
        rows = [row[1:] for row in main if not isinstance(row[0], str) or "per attempt" not in row[0]]
        shown = [cell for row in rows[:-1] for cell in row if isinstance(cell, Share) and "/" in cell.words]
        kept = [cell for cell in shown if not re.search("marked|not compared|new", cell.note)]
        assert sum(int(cell.words.replace(",", "").split("/")[0]) for cell in kept) == here.passed
