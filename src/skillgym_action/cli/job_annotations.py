"""Annotations of problems, which GitHub shows beside the files of the commit."""

from __future__ import annotations

import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from skillgym_action.model.errors import Problem
from skillgym_action.reports.files.annotations import problem_annotations
from skillgym_action.system.processes.github_job import is_github_job
from skillgym_action.text.redaction import Redactor
from skillgym_action.workspaces.repository.repository import repository_root

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from skillgym_action.model.report import RunWithoutReport

ELSEWHERE = "the log lists all of them"


def annotate_check(end: RunWithoutReport, environment: Mapping[str, str]) -> None:
    """Annotate why the command ``check`` ended with an error, if it runs in a job on GitHub."""
    if is_github_job(environment):
        annotate(end.problems, (), Redactor.of_environment(environment))


def annotate(errors: Sequence[Problem], warnings: Sequence[Problem], redactor: Redactor) -> None:
    """Print annotations on standard output. Raises OSError."""
    kinds: tuple[tuple[Literal["error", "warning"], Sequence[Problem]], ...] = (
        ("error", errors),
        ("warning", warnings),
    )
    for kind, problems in kinds:
        for line in problem_annotations(
            kind, [with_location(redactor.redacted(problem)) for problem in problems], ELSEWHERE
        ):
            sys.stdout.write(redactor.text(line))
    sys.stdout.flush()


def with_location(problem: Problem) -> Problem:
    """The problem; a location that is no file of the checkout, such as an input, becomes a part of the message."""
    with suppress(OSError, ValueError):
        if problem.location is None or (repository_root(Path.cwd()) / problem.location.path).is_file():
            return problem
    return Problem(message=str(replace(problem, remedy=None)), remedy=problem.remedy)
