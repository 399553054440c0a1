"""Types of the fields of stored files, which may come from an untrusted run.

Numbers and texts have bounds that no run reaches, and no path leads upwards.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, TypeVar

from pydantic import AfterValidator, FailFast, Field, ValidationInfo

from skillgym_action.limits import MAX_STORED_SESSIONS
from skillgym_action.model.verdicts import Status

_PART = r"(?:[^/\x00.][^/\x00]*|\.[^/\x00.][^/\x00]*|\.\.[^/\x00]+)"  # of a path: neither . nor ..
_KEY = r"[A-Za-z0-9_*-][A-Za-z0-9_.*-]*"  # an asterisk stands where a secret was
PATH = rf"^/?(?:{_PART}/)*{_PART}$"
ARTIFACTS = rf"^(?:{_KEY}/)*{_KEY}$"
NAME = r"^[^/\x00]*$"
COMMIT = r"^[0-9a-f]{1,64}$"
DIGEST = r"^[0-9a-f]{64}$"
SHORT_DIGEST = r"^[0-9a-f]{16}$"
SHARD = r"^[1-9][0-9]{0,5}/[1-9][0-9]{0,5}$"
SESSIONS = rf"^[pf]{{1,{MAX_STORED_SESSIONS}}}$"
WEB_ADDRESS = r"^https?://[^\s<>\"']+$"
TIME = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?Z$"
MEANINGS = {
    PATH: "a path without steps upwards",
    ARTIFACTS: "a path below the run directory, without steps upwards",
    NAME: "a name without slashes",
    COMMIT: "a commit in hexadecimal digits",
    DIGEST: "64 hexadecimal digits",
    SHORT_DIGEST: "16 hexadecimal digits",
    SESSIONS: f"a p or an f for each of at most {MAX_STORED_SESSIONS:,} sessions",
    WEB_ADDRESS: "an address that begins with https:// or http://",
    SHARD: "I/N, such as 2/4",
    TIME: "a time in UTC, such as 2025-01-02T03:04:05Z",
}
"""Pattern -> what error messages call a text that matches it."""


T = TypeVar("T")


def _moment(text: str) -> str:
    datetime.fromisoformat(text)
    return text


def _shared(value: T, info: ValidationInfo) -> T:
    """The first equal value that was validated with the same context, a dictionary; ``value`` itself without one."""
    return value if info.context is None else info.context.setdefault(value, value)


Count = Annotated[int, Field(ge=0, le=10**15)]
AttemptNumber = Annotated[int, Field(ge=1, le=10**18)]
LineOrColumn = Annotated[int, Field(ge=1, le=10**9)]
Seconds = Annotated[float, Field(gt=0, le=10**9)]
Usd = Annotated[float, Field(ge=0, le=10**9)]
Rate = Annotated[float, Field(ge=0, le=1)]
Id = Annotated[str, Field(max_length=65_536)]
Text = Annotated[str, Field(max_length=32 * 1024 * 1024)]  # longer than a suite file may be
Path = Annotated[str, Field(max_length=4_096, pattern=PATH)]
ArtifactDir = Annotated[str, Field(max_length=1_024, pattern=ARTIFACTS)]
Time = Annotated[str, Field(pattern=TIME), AfterValidator(_moment)]
# FailFast: each error of a list takes memory, and a file may have a million. JSON has no tuples, hence not strict.
Several = Annotated[tuple[T, ...], Field(strict=False), FailFast()]
SHARED = AfterValidator(_shared)
"""One object for equal values, which the results of a case on several runners have."""
State = Annotated[Status, Field(strict=False)]
