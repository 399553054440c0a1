"""The client for GitHub's API, its errors, and the objects that replies contain.

Requests are sent one at a time, as GitHub asks for; the token goes to one host. Replies are untrusted: JSON of a
bounded size, or an error.
"""

from __future__ import annotations

import json
import re
import threading
from contextlib import suppress
from dataclasses import replace
from datetime import UTC
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlencode, urljoin, urlsplit

from pydantic import BaseModel, ConfigDict, ValidationError

from skillgym_action.model.errors import SkillgymError
from skillgym_action.model.limits import GITHUB_RETRY_SECONDS, MAX_SERVICE_MESSAGE_CHARACTERS
from skillgym_action.model.records import record
from skillgym_action.system.network.proxies import DIRECT
from skillgym_action.system.network.retries import RetryBudget, TransientError, with_retries
from skillgym_action.text.escaping import clipped, one_line
from skillgym_action.text.redaction import Redactor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from skillgym_action.system.cancellation import Cancellation
    from skillgym_action.system.clock import Clock
    from skillgym_action.system.network.http import HttpClient, HttpReply, NoReplyError
    from skillgym_action.system.network.proxies import Network

GITHUB_READ_SECONDS = 20.0  # without a byte; GitHub itself gives up after 10
GITHUB_REPLY_SECONDS = 30.0  # from the begin of a try to the last byte of its reply
GITHUB_PROMPT_SECONDS = 5.0  # a reply that comes in this time costs nothing
GITHUB_RATE_LIMIT_SECONDS = 60.0  # first wait at a rate limit that names no time
MAX_GITHUB_REPLY_BYTES = 20_000_000
MAX_GITHUB_PAGES = 100  # of a list
MAX_GITHUB_REDIRECTS = 5
ARTIFACT_DOWNLOAD_SECONDS = 60.0  # from the redirect to the last byte of an artifact

__all__ = ["GitHubApi", "GitHubError"]


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
        from skillgym_action.system.network.http import HttpClient, HttpRequest, NoReplyError

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
        from skillgym_action.system.network.http import HttpRequest, NoReplyError

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
        from skillgym_action.system.network.http import HttpClient

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


class GitHubError(SkillgymError):
    """A request to GitHub failed. No verdict depends on that.

    ``message``: what happened, on one line and without the token; ``operation``: method and path, such as
    ``POST /repos/o/r/issues/1/comments``; ``status``: None when no reply came; ``outcome_unknown``: whether GitHub may
    have obeyed a request that must not be repeated blindly; ``retry_after``: seconds after which GitHub asks to retry.
    """

    outcome_unknown = False
    retry_after: float | None = None

    def __init__(
        self, message: str, *, operation: str = "", status: int | None = None, remedy: str | None = None
    ) -> None:
        super().__init__(f"{operation}: {message}" if operation else message, remedy=remedy)
        self.message = message
        self.operation = operation
        self.status = status
        self.remedy = remedy

    @property
    def is_read_only(self) -> bool:
        """Whether the token lacks the permission. GitHub answers 404 where a token may not even read."""
        match self.status:
            case 403:
                return bool(_READ_ONLY.search(self.message))
            case 404:
                return self.operation.startswith(("POST", "PATCH", "PUT"))
        return False

    @property
    def is_too_long(self) -> bool:
        """Whether GitHub may take a shorter text."""
        return self.status == 413 or (self.status == 422 and bool(_TOO_LONG.search(self.message)))  # noqa: PLR2004


_MARGIN = 0.2  # seconds; the time limit of the connection gives a better message, and should come first
_HEADERS = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"}
_REDIRECT_OF_A_READ = frozenset({301, 302, 307, 308})
_REDIRECT_OF_A_WRITE = frozenset({307, 308})
_PORTS = {"http": 80, "https": 443}
_TOKEN = re.compile(r"[!-~]+")
T = TypeVar("T")


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


_TRANSIENT = frozenset({500, 502, 503, 504})
_RATE_LIMIT = re.compile(r"rate limit|abuse detection", re.IGNORECASE)
_READ_ONLY = re.compile(r"not accessible by", re.IGNORECASE)
_TOO_LONG = re.compile(r"too (?:long|large|big)", re.IGNORECASE)
_SECONDS = re.compile(r"[0-9]{1,10}")
_LOGIN_IN_URL = re.compile(r"//[^/@\s]+@")


class TransientGitHubError(GitHubError, TransientError):
    """The same request may succeed later."""


def as_transient(error: GitHubError) -> TransientGitHubError:
    """The error as one after which another try makes sense."""
    again = TransientGitHubError(error.message, operation=error.operation, status=error.status, remedy=error.remedy)
    again.retry_after = error.retry_after
    return again


@record
class ApiRequest:
    """``operation``: as in GitHubError; ``repeatable``: whether it does no harm when GitHub gets it twice."""

    method: str
    url: str
    operation: str
    body: Mapping[str, object] | None = None
    repeatable: bool = True


def quotable(text: str, redactor: Redactor) -> str:
    """Text of a service as an error may quote it: short, on one line, without the token and passwords of proxies."""
    redacted = _LOGIN_IN_URL.sub("//***@", one_line(redactor.text(text)))
    return clipped(redacted, MAX_SERVICE_MESSAGE_CHARACTERS)


def no_reply_error(request: ApiRequest, error: NoReplyError, redactor: Redactor) -> GitHubError:
    """The error for a request without a usable reply. What GitHub may have got is only repeated if that is harmless."""
    transient = error.transient and (request.repeatable or not error.sent)
    kind = TransientGitHubError if transient else GitHubError
    message = quotable(str(error), redactor)
    failed = kind(message, operation=request.operation, status=error.status, remedy=error.remedy)
    failed.outcome_unknown = error.sent and not request.repeatable
    return failed


