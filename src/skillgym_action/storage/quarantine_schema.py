"""The results file, schema 1: why an execution is in quarantine."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from skillgym_action.limits import MAX_QUARANTINE_TEXT_CHARACTERS
from skillgym_action.model.quarantine import Quarantine
from skillgym_action.storage.mapping import MappedModel

_Sentence = Annotated[str, Field(max_length=MAX_QUARANTINE_TEXT_CHARACTERS)]


class QuarantineItem(MappedModel):
    """Why the execution decides nothing, whose task it is, and the last day of it, in UTC."""

    noun: ClassVar = Quarantine

    reason: _Sentence
    owner: _Sentence
    expires: Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$")]
    issue: Annotated[str, Field(max_length=MAX_QUARANTINE_TEXT_CHARACTERS, pattern=r"^https?://[!-~]+$")] | None = None
