"""What ``results.json`` of a shard says of the plan of all shards."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from skillgym_action.model.shard_plan import WholePlan
from skillgym_action.storage.field_types import DIGEST, Count
from skillgym_action.storage.mapping import MappedModel

_OneOrMore = Annotated[int, Field(ge=1, le=10**9)]


class WholePlanEntry(MappedModel):
    """What shards of one run have in common. ``digest``: of the names and repetitions of all ``executions``."""

    noun: ClassVar = WholePlan

    executions: Count
    digest: Annotated[str, Field(pattern=DIGEST)]
    repeat: _OneOrMore
    require: _OneOrMore | Literal["all", "any"]
    retry: Count
