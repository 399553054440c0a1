"""What is wrong with suites, as it is printed: what several suites have in common is said once, with their names."""

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
    """The problems, in order. Those that say the same of several suites are one, with the places of the others.

    A problem in a file that is not the suite's own, such as ``targets.yaml``, names the suites that it is of.
    """
    groups: dict[object, list[Found]] = {}
    for suite, problem in found:
        in_own_file = problem.location is not None and problem.location.path == suite
        key = (problem.message, problem.remedy, problem.key_path, None if in_own_file else problem.location)
        group = groups.setdefault(key, [])
        if in_own_file and any(suite == other for other, _ in group):  # twice in one suite: these are two mistakes
            group = groups.setdefault((key, problem.location), [])
        group.append((suite, problem))
    for group in groups.values():
        yield _one(group)


def _one(group: list[Found]) -> Problem:
    suite, problem = group[0]
    if problem.location is None or problem.location.path == suite:
        places = [str(other.location) for _, other in group[1:] if other.location]
        return _with(problem, f"; the same in {listed(places)}" if places else "")
    suites = list(dict.fromkeys(path for path, _ in group if path))
    return _with(problem, f" (suite{'s' if len(suites) > 1 else ''} {listed(suites)})" if suites else "")


def _with(problem: Problem, words: str) -> Problem:
    return replace(problem, message=problem.message + words)
