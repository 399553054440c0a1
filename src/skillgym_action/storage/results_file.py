"""The results file, schema 1: writes a run report as JSON, one execution per line, and restores it.

The file contains everything that other reporters show, so they give the same output for a restored run. The decision is
written, but not restored: the gate decides again. Totals are written, and must agree with the results when read.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from math import isclose
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from skillgym_action.documents.located_values import key_path_text
from skillgym_action.limits import MAX_SHOWN_RESULTS_PROBLEMS
from skillgym_action.model.errors import Location, Problem, UsageError
from skillgym_action.model.samples import is_flaky, samples_of
from skillgym_action.model.totals import totals
from skillgym_action.model.verdicts import GREEN
from skillgym_action.storage.mapping import read, write, writer
from skillgym_action.storage.rates_schema import SamplesEntry
from skillgym_action.storage.results_schema import (
    ResultEntry,
    RunEntry,
    RunnerHead,
    SuiteHead,
    SuitesFromEntry,
    TotalsEntry,
    WarningEntry,
)
from skillgym_action.text.escaping import path_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from skillgym_action.documents.located_values import KeyPath
    from skillgym_action.model.execution import Runner
    from skillgym_action.model.result import Result
    from skillgym_action.model.run_report import RunReport
    from skillgym_action.model.session import AgentConfig
    from skillgym_action.model.suite import BenchmarkSuite
    from skillgym_action.model.totals import Totals
    from skillgym_action.storage.results_schema import Results

_ROUNDING = 1e-9  # sums of money depend on the order of their parts
_SURROGATE = re.compile("[\ud800-\udfff]")
result_row: Callable[[Result], dict[str, object]] = writer(ResultEntry)
"""Returns a result as a row of the file."""
_encoded = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


# --- writing ----------------------------------------------------------------------------------------


def render(report: RunReport) -> Iterator[str]:
    """Yield JSON text in pieces, one per execution."""
    yield '{"schema": 1,\n'
    yield f'"tool": {json_line({"name": "skillgym-action", "version": report.version})},\n'
    yield f'"run": {json_line(write(RunEntry, report))},\n'
    yield f'"totals": {json_line(write(TotalsEntry, report.totals()))},\n'
    by_runner, of_others = _by_runner(report.results), _by_runner(report.deciding_nothing)
    yield '"runners": '
    yield from _lines(
        _runner_row(
            runner,
            by_runner.get(runner.id, []),
            totals(by_runner.get(runner.id, []), report.sampled_repetitions, of_others.get(runner.id, [])),
        )
        for runner in report.runners
    )
    yield ',\n"suites": ['
    apart = {"otherArms": _rows_by_suite(report.other_arms), "quarantined": _rows_by_suite(report.quarantined)}
    for number, (suite, results) in enumerate(_by_suite(report)):
        head = json_line(write(SuiteHead, suite))
        yield f'{"," if number else ""}\n{head[:-1]}, "results": '
        yield from _lines(_row(result, report) for result in results)
        for key, by_suite in apart.items():
            if suite.path in by_suite:
                yield f', "{key}": '
                yield from _lines(_row(result, report) for result in by_suite[suite.path])
        yield "}"
    yield '],\n"warnings": '
    yield from _lines(write(WarningEntry, problem) for problem in report.warnings)
    yield "}\n"


def _row(result: Result, report: RunReport) -> dict[str, object]:
    row = result_row(result)
    if report.sampled_repetitions is not None:  # how many others there are depends on which of them failed
        row.pop("samples", None)
        samples = samples_of(result, report.sampled_repetitions)
        if samples.judged > 1:
            row["samples"] = write(SamplesEntry, samples)
        if not is_flaky(result, report.sampled_repetitions):
            row.pop("flaky", None)
    return row


def json_line(value: dict[str, object]) -> str:
    """Return JSON on one line. Lone surrogates, which some JSON parsers refuse, become U+FFFD."""
    text = _encoded(value)
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def _lines(rows: Iterable[dict[str, object]]) -> Iterator[str]:
    yield "["
    for number, row in enumerate(rows):
        yield f",\n{json_line(row)}" if number else f"\n{json_line(row)}"
    yield "]"


def _rows_by_suite(results: Iterable[Result]) -> dict[str, list[Result]]:
    found: dict[str, list[Result]] = {}
    for result in results:
        found.setdefault(result.suite.path, []).append(result)
    return found


def _by_suite(report: RunReport) -> Iterator[tuple[BenchmarkSuite, list[Result]]]:
    suites = {suite.path: suite for suite in report.suites}
    results: dict[str, list[Result]] = {path: [] for path in suites}
    for result in report.results:
        suites.setdefault(result.suite.path, result.suite)
        results.setdefault(result.suite.path, []).append(result)
    for path, suite in suites.items():
        yield suite, results[path]


def _by_runner(results: Iterable[Result]) -> dict[str, list[Result]]:
    """Results by the id of their runner; those without a runner are under an empty id."""
    found: dict[str, list[Result]] = {}
    for result in results:
        found.setdefault(result.runner.id if result.runner else "", []).append(result)
    return found


class _SeenRunner(NamedTuple):
    """A runner with the model and the version that its executions reported first."""

    id: str
    agent: AgentConfig
    version: str | None


def _runner_row(runner: Runner, results: list[Result], sums: Totals) -> dict[str, object]:
    model = runner.agent.model or next((result.model for result in results if result.model), None)
    version = next((result.version for result in results if result.version), None)
    seen = _SeenRunner(runner.id, replace(runner.agent, model=model), version)
    return write(RunnerHead, seen) | write(TotalsEntry, sums)


# --- reading -----------------------------------------------------------------------------------------


def restored(results: Results, file: Path) -> RunReport:
    """Return the run report that ``results`` were written from; ``file`` is how messages name it.

    Raises UsageError for contradictions, and for paths that lead out of the repository.
    """
    refuse(file, _contradictions(results))
    suites: dict[str, BenchmarkSuite] = {
        # ``file`` is the path of the suite when it ran; it is not read again
        suite.path: read(SuiteHead, suite, file=Path(suite.path))
        for suite in results.suites
    }
    runners: dict[str, Runner] = {
        runner.id: read(RunnerHead, runner, path_key=path_key(runner.id)) for runner in results.runners
    }

    def in_order(rows: Iterable[tuple[str, ResultEntry]]) -> tuple[Result, ...]:
        found = list(rows)
        numbered = [
            (position if row.index is None else row.index, path, row) for position, (path, row) in enumerate(found)
        ]
        if len({index for index, _, _ in numbered}) < len(numbered):  # merged runs, as older versions wrote them
            numbered = [(position, path, row) for position, (path, row) in enumerate(found)]
        numbered.sort(key=lambda entry: entry[0])
        return tuple(
            restored_result(row, index, suites[path], runners.get(row.runner_id or "")) for index, path, row in numbered
        )

    report: RunReport = read(
        RunEntry,
        results.run,
        version=results.tool.version,
        results=in_order((suite.path, row) for suite in results.suites for row in suite.results),
        other_arms=in_order((suite.path, row) for suite in results.suites for row in suite.other_arms),
        quarantined=in_order((suite.path, row) for suite in results.suites for row in suite.quarantined),
        suites=tuple(suites.values()),
        runners=tuple(runners.values()),
        warnings=tuple(read(WarningEntry, warning) for warning in results.warnings),
    )
    refuse(file, _wrong_totals(results, report))
    return report


def restored_result(row: ResultEntry, index: int, suite: BenchmarkSuite, runner: Runner | None) -> Result:
    """Return the result that a row was written from."""
    result: Result = read(ResultEntry, row, index=index, suite=suite, runner=runner)
    return result


def refuse(file: Path, found: Iterable[tuple[KeyPath, str]]) -> None:
    """Raise UsageError with the first few problems, if there are any."""
    problems = [
        Problem(message=message, location=Location(path=str(file)), key_path=key_path_text(key_path) or None)
        for key_path, message in found
    ]
    if (more := len(problems) - MAX_SHOWN_RESULTS_PROBLEMS) > 0:
        rest = Problem(message=f"and {more:,} more problems", location=Location(path=str(file)))
        problems = [*problems[:MAX_SHOWN_RESULTS_PROBLEMS], rest]
    if problems:
        raise UsageError.of(*problems)


# --- contradictions ---------------------------------------------------------------------------------


def _contradictions(results: Results) -> Iterator[tuple[KeyPath, str]]:
    yield from _duplicates(("runners", "id"), [runner.id for runner in results.runners])
    yield from _duplicates(("suites", "path"), [suite.path for suite in results.suites])
    if results.run.shard and not _is_shard(results.run.shard):
        yield ("run", "shard"), f"there is no part {results.run.shard}"
    for number, warning in enumerate(results.warnings):
        if warning.path is not None:
            yield from _outside(("warnings", number, "path"), warning.path)
    if suites_from := results.run.suites_from:
        yield from _suites_from_contradictions(suites_from)
    known = {runner.id for runner in results.runners}
    for number, suite in enumerate(results.suites):
        yield from _outside(("suites", number, "path"), suite.path)
        yield from _rows_contradictions(("suites", number, "results"), suite.results, known)
        yield from _rows_contradictions(("suites", number, "otherArms"), suite.other_arms, known, arms=True)
        yield from _rows_contradictions(("suites", number, "quarantined"), suite.quarantined, known)


def _rows_contradictions(
    at: tuple[str, int, str], rows: Iterable[ResultEntry], known: set[str], *, arms: bool = False
) -> Iterator[tuple[KeyPath, str]]:
    """What is wrong with the results of a suite. ``arms``: several of a case on a runner, each in an arm of its own."""
    seen: dict[tuple[str, str, str | None], int] = {}
    for position, row in enumerate(rows):
        here: KeyPath = (*at, position)
        yield from _row_contradictions(here, row)
        if arms and row.arm is None:
            yield here, "is in no arm"
        if row.runner_id is None:
            continue
        if row.runner_id not in known:
            yield (*here, "runnerId"), f"there is no runner {row.runner_id!r} in runners"
        first = seen.setdefault((row.case_id, row.runner_id, row.arm if arms else None), position)
        if first != position:
            yield here, f"is the same case on the same runner as {at[-1]}[{first}]"


def _suites_from_contradictions(suites_from: SuitesFromEntry) -> Iterator[tuple[KeyPath, str]]:
    for key in ("added", "changed", "removed"):
        for number, path in enumerate(getattr(suites_from, key)):
            yield from _outside(("run", "suitesFrom", key, number), path)


def _row_contradictions(at: KeyPath, row: ResultEntry) -> Iterator[tuple[KeyPath, str]]:
    if row.passed != (row.status in GREEN):
        yield (*at, "passed"), f"contradicts the status {row.status}"
    yield from _outside((*at, "location", "path"), row.location.path)
    if row.error and row.error.location:
        yield from _outside((*at, "error", "location", "path"), row.error.location.path)
    for number, outcome in enumerate(row.outcomes):
        if outcome.location:
            yield from _outside((*at, "outcomes", number, "location", "path"), outcome.location.path)


def _duplicates(key_path: tuple[str, str], names: list[str]) -> Iterator[tuple[KeyPath, str]]:
    container, key = key_path
    first: dict[str, int] = {}
    for number, name in enumerate(names):
        if first.setdefault(name, number) != number:
            yield (container, number, key), f"is the same as in {container}[{first[name]}]"


def _outside(key_path: KeyPath, path: str) -> Iterator[tuple[KeyPath, str]]:
    if path.startswith("/"):
        yield key_path, f"must be relative to the repository, not {path[:60]!r}"


def _is_shard(text: str) -> bool:
    part, parts = map(int, text.split("/"))
    return part <= parts


def _wrong_totals(results: Results, report: RunReport) -> Iterator[tuple[KeyPath, str]]:
    """Totals in the file that differ from the totals of its results."""
    yield from _differences(("totals",), results.totals, report.totals())
    by_runner, of_others = _by_runner(report.results), _by_runner(report.deciding_nothing)
    for number, runner in enumerate(results.runners):
        own, others = by_runner.get(runner.id, []), of_others.get(runner.id, [])
        yield from _differences(("runners", number), runner, totals(own, report.sampled_repetitions, others))


def _differences(at: KeyPath, stored: TotalsEntry, counted: Totals) -> Iterator[tuple[KeyPath, str]]:
    stored_values = dict(_values(stored.model_dump(by_alias=True)))
    for key_path, value in _values(write(TotalsEntry, counted)):
        if key_path not in stored_values:  # a file without intervals
            continue
        stored_value = stored_values[key_path]
        if stored_value != value and (
            stored_value is None or value is None or not isclose(stored_value, value, rel_tol=_ROUNDING)
        ):
            yield (*at, *key_path), f"is {stored_value}, but the results add up to {value}"


def _values(row: Mapping[str, Any]) -> Iterator[tuple[KeyPath, float | None]]:
    """Values with their key paths, including those of nested objects."""
    for key, value in row.items():
        if isinstance(value, dict):
            yield from (((key, *path), inner) for path, inner in _values(value))
        else:
            yield (key,), value
