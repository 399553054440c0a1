"""Connections to a service: what the doors to the network have in common.

Imported by whoever sends something, and not before: requests takes its time to be imported.
"""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

from requests import Session, exceptions
from urllib3.exceptions import NewConnectionError

from skillgym_action import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping

    from requests import PreparedRequest, Response

CONNECT = 10.0
"""Seconds until there is a connection."""


class TooLargeError(Exception):
    """A reply has more bytes than anybody wants to read."""


class Connections(Session):
    """Connections to one host. Proxies and certificates come from the environment; passwords in ``~/.netrc`` do not."""

    def __init__(self, headers: Mapping[str, str], secret_headers: Mapping[str, str]) -> None:
        """``secret_headers`` say who we are."""
        super().__init__()
        self._secret_headers = secret_headers
        self.auth = self._authorize  # without one, requests would look for a password
        self.headers.update({"User-Agent": f"skillgym-action/{__version__}", **headers})
        paths = ssl.get_default_verify_paths()
        if paths.cafile and paths.cafile != paths.openssl_cafile:  # SSL_CERT_FILE; the variables of requests go first
            self.verify = paths.cafile

    def _authorize(self, prepared: PreparedRequest) -> PreparedRequest:
        prepared.headers.update(self._secret_headers)
        return prepared

    def get_redirect_target(self, resp: Response) -> None:
        """None: whoever wants to follow redirects does it. requests would read all replies, of whatever size."""


def received(response: Response, largest: int) -> bytes:
    """The body of a streamed response. Raises TooLargeError, and whatever requests raises."""
    body = bytearray()
    for chunk in response.iter_content(65_536):
        body += chunk
        if len(body) > largest:
            raise TooLargeError
    return bytes(body)


def is_broken(error: Exception) -> bool:
    """Whether it was the connection that failed, which may go well the next time."""
    return not isinstance(error, exceptions.SSLError) and isinstance(
        error, (exceptions.ConnectionError, exceptions.Timeout, exceptions.ChunkedEncodingError)
    )


def never_sent(error: Exception) -> bool:
    """Whether the connection came to nothing, so that nobody can have got the request."""
    reason = getattr(error.args[0], "reason", None) if error.args else None
    return isinstance(error, (exceptions.ConnectTimeout, exceptions.ProxyError, exceptions.SSLError)) or isinstance(
        reason, NewConnectionError
    )


def cause(error: Exception) -> str:
    """What the operating system or the other side said, below the layers of the libraries."""
    inner: BaseException | None = error
    while inner and (isinstance(inner, exceptions.RequestException) or not isinstance(inner, OSError)):
        inner = inner.__cause__ or inner.__context__
    return (inner.strerror or str(inner)) if isinstance(inner, OSError) else str(error)


def remedy(error: Exception) -> str:
    """What to do about a service that did not answer."""
    if isinstance(error, exceptions.SSLError):
        return "name the authority's certificate in REQUESTS_CA_BUNDLE or SSL_CERT_FILE"
    return "check the network and the proxy variables"