def error_of_reply(request: ApiRequest, reply: HttpReply, redactor: Redactor, now: datetime) -> GitHubError:
    """The error that ``reply`` stands for; a TransientGitHubError when it makes sense to send ``request`` again."""
    message = quotable(": ".join(_messages(reply.body)) or reply.reason, redactor)
    rate_limited = _is_rate_limit(reply, message)
    transient = rate_limited or (request.repeatable and reply.status in _TRANSIENT)
    kind = TransientGitHubError if transient else GitHubError
    error = kind(
        f"GitHub answered {reply.status}: {message}",
        operation=request.operation,
        status=reply.status,
        remedy=None if transient else _remedy(reply, redactor),
    )
    error.outcome_unknown = reply.status in _TRANSIENT and not request.repeatable
    if isinstance(error, TransientGitHubError) or error.outcome_unknown:
        error.retry_after = _retry_after(reply.headers, now)
    if isinstance(error, TransientGitHubError):
        error.backoff = GITHUB_RATE_LIMIT_SECONDS if rate_limited else 1.0
    return error


def _messages(body: bytes) -> Iterator[str]:
    """The messages in an error of GitHub's; none when a proxy or another program answered."""
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        return
    if not isinstance(content, dict):
        return
    errors = content.get("errors")
    for part in [content.get("message"), *(errors if isinstance(errors, list) else [errors])][:5]:
        if isinstance(part, str):
            yield part
        elif isinstance(part, dict):
            fields = [part["message"]] if part.get("message") else [part.get("field"), part.get("code")]
            yield " ".join(text for text in fields if isinstance(text, str))


def _is_rate_limit(reply: HttpReply, message: str) -> bool:
    """Whether the reply reports a rate limit: status 429, or 403 with one of the signs that GitHub documents."""
    if reply.status != 403 or _READ_ONLY.search(message):  # noqa: PLR2004
        return reply.status == 429  # noqa: PLR2004
    used_up = reply.headers.get("x-ratelimit-remaining", "").strip() == "0"
    return used_up or "retry-after" in reply.headers or bool(_RATE_LIMIT.search(message))


def _retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds to wait: of Retry-After (a number or a date), or until a used-up rate limit is reset."""
    after = headers.get("retry-after", "").strip()
    if _SECONDS.fullmatch(after):
        return float(after)
    with suppress(ValueError, OverflowError):
        from email.utils import parsedate_to_datetime

        moment = parsedate_to_datetime(after)
        return max(0.0, ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - now).total_seconds())
    reset = headers.get("x-ratelimit-reset", "").strip()
    if headers.get("x-ratelimit-remaining", "").strip() == "0" and _SECONDS.fullmatch(reset):
        return max(1.0, float(reset) - now.timestamp())
    return None


def _remedy(reply: HttpReply, redactor: Redactor) -> str | None:
    match reply.status:
        case 401:
            return "the token was refused: check github-token; it may have expired"
        case 403 | 404:
            needed = quotable(reply.headers.get("x-accepted-github-permissions", ""), redactor)
            return f"check the token's permissions{f'; this needs {needed}' if needed else ''}"
    return None


class _ApiObject(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class User(_ApiObject):
    """An author. ``type`` is ``User``, ``Bot`` or ``Organization``."""

    login: str
    type: str = "User"


class Comment(_ApiObject):
    """A comment of a pull request, not of its diff."""

    id: int
    html_url: str = ""
    body: str | None = None
    user: User | None = None


class ReviewComment(Comment):
    """A comment on a line of a diff. ``line`` is None once the diff no longer has that line."""

    path: str
    line: int | None = None
    pull_request_review_id: int | None = None
    in_reply_to_id: int | None = None


class SubmittedReview(Comment):
    """A review: its own text, without the comments on lines."""


class _Repository(_ApiObject):
    full_name: str


class _Head(_ApiObject):
    sha: str
    repo: _Repository | None = None


class Pull(_ApiObject):
    """A pull request."""

    number: int
    state: str
    head: _Head


class ChangedFile(_ApiObject):
    """A file that a pull request changes. ``patch`` is None for a file that is binary or too large."""

    filename: str
    patch: str | None = None


class ApiRun(_ApiObject):
    """A workflow run. ``head_repository``: where its commit was pushed; None once that is deleted."""

    id: int
    event: str
    conclusion: str | None = None
    head_branch: str | None = None
    head_sha: str
    head_repository: _Repository | None = None

    def is_of(self, repository: str, branch: str) -> bool:
        """Whether it ran for a commit of a branch of the repository itself."""
        owner = self.head_repository.full_name if self.head_repository else ""
        return owner.lower() == repository.lower() and self.head_branch == branch


class ApiArtifact(_ApiObject):
    """An artifact of a workflow run."""

    id: int
    name: str
    expired: bool = False


R = TypeVar("R", bound=_ApiObject)


def parse_object(kind: type[R], reply: object) -> R:
    """Validate an object of a reply. Raises GitHubError, whose outcome is unknown: GitHub may have created it."""
    try:
        return kind.model_validate(reply)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        failed = GitHubError(f"{where}: {first['msg']}", operation=f"GitHub's reply is not a {kind.__name__}")
        failed.outcome_unknown = True
        raise failed from error


def parse_pages(kind: type[R], pages: Iterable[Sequence[object]]) -> Iterator[R]:
    """Validate the entries of all pages. Raises GitHubError."""
    for page in pages:
        for entry in page:
            yield parse_object(kind, entry)
