"""Publishing: the pull request is found, written to during the run and at its end, and changes no verdict."""

from __future__ import annotations

import re
import threading
import time
from contextlib import contextmanager
from dataclasses import replace

import pytest

from builders import run_report
from github_replies import late, server_error
from github_server import READ_ONLY_TOKEN
from github_state import ChangedFile, PullRequest
from on_github import BOT, NUMBER, REPOSITORY, SHA, api_of, event_of, github_with
from skillgym_action.github.event import Head
from skillgym_action.github.options import PublisherOptions
from skillgym_action.github.publisher import Publisher
from skillgym_action.system.clock import Clock
from skillgym_action.text.redaction import Redactor
from users_templates import rendered_elsewhere
from waiting import until

GREEN = run_report("edit passed $0.20", commit=SHA)
RED = run_report("edit passed $0.20\nfix failed $0.64: no file", commit=SHA)
FORK = "stranger/skills"


@contextmanager
def publisher(github, event=None, token=None, templates=None, client=None, **more):
    """A publisher, and the lines it logs. ``client``: keywords of ``api_of``."""
    said: list[str] = []
    with api_of(github, **({"token": token} if token else {}), **(client or {})) as api:
        options = PublisherOptions(**{"period": 60.0, **more})
        redactor = Redactor(["s3cret-value"])
        yield Publisher(api, event or event_of(github), options, redactor, said.append, templates), said


def published(github, report=RED, event=None, **options):
    with publisher(github, event, **options) as (publishing, _):
        return publishing.publish(report)


def texts(github, number=NUMBER):
    return [comment.body for comment in github.comments(number)]


# --- which pull request -----------------------------------------------------------------------------


def of_another_run(github, repository=REPOSITORY, sha=SHA):
    return event_of(github, "workflow_run", head=Head(sha=sha, repository=repository, branch="topic"))


@pytest.mark.parametrize(
    "event",
    [
        pytest.param(event_of, id="pull_request: the payload says it"),
        pytest.param(of_another_run, id="workflow_run: by commit, branch and repository"),
        pytest.param(
            lambda github: event_of(github, "push", head=Head(sha=SHA, repository=REPOSITORY, branch="topic")),
            id="push",
        ),
        pytest.param(
            lambda github: event_of(
                github, "workflow_dispatch", head=Head(sha=SHA, repository=REPOSITORY, branch="topic")
            ),
            id="workflow_dispatch, as for push",
        ),
        pytest.param(lambda github: event_of(github, "issue_comment", head=None, pull=NUMBER), id="issue_comment"),
    ],
)
def test_the_comment_goes_to_the_pull_request_of_the_event(event):
    with github_with() as github:
        comment = published(github, event=event(github), status="off")
        assert [str(one.id) for one in github.comments(NUMBER)] == [comment.comment_id]
        assert comment.comment_url.endswith(f"#issuecomment-{comment.comment_id}")
        assert comment.notes == ()


def test_a_forks_run_is_found_in_the_fork():
    with github_with() as github:
        github.add_pull(PullRequest(number=8, head_sha=SHA, head_branch="topic", head_repository=FORK))
        published(github, event=of_another_run(github, FORK))
        assert (len(texts(github)), len(texts(github, 8))) == (0, 1)
        assert [status.state for status in github.statuses(SHA)] == ["failure"]


def of_named_commit(github):
    return event_of(github, "workflow_dispatch", head=Head(sha=SHA), named_commit=True)


def test_a_commit_that_a_workflow_names_is_found_in_any_repository():
    with github_with() as github:
        github.add_pull(PullRequest(number=NUMBER, head_sha=SHA, head_branch="topic", head_repository=FORK))
        published(github, event=of_named_commit(github))
        assert len(texts(github)) == 1
        assert [status.state for status in github.statuses(SHA)] == ["failure"]


