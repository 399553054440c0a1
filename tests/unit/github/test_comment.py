"""The comment of a pull request, on a GitHub that keeps to GitHub's own description."""

from __future__ import annotations

import threading
from contextlib import ExitStack

import pytest

from github_operations import BodyLimit
from github_replies import Fault, Reply, dropped, late, server_error
from github_server import READ_ONLY_TOKEN
from on_github import BOT, ISSUE, NUMBER, api_of, github_with
from skillgym_action.github.api import GitHubError
from skillgym_action.github.comment import StickyComment
from skillgym_action.model.limits import COMMENT_CHARACTERS

MARKER = "<!-- skillgym-action:default -->"
CREATED = "POST /repos/octo/skills/issues/7/comments"


def text(what, run=100):
    return f"{MARKER}\n<!-- run: {run}/1 -->\n{what}"


def sticky(api, mode="update", run=100):
    return StickyComment(api, ISSUE, marker=MARKER, mode=mode, run_id=run)


def write(api, what="now", *, mode="update", create=True, run=100):
    comment = sticky(api, mode, run)
    comment.write(lambda _: text(what, run), create=create)
    return comment


def bodies(github):
    return [comment.body.splitlines()[-1] for comment in github.comments(NUMBER)]


@pytest.fixture
def github():
    with github_with() as server:
        yield server


@pytest.fixture
def api(github):
    with api_of(github) as client:
        yield client


@pytest.mark.parametrize(
    ("mode", "after"),
    [
        pytest.param("update", ["hello", "now", "bye"], id="in its place"),
        pytest.param("recreate", ["hello", "bye", "now"], id="again, at the end"),
        pytest.param("new", ["hello", "before", "bye", "now"], id="beside the one of the run before"),
    ],
)
def test_the_next_run_writes(github, api, mode, after):
    github.add_comment(NUMBER, "ada", "hello")
    write(api, "before", run=99)
    github.add_comment(NUMBER, "ada", "bye")
    comment = write(api, mode=mode)
    assert bodies(github) == after
    assert comment.written.html_url.endswith(f"issuecomment-{comment.written.id}")


def test_a_run_goes_on_in_its_own_comment(github, api):
    comment = sticky(api, "new")
    for what in ("running", "done"):
        comment.write(lambda _, what=what: text(what), create=True)
    assert bodies(github) == ["done"]


@pytest.mark.parametrize(("there", "after"), [(True, ["now"]), (False, [])])
@pytest.mark.parametrize("mode", ["update", "recreate"])
def test_without_need_none_is_begun_but_one_that_exists_is_kept_true(github, api, mode, there, after):
    if there:
        write(api, "before", run=99)
    write(api, mode=mode, create=False)
    assert bodies(github) == after


@pytest.mark.parametrize(
    ("author", "body"),
    [
        pytest.param("mallory", text("false"), id="the marker of somebody else"),
        pytest.param("other[bot]", text("false"), id="the marker of another bot"),
        pytest.param(BOT, f"> {MARKER}\nquoted", id="a quoted marker"),
        pytest.param(BOT, "<!-- skillgym-action:nightly -->\nother", id="another id"),
    ],
)
def test_what_is_not_this_comment_is_left_alone(github, api, author, body):
    before = github.add_comment(NUMBER, author, body)
    write(api)
    assert github.comments(NUMBER)[0] == before
    assert bodies(github)[1:] == ["now"]


def test_the_oldest_own_comment_stays_and_the_others_go(github, api):
    for what in ("first", "second", "third"):
        github.add_comment(NUMBER, BOT, text(what, 99))
    oldest = github.comments(NUMBER)[0].id
    write(api)
    assert [(comment.id, comment.body) for comment in github.comments(NUMBER)] == [(oldest, text("now"))]


def test_over_forty_comments_on_two_pages_it_finds_its_own(github, api):
    for number in range(40):
        github.add_comment(NUMBER, "ada", f"comment {number}")
        if number == 34:
            github.add_comment(NUMBER, BOT, text("before", 99))
    small_pages = SmallPages(api)
    write(small_pages)
    assert bodies(github).count("now") == 1
    assert len(github.comments(NUMBER)) == 41
    pages = [request.path for request in github.requests if request.method == "GET"]
    assert [path.partition("?")[0] for path in pages] == [
        "/repos/octo/skills/issues/7/comments",
        f"/repositories/{github.state.id}/issues/7/comments",
    ]


