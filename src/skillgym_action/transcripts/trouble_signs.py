"""The kind of a failure: by how a process ended, by an HTTP status, by the words of an error message.

Only for what an agent reports as its own error, never for what a model or a tool wrote.
"""

from __future__ import annotations

import re
import signal
from http import HTTPStatus

from skillgym_action.limits import MAX_ERROR_CHARACTERS, MAX_STDERR_CHARACTERS
from skillgym_action.model.session import Capture, Ending
from skillgym_action.model.session_report import Trouble

SHELL_SIGNAL = 128  # a shell adds it to the number of the signal
STATUS = re.compile(r"(?:^|(?:api error|https?|status(?:[ _]?code)?|error)\W{0,4})([45]\d\d)\b", re.IGNORECASE)
STATUSES = {
    401: "auth",
    402: "quota",
    403: "auth",
    404: "model-rejected",
    408: "provider",
    413: "context-exceeded",
    429: "rate-limit",
    529: "rate-limit",
}


def _patterns(*rows: tuple[str, str]) -> tuple[tuple[str, re.Pattern[str]], ...]:
    """The first row that matches decides."""
    return tuple((kind, re.compile(words, re.IGNORECASE)) for kind, words in rows)


# Words that say more than the HTTP status, which is 400, 403 or 429 for several causes. Gemini has the same message
# for a limit per minute and one per day: the id of the limit tells them apart, or how soon another try is welcome.
EXACT_WORDS = _patterns(
    ("quota", r"PerDay|daily (?:quota|limit)|insufficient_quota"),
    ("rate-limit", r"overloaded|PerMinute|retry in [\d.]+ ?m?s\b"),
    ("quota", r"credit balance|insufficient (?:credits|balance|funds)|out of credits|billing"),
    (
        "quota",
        r"(?:exceeded|reached|hit) (?:your|the)\b.{0,40}\b(?:quota|usage limit|spend\w* limit|limit\b.{0,9}\breset)",
    ),
    ("quota", r"usage limits? (?:reached|exceeded)|payment required|quota.?exceeded"),
    ("context-exceeded", r"(?:prompt|input|request|conversation) is too (?:long|large)|prompt_too_long|context.length"),
    ("context-exceeded", r"context.?(?:window|size|limit)|maximum number of tokens allowed"),
    ("output-limit", r"output.?token (?:maximum|limit)|max_output_tokens|max_tokens\b.{0,30}(?:reached|exceeded)"),
    ("content-policy", r"content.?(?:filter|policy|management policy)|prohibited.content|invalid_prompt"),
    (
        "content-policy",
        r"flagged|violat\w+ (?:of )?(?:our|the) (?:usage|content)|blocked by .{0,20}(?:safety|polic|filter)",
    ),
)
WORDS = _patterns(
    *(
        ("model-rejected", r"\bmodel\b.{0,80}(?:not found|not exist|not supported|not available|unknown|deprecated)"),
        ("model-rejected", r"(?:unknown|invalid|unsupported) model|model_not_found"),
        ("rate-limit", r"rate.?limit|too many requests|overloaded|quota|resource.?exhausted"),
        ("auth", r"authenticat|unauthori[sz]ed|api.?key|not logged in|please run /login|permission.?denied.error"),
        ("auth", r"oauth token"),
        ("network", r"ECONNREFUSED|ECONNRESET|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH|getaddrinfo|socket hang up"),
        (
            "network",
            r"connection.?(?:refused|reset|error|failed|timed out)|network error|fetch failed",
        ),
        ("network", r"(?:unable to|could not|cannot) connect|certificate|\bTLS\b|\bSSL\b"),
        ("provider", r"internal.server|bad gateway|service unavailable|gateway timeout|server.error|high demand"),
        (
            "provider",
            r"stream (?:was )?(?:closed|ended|disconnected|interrupted)|malformed response|error_during_execution",
        ),
        ("provider", r"parse JSON|JSON.{0,30}(?:parse|unexpected)|unexpected.{0,40} JSON|not valid JSON"),
    )
)


# Messages where the agent reports only how the model's answer ended.
ANSWER_ENDED = {
    "output-limit": "the model's answer reached the limit of output tokens",
    "refused": "the model refused to answer",
    "content-policy": "the service's content filter stopped the model's answer",
    "provider": "the model's answer was cut off: its end is missing",
}


def kind_of_status(status: int | None) -> str | None:
    """Return the kind of an HTTP status; None when it is not an error."""
    if status is None or status < HTTPStatus.BAD_REQUEST:
        return None
    return STATUSES.get(status, "provider" if status >= HTTPStatus.INTERNAL_SERVER_ERROR else "runner-crash")


def kind_of_text(text: str) -> str | None:
    """Return the kind of an error message; None when its words are not known."""
    by_words = _first_match(EXACT_WORDS, text) or _first_match(WORDS, text)
    status = STATUS.search(text)
    return by_words or (kind_of_status(int(status[1])) if status else None)


def kind_of_error(text: str, status: int | None) -> str | None:
    """Return the kind of an error by its message and its HTTP status.

    Exact words decide, then the status, then other words. None: neither the words nor the status are known.
    """
    by_status = kind_of_status(status)
    known_status = by_status if by_status != "runner-crash" else None
    return _first_match(EXACT_WORDS, text) or known_status or kind_of_text(text) or by_status


def _first_match(rows: tuple[tuple[str, re.Pattern[str]], ...], text: str) -> str | None:
    return next((kind for kind, words in rows if words.search(text)), None)


def trouble_of_signal(code: int | None) -> Trouble | None:
    """Return the trouble of a process that a resource limit ended, by its exit code or that of a shell around it.

    The kernel sends SIGXFSZ to a process that writes beyond the largest size of a file.
    """
    if code in (-signal.SIGXFSZ, SHELL_SIGNAL + signal.SIGXFSZ):
        message = "ended by SIGXFSZ: it wrote to a file that had the largest size a file may have (limits.fileSize)"
        return Trouble(kind="resource-limit", message=message)
    return None


def crashed(capture: Capture) -> Trouble | None:
    """Return the trouble of a process that ended with a code other than 0, or by a signal not sent by the tool."""
    code = capture.exit_code
    if capture.ending in (Ending.SIGNALLED, Ending.EXITED) and (limit := trouble_of_signal(code)):
        return limit
    if capture.ending is Ending.SIGNALLED:
        return Trouble(kind="runner-crash", message=_with_stderr(f"ended by {_signal_name(code)}", capture))
    if capture.ending is Ending.EXITED and code != 0:
        return Trouble(kind="runner-crash", message=_with_stderr(f"exited with code {code}", capture))
    return None


def unfinished(capture: Capture) -> Trouble:
    """Return the trouble of a process that printed no result; its kind is found by the end of stderr."""
    kind = kind_of_text(capture.stderr.tail(MAX_STDERR_CHARACTERS))
    crash = crashed(capture) or Trouble(kind="runner-crash", message=_with_stderr("ended without a result", capture))
    return Trouble(kind=kind or "runner-crash", message=crash.message)


def brief(message: str) -> str:
    """Return an error message as one line of bounded length."""
    line = " ".join(message.split())
    return line if len(line) <= MAX_ERROR_CHARACTERS else f"{line[:MAX_ERROR_CHARACTERS]} …"


def _with_stderr(what: str, capture: Capture) -> str:
    stderr = brief(capture.stderr.tail(MAX_ERROR_CHARACTERS))
    return f"{what}: {stderr}" if stderr else what


def _signal_name(code: int | None) -> str:
    try:
        return signal.Signals(abs(code or 0)).name
    except ValueError:
        return f"signal {code}"