@pytest.mark.parametrize(
    ("pulls", "event", "words"),
    [
        pytest.param(
            [PullRequest(number=8, head_sha=SHA, head_branch="topic", head_repository=FORK)], of_named_commit,
            "2 open pull requests have the commit aaaaaaaaaaaa as its head", id="a named commit of two",
        ),
        pytest.param(
            [PullRequest(number=NUMBER, head_sha="d" * 40, head_branch="topic")], of_named_commit,
            "no open pull request has the commit aaaaaaaaaaaa as its head", id="a named commit, pushed to since",
        ),
        pytest.param(
            [PullRequest(number=NUMBER, head_sha="d" * 40, head_branch="topic")], of_another_run,
            "no open pull request has the commit aaaaaaaaaaaa", id="pushed to since",
        ),
        pytest.param(
            [PullRequest(number=NUMBER, head_sha=SHA, head_branch="topic", state="closed")], of_another_run,
            "no open pull request", id="closed",
        ),
        pytest.param(
            [PullRequest(number=8, head_sha=SHA, head_branch="topic", base_branch="next")], of_another_run,
            "2 open pull requests have", id="two of one branch",
        ),
    ],
)  # fmt: skip
def test_when_it_is_not_certain_which_one_it_is_nothing_is_written(pulls, event, words):
    with github_with() as github:
        for pull in pulls:
            github.add_pull(pull)
        notes = published(github, event=event(github), status="off").notes
        assert (texts(github), texts(github, 8)) == ([], [])
        assert [words in str(note) for note in notes] == [True]


@pytest.mark.parametrize(
    "event",
    [
        pytest.param(lambda github: event_of(github, "schedule", head=None), id="schedule"),
        pytest.param(
            lambda github: event_of(github, "merge_group", head=Head(sha="f" * 40, repository=REPOSITORY)),
            id="merge_group: the pull request's comment is about its own head",
        ),
        pytest.param(
            lambda github: event_of(github, "push", head=Head(sha="d" * 40, repository=REPOSITORY, branch="main")),
            id="push to a branch without a pull request",
        ),
    ],
)
def test_where_nobody_expects_a_comment_nothing_is_said(event):
    with github_with() as github:
        assert published(github, event=event(github)).notes == ()
        assert texts(github) == []


# --- while it runs, and at its end ------------------------------------------------------------------


def test_the_comment_says_how_far_the_run_is_and_then_how_it_ended():
    with github_with() as github, publisher(github, budget=5.0, period=0.05) as (publishing, _):
        publishing.planned(2)
        assert "0 of 2" in texts(github)[0]
        publishing.finished(RED.results[1])
        until(lambda: "1 of 2" in texts(github)[0], "the next number")
        assert "&#36;0.64 of &#36;5.00" in texts(github)[0]
        publishing.finished(RED.results[0])
        publishing.publish(RED)
        (text,) = texts(github)
        assert "❌ 1 of 2 results passes, 1 fails for 1 reason" in text
        assert "Running" not in text


def test_it_is_not_edited_more_often_than_its_period():
    with github_with() as github, publisher(github, period=60.0) as (publishing, _):
        publishing.planned(50)
        for _ in range(50):
            publishing.finished(RED.results[0])
        publishing.publish(RED)
        assert [request.method for request in github.requests if request.method != "GET"] == ["POST", "PATCH"]


def test_a_cancelled_run_replaces_what_was_said_while_it_ran():
    with github_with() as github, publisher(github) as (publishing, _):
        publishing.planned(2)
        publishing.publish(replace(RED, cancelled=True))
        (text,) = texts(github)
        assert "❌ Cancelled: " in text
        assert "Running" not in text


def test_a_further_stage_is_counted_on_its_own():
    with github_with() as github, publisher(github, status="on", period=0.01) as (publishing, _):
        publishing.planned(2)
        publishing.finished(RED.results[0])
        publishing.finished(RED.results[1])
        publishing.planned(1)
        until(lambda: "0 of 1" in texts(github)[0], "the number of the further stage")
        assert [thread.name for thread in threading.enumerate()].count("progress") == 1
        assert [one.state for one in github.statuses(SHA)] == ["pending"]
        publishing.publish(RED)


def test_after_the_end_nothing_is_edited_any_more():
    with github_with() as github, publisher(github, period=0.01) as (publishing, _):
        publishing.planned(2)
        publishing.finished(RED.results[0])
        publishing.publish(RED)
        assert [thread.name for thread in threading.enumerate() if thread.name == "progress"] == []


@pytest.mark.parametrize(
    ("when", "report", "begun"),
    [
        ("always", GREEN, True),
        ("failures", GREEN, False),
        ("failures", RED, True),
        ("changes", GREEN, False),
        ("changes", RED, True),
    ],
)
def test_a_comment_is_begun_when_asked_for(when, report, begun):
    with github_with() as github, publisher(github, comment_when=when) as (publishing, _):
        publishing.planned(1)
        publishing.publish(report)
        assert len(texts(github)) == begun


