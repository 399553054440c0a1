"""What goes wrong on GitHub's side, and what comes of it: tests play each row, the documentation shows the table.

Each fault hits what a run writes at its end, one of comment, review and status at a time: once, and always.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Literal

from fakes_clock import NOON
from github_replies import Fault, Reply, dropped, late, secondary_limit, server_error

if TYPE_CHECKING:
    from collections.abc import Iterator

PARTS = ("comment", "review", "status")
ALL, CREATED = frozenset(PARTS), frozenset({"comment", "review"})
WRITES = {"comment": "POST .*/issues/7/comments", "review": "POST .*/pulls/7/reviews", "status": "POST .*/statuses/"}
READS = {"comment": "GET .*/issues/7/comments", "review": "GET .*/pulls/7/comments"}
BOUNDS = (90, 120, 120)  # seconds, where all there are are spent: the comment leaves a quarter to the status
ELSEWHERE = "http://127.0.0.1:9"  # another host than GitHub's; nothing listens there


@dataclass(frozen=True, kw_only=True)
class Row:
    """``once``: what is written if it happens once; ``always``: what is written if it always happens.

    ``words``: of the note on all else; ``seconds``: spent on comment, review and status if it always happens; None: as
    many as there are.
    """

    fault: Fault
    words: str
    once: frozenset[str] = frozenset()
    always: frozenset[str] = frozenset()
    seconds: tuple[int, int, int] | None = (0, 0, 0)
    where: Literal["writes", "reads"] = "writes"


def _no(status: int, message: str, **headers: str) -> Fault:
    return Fault(reply=Reply.no(status, message, headers={name.replace("_", "-"): v for name, v in headers.items()}))


RESET = {"x_ratelimit_remaining": "0", "x_ratelimit_reset": str(int((NOON + timedelta(seconds=40)).timestamp()))}
FAULTS = {
    "401": Row(fault=_no(401, "Bad credentials"), words="401: Bad credentials; the token was refused"),
    "403, no permission": Row(
        fault=_no(403, "Resource not accessible by integration", X_Accepted_GitHub_Permissions="issues=write"),
        words="403: Resource not accessible by integration; check the token's permissions; this needs issues=write",
    ),
    "403, archived repository": Row(
        fault=_no(403, "Repository was archived so is read-only."), words="403: Repository was archived"
    ),
    "403, rate limit that is reset in 40 s": Row(
        fault=_no(403, "API rate limit exceeded", **RESET), words="403: API rate limit exceeded; tried 5 times",
        once=ALL, seconds=(43, 43, 43),
    ),
    "403, secondary rate limit without `Retry-After`": Row(
        fault=secondary_limit(), words="a retry is possible in 120 s, but only", once=ALL, seconds=(60, 60, 60)
    ),
    "404": Row(fault=_no(404, "Not Found"), words="404: Not Found; check the token's permissions"),
    "409": Row(fault=_no(409, "Conflict"), words="409: Conflict"),
    "410": Row(fault=_no(410, "This issue was deleted"), words="410: This issue was deleted"),
    "422": Row(fault=_no(422, "Validation Failed"), words="422: Validation Failed", once=frozenset({"comment"})),
    "429, Retry-After: 30": Row(
        fault=_no(429, "Too many requests", Retry_After="30"), words="429: Too many requests",
        once=ALL, seconds=(60, 90, 90),
    ),
    "429, no Retry-After": Row(
        fault=_no(429, "Too many requests"), words="a retry is possible in 120 s", once=ALL, seconds=(60, 60, 60)
    ),
    "429, Retry-After: 3600": Row(
        fault=_no(429, "Too many requests", Retry_After="3600"), words="a retry is possible in 3600 s, but only"
    ),
    "500": Row(fault=server_error(500), words="500: Server Error; tried 5 times", once=ALL, seconds=(15, 15, 15)),
    "502 with an HTML page": Row(
        fault=server_error(502), words="502: Bad Gateway; tried 5 times", once=ALL, seconds=(15, 15, 15)
    ),
    "502, but the write succeeded": Row(
        fault=server_error(502, took_effect=True), words="502: Bad Gateway; tried 5 times", once=ALL, always=CREATED,
        seconds=(1, 1, 15),
    ),
    "503, Retry-After: 7": Row(
        fault=_no(503, "No server is available", Retry_After="7"), words="503: No server is available; tried 5 times",
        once=ALL, seconds=(28, 28, 28),
    ),
    "504": Row(fault=server_error(504), words="504: Gateway Timeout; tried 5 times", once=ALL, seconds=(15, 15, 15)),
    "the connection ends before the reply": Row(
        fault=dropped(), words="tried 5 times; check the network", once=ALL, seconds=(15, 15, 15)
    ),
    "the connection ends before the reply, but the write succeeded": Row(
        fault=dropped(took_effect=True), words="tried 5 times; check the network", once=ALL, always=CREATED,
        seconds=(1, 1, 15),
    ),
    "the connection ends in the middle of the reply": Row(
        fault=Fault(half=True), words="tried 5 times; check the network", once=ALL, always=CREATED, seconds=(1, 1, 15)
    ),
    "no reply": Row(fault=late(300), words="answer from 127.0.0.1", seconds=None),
    "the reply arrives byte by byte": Row(
        fault=Fault(byte_seconds=0.05), words="answer from 127.0.0.1", seconds=None
    ),
    "a redirect to another host": Row(
        fault=Fault(reply=Reply(307, headers={"Location": f"{ELSEWHERE}/x"})),
        words="GitHub points to another host, which gets no token: http://127.0.0.1:9/x",
    ),
    "a link to a next page on another host": Row(
        fault=Fault(reply=Reply.json(200, [], {"Link": f'<{ELSEWHERE}/x>; rel="next"'})), where="reads",
        words="GitHub points to another host, which gets no token: http://127.0.0.1:9/x",
    ),
    "success, but the reply is not JSON": Row(
        fault=Fault(reply=Reply(201, b"<html>", "text/html"), took_effect=True),
        words="GitHub answered 201, but the answer is not JSON", once=CREATED, always=CREATED, seconds=(1, 1, 0),
    ),
    "success, but JSON with an unexpected structure": Row(
        fault=Fault(reply=Reply.json(201, ["x"]), took_effect=True), words="", once=ALL, always=ALL,
        seconds=(1, 1, 0),
    ),
    "a reply larger than 20 MB": Row(
        fault=Fault(reply=Reply(201, b" " * 20_000_001, "text/html"), took_effect=True),
        words="the answer is larger than 20 MB", once=CREATED, always=CREATED, seconds=(1, 1, 0),
    ),
}  # fmt: skip


def of_github_faults() -> Iterator[tuple[str, ...]]:
    """A row for each fault."""
    succeeds = "Succeeds if the fault occurs once", "Succeeds if the fault persists"
    yield "Fault", *succeeds, "Seconds for comment, review, status", "Note"
    for name, row in FAULTS.items():
        bounds = row.seconds or BOUNDS
        seconds = ", ".join(f"{'at most ' if row.seconds is None else ''}{number}" for number in bounds)
        once = "—" if row.seconds is None else _written(row.once)  # played in real time, as always happening
        yield name, once, _written(row.always), seconds, f"`…{row.words}…`" if row.words else "none"


def _written(parts: frozenset[str]) -> str:
    return "all" if parts == ALL else " and ".join(sorted(parts)) or "none"
