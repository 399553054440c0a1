from __future__ import annotations

import json

import pytest
import requests

from cut_openapi import OPERATIONS, cut
from github_contract import DESCRIPTION, ContractError, SentReply, SentRequest, contract
from github_operations import OPERATIONS as SERVED
from github_replies import Fault, Reply, dropped, late, primary_limit, secondary_limit, server_error
from github_runs import RUN_OPERATIONS
from github_server import JOB_TOKEN, READ_ONLY_TOKEN, GitHubServer
from github_state import BOT, ChangedFile, PullRequest
from waiting import LIMIT, until_returned

HEAD = "a" * 40
NEXT_HEAD = "b" * 40
PUSHED = "c" * 40
PATCH = "@@ -3,4 +3,5 @@ cases:\n   - name: old\n-    prompt: before\n+    prompt: after\n+    runs: 3\n   - name: kept"
FILES = (ChangedFile("suite.yml", PATCH), ChangedFile("picture.png"))
PULL = PullRequest(number=1, head_sha=HEAD, files=FILES)
FORKED = PullRequest(number=2, head_sha=HEAD, head_branch="fix", head_repository="friend/skills", author="friend")
COMMENTS = "/repos/octo/skills/issues/1/comments"
REVIEWS = "/repos/octo/skills/pulls/1/reviews"
STATUSES = f"/repos/octo/skills/statuses/{HEAD}"
VIEWER = {"query": "query { viewer { login } }"}


def ask(github, method, path, body=None, *, token=JOB_TOKEN, **headers):
    """The reply to a path below ``github.url`` or to a whole address."""
    address = path if path.startswith("http") else f"{github.url}{path}"
    headers = {
        "Accept": "application/vnd.github+json",
        **({"Authorization": f"Bearer {token}"} if token else {}),
        **headers,
    }
    return requests.request(method, address, json=body, headers=headers, timeout=10)


def get(github, path):
    reply = ask(github, "GET", path)
    assert reply.status_code == 200
    return reply.json()


@pytest.fixture
def github():
    with GitHubServer() as server:
        server.add_pull(PULL)
        yield server


def test_forty_comments_are_two_pages_whose_links_name_the_repository_by_its_number(github):
    for number in range(40):
        github.add_comment(1, "octocat", f"comment {number}")
    first = ask(github, "GET", COMMENTS)
    second = ask(github, "GET", first.links["next"]["url"])
    assert first.links == {
        "next": {"url": f"{github.url}/repositories/4711/issues/1/comments?page=2", "rel": "next"},
        "last": {"url": f"{github.url}/repositories/4711/issues/1/comments?page=2", "rel": "last"},
    }
    assert sorted(second.links) == ["first", "prev"]
    assert [len(page.json()) for page in (first, second)] == [30, 10]
    assert [comment["body"] for comment in first.json() + second.json()] == [
        f"comment {number}" for number in range(40)
    ]


@pytest.mark.parametrize(
    ("query", "shown", "linked"),
    [
        pytest.param("per_page=2&page=2", 2, "page=3", id="the page size goes on in the links"),
        pytest.param("per_page=1000", 100, "page=2", id="a page has at most a hundred"),
        pytest.param("page=9", 0, None, id="behind the last page there is nothing"),
    ],
)
def test_the_query_says_which_page(github, query, shown, linked):
    for _ in range(130):
        github.add_comment(1, "octocat", "hello")
    reply = ask(github, "GET", f"{COMMENTS}?{query}")
    assert len(reply.json()) == shown
    assert linked is None or linked in reply.links["next"]["url"]
    assert ("next" in reply.links) == (linked is not None)


@pytest.mark.parametrize(
    ("query", "numbers"),
    [
        pytest.param("", [2, 1], id="open ones, newest first"),
        pytest.param("?head=friend:fix", [2], id="of a fork's branch"),
        pytest.param("?head=octo:fix", [], id="the branch of another owner"),
        pytest.param("?head=fix", [2, 1], id="a head without its owner says nothing"),
        pytest.param("?state=closed", [3], id="closed ones"),
        pytest.param("?state=all&base=main", [3, 2, 1], id="all of a base"),
        pytest.param("?base=other", [], id="of another base"),
    ],
)
def test_pull_requests_are_listed(github, query, numbers):
    github.add_pull(FORKED)
    github.add_pull(PullRequest(number=3, head_sha=NEXT_HEAD, state="closed"))
    assert [pull["number"] for pull in get(github, f"/repos/octo/skills/pulls{query}")] == numbers


