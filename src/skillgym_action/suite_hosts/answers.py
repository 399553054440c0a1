"""What suite hosts answer, as the outcomes it stands for."""

from __future__ import annotations

from typing import Any

from skillgym_action.model.errors import Location
from skillgym_action.model.result import FollowUp, Outcome
from skillgym_action.model.verdicts import FailureClass


def _told(*, passed: bool | None, explanation: str, **more: Any) -> Outcome:
    return Outcome(assertion="check", type="check", passed=passed, explanation=explanation, **more)


PASSED = _told(passed=True, explanation="the check returned")


def undecided(explanation: str, evidence: str | None = None) -> Outcome:
    """The check could not say."""
    return _told(passed=None, explanation=explanation, evidence=evidence or None, trouble="assert-hook")


def outcome_of(failure: dict[str, Any]) -> Outcome:
    """What a check raised: a verdict, or a crash of its own."""
    more = {
        "location": place_of(failure.get("location")),
        "failure_class": class_of(failure.get("failureClass")),
        "follow_ups": tuple(map(_follow_up, failure.get("questions") or ())),
    }
    if failure["kind"] == "assertion":
        return _told(passed=False, explanation=failure["message"], **more)
    explanation = f"the check raised {failure['name']}: {failure['message']}"
    return _told(passed=None, explanation=explanation, evidence=failure.get("trace"), trouble="assert-hook", **more)


def _follow_up(told: dict[str, Any]) -> FollowUp:
    return FollowUp(question=str(told["question"]), source=place_of(told.get("location")))


def class_of(found: dict[str, Any] | None) -> FailureClass | None:
    """What a classifier said."""
    return FailureClass(id=found["id"], label=found["label"]) if found else None


def place_of(place: Any) -> Location | None:
    """Where in the author's files it is."""
    if not isinstance(place, dict) or not isinstance(place.get("path"), str):
        return None
    return Location(path=place["path"], line=place.get("line"), column=place.get("column"))
