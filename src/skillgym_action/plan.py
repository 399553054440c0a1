"""Stage: suites x runners -> executions, in the order results are shown in: case by case, runner by runner."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import count
from typing import TYPE_CHECKING

from skillgym_action.domain import Case, Execution, Unrunnable
from skillgym_action.runners import path_key

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillgym_action.domain import Runner, Suite
    from skillgym_action.options import PlanOptions


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """What will run, and what cannot."""

    suites: tuple[Suite, ...]
    runners: tuple[Runner, ...]
    executions: tuple[Execution, ...]
    unrunnable: tuple[Unrunnable, ...]


def plan(suites: tuple[Suite, ...], runners: tuple[Runner, ...], options: PlanOptions) -> Plan:
    """Every selected case on every selected runner; invalid cases and suites once. A shard takes every N-th entry."""
    numbers = count()
    executions, unrunnable = [], []
    shard, shards = options.shard
    for suite in suites:
        for invalid in suite.invalid:
            entry = Unrunnable(index=next(numbers), suite=suite, invalid=invalid)
            if entry.index % shards == shard - 1 and _selected(invalid.case_id or "*", (), options):
                unrunnable.append(entry)
        for case, runner in _pairs(suite, runners, options):
            execution = _execution(next(numbers), suite, case, runner, options)
            if execution.index % shards == shard - 1:
                executions.append(execution)
    return Plan(suites=suites, runners=runners, executions=tuple(executions), unrunnable=tuple(unrunnable))


def _pairs(suite: Suite, runners: tuple[Runner, ...], options: PlanOptions) -> Iterator[tuple[Case, Runner]]:
    for case in suite.cases:
        if _selected(case.id, case.tags, options) and (options.only is None or (suite.path, case.id) in options.only):
            yield from ((case, runner) for runner in runners if not case.runners or _any(runner.id, case.runners))


def _selected(case_id: str, tags: tuple[str, ...], options: PlanOptions) -> bool:
    """Tags are alternatives. ``*`` stands for a suite that could not be read: no filter hides it."""
    if options.cases and case_id != "*" and not _any(case_id, options.cases):
        return False
    return not options.tags or bool(set(tags) & set(options.tags)) or case_id == "*"


def _any(name: str, patterns: tuple[str, ...]) -> bool:
    return any(name == pattern or fnmatchcase(name, pattern) for pattern in patterns)


def _execution(index: int, suite: Suite, case: Case, runner: Runner, options: PlanOptions) -> Execution:
    return Execution(
        index=index,
        suite=suite,
        case=case,
        runner=runner,
        directory="/".join((path_key(suite.name), path_key(case.id), runner.path_key)),
        timeout=options.timeout or case.timeout or suite.default_timeout or options.default_timeout,
        budget=case.budget if case.budget is not None else runner.agent.budget,
        model=options.model or case.model or runner.agent.model,
    )