def test_the_pull_requests_of_a_commit_are_the_open_ones_that_have_it_and_the_merged_one_that_brought_it(github):
    github.push(1, NEXT_HEAD, FILES)
    github.add_pull(PullRequest(number=2, head_sha=HEAD, state="closed"))
    github.add_pull(PullRequest(number=3, head_sha="d" * 40, state="closed", merged_as="e" * 40))
    github.add_commit(PUSHED)
    of = {sha[0]: get(github, f"/repos/octo/skills/commits/{sha}/pulls") for sha in (HEAD, NEXT_HEAD, "e" * 40, PUSHED)}
    assert {letter: [pull["number"] for pull in pulls] for letter, pulls in of.items()} == {
        "a": [1],
        "b": [1],
        "c": [],
        "e": [3],
    }


def test_the_comments_of_a_review_are_review_comments_which_can_be_edited_and_deleted(github):
    comments = [{"path": "suite.yml", "line": line, "body": f"on {line}"} for line in (4, 5)]
    review = ask(github, "POST", REVIEWS, {"event": "COMMENT", "body": "see", "commit_id": HEAD, "comments": comments})
    assert (review.status_code, review.json()["state"], review.json()["commit_id"]) == (200, "COMMENTED", HEAD)
    assert [one["id"] for one in get(github, REVIEWS)] == [review.json()["id"]] == [one.id for one in github.reviews(1)]
    first, second = get(github, "/repos/octo/skills/pulls/1/comments")
    assert {first["pull_request_review_id"], second["pull_request_review_id"]} == {review.json()["id"]}
    assert (first["line"], first["path"], first["body"], first["user"]["login"]) == (4, "suite.yml", "on 4", BOT)
    assert ask(github, "PATCH", first["url"], {"body": "new"}).json()["body"] == "new"
    assert ask(github, "DELETE", second["url"]).status_code == 204
    assert [(comment.line, comment.body) for comment in github.review_comments(1)] == [(4, "new")]


def test_a_push_that_no_longer_shows_the_line_makes_a_review_comment_outdated(github):
    comments = [{"path": "suite.yml", "line": line, "body": "here"} for line in (4, 7)]
    ask(github, "POST", REVIEWS, {"event": "COMMENT", "body": "see", "comments": comments[:1]})
    github.push(1, NEXT_HEAD, (ChangedFile("suite.yml", "@@ -20 +20,2 @@\n kept\n+new"),))
    (outdated,) = get(github, "/repos/octo/skills/pulls/1/comments")
    assert (outdated["line"], outdated["original_line"], outdated["commit_id"]) == (None, 4, HEAD)


@pytest.mark.parametrize(
    ("comment", "said"),
    [
        pytest.param({"path": "suite.yml", "line": 8}, "line must be part of the diff", id="after the hunk"),
        pytest.param({"path": "suite.yml", "line": 2}, "line must be part of the diff", id="before the hunk"),
        pytest.param({"path": "suite.yml", "line": 7, "side": "LEFT"}, "line must be part of the diff", id="old file"),
        pytest.param({"path": "picture.png", "line": 1}, "line must be part of the diff", id="no patch"),
        pytest.param({"path": "other.yml", "line": 4}, "path is invalid", id="unchanged file"),
    ],
)
def test_a_comment_outside_of_the_diff_refuses_the_whole_review(github, comment, said):
    comments = [{"path": "suite.yml", "line": 4, "body": "fine"}, {"body": "outside", **comment}]
    reply = ask(github, "POST", REVIEWS, {"event": "COMMENT", "body": "see", "comments": comments})
    assert (reply.status_code, reply.json()["message"]) == (422, "Unprocessable Entity")
    assert said in reply.json()["errors"][0]
    assert (github.reviews(1), github.review_comments(1)) == ((), ())


@pytest.mark.parametrize(
    "body",
    [
        pytest.param({"event": "COMMENT"}, id="nothing is said"),
        pytest.param({"event": "COMMENT", "body": "see", "commit_id": PUSHED}, id="a commit of something else"),
        pytest.param({"event": "COMMENT", "body": "x" * 262_145}, id="too long"),
    ],
)
def test_a_review_that_says_nothing_or_is_about_something_else_or_too_long_is_refused(github, body):
    assert ask(github, "POST", REVIEWS, body).status_code == 422


