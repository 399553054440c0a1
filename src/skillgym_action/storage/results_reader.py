"""A results file as the run report it was made of. What can be counted is counted, and has to agree with what is told.

The decision is not restored: it is the gate's, every time anew.
"""

from __future__ import annotations

from math import isclose
from pathlib import Path
from typing import TYPE_CHECKING

from skillgym_action.documents.located_values import key_path_text
from skillgym_action.model.errors import Location, Problem, UsageError
from skillgym_action.model.execution import Runner
from skillgym_action.model.findings import Finding
from skillgym_action.model.result import Attempt, Failure, Judgement, Outcome, Result
from skillgym_action.model.run_report import RunReport, SuitesFrom
from skillgym_action.model.session import AgentConfig
from skillgym_action.model.session_report import Cost, Usage
from skillgym_action.model.suite import Suite
from skillgym_action.model.totals import totals
from skillgym_action.model.verdicts import GREEN, FailureClass, Status
from skillgym_action.text.escaping import path_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from skillgym_action.documents.located_values import KeyPath
    from skillgym_action.model.totals import Totals
    from skillgym_action.storage import results_schema

SHOWN = 5  # problems of one file
TOKENS = ("input", "output", "reasoning", "cache", "total")
_ROUNDING = 1e-9  # sums of money depend on the order of their parts


def restored(results: results_schema.Results, file: Path) -> RunReport:
    """The run report that ``results`` tells of; ``file`` is how messages name it.

    Raises UsageError for what contradicts itself or leads out of the repository.
    """
    refuse(file, _contradictions(results))
    run = results.run
    suites = {suite.path: _suite(suite) for suite in results.suites}
    runners = {runner.id: _runner(runner) for runner in results.runners}
    rows = [(suites[suite.path], row) for suite in results.suites for row in suite.results]
    numbered = [(place if row.index is None else row.index, suite, row) for place, (suite, row) in enumerate(rows)]
    numbered.sort(key=lambda one: one[0])
    report = RunReport(
        id=run.id,
        version=results.tool.version,
        command=run.command,
        started_at=run.started_at,
        ended_at=run.ended_at,
        duration_ms=run.duration_ms,
        results=tuple(result(row, index, suite, runners.get(row.runner_id or "")) for index, suite, row in numbered),
        suites=tuple(suites.values()),
        runners=tuple(runners.values()),
        warnings=tuple(map(_warning, results.warnings)),
        cancelled=run.status == "cancelled",
        commit=run.commit,
        shard=run.shard,
        incomplete=run.incomplete,
        suites_from=_suites_from(run.suites_from) if run.suites_from else None,
    )
    refuse(file, _miscounted(results, report))
    return report


def _suites_from(told: results_schema.SuitesFrom) -> SuitesFrom:
    return SuitesFrom(
        folder=told.folder,
        commit=told.commit,
        added=told.added,
        changed=told.changed,
        removed=told.removed,
        configuration_differs=told.configuration_differs,
    )


def refuse(file: Path, found: Iterable[tuple[KeyPath, str]]) -> None:
    """Raise UsageError with the first few problems, if there are any."""
    problems = [
        Problem(message=message, location=Location(path=str(file)), key_path=key_path_text(key_path) or None)
        for key_path, message in found
    ]
    if len(problems) > SHOWN:
        more = Problem(message=f"and {len(problems) - SHOWN:,} more problems", location=Location(path=str(file)))
        problems = [*problems[:SHOWN], more]
    if problems:
        raise UsageError.of(*problems)


# --- what must agree --------------------------------------------------------------------------------