def test_one_that_exists_is_kept_true_whenever():
    with github_with() as github:
        published(github, RED, comment_when="failures")
        published(github, GREEN, comment_when="failures")
        (text,) = texts(github)
        assert "## ✅ " in text


def test_switched_off_there_is_no_comment_and_no_request():
    with github_with() as github:
        assert published(github, comment="off").comment_id == ""
        assert github.requests == ()


def test_ids_keep_comments_apart():
    with github_with() as github:
        published(github, comment_id="linux")
        published(github, comment_id="macos")
        published(github, GREEN, comment_id="linux")
        assert [re.findall(r"skillgym-action:(\w+)", text)[0] for text in texts(github)] == ["linux", "macos"]
        assert "## ✅ " in texts(github)[0]


def test_review_comments_when_asked_for():
    file = ChangedFile("bench/core.json", "@@ -0,0 +1,400 @@\n" + "\n".join(["+line"] * 400))
    with github_with(file) as github:
        published(github)
        assert github.review_comments(NUMBER) == ()
        published(github, review_comments=True)
        assert [comment.line for comment in github.review_comments(NUMBER)] == [20]


@pytest.mark.parametrize(
    ("status", "name", "states"),
    [
        pytest.param("auto", "pull_request", [], id="the job's own check says it"),
        pytest.param("auto", "workflow_run", ["failure"], id="the job's own check is elsewhere"),
        pytest.param("on", "pull_request", ["failure"], id="asked for"),
        pytest.param("off", "workflow_run", [], id="not wanted"),
    ],
)
def test_a_status_is_set_where_it_is_needed(status, name, states):
    with github_with() as github:
        event = event_of(github, name)
        published(github, event=event, status=status, comment_id="nightly")
        assert [one.state for one in github.statuses(SHA)] == states
        assert {one.context for one in github.statuses(SHA)} <= {"skillgym-action/nightly"}
        assert {one.target_url for one in github.statuses(SHA)} <= {
            "https://github.example/octo/skills/actions/runs/100"
        }


def test_secrets_do_not_leave():
    with github_with() as github:
        published(github, run_report("fix failed: the key is s3cret-value"))
        assert "s3cret-value" not in texts(github)[0]
        assert "***" in texts(github)[0]


# --- what GitHub refuses ----------------------------------------------------------------------------


OF_A_FORK = {"head": Head(sha=SHA, repository=FORK, branch="topic")}
OF_DEPENDABOT = {"actor": "dependabot[bot]"}


@pytest.mark.parametrize("event", [OF_A_FORK, OF_DEPENDABOT], ids=["a fork", "Dependabot"])
def test_a_token_that_may_write_does_so_for_forks_and_dependabot(event):
    with github_with() as github:
        assert published(github, event=event_of(github, **event), status="on").notes == ()
        assert len(texts(github)) == 1
        assert [status.state for status in github.statuses(SHA)] == ["failure"]


@pytest.mark.parametrize(
    ("event", "why"),
    [
        pytest.param(
            OF_A_FORK,
            "the pull request comes from a fork, whose workflows by default get a token that can only read: "
            "let a second workflow report what this one ran (mode: report)",
            id="a fork",
        ),
        pytest.param(
            OF_DEPENDABOT,
            "Dependabot started the workflow, which by default gets a token that can only read: "
            "grant the permissions to the job, which counts for Dependabot as well",
            id="Dependabot",
        ),
    ],
)
def test_a_refusal_says_who_gets_tokens_that_can_only_read_and_what_to_do(event, why):
    with github_with() as github, publisher(github, event_of(github, **event), READ_ONLY_TOKEN) as (publishing, said):
        publishing.planned(1)
        refused = "POST /repos/octo/skills/issues/7/comments: GitHub answered 403: Resource not accessible"
        assert said[0].startswith(f"note: the comment: {refused} by integration; {why}\n")
        assert "pull-requests: write" in said[0]
        assert len(publishing.publish(RED).notes) == 1
        assert [request.method for request in github.requests if request.method != "GET"] == ["POST"]


