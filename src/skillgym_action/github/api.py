"""The client for GitHub's API.

Requests are sent one at a time, as GitHub asks for; the token goes to one host. Replies are untrusted: JSON of a
bounded size, or an error.
"""

from __future__ import annotations

import json
import re
import threading
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlencode, urljoin, urlsplit

from skillgym_action.github.api_errors import (
    ApiRequest,
    GitHubError,
    TransientGitHubError,
    as_transient,
    error_of_reply,
    no_reply_error,
    quotable,
)
from skillgym_action.limits import (
    ARTIFACT_DOWNLOAD_SECONDS,
    GITHUB_PROMPT_SECONDS,
    GITHUB_READ_SECONDS,
    GITHUB_REPLY_SECONDS,
    GITHUB_RETRY_SECONDS,
    MAX_GITHUB_PAGES,
    MAX_GITHUB_REDIRECTS,
    MAX_GITHUB_REPLY_BYTES,
)
from skillgym_action.network.proxies import DIRECT
from skillgym_action.network.retries import RetryBudget, with_retries
from skillgym_action.text.redaction import Redactor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from skillgym_action.cancellation import Cancellation
    from skillgym_action.clock import Clock
    from skillgym_action.network.http import HttpClient, HttpReply
    from skillgym_action.network.proxies import Network

__all__ = ["GitHubApi", "GitHubError"]

_MARGIN = 0.2  # seconds; the time limit of the connection gives a better message, and should come first
_HEADERS = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"}
_REDIRECT_OF_A_READ = frozenset({301, 302, 307, 308})
_REDIRECT_OF_A_WRITE = frozenset({307, 308})
_PORTS = {"http": 80, "https": 443}
_TOKEN = re.compile(r"[!-~]+")
T = TypeVar("T")


