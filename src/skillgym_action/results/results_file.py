"""The results file, schema 1: writes a run report as JSON, one execution per line.

The file contains everything that other reporters show, so they give the same output for a run that was read from it.
"""

from __future__ import annotations

import json
import os
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from skillgym_action.model.comparison import is_flaky, samples_of
from skillgym_action.model.errors import Problem
from skillgym_action.model.limits import MAX_RESULTS_BYTES, MAX_RESULTS_ROWS
from skillgym_action.model.totals import totals
from skillgym_action.results.mapping import write, writer
from skillgym_action.results.run_schema import RunEntry, SamplesEntry
from skillgym_action.results.schema import ResultEntry, RunnerHead, SuiteHead, TotalsEntry, WarningEntry
from skillgym_action.text.escaping import LONE_SURROGATE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from skillgym_action.model.report import RunReport
    from skillgym_action.model.result import Result
    from skillgym_action.model.runner import Runner
    from skillgym_action.model.session import AgentConfig
    from skillgym_action.model.suite import BenchmarkSuite
    from skillgym_action.model.totals import Totals

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
    deciding, of_others = by_runner(report.results), by_runner(report.deciding_nothing)
    yield '"runners": '
    yield from _lines(
        _runner_row(
            runner,
            deciding.get(runner.id, []),
            totals(deciding.get(runner.id, []), report.sampled_repetitions, of_others.get(runner.id, [])),
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


def unreadable(file: Path, report: RunReport) -> Iterator[Problem]:
    """Yield a warning for a results file that was written and is larger than any that is read."""
    rows = len(report.all_results) + len(report.warnings)
    for number, most, what in (
        (rows, MAX_RESULTS_ROWS, "results and warnings"),
        (os.stat(file).st_size, MAX_RESULTS_BYTES, "bytes"),
    ):
        if number > most:
            message = f"{file.name} has {number:,} {what}: files with more than {most:,} are not read again"
            yield Problem(message=message, remedy="report parts of the run, such as one for each suite")


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
    return text if text.isascii() else LONE_SURROGATE.sub("\ufffd", text)


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


def by_runner(results: Iterable[Result]) -> dict[str, list[Result]]:
    """Return results by the id of their runner; those without a runner are under an empty id."""
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
