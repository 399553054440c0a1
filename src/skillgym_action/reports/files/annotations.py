"""Reporter: annotations, as workflow commands. GitHub shows ten of a kind for each step."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from skillgym_action.model.report import is_in_repository
from skillgym_action.reports.wording.failed_assertions import failed_assertions
from skillgym_action.reports.wording.first_glance import KINDS, FirstGlance
from skillgym_action.reports.wording.reasons import named_in_words, red_groups
from skillgym_action.reports.wording.results import (
    cause,
    finding_problems,
    is_unverified,
    location_of,
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
    """One line each: reasons as errors, unless they are those of the baseline; causes of missing results as warnings.

    Leaked keys and warnings are warnings, too.

    The reasons of a run that is red without any such execution are an error, too; of unverified results a warning.
    """
    glance = FirstGlance(report)
    red = [group for group in red_groups(report) if glance.kind_of(group[0]) != "fails-as-before"]
    yield from (_red(group, glance) for group in red[: _shown(len(red))])
    if rest := len(red) - _shown(len(red)):
        yield _command("error", None, f"{rest:,} more", f"{counted(rest, 'more reason')}: {_ELSEWHERE}")
    if not red and report.decision and not report.decision.passed:
        reasons = "; ".join(report.decision.reasons) or "no result"
        level: Literal["error", "warning"] = "warning" if is_unverified(report) else "error"
        yield _command(level, None, f"skillgym-action: {glance.title}", reasons)
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


def _red(results: Sequence[Result], glance: FirstGlance) -> str:
    """One line for a reason, at the first case that it is of; a warning if there is no result."""
    first, number = results[0], len(results)
    kind = glance.kind_of(first)
    reason = cause(first)
    message = failed_assertions(first, MAX_ANNOTATION_CHARACTERS).text()
    inside = reason.location if reason.location.path == first.suite.path else location_of(first)
    if kind == "unexpected":
        message += "; remove the expectation from the case if this is to stay"
    title = f"{counted(number, 'result')} {KINDS[kind][number > 1]}: {named_in_words(results)}"
    return _command("warning" if kind == "no-result" else "error", inside, title, message)


def _command(kind: str, location: Location | None, title: str, message: str) -> str:
    places: dict[str, object] = {}
    if location and is_in_repository(location):  # GitHub knows no other files
        places = {"file": location.path, "line": location.line, "col": location.column}
    parameters = {**places, "title": clipped(one_line(title), MAX_ANNOTATION_TITLE_CHARACTERS)}
    properties = ",".join(
        f"{name}={workflow_property(str(value))}" for name, value in parameters.items() if value is not None
    )
    return f"::{kind} {properties}::{workflow_message(clipped(message, MAX_ANNOTATION_CHARACTERS))}\n"
