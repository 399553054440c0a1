"""Connections to a service: what the doors to the network have in common.

Imported by whoever sends something, and not before: requests takes its time to be imported.
"""

from __future__ import annotations

import os
import select
import threading
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from requests import Session, exceptions
from urllib3.exceptions import NewConnectionError

from skillgym_action import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from requests import PreparedRequest, Response

    from skillgym_action.cancellation import Cancellation
    from skillgym_action.network.proxies import Network

T = TypeVar("T")
CONNECT = 10.0
"""Seconds until there is a connection."""


class GivenUpError(Exception):
    """Nobody waits any more for an answer that may still come."""


class TooLargeError(Exception):
    """A reply has more bytes than anybody wants to read."""


class Connections(Session):
    """Connections to one host. Nothing is read from ``os.environ``, and no password from ``~/.netrc``."""

    def __init__(self, headers: Mapping[str, str], secret_headers: Mapping[str, str], network: Network) -> None:
        """``secret_headers`` say who we are."""
        super().__init__()
        self.trust_env = False
        self._network = network
        self._secret_headers = secret_headers
        self.auth = self._authorize
        self.headers.update({"User-Agent": f"skillgym-action/{__version__}", **headers})
        self.verify = network.certificates or True

    def _authorize(self, prepared: PreparedRequest) -> PreparedRequest:
        prepared.headers.update(self._secret_headers)
        return prepared

    def merge_environment_settings(self, url: Any, proxies: Any, stream: Any, verify: Any, cert: Any) -> Any:
        """The settings of a request, with the proxies for its address."""
        proxies = self._network.proxies_to(str(url)) | (proxies or {})
        return super().merge_environment_settings(url, proxies, stream, verify, cert)

    def get_redirect_target(self, resp: Response) -> None:
        """None: whoever wants to follow redirects does it. requests would read all replies, of whatever size."""


def awaited(ask: Callable[[], T], left: Callable[[], float], cancelled: Cancellation) -> T:
    """What ``ask`` returns or raises, if it does within the seconds ``left``, which a cancellation may shorten.

    Raises GivenUpError. Names that are being looked up cannot be interrupted, hence the thread.
    """
    outcomes: list[Callable[[], T]] = []
    ended, end = os.pipe()

    def run() -> None:
        try:
            outcomes.append(partial(_same, ask()))
        # Whatever it is, it is raised again in the thread that waits; here it would only end this one in silence.
        except BaseException as error:  # noqa: BLE001
            outcomes.append(partial(_raise, error))
        finally:
            os.close(end)

    threading.Thread(target=run, name="exchange", daemon=True).start()
    try:
        if not select.select([ended, cancelled.fileno()], [], [], _bounded(left()))[0]:
            raise GivenUpError
        select.select([ended], [], [], _bounded(left()))
    finally:
        os.close(ended)
    if not outcomes:
        raise GivenUpError
    return outcomes[0]()


def _same(value: T) -> T:
    return value


def _raise(error: BaseException) -> NoReturn:
    raise error


def _bounded(seconds: float) -> float | None:
    return None if seconds == inf else max(0.0, seconds)


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
