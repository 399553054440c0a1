"""The judge in results.json."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from skillgym_action.model.judge_question import JudgeInfo
from skillgym_action.storage.field_types import Id, Several
from skillgym_action.storage.mapping import FieldSource, MappedModel


class JudgeEntry(MappedModel):
    """The model that graders asked: as configured, and in ``versions`` what its service called it in replies.

    ``votes`` is the number of answers that were asked for per question.
    """

    noun: ClassVar = JudgeInfo

    api: Id
    model: Id
    versions: Several[Id] = ()
    votes: Annotated[int, Field(ge=1, le=10**6), FieldSource(always=True)] = 1
