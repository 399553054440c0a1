"""The network behind the door to GitHub: one request, one reply.

Imported by whoever sends something, and not before: requests takes its time to be imported.
"""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from requests import Session, exceptions
from urllib3.exceptions import NewConnectionError

from skillgym_action import __version__
from skillgym_action.effects.github_exchange import GitHubError, PassingError, Reply, shown

if TYPE_CHECKING:
    from requests import PreparedRequest, Response

    from skillgym_action.effects.github_exchange import Request
    from skillgym_action.redaction import Redactor

_CONNECT, _READ = 10.0, 20.0  # seconds until there is a connection, until the next bytes; GitHub gives up after 10
_LARGEST = 20_000_000  # bytes of a reply


class GitHubSession(Session):
    """Connections to one host. Proxies and certificates come from the environment; passwords in ``~/.netrc`` do not."""

    def __init__(self, token: str, redactor: Redactor) -> None:
        """``redactor`` knows the token."""
        super().__init__()
        self._token = token
        self._redactor = redactor
        self.auth = self._authorize  # without one, requests would look for a password
        self.headers["Accept"] = "application/vnd.github+json"
        self.headers["User-Agent"] = f"skillgym-action/{__version__}"
        self.headers["X-GitHub-Api-Version"] = "2022-11-28"
        paths = ssl.get_default_verify_paths()
        if paths.cafile and paths.cafile != paths.openssl_cafile:  # SSL_CERT_FILE; the variables of requests go first
            self.verify = paths.cafile

    def _authorize(self, prepared: PreparedRequest) -> PreparedRequest:
        prepared.headers["Authorization"] = f"Bearer {self._token}"
        return prepared

    def get_redirect_target(self, resp: Response) -> None:
        """None: the door follows redirects. requests would read all of their replies, of whatever size."""

    def exchange(self, request: Request, seconds: float) -> Reply:
        """Send ``request``, waiting no longer than ``seconds`` for a sign of life. Raises GitHubError."""
        timeout = (min(_CONNECT, seconds), min(_READ, seconds))
        try:
            with self.request(request.method, request.url, json=request.body, timeout=timeout, stream=True) as response:
                return _received(request, response)
        except GitHubError:
            raise
        except Exception as error:  # noqa: BLE001 -- requests lets some of every kind through, and no run may end of it
            raise self._unreachable(request, error) from None

    def _unreachable(self, request: Request, error: Exception) -> GitHubError:
        message = shown(f"no answer from {urlsplit(request.url).hostname}: {_cause(error)}", self._redactor)
        if isinstance(error, exceptions.SSLError):
            remedy = "name the authority's certificate in REQUESTS_CA_BUNDLE or SSL_CERT_FILE"
            return GitHubError(message, operation=request.operation, remedy=remedy)
        broken = (exceptions.ConnectionError, exceptions.Timeout, exceptions.ChunkedEncodingError)
        passing = isinstance(error, broken) and (request.repeatable or _never_sent(error))
        kind = PassingError if passing else GitHubError
        return kind(message, operation=request.operation, remedy="check the network and the proxy variables")


def _received(request: Request, response: Response) -> Reply:
    body = bytearray()
    for chunk in response.iter_content(65_536):
        body += chunk
        if len(body) > _LARGEST:
            message, status = "the answer is larger than 20 MB", response.status_code
            raise GitHubError(message, operation=request.operation, status=status)
    return Reply(
        status=response.status_code,
        reason=response.reason or "",
        headers=response.headers,
        body=bytes(body),
        following=response.links.get("next", {}).get("url"),
    )


def _never_sent(error: Exception) -> bool:
    """Whether the connection came to nothing, so that GitHub cannot have got the request."""
    reason = getattr(error.args[0], "reason", None) if error.args else None
    return isinstance(error, (exceptions.ConnectTimeout, exceptions.ProxyError)) or isinstance(
        reason, NewConnectionError
    )


def _cause(error: Exception) -> str:
    """What the operating system or the other side said, below the layers of the libraries."""
    inner: BaseException | None = error
    while inner and (isinstance(inner, exceptions.RequestException) or not isinstance(inner, OSError)):
        inner = inner.__cause__ or inner.__context__
    return (inner.strerror or str(inner)) if isinstance(inner, OSError) else str(error)
