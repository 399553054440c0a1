"""The forms of a judge's answers: a score of its own, a decision on each rubric, or points for each."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field, model_validator

from skillgym_action.agentv.rubrics import BEST

Said = Annotated[str, Field(description="one or two sentences")]


class Looked(BaseModel):
    """One thing the judge looked at."""

    text: Annotated[str, Field(description="what was looked at, in brief")]
    passed: bool
    evidence: Said | None = None


class FreeForm(BaseModel):
    """A score, and reasons."""

    score: Annotated[float, Field(ge=0, le=1, description="how well the criteria are met")]
    assertions: list[Looked] = []


class Decided(BaseModel):
    """The decision on one rubric."""

    id: Annotated[str, Field(description="the rubric's id")]
    satisfied: bool
    reasoning: Said = ""


class Checklist(BaseModel):
    """A decision on each rubric."""

    checks: list[Decided]
    overall_reasoning: Said = ""


class Pointed(BaseModel):
    """The points of one rubric."""

    id: Annotated[str, Field(description="the rubric's id")]
    score: Annotated[int, Field(ge=0, le=BEST, description="points; the rubric says what earns how many")]
    reasoning: Said = ""


class Points(BaseModel):
    """Points for each rubric."""

    checks: list[Pointed]
    overall_reasoning: Said = ""


def checklist_of(ids: tuple[str, ...]) -> type[Checklist]:
    """The form that holds a decision on every one of ``ids``."""

    class Complete(Checklist):
        __doc__ = Checklist.__doc__

        @model_validator(mode="after")
        def _is_complete(self) -> Complete:
            _refuse_incomplete(ids, {check.id for check in self.checks})
            return self

    return Complete


def points_of(ids: tuple[str, ...]) -> type[Points]:
    """The form that holds points for every one of ``ids``."""

    class Complete(Points):
        __doc__ = Points.__doc__

        @model_validator(mode="after")
        def _is_complete(self) -> Complete:
            _refuse_incomplete(ids, {check.id for check in self.checks})
            return self

    return Complete


def _refuse_incomplete(ids: tuple[str, ...], told: set[str]) -> None:
    if missing := [one for one in ids if one not in told]:
        raise ValueError(f"there is no check with the id {' or '.join(missing)}")
