"""The view of a run that report templates get: escaped for Markdown, formatted, and made to fit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from skillgym_action.model.result import ADDRESSES_JUDGE, LEAK_DETECTED
from skillgym_action.model.verdicts import GREEN, Status
from skillgym_action.reporters.markdown_budget import SUMMARY, while_it_fits
from skillgym_action.reporters.markdown_comparison import NO_CHANGES, BaselineChanges, changes_of, mixed_of
from skillgym_action.reporters.markdown_excerpts import SessionExcerpts
from skillgym_action.reporters.markdown_failures import FailureGroup, FailureList
from skillgym_action.reporters.markdown_figures import SIGNS, ReportTotals
from skillgym_action.reporters.markdown_rows import Rows
from skillgym_action.reporters.markdown_sections import (
    NO_LINES,
    NO_ROWS,
    NO_SUITES,
    Block,
    ChangedSuites,
    Edit,
    Group,
    Section,
    carried_of,
    changed_suites_of,
    edits_of,
    errored_of,
    findings_of,
    first_of_each_cause,
    lengthened,
    quarantined_of,
    section_of,
    suites_from_of,
    unexpected_note,
    warnings_of,
)
from skillgym_action.reporters.markdown_tables import NO_TABLE, Table, matrix, passed_table, runners_table
from skillgym_action.reporters.markdown_uplift import NO_ARMS, ArmComparisons, arms_of
from skillgym_action.reporters.template_values import NOTHING, markup
from skillgym_action.reporters.wording import NOUNS, counted

if TYPE_CHECKING:
    from collections.abc import Callable

    from markupsafe import Markup

    from skillgym_action.model.result import Result
    from skillgym_action.reporters.markdown_budget import ReportExtent, RowBudget
    from skillgym_action.reporters.markdown_rows import Row

T = TypeVar("T")
_SECTION_NOUNS = NOUNS | {Status.FAILED: ("failure", "failures")}
# Characters that a template adds to a reason, a word of the last line and a list item.
_REASON, _SEPARATOR, _BULLET = 10, 3, 12


@dataclass(frozen=True, kw_only=True, slots=True)
class View:
    """All of a report; what there is not is empty. A verdict alone has nothing but ``title`` and ``run``.

    ``left_out`` counts what nothing else is shown of; ``in_summary`` what the summary alone lists; ``scores`` is the
    head of their column, where passes have any.
    """

    title: Markup
    run: Markup
    artifacts: Markup = NOTHING
    tally: Markup = NOTHING
    facts: Markup = NOTHING
    reasons: tuple[Markup, ...] = ()
    runners: Table = NO_TABLE
    matrix: Table = NO_TABLE
    rates: tuple[Markup, ...] = ()
    uplift: ArmComparisons = NO_ARMS
    leaks: Block = NO_LINES
    addressing: Block = NO_LINES
    suites_from: Block = NO_LINES
    changed_suites: ChangedSuites = NO_SUITES
    failed: Section = NO_ROWS
    failed_groups: tuple[FailureGroup, ...] = ()
    mixed: Block = NO_LINES
    quarantined: Block = NO_LINES
    carried: Block = NO_LINES
    unexpected: Section = NO_ROWS
    unexpected_note: Markup = NOTHING
    edits: tuple[Edit, ...] = ()
    errored: Section = NO_ROWS
    errored_groups: tuple[Group, ...] = ()
    coverage: Markup = NOTHING
    changes: BaselineChanges = NO_CHANGES
    warnings: Block = NO_LINES
    skipped: Section = NO_ROWS
    expected: Section = NO_ROWS
    passed: Section = NO_ROWS
    passed_table: Table = NO_TABLE
    scores: Markup = NOTHING
    in_summary: Markup = NOTHING
    left_out: Markup = NOTHING
    provenance: Markup = NOTHING


def view_of(
    figures: ReportTotals, budget: RowBudget, extent: ReportExtent = SUMMARY, excerpts: SessionExcerpts | None = None
) -> View:
    """The view whose rows fit into ``budget``. What is asked for first is what goes last."""
    report, results, rows = figures.report, figures.by_status, Rows.of(figures.report, extent)
    section = partial(_section, results, budget)
    head = _without_sections(figures, rows, budget)
    failures = FailureList(figures.failures, rows, budget, runners=len(report.runners))
    unexpected = section(Status.UNEXPECTED_PASSED, rows.unexpected, most=extent.lines)
    not_judged = first_of_each_cause(results[Status.ERRORED], extent.lines)
    with budget.part(1 / 2) as some:  # else their names take the room of the failures' reasons
        errored = section_of(not_judged, NOUNS[Status.ERRORED], rows.brief, some)
    failures.add_messages()
    errored = lengthened(errored, not_judged, rows.troubled, budget)
    errored, errored_groups = errored_of(errored, not_judged, results[Status.ERRORED])
    warnings = warnings_of(report.warnings, rows, budget)
    failures.add_details(excerpts or SessionExcerpts())
    failed = failures.section()
    shortened = budget.full and (failed.rows or errored.rows)
    view = replace(
        head,
        failed=failed,
        failed_groups=tuple(failures.groups()),
        unexpected=unexpected,
        unexpected_note=unexpected_note(results[Status.UNEXPECTED_PASSED], report.sampled_repetitions),
        edits=tuple(edits_of(unexpected)),
        errored=errored,
        errored_groups=errored_groups,
        warnings=warnings,
    )
    if extent.whole:
        view = _with_green(view, figures, rows, budget)
    return replace(
        view,
        left_out=_left_out(view, "some details" if shortened else ""),
        in_summary=NOTHING if extent.whole else _in_summary(figures, failures),
    )


def _with_green(view: View, figures: ReportTotals, rows: Rows, budget: RowBudget) -> View:
    """The view with the table of cases, and with what is skipped, failed as expected, and passed."""
    results = figures.by_status
    section = partial(_section, results, budget)
    scored = any(result.score is not None for result in results[Status.PASSED])
    with budget.part(1 / 2) as some:
        cases = matrix(figures, rows, some)
    skipped, expected = section(Status.SKIPPED, rows.reasoned), section(Status.EXPECTED_FAILED, rows.reasoned)
    passed, scores = section(Status.PASSED, rows.passed), markup("Score") if scored else NOTHING
    return replace(
        view,
        matrix=cases,
        skipped=skipped,
        expected=expected,
        passed=passed,
        scores=scores,
        passed_table=passed_table(passed.rows, scores),
    )


def _in_summary(figures: ReportTotals, failures: FailureList) -> Markup:
    """What the comment has only the number of, and evidence that it has no room for."""
    statuses = (Status.PASSED, Status.EXPECTED_FAILED, Status.SKIPPED)
    counts = [(len(figures.by_status[status]), NOUNS[status]) for status in statuses]
    words = [counted(number, *nouns) for number, nouns in counts if number]
    return markup(", ".join([*words, *(["some evidence of failures"] if failures.is_cut else [])]))


def _without_sections(figures: ReportTotals, rows: Rows, budget: RowBudget) -> View:
    """The view without the sections of executions by status; each part has a share of ``budget``."""
    report, extent = figures.report, rows.extent
    with budget.part(1 / 8) as some:
        provenance = _provenance(figures, some, versions=extent.whole)
    with budget.part(1 / 2) as some:
        reasons = while_it_fits(figures.reasons(), some, _REASON, lambda reason: (reason,))
        runners = runners_table(figures, some)
        rates = while_it_fits(figures.rates(whole=extent.whole), some, _BULLET, lambda line: (line,))
    quarter = partial(_in_a_quarter, budget)
    leaks, addressing = (
        quarter(partial(findings_of, id_, report.all_results, rows)) for id_ in (LEAK_DETECTED, ADDRESSES_JUDGE)
    )
    suites_from = quarter(partial(suites_from_of, report))
    changed = quarter(partial(changed_suites_of, report, partial(_in_changed_suite, rows), most=extent.lines))
    changes = quarter(partial(changes_of, report.comparison, rows))
    mixed = quarter(partial(mixed_of, report, rows))
    quarantined = quarter(partial(quarantined_of, report, rows))
    carried = quarter(partial(carried_of, report, rows))
    return View(
        title=figures.title(),
        run=figures.run(),
        artifacts=figures.artifacts(),
        tally=figures.tally(),
        facts=figures.facts(),
        reasons=reasons,
        runners=runners,
        rates=rates,
        uplift=quarter(partial(arms_of, report)),
        leaks=leaks,
        addressing=addressing,
        suites_from=suites_from,
        changed_suites=changed,
        mixed=mixed,
        quarantined=quarantined,
        carried=carried,
        coverage=figures.coverage(),
        changes=changes,
        provenance=provenance,
    )


def _in_a_quarter(budget: RowBudget, render: Callable[[RowBudget], T]) -> T:
    """What ``render`` makes with at most a quarter of what is left of the budget."""
    with budget.part(1 / 4) as some:
        return render(some)


def _section(
    results: dict[Status, list[Result]],
    budget: RowBudget,
    status: Status,
    row: Callable[[Result], Row],
    *,
    most: int | None = None,
) -> Section:
    return section_of(results[status], _SECTION_NOUNS[status], row, budget, most)


def _left_out(view: View, details: str) -> Markup:
    sections = (view.failed, view.unexpected, view.errored, view.skipped, view.expected, view.passed)
    absent = [section.title for section in sections if not section.rows]
    absent += [
        NOTHING if some.lines else some.title
        for some in (view.leaks, view.addressing, view.mixed, view.quarantined, view.carried, view.warnings)
    ]
    absent += [NOTHING if view.changed_suites.suites else view.changed_suites.title]
    absent += [markup(details)]
    return markup(", ").join(filter(None, absent))


def _in_changed_suite(rows: Rows, result: Result) -> Markup:
    row = replace(rows, several=False).reasoned(result)
    line = markup(f"{SIGNS[result.status]} {row.case} · {row.runner} · {result.status}")
    return line if result.status in GREEN else line + markup(": ") + row.message


def verdict_of(figures: ReportTotals) -> View:
    """The verdict, and where the rest is."""
    return View(title=figures.title(), run=figures.run())


def _provenance(figures: ReportTotals, budget: RowBudget, *, versions: bool) -> Markup:
    """What it takes to make this run again; not ``versions``: without agents, models and judge."""
    parts = (figures.judge(), figures.sources(), figures.versions()) if versions else ((), figures.sources(), ())
    judge, sources, agents = (while_it_fits(words, budget, _SEPARATOR, lambda word: (word,)) for words in parts)
    return markup(" · ").join((figures.tool(), *agents, *judge, *sources))
