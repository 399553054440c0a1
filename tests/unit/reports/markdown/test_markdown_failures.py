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
from skillgym_action.reports.markdown.report import comment, summary
from skillgym_action.reports.markdown.rows import SessionExcerpts
from skillgym_action.reports.wording.reasons import by_reason
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
    assert titles(shown(reporter, report)) == ["1 result: file:out.txt exists: no file<br>fix on claude"]


def test_a_case_that_fails_on_several_runners_is_one_entry_that_names_them():
    report = run_report("\n".join(f"fix @{runner} failed: no file" for runner in ("x", "y", "z", "u", "v")))
    for reporter in (summary, comment):
        assert titles(shown(reporter, report)) == ["5 results: file:out.txt exists: no file<br>fix on 5 runners"]


def test_cases_with_the_same_reason_are_one_entry():
    report = run_report("\n".join(f"c{number} failed: no file" for number in range(60)) + "\nown failed: not green")
    markdown = shown(comment, report)
    assert "\n### Why\n" in markdown
    assert titles(markdown) == [
        "60 results: file:out.txt exists: no file<br>c0 on claude, c1 on claude, c2 on claude, and 57 more",
        "1 result: file:out.txt exists: not green<br>own on claude",
    ]
    assert len(re.findall(r"^`c\d+` · ", markdown, re.MULTILINE)) == 1
    assert len(re.findall(r"^`c\d+` · ", shown(summary, report), re.MULTILINE)) == 60


def test_a_case_with_several_reasons_is_in_several_entries():
    markdown = shown(summary, run_report("fix @x failed: no file\nfix @y failed: not green\nfix @y2 failed: no file"))
    assert titles(markdown) == [
        "2 results: file:out.txt exists: no file<br>fix on x and y2",
        "1 result: file:out.txt exists: not green<br>fix on y",
    ]


@pytest.mark.parametrize(
    "measured",
    [
        "exited 1 after {}.4 s", "took {}20 ms", "wrote {}000 bytes", "process {}234 ended", "http://localhost:{}0123/x",
        "no file /tmp/pytest-{}/out.txt", "made on 202{}-11-27T10:00:00Z", "object at 0x7f{}a",
    ],
)  # fmt: skip
@pytest.mark.parametrize("reporter", [summary, comment])
def test_what_is_measured_makes_no_other_reason(reporter, measured):
    report = run_report("\n".join(f"c{number} failed: {measured.format(number)}" for number in (1, 2, 3)))
    (title,) = titles(shown(reporter, report))
    assert title.startswith("3 results: ")


@pytest.mark.parametrize("wanted", ["did not end within {} s", "{} commits, at least 5 wanted", "line {} is missing"])
def test_what_was_asked_for_does(wanted):
    report = run_report("\n".join(f"c{number} failed: {wanted.format(number)}" for number in (1, 2, 3)))
    assert len(titles(shown(comment, report))) == 3


def test_a_reason_of_several_lines_is_seen_with_its_values():
    report = run_report("fix failed")
    (result,) = report.results
    message = "expected equal values\n  actual:   1\n  expected: 2"
    failure = replace(result.judgement.failure, message=message)
    report = replace(report, results=(replace(result, judgement=replace(result.judgement, failure=failure)),))
    assert titles(shown(comment, report)) == [
        "1 result: file:out.txt exists: expected equal values · actual: 1 · expected: 2<br>fix on claude"
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
        f"8 results: {reason} 1<br>c0 on claude, c1 on claude, c2 on claude, and 5 more",
        f"1 result: {reason} 2<br>c8 on claude",
    ]


def test_cases_with_the_same_first_assertion_that_fails_are_one_entry():
    report = run_report("a failed: no file\nb failed: no file")
    first, second = report.results
    (outcome,) = second.judgement.outcomes
    outcomes = outcome, replace(outcome, assertion="npm test", explanation="exit code 1")
    second = replace(second, judgement=replace(second.judgement, outcomes=outcomes))
    markdown = shown(summary, replace(report, results=(first, second)))
    assert titles(markdown) == ["2 results: file:out.txt exists: no file<br>a on claude, b on claude"]
    assert "2. npm test: exit code 1" in markdown


def test_a_class_of_the_suite_is_named_with_the_number_of_messages():
    (title,) = titles(shown(comment, run_report("fix @x failed missed: a\nfix @y failed missed: b")))
    assert title == "2 results: missed · file:out.txt exists: a<br>fix on x and y; 2 messages, the first is above"


def test_what_newly_fails_comes_first():
    names = [f"c{number}" for number in range(12)]
    base = run_report(
        "\n".join(f"{name} {'passed 5of5' if name == 'c11' else 'failed 0of5: ' + name}" for name in names)
    )
    head = run_report("\n".join(f"{name} failed 0of5: {name}" for name in names))
    markdown = shown(comment, replace(head, comparison=compare(base, head)))
    assert titles(markdown)[0] == "1 result: file:out.txt exists: c11<br>c11 on claude"
    assert len(titles(markdown)) == 12


def test_grouping_loses_no_result():
    report = run_report("\n".join(f"c{n % 7} @r{n % 3} failed: m{n % 4}" for n in range(40)))
    groups = by_reason(report.results)
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


def test_columns_in_which_nothing_is_known_are_left_out():
    markdown = shown(summary, run_report("a passed $?\nb failed $?"))
    assert "\n| Case | Runner | Time | Tokens |\n|---|---|--:|--:|\n" in markdown
    assert "\n| Case | Runner | Time | Cost | Tokens |\n" in shown(summary, run_report("a passed $?\nb passed $1"))


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("a unexpected-passed\nb unexpected-passed", "Every assertion passed although the case is expected to fail."),
        ("a unexpected-passed 2of3", "Some attempts passed although the case is expected to fail, the others fail"),
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
        assert ("- **`a`** · `claude` · 2 of 3 attempts passed · " in markdown) == ("2of3" in text)


def test_missing_results_of_one_cause_are_one_line():
    text = "\n".join(f"c{number} @r{number} errored timeout: no answer" for number in range(8))
    for reporter in (comment, summary):
        markdown = shown(reporter, run_report(text))
        assert re.findall(r"^- \*\*.*no answer.*", markdown, re.MULTILINE) == [
            (
                "- **8 results:** Timeout: no answer; raise the case's timeout, or make the task smaller "
                "(c0 on r0, c1 on r1, c2 on r2, and 5 more; logs in `core/c0/r0`)"
            )
        ]


@pytest.mark.slow
def test_many_causes_leave_room_for_the_reasons_of_failures_and_add_up():
    lines = [f"e{number} errored timeout: {'m' * 300}{number}" for number in range(12_000)]
    for reporter in (comment, summary):
        markdown = shown(reporter, run_report("\n".join(["boom failed: the reason", *lines])))
        assert titles(markdown)[0] == "1 result: file:out.txt exists: the reason<br>boom on claude"
        listed = len(re.findall(r"^- \*\*1 result:\*\*", markdown, re.MULTILINE))
        assert f"\n{12_000 - listed:,} causes left out\n" in markdown


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
