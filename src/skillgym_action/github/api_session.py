"""The network behind the door to GitHub: one request, one reply."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from skillgym_action.github.api_reply import GitHubError, PassingError, Reply, shown
from skillgym_action.network.connections import (
    CONNECT,
    Connections,
    GivenUpError,
    TooLargeError,
    awaited,
    cause,
    is_broken,
    never_sent,
    received,
    remedy,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from requests import Response

    from skillgym_action.cancellation import Cancellation
    from skillgym_action.github.api_reply import Request
    from skillgym_action.network.proxies import Network
    from skillgym_action.text.redaction import Redactor

_MORE = 0.2  # seconds; the connection's own limits tell more, and come first
_READ = 20.0  # seconds until the next bytes; GitHub gives up after 10
_LARGEST = 20_000_000  # bytes of a reply


class GitHubSession(Connections):
    """Connections to GitHub's API."""

    def __init__(self, token: str, redactor: Redactor, network: Network) -> None:
        """``redactor`` knows the token."""
        headers = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"}
        super().__init__(headers, {"Authorization": f"Bearer {token}"}, network)
        self._redactor = redactor

    def exchange(self, request: Request, left: Callable[[], float], cancelled: Cancellation) -> Reply:
        """Send ``request``, waiting no longer than the seconds ``left`` for a sign of life. Raises GitHubError."""
        try:
            return awaited(lambda: self._exchanged(request, left()), lambda: left() + _MORE, cancelled)
        except GivenUpError:
            message = f"no answer from {urlsplit(request.url).hostname}, and no time left to wait for it"
            raise GitHubError(message, operation=request.operation) from None

    def _exchanged(self, request: Request, seconds: float) -> Reply:
        timeout = (min(CONNECT, seconds), min(_READ, seconds))
        try:
            with self.request(request.method, request.url, json=request.body, timeout=timeout, stream=True) as response:
                return _reply(request, response)
        except GitHubError:
            raise
        except Exception as error:  # noqa: BLE001 -- requests lets some of every kind through, and no run may end of it
            raise self._unreachable(request, error) from None

    def _unreachable(self, request: Request, error: Exception) -> GitHubError:
        message = shown(f"no answer from {urlsplit(request.url).hostname}: {cause(error)}", self._redactor)
        passing = is_broken(error) and (request.repeatable or never_sent(error))
        kind = PassingError if passing else GitHubError
        return kind(message, operation=request.operation, remedy=remedy(error))


def _reply(request: Request, response: Response) -> Reply:
    try:
        body = received(response, _LARGEST)
    except TooLargeError:
        message, status = "the answer is larger than 20 MB", response.status_code
        raise GitHubError(message, operation=request.operation, status=status) from None
    return Reply(
        status=response.status_code,
        reason=response.reason or "",
        headers=response.headers,
        body=body,
        following=response.links.get("next", {}).get("url"),
    )
