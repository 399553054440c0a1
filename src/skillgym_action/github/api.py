"""The door to GitHub's API, and the only one to the network.

Requests are sent one at a time, as GitHub asks for; the token goes to one host. What comes back is untrusted: JSON of a
bounded size, or an error.
"""

from __future__ import annotations

import json
import re
import threading
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING
from urllib.parse import urlencode, urljoin, urlsplit

from skillgym_action.github.api_reply import GitHubError, Reply, Request, refusal, shown
from skillgym_action.github.api_retries import Patience
from skillgym_action.network.proxies import DIRECT
from skillgym_action.text.redaction import Redactor

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from skillgym_action.cancellation import Cancellation
    from skillgym_action.clock import Clock
    from skillgym_action.github.api_session import GitHubSession
    from skillgym_action.network.proxies import Network

__all__ = ["GitHubApi", "GitHubError"]

_PAGES = 100  # more of a list are not read
_REDIRECTS = 5

_REDIRECT_OF_A_READ = frozenset({301, 302, 307, 308})
_REDIRECT_OF_A_WRITE = frozenset({307, 308})
_PORTS = {"http": 80, "https": 443}
_TOKEN = re.compile(r"[!-~]+")


class GitHubApi:
    """GitHub's REST API below ``url``, as far as ``token`` reaches. All methods raise GitHubError and nothing else."""

    def __init__(
        self,
        *,
        url: str,
        token: str,
        graphql_url: str | None,
        clock: Clock,
        cancelled: Cancellation,
        deadline: float = 120.0,
    ) -> None:
        """``deadline``: seconds that all requests together may spend on waits and on tries that fail.

        What succeeds costs nothing, so that a door may stay open during a long run.
        """
        self._url = url.strip().rstrip("/")
        self._graphql_url = graphql_url
        self._token = token.strip()
        self._redactor = Redactor([self._token])
        self._clock = clock
        self.patience = Patience(deadline, clock, cancelled)
        self._cancelled = cancelled
        self.network: Network = DIRECT
        """Proxies and certificates; to be set before the first request."""
        self._lock = threading.Lock()

    def get(self, path: str, **params: str | int) -> object:
        """What GitHub has at ``path``, which begins with a slash."""
        return self._json(self._request("GET", path, params))[0]

    def pages(self, path: str, **params: str | int) -> Iterator[list[object]]:
        """The pages of a list, at most 100; each is asked for when it is wanted. ``per_page`` is 100 unless given."""
        request = self._request("GET", path, {"per_page": 100, **params})
        for _ in range(_PAGES):
            page, following = self._json(request)
            if not isinstance(page, list):
                raise self._error(request, "the answer is no list")
            yield page
            if not following:
                return
            request = replace(request, url=self._followed(request, following))
        raise self._error(request, f"the list has more than {_PAGES} pages")

    def post(self, path: str, body: Mapping[str, object]) -> object:
        """Create something. It is never sent again once GitHub may have got it."""
        return self._json(self._request("POST", path, body=body))[0]

    def patch(self, path: str, body: Mapping[str, object]) -> object:
        """Change something."""
        return self._json(self._request("PATCH", path, body=body))[0]

    def delete(self, path: str) -> None:
        """Remove something. What is not there is removed."""
        try:
            self._send(self._request("DELETE", path))
        except GitHubError as error:
            if error.status != 404:  # noqa: PLR2004
                raise

    def viewer(self) -> str | None:
        """Whose token it is, such as ``github-actions[bot]``; None when GraphQL does not say."""
        url = self._graphql_url or ""
        if not (ours := _origin(url)) or ours != _origin(self._url):
            return None
        body = {"query": "query { viewer { login } }"}
        try:
            answer, _ = self._json(Request(method="POST", url=url, operation="POST /graphql", body=body))
        except GitHubError as error:
            if error.status is None:
                raise
            return None
        match answer:
            case {"data": {"viewer": {"login": str(login)}}}:
                return login
        return None

    def hurry(self, seconds: float) -> None:
        """From now on, all requests together have that long at most, also those that succeed."""
        self.patience.hurry(seconds)

    def close(self) -> None:
        """Close the connections."""
        if session := self.__dict__.pop("_session", None):
            session.close()

    # --- one request, until it is answered ---------------------------------------------------------------

    def _request(
        self,
        method: str,
        path: str,
        params: Mapping[str, str | int] | None = None,
        body: Mapping[str, object] | None = None,
    ) -> Request:
        query = f"?{urlencode(params)}" if params else ""
        return Request(
            method=method,
            url=f"{self._url}{path}{query}",
            operation=f"{method} {path}",
            body=body,
            repeatable=method != "POST",
        )

    def _json(self, request: Request) -> tuple[object, str | None]:
        """The answer, and the address of the next page."""
        reply = self._send(request)
        try:
            return json.loads(reply.body), reply.following
        except (ValueError, RecursionError):
            raise self._error(request, f"GitHub answered {reply.status} with what is not JSON", reply.status) from None

    def _send(self, request: Request) -> Reply:
        with self._lock:
            return self.patience.until_answered(lambda: self._answered(request))

    def _answered(self, request: Request) -> Reply:
        """The reply behind all redirects, when it is a good one."""
        redirects = _REDIRECT_OF_A_READ if request.method == "GET" else _REDIRECT_OF_A_WRITE
        for _ in range(_REDIRECTS):
            reply = self._exchanged(request)
            if reply.status not in redirects:
                break
            request = replace(request, url=self._followed(request, reply.headers.get("location", "")))
        else:
            raise self._error(request, f"GitHub redirected more than {_REDIRECTS} times")
        if not 200 <= reply.status < 300:  # noqa: PLR2004
            raise refusal(request, reply, self._redactor, self._clock.now())
        return reply

    def _followed(self, request: Request, address: str) -> str:
        """Where GitHub points to, made of our own host: the token stays there whatever ``address`` can be read as."""
        with suppress(ValueError):
            url = urljoin(request.url, address)
            if _origin(url) == _origin(self._url):
                there, here = urlsplit(url), urlsplit(self._url)
                return there._replace(scheme=here.scheme, netloc=here.netloc, fragment="").geturl()
        raise self._error(request, f"GitHub points to another host, which gets no token: {address}")

    def _exchanged(self, request: Request) -> Reply:
        if self.patience.time_left() <= 0:
            raise self._error(request, "not sent: there is no time left")
        if not _origin(self._url):
            raise self._error(request, f"not the address of an API: {self._url!r}", remedy="check GITHUB_API_URL")
        if not _TOKEN.fullmatch(self._token):
            raise self._error(request, "the token is empty or not a token", remedy="check github-token")
        return self._session.exchange(request, self.patience.time_left, self._cancelled)

    @cached_property
    def _session(self) -> GitHubSession:
        from skillgym_action.github.api_session import GitHubSession

        return GitHubSession(self._token, self._redactor, self.network)

    def _error(
        self, request: Request, message: str, status: int | None = None, remedy: str | None = None
    ) -> GitHubError:
        message = shown(message, self._redactor)
        return GitHubError(message, operation=request.operation, status=status, remedy=remedy)


def _origin(url: str) -> tuple[str, str, int] | None:
    """Scheme, host and port; None for what is no address of a server."""
    try:
        parts = urlsplit(url)
        port = parts.port or _PORTS[parts.scheme]
    except (ValueError, KeyError):
        return None
    return (parts.scheme, parts.hostname, port) if parts.hostname else None
