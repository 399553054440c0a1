"""The list of failures in summary and comment: entries by case or by reason, and what is folded in them."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given

from builders import run_report
from hostile import any_text
from markdown_structure import shown, structure
from skillgym_action.comparison.comparison import compare
from skillgym_action.model.session_artifacts import NOT_STORED, SessionArtifacts, StoredText
from skillgym_action.reporters.markdown import comment, summary
from skillgym_action.reporters.markdown_excerpts import SessionExcerpts
from skillgym_action.reporters.markdown_failures import grouped

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
        ("a unexpected-passed\nb unexpected-passed", "Every assertion holds although the case expects a failure."),
        ("a unexpected-passed 2of3", "Some sessions pass although the case expects a failure, the others fail"),
        (
            "a unexpected-passed 2of3\nb unexpected-passed",
            "Assertions hold although the case expects a failure: in all",
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
    assert "<b>Timeout (8)</b>: raise the case's timeout, or ask for less<br>no answer</summary>" in markdown
    assert "\nand 2 more\n" in markdown
    assert shown(summary, run_report(text)).count("\n- `c") == 8
