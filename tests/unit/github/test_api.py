from __future__ import annotations

import inspect
import ssl
import subprocess
import sys
import threading
import time
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
import trustme

from fakes_clock import NOON, FakeClock
from scripted_http import HangUp, Reply, ScriptedServer, Silence
from skillgym_action import __version__
from skillgym_action.github.api import GitHubApi, GitHubError
from skillgym_action.system.cancellation import Cancellation
from skillgym_action.system.clock import Clock
from skillgym_action.system.network.proxies import network_from
from waiting import until, until_blocked, until_returned

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

TOKEN = "ghs_Zm9vYmFyYmF6cXV4MDEyMzQ1Njc4OWFi"
COMMENTS = "/repos/o/r/issues/1/comments"
OK = Reply(body={"id": 1})
CERTIFICATES = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE")

CALLS: dict[str, Callable[[GitHubApi], object]] = {
    "GET": lambda api: api.get("/thing"),
    "POST": lambda api: api.post("/thing", {"body": "text"}),
    "PATCH": lambda api: api.patch("/thing", {"body": "text"}),
    "DELETE": lambda api: api.delete("/thing"),
}


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def cancelled() -> Iterator[Cancellation]:
    with closing(Cancellation()) as cancellation:
        yield cancellation


@pytest.fixture
def client(clock, cancelled) -> Iterator[Callable[..., GitHubApi]]:
    opened: list[GitHubApi] = []

    def open_client(url: str, environment: dict[str, str] | None = None, **settings) -> GitHubApi:
        given = {"token": TOKEN, "graphql_url": None, "clock": clock, "cancelled": cancelled} | settings
        opened.append(GitHubApi(url=url, **given))
        opened[-1].network = network_from(environment or {})
        return opened[-1]

    yield open_client
    for api in opened:
        api.close()


def refused(call: Callable[[], object]) -> GitHubError:
    """The error of a call; whatever it is, the token is not in it."""
    with pytest.raises(GitHubError) as caught:
        call()
    assert TOKEN not in f"{caught.value} {caught.value!r} {caught.value.__dict__}"
    return caught.value


# --- requests and replies -------------------------------------------------------------------------------


def test_what_is_sent_and_what_comes_back(client):
    with ScriptedServer(OK) as server:
        assert client(server.url).post(COMMENTS, {"body": "naïve 😀"}) == {"id": 1}
    (request,) = server.requests
    sent = {name: request.headers[name] for name in ("accept", "authorization", "user-agent", "x-github-api-version")}
    assert (request.line, request.body) == (f"POST {COMMENTS}", {"body": "naïve 😀"})
    assert sent == {
        "accept": "application/vnd.github+json",
        "authorization": f"Bearer {TOKEN}",
        "user-agent": f"skillgym-action/{__version__}",
        "x-github-api-version": "2022-11-28",
    }


def test_methods_parameters_and_the_prefix_of_an_enterprise_server(client):
    with ScriptedServer(Reply(body={"id": 1}), Reply(body={"id": 2}), Reply(204)) as server:
        api = client(f"{server.url}/api/v3/")
        assert api.get("/repos/o/r/pulls", state="open", head="o:a b") == {"id": 1}
        assert api.patch("/repos/o/r/issues/comments/2", {"body": "x"}) == {"id": 2}
        api.delete("/repos/o/r/issues/comments/3")
    assert server.lines == [
        "GET /api/v3/repos/o/r/pulls?state=open&head=o%3Aa+b",
        "PATCH /api/v3/repos/o/r/issues/comments/2",
        "DELETE /api/v3/repos/o/r/issues/comments/3",
    ]


