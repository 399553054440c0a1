"""Reporter: annotations, as workflow commands. GitHub shows ten of a kind for each step."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from skillgym_action.model.report import is_in_repository
from skillgym_action.model.verdicts import RED, Status
from skillgym_action.reports.wording.failed_assertions import failed_assertions
from skillgym_action.reports.wording.results import (
    case_name,
    cause,
    finding_problems,
    headline,
    is_unverified,
    location_of,
    runner_id,
)
from skillgym_action.text.escaping import clipped, one_line, workflow_message, workflow_property
from skillgym_action.text.words import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from skillgym_action.model.errors import Location, Problem
    from skillgym_action.model.report import RunReport
    from skillgym_action.model.result import Result

MAX_ANNOTATIONS = 10  # of a kind: GitHub shows no more for a step
MAX_ANNOTATION_CHARACTERS = 4_096
MAX_ANNOTATION_TITLE_CHARACTERS = 255
_ELSEWHERE = "the job summary and the results file list all of them"


def render(report: RunReport) -> Iterator[str]:
    """One line each: what is red as errors, failed before errored; leaked keys and warnings as warnings.

    The reasons of a run that is red without any such execution are an error, too; of unverified results a warning.
    """
    red = sorted(
        (result for result in report.results if result.status in RED), key=lambda result: RED.index(result.status)
    )
    yield from map(_red, red[: _shown(len(red))])
    if rest := len(red) - _shown(len(red)):
        yield _command("error", None, f"{rest:,} more", f"{counted(rest, 'more execution')} not green: {_ELSEWHERE}")
    if not red and report.decision and not report.decision.passed:
        reasons = "; ".join(report.decision.reasons) or "no result"
        level: Literal["error", "warning"] = "warning" if is_unverified(report) else "error"
        yield _command(level, None, f"skillgym-action: {headline(report)}", reasons)
    yield from problem_annotations("warning", (*finding_problems(report), *report.warnings), _ELSEWHERE)


def problem_annotations(
    kind: Literal["error", "warning"], problems: Sequence[Problem], elsewhere: str
) -> Iterator[str]:
    """One line for each problem; the tenth and last counts the rest, and says where all of them are."""
    for problem in problems[: _shown(len(problems))]:
        yield _command(kind, problem.location, "skillgym-action", str(replace(problem, location=None)))
    if rest := len(problems) - _shown(len(problems)):
        yield _command(kind, None, f"{rest:,} more", f"{counted(rest, f'more {kind}')}: {elsewhere}")


def _shown(found: int) -> int:
    """How many get their own line; the last line is used for the number of the rest."""
    return found if found <= MAX_ANNOTATIONS else MAX_ANNOTATIONS - 1


def _red(result: Result) -> str:
    reason = cause(result)
    message = failed_assertions(result, MAX_ANNOTATION_CHARACTERS).text()
    inside = reason.location if reason.location.path == result.suite.path else location_of(result)
    if result.status is Status.UNEXPECTED_PASSED:
        message += "; remove the expectation from the case if this is to stay"
    return _command("error", inside, f"{case_name(result)} on {runner_id(result)}: {reason.label}", message)


def _command(kind: str, location: Location | None, title: str, message: str) -> str:
    places: dict[str, object] = {}
    if location and is_in_repository(location):  # GitHub knows no other files
        places = {"file": location.path, "line": location.line, "col": location.column}
    parameters = {**places, "title": clipped(one_line(title), MAX_ANNOTATION_TITLE_CHARACTERS)}
    properties = ",".join(
        f"{name}={workflow_property(str(value))}" for name, value in parameters.items() if value is not None
    )
    return f"::{kind} {properties}::{workflow_message(clipped(message, MAX_ANNOTATION_CHARACTERS))}\n"
