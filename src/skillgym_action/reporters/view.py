"""The finished view of a run: all that a report template may show, escaped for Markdown, formatted, and made to fit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from skillgym_action.model.verdicts import GREEN, Status
from skillgym_action.reporters.changes import NO_CHANGES, Changes, changes_of
from skillgym_action.reporters.figures import SIGNS
from skillgym_action.reporters.rows import NOTHING, Rows, ours
from skillgym_action.reporters.sections import (
    NO_LINES,
    NO_ROWS,
    NO_SUITES,
    Block,
    ChangedSuites,
    Edit,
    Group,
    Section,
    changed_suites_of,
    edits_of,
    groups_of,
    leaks_of,
    left_out,
    lengthened,
    section_of,
    suites_from_of,
    warnings_of,
    while_room,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from markupsafe import Markup

    from skillgym_action.model.result import Result
    from skillgym_action.reporters.figures import Figures
    from skillgym_action.reporters.fitting import Room
    from skillgym_action.reporters.rows import Row

_REASON, _CELLS, _SEPARATOR = 10, 30, 3  # characters that a template adds
_NOUNS = {
    Status.FAILED: ("failure", "failures"),
    Status.UNEXPECTED_PASSED: ("unexpected pass", "unexpected passes"),
    Status.ERRORED: ("could not be judged", "could not be judged"),
    Status.SKIPPED: ("skipped", "skipped"),
    Status.EXPECTED_FAILED: ("failed as expected", "failed as expected"),
    Status.PASSED: ("passed", "passed"),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Table:
    """A table: ``rule`` is the line of dashes below the head."""

    head: tuple[Markup, ...] = ()
    rule: Markup = NOTHING
    rows: tuple[tuple[Markup, ...], ...] = ()
    left_out: Markup = NOTHING


@dataclass(frozen=True, kw_only=True, slots=True)
class View:
    """All of a report; what there is not is empty. A verdict alone has nothing but ``title`` and ``run``.

    ``left_out`` counts what nothing else is shown of; ``scores`` is the head of their column, where passes have any.
    """

    title: Markup
    run: Markup
    tally: Markup = NOTHING
    facts: Markup = NOTHING
    reasons: tuple[Markup, ...] = ()
    runners: Table = Table()
    leaks: Block = NO_LINES
    suites_from: Block = NO_LINES
    changed_suites: ChangedSuites = NO_SUITES
    failed: Section = NO_ROWS
    unexpected: Section = NO_ROWS
    edits: tuple[Edit, ...] = ()
    errored: Section = NO_ROWS
    errored_groups: tuple[Group, ...] = ()
    coverage: Markup = NOTHING
    changes: Changes = NO_CHANGES
    warnings: Block = NO_LINES
    skipped: Section = NO_ROWS
    expected: Section = NO_ROWS
    passed: Section = NO_ROWS
    scores: Markup = NOTHING
    left_out: Markup = NOTHING
    provenance: Markup = NOTHING


def view_of(figures: Figures, room: Room) -> View:
    """The view whose rows fit into ``room``. What is asked for first is what goes last."""
    report, results, rows = figures.report, figures.by_status, Rows.of(figures.report)
    section = partial(_section, results, room)
    with room.part(1 / 8) as some:
        provenance = _provenance(figures, some)
    with room.part(1 / 2) as some:
        reasons = while_room(figures.reasons(), some, _REASON, lambda reason: (reason,))
        runners = _runners(figures, some)
    with room.part(1 / 4) as some:
        leaks = leaks_of(report.results, rows, some)
    with room.part(1 / 4) as some:
        suites_from = suites_from_of(report, some)
    with room.part(1 / 4) as some:
        changed = changed_suites_of(report, partial(_in_changed_suite, rows), some)
    with room.part(1 / 4) as some:
        changes = changes_of(report.comparison, rows, some)
    failed, unexpected = section(Status.FAILED, rows.brief), section(Status.UNEXPECTED_PASSED, rows.unexpected)
    errored = section(Status.ERRORED, rows.brief)
    failed = lengthened(failed, results[Status.FAILED], rows.reasoned, room)
    errored = lengthened(errored, results[Status.ERRORED], rows.reasoned, room)
    warnings = warnings_of(report.warnings, rows, room)
    failed = lengthened(failed, results[Status.FAILED], rows.detailed, room)
    failed = lengthened(failed, results[Status.FAILED], rows.proven, room)
    shortened = room.full and (failed.rows or errored.rows)
    view = View(
        title=figures.title(),
        run=figures.run(),
        tally=figures.tally(),
        facts=figures.facts(),
        reasons=reasons,
        runners=runners,
        leaks=leaks,
        suites_from=suites_from,
        changed_suites=changed,
        failed=failed,
        unexpected=unexpected,
        edits=tuple(edits_of(unexpected)),
        errored=errored,
        errored_groups=tuple(groups_of(errored)),
        coverage=figures.coverage(),
        changes=changes,
        warnings=warnings,
        skipped=section(Status.SKIPPED, rows.reasoned),
        expected=section(Status.EXPECTED_FAILED, rows.reasoned),
        passed=section(Status.PASSED, rows.passed),
        scores=ours("Score") if any(result.score is not None for result in results[Status.PASSED]) else NOTHING,
        provenance=provenance,
    )
    return replace(view, left_out=_left_out(view, "some details" if shortened else ""))


def _section(results: dict[Status, list[Result]], room: Room, status: Status, row: Callable[[Result], Row]) -> Section:
    return section_of(results[status], _NOUNS[status], row, room)


def _left_out(view: View, details: str) -> Markup:
    sections = (view.failed, view.unexpected, view.errored, view.skipped, view.expected, view.passed)
    absent = [section.title for section in sections if not section.rows]
    absent += [NOTHING if some.lines else some.title for some in (view.leaks, view.warnings)]
    absent += [NOTHING if view.changed_suites.suites else view.changed_suites.title]
    absent += [ours(details)]
    return ours(", ").join(filter(None, absent))


def _in_changed_suite(rows: Rows, result: Result) -> Markup:
    row = replace(rows, several=False).reasoned(result)
    line = ours(f"{SIGNS[result.status]} {row.case} · {row.runner} · {result.status}")
    return line if result.status in GREEN else line + ours(": ") + row.message


def verdict_of(figures: Figures) -> View:
    """The verdict, and where the rest is."""
    return View(title=figures.title(), run=figures.run())


def _runners(figures: Figures, room: Room) -> Table:
    """A row per runner, and their sum, unless that is the same."""
    if not figures.totals.executions:
        return Table()
    rows = while_room(figures.runner_rows(), room, _CELLS, tuple)
    missing = len(figures.runner_totals) - len(rows)
    if len(rows) != 1 or missing:
        rows = (*rows, figures.all_row())
    head = figures.head()
    rule = ours("|---|" + "--:|" * (len(head) - 1))
    return Table(head=head, rule=rule, rows=rows, left_out=left_out(missing, "runner"))


def _provenance(figures: Figures, room: Room) -> Markup:
    sources, versions = (
        while_room(words, room, _SEPARATOR, lambda word: (word,)) for words in (figures.sources(), figures.versions())
    )
    return ours(" · ").join((figures.tool(), *versions, *sources))