def test_what_is_not_there_any_more_counts_as_deleted(client):
    with ScriptedServer(Reply(502), Reply(404, {"message": "Not Found"})) as server:
        client(server.url).delete("/thing")
    assert server.lines == ["DELETE /thing", "DELETE /thing"]


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        pytest.param(Reply(body=b"<html>"), "GitHub answered 200, but the answer is not JSON", id="a page"),
        pytest.param(Reply(body=b""), "GitHub answered 200, but the answer is not JSON", id="nothing"),
        pytest.param(Reply(body=b"\xff\xfe\xfd"), "GitHub answered 200, but the answer is not JSON", id="no text"),
        pytest.param(Reply(body=b"[" * 200_000), "GitHub answered 200, but the answer is not JSON", id="too deep"),
        pytest.param(Reply(body=b" " * 20_000_001), "the answer is larger than 20 MB", id="too large"),
        pytest.param(
            Reply(body=b" " * 20_100_000, promised=9**9), "the answer is larger than 20 MB", id="far too large"
        ),
    ],
)
def test_a_reply_that_cannot_be_read_is_an_error(client, reply, message):
    with ScriptedServer(reply) as server:
        error = refused(lambda: client(server.url).get("/thing"))
    assert (str(error), error.status, len(server.requests)) == (f"GET /thing: {message}", 200, 1)


# --- pages ----------------------------------------------------------------------------------------------


def link(url: str, rel: str = "next") -> dict[str, str]:
    return {"Link": f'<{url}>; rel="{rel}"'}


def test_pages_follow_next_as_it_stands(client):
    with ScriptedServer() as server:
        there = f"{server.url}/repositories/7/issues/1/comments?per_page=30&page=2&cursor=a%2Fb%3D"
        server.replies.extend([Reply(body=[1, 2], headers=link(there)), Reply(body=[3], headers=link("/x", "prev"))])
        assert list(client(server.url).pages(COMMENTS, per_page=30)) == [[1, 2], [3]]
    assert server.lines == [
        f"GET {COMMENTS}?per_page=30",
        "GET /repositories/7/issues/1/comments?per_page=30&page=2&cursor=a%2Fb%3D",
    ]


def test_a_page_has_100_entries_and_no_page_is_read_before_it_is_wanted(client):
    with ScriptedServer(Reply(body=[1], headers=link(f"{COMMENTS}?page=2"))) as server:
        assert next(client(server.url).pages(COMMENTS)) == [1]
    assert server.lines == [f"GET {COMMENTS}?per_page=100"]


def test_pages_come_to_an_end(client):
    with ScriptedServer(*[Reply(body=[], headers=link("/again"))] * 200) as server:
        error = refused(lambda: list(client(server.url).pages("/again")))
    assert str(error) == "GET /again: the list has more than 100 pages"
    assert len(server.requests) == 100


def test_a_page_that_is_no_list_is_an_error(client):
    with ScriptedServer(OK) as server:
        assert str(refused(lambda: list(client(server.url).pages("/x")))) == "GET /x: the answer is not a list"


# --- who gets the token ---------------------------------------------------------------------------------

ELSEWHERE = [
    pytest.param("http://127.0.0.1:{other}/thing", id="another port"),
    pytest.param("http://localhost:{own}/thing", id="another name"),
    pytest.param("//localhost:{other}/thing", id="another host, scheme left out"),
    pytest.param("https://127.0.0.1:{own}/thing", id="another scheme"),
    pytest.param("http://127.0.0.1:{own}@localhost:{other}/thing", id="our host as a login"),
    pytest.param("http://127.0.0.1:{own}\\@localhost:{other}/thing", id="our host before a backslash"),
    pytest.param("file:///etc/passwd", id="a file"),
    pytest.param("http://[::1", id="no address"),
    pytest.param("http://127.0.0.1:99999/", id="no port"),
]


@pytest.mark.parametrize("address", ELSEWHERE)
def test_a_next_page_or_redirect_to_another_host_is_refused(client, address):
    with ScriptedServer(OK) as other, ScriptedServer() as server:
        address = address.format(own=server.port, other=other.port)
        server.replies.extend([Reply(body=[], headers=link(address)), Reply(307, headers={"Location": address})])
        api = client(server.url)
        for call in (lambda: list(api.pages("/thing")), lambda: api.post("/thing", {})):
            assert "GitHub points to another host, which gets no token" in str(refused(call))
    assert (len(server.requests), other.requests) == (2, [])


def test_a_login_in_an_address_is_not_shown(client):
    with ScriptedServer(Reply(307, headers={"Location": "http://someone:hunter22@elsewhere/"})) as server:
        assert str(refused(lambda: client(server.url).get("/thing"))).endswith(": http://***@elsewhere/")


