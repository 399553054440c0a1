"""Reporter: annotations, as workflow commands. GitHub shows ten of a kind for each step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillgym_action.limits import MAX_ANNOTATION_CHARACTERS, MAX_ANNOTATION_TITLE_CHARACTERS, MAX_ANNOTATIONS
from skillgym_action.model.links import is_in_repository
from skillgym_action.model.verdicts import Status
from skillgym_action.reporters.failed_assertions import failed_assertions
from skillgym_action.reporters.wording import RED, cause, counted, finding_problems, place, runner_id
from skillgym_action.text.escaping import clipped, one_line, workflow_message, workflow_property

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillgym_action.model.errors import Location, Problem
    from skillgym_action.model.result import Result
    from skillgym_action.model.run_report import RunReport

_ELSEWHERE = "the job summary and the results file list all of them"


def render(report: RunReport) -> Iterator[str]:
    """One line each: what is red as errors, failed before errored; leaked keys and warnings as warnings."""
    red = sorted(
        (result for result in report.results if result.status in RED), key=lambda result: RED.index(result.status)
    )
    yield from map(_red, red[: _shown(len(red))])
    if rest := len(red) - _shown(len(red)):
        yield _command("error", None, f"{rest:,} more", f"{counted(rest, 'more execution')} not green: {_ELSEWHERE}")
    warnings = (*finding_problems(report), *report.warnings)
    yield from map(_warning, warnings[: _shown(len(warnings))])
    if rest := len(warnings) - _shown(len(warnings)):
        yield _command("warning", None, f"{rest:,} more", f"{counted(rest, 'more warning')}: {_ELSEWHERE}")


def _shown(found: int) -> int:
    """How many get their own line; the last line is used for the number of the rest."""
    return found if found <= MAX_ANNOTATIONS else MAX_ANNOTATIONS - 1


def _red(result: Result) -> str:
    reason = cause(result)
    message = failed_assertions(result, MAX_ANNOTATION_CHARACTERS).text()
    inside = reason.location if reason.location.path == result.suite.path else place(result)
    if result.status is Status.UNEXPECTED_PASSED:
        message += "; remove the expectation from the case if this is to stay"
    return _command("error", inside, f"{result.case_id} on {runner_id(result)}: {reason.label}", message)


def _warning(problem: Problem) -> str:
    message = f"{problem.key_path}: {problem.message}" if problem.key_path else problem.message
    return _command(
        "warning", problem.location, "skillgym-action", f"{message}; {problem.remedy}" if problem.remedy else message
    )


def _command(kind: str, location: Location | None, title: str, message: str) -> str:
    places: dict[str, object] = {}
    if location and is_in_repository(location):  # GitHub knows no other files
        places = {"file": location.path, "line": location.line, "col": location.column}
    parameters = {**places, "title": clipped(one_line(title), MAX_ANNOTATION_TITLE_CHARACTERS)}
    properties = ",".join(
        f"{name}={workflow_property(str(value))}" for name, value in parameters.items() if value is not None
    )
    return f"::{kind} {properties}::{workflow_message(clipped(message, MAX_ANNOTATION_CHARACTERS))}\n"
