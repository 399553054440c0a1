"""What the fake GitHub sends, and what can go wrong between it and us, in GitHub's words and headers."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import re

JSON = "application/json; charset=utf-8"
DOCUMENTATION = "https://docs.github.com/rest"
UNICORN = "<!DOCTYPE html>\n<html><head><title>Unicorn! &middot; GitHub</title></head><body></body></html>\n"


@dataclass(frozen=True)
class Reply:
    """``kind`` is the content's media type; empty: there is no content.

    ``half``: the connection ends after the first half of the content; ``byte_seconds``: between two bytes of it.
    """

    status: int
    content: bytes = b""
    kind: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    half: bool = False
    byte_seconds: float = 0

    @classmethod
    def json(cls, status: int, value: object, headers: dict[str, str] | None = None) -> Reply:
        return cls(status, json.dumps(value).encode(), JSON, headers or {})

    @classmethod
    def no(
        cls, status: int, message: str, *, errors: list[Any] | None = None, headers: dict[str, str] | None = None
    ) -> Reply:
        """GitHub's form of saying no."""
        said = {"message": message, "documentation_url": DOCUMENTATION, "status": str(status)}
        return cls.json(status, said if errors is None else {**said, "errors": errors}, headers)


@dataclass(frozen=True, kw_only=True)
class Fault:
    """What happens to a request.

    Attributes:
        reply: Sent in place of the true one; None: the true one is sent.
        seconds: How long nothing happens before.
        dropped: The connection is closed and nothing is sent.
        took_effect: The request is obeyed all the same, and only its reply is lost.
        half: Of the reply only the first half is sent, then the connection ends.
        byte_seconds: Between two bytes of the reply.
    """

    reply: Reply | None = None
    seconds: float = 0
    dropped: bool = False
    took_effect: bool = False
    half: bool = False
    byte_seconds: float = 0

    @property
    def obeyed(self) -> bool:
        return self.took_effect or (self.reply is None and not self.dropped)


@dataclass
class Order:
    """A fault for the next ``times`` requests whose ``METHOD /path?query`` the expression finds."""

    fault: Fault
    times: int
    where: re.Pattern[str]

    def meets(self, request: str) -> bool:
        return self.times > 0 and self.where.search(request) is not None


def secondary_limit(retry_after: int | None = None, status: int = 403) -> Fault:
    """Too much at once. GitHub may say in how many seconds to come back, or not."""
    said = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    return Fault(reply=Reply.no(status, said, headers=headers))


def primary_limit(reset_in: float, status: int = 403) -> Fault:
    """The hour's requests are used up. The next hour begins in ``reset_in`` seconds, up to a second later."""
    headers = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(int(time.time() + reset_in) + 1)}
    return Fault(reply=Reply.no(status, "API rate limit exceeded for installation.", headers=headers))


def server_error(status: int = 500, *, took_effect: bool = False) -> Fault:
    """A 500 is GitHub's and in JSON; anything else is from the proxies before it, in HTML."""
    html = Reply(status, UNICORN.encode(), "text/html; charset=utf-8")
    return Fault(reply=Reply.no(500, "Server Error") if status == 500 else html, took_effect=took_effect)


def dropped(*, took_effect: bool = False) -> Fault:
    """The connection ends without a reply."""
    return Fault(dropped=True, took_effect=took_effect)


def late(seconds: float) -> Fault:
    """The true reply, after a while."""
    return Fault(seconds=seconds)
