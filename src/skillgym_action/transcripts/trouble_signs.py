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
STATUSES = {401: "auth", 403: "auth", 404: "model-rejected", 408: "provider", 429: "rate-limit", 529: "rate-limit"}

# The first row that matches decides.
WORDS = tuple(
    (kind, re.compile(words, re.IGNORECASE))
    for kind, words in (
        ("model-rejected", r"\bmodel\b.{0,80}(?:not found|not exist|not supported|not available|unknown|deprecated)"),
        ("model-rejected", r"(?:unknown|invalid|unsupported) model|model_not_found"),
        ("rate-limit", r"rate.?limit|too many requests|overloaded|quota|usage limit|resource.?exhausted"),
        ("auth", r"authenticat|unauthori[sz]ed|api.?key|not logged in|please run /login|permission.?denied.error"),
        ("auth", r"credit balance|billing|oauth token"),
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
    )
)


def kind_of_status(status: int | None) -> str | None:
    """Return the kind of an HTTP status; None when it is not an error."""
    if status is None or status < HTTPStatus.BAD_REQUEST:
        return None
    return STATUSES.get(status, "provider" if status >= HTTPStatus.INTERNAL_SERVER_ERROR else "runner-crash")


def kind_of_text(text: str) -> str | None:
    """Return the kind of an error message; None when its words are not known."""
    by_words = next((kind for kind, words in WORDS if words.search(text)), None)
    status = STATUS.search(text)
    return by_words or (kind_of_status(int(status[1])) if status else None)


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
