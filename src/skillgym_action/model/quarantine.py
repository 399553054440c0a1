"""Quarantine: executions that run and are reported, and decide nothing until a date."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import date

    from skillgym_action.model.errors import Location, Problem


@dataclass(frozen=True, kw_only=True, slots=True)
class Quarantine:
    """Why an execution decides nothing. ``expires``: the last day, ``YYYY-MM-DD`` in UTC; ``issue``: an address."""

    reason: str
    owner: str
    expires: str
    issue: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class QuarantineEntry:
    """An entry of the quarantine file. ``suite``, ``case`` and ``runner`` are glob patterns; None fits all."""

    case: str
    reason: str
    owner: str
    expires: date
    location: Location
    key_path: str
    suite: str | None = None
    runner: str | None = None
    issue: str | None = None

    @property
    def quarantine(self) -> Quarantine:
        """What results say of it."""
        return Quarantine(reason=self.reason, owner=self.owner, expires=self.expires.isoformat(), issue=self.issue)


@dataclass(frozen=True, kw_only=True, slots=True)
class QuarantineFile:
    """The entries of a quarantine file that can be used, and a warning for each of the others."""

    entries: tuple[QuarantineEntry, ...] = ()
    problems: tuple[Problem, ...] = ()