@pytest.mark.parametrize(
    ("sha", "more", "said"),
    [
        pytest.param("HEAD", {}, "sha must be a 40 character SHA1", id="not a sha"),
        pytest.param(PUSHED, {}, f"No commit found for SHA: {PUSHED}", id="unknown commit"),
        pytest.param(
            HEAD, {"description": "x" * 141}, "description is too long (maximum is 140 characters)", id="too long"
        ),
        pytest.param(HEAD, {"target_url": "ftp://x"}, "target_url must use http(s) scheme", id="no web address"),
    ],
)
def test_a_status_that_github_would_not_take_is_refused(github, sha, more, said):
    reply = ask(github, "POST", f"/repos/octo/skills/statuses/{sha}", {"state": "success", **more})
    assert reply.status_code == 422
    assert said in reply.text


def test_a_body_that_is_too_long_is_refused_and_the_old_one_stays(github):
    longest = "ä" * 131_072
    comment = ask(github, "POST", COMMENTS, {"body": longest}).json()
    reply = ask(github, "PATCH", comment["url"], {"body": f"{longest}x"})
    assert (reply.status_code, reply.json()["message"]) == (422, "Validation Failed")
    assert reply.json()["errors"] == [
        {
            "resource": "IssueComment",
            "code": "unprocessable",
            "field": "data",
            "message": "Body is too long (maximum is 65536 characters)",
        }
    ]
    assert [kept.body for kept in github.comments(1)] == [longest]


def test_an_empty_body_is_refused(github):
    assert ask(github, "POST", COMMENTS, {"body": " "}).json()["errors"][0]["code"] == "missing_field"


WRITES = [
    pytest.param("POST", COMMENTS, {"body": "x"}, id="create a comment"),
    pytest.param("PATCH", "/repos/octo/skills/issues/comments/1", {"body": "x"}, id="edit a comment"),
    pytest.param("DELETE", "/repos/octo/skills/issues/comments/1", None, id="delete a comment"),
    pytest.param("POST", REVIEWS, {"event": "COMMENT", "body": "x"}, id="review"),
    pytest.param("PATCH", "/repos/octo/skills/pulls/comments/1", {"body": "x"}, id="edit a review comment"),
    pytest.param("DELETE", "/repos/octo/skills/pulls/comments/1", None, id="delete a review comment"),
    pytest.param("POST", STATUSES, {"state": "success"}, id="status"),
]


@pytest.mark.parametrize(("method", "path", "body"), WRITES)
def test_a_read_only_token_writes_nothing(github, method, path, body):
    reply = ask(github, method, path, body, token=READ_ONLY_TOKEN)
    assert (reply.status_code, reply.json()["message"]) == (403, "Resource not accessible by integration")


@pytest.mark.parametrize(
    ("writes", "statuses"),
    [
        pytest.param({"issues"}, (201, 403, 403), id="issues"),
        pytest.param({"pull-requests"}, (201, 200, 403), id="pull requests"),
        pytest.param({"statuses"}, (403, 403, 201), id="statuses"),
    ],
)
def test_a_token_writes_what_its_permissions_name(github, writes, statuses):
    github.add_token("narrow", "octocat", frozenset(writes))
    asked = [(COMMENTS, {"body": "x"}), (REVIEWS, {"event": "COMMENT", "body": "x"}), (STATUSES, {"state": "success"})]
    assert tuple(ask(github, "POST", path, body, token="narrow").status_code for path, body in asked) == statuses


def test_a_bad_token_does_not_even_read(github):
    reply = ask(github, "GET", COMMENTS, token="made-up")
    assert (reply.status_code, reply.json()["message"]) == (401, "Bad credentials")


@pytest.mark.parametrize(
    ("path"),
    [
        pytest.param("/repos/octo/skills/issues/9/comments", id="issue"),
        pytest.param("/repos/octo/skills/issues/comments/9", id="comment"),
        pytest.param("/repos/octo/skills/pulls/9", id="pull request"),
        pytest.param("/repos/octo/skills/pulls/9/files", id="files"),
        pytest.param("/repos/octo/skills/pulls/9/reviews", id="reviews"),
        pytest.param("/repos/octo/other/pulls", id="repository"),
    ],
)
def test_what_is_not_there_is_not_found(github, path):
    reply = ask(github, "GET", path)
    assert (reply.status_code, reply.json()["message"]) == (404, "Not Found")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        pytest.param({"User-Agent": ""}, 403, id="no user agent"),
        pytest.param({"X-GitHub-Api-Version": "2001-01-01"}, 400, id="unknown version"),
        pytest.param({"X-GitHub-Api-Version": "2022-11-28"}, 200, id="known version"),
    ],
)
def test_headers_that_github_wants_are_wanted(github, headers, status):
    assert ask(github, "GET", COMMENTS, **headers).status_code == status


