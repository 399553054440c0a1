"""The finished view of a run: all that a report template may show, escaped for Markdown, formatted, and made to fit."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from itertools import groupby
from typing import TYPE_CHECKING

from skillgym_action.domain import totals as totals_of
from skillgym_action.reporters.rows import MESSAGE, NOTHING, Row, code, failed_row, inline, ours, row_of, unexpected_row
from skillgym_action.stats import wilson
from skillgym_action.text import clipped, markdown_inline
from skillgym_action.verdicts import TROUBLES, Status
from skillgym_action.wording import (
    amount,
    cause,
    counted,
    duration,
    money,
    percent,
    tallied,
    verdict,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from markupsafe import Markup

    from skillgym_action.domain import Result, RunReport, Totals

OVERHEAD, OVERHEAD_IN_TABLE = 110, 0  # characters a template adds to a row
NO_BREAK = "\u00a0"
PROVENANCE = 10  # runners
_TITLES = {"passed": "✅ Passed", "failed": "❌ Failed", "inconclusive": "⚠️ Inconclusive"}
_SIGNS = {
    Status.PASSED: "✅",
    Status.FAILED: "❌",
    Status.EXPECTED_FAILED: "☑️",
    Status.UNEXPECTED_PASSED: "❗",
    Status.ERRORED: "⚠️",
    Status.SKIPPED: "⏭️",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Section:
    """Rows of one kind. ``title`` is empty when there are none; ``left_out`` says how many had no room."""

    title: Markup = NOTHING
    rows: tuple[Row, ...] = ()
    left_out: Markup = NOTHING


@dataclass(frozen=True, kw_only=True, slots=True)
class Group:
    """Errored executions with one cause, and what to do about it."""

    title: Markup
    remedy: Markup
    rows: tuple[Row, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Table:
    """A table: ``rule`` is the line of dashes below the head."""

    head: tuple[Markup, ...]
    rule: Markup
    rows: tuple[tuple[Markup, ...], ...]
    left_out: Markup = NOTHING


@dataclass(frozen=True, kw_only=True, slots=True)
class View:
    """All of a report."""

    title: Markup
    tally: Markup
    facts: Markup
    reasons: tuple[Markup, ...]
    runners: Table
    failed: Section
    unexpected: Section
    errored: Section
    errored_groups: tuple[Group, ...]
    coverage: Markup
    warnings: tuple[Markup, ...]
    warnings_title: Markup
    skipped: Section
    expected: Section
    passed: Section
    provenance: Markup


@dataclass(slots=True)
class _Room:
    """What is left of a limit. Once something has not fitted, nothing does: reports lose whole rows, from the end."""

    left: int
    measure: Callable[[str], int]
    full: bool = False

    def holds(self, strings: Iterable[str], overhead: int = OVERHEAD) -> bool:
        """Whether there was room for ``strings``; it is taken."""
        size = overhead + sum(map(self.measure, strings))
        self.full = self.full or size > self.left
        if not self.full:
            self.left -= size
        return not self.full


def view_of(report: RunReport, limit: int, measure: Callable[[str], int] = len) -> View:
    """The view whose rows take at most ``limit``, as ``measure`` counts; the passing ones are the first to go."""
    totals = report.totals()
    room = _Room(limit, measure)
    table = _runners(report, totals, room)
    several = len(report.suites) > 1

    def section(status: Status, one: str, many: str, row: Callable[[Result, bool], Row]) -> Section:
        return _section(
            [result for result in report.results if result.status is status],
            (one, many),
            room,
            lambda result: row(result, several),
        )

    failed = section(Status.FAILED, "failure", "failures", failed_row)
    unexpected = section(Status.UNEXPECTED_PASSED, "unexpected pass", "unexpected passes", unexpected_row)
    errored = section(Status.ERRORED, "could not be judged", "could not be judged", failed_row)
    warnings = tuple(_warnings(report, room))
    skipped = section(Status.SKIPPED, "skipped", "skipped", failed_row)
    expected = section(Status.EXPECTED_FAILED, "failed as expected", "failed as expected", failed_row)
    return View(
        title=ours(_title(report, totals)),
        tally=ours(" · ".join(f"{_SIGNS[status]} {words}".replace(" ", NO_BREAK) for status, words in tallied(totals))),
        facts=ours(" · ".join(fact.replace(" ", NO_BREAK) for fact in _facts(report, totals))),
        reasons=tuple(_reasons(report)),
        runners=table,
        failed=failed,
        unexpected=unexpected,
        errored=errored,
        errored_groups=tuple(_groups(errored.rows)),
        coverage=ours(f"{totals.judged:,} of {totals.executions - totals.counts[Status.SKIPPED]:,} judged"),
        warnings=warnings,
        warnings_title=ours(counted(len(report.warnings), "warning")) if report.warnings else NOTHING,
        skipped=skipped,
        expected=expected,
        passed=section(Status.PASSED, "passed", "passed", row_of),
        provenance=ours(" · ".join(_provenance(report))),
    )


# --- head -------------------------------------------------------------------------------------------


def _title(report: RunReport, totals: Totals) -> str:
    green = f"{totals.green:,} of {totals.executions:,} green" if totals.executions else "nothing ran"
    return f"{_TITLES[verdict(report)]}: {green}{', cancelled' if report.cancelled else ''}"


def _facts(report: RunReport, totals: Totals) -> Iterator[str]:
    if len(report.suites) > 1:
        yield counted(len(report.suites), "suite")
    yield duration(report.duration_ms)
    if totals.cost_usd is not None or not totals.cost_complete:
        yield f"cost {money(totals.cost_usd, complete=totals.cost_complete)}"
        tokens = totals.tokens.total_tokens
        yield "tokens unknown" if tokens is None else f"{amount(tokens)} tokens"
    if totals.retries:
        yield counted(totals.retries, "retry", "retries")


def _runners(report: RunReport, totals: Totals, room: _Room) -> Table:
    """A row per runner, and their sum when there are several. Columns of zeros alone are left out, but two."""
    always = (Status.PASSED, Status.FAILED)
    columns = [status for status in _SIGNS if totals.counts[status] or status in always]
    head = ["Runner", *(_SIGNS[status] for status in columns), "Pass rate [95 %]", "Cost", "Tokens", "Time"]
    own = _by_runner(report)
    rows: list[tuple[Markup, ...]] = []
    for runner, results in own.items():
        row = _sums(str(code(runner)) or "—", totals_of(results), columns)
        if not room.holds(row):
            break
        rows.append(row)
    left_out = _left_out(len(own) - len(rows), "runner")
    if len(own) > 1:
        rows.append(tuple(ours(f"**{cell}**") for cell in _sums("All", totals, columns)))
    rule = ours("|---|" + "--:|" * (len(head) - 1))
    return Table(head=tuple(map(ours, head)), rule=rule, rows=tuple(rows), left_out=left_out)


def _by_runner(report: RunReport) -> dict[str, list[Result]]:
    """Results by the id of their runner; those that never had one under an empty id."""
    own: dict[str, list[Result]] = {runner.id: [] for runner in report.runners}
    for result in report.results:
        own.setdefault(result.runner.id if result.runner else "", []).append(result)
    return own


def _sums(name: str, totals: Totals, columns: list[Status]) -> tuple[Markup, ...]:
    cells = [*(f"{totals.counts[status]:,}" for status in columns), _rate(totals)]
    cells += [money(totals.cost_usd, complete=totals.cost_complete), amount(totals.tokens.total_tokens)]
    return tuple(ours(cell.replace(" ", NO_BREAK)) for cell in (name, *cells, duration(totals.duration_ms)))


def _rate(totals: Totals) -> str:
    """The rate of the judged with its 95 % interval: ``90 % [77, 96]``."""
    interval = wilson(totals.green, totals.judged)
    if interval is None or totals.pass_rate is None:
        return "—"
    low, high = (round(100 * bound) for bound in interval)
    return f"{percent(totals.pass_rate)} [{low}, {high}]"


def _provenance(report: RunReport) -> Iterator[str]:
    """Which versions made this run, so that it can be made again."""
    yield f"skillgym-action {markdown_inline(report.version)}"
    own_of = _by_runner(report)
    for runner in report.runners[:PROVENANCE]:
        own = own_of[runner.id]
        version = next((result.version for result in own if result.version), None)
        models = sorted({result.model for result in own if result.model} or {runner.agent.model or "its default model"})
        agent = " ".join(filter(None, (runner.agent.type, version)))
        yield markdown_inline(clipped(f"{runner.id}: {agent} with {', '.join(models)}", MESSAGE))
    if len(report.runners) > PROVENANCE:
        yield "and so on"
    if report.commit:
        yield f"commit {code(report.commit)}"
    yield f"run {code(report.id)}"


# --- rows -------------------------------------------------------------------------------------------


def _section(results: list[Result], nouns: tuple[str, str], room: _Room, row: Callable[[Result], Row]) -> Section:
    if not results:
        return Section()
    passed = results[0].status is Status.PASSED
    overhead = OVERHEAD_IN_TABLE if passed else OVERHEAD
    if results[0].status is Status.ERRORED:
        results.sort(key=lambda result: cause(result).label)
    rows: list[Row] = []
    for result in results:
        if room.full or not room.holds(_cells(found := row(result)), overhead):
            break
        rows.append(found)
    noun = "passing row" if passed else "row"
    return Section(
        title=ours(counted(len(results), *nouns)),
        rows=tuple(rows),
        left_out=_left_out(len(results) - len(rows), noun),
    )


def _reasons(report: RunReport) -> Iterator[Markup]:
    """What the counts beside them do not say already."""
    said = {f"{count} {status}" for status, count in report.totals().counts.items()}
    yield from (inline(reason) for reason in (report.decision.reasons if report.decision else ()) if reason not in said)


def _cells(row: Row) -> tuple[str, ...]:
    return tuple(getattr(row, field.name) for field in fields(row))


def _groups(rows: tuple[Row, ...]) -> Iterator[Group]:
    remedies = {kind.label: kind.remedy for kind in TROUBLES.values()}
    for label, group in groupby(rows, key=lambda row: row.label):
        found = tuple(group)
        yield Group(title=ours(f"{label} ({len(found)})"), remedy=inline(remedies.get(str(label), "")), rows=found)


def _warnings(report: RunReport, room: _Room) -> Iterator[Markup]:
    for number, problem in enumerate(report.warnings):
        line = inline(str(replace(problem, location=None)))
        if problem.location:
            line = code(str(problem.location)) + ": " + line
        if not room.holds((line,)):
            yield _left_out(len(report.warnings) - number, "warning")
            return
        yield line


def _left_out(number: int, noun: str) -> Markup:
    return ours(f"{counted(number, noun)} left out") if number else NOTHING
