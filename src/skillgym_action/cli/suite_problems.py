"""What is wrong with suites, as it is printed: a problem of a file that several share once, with their names."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from skillgym_action.reporters.wording import listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from skillgym_action.model.errors import Problem
    from skillgym_action.model.suite import BenchmarkSuite

Found = tuple[str, "Problem"]
"""The path of a suite, and a problem of it."""


def suite_errors(suites: Iterable[BenchmarkSuite]) -> Iterator[Found]:
    """What keeps suites, cases and runners of suites from being used."""
    for suite in suites:
        yield from ((suite.path, invalid.problem) for invalid in suite.invalid)
        yield from ((suite.path, runner.problem) for runner in suite.runners if runner.problem)


def suite_warnings(suites: Iterable[BenchmarkSuite]) -> Iterator[Found]:
    """What is dubious in suites."""
    return ((suite.path, warning) for suite in suites for warning in suite.warnings)


def once(found: Iterable[Found]) -> tuple[Problem, ...]:
    """Each problem once: many suites may have it from the same file."""
    return tuple(dict.fromkeys(problem for _, problem in found))


def gathered(found: Iterable[Found]) -> Iterator[Problem]:
    """Each problem once, in order. One in a file that suites share, such as ``targets.yaml``, names the suites."""
    groups: dict[Problem, list[str]] = {}
    for suite, problem in found:
        groups.setdefault(problem, []).append(suite)
    for problem, paths in groups.items():
        in_own_file = problem.location is None or problem.location.path in paths
        suites = [] if in_own_file else list(dict.fromkeys(path for path in paths if path))
        words = f" (suite{'s' if len(suites) > 1 else ''} {listed(suites)})" if suites else ""
        yield replace(problem, message=problem.message + words)