def test_the_viewer_is_the_owner_of_the_token(github):
    github.add_token("mine", "octocat")
    replies = [ask(github, "POST", github.graphql_url, VIEWER, token=token) for token in (JOB_TOKEN, "mine")]
    assert [reply.json()["data"]["viewer"]["login"] for reply in replies] == [BOT, "octocat"]
    assert ask(github, "POST", github.graphql_url, VIEWER, token="made-up").status_code == 401
    assert ask(github, "POST", github.graphql_url, VIEWER, token="").status_code == 401


def test_enterprise_server_has_a_prefix_in_every_address():
    with GitHubServer("octo/skills", prefix="/api/v3") as github:
        github.add_pull(PULL)
        for _ in range(31):
            github.add_comment(1, "octocat", "hello")
        first = ask(github, "GET", COMMENTS)
        assert github.url.endswith("/api/v3")
        assert github.graphql_url == github.url.replace("/api/v3", "/api/graphql")
        assert first.links["next"]["url"] == f"{github.url}/repositories/4711/issues/1/comments?page=2"
        assert len(get(github, first.links["next"]["url"])) == 1
        assert get(github, first.json()[0]["url"])["body"] == "hello"
        assert ask(github, "POST", github.graphql_url, VIEWER).json()["data"]["viewer"]["login"] == BOT
        assert github.requests[0] == ("GET", f"/api/v3{COMMENTS}", 200)


@pytest.mark.parametrize(
    ("fault", "status", "headers", "said"),
    [
        pytest.param(secondary_limit(7), 403, {"Retry-After": "7"}, "secondary rate limit", id="secondary"),
        pytest.param(
            secondary_limit(7, status=429), 429, {"Retry-After": "7"}, "secondary rate limit", id="secondary 429"
        ),
        pytest.param(primary_limit(60), 403, {"x-ratelimit-remaining": "0"}, "rate limit exceeded", id="primary"),
        pytest.param(server_error(500), 500, {}, "Server Error", id="500"),
        pytest.param(server_error(502), 502, {"Content-Type": "text/html; charset=utf-8"}, "Unicorn", id="502"),
        pytest.param(server_error(503), 503, {"Content-Type": "text/html; charset=utf-8"}, "Unicorn", id="503"),
        pytest.param(Fault(reply=Reply.no(410, "Gone")), 410, {}, "Gone", id="any other"),
    ],
)
def test_an_ordered_fault_comes_as_often_as_ordered_and_has_no_effect(github, fault, status, headers, said):
    github.fail(fault, times=2)
    replies = [ask(github, "POST", COMMENTS, {"body": "x"}) for _ in range(3)]
    assert [reply.status_code for reply in replies] == [status, status, 201]
    assert said in replies[0].text
    assert {name: replies[0].headers.get(name) for name in headers} == headers
    assert len(github.comments(1)) == 1


def test_a_dropped_connection_has_no_reply(github):
    github.fail(dropped())
    with pytest.raises(requests.ConnectionError):
        ask(github, "POST", COMMENTS, {"body": "x"})
    assert (github.comments(1), github.requests[0].status) == ((), 0)


@pytest.mark.parametrize("fault", [dropped(took_effect=True), server_error(502, took_effect=True)], ids=["drop", "502"])
def test_a_reply_can_be_lost_after_the_request_took_effect(github, fault):
    github.fail(fault)
    try:
        assert ask(github, "POST", COMMENTS, {"body": "x"}).status_code == 502
    except requests.ConnectionError:
        assert fault.dropped
    assert [comment.body for comment in github.comments(1)] == ["x"]


def test_the_end_does_not_wait_for_a_reply_that_is_late():
    def played():
        with GitHubServer() as github:
            github.add_pull(PULL)
            github.fail(late(3600))
            with pytest.raises(requests.ReadTimeout):
                requests.get(f"{github.url}{COMMENTS}", timeout=(LIMIT, 0.2))
        return [github]

    until_returned(played, "the end of the server")