def test_an_address_that_parsers_read_differently_leads_to_our_host(client):
    with ScriptedServer(OK) as other, ScriptedServer() as server:
        address = f"http://127.0.0.1:{other.port}\\@127.0.0.1:{server.port}/thing"
        server.replies.extend([Reply(302, headers={"Location": address}), OK])
        assert client(server.url).get("/start") == {"id": 1}
    assert (server.lines, other.requests) == (["GET /start", "GET /thing"], [])


@pytest.mark.parametrize(
    ("method", "status", "followed"),
    [
        pytest.param("GET", 301, True, id="a moved repository"),
        pytest.param("GET", 302, True, id="found"),
        pytest.param("GET", 307, True, id="read, for now"),
        pytest.param("GET", 308, True, id="read, for good"),
        pytest.param("POST", 307, True, id="written, for now"),
        pytest.param("PATCH", 308, True, id="written, for good"),
        pytest.param("POST", 301, False, id="a write is not turned into a read"),
        pytest.param("PATCH", 302, False, id="nor a change"),
    ],
)
def test_redirects(client, method, status, followed):
    with ScriptedServer(Reply(status, headers={"Location": "/repositories/7"}), OK) as server:
        api = client(server.url)
        if followed:
            assert CALLS[method](api) == {"id": 1}
        else:
            assert refused(lambda: CALLS[method](api)).status == status
    assert server.lines == [f"{method} /thing", *([f"{method} /repositories/7"] if followed else [])]
    assert {request.headers["authorization"] for request in server.requests} == {f"Bearer {TOKEN}"}


def test_of_a_redirect_no_more_is_read_than_of_any_reply(client):
    with ScriptedServer(Reply(302, b" " * 20_000_001, {"Location": "/thing"})) as server:
        assert "larger than 20 MB" in str(refused(lambda: client(server.url).get("/thing")))
    assert len(server.requests) == 1


def test_redirects_in_a_circle_come_to_an_end(client):
    with ScriptedServer(*[Reply(301, headers={"Location": "/thing"})] * 9) as server:
        assert "redirected more than 5 times" in str(refused(lambda: client(server.url).get("/thing")))


def test_no_password_out_of_netrc_takes_the_place_of_the_token(client, tmp_path, monkeypatch):
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login someone password else\n", encoding="utf-8")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    with ScriptedServer(OK) as server:
        client(server.url).get("/thing")
    assert server.requests[0].headers["authorization"] == f"Bearer {TOKEN}"


@pytest.mark.parametrize("token", ["", "two words", "line\nbreak", "naïve"])
def test_what_cannot_be_a_token_is_not_sent(client, token):
    with ScriptedServer(OK) as server:
        error = refused(lambda: client(server.url, token=token).get("/thing"))
    assert str(error) == "GET /thing: the token is empty or not a token; check github-token"
    assert server.requests == []


def test_a_token_may_come_with_a_line_end(client):
    with ScriptedServer(OK) as server:
        client(server.url, token=f"{TOKEN}\n").get("/thing")
    assert server.requests[0].headers["authorization"] == f"Bearer {TOKEN}"


@pytest.mark.parametrize("url", ["", "github.example", "ftp://github.example", "http://", "http://[::1"])
def test_an_address_that_is_none_is_an_error(client, url):
    assert "not the address of an API" in str(refused(lambda: client(url).get("/thing")))


# --- what errors say ------------------------------------------------------------------------------------

