"""Values of the results file that are computed when it is written."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from skillgym_action.limits import MAX_FINAL_OUTPUT_CHARACTERS
from skillgym_action.model.errors import Location
from skillgym_action.model.result import Failure
from skillgym_action.model.scores import SCORE_DIGITS
from skillgym_action.storage.mapping import FieldSource
from skillgym_action.text.escaping import tail

if TYPE_CHECKING:
    from skillgym_action.model.errors import Problem
    from skillgym_action.model.result import Result
    from skillgym_action.model.verdicts import Status


def in_repository(location: Location) -> Location | None:
    """Return the location as a file has it; None for one outside of the repository, which suites may report."""
    return _counting_from_one(location) if _is_inside(location.path) else None


def _is_inside(path: str) -> bool:
    return "\0" not in path and all(part not in ("", ".", "..") for part in path.split("/"))


def _counting_from_one(location: Location) -> Location:
    """Lines and columns that do not count from 1 are dropped; agents and suites may report any number."""
    line, column = location.line, location.column
    if (line is None or line > 0) and (column is None or column > 0):
        return location
    line, column = (number if number and number > 0 else None for number in (line, column))
    return Location(path=location.path, line=line, column=column)


def case_location(result: Result) -> Location:
    """The suite's own path counts, wherever it is."""
    location, suite = result.location, result.suite.path
    if location and location.path == suite:
        return _counting_from_one(location)
    return (location and in_repository(location)) or Location(path=suite)


def rounded(score: float) -> float | None:
    """The score with ``SCORE_DIGITS`` digits; None for one that is no finite number."""
    return round(score, SCORE_DIGITS) if math.isfinite(score) else None


def error_of(result: Result) -> Failure | None:
    """The failure; a reason without one is written as an error that is named like the status."""
    judgement = result.judgement
    if judgement.failure or not judgement.reason:
        return judgement.failure
    return Failure(name=str(judgement.status), message=judgement.reason)


def end_of_output(output: str) -> str:
    """At most ``MAX_FINAL_OUTPUT_CHARACTERS`` characters, the last ones."""
    return tail(output, MAX_FINAL_OUTPUT_CHARACTERS)


def part_of_location(name: str) -> FieldSource:
    """The source of a part of a problem's location; null outside of the repository."""

    def part(problem: Problem) -> object:
        return getattr(problem.location and in_repository(problem.location), name, None)

    return FieldSource(read=False, compute=part)


def count_of(status: Status) -> FieldSource:
    """The source of the number of executions with a status."""
    return FieldSource(compute=lambda totals: totals.counts[status])
