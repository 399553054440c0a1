"""Review comments and the commit status, on a GitHub that keeps to GitHub's own description."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from builders import run_report
from github_replies import dropped, server_error
from github_server import READ_ONLY_TOKEN
from github_state import ChangedFile
from on_github import BOT, NUMBER, SHA, api_of, github_with
from skillgym_action.github.api import ChangedFile as Changed
from skillgym_action.github.api import GitHubError
from skillgym_action.github.publisher import CommitStatus, status_context
from skillgym_action.github.review import MAX_REVIEW_COMMENTS, PullRequest, Review, changed_lines, review_text
from skillgym_action.model.judgement import Outcome
from skillgym_action.model.report import SuitesFrom

MARKER = "<!-- skillgym-action:default -->"
# Cases of tests/support/builders.py are ten lines apart: the first one in line 10.
NEW_FILE = ChangedFile("bench/core.json", "@@ -0,0 +1,400 @@\n" + "\n".join(["+line"] * 400), status="added")
LINE_24 = ChangedFile("bench/core.json", "@@ -22,4 +22,5 @@\n a\n b\n+c\n d\n e")


def review(github, text, *, marker=MARKER, token=None, sha=SHA):
    with api_of(github, **({"token": token} if token else {})) as api:
        pull = PullRequest(number=NUMBER, head_sha=sha)
        return Review(api, "octo/skills", pull, marker=marker).update(run_report(text))


def standing(github):
    return [(comment.path, comment.line) for comment in github.review_comments(NUMBER)]


def test_what_is_not_green_is_said_where_its_case_is_written():
    with github_with(NEW_FILE) as github:
        assert review(github, "edit passed\nfix failed: no file\nslow errored timeout\nnew unexpected-passed") == 3
        assert standing(github) == [("bench/core.json", 20), ("bench/core.json", 30), ("bench/core.json", 40)]
        (created,) = github.reviews(NUMBER)
        assert (created.state, created.body) == ("COMMENTED", "Cases this pull request changes are not green.")
        first = github.review_comments(NUMBER)[0].body
        assert first.startswith("<!-- skillgym-action:default:")
        assert "`fix`" in first
        assert "no file" in first


def test_a_case_is_commented_once_for_all_runners():
    with github_with(NEW_FILE) as github:
        report = run_report("fix failed @claude: no file\nfix failed @codex: no idea")
        first, second = report.results
        report = report.__class__(
            **{name: getattr(report, name) for name in report.__slots__}
            | {
                "results": (
                    first,
                    second.__class__(
                        **{n: getattr(second, n) for n in second.__slots__} | {"location": first.location}
                    ),
                )
            }
        )
        with api_of(github) as api:
            Review(api, "octo/skills", PullRequest(number=NUMBER, head_sha=SHA), marker=MARKER).update(report)
        (comment,) = github.review_comments(NUMBER)
        assert "no file" in comment.body
        assert "no idea" in comment.body


@pytest.mark.parametrize(
    ("text", "where"),
    [
        pytest.param("a passed\nfix failed\nlast passed", [24], id="a line inside, as its beginning is not shown"),
        pytest.param("fix failed", [24], id="the last case of a file goes to its end"),
        pytest.param("a failed\nfix passed", [], id="a case above"),
        pytest.param("a passed\nb passed\nfix failed", [], id="a case below"),
        pytest.param("suite other/core.json\na passed\nfix failed", [], id="a case of another file"),
        pytest.param("a passed\nfix passed", [], id="nothing red"),
        pytest.param("a passed\nfix skipped", [], id="nothing red, nothing run"),
    ],
)  # fmt: skip
def test_only_cases_the_pull_request_changes_are_commented(text, where):
    with github_with(LINE_24) as github:
        assert review(github, text) == len(where)
        assert standing(github) == [("bench/core.json", line) for line in where]


def test_lines_of_the_bases_suites_are_not_those_of_the_pull_request():
    with github_with(NEW_FILE) as github, api_of(github) as api:
        update = Review(api, "octo/skills", PullRequest(number=NUMBER, head_sha=SHA), marker=MARKER).update
        report = run_report("fix failed")
        assert (update(report), len(standing(github))) == (1, 1)
        assert (update(replace(report, suites_from=SuitesFrom(folder="base"))), standing(github)) == (0, [])


def test_lines_of_a_diff():
    lines = changed_lines(
        [
            Changed(
                filename="a", patch="@@ -1,2 +1,3 @@ x\n a\n+b\n c\n@@ -9 +10 @@\n-d\n+e\n\\ No newline at end of file"
            ),
            Changed(filename="too large"),
        ]
    )
    assert set(lines) == {"a"}
    assert (lines["a"].in_diff, lines["a"].changed) == ({1, 2, 3, 10}, (2, 10))


def test_a_second_run_adds_nothing_and_brings_up_to_date():
    with github_with(NEW_FILE) as github:
        review(github, "fix failed: no file\nslow errored timeout")
        before = [comment.id for comment in github.review_comments(NUMBER)]
        review(github, "fix failed: another reason\nslow errored timeout")
        assert [comment.id for comment in github.review_comments(NUMBER)] == before
        assert len(github.reviews(NUMBER)) == 1
        assert "another reason" in github.review_comments(NUMBER)[0].body


def test_what_does_not_hold_any_more_is_taken_back_unless_it_was_answered():
    with github_with(NEW_FILE) as github:
        review(github, "fix failed\nslow failed\nother failed")
        _fix, slow, other = github.review_comments(NUMBER)
        github.answer(slow.id, "ada", "I will look at it")
        review(github, "fix passed\nslow passed\nother failed")
        assert [comment.id for comment in github.review_comments(NUMBER) if comment.author == BOT] == [
            slow.id,
            other.id,
        ]


def test_the_text_of_a_review_is_withdrawn_with_its_last_comment():
    with github_with(NEW_FILE) as github:
        review(github, "fix failed\nslow failed")
        review(github, "fix passed\nslow failed")
        assert [one.body for one in github.reviews(NUMBER)] == ["Cases this pull request changes are not green."]
        github.push(NUMBER, "c" * 40, (NEW_FILE,))
        review(github, "fix passed\nslow passed", sha="c" * 40)
        assert standing(github) == []
        assert [one.body for one in github.reviews(NUMBER)] == [
            "Withdrawn: as of commit cccccccccccc none of its comments applies any more."
        ]
        before = len(github.requests)
        review(github, "fix passed\nslow passed", sha="c" * 40)
        assert len(github.requests) == before + 1


@pytest.mark.parametrize("took_effect", [True, False])
def test_after_a_lost_reply_a_review_is_looked_for_before_it_is_written_again(took_effect):
    with github_with(NEW_FILE) as github:
        github.fail(server_error(502, took_effect=took_effect), where="POST .*/reviews")
        assert review(github, "fix failed\nslow failed") == 2
        assert standing(github) == [("bench/core.json", 10), ("bench/core.json", 20)]
        assert len(github.reviews(NUMBER)) == 1


def test_a_line_that_moved_gets_a_new_comment_and_loses_the_old_one():
    with github_with(NEW_FILE) as github:
        review(github, "fix failed")
        github.push(NUMBER, "c" * 40, (ChangedFile("bench/core.json", "@@ -0,0 +20,1 @@\n+new"),))
        review(github, "first passed\nfix failed", sha="c" * 40)
        (comment,) = github.review_comments(NUMBER)
        assert (comment.commit, comment.line) == ("c" * 40, 20)


def test_there_are_at_most_twenty():
    with github_with(NEW_FILE) as github:
        text = "\n".join(f"case-{number} failed" for number in range(30))
        assert review(github, text) == MAX_REVIEW_COMMENTS
        assert review(github, text) == MAX_REVIEW_COMMENTS
        assert len(github.review_comments(NUMBER)) == MAX_REVIEW_COMMENTS


def test_comments_of_others_stay():
    with github_with(NEW_FILE) as github:
        review(github, "fix failed", marker="<!-- skillgym-action:nightly -->")
        github.add_token("token-of-mallory", "mallory")
        review(github, "fix failed", token="token-of-mallory")
        review(github, "fix passed")
        assert len(github.review_comments(NUMBER)) == 2


def test_a_green_run_asks_once_and_writes_nothing():
    with github_with(NEW_FILE) as github:
        review(github, "fix passed")
        assert [(request.method, request.status) for request in github.requests] == [("GET", 200)]


def judged(result, *outcomes):
    return replace(result, judgement=replace(result.judgement, outcomes=outcomes, failure=None))


def outcome(name, explanation, evidence=None, *, passed=False):
    return Outcome(assertion=name, type="file-contains", passed=passed, explanation=explanation, evidence=evidence)


def test_all_assertions_that_do_not_hold_are_listed_with_evidence():
    (result,) = run_report("fix failed").results
    text = review_text(
        [
            judged(
                result,
                outcome("file:a exists", "a does not exist"),
                outcome("file:b contains 'x'", "no 'x' in b", "+ 1 | y\n```"),
                outcome("file:c exists", "c exists", passed=True),
            )
        ]
    )
    assert text == (
        "**`fix`** is not green\n\n"
        "- `claude` · Assertion failure\n"
        "  1. `file:a exists`: a does not exist\n"
        "  2. `file:b contains 'x'`: no 'x' in b\n"
        "\n<details><summary>Evidence</summary>\n\n`claude`\n\n"
        "````\n1. file:a exists: a does not exist\n2. file:b contains 'x': no 'x' in b\n   + 1 | y\n   ```\n````\n"
        "\n</details>"
    )


def test_a_case_is_named_with_its_title():
    (result,) = run_report("7 failed").results
    assert review_text([replace(result, title="Merges two files")]).startswith(
        "**`7`** (Merges two files) is not green"
    )


def test_more_assertions_than_fit_are_counted_and_the_comment_stays_short():
    many = [outcome(f"file:{number:03} exists", "no such file " * 20, "e" * 900) for number in range(300)]
    results = [
        judged(result, *many) for result in run_report("\n".join(f"fix failed @r{n}" for n in range(12))).results
    ]
    text = review_text(results)
    assert re.search(r"^  - and 2\d\d more$", text, re.MULTILINE)
    assert "- and 2 more runners" in text
    assert len(text) < 40_000


def test_text_of_agents_stays_text():
    with github_with(NEW_FILE) as github:
        review(github, "fix failed: @octocat see #1 ![x](http://evil.example/y) <img src=x>")
        body, code, _ = github.review_comments(NUMBER)[0].body.partition("\n")[2].partition("\n```\n")
        assert code
        for evil in ("@octocat", "#1", "![", "<img", "http://"):
            assert evil not in body


# --- the commit status ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "state", "words"),
    [
        ("a passed\nb expected-failed", "success", "1 of 2 results passes"),
        ("a passed\nb failed\nc errored", "failure", "1 of 3 results passes, 1 fails for 1 reason"),
        ("a passed\nb unexpected-passed", "failure", "1 result passes although marked as failing"),
        ("a passed\nb errored", "error", "Not sure: 1 of 2 results is missing"),
    ],
)
def test_a_status_says_the_verdict_in_words(text, state, words):
    with github_with() as github, api_of(github) as api:
        status = CommitStatus(
            api, "octo/skills", SHA, context=status_context("default"), run="https://github.example/run"
        )
        status.pending()
        status.decided(run_report(text))
        last, first = github.statuses(SHA)
        assert (first.state, first.context) == ("pending", "skillgym-action")
        assert (last.state, last.description) == (state, words)
        assert last.target_url == "https://github.example/run"


@pytest.mark.parametrize("fault", [server_error(502), server_error(502, took_effect=True), dropped(took_effect=True)])
def test_a_final_status_whose_reply_is_an_error_is_sent_again(fault):
    with github_with() as github, api_of(github) as api:
        status = CommitStatus(api, "octo/skills", SHA, context="skillgym-action", run=None)
        status.pending()
        github.fail(fault, where="POST .*/statuses/")
        status.decided(run_report("a passed"))
        assert github.statuses(SHA)[0].state == "success"


def test_every_comment_id_has_a_status_of_its_own():
    assert [status_context(name) for name in ("default", "nightly")] == ["skillgym-action", "skillgym-action/nightly"]


def test_a_status_that_may_not_be_written_is_an_error_of_its_own_kind():
    with github_with() as github, api_of(github, READ_ONLY_TOKEN) as api:
        status = CommitStatus(api, "octo/skills", SHA, context="skillgym-action", run=None)
        with pytest.raises(GitHubError) as caught:
            status.pending()
        assert caught.value.is_read_only