NOT_ACCESSIBLE = {"message": "Resource not accessible by integration"}
TOO_LONG = {"message": "Validation Failed", "errors": [{"message": "body is too long (maximum is 65536 characters)"}]}


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        pytest.param(
            Reply(401, {"message": "Bad credentials"}),
            "GitHub answered 401: Bad credentials; the token was refused: check github-token; it may have expired",
            id="refused",
        ),
        pytest.param(
            Reply(403, NOT_ACCESSIBLE, {"X-Accepted-GitHub-Permissions": "issues=write; pull_requests=write"}),
            "GitHub answered 403: Resource not accessible by integration; check the token's permissions; this needs "
            "issues=write; pull_requests=write",
            id="read-only",
        ),
        pytest.param(
            Reply(404, {"message": "Not Found"}),
            "GitHub answered 404: Not Found; check the token's permissions",
            id="not found",
        ),
        pytest.param(
            Reply(422, TOO_LONG),
            "GitHub answered 422: Validation Failed: body is too long (maximum is 65536 characters)",
            id="invalid",
        ),
        pytest.param(
            Reply(422, {"message": "No", "errors": [{"resource": "Issue", "field": "body", "code": "missing_field"}]}),
            "GitHub answered 422: No: body missing_field",
            id="a field",
        ),
        pytest.param(
            Reply(422, {"message": "No", "errors": ["one", "two"]}), "GitHub answered 422: No: one: two", id="words"
        ),
        pytest.param(Reply(409, b"<html>"), "GitHub answered 409: Conflict", id="a page of somebody else's"),
        pytest.param(Reply(409, ["x"]), "GitHub answered 409: Conflict", id="other JSON"),
        pytest.param(Reply(409, {"message": 1, "errors": {}}), "GitHub answered 409: Conflict", id="other types"),
        pytest.param(
            Reply(409, {"message": "a\r\n::error::b\x1b[31m"}), "GitHub answered 409: a ::error::b", id="on one line"
        ),
        pytest.param(Reply(409, {"message": f"{TOKEN} is bad"}), "GitHub answered 409: *** is bad", id="the token"),
    ],
)
def test_an_error_says_what_happened_and_what_to_do(client, reply, message):
    with ScriptedServer(reply) as server:
        error = refused(lambda: client(server.url).post(COMMENTS, {}))
    assert str(error) == f"POST {COMMENTS}: {message}"
    assert (error.operation, error.status) == (f"POST {COMMENTS}", reply.status)


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(Reply(409, {"message": "x" * 1_000_000}), id="a message"),
        pytest.param(Reply(409, {"message": "No", "errors": [{"message": "x" * 200}] * 1000}), id="errors"),
        pytest.param(Reply(302, headers={"Location": "//elsewhere/" + "x" * 50_000}), id="an address"),
        pytest.param(Reply(403, headers={"X-Accepted-GitHub-Permissions": "x" * 50_000}), id="permissions"),
    ],
)
def test_long_words_are_cut(client, reply):
    with ScriptedServer(reply) as server:
        assert len(str(refused(lambda: client(server.url).get("/thing")))) < 700


@pytest.mark.parametrize("before", range(440, 520, 8))
def test_not_even_a_part_of_the_token_is_left_where_words_are_cut(client, before):
    with ScriptedServer(Reply(409, {"message": f"{'x' * before}{TOKEN}{'x' * 1000}"})) as server:
        assert TOKEN[:8] not in str(refused(lambda: client(server.url).get("/thing")))


@pytest.mark.parametrize(
    ("method", "reply", "read_only", "too_long"),
    [
        pytest.param("POST", Reply(403, NOT_ACCESSIBLE), True, False, id="a fork's token"),
        pytest.param("GET", Reply(403, NOT_ACCESSIBLE), True, False, id="a token for nothing"),
        pytest.param("POST", Reply(403, {"message": "Repository was archived"}), False, False, id="nobody may"),
        pytest.param("POST", Reply(404, {"message": "Not Found"}), True, False, id="written to what is not seen"),
        pytest.param("PATCH", Reply(404, {"message": "Not Found"}), True, False, id="changed what is not seen"),
        pytest.param("GET", Reply(404, {"message": "Not Found"}), False, False, id="not there"),
        pytest.param("POST", Reply(401, {"message": "Bad credentials"}), False, False, id="refused"),
        pytest.param("POST", Reply(422, TOO_LONG), False, True, id="too long"),
        pytest.param("PATCH", Reply(413), False, True, id="too large"),
        pytest.param("POST", Reply(422, {"message": "line must be part of the diff"}), False, False, id="invalid"),
    ],
)
def test_kinds_of_errors(client, method, reply, read_only, too_long):
    with ScriptedServer(reply) as server:
        error = refused(lambda: CALLS[method](client(server.url)))
    assert (error.is_read_only, error.is_too_long) == (read_only, too_long)