def test_a_token_that_cannot_write_is_found_out_before_agents_start():
    with github_with() as github, publisher(github, token=READ_ONLY_TOKEN, status="on") as (publishing, said):
        publishing.planned(1)
        assert "Resource not accessible by integration" in said[0]
        assert "permissions:\n  contents: read\n  pull-requests: write\n  statuses: write" in said[0]
        writes = [request for request in github.requests if request.method != "GET"]
        found = publishing.publish(RED)
        assert [request for request in github.requests if request.method != "GET"] == writes, "it is not tried again"
        assert found.permissions.startswith("permissions:\n")
        assert len(found.notes) == 2
        assert READ_ONLY_TOKEN not in "".join(map(str, found.notes)) + "".join(said)


def test_trouble_while_it_runs_is_forgotten_when_the_end_is_written():
    with github_with() as github:
        github.fail(server_error(502), where="POST .*/comments")
        with publisher(github) as (publishing, _):
            publishing.planned(1)
            assert texts(github) == []
            assert publishing.publish(RED).notes == ()
        assert len(texts(github)) == 1


def test_a_service_that_is_down_is_a_note():
    with github_with() as github:
        github.fail(server_error(503), times=1000, where="")
        found = published(github, status="on")
        assert {str(note).partition(":")[0] for note in found.notes} == {"the comment", "the status"}
        assert found.permissions == ""


def test_parts_stand_for_themselves():
    with github_with() as github:
        github.add_token("token-for-comments", BOT, frozenset({"pull-requests", "issues"}))
        found = published(github, status="on", token="token-for-comments")
        assert len(texts(github)) == 1
        assert [str(note).partition(":")[0] for note in found.notes] == ["the status"]


def test_github_on_the_companys_own_server():
    with github_with(prefix="/api/v3") as github:
        published(github)
        assert len(texts(github)) == 1
        assert {request.path.split("/repos")[0] for request in github.requests} == {"/api/v3"}


def test_a_run_that_a_later_one_has_overtaken_says_which():
    with github_with() as github:
        published(github, GREEN, event=event_of(github, run_id=101))
        found = published(github, RED, event=event_of(github, run_id=100), review_comments=True)
        assert [str(note) for note in found.notes] == [
            "the comment is left as a later run has written it: https://github.example/octo/skills/actions/runs/101"
        ]
        assert ["## ✅ " in text for text in texts(github)] == [True]


@pytest.mark.timed
def test_the_end_of_the_run_has_time_left_whatever_its_beginning_took():
    real = {"clock": Clock(), "deadline": 2.0}
    with github_with() as github, publisher(github, status="on", client=real) as (publishing, _):
        github.fail(late(5), where="")
        began = time.monotonic()
        publishing.planned(1)
        assert time.monotonic() - began < 2.0, "half of the 2 s that there are"
        assert texts(github) == []
        publishing.publish(GREEN)
        assert len(texts(github)) == 1
        assert github.statuses(SHA)[0].state == "success"


def test_a_run_that_broke_off_does_not_say_that_it_goes_on():
    with github_with() as github, publisher(github, status="on") as (publishing, _):
        publishing.planned(2)
        publishing.close()
        (text,) = texts(github)
        assert "Running" not in text
        assert "ended before its report" in text
        assert [one.state for one in github.statuses(SHA)] == ["error", "pending"]


def test_a_run_that_was_told_of_is_not_told_of_again():
    with github_with() as github, publisher(github) as (publishing, _):
        publishing.planned(2)
        publishing.publish(RED)
        before = len(github.requests)
        publishing.close()
        assert len(github.requests) == before


def test_a_template_of_the_users_is_used_while_it_runs_and_ours_when_it_is_broken(tmp_path):
    (tmp_path / "running.md.j2").write_text(
        '{% extends "packaged/running.md.j2" %}{% block facts %}Patience.{% endblock %}'
    )
    (tmp_path / "comment.md.j2").write_text("{{ view.nothing }}")
    with (
        github_with() as github,
        rendered_elsewhere(tmp_path) as templates,
        publisher(github, templates=templates) as (publishing, _),
    ):
        publishing.planned(2)
        assert "Patience." in texts(github)[0]
        publishing.publish(RED)
        assert "❌ 1 of 2 results passes, 1 fails for 1 reason" in texts(github)[0]
