"""Stage: suites x runners -> plan. Its order, case by case and runner by runner, is that of all reports."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from skillgym_action.filesystem.globs import matches
from skillgym_action.model.dependencies import dependency_groups
from skillgym_action.model.execution import Execution, Plan, Unrunnable
from skillgym_action.model.suite import BenchmarkCase, Invalid
from skillgym_action.settings.runners import no_runner, unknown_runner
from skillgym_action.text.escaping import path_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from skillgym_action.model.execution import Runner
    from skillgym_action.model.suite import BenchmarkSuite
    from skillgym_action.settings.options import PlanOptions


def plan(suites: tuple[BenchmarkSuite, ...], runners: tuple[Runner, ...], options: PlanOptions) -> Plan:
    """Every selected case on every selected runner; invalid cases and suites once. A shard gets every N-th entry.

    Raises UsageError if no runner is configured, or a selector matches none.
    """
    check_runner_selectors((*runners, *(runner for suite in suites for runner in suite.runners)), options)
    if not runners and any(suite.cases and not suite.runners for suite in suites):
        raise no_runner()
    numbers = count()
    executions, unrunnable = [], []
    used: dict[str, Runner] = {}
    shard, shards = options.shard
    for suite in suites:
        own = _runners(suite, runners, options)
        used |= {runner.id: runner for runner in own if not runner.problem and runner.id not in used}
        for invalid in (*suite.invalid, *(Invalid(problem=runner.problem) for runner in own if runner.problem)):
            entry = Unrunnable(index=next(numbers), suite=suite, invalid=invalid)
            if entry.index % shards == shard - 1 and _selected(invalid.case_id or "*", (), options):
                unrunnable.append(entry)
        first_index: dict[tuple[str, str], int] = {}  # of a group of cases on a runner
        groups = dependency_groups(suite.cases)
        for case, runner in _pairs(suite, own, options):
            execution = _execution(next(numbers), suite, case, runner, options)
            # Cases that depend on each other have to be in the same shard.
            position = first_index.setdefault((groups[case.id], runner.id), execution.index)
            if position % shards == shard - 1:
                executions.append(execution)
    return Plan(
        suites=suites,
        runners=tuple(used.values()) if suites else runners,
        executions=tuple(executions),
        unrunnable=tuple(unrunnable),
    )


def check_runner_selectors(runners: Iterable[Runner], options: PlanOptions) -> None:
    """Raises UsageError for a selector that matches none of ``runners``."""
    ids = dict.fromkeys(runner.id for runner in runners)
    for selector in options.runners:
        if not any(_matches_any(name, (selector,)) for name in ids):
            raise unknown_runner(selector, dict.fromkeys((*options.configured, *ids)))


def _runners(suite: BenchmarkSuite, runners: tuple[Runner, ...], options: PlanOptions) -> tuple[Runner, ...]:
    """The runners of a suite: its own ones that are selected; if there are none, the selected ones of the run."""
    ids = {runner.id for runner in suite.runners}
    if options.only is not None:
        return tuple(runner for runner in runners if not ids or runner.id in ids)
    return (
        tuple(runner for runner in suite.runners if not options.runners or _matches_any(runner.id, options.runners))
        or runners
    )


def _pairs(
    suite: BenchmarkSuite, runners: tuple[Runner, ...], options: PlanOptions
) -> Iterator[tuple[BenchmarkCase, Runner]]:
    fit = [runner for runner in runners if not runner.problem]
    for case in suite.cases:
        if _selected(case.id, case.tags, options) and (options.only is None or (suite.path, case.id) in options.only):
            yield from ((case, runner) for runner in fit if not case.runners or _matches_any(runner.id, case.runners))


def _selected(case_id: str, tags: tuple[str, ...], options: PlanOptions) -> bool:
    """Whether the filters select a case; one of several tags is enough. "*": an invalid suite, always selected."""
    if options.cases and case_id != "*" and not _matches_any(case_id, options.cases):
        return False
    return not options.tags or any(_matches_any(tag, options.tags) for tag in tags) or case_id == "*"


def _matches_any(name: str, patterns: tuple[str, ...]) -> bool:
    """Whether one of the patterns matches the name. A name with ``[`` in it matches itself, too."""
    return any(name == pattern or matches(name, pattern) for pattern in patterns)


def _execution(
    index: int, suite: BenchmarkSuite, case: BenchmarkCase, runner: Runner, options: PlanOptions
) -> Execution:
    return Execution(
        index=index,
        suite=suite,
        case=case,
        runner=runner,
        directory="/".join((path_key(suite.name), path_key(case.id), runner.path_key)),
        timeout=(
            options.timeout or case.timeout or runner.agent.timeout or suite.default_timeout or options.default_timeout
        ),
        budget=case.budget if case.budget is not None else runner.agent.budget,
        model=options.model or case.model or runner.agent.model,
        limits=options.limits.tightest((case.workspace or suite.workspace).limits) or None,
        repetitions=options.repetitions.get((suite.path, case.id, runner.id)),
    )
