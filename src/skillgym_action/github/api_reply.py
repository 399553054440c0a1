"""A request to GitHub's API and what came of it: a reply, or an error that says what to do."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC
from typing import TYPE_CHECKING

from skillgym_action.model.errors import SkillgymError
from skillgym_action.text.escaping import clipped, one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

    from skillgym_action.text.redaction import Redactor

_WORDS = 500  # characters of other people's words in an error
_PASSING = frozenset({500, 502, 503, 504})
_LIMIT = re.compile(r"rate limit|abuse detection", re.IGNORECASE)
_READ_ONLY = re.compile(r"not accessible by", re.IGNORECASE)
_TOO_LONG = re.compile(r"too (?:long|large|big)", re.IGNORECASE)
_SECONDS = re.compile(r"[0-9]{1,10}")
_LOGIN_IN_URL = re.compile(r"//[^/@\s]+@")


class GitHubError(SkillgymError):
    """GitHub did not do what it was asked for. No verdict depends on that.

    ``operation``: method and path, such as ``POST /repos/o/r/issues/1/comments``; ``status``: None when no answer came.
    """

    def __init__(
        self, message: str, *, operation: str = "", status: int | None = None, remedy: str | None = None
    ) -> None:
        """``message``: what happened, on one line and without the token."""
        super().__init__(f"{operation}: {message}" if operation else message, remedy=remedy)
        self.message = message
        self.operation = operation
        self.status = status
        self.remedy = remedy

    @property
    def is_read_only(self) -> bool:
        """Whether the token may not do this. Of what it may not even see, GitHub says that it is not found."""
        match self.status:
            case 403:
                return bool(_READ_ONLY.search(self.message))
            case 404:
                return self.operation.startswith(("POST", "PATCH"))
        return False

    @property
    def is_too_long(self) -> bool:
        """Whether a shorter text might be taken."""
        return self.status == 413 or (self.status == 422 and bool(_TOO_LONG.search(self.message)))  # noqa: PLR2004


class PassingError(GitHubError):
    """Trouble that may pass. ``wait``: seconds after which GitHub wants to be asked again, where it says so."""

    limit = False
    wait: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """``repeatable``: whether it does no harm when GitHub gets it twice."""

    method: str
    url: str
    operation: str
    body: Mapping[str, object] | None = None
    repeatable: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class Reply:
    """``headers``: upper and lower case are the same in their names; ``following``: the address of the next page."""

    status: int
    reason: str
    headers: Mapping[str, str]
    body: bytes
    following: str | None


def shown(text: str, redactor: Redactor) -> str:
    """Other people's words as an error may repeat them: short, on one line, no token, no password of a proxy."""
    return clipped(_LOGIN_IN_URL.sub("//***@", redactor.text(one_line(text))), _WORDS)


def refusal(request: Request, reply: Reply, redactor: Redactor, now: datetime) -> GitHubError:
    """The error that ``reply`` is; a PassingError when it makes sense to send ``request`` again."""
    words = shown(": ".join(_words(reply.body)) or reply.reason, redactor)
    limit = _is_limit(reply, words)
    passing = limit or (request.repeatable and reply.status in _PASSING)
    kind = PassingError if passing else GitHubError
    error = kind(
        f"GitHub answered {reply.status}: {words}",
        operation=request.operation,
        status=reply.status,
        remedy=None if passing else _remedy(reply, redactor),
    )
    if isinstance(error, PassingError):
        error.limit = limit
        error.wait = _named_wait(reply.headers, now)
    return error


def _words(body: bytes) -> Iterator[str]:
    """GitHub's own words; none when it is not GitHub that speaks."""
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
            told = [part["message"]] if part.get("message") else [part.get("field"), part.get("code")]
            yield " ".join(word for word in told if isinstance(word, str))


def _is_limit(reply: Reply, words: str) -> bool:
    if reply.status != 403 or _READ_ONLY.search(words):  # noqa: PLR2004
        return reply.status == 429  # noqa: PLR2004
    used_up = reply.headers.get("x-ratelimit-remaining", "").strip() == "0"
    return used_up or "retry-after" in reply.headers or bool(_LIMIT.search(words))


def _named_wait(headers: Mapping[str, str], now: datetime) -> float | None:
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


def _remedy(reply: Reply, redactor: Redactor) -> str | None:
    match reply.status:
        case 401:
            return "the token was refused: check github-token; it may have expired"
        case 403 | 404:
            needed = shown(reply.headers.get("x-accepted-github-permissions", ""), redactor)
            return f"check the token's permissions{f'; this needs {needed}' if needed else ''}"
    return None
