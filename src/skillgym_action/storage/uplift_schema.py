"""The results file: the comparison of arms. It is computed when a file is written, and not read again."""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from skillgym_action.storage.field_types import Id, Rate, Several, Text
from skillgym_action.storage.mapping import FieldSource, MappedModel

Points = Annotated[float, Field(ge=-100, le=100)]
Sum = Annotated[float, Field(ge=0, le=10**15)]


class _Interval(NamedTuple):
    low: float
    high: float


class PointsInterval(MappedModel):
    """An interval that has the true uplift with 95 % confidence, in percentage points."""

    low: Points
    high: Points


class SpentEntry(MappedModel):
    """A sum over the compared cases in both arms, and the deciding one as a multiple of the other; null: unknown."""

    deciding: Sum | None
    other: Sum | None
    ratio: Sum | None


class ArmCaseEntry(MappedModel):
    """A case that was judged in both arms: the share of its assertions that hold, a mean over sessions."""

    case_id: Id
    deciding: Rate
    other: Rate


class ArmAssertionEntry(MappedModel):
    """An assertion of a case."""

    case_id: Id
    assertion: Text


class UpliftEntry(MappedModel):
    """The deciding arm of a suite compared with another one, on one runner.

    ``share`` and ``otherShare`` are means over ``cases``, those judged in both arms; ``points`` is their difference in
    percentage points. ``unjudged``: cases that were not judged in both, though they run in both; ``uncompared``: cases
    that do not run in the other arm. ``interval`` is null below 5 cases. ``fixed`` and ``newlyFailing``: cases that
    passed in one arm only. ``inBoth`` and ``inNone``: assertions that hold in all sessions, and in no session.
    """

    suite: Text
    runner_id: Annotated[Id, FieldSource(attribute="runner")]
    arm: Id
    other: Id
    verdict: Literal["helps", "hurts", "no-difference-shown", "too-few-cases", "nothing-compared"]
    share: Rate | None
    other_share: Rate | None
    points: Points | None
    interval: Annotated[PointsInterval | None, FieldSource(convert=lambda found: _Interval(*found))]
    complete: Annotated[bool, FieldSource(attribute="is_complete")]
    fixed: Several[Id]
    newly_failing: Several[Id]
    cost_usd: SpentEntry
    tokens: SpentEntry
    duration_ms: SpentEntry
    cases: Several[ArmCaseEntry]
    unjudged: Several[Id]
    uncompared: Several[Id]
    in_both: Several[ArmAssertionEntry]
    in_none: Several[ArmAssertionEntry]