class SmallPages:
    """The client, asking for pages of GitHub's default size."""

    def __init__(self, api):
        self._api = api

    def pages(self, path, **params):
        return self._api.pages(path, per_page=30, **params)

    def __getattr__(self, name):
        return getattr(self._api, name)


def test_an_update_needs_few_requests(github, api):
    write(api, "before", run=99)
    before = len(github.requests)
    comment = sticky(api)
    comment.write(lambda _: text("running"), create=True)
    comment.write(lambda _: text("done"), create=True)
    assert [request.method for request in github.requests[before:]] == ["GET", "POST", "PATCH", "GET", "PATCH"]
    assert len(github.requests[before:]) <= 6


@pytest.mark.parametrize("limit", [65_536, 40_000, 10_000, 3_000, 600])
def test_a_body_that_is_too_long_gives_way_to_a_shorter_one(github, api, limit):
    github.body_limit = BodyLimit(characters=limit)
    comment = sticky(api)
    comment.write(lambda room: text("x" * (room - 100)), create=True)
    (written,) = github.comments(NUMBER)
    assert len(written.body) <= limit
    assert len(written.body) > 0.9 * max(step for step in COMMENT_CHARACTERS if step < limit) - 100


def test_a_later_run_is_not_written_over(github, api):
    github.add_comment(NUMBER, BOT, text("later", 101))
    comment = write(api, "earlier")
    assert bodies(github) == ["later"]
    assert comment.superseded_by == 101


@pytest.mark.parametrize("mode", ["update", "recreate"])
@pytest.mark.parametrize("runs", [(100, 101), (101, 100), (100, 100)])
def test_of_two_first_runs_at_once_one_comment_stays(github, runs, mode):
    """Both look before either writes."""
    github.fail(late(0.3), times=2, where="POST .*/comments")
    with ExitStack() as stack:
        apis = [stack.enter_context(api_of(github)) for _ in runs]
        writers = [
            threading.Thread(target=write, args=(api, f"run {run}"), kwargs={"run": run, "mode": mode})
            for api, run in zip(apis, runs, strict=True)
        ]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
    posts = [request for request in github.requests if (request.method, request.status) == ("POST", 201)]
    assert len(posts) == 2
    assert bodies(github) == [f"run {max(runs)}"]


@pytest.mark.parametrize(
    "lost",
    [
        pytest.param(server_error(502, took_effect=True), id="502, and it was written"),
        pytest.param(dropped(took_effect=True), id="the connection broke, and it was written"),
        pytest.param(Fault(reply=Reply.json(201, ["x"]), took_effect=True), id="another reply, and it was written"),
        pytest.param(server_error(502), id="502, and it was not written"),
        pytest.param(dropped(), id="the connection broke, and it was not written"),
    ],
)
@pytest.mark.parametrize("mode", ["update", "new", "recreate"])
def test_after_a_lost_reply_the_comment_is_looked_for_before_it_is_written_again(github, api, lost, mode):
    github.fail(lost, where="POST .*/comments")
    comment = sticky(api, mode)
    comment.write(lambda _: text("now"), create=True)
    github.violations = ()  # replies that GitHub would never send
    assert bodies(github) == ["now"]
    assert comment.written.id == github.comments(NUMBER)[0].id


def test_a_run_that_was_overtaken_while_it_ran_is_silent_at_its_end(github, api):
    comment = sticky(api)
    comment.write(lambda _: text("running"), create=True)
    write(api, "later", run=101)
    comment.write(lambda _: text("done"), create=True)
    assert bodies(github) == ["later"]


def test_a_comment_somebody_deleted_is_written_again(github, api):
    comment = sticky(api)
    comment.write(lambda _: text("running"), create=True)
    api.delete(f"/repos/octo/skills/issues/comments/{comment.written.id}")
    comment.write(lambda _: text("done"), create=True)
    assert bodies(github) == ["done"]


def test_a_token_that_only_reads_is_told_apart_from_other_trouble(github):
    with api_of(github, READ_ONLY_TOKEN) as api, pytest.raises(GitHubError) as caught:
        write(api)
    assert caught.value.is_read_only
    assert READ_ONLY_TOKEN not in str(caught.value)


def test_an_app_finds_its_own_comment(github):
    github.add_token("token-of-an-app", "benchmarks[bot]")
    with api_of(github, "token-of-an-app") as api:
        write(api, "before", run=99)
        write(api)
    assert bodies(github) == ["now"]