@pytest.mark.parametrize(
    ("method", "path", "body", "said"),
    [
        pytest.param("POST", COMMENTS, {"body": 5}, "$.body: 5 is not of type 'string'", id="wrong type"),
        pytest.param("POST", COMMENTS, {"text": "x"}, "'body' is a required property", id="missing key"),
        pytest.param("POST", COMMENTS, {"body": "x", "pin": 1}, "'pin' was unexpected", id="unknown key"),
        pytest.param("POST", STATUSES, {"state": "passed"}, "'passed' is not one of", id="unknown state"),
        pytest.param("POST", COMMENTS, None, "body", id="no body"),
        pytest.param("GET", f"{COMMENTS}?per_page=all", None, "per_page", id="page size that is no number"),
        pytest.param("GET", f"{COMMENTS}?perpage=9", None, "the query has no perpage", id="unknown query"),
        pytest.param(
            "GET", f"{COMMENTS}?since=2026-01-01T00:00:00Z", None, "?since is not served by the fake", id="not served"
        ),
        pytest.param("GET", "/repos/octo/skills/pulls/x", None, "pull_number", id="number that is none"),
        pytest.param("GET", "/repos/octo/skills/check-runs", None, "does not have it", id="unknown operation"),
        pytest.param("PUT", COMMENTS, {"body": "x"}, "does not have it", id="unknown method"),
        pytest.param("POST", "/graphql", {"query": "{ rateLimit { cost } }"}, "only query", id="other graphql"),
    ],
)
def test_a_request_that_breaks_the_contract_has_no_effect_and_is_told_at_the_end(method, path, body, said):
    with pytest.raises(ContractError) as raised, GitHubServer() as github:  # noqa: PT012, its end is what raises
        github.add_pull(PULL)
        ask(github, method, path, body)
        assert (github.comments(1), github.statuses(HEAD), len(github.violations)) == ((), (), 1)
    assert said in str(raised.value)


def test_a_request_without_the_prefix_breaks_the_contract():
    with pytest.raises(ContractError, match="without /api/v3"), GitHubServer(prefix="/api/v3") as github:
        assert ask(github, "GET", github.url.replace("/api/v3", COMMENTS)).status_code == 404


def test_a_body_that_is_not_declared_as_json_breaks_the_contract():
    with pytest.raises(ContractError, match="mimetype"), GitHubServer() as github:
        requests.post(f"{github.url}{COMMENTS}", data='{"body": "x"}', timeout=10)


def test_what_broke_the_with_is_not_hidden_by_what_broke_the_contract():
    with pytest.raises(KeyError), GitHubServer() as github:  # noqa: PT012, the end must not raise something else
        ask(github, "GET", "/nothing")
        raise KeyError


@pytest.mark.parametrize(
    ("status", "value", "said"),
    [
        pytest.param(200, [{"id": 1}], "'node_id' is a required property", id="a comment with little in it"),
        pytest.param(200, {}, "is not of type 'array'", id="no list"),
        pytest.param(401, {"message": 5}, "$.message", id="a refusal that no description is needed for"),
        pytest.param(302, {}, "302", id="a status that is not described"),
    ],
)
def test_a_reply_that_breaks_the_contract_is_told(status, value, said):
    reply = SentReply(status_code=status, content_type="application/json", data=json.dumps(value).encode())
    (violation,) = contract().reply_violations(SentRequest(method="get", path=COMMENTS), reply)
    assert violation.startswith(f"reply {status} to GET {COMMENTS}: ")
    assert said in violation


def test_all_that_is_described_is_served():
    described = json.loads(DESCRIPTION.read_text(encoding="utf-8"))["paths"].values()
    names = {operation["operationId"] for item in described for operation in item.values()}
    assert names == {*SERVED, *RUN_OPERATIONS} == OPERATIONS


def test_cutting_keeps_what_is_referred_to_and_drops_prose():
    named = {
        "type": "object",
        "description": "prose",
        "properties": {"description": {"type": "string", "example": "x"}},
    }
    listed = {"operationId": "a/list", "summary": "prose", "responses": {"200": {"$ref": "#/components/responses/a"}}}
    description = {
        "openapi": "3.0.3",
        "info": {"title": "It", "version": "1", "license": {"name": "MIT"}, "x-more": 1},
        "servers": [],
        "paths": {"/a": {"get": listed, "post": {"operationId": "a/create"}}, "/b": {"get": {"operationId": "b/list"}}},
        "components": {
            "responses": {
                "a": {
                    "description": "prose",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/a"}}},
                }
            },
            "schemas": {"a": named, "b": {"type": "string"}},
        },
    }
    assert cut(description, {"a/list"}) == {
        "openapi": "3.0.3",
        "info": {"title": "It", "version": "1", "license": {"name": "MIT"}},
        "servers": [],
        "paths": {"/a": {"get": {"operationId": "a/list", "responses": {"200": {"$ref": "#/components/responses/a"}}}}},
        "components": {
            "responses": {
                "a": {
                    "description": "",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/a"}}},
                }
            },
            "schemas": {"a": {"type": "object", "properties": {"description": {"type": "string"}}}},
        },
    }
