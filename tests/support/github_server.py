"""A fake GitHub over real HTTP: it keeps comments, reviews and statuses, and refuses what GitHub refuses.

Every request and every reply is held against GitHub's own description; who did not keep to it is in ``violations``, and
the end of the ``with`` raises if there are any.

    with GitHubServer() as github:
        github.add_pull(PullRequest(number=1, head_sha="a" * 40))
        github.fail(secondary_limit(retry_after=1), where="POST .*/comments")
        ...  # whatever speaks to github.url with JOB_TOKEN
        (comment,) = github.comments(1)
"""

from __future__ import annotations

import re
import socket
import threading
import time
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, NamedTuple, Self
from urllib.parse import urlsplit

from github_contract import ContractError, SentReply, SentRequest, contract
from github_replies import Fault, Order
from github_service import VIEWER, Credentials, Service, is_viewer
from github_shapes import Shapes
from github_state import BOT, Repository, User

if TYPE_CHECKING:
    from email.message import Message

    from github_operations import BodyLimit
    from github_replies import Reply
    from github_state import ChangedFile, Comment, PullRequest, Review, ReviewComment, Status

JOB_TOKEN = "token-of-the-job"
READ_ONLY_TOKEN = "token-of-a-fork"
ALL_WRITES = frozenset({"issues", "pull-requests", "statuses"})
NOT_SERVED = {"direction", "since", "sort"}
REQUESTS_AN_HOUR = 1_000


class Request(NamedTuple):
    """``path`` as it was sent, with prefix and query; ``status`` 0: the connection was dropped."""

    method: str
    path: str
    status: int


