"""What ``results.json`` says of the executions that ``--changed-only`` selected."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from skillgym_action.model.selection import SelectionSummary
from skillgym_action.storage.field_types import COMMIT, Count, Text
from skillgym_action.storage.mapping import MappedModel


class SelectionEntry(MappedModel):
    """``selected`` of ``total`` executions. ``leftOut``: those that are not in the run.

    ``unstored``: executions that were not selected and ran, since the store had no result of them.
    """

    noun: ClassVar = SelectionSummary

    selected: Count
    total: Count
    reason: Text
    base: Annotated[str, Field(pattern=COMMIT)] | None = None
    left_out: Count = 0
    unstored: Count = 0