class GitHubApi:
    """GitHub's REST API below ``url``. All methods raise GitHubError and nothing else.

    ``deadline``: seconds that waits, failed tries and slow replies of all requests together may take. Requests that
    succeed promptly cost nothing, so one client may serve a long run. ``network``: to be set before the first request.
    """

    def __init__(
        self,
        *,
        url: str,
        token: str,
        graphql_url: str | None,
        clock: Clock,
        cancelled: Cancellation,
        deadline: float = GITHUB_RETRY_SECONDS,
    ) -> None:
        self._url = url.strip().rstrip("/")
        self._graphql_url = graphql_url
        self._token = token.strip()
        self._redactor = Redactor([self._token])
        self._clock = clock
        self.retry_budget = RetryBudget(deadline, clock, cancelled, prompt=GITHUB_PROMPT_SECONDS)
        self._cancelled = cancelled
        self.network: Network = DIRECT
        self._lock = threading.Lock()
        self._login: str | None = None

    @property
    def has_token(self) -> bool:
        """Whether the token is not empty."""
        return bool(self._token)

    def get(self, path: str, **params: str | int) -> object:
        """Return the JSON at ``path``, which begins with a slash."""
        return self._json(self._request("GET", path, params))[0]

    def pages(self, path: str, *, key: str | None = None, **params: str | int) -> Iterator[list[object]]:
        """Yield the pages of a list, at most 100, each requested when it is needed. ``per_page`` is 100 by default.

        ``key``: of the list, where a page is an object.
        """
        request = self._request("GET", path, {"per_page": 100, **params})
        for _ in range(MAX_GITHUB_PAGES):
            page, next_page = self._json(request)
            if key is not None:
                page = page.get(key) if isinstance(page, dict) else None
            if not isinstance(page, list):
                raise self._error(request, "the answer is not a list")
            yield page
            if not next_page:
                return
            request = replace(request, url=self._followed_url(request, next_page))
        raise self._error(request, f"the list has more than {MAX_GITHUB_PAGES} pages")

    def download(self, path: str, max_bytes: int) -> bytes:
        """Return what ``path`` redirects to: a file on another host, which does not get the token.

        One redirect to another host is followed, to HTTPS alone unless the API itself is reached by HTTP. A file of
        more than ``max_bytes`` is an error. The file is as untrusted as whoever made it.
        """
        request = self._request("GET", path)
        with self._lock:
            return self._repeated(lambda: self._downloaded(request, max_bytes))

    def post(self, path: str, body: Mapping[str, object], *, repeatable: bool = False) -> object:
        """Create something, and return it.

        The request is not repeated once GitHub may have got it, unless it is ``repeatable``: twice does no harm.
        """
        return self._json(self._request("POST", path, body=body, repeatable=repeatable))[0]

    def create(
        self, path: str, body: Mapping[str, object], parse: Callable[[object], T], find: Callable[[], T | None]
    ) -> T:
        """Create something that must not be there twice, and return it, as ``parse`` reads it.

        When GitHub may have got the request although no usable reply came, ``find`` looks for what it has created,
        and returns it; only if it returns None, the request is sent again. ``find`` may send requests.
        """
        request = self._request("POST", path, body=body)
        budget, tries = self.retry_budget, count()

        def look_and_send() -> T:
            if next(tries) and (found := find()) is not None:
                return found
            try:
                return parse(self._json(request)[0])
            except GitHubError as error:
                if not error.outcome_unknown:
                    raise
                raise as_transient(error) from None

        return with_retries(
            look_and_send,
            TransientGitHubError,
            longest_wait=budget.longest_wait,
            pause=budget.pause,
            final_error=_final_error,
        )

    def patch(self, path: str, body: Mapping[str, object]) -> object:
        """Change something, and return it."""
        return self._json(self._request("PATCH", path, body=body))[0]

    def put(self, path: str, body: Mapping[str, object]) -> object:
        """Replace something, and return it."""
        return self._json(self._request("PUT", path, body=body))[0]

    def delete(self, path: str) -> None:
        """Delete something. What does not exist counts as deleted."""
        try:
            self._send(self._request("DELETE", path))
        except GitHubError as error:
            if error.status != 404:  # noqa: PLR2004
                raise

    def viewer(self) -> str | None:
        """Return the login the token belongs to, such as ``github-actions[bot]``; None if GraphQL has none."""
        if self._login is None:
            self._login = self._viewer()
        return self._login

    def _viewer(self) -> str | None:
        url = self._graphql_url or ""
        if not (origin := _origin(url)) or origin != _origin(self._url):
            return None
        body = {"query": "query { viewer { login } }"}
        try:
            answer, _ = self._json(ApiRequest(method="POST", url=url, operation="POST /graphql", body=body))
        except GitHubError as error:
            if error.status is None:
                raise
            return None
        match answer:
            case {"data": {"viewer": {"login": str(login)}}}:
                return login
        return None

    def close(self) -> None:
        """Close the connections."""
        if client := self.__dict__.pop("_client", None):
            client.close()

    # --- one request, with its retries -------------------------------------------------------------------

    def _request(
        self,
        method: str,
        path: str,
        params: Mapping[str, str | int] | None = None,
        body: Mapping[str, object] | None = None,
        *,
        repeatable: bool = False,
    ) -> ApiRequest:
        query = f"?{urlencode(params)}" if params else ""
        return ApiRequest(
            method=method,
            url=f"{self._url}{path}{query}",
            operation=f"{method} {path}",
            body=body,
            repeatable=repeatable or method != "POST",
        )

    def _json(self, request: ApiRequest) -> tuple[object, str | None]:
        """The JSON of the reply, and the URL of the next page."""
        reply = self._send(request)
        try:
            return json.loads(reply.body), reply.next_page
        except (ValueError, RecursionError):
            message = f"GitHub answered {reply.status}, but the answer is not JSON"
            raise self._error(request, message, reply.status, outcome_unknown=not request.repeatable) from None

    def _send(self, request: ApiRequest) -> HttpReply:
        with self._lock:
            return self._repeated(lambda: self._successful_reply(request))

    def _repeated(self, send: Callable[[], T]) -> T:
        budget = self.retry_budget
        return with_retries(
            lambda: budget.attempt(send),
            TransientGitHubError,
            longest_wait=budget.longest_wait,
            pause=budget.pause,
            final_error=_final_error,
        )

    def _downloaded(self, request: ApiRequest, max_bytes: int) -> bytes:
        for _ in range(MAX_GITHUB_REDIRECTS):
            reply = self._exchange(request)
            if reply.status not in _REDIRECT_OF_A_READ:
                break
            address = reply.headers.get("location", "")
            with suppress(ValueError):
                if _origin(urljoin(request.url, address)) != _origin(self._url):
                    return self._from_elsewhere(request, address, max_bytes)
            request = replace(request, url=self._followed_url(request, address))
        else:
            raise self._error(request, f"GitHub redirected more than {MAX_GITHUB_REDIRECTS} times")
        if not 200 <= reply.status < 300:  # noqa: PLR2004
            raise error_of_reply(request, reply, self._redactor, self._clock.now())
        raise self._error(request, "GitHub answered without a redirect to the file")

    def _from_elsewhere(self, request: ApiRequest, address: str, max_bytes: int) -> bytes:
        """The file at ``address``, whose query is a secret and in no message. No redirect is followed."""
        if not (origin := _origin(address)) or "@" in urlsplit(address).netloc:
            raise self._error(request, "GitHub redirects to something that is not the address of a file")
        schemes = {"https", urlsplit(self._url).scheme}
        if origin[0] not in schemes:
            raise self._error(request, f"GitHub redirects to {origin[0]}://{origin[1]}, which is not encrypted")
        from skillgym_action.network.http import HttpClient, HttpRequest, NoReplyError

        sent = HttpRequest(
            method="GET",
            url=address,
            body=None,
            timeout=GITHUB_READ_SECONDS,
            max_reply_bytes=max_bytes,
            whole_timeout=ARTIFACT_DOWNLOAD_SECONDS,
        )
        with HttpClient({}, {}, self.network) as client:
            try:
                reply = client.exchange(sent, lambda: self.retry_budget.time_left() + _MARGIN, self._cancelled)
            except NoReplyError as error:
                raise no_reply_error(request, error, self._redactor) from None
        if reply.status == 200:  # noqa: PLR2004
            return reply.body
        if reply.status in _REDIRECT_OF_A_READ:
            raise self._error(request, f"{origin[1]} redirects once more, which is not followed", reply.status)
        kind = TransientGitHubError if reply.status >= 500 else GitHubError  # noqa: PLR2004
        raise kind(f"{origin[1]} answered {reply.status}", operation=request.operation, status=reply.status)

    def _successful_reply(self, request: ApiRequest) -> HttpReply:
        """The reply with a status of success, after all redirects. Raises GitHubError for any other."""
        redirects = _REDIRECT_OF_A_READ if request.method == "GET" else _REDIRECT_OF_A_WRITE
        for _ in range(MAX_GITHUB_REDIRECTS):
            reply = self._exchange(request)
            if reply.status not in redirects:
                break
            request = replace(request, url=self._followed_url(request, reply.headers.get("location", "")))
        else:
            raise self._error(request, f"GitHub redirected more than {MAX_GITHUB_REDIRECTS} times")
        if not 200 <= reply.status < 300:  # noqa: PLR2004
            raise error_of_reply(request, reply, self._redactor, self._clock.now())
        return reply

    def _followed_url(self, request: ApiRequest, address: str) -> str:
        """The URL that a redirect or a Link header names, with scheme and host of this API.

        Parsers of URLs differ on malformed ones. Because scheme and host are taken from the API's own URL, the token
        goes to no other host even if ``requests`` would read ``address`` differently.
        """
        with suppress(ValueError):
            url = urljoin(request.url, address)
            if _origin(url) == _origin(self._url):
                followed, api = urlsplit(url), urlsplit(self._url)
                return followed._replace(scheme=api.scheme, netloc=api.netloc, fragment="").geturl()
        raise self._error(request, f"GitHub points to another host, which gets no token: {address}")

    def _exchange(self, request: ApiRequest) -> HttpReply:
        """The reply to one try, of any status."""
        seconds = self.retry_budget.time_left()
        if seconds <= 0:
            raise self._error(request, self._out_of_time())
        if not _origin(self._url):
            raise self._error(request, f"not the address of an API: {self._url!r}", remedy="check GITHUB_API_URL")
        if not _TOKEN.fullmatch(self._token):
            raise self._error(request, "the token is empty or not a token", remedy="check github-token")
        from skillgym_action.network.http import HttpRequest, NoReplyError

        sent = HttpRequest(
            method=request.method,
            url=request.url,
            body=request.body,
            timeout=min(GITHUB_READ_SECONDS, seconds),
            max_reply_bytes=MAX_GITHUB_REPLY_BYTES,
            whole_timeout=GITHUB_REPLY_SECONDS,
        )
        try:
            return self._client.exchange(sent, lambda: self.retry_budget.time_left() + _MARGIN, self._cancelled)
        except NoReplyError as error:
            raise no_reply_error(request, error, self._redactor) from None

    @cached_property
    def _client(self) -> HttpClient:
        from skillgym_action.network.http import HttpClient

        return HttpClient(_HEADERS, {"Authorization": f"Bearer {self._token}"}, self.network)

    def _out_of_time(self) -> str:
        """Why nothing is sent any more."""
        budget = self.retry_budget
        if not budget.is_used_up:
            return "not sent: the time limit was reached"
        return f"not sent: earlier requests have used up the {budget.seconds:.0f} s that waits and failures may take"

    def _error(
        self,
        request: ApiRequest,
        message: str,
        status: int | None = None,
        remedy: str | None = None,
        *,
        outcome_unknown: bool = False,
    ) -> GitHubError:
        error = GitHubError(
            quotable(message, self._redactor), operation=request.operation, status=status, remedy=remedy
        )
        error.outcome_unknown = outcome_unknown
        return error


def _final_error(error: TransientGitHubError, reason: str) -> GitHubError:
    message = f"{error.message}; {reason}"
    return GitHubError(message, operation=error.operation, status=error.status, remedy=error.remedy)


def _origin(url: str) -> tuple[str, str, int] | None:
    """Scheme, host and port; None when ``url`` is not the URL of an HTTP server."""
    try:
        parts = urlsplit(url)
        port = parts.port or _PORTS[parts.scheme]
    except (ValueError, KeyError):
        return None
    return (parts.scheme, parts.hostname, port) if parts.hostname else None
