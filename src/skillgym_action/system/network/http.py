"""HTTP requests to a service: proxies, certificates, replies of a bounded size, a time limit that a cancellation ends.

Imported where a request is sent, inside of functions: ``requests`` is slow to import, and most commands need none.
"""

from __future__ import annotations

import os
import threading
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar
from urllib.parse import urlsplit

from requests import Session, exceptions
from urllib3.exceptions import NewConnectionError

from skillgym_action.model.records import record
from skillgym_action.model.version import __version__
from skillgym_action.system.clock import wait_readable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from requests import PreparedRequest, Response

    from skillgym_action.system.cancellation import Cancellation
    from skillgym_action.system.network.proxies import Network

CONNECT_SECONDS = 10.0  # until there is a connection
T = TypeVar("T")


@record
class HttpRequest:
    """``body`` is sent as JSON; ``timeout``: seconds that the connection may be silent.

    ``whole_timeout``: seconds until the last byte of the reply is there.
    """

    method: str
    url: str
    body: Mapping[str, object] | None
    timeout: float
    max_reply_bytes: int
    whole_timeout: float = inf


@record
class HttpReply:
    """Names in ``headers`` are case-insensitive; ``next_page``: the URL that the Link header calls ``next``."""

    status: int
    reason: str
    headers: Mapping[str, str]
    body: bytes
    next_page: str | None


class NoReplyError(Exception):
    """There is no usable reply. The message has the reason, without the remedy.

    ``sent``: whether the service may have got the request; ``transient``: whether the same request may succeed later;
    ``status``: of a reply that was too large.
    """

    def __init__(
        self,
        message: str,
        *,
        sent: bool = True,
        transient: bool = False,
        remedy: str | None = None,
        status: int | None = None,
    ) -> None:
        super().__init__(message)
        self.sent = sent
        self.transient = transient
        self.remedy = remedy
        self.status = status


class HttpClient(Session):
    """Connections to one host. Nothing is read from ``os.environ``, and no password from ``~/.netrc``.

    ``secret_headers`` authenticate requests.
    """

    def __init__(self, headers: Mapping[str, str], secret_headers: Mapping[str, str], network: Network) -> None:
        super().__init__()
        self.trust_env = False
        self._network = network
        self._secret_headers = secret_headers
        self.auth = self._authorize
        self.headers.update({"User-Agent": f"skillgym-action/{__version__}", **headers})
        self.verify = network.certificates or True

    def exchange(self, request: HttpRequest, remaining: Callable[[], float], cancelled: Cancellation) -> HttpReply:
        """Send ``request`` and return the reply, of any status. Raises NoReplyError.

        ``remaining`` returns the seconds left to wait; it is called again when the run is cancelled.
        """
        host, limit = urlsplit(request.url).hostname, request.whole_timeout
        seconds = min(limit, remaining())
        try:
            return within_time_limit(lambda: self._send(request), lambda: min(limit, remaining()), cancelled)
        except TimeLimitError:
            if cancelled:
                raise NoReplyError(f"no answer from {host}: the run was cancelled") from None
            raise NoReplyError(
                f"no complete answer from {host} within {seconds:.0f} s", transient=limit < inf
            ) from None

    def _send(self, request: HttpRequest) -> HttpReply:
        timeout = (min(CONNECT_SECONDS, request.timeout), request.timeout)
        try:
            with self.request(request.method, request.url, json=request.body, timeout=timeout, stream=True) as response:
                return _reply(response, request.max_reply_bytes)
        except NoReplyError:
            raise
        except Exception as error:  # noqa: BLE001 -- requests lets some of every kind through, and no run may end of it
            raise NoReplyError(
                f"no answer from {urlsplit(request.url).hostname}: {_cause(error)}",
                sent=not _was_never_sent(error),
                transient=_is_broken_connection(error),
                remedy=_remedy(error),
            ) from None

    def _authorize(self, prepared: PreparedRequest) -> PreparedRequest:
        prepared.headers.update(self._secret_headers)
        return prepared

    def merge_environment_settings(self, url: Any, proxies: Any, stream: Any, verify: Any, cert: Any) -> Any:
        """Return the settings of a request, with the proxies for its URL."""
        proxies = self._network.proxies_to(str(url)) | (proxies or {})
        return super().merge_environment_settings(url, proxies, stream, verify, cert)

    def get_redirect_target(self, resp: Response) -> None:
        """Return None, so that requests follows no redirect: it would read each reply on the way, of any size."""


