"""Requests to GitHub's API, and the error of a request that failed: GitHub's message, and what to do about it."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC
from typing import TYPE_CHECKING

from skillgym_action.limits import GITHUB_RATE_LIMIT_SECONDS, MAX_SERVICE_MESSAGE_CHARACTERS
from skillgym_action.model.errors import SkillgymError
from skillgym_action.network.retries import TransientError
from skillgym_action.text.escaping import clipped, one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

    from skillgym_action.network.http import HttpReply, NoReplyError
    from skillgym_action.text.redaction import Redactor

_TRANSIENT = frozenset({500, 502, 503, 504})
_RATE_LIMIT = re.compile(r"rate limit|abuse detection", re.IGNORECASE)
_READ_ONLY = re.compile(r"not accessible by", re.IGNORECASE)
_TOO_LONG = re.compile(r"too (?:long|large|big)", re.IGNORECASE)
_SECONDS = re.compile(r"[0-9]{1,10}")
_LOGIN_IN_URL = re.compile(r"//[^/@\s]+@")


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


class TransientGitHubError(GitHubError, TransientError):
    """The same request may succeed later."""


def as_transient(error: GitHubError) -> TransientGitHubError:
    """The error as one after which another try makes sense."""
    again = TransientGitHubError(error.message, operation=error.operation, status=error.status, remedy=error.remedy)
    again.retry_after = error.retry_after
    return again


@dataclass(frozen=True, kw_only=True, slots=True)
class ApiRequest:
    """``operation``: as in GitHubError; ``repeatable``: whether it does no harm when GitHub gets it twice."""

    method: str
    url: str
    operation: str
    body: Mapping[str, object] | None = None
    repeatable: bool = True


def quotable(text: str, redactor: Redactor) -> str:
    """Text of a service as an error may quote it: short, on one line, without the token and passwords of proxies."""
    redacted = _LOGIN_IN_URL.sub("//***@", redactor.text(one_line(text)))
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