def _contradictions(results: results_schema.Results) -> Iterator[tuple[KeyPath, str]]:
    yield from _doubles(("runners", "id"), [runner.id for runner in results.runners])
    yield from _doubles(("suites", "path"), [suite.path for suite in results.suites])
    if results.run.shard and not _is_shard(results.run.shard):
        yield ("run", "shard"), f"there is no part {results.run.shard}"
    for number, warning in enumerate(results.warnings):
        if warning.path is not None:
            yield from _outside(("warnings", number, "path"), warning.path)
    if told := results.run.suites_from:
        yield from _contradictions_of_origin(told)
    known = {runner.id for runner in results.runners}
    for number, suite in enumerate(results.suites):
        yield from _outside(("suites", number, "path"), suite.path)
        seen: dict[tuple[str, str], int] = {}
        for place, row in enumerate(suite.results):
            at: KeyPath = ("suites", number, "results", place)
            yield from _contradictions_of(at, row)
            if row.runner_id is None:
                continue
            if row.runner_id not in known:
                yield (*at, "runnerId"), f"there is no runner {row.runner_id!r} in runners"
            first = seen.setdefault((row.case_id, row.runner_id), place)
            if first != place:
                yield at, f"is the same case on the same runner as results[{first}]"


def _contradictions_of_origin(told: results_schema.SuitesFrom) -> Iterator[tuple[KeyPath, str]]:
    for key, paths in (("added", told.added), ("changed", told.changed), ("removed", told.removed)):
        for number, path in enumerate(paths):
            yield from _outside(("run", "suitesFrom", key, number), path)


def _contradictions_of(at: KeyPath, row: results_schema.Result) -> Iterator[tuple[KeyPath, str]]:
    if row.passed != (row.status in GREEN):
        yield (*at, "passed"), f"contradicts the status {row.status}"
    yield from _outside((*at, "location", "path"), row.location.path)
    if row.error and row.error.location:
        yield from _outside((*at, "error", "location", "path"), row.error.location.path)
    for number, outcome in enumerate(row.outcomes):
        if outcome.location:
            yield from _outside((*at, "outcomes", number, "location", "path"), outcome.location.path)


def _doubles(key_path: tuple[str, str], names: list[str]) -> Iterator[tuple[KeyPath, str]]:
    container, key = key_path
    first: dict[str, int] = {}
    for number, name in enumerate(names):
        if first.setdefault(name, number) != number:
            yield (container, number, key), f"is that of {container}[{first[name]}], too"


def _outside(key_path: KeyPath, path: str) -> Iterator[tuple[KeyPath, str]]:
    if path.startswith("/"):
        yield key_path, f"must be relative to the repository, not {path[:60]!r}"


def _is_shard(text: str) -> bool:
    part, parts = map(int, text.split("/"))
    return part <= parts


def _miscounted(results: results_schema.Results, report: RunReport) -> Iterator[tuple[KeyPath, str]]:
    """Every sum that the results do not come to."""
    yield from _differences(("totals",), results.totals, report.totals())
    own: dict[str, list[Result]] = {}
    for result in report.results:
        own.setdefault(result.runner.id if result.runner else "", []).append(result)
    for number, runner in enumerate(results.runners):
        yield from _differences(("runners", number), runner, totals(own.get(runner.id, [])))


def _differences(at: KeyPath, told: results_schema.Totals, found: Totals) -> Iterator[tuple[KeyPath, str]]:
    figures: list[tuple[KeyPath, float | None, float | None]] = [
        (("executions",), told.executions, found.executions),
        (("judged",), told.judged, found.judged),
        (("passed",), told.passed, found.counts[Status.PASSED]),
        (("failed",), told.failed, found.counts[Status.FAILED]),
        (("expectedFailed",), told.expected_failed, found.counts[Status.EXPECTED_FAILED]),
        (("unexpectedPassed",), told.unexpected_passed, found.counts[Status.UNEXPECTED_PASSED]),
        (("errored",), told.errored, found.counts[Status.ERRORED]),
        (("skipped",), told.skipped, found.counts[Status.SKIPPED]),
        (("passRate",), told.pass_rate, found.pass_rate),
        (("costUsd",), told.cost_usd, found.cost_usd),
        (("costComplete",), told.cost_complete, found.cost_complete),
        (("retries",), told.retries, found.retries),
    ]
    figures += [
        (("tokens", name), getattr(told.tokens, name), getattr(found.tokens, f"{name}_tokens")) for name in TOKENS
    ]
    for key_path, one, other in figures:
        if one != other and (one is None or other is None or not isclose(one, other, rel_tol=_ROUNDING)):
            yield (*at, *key_path), f"is {one}, but the results come to {other}"


