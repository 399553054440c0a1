"""The kind of a failure: by how a process ended, by an HTTP status, by the words of an error message.

Only for what an agent reports as its own error, never for what a model or a tool wrote.
"""

from __future__ import annotations

import re
import signal
from functools import cache
from http import HTTPStatus

from skillgym_action.agents.output.trouble_words import EXACT, FAILED_CALL, OTHER, WRONG_USAGE
from skillgym_action.model.limits import MAX_ERROR_CHARACTERS
from skillgym_action.model.session import Capture, Ending
from skillgym_action.model.session_report import Trouble

MAX_STDERR_CHARACTERS = 4096  # from the end of stderr, searched for the kind of a failure
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


# Messages where the agent reports only how the model's answer ended.
ANSWER_ENDED = {
    "output-limit": "the model's answer reached the limit of output tokens",
    "refused": "the model refused to answer",
    "content-policy": "the service's content filter stopped the model's answer",
    "provider": "the model's answer was cut off: its end is missing",
}
# Of an error with HTTP status 200, which some agents take for an answer.
NO_ANSWER = "the service's response had no answer in it: neither words, nor tokens, nor an end"


def kind_of_status(status: int | None) -> str | None:
    """Return the kind of an HTTP status; None when it is not an error."""
    if status is None or status < HTTPStatus.BAD_REQUEST:
        return None
    return STATUSES.get(status, "provider" if status >= HTTPStatus.INTERNAL_SERVER_ERROR else "runner-crash")


def kind_of_text(text: str) -> str | None:
    """Return the kind of an error message, which may have an HTTP status; None when its words are not known."""
    status = STATUS.search(text)
    return kind_of_error(text, int(status[1]) if status else None)


def kind_of_error(text: str, status: int | None) -> str | None:
    """Return the kind of an error by its message and its HTTP status.

    Exact words decide, then the status, then other words, then that a call of the model failed at all. None: nothing of
    that is known.
    """
    if exact := _first_match(EXACT, text):
        return exact
    by_status = kind_of_status(status)
    known_status = by_status if by_status != "runner-crash" else None
    known = known_status or _first_match(OTHER, text) or by_status
    return known or ("provider" if FAILED_CALL.match(text) else None)


Words = tuple[tuple[str, str, str], ...]


@cache  # few sessions have an error whose words are searched
def _patterns(rows: Words) -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((kind, re.compile(words, re.IGNORECASE | re.DOTALL)) for kind, words, _ in rows)


def _first_match(rows: Words, text: str) -> str | None:
    return next((kind for kind, words in _patterns(rows) if words.search(text)), None)


def trouble_of_signal(code: int | None) -> Trouble | None:
    """Return the trouble of a process that a resource limit ended, by its exit code or that of a shell around it.

    The kernel sends SIGXFSZ to a process that writes beyond the largest size of a file.
    """
    if code in (-signal.SIGXFSZ, SHELL_SIGNAL + signal.SIGXFSZ):
        message = "ended by SIGXFSZ: it wrote to a file that had the largest size a file may have (limits.fileSize)"
        return Trouble(kind="resource-limit", message=message)
    return None


def crashed(capture: Capture, words: str | None = None) -> Trouble | None:
    """Return the trouble of a process that ended with a code other than 0, or by a signal not sent by the tool.

    ``words``: its last words; None: those of stderr, or else of stdout.
    """
    code = capture.exit_code
    words = stderr_words(capture) or capture.stdout.tail(MAX_ERROR_CHARACTERS) if words is None else words
    if capture.ending in (Ending.SIGNALLED, Ending.EXITED) and (limit := trouble_of_signal(code)):
        return limit
    if capture.ending is Ending.SIGNALLED:
        return Trouble(kind="runner-crash", message=_with_words(f"ended by {_signal_name(code)}", words))
    if capture.ending is Ending.EXITED and code != 0:
        return Trouble(kind="runner-crash", message=_with_words(f"exited with code {code}", words))
    return None


def is_killed(capture: Capture) -> bool:
    """Whether a signal ended the process, or a program that a shell around it waited for."""
    return capture.ending is Ending.SIGNALLED or (capture.exit_code or 0) > SHELL_SIGNAL


def unfinished(capture: Capture, said: str = "") -> Trouble:
    """Return the trouble of a process that printed no result; its kind is found by its last words.

    ``said``: the last lines of stdout whose meaning is not known, which count if stderr is empty.
    """
    words = stderr_words(capture) or said.strip()
    if usage := WRONG_USAGE.search(words):
        lines = words[words.rfind("\n", 0, usage.start()) + 1 :].splitlines()
        words = " ".join(lines[: 2 if lines[0].rstrip().endswith(":") else 1])
    without = Trouble(kind="runner-crash", message=_with_words("ended without a result", words))
    crash = crashed(capture, words) or without
    return Trouble(kind="runner-crash" if usage else kind_of_text(words) or crash.kind, message=crash.message)


def stderr_words(capture: Capture) -> str:
    """The first line of stderr, which often has the reason, and its end; empty: there is none."""
    end = capture.stderr.tail(MAX_STDERR_CHARACTERS).strip()
    first = next((line.strip() for line in capture.stderr.lines() if line.strip()), "")[:MAX_ERROR_CHARACTERS]
    return end if not first or first in end else f"{first}\n{end}"


def brief(message: str) -> str:
    """Return an error message as one line of bounded length."""
    line = " ".join(message.split())
    return line if len(line) <= MAX_ERROR_CHARACTERS else f"{line[:MAX_ERROR_CHARACTERS]} …"


def _with_words(what: str, words: str) -> str:
    words = " ".join(words.split())
    if len(words) > MAX_ERROR_CHARACTERS:
        half = MAX_ERROR_CHARACTERS // 2
        words = f"{words[:half]} … {words[-half:]}"
    return f"{what}: {words}" if words else what


def _signal_name(code: int | None) -> str:
    try:
        return signal.Signals(abs(code or 0)).name
    except ValueError:
        return f"signal {code}"
