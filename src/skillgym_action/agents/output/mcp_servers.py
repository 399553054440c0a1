"""MCP servers that an agent could not use, by the status that it reports or by its complaints on stderr."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

from skillgym_action.model.limits import MAX_FINDINGS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from skillgym_action.model.session_report import Transcript

FAILED = "failed"
"""The status of servers of which an agent only complains."""
NAME_CHARACTERS = 100
"""Characters of the name of a server; the rest of a longer one is cut."""
MOST_SERVERS = 1_000
"""Servers of a session whose status is recorded: the first ones."""
_FAILED = re.compile(
    r"fail|error|auth|disconnect|time.{0,2}out|reject|denied|refused|invalid|missing|unreachable", re.IGNORECASE
)
_ABOUT = re.compile(r"\bmcp\b", re.IGNORECASE)
_COMPLAINT = re.compile(
    r"fail|error|could ?n.t|could not|cannot|can.t|unable|timed out|refused|closed|exited"
    r"|not (?:logged in|found|start)",
    re.IGNORECASE,
)
# A server that failed at a request started; and one need not have prompts or resources.
_OF_REQUEST = re.compile(r"\bcall(?:ing|ed)?\b.{0,40}\btool|\btool.{0,20}\bcall|method not found|-32601", re.IGNORECASE)
_NAMES = (  # compiled on first use: few sessions have a line about a server
    r"\bmcp (?:server|client)s?(?: for| named)?:? *['\"`\[(]([^'\"`\])]+)['\"`\])]",
    r"\bservice=mcp\b.*?\b(?:key|name|server)=(\S+)",
    r"^\W*mcp: +(\S+) +failed",
    r"\bserver[ :]+['\"`]([^'\"`]+)['\"`]",
    r"\bmcp server:? +([\w.@/-]+)(?::|$)",
    r"\bmcp server +([\w.@/-]+) +(?:failed|did|could|cannot|exited|is|was|timed)",
    r"['\"`]([^'\"`]+)['\"`] mcp server",
    r"\bthe ([\w.@/-]+) mcp server",
)
_NO_NAMES = frozenset(
    {
        *("a", "an", "any", "some", "the", "this", "that", "configured", "following", "stdio", "remote"),
        *("failed", "error", "errors", "connection", "startup", "discovery", "process", "initialization"),
    }
)
"""Words that can stand where a name is expected."""


def has_failed(status: str) -> bool:
    """Whether a server with this status cannot be used: not one that starts, or that the user has disabled."""
    return _FAILED.search(status) is not None


def failed_servers(transcript: Transcript) -> tuple[str, ...]:
    """The names of servers of a session that could not be used; the first ones, if there are many."""
    names = (server.name for server in transcript.mcp_servers or () if has_failed(server.status))
    return tuple(islice(names, MAX_FINDINGS))


def servers_complained_of(lines: Iterable[str]) -> Iterator[str]:
    """The names of servers that could not be started, according to lines that an agent printed for people."""
    for line in lines:
        if not _ABOUT.search(line) or not _COMPLAINT.search(line) or _OF_REQUEST.search(line):
            continue
        found = (match[1].strip() for pattern in _NAMES if (match := re.search(pattern, line, re.IGNORECASE)))
        name = next((name for name in found if name and name.lower() not in _NO_NAMES), None)
        if name is not None:
            yield name[:NAME_CHARACTERS]
