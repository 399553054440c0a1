"""The attempts of a job on GitHub in a results file."""

from __future__ import annotations

from typing import ClassVar

from skillgym_action.model.job_attempt import AttemptShare
from skillgym_action.storage.field_types import AttemptNumber, Count, Usd
from skillgym_action.storage.mapping import MappedModel


class AttemptShareEntry(MappedModel):
    """What an attempt of the job contributed: sessions in this file, and their cost; null is unknown.

    ``repeated``: its sessions that are not in this file, since a later attempt runs them again.
    """

    noun: ClassVar = AttemptShare

    number: AttemptNumber
    sessions: Count
    cost_usd: Usd | None
    repeated: Count = 0
    repeated_cost_usd: Usd | None = 0.0
