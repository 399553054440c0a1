"""Findings: what reports mention beside the judgement. Today: API keys in what an agent wrote."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillgym_action.limits import MAX_FINDINGS

if TYPE_CHECKING:
    from collections.abc import Iterable

LEAK_DETECTED = "leak-detected"


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """An API key in what the agent wrote.

    ``kind``: the service that the key belongs to, or the variable that it is the value of. ``where``: path of the
    artifact, in which ``***`` replaces the key. ``id``: what results.json calls this finding.
    """

    kind: str
    where: str
    id: str = LEAK_DETECTED


def unique_findings(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The findings without duplicates, at most ``MAX_FINDINGS``."""
    return tuple(dict.fromkeys(findings))[:MAX_FINDINGS]