# --- tried again ----------------------------------------------------------------------------------------

SLOW_DOWN = {"message": "You have exceeded a secondary rate limit. Please wait a few minutes."}
NOON_PLUS_40 = int(NOON.timestamp()) + 40


@pytest.mark.parametrize(
    ("method", "trouble", "waits"),
    [
        pytest.param("GET", [Reply(500)], [1], id="once"),
        pytest.param("GET", [Reply(502), Reply(503), Reply(504), HangUp()], [1, 2, 4, 8], id="longer each time"),
        pytest.param("PATCH", [Reply(502)], [1], id="a change has the same result twice"),
        pytest.param("GET", [HangUp()], [1], id="hung up"),
        pytest.param("GET", [Reply(body=b'{"id"', promised=9)], [1], id="half a reply"),
        pytest.param("GET", [Reply(503, headers={"Retry-After": "7"})], [7], id="unavailable for a while"),
        pytest.param("POST", [Reply(429, headers={"Retry-After": "30"})], [30], id="a limit, seconds"),
        pytest.param("POST", [Reply(403, SLOW_DOWN, {"Retry-After": "0"})], [0], id="at once"),
        pytest.param("POST", [Reply(403, headers={"Retry-After": "5"})], [5], id="a limit that is not called one"),
        pytest.param(
            "POST", [Reply(429, headers={"Retry-After": "Thu, 01 Jan 2026 12:00:25 GMT"})], [25], id="a limit, a date"
        ),
        pytest.param(
            "POST", [Reply(429, headers={"Retry-After": "Thu, 01 Jan 2026 12:00:25 -0000"})], [25], id="without a zone"
        ),
        pytest.param(
            "POST", [Reply(429, headers={"Retry-After": "Thu, 01 Jan 2026 11:00:00 GMT"})], [0], id="a date gone by"
        ),
        pytest.param(
            "POST",
            [Reply(403, headers={"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(NOON_PLUS_40)})],
            [40],
            id="used up until the reset",
        ),
        pytest.param(
            "POST",
            [Reply(429, headers={"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "12"})],
            [1],
            id="the clocks differ",
        ),
        pytest.param("POST", [Reply(403, SLOW_DOWN)], [60], id="a secondary limit that names no time"),
        pytest.param("POST", [Reply(429)], [60], id="a limit without words"),
        pytest.param("POST", [Reply(429, headers={"Retry-After": "soon"})], [60], id="a time nobody understands"),
        pytest.param("POST", [Reply(429, headers={"Retry-After": "9" * 99})], [60], id="a number nobody means"),
        pytest.param(
            "POST",
            [Reply(429, headers={"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "soon"})],
            [60],
            id="a reset nobody understands",
        ),
    ],
)
def test_trouble_that_may_pass_is_waited_for(client, clock, method, trouble, waits):
    with ScriptedServer(*trouble, OK) as server:
        assert CALLS[method](client(server.url)) == {"id": 1}
    assert (clock.waits, len(server.requests)) == (waits, len(trouble) + 1)


@pytest.mark.parametrize(
    ("method", "trouble"),
    [
        pytest.param("POST", Reply(500), id="the comment may be there, 500"),
        pytest.param("POST", Reply(502), id="the comment may be there, 502"),
        pytest.param("POST", HangUp(), id="the comment may be there, hung up"),
        pytest.param("POST", Reply(201, b'{"id"', promised=9), id="the comment is there"),
        pytest.param("GET", Reply(501), id="never will be"),
        pytest.param("GET", Reply(401), id="refused"),
        pytest.param("GET", Reply(404), id="not found"),
        pytest.param("POST", Reply(422), id="invalid"),
        pytest.param("POST", Reply(403, NOT_ACCESSIBLE, {"X-RateLimit-Remaining": "0"}), id="read-only, after a lot"),
    ],
)
def test_what_may_have_happened_or_will_not_change_is_not_sent_again(client, clock, method, trouble):
    with ScriptedServer(trouble, OK) as server:
        refused(lambda: CALLS[method](client(server.url)))
    assert (clock.waits, len(server.requests)) == ([], 1)


def test_a_post_that_never_left_is_sent_again(client, clock):
    with ScriptedServer() as server:
        closed = server.url
    error = refused(lambda: client(closed).post("/thing", {}))
    assert clock.waits == [1, 2, 4, 8]
    assert str(error) == (
        "POST /thing: no answer from 127.0.0.1: Connection refused; tried 5 times; "
        "check the network and the proxy variables"
    )
    assert error.status is None


def test_after_five_tries_it_is_given_up(client, clock):
    with ScriptedServer(*[Reply(503, {"message": "No server is available"})] * 9) as server:
        error = refused(lambda: client(server.url).get("/thing"))
    assert str(error) == "GET /thing: GitHub answered 503: No server is available; tried 5 times"
    assert (clock.waits, len(server.requests)) == ([1, 2, 4, 8], 5)


# --- how long it may take -------------------------------------------------------------------------------


def limited(seconds: int, meanwhile: Callable[[], object] = bool) -> Reply:
    return Reply(429, {"message": "Too many requests"}, {"Retry-After": str(seconds)}, meanwhile=meanwhile)


def test_a_wait_that_is_too_long_is_not_begun(client, clock):
    with ScriptedServer(limited(121), OK) as server:
        error = refused(lambda: client(server.url).get("/thing"))
    assert (clock.waits, len(server.requests)) == ([], 1)
    assert str(error) == (
        "GET /thing: GitHub answered 429: Too many requests; a retry is possible in 121 s, but only 120 s are left"
    )


def test_all_requests_share_the_time_for_trouble_and_success_costs_none(client, clock):
    with ScriptedServer(limited(6), OK, OK, limited(3), OK, limited(2), OK) as server:
        api = client(server.url, deadline=10)
        assert [api.get("/thing"), api.get("/thing"), api.get("/thing")] == [{"id": 1}] * 3
        assert "a retry is possible in 2 s, but only 1 s are left" in str(refused(lambda: api.get("/thing")))
        assert api.get("/thing") == {"id": 1}
    assert clock.waits == [6, 3]


def test_tries_that_fail_take_of_that_time_as_well(client, clock):
    with ScriptedServer(limited(2, meanwhile=lambda: clock.pause(9, None))) as server:
        error = refused(lambda: client(server.url, deadline=10).get("/thing"))
    assert "a retry is possible in 2 s, but only 1 s are left" in str(error)


def test_who_is_in_a_hurry_waits_no_longer_than_that(client, clock):
    with ScriptedServer(limited(4), OK, limited(4), OK) as server:
        api = client(server.url)
        api.retry_budget.end_within(5)
        api.retry_budget.end_within(60)
        assert api.get("/thing") == {"id": 1}
        assert "a retry is possible in 4 s, but only 1 s are left" in str(refused(lambda: api.get("/thing")))
        assert api.get("/thing") == {"id": 1}
        clock.pause(1, None)
        assert str(refused(lambda: api.get("/thing"))) == "GET /thing: not sent: the time limit was reached"


@pytest.mark.timed
def test_who_is_in_a_hurry_does_not_wait_for_silence(client, clock):
    with ScriptedServer(Silence()) as server:
        api = client(server.url)
        api.retry_budget.end_within(0.1)
        error = refused(lambda: api.get("/thing"))
    assert "GET /thing: no answer from 127.0.0.1: timed out; a retry is possible in 1 s, but only 0 s are left" in str(
        error
    )


def test_a_cancellation_ends_a_wait_and_the_request_is_sent_at_once(client, clock, cancelled):
    clock.during_a_wait = cancelled.set
    with ScriptedServer(limited(90), OK) as server:
        assert client(server.url).patch("/thing", {}) == {"id": 1}
    assert (clock.waits, clock.seconds()) == ([90], 1000)


def test_after_a_cancellation_requests_are_sent_and_waits_are_short(client, clock, cancelled):
    cancelled.set()
    with ScriptedServer(limited(1), OK, limited(2), OK) as server:
        api = client(server.url)
        assert api.post("/thing", {}) == {"id": 1}
        assert "a retry is possible in 2 s, but only 2 s are left" in str(refused(lambda: api.post("/thing", {})))
        clock.pause(1.5, None)
        assert str(refused(lambda: api.post("/thing", {}))) == "POST /thing: not sent: the time limit was reached"
    assert (clock.waits, clock.seconds()) == ([1, 1.5], 1002.5)


@pytest.mark.timed
def test_a_cancellation_soon_ends_an_exchange_that_does_not(cancelled):
    with ScriptedServer(Silence()) as server, closing(client_to(server.url, cancelled)) as api:
        threading.Thread(target=lambda: until(lambda: server.requests, "the request") and cancelled.set()).start()
        began = time.monotonic()
        error = refused(lambda: api.get("/thing"))
        assert time.monotonic() - began < 4
    assert "the run was cancelled" in str(error) or "timed out" in str(error)


def client_to(url: str, cancelled: Cancellation) -> GitHubApi:
    return GitHubApi(url=url, token=TOKEN, graphql_url=None, clock=Clock(), cancelled=cancelled)


def test_two_threads_do_not_send_at_the_same_time(client, clock):
    with ScriptedServer(limited(1), Reply(body={"id": 1}), Reply(body={"id": 2})) as server:
        api = client(server.url)
        other = threading.Thread(target=lambda: api.post("/other", {}))
        clock.during_a_wait = lambda: (other.start(), until_blocked(other))
        api.post("/one", {})
        other.join()
    assert server.lines == ["POST /one", "POST /one", "POST /other"]


def test_the_fake_clock_has_what_the_clock_has():
    def methods(clock: type) -> dict[str, list[str]]:
        found = inspect.getmembers(clock, inspect.isfunction)
        return {name: list(inspect.signature(f).parameters) for name, f in found if not name.startswith("_")}

    assert methods(FakeClock) == methods(Clock)


def test_a_cancellation_ends_a_wait_of_the_clock(cancelled):
    cancelled.set()
    until_returned(lambda: [Clock().pause(3600, cancelled)], "the end of the wait")


def test_a_wait_of_the_clock_that_nothing_ends(cancelled):
    cancelled.set()
    clock = Clock()
    began = clock.seconds()
    clock.pause(0.05, None)
    assert clock.seconds() - began >= 0.05


# --- whose token it is ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "login"),
    [
        pytest.param(
            Reply(body={"data": {"viewer": {"login": "github-actions[bot]"}}}), "github-actions[bot]", id="it says"
        ),
        pytest.param(Reply(body={"data": None, "errors": [{"message": "no"}]}), None, id="it says no"),
        pytest.param(Reply(body={"data": {"viewer": {"login": 7}}}), None, id="no name"),
        pytest.param(Reply(body=[]), None, id="something else"),
        pytest.param(Reply(body=b"<html>"), None, id="no JSON"),
        pytest.param(Reply(403, NOT_ACCESSIBLE), None, id="forbidden"),
        pytest.param(Reply(404), None, id="there is no GraphQL"),
    ],
)
def test_the_viewer(client, reply, login):
    with ScriptedServer(reply) as server:
        assert client(f"{server.url}/api/v3", graphql_url=f"{server.url}/api/graphql").viewer() == login
    assert server.lines == ["POST /api/graphql"]
    assert server.requests[0].body == {"query": "query { viewer { login } }"}


def test_asking_for_the_viewer_twice_does_no_harm(client):
    with ScriptedServer(Reply(502), Reply(body={"data": {"viewer": {"login": "octo"}}})) as server:
        assert client(server.url, graphql_url=f"{server.url}/graphql").viewer() == "octo"


def test_a_graphql_that_cannot_be_reached_is_an_error(client):
    with ScriptedServer() as server:
        closed = server.url
    assert refused(client(closed, graphql_url=f"{closed}/graphql").viewer).operation == "POST /graphql"


@pytest.mark.parametrize("graphql_url", [None, "", "graphql", "http://localhost:{port}/graphql"])
def test_no_graphql_on_the_same_host_no_viewer(client, graphql_url):
    with ScriptedServer(OK) as server:
        url = graphql_url and graphql_url.format(port=server.port)
        assert client(server.url, graphql_url=url).viewer() is None
    assert server.requests == []


# --- proxies and certificates ---------------------------------------------------------------------------


def test_a_proxy_out_of_the_environment_is_used(client):
    with ScriptedServer(OK) as proxy:
        assert client("http://github.invalid/api/v3", {"HTTP_PROXY": proxy.url}).get("/thing") == {"id": 1}
    assert proxy.lines == ["GET http://github.invalid/api/v3/thing"]


def test_no_proxy_where_none_is_wanted(client):
    with ScriptedServer(OK) as proxy, ScriptedServer(OK) as server:
        client(server.url, {"HTTP_PROXY": proxy.url, "NO_PROXY": "127.0.0.1"}).get("/thing")
    assert (len(proxy.requests), len(server.requests)) == (0, 1)


def test_a_proxy_of_an_encrypted_connection_does_not_see_the_token(client):
    with ScriptedServer(*[Reply(407)] * 9) as proxy:
        environment = {"HTTPS_PROXY": f"http://someone:hunter22@127.0.0.1:{proxy.port}"}
        error = refused(lambda: client("https://github.invalid", environment).post("/thing", {}))
    assert proxy.lines == ["CONNECT github.invalid:443"] * 5
    assert {request.headers.get("authorization") for request in proxy.requests} == {None}
    assert "407" in str(error)
    assert "hunter22" not in str(error)


@pytest.mark.parametrize("host", ["", "127.0.0.1:none", "127.0.0.1:99999", "[::1"])
def test_a_proxy_that_makes_no_sense_is_an_error_without_its_password(client, host):
    environment = {"HTTPS_PROXY": f"http://someone:hunter22@{host}"}
    error = refused(lambda: client("https://github.invalid", environment).get("/thing"))
    assert "GET /thing: no answer from github.invalid: " in str(error)
    assert "hunter22" not in str(error)


@pytest.fixture(scope="module")
def authority(tmp_path_factory) -> tuple[Path, ssl.SSLContext]:
    """A certificate of an authority of our own, and a server that has one from it."""
    ca = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ca.issue_cert("127.0.0.1").configure_cert(context)
    file = tmp_path_factory.mktemp("authority") / "ca.pem"
    ca.cert_pem.write_to_path(str(file))
    return file, context


@pytest.mark.parametrize("variable", CERTIFICATES)
def test_an_authority_that_the_environment_names_is_trusted(client, authority, variable):
    certificate, tls = authority
    with ScriptedServer(OK, tls=tls) as server:
        assert client(server.url, {variable: str(certificate)}).get("/thing") == {"id": 1}


def test_an_unknown_authority_is_not_trusted_and_not_asked_twice(client, clock, authority):
    with ScriptedServer(OK, tls=authority[1]) as server:
        error = refused(lambda: client(server.url).get("/thing"))
    assert (server.requests, clock.waits) == ([], [])
    assert "certificate verify failed" in str(error)
    assert str(error).endswith("name the authority's certificate in REQUESTS_CA_BUNDLE or SSL_CERT_FILE")


def test_a_certificate_file_that_is_not_there_is_an_error(client, authority):
    environment = {"REQUESTS_CA_BUNDLE": "/no/such/file.pem"}
    with ScriptedServer(OK, tls=authority[1]) as server:
        assert "/no/such/file.pem" in str(refused(lambda: client(server.url, environment).get("/thing")))


PROGRAM = """
import sys
from contextlib import closing
from skillgym_action.pipeline import wiring
from skillgym_action.system.cancellation import Cancellation
from skillgym_action.system.clock import Clock
from skillgym_action.github.api import GitHubApi

assert "requests" not in sys.modules and "tenacity" not in sys.modules
services = {"clock": Clock(), "cancelled": Cancellation()}
with closing(GitHubApi(url=sys.argv[1], token="t" * 40, graphql_url=None, **services)) as api:
    print(api.get("/thing"))
"""


@pytest.mark.slow
def test_nothing_is_imported_before_the_first_request():
    with ScriptedServer(OK) as server:
        command = [sys.executable, "-c", PROGRAM, server.url]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("{'id': 1}\n", "")