class GitHubServer:
    """GitHub between ``with`` and its end; ``prefix`` is ``/api/v3`` on GitHub Enterprise Server.

    Attributes:
        url: What GITHUB_API_URL holds.
        graphql_url: What GITHUB_GRAPHQL_URL holds; only ``query { viewer { login } }`` is answered there.
        requests: All requests in the order in which they were answered.
        asked: All requests as ``METHOD /path?query``, in the order in which they arrived, also unanswered ones.
        violations: Who did not keep to GitHub's description, and how.
    """

    def __init__(
        self, repository: str = "octo/skills", *, prefix: str = "", host: str = "127.0.0.1", port: int = 0
    ) -> None:
        self.requests: tuple[Request, ...] = ()
        self.asked: tuple[str, ...] = ()
        self.violations: tuple[str, ...] = ()
        self.closing = threading.Event()
        self._orders: list[Order] = []
        self._lock = threading.Lock()
        self._prefix = prefix
        self._http = _Http((host, port), _Handler)
        self._http.owner = self
        root = f"http://{host}:{self._http.server_port}"
        self.url = f"{root}{prefix}"
        self.graphql_url = f"{root}{prefix.removesuffix('/v3')}/graphql"
        self.state = Repository(repository)
        self._service = Service(self.state, Shapes(self.state, f"{self.url}/repos/{repository}"), self.url)
        self._service.users = {JOB_TOKEN: User(BOT, ALL_WRITES), READ_ONLY_TOKEN: User(BOT)}
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01})

    def __enter__(self) -> Self:
        contract()
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.closing.set()
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()
        if kind is None and self.violations:
            raise ContractError("\n".join(self.violations))

    @property
    def body_limit(self) -> BodyLimit:
        """From what size on a comment is too long; may be set."""
        return self._service.limit

    @body_limit.setter
    def body_limit(self, limit: BodyLimit) -> None:
        self._service.limit = limit

    def add_token(self, token: str, login: str, writes: frozenset[str] = ALL_WRITES) -> None:
        """A user's token, with the keys of ``permissions:`` that are ``write``; none: it is read-only."""
        self._service.users[token] = User(login, writes)

    def add_pull(self, pull: PullRequest) -> PullRequest:
        """A new pull request, or one in place of that with its number."""
        return self.state.add_pull(pull)

    def push(self, pull: int, head_sha: str, files: tuple[ChangedFile, ...]) -> PullRequest:
        """A new head. Review comments on lines that ``files`` do not show are outdated by it."""
        before = self.state.pulls[pull]
        return self.add_pull(replace(before, head_sha=head_sha, earlier_shas=before.shas, files=files))

    def add_commit(self, sha: str) -> None:
        """A commit that is in no pull request."""
        self.state.commits.add(sha)

    def add_comment(self, pull: int, author: str, body: str) -> Comment:
        return self.state.add_comment(pull, author, body)

    def answer(self, review_comment: int, author: str, body: str) -> ReviewComment:
        """An answer below a review comment."""
        return self.state.answer(review_comment, author, body)

    def comments(self, pull: int) -> tuple[Comment, ...]:
        """Oldest first, like reviews and review comments."""
        with self._lock:
            return tuple(comment for comment in self.state.comments.values() if comment.pull == pull)

    def reviews(self, pull: int) -> tuple[Review, ...]:
        with self._lock:
            return tuple(review for review in self.state.reviews.values() if review.pull == pull)

    def review_comments(self, pull: int) -> tuple[ReviewComment, ...]:
        with self._lock:
            return tuple(comment for comment in self.state.review_comments.values() if comment.pull == pull)

    def statuses(self, sha: str) -> tuple[Status, ...]:
        """Newest first."""
        with self._lock:
            return tuple(status for status in reversed(self.state.statuses) if status.sha == sha)

    def fail(self, fault: Fault, *, times: int = 1, where: str = "") -> None:
        """Order a fault for the next requests whose ``METHOD /path?query`` the regular expression finds."""
        self._orders.append(Order(fault, times, re.compile(where)))

    def reply(self, method: str, target: str, headers: Message, body: bytes) -> Reply | None:
        """What is sent for a request; None: the connection is dropped."""
        fault = self._next_fault(f"{method} {target}")
        with self._lock:
            self.asked += (f"{method} {target}",)
        self.closing.wait(fault.seconds)
        with self._lock:
            if urlsplit(target).path == urlsplit(self.graphql_url).path:
                reply = self._graphql(method, headers, body, fault)
            else:
                reply = self._rest(self._described(method, target, headers, body), headers, fault)
            self.requests += (Request(method, target, reply.status if reply else 0),)
            headers_of_all = self._rate_headers()
            return reply and replace(
                reply,
                headers={**headers_of_all, **reply.headers},
                half=fault.half,
                byte_seconds=fault.byte_seconds,
            )

    def _rest(self, request: SentRequest, headers: Message, fault: Fault) -> Reply | None:
        wrong = contract().request_violations(request)
        wrong += tuple(f"{request}: ?{name} is not served by the fake" for name in request.query_names & NOT_SERVED)
        true = self._service.rest(request, _credentials(headers), in_order=not wrong) if fault.obeyed else None
        reply = None if fault.dropped else fault.reply or true
        self.violations += wrong + (_reply_violations(request, reply) if reply else ())
        return reply

    def _graphql(self, method: str, headers: Message, body: bytes, fault: Fault) -> Reply | None:
        if method != "POST" or not is_viewer(body):
            self.violations += (f"{method} {self.graphql_url}: only {VIEWER} is answered",)
        true = self._service.graphql(body, _credentials(headers))
        return None if fault.dropped else fault.reply or true

    def _described(self, method: str, target: str, headers: Message, body: bytes) -> SentRequest:
        """The request in the terms of GitHub's description."""
        url = urlsplit(target)
        below = url.path.startswith(f"{self._prefix}/")
        path = url.path.removeprefix(self._prefix) if below else f"{url.path} without {self._prefix}"
        return SentRequest(
            method=method.lower(),
            path=path.replace(f"/repositories/{self.state.id}/", f"/repos/{self.state.name}/", 1),
            query=url.query,
            content_type=headers.get("Content-Type", "").lower(),
            body=body,
        )

    def _next_fault(self, request: str) -> Fault:
        with self._lock:
            order = next((order for order in self._orders if order.meets(request)), Order(Fault(), 1, re.compile("")))
            order.times -= 1
            return order.fault

    def _rate_headers(self) -> dict[str, str]:
        used = len(self.requests)
        return {
            "x-ratelimit-limit": str(REQUESTS_AN_HOUR),
            "x-ratelimit-remaining": str(max(REQUESTS_AN_HOUR - used, 0)),
            "x-ratelimit-used": str(used),
            "x-ratelimit-reset": str(int(time.time()) + 3_600),
            "x-ratelimit-resource": "core",
        }


def _credentials(headers: Message) -> Credentials:
    """Of ``Authorization: Bearer …`` and its older form ``token …``."""
    token = headers.get("Authorization", "").partition(" ")[2]
    return Credentials(token, headers.get("User-Agent", ""), headers.get("X-GitHub-Api-Version", ""))


def _reply_violations(request: SentRequest, reply: Reply) -> tuple[str, ...]:
    """HTML has no description."""
    if reply.kind.startswith("text/html"):
        return ()
    return contract().reply_violations(
        request, SentReply(status_code=reply.status, content_type=reply.kind, data=reply.content)
    )


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    owner: GitHubServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is part of the game."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Http

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Requests are in ``GitHubServer.requests``."""

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.close_connection = True
        reply = self.server.owner.reply(self.command, self.path, self.headers, body)
        if reply is None:
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        self.send_response(reply.status)
        for name, value in {**reply.headers, "Connection": "close"}.items():
            self.send_header(name, value)
        if reply.kind:
            self.send_header("Content-Type", reply.kind)
        if reply.status != 204:
            self.send_header("Content-Length", str(len(reply.content)))
        self.end_headers()
        content = reply.content[: len(reply.content) // 2] if reply.half else reply.content
        if not reply.byte_seconds:
            self.wfile.write(content)
            return
        for byte in content:
            self.wfile.write(bytes([byte]))
            if self.server.owner.closing.wait(reply.byte_seconds):
                return

    do_POST = do_PATCH = do_PUT = do_DELETE = do_GET  # noqa: N815
