"""The network behind the judge: one request, one reply, within a time that a cancellation may end.

Imported by whoever sends something, and not before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

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
    from collections.abc import Mapping

    from skillgym_action.cancellation import Cancellation
    from skillgym_action.network.proxies import Network

_LARGEST = 2_000_000  # bytes of a reply


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgeRequest:
    """What is sent. ``headers`` hold the key."""

    url: str
    headers: Mapping[str, str]
    body: Mapping[str, object]
    network: Network


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgeReply:
    """What came back. ``retry_after``: as the service wrote it."""

    status: int
    reason: str
    retry_after: str
    body: bytes


class UnansweredError(Exception):
    """No reply. ``sent``: the service may have got the request, and work for it; ``passing``: it may answer later."""

    def __init__(self, message: str, *, sent: bool, passing: bool = False) -> None:
        """``message``: what happened, and what to do about it."""
        super().__init__(message)
        self.sent = sent
        self.passing = passing


def exchanged(request: JudgeRequest, seconds: float, cancelled: Cancellation) -> JudgeReply:
    """The reply, if it comes within ``seconds`` and before a cancellation. Raises UnansweredError."""
    if seconds <= 0 or cancelled:
        raise UnansweredError("not asked: there is no time left", sent=False)
    try:
        return awaited(lambda: _replied(request, seconds), lambda: 0.0 if cancelled else seconds, cancelled)
    except GivenUpError:
        why = "the run was cancelled" if cancelled else f"no answer within {seconds:.0f} s"
        raise UnansweredError(why, sent=True) from None


def _replied(request: JudgeRequest, seconds: float) -> JudgeReply:
    """Raises UnansweredError."""
    timeout = (min(CONNECT, seconds), seconds)
    try:
        with (
            Connections({"Accept": "application/json"}, request.headers, request.network) as connections,
            connections.post(request.url, json=request.body, timeout=timeout, stream=True) as response,
        ):
            return JudgeReply(
                status=response.status_code,
                reason=response.reason or "",
                retry_after=response.headers.get("retry-after", ""),
                body=received(response, _LARGEST),
            )
    except TooLargeError:
        raise UnansweredError("the answer is larger than 2 MB", sent=True) from None
    except Exception as error:  # noqa: BLE001 -- requests lets some of every kind through, and no run may end of it
        message = f"no answer from {urlsplit(request.url).hostname}: {cause(error)}; {remedy(error)}"
        raise UnansweredError(message, sent=not never_sent(error), passing=is_broken(error)) from None