def _reply(response: Response, max_bytes: int) -> HttpReply:
    body = bytearray()
    for chunk in response.iter_content(65_536):
        body += chunk
        if len(body) > max_bytes:
            message = f"the answer is larger than {max_bytes // 1_000_000} MB"
            raise NoReplyError(message, status=response.status_code)
    return HttpReply(
        status=response.status_code,
        reason=response.reason or "",
        headers=response.headers,
        body=bytes(body),
        next_page=response.links.get("next", {}).get("url"),
    )


# --- a time limit that a cancellation may shorten ---------------------------------------------------


class TimeLimitError(Exception):
    """The time was up before there was a result."""


def within_time_limit(work: Callable[[], T], remaining: Callable[[], float], cancelled: Cancellation) -> T:
    """Return or raise what ``work`` does, if it ends in time. Raises TimeLimitError.

    ``work`` runs in a thread, because a DNS lookup cannot be interrupted; a thread that takes too long is abandoned.
    The thread closes a pipe at its end, so that one ``poll`` waits for it and for a cancellation.
    """
    outcomes: list[Callable[[], T]] = []
    ended, end = os.pipe()

    def run() -> None:
        try:
            outcomes.append(partial(_return, work()))
        # Any exception is raised again in the thread that waits; here it would only end this thread unnoticed.
        except BaseException as error:  # noqa: BLE001
            outcomes.append(partial(_raise, error))
        finally:
            os.close(end)

    threading.Thread(target=run, name="exchange", daemon=True).start()
    try:
        if not wait_readable([ended, cancelled.fileno()], remaining()):
            raise TimeLimitError
        # After a cancellation a part of the time may be left; when the thread has ended, this returns at once.
        wait_readable([ended], remaining())
    finally:
        os.close(ended)
    if not outcomes:
        raise TimeLimitError
    return outcomes[0]()


def _return(value: T) -> T:
    return value


def _raise(error: BaseException) -> NoReturn:
    raise error


# --- what an exception of requests means ------------------------------------------------------------


def _is_broken_connection(error: Exception) -> bool:
    """Whether the connection failed for a reason that may pass. A certificate that is not trusted stays so."""
    return not isinstance(error, exceptions.SSLError) and isinstance(
        error, (exceptions.ConnectionError, exceptions.Timeout, exceptions.ChunkedEncodingError)
    )


def _was_never_sent(error: Exception) -> bool:
    """Whether no connection was made, so that the service cannot have got the request."""
    reason = getattr(error.args[0], "reason", None) if error.args else None
    return isinstance(error, (exceptions.ConnectTimeout, exceptions.ProxyError, exceptions.SSLError)) or isinstance(
        reason, NewConnectionError
    )


def _cause(error: Exception) -> str:
    """The message of the operating system or the other side, without those of requests and urllib3 around it."""
    inner: BaseException | None = error
    while inner and (isinstance(inner, exceptions.RequestException) or not isinstance(inner, OSError)):
        inner = inner.__cause__ or inner.__context__
    return (inner.strerror or str(inner)) if isinstance(inner, OSError) else str(error)


def _remedy(error: Exception) -> str:
    if isinstance(error, exceptions.SSLError):
        return "name the authority's certificate in REQUESTS_CA_BUNDLE or SSL_CERT_FILE"
    return "check the network and the proxy variables"
