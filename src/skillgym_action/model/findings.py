"""What was found in a session that nobody had asked for, and that somebody should know of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

LEAK = "leak-detected"
MOST = 20  # of one execution: more would say nothing new


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """A key of that ``kind`` is in what the agent wrote: in a file of its artifacts, which has ``***`` in its place."""

    kind: str
    where: str
    id: str = LEAK


def unique_findings(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Each once, as many as are told."""
    return tuple(dict.fromkeys(findings))[:MOST]
