"""Nothing green is said of a commit that was not judged."""

from __future__ import annotations

from dataclasses import replace

import pytest

from builders import run_report
from on_github import NUMBER, REPOSITORY, SHA, api_of, event_of, github_with
from skillgym_action.github.event import Head
from skillgym_action.github.options import PublisherOptions
from skillgym_action.github.publisher import Publisher, is_judged, other_commit, without_verdict
from skillgym_action.text.redaction import Redactor

OTHER, MERGE = "d" * 40, "e" * 40
HEAD = Head(sha=SHA, repository=REPOSITORY, branch="topic")


@pytest.fixture
def github():
    with github_with() as server:
        yield server


@pytest.mark.parametrize(
    ("name", "commit", "parents", "judged"),
    [
        pytest.param("pull_request", SHA, (), True, id="the head"),
        pytest.param("pull_request", MERGE, (), True, id="the merge that the event names"),
        pytest.param("pull_request", OTHER, (OTHER, SHA), True, id="another merge of the head"),
        pytest.param("pull_request", OTHER, (), False, id="another commit"),
        pytest.param("pull_request", OTHER, (OTHER, MERGE), False, id="a merge of others"),
        pytest.param("pull_request", None, (), True, id="unknown, where the event's commit is checked out"),
        pytest.param("push", None, (), True, id="unknown after a push"),
        pytest.param("pull_request_target", SHA, (), True, id="the head, checked out by name"),
        pytest.param("pull_request_target", OTHER, (), False, id="the base branch"),
        pytest.param("pull_request_target", None, (), False, id="unknown, where the base is checked out"),
        pytest.param("workflow_run", None, (), False, id="unknown, where the default branch is checked out"),
        pytest.param("workflow_run", OTHER, (OTHER, SHA), True, id="results of a merge of the head"),
        pytest.param("issue_comment", None, (), False, id="unknown after a comment"),
    ],
)
def test_which_commits_stand_for_the_head(github, name, commit, parents, judged):
    event = event_of(github, name, merge=MERGE if name == "pull_request" else None)
    report = run_report("edit passed", commit=commit, merge_parents=parents)
    assert is_judged(report, event, SHA) == judged


@pytest.mark.parametrize(
    ("name", "stored", "remedy"),
    [
        ("pull_request_target", False, "ref: ${{ github.event.pull_request.head.sha }}"),
        ("workflow_run", False, "ref: ${{ github.event.workflow_run.head_sha }}"),
        ("issue_comment", False, "ref: refs/pull/${{ github.event.issue.number }}/merge"),
        ("pull_request", False, "actions/checkout without ref"),
        ("workflow_run", True, "let the workflow that runs the suites check out the commit of its event, with git"),
    ],
)
def test_the_warning_says_what_to_check_out(github, name, stored, remedy):
    event = event_of(github, name)
    problem = other_commit(run_report("edit passed", commit=OTHER), event, SHA, stored=stored)
    assert str(problem).startswith("commit dddddddddddd was judged, not aaaaaaaaaaaa, which this run reports on; ")
    assert remedy in str(problem)
    unknown = other_commit(run_report("edit passed"), event, SHA, stored=stored)
    assert str(unknown).startswith("it is unknown which commit was judged, not aaaaaaaaaaaa")


def published(github, name, report, **more):
    with api_of(github) as api:
        options = PublisherOptions(status="on", review_comments=True)
        publishing = Publisher(api, event_of(github, name, **more), options, Redactor([]), lambda _: None)
        publishing.planned(1)
        return publishing.publish(report)


@pytest.mark.parametrize("text", ["edit passed", "edit failed", "edit errored"])
def test_comment_and_status_are_not_green_and_name_what_was_judged(github, text):
    report = run_report(text, commit=OTHER)
    log = published(github, "pull_request_target", report, pull=NUMBER)
    (comment,) = github.comments(NUMBER)
    assert "## ⚠️ Not " in comment.body
    assert "commit dddddd\u2060dddddd was judged, not aaaaaa\u2060aaaaaa" in comment.body
    status = github.statuses(SHA)[0]
    assert (status.state, status.description) == ("error", "dddddddddddd was judged, not this commit")
    assert len(log.warnings) == 1
    assert github.review_comments(NUMBER) == ()


def test_the_head_that_was_judged_has_no_warning(github):
    log = published(github, "pull_request_target", run_report("edit passed", commit=SHA), pull=NUMBER)
    assert (log.warnings, github.statuses(SHA)[0].state) == ((), "success")


def test_without_pull_request_and_status_there_is_nothing_to_warn_of(github):
    with api_of(github) as api:
        event = event_of(github, "schedule", head=replace(HEAD, branch=None))
        publishing = Publisher(api, event, PublisherOptions(), Redactor([]), lambda _: None)
        assert publishing.publish(run_report("edit passed", commit=OTHER)).warnings == ()


def test_own_reasons_of_the_verdict_stay(github):
    report = run_report("edit failed", commit=OTHER)
    problem = other_commit(report, event_of(github), SHA, stored=False)
    assert without_verdict(report, problem).decision.reasons == (str(problem), "1 failed")
