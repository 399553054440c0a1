"""The list of failures in summary and comment: entries by case or by reason, and what is folded in them."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given

from builders import run_report
from hostile import any_text
from markdown_structure import shown, structure
from skillgym_action.model.session import NOT_STORED, SessionArtifacts, StoredText
from skillgym_action.reports.markdown.failures import grouped
from skillgym_action.reports.markdown.report import comment, summary
from skillgym_action.reports.markdown.rows import SessionExcerpts
from skillgym_action.results.statistics.comparison import compare

DIFF = "--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-old\n+new\n"


class Stored:
    """The same artifacts for every session; ``read`` are the folders that were asked for."""

    def __init__(self, artifacts):
        self.artifacts, self.read = artifacts, []

    def session(self, directory, most):
        assert 0 < most < 100_000
        self.read.append(directory)
        return self.artifacts

    def baseline_session(self, directory, most):
        raise AssertionError(directory, most)


def artifacts(*commands, diff=DIFF):
    events = [{"type": "command", "command": command, "exitCode": code} for command, code in commands]
    return SessionArtifacts(report={"events": events}, diff=StoredText(name="diff.patch", head=diff))


def titles(markdown):
    """What can be seen of the entries, without markup."""
    return [re.sub(r"</?(?:b|code)>", "", title) for title in re.findall(r"<summary>(<b>.*)</summary>", markdown)]


def with_answer(report, answer):
    return replace(report, results=tuple(replace(result, final_output=answer) for result in report.results))


# --- entries ------------------------------------------------------------------------------------------


def test_details_that_are_those_of_the_row_before_are_not_repeated():
    text = shown(summary, run_report("fix failed: no file\nfix @codex failed: no file"))
    assert text.count("The same assertions and evidence.") == 1


@pytest.mark.parametrize("reporter", [summary, comment])
def test_suites_may_have_mappings(reporter):
    (result,) = run_report("fix failed: no file").results
    runner = replace(result.runner, agent=replace(result.runner.agent, env={"MODE": "ci"}))
    suite = replace(result.suite, runners=(runner,))
    report = replace(run_report("fix failed"), suites=(suite,), results=(replace(result, suite=suite),))
    assert titles(shown(reporter, report)) == ["fix<br>file:out.txt exists: no file"]


def test_a_case_that_fails_on_several_runners_is_one_entry_that_names_them():
    report = run_report("\n".join(f"fix @{runner} failed: no file" for runner in ("x", "y", "z", "u", "v")))
    for reporter in (summary, comment):
        assert titles(shown(reporter, report)) == [
            "fix on x, y, z and 2 more runners · the same reason 5 times<br>file:out.txt exists: no file"
        ]


def test_cases_with_the_same_reason_are_one_entry():
    report = run_report("\n".join(f"c{number} failed: no file" for number in range(60)) + "\nown failed: not green")
    markdown = shown(comment, report)
    assert "### ❌ 61 failures in 2 groups" in markdown
    assert titles(markdown) == [
        "c0, c1, c2 and 57 more cases · the same reason 60 times<br>file:out.txt exists: no file",
        "own<br>file:out.txt exists: not green",
    ]
    assert "\nand 54 more executions\n" in markdown
    assert [line for line in shown(summary, report).split("\n") if "more execution" in line] == []


def test_a_case_with_several_reasons_says_each_where_it_is():
    markdown = shown(summary, run_report("fix @x failed: no file\nfix @y failed: not green\nfix @y2 failed: no file"))
    assert titles(markdown) == ["fix on x, y, y2 · 2 reasons, the first:<br>file:out.txt exists: no file"]
    assert re.findall(r"^> `file:out.txt exists`: (.*)$", markdown, re.MULTILINE) == ["no file", "not green", "no file"]


def test_a_reason_of_several_lines_is_seen_with_its_values():
    report = run_report("fix failed")
    (result,) = report.results
    message = "expected equal values\n  actual:   1\n  expected: 2"
    failure = replace(result.judgement.failure, message=message)
    report = replace(report, results=(replace(result, judgement=replace(result.judgement, failure=failure)),))
    assert titles(shown(comment, report)) == [
        "fix<br>file:out.txt exists: expected equal values · actual: 1 · expected: 2"
    ]


def with_message(result, message):
    failure = replace(result.judgement.failure, message=message)
    return replace(result, judgement=replace(result.judgement, failure=failure))


def test_what_differs_below_the_first_line_is_another_reason():
    report = run_report("\n".join(f"c{number} failed" for number in range(9)))
    same, other = "expected equal values\n  actual: 1", "expected equal values\n  actual: 2"
    results = (with_message(result, other if result.index == 8 else same) for result in report.results)
    reason = "file:out.txt exists: expected equal values · actual:"
    assert titles(shown(comment, replace(report, results=tuple(results)))) == [
        f"c0, c1, c2 and 5 more cases · the same reason 8 times<br>{reason} 1",
        f"c8<br>{reason} 2",
    ]


def test_cases_with_other_assertions_that_do_not_hold_are_not_one_entry():
    report = run_report("a failed: no file\nb failed: no file")
    first, second = report.results
    (outcome,) = second.judgement.outcomes
    outcomes = outcome, replace(outcome, assertion="npm test", explanation="exit code 1")
    second = replace(second, judgement=replace(second.judgement, outcomes=outcomes))
    assert titles(shown(comment, replace(report, results=(first, second)))) == [
        "a<br>file:out.txt exists: no file",
        "b<br>file:out.txt exists: no file (and 1 more assertion)",
    ]


def test_each_reason_of_a_case_is_among_the_executions_of_the_comment():
    lines = [f"fix @r{number} failed: no file" for number in range(9)] + ["fix @last failed: not green"]
    markdown = shown(comment, run_report("\n".join(lines)))
    assert "2 reasons, the first:" in markdown
    assert re.findall(r"^> `file:out.txt exists`: (.*)$", markdown, re.MULTILINE)[:2] == ["no file", "not green"]
    assert "\nand 4 more executions\n" in markdown


def test_a_failure_class_is_named_only_if_all_executions_of_an_entry_have_it():
    assert titles(shown(comment, run_report("fix @x failed: a\nfix @y failed timeout: b"))) == [
        "fix on x, y · 2 reasons, the first:<br>file:out.txt exists: a"
    ]
    (title,) = titles(shown(comment, run_report("fix @x failed timeout: a\nfix @y failed timeout: b")))
    assert title.startswith("fix on x, y · timeout · 2 reasons, the first:<br>")


def test_what_newly_fails_comes_first():
    names = [f"c{number}" for number in range(12)]
    base = run_report(
        "\n".join(f"{name} {'passed 5of5' if name == 'c11' else 'failed 0of5: ' + name}" for name in names)
    )
    head = run_report("\n".join(f"{name} failed 0of5: {name}" for name in names))
    markdown = shown(comment, replace(head, comparison=compare(base, head)))
    assert titles(markdown)[0] == "c11 · new · 0 of 5 sessions passed<br>file:out.txt exists: c11"
    assert len(titles(markdown)) == 10
    assert "\n2 failures left out\n" in markdown


def test_grouping_loses_no_result():
    report = run_report("\n".join(f"c{n % 7} @r{n % 3} failed: m{n % 4}" for n in range(40)))
    groups = grouped(report.results)
    assert sorted(result.index for group in groups for result in group) == list(range(40))


# --- what sessions left -------------------------------------------------------------------------------


def test_the_summary_has_answer_commands_and_diff():
    commands = [(f"make {number}", 0) for number in range(19)] + [("npm test", 1)]
    report = with_answer(run_report("fix failed"), "I am done.\n@octocat see #1")
    markdown = shown(summary, report, excerpts=SessionExcerpts(Stored(artifacts(*commands))))
    assert "<summary>The agent's answer</summary>\n\n```\nI am done.\n@octocat see #1\n```\n" in markdown
    assert "<summary>15 of 20 commands, the last</summary>\n\n```console\n$ make 5\n" in markdown
    assert "\n$ npm test  # exit code 1\n```\n" in markdown
    assert f"<summary>What changed</summary>\n\n```diff\n{DIFF}```\n" in markdown
    assert "· artifacts in `core/fix/claude`\n" in markdown


def test_the_comment_has_less_of_it():
    commands = [(f"make {number}", 0) for number in range(20)]
    report = with_answer(run_report("fix failed"), "x" * 5_000 + "the end")
    markdown = shown(comment, report, excerpts=SessionExcerpts(Stored(artifacts(*commands))))
    assert "**The end of the agent's answer**\n\n```\n… " in markdown
    assert "the end\n```\n" in markdown
    assert "**3 of 20 commands, the last**\n\n```console\n$ make 17\n$ make 18\n$ make 19\n```\n" in markdown
    assert "```diff" not in markdown
    assert len(markdown) < 2_000


def test_without_artifacts_there_is_the_answer_alone():
    for excerpts in (None, SessionExcerpts(), SessionExcerpts(Stored(NOT_STORED))):
        markdown = shown(summary, run_report("fix failed"), excerpts=excerpts)
        assert "<summary>The agent's answer</summary>\n\n```\nDone.\n```\n" in markdown
        assert "command" not in markdown
        assert "What changed" not in markdown


def test_a_session_is_read_once_and_only_where_it_is_shown():
    stored = Stored(artifacts(("ls", 0)))
    excerpts = SessionExcerpts(stored)
    report = run_report("\n".join(f"c{number} failed: m{number}" for number in range(60)) + "\ngood passed")
    shown(comment, report, excerpts=excerpts)
    assert len(stored.read) == 10
    shown(summary, report, excerpts=excerpts)
    shown(comment, report, excerpts=excerpts)
    assert len(stored.read) == len(set(stored.read)) == 40


@pytest.mark.parametrize(
    "report",
    [None, {}, {"events": 3}, {"events": [1, None, {"type": "command"}, {"type": "command", "command": 7}]}],
)
def test_artifacts_may_be_anything(report):
    stored = Stored(SessionArtifacts(report=report))
    structure(shown(summary, run_report("fix failed"), excerpts=SessionExcerpts(stored)))


def test_an_exit_code_that_no_system_has_is_not_shown():
    commands = [("npm test", 10**400), ("npm run lint", 2)]
    markdown = shown(comment, run_report("fix failed"), excerpts=SessionExcerpts(Stored(artifacts(*commands))))
    assert "```console\n$ npm test\n$ npm run lint  # exit code 2\n```" in markdown


@pytest.mark.slow
@given(any_text)
def test_what_sessions_left_stays_in_its_place(text):
    def one(left):
        stored = Stored(artifacts((f"x{left}", 0), (f"y{left}", 2), diff=f"+x{left}"))
        report = with_answer(run_report("fix failed"), f"x{left}")
        return [structure(shown(reporter, report, excerpts=SessionExcerpts(stored))) for reporter in (summary, comment)]

    assert one(text) == one("words")


# --- other parts --------------------------------------------------------------------------------------


def test_cases_on_runners_are_a_table_of_the_summary():
    text = "good @x passed\ngood @y passed\nfix @x failed 3of5\nfix @y passed 5of5\nonly @x skipped"
    markdown = shown(summary, run_report(text))
    table = markdown.split("### Cases on runners\n\n")[1].split("\n\n")[0].replace("\u00a0", " ")
    assert table.split("\n") == [
        "| Case | `x` | `y` |",
        "|---|---|---|",
        "| `fix` | ❌ failed, 3 of 5 sessions, flaky | ✅ passed, 5 of 5 sessions |",
        "| `good` | ✅ passed | ✅ passed |",
        "| `only` | ⏭️ skipped | not run |",
    ]
    assert "Cases on runners" not in shown(comment, run_report(text))
    assert "Cases on runners" not in shown(summary, run_report("fix failed\ngood passed"))


def test_a_table_of_many_cases_loses_green_ones_and_says_so():
    lines = [f"c{case} @r{runner} passed" for case in range(320) for runner in range(9)]
    markdown = shown(summary, run_report("\n".join([*lines, "broken @r0 failed"])))
    table = markdown.split("### Cases on runners\n\n")[1].split("\n\n###")[0]
    assert table.split("\n")[2].startswith("| `broken` |")
    assert "\n21 cases without a failure and 1 runner left out\n" in table


def test_columns_in_which_nothing_is_known_are_left_out():
    markdown = shown(summary, run_report("a passed $?\nb failed $?"))
    assert (
        "\n| Runner | Passed | Failed | Pass\u00a0rate [95\u00a0%] | Tokens | Time |\n|---|--:|--:|--:|--:|--:|\n"
        in markdown
    )
    assert "\n| Case | Runner | Time | Tokens |\n|---|---|--:|--:|\n" in markdown
    assert "\n| Case | Runner | Time | Cost | Tokens |\n" in shown(summary, run_report("a passed $?\nb passed $1"))


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("a unexpected-passed\nb unexpected-passed", "Every assertion passed although the case is expected to fail."),
        ("a unexpected-passed 2of3", "Some sessions passed although the case is expected to fail, the others fail"),
        (
            "a unexpected-passed 2of3\nb unexpected-passed",
            "Assertions passed although the case is expected to fail: in all",
        ),
    ],
)
def test_an_unexpected_pass_of_some_sessions_says_so(text, note):
    for reporter in (summary, comment):
        markdown = shown(reporter, run_report(text))
        assert f"\n{note}" in markdown
        assert ("- **`a`** · `claude` · 2 of 3 sessions passed · " in markdown) == ("2of3" in text)


def test_errors_of_one_kind_say_their_message_once():
    text = "\n".join(f"c{number} @r{number} errored timeout: no answer" for number in range(8))
    markdown = shown(comment, run_report(text))
    assert markdown.count("no answer") == 1
    assert "<b>Timeout (8)</b>: raise the case's timeout, or make the task smaller<br>no answer</summary>" in markdown
    assert "\nand 2 more\n" in markdown
    assert shown(summary, run_report(text)).count("\n- `c") == 8


@pytest.mark.slow
def test_many_errors_leave_room_for_the_reasons_of_failures_and_add_up():
    lines = [f"e{number} errored {('timeout', 'rate-limit')[number % 2]}: m{number}" for number in range(3_000)]
    markdown = shown(comment, run_report("\n".join(["boom failed: the reason", *lines])))
    assert titles(markdown)[0] == "boom<br>file:out.txt exists: the reason"
    assert "**The agent's answer**" in markdown
    assert "<b>Timeout (1,500)</b>" in markdown
    assert "<b>Rate limit (1,500)</b>" in markdown
    assert markdown.count("\nand 1,494 more\n") == 2
    assert "left out" not in markdown.lower()
    lines = [f"e{number} errored timeout: {'m' * 300}{number}" for number in range(12_000)]
    markdown = shown(summary, run_report("\n".join(["boom failed: the reason", *lines])))
    assert titles(markdown)[0] == "boom<br>file:out.txt exists: the reason"
    listed = len(re.findall(r"^- `e\d+`", markdown, re.MULTILINE))
    assert f"\nand {12_000 - listed:,} more\n" in markdown


def test_what_is_red_comes_first_in_changed_suites():
    report = run_report(
        "suite bench/green.json\ng passed\nsuite bench/red.json\n"
        + "\n".join(f"c{number} passed" for number in range(20))
        + "\nbad failed: the reason"
    )
    suites = tuple(replace(suite, changed="added") for suite in report.suites)
    by_path = {suite.path: suite for suite in suites}
    results = tuple(replace(result, suite=by_path[result.suite.path]) for result in report.results)
    markdown = shown(comment, replace(report, suites=suites, results=results))
    assert re.findall(r"^(?:\*\*`|- ).*", markdown, re.MULTILINE)[:2] == [
        "**`bench/red.json`** is not in the base",
        "- ❌ `bad` · `claude` · failed: the reason",
    ]


def test_evidence_that_the_comment_has_no_room_for_is_said_to_be_in_the_summary():
    report = with_answer(run_report("\n".join(f"c{n} failed: m{n} {'x' * 300}" for n in range(10))), "y" * 300)
    note = "Only in the job summary: some evidence of failures."
    many = SessionExcerpts(Stored(artifacts(*[("z" * 200, 0)] * 3)))
    assert note in shown(comment, report, excerpts=many)
    assert note not in shown(comment, replace(report, results=report.results[:2]), excerpts=many)
    assert note not in shown(summary, report, excerpts=many)