# --- the nouns --------------------------------------------------------------------------------------


def _suite(told: results_schema.Suite) -> Suite:
    """``file`` is where it was: nobody reads it again."""
    return Suite(
        path=told.path,
        file=Path(told.path),
        name=told.name,
        format=told.format,
        digest=told.digest,
        changed=told.changed,
    )


def _runner(told: results_schema.Runner) -> Runner:
    return Runner(id=told.id, path_key=path_key(told.id), agent=AgentConfig(type=told.agent, model=told.model))


def result(told: results_schema.Result, index: int, suite: Suite, runner: Runner | None) -> Result:
    """The result that a row tells of."""
    return Result(
        index=index,
        suite=suite,
        case_id=told.case_id,
        judgement=_judgement(told),
        runner=runner,
        location=_location(told.location),
        tags=told.tags,
        expected_fail=told.expected_fail,
        duration_ms=told.duration_ms,
        usage=_usage(told.usage),
        cost=Cost(usd=told.cost_usd, source=told.cost_source),
        model=told.model,
        version=told.version,
        attempts=tuple(map(_attempt, told.attempts)),
        findings=tuple(Finding(id=one.id, kind=one.kind, where=one.where) for one in told.findings),
        directory=told.artifact_dir,
        prompt=told.prompt,
        final_output=told.final_output,
        session_id=told.session_id,
    )


def _judgement(told: results_schema.Result) -> Judgement:
    """An error that is called like the status is a reason without a failure."""
    error = told.error
    reason = error.message if error and error.name == told.status else None
    failure = None
    if error and reason is None:
        failure = Failure(name=error.name, message=error.message, location=_location(error.location))
    return Judgement(
        status=told.status,
        outcomes=tuple(map(_outcome, told.outcomes)),
        score=told.score,
        threshold=told.threshold,
        origin=told.failure_origin,
        failure_class=_class(told.failure_class),
        failure=failure,
        reason=reason,
    )


def _outcome(told: results_schema.Outcome) -> Outcome:
    return Outcome(
        assertion=told.assertion,
        type=told.type,
        passed=told.passed,
        explanation=told.explanation,
        evidence=told.evidence,
        score=told.score,
        weight=told.weight,
        location=_location(told.location),
        failure_class=_class(told.failure_class),
    )


def _attempt(told: results_schema.Attempt) -> Attempt:
    return Attempt(
        repetition=told.repetition,
        session=told.session,
        status=told.status,
        duration_ms=told.duration_ms,
        directory=told.artifact_dir,
        failure_class=_class(told.failure_class),
        message=told.message,
    )


def _usage(told: results_schema.Usage) -> Usage:
    return Usage(
        input_tokens=told.input_tokens,
        output_tokens=told.output_tokens,
        reasoning_tokens=told.reasoning_tokens,
        cache_tokens=told.cache_tokens,
        total_tokens=told.total_tokens,
        input_chars=told.input_chars,
        output_chars=told.output_chars,
        reasoning_chars=told.reasoning_chars,
    )


def _warning(told: results_schema.Warning) -> Problem:
    location = Location(path=told.path, line=told.line, column=told.column) if told.path is not None else None
    return Problem(message=told.message, location=location)


def _class(told: results_schema.FailureClass | None) -> FailureClass | None:
    return FailureClass(id=told.id, label=told.label) if told else None


def _location(told: results_schema.Location | None) -> Location | None:
    return Location(path=told.path, line=told.line, column=told.column) if told else None
