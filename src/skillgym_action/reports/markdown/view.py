"""The view of a run that report templates get, with baseline and arms: escaped for Markdown, made to fit."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from skillgym_action.model.records import record
from skillgym_action.model.result import ADDRESSES_JUDGE, LEAK_DETECTED
from skillgym_action.model.verdicts import GREEN, Status
from skillgym_action.reports.markdown.failures import FailureGroup, FailureList
from skillgym_action.reports.markdown.figures import MAX_GRID_CASES, SIGNS, ReportTotals, passed_table
from skillgym_action.reports.markdown.rows import (
    SUMMARY,
    Rows,
    SessionExcerpts,
    code,
    inline,
    left_out,
    while_it_fits,
)
from skillgym_action.reports.markdown.sections import (
    NO_ROWS,
    NO_SUITES,
    ChangedSuites,
    Edit,
    RowSection,
    changed_suites_of,
    edits_of,
    findings_of,
    no_results_of,
    section_of,
    suites_from_of,
    unexpected_note,
    warnings_of,
)
from skillgym_action.reports.markdown.statements import (
    NO_LINES,
    NO_TABLE,
    Block,
    Table,
    list_of,
    remarks_of,
    said,
    table_of,
)
from skillgym_action.reports.template_values import NOTHING, markup
from skillgym_action.reports.wording.rates import mixed, uncompared
from skillgym_action.reports.wording.results import NOUNS
from skillgym_action.reports.wording.results_apart import quarantined, runs_reused
from skillgym_action.reports.wording.results_table import ResultsTable
from skillgym_action.reports.wording.uplift import arms
from skillgym_action.results.statistics.comparison import difference
from skillgym_action.text.words import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from markupsafe import Markup

    from skillgym_action.model.comparison import Comparison
    from skillgym_action.model.report import RunReport
    from skillgym_action.model.result import Result
    from skillgym_action.reports.markdown.rows import ReportExtent, Row, RowBudget
    from skillgym_action.reports.wording.statements import Topic

T = TypeVar("T")
_SECTION_NOUNS = NOUNS | {Status.FAILED: ("failure", "failures")}

# Characters that a template adds to a reason, a word of the last line, a list item and a paragraph.
_REASON, _SEPARATOR, _BULLET, _PARAGRAPH = 10, 3, 12, 8


@record
class ArmComparisons:
    """The comparisons of arms, what they are, and what each arm took; none without arms, or without room."""

    explanation: Markup = NOTHING
    table: Table = NO_TABLE
    spending: Markup = NOTHING
    comparisons: tuple[Block, ...] = ()


@record
class ChangeKind:
    """Executions that changed in the same way. ``names`` is one line."""

    title: Markup
    names: Markup = NOTHING


@record
class BaselineChanges:
    """What else changed. ``base``: what the baseline is called; ``differences``: what else may explain other results.

    ``kinds``: results that were not compared. All are empty when there is no baseline, or no room.
    """

    base: Markup = NOTHING
    differences: tuple[Markup, ...] = ()
    kinds: tuple[ChangeKind, ...] = ()


NO_ARMS = ArmComparisons()
NO_CHANGES = BaselineChanges()


@record
class View:
    """All of a report; what there is not is empty. A verdict alone has ``title``, ``run`` and a link in ``parts``.

    ``parts``: the line below the title; ``facts``: sums of the run; ``table_title``: what the table is folded below;
    ``certainty``: how sure the rates are. ``left_out`` counts what nothing else is shown of; ``in_summary`` what the
    summary alone lists; ``scores`` is the head of their column, where passes have any.
    """

    title: Markup
    run: Markup
    parts: Markup = NOTHING
    facts: Markup = NOTHING
    reasons: tuple[Markup, ...] = ()
    table: Table = NO_TABLE
    table_title: Markup = NOTHING
    grid: Table = NO_TABLE
    grid_title: Markup = NOTHING
    notes: tuple[Markup, ...] = ()
    certainty: tuple[Markup, ...] = ()
    uplift: ArmComparisons = NO_ARMS
    leaks: Block = NO_LINES
    addressing: Block = NO_LINES
    suites_from: Block = NO_LINES
    changed_suites: ChangedSuites = NO_SUITES
    failed: RowSection = NO_ROWS
    failed_groups: tuple[FailureGroup, ...] = ()
    mixed: Block = NO_LINES
    quarantined: Block = NO_LINES
    reused: Block = NO_LINES
    unexpected: RowSection = NO_ROWS
    unexpected_note: Markup = NOTHING
    edits: tuple[Edit, ...] = ()
    no_result: Block = NO_LINES
    changes: BaselineChanges = NO_CHANGES
    warnings: Block = NO_LINES
    skipped: RowSection = NO_ROWS
    expected: RowSection = NO_ROWS
    passed: RowSection = NO_ROWS
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
    failures = FailureList(figures.failures, rows, budget)
    unexpected = section(Status.UNEXPECTED_PASSED, rows.unexpected, most=extent.lines)
    warnings = warnings_of(report.warnings, rows, budget)
    failures.add_details(excerpts or SessionExcerpts())
    failed = failures.section()
    with budget.part(1 / 2) as some:
        grid, grid_title = _grid(figures, some, whole=extent.whole)
    shortened = budget.full and bool(failures.number)
    view = replace(
        head,
        failed=failed,
        failed_groups=tuple(failures.groups()),
        unexpected=unexpected,
        unexpected_note=unexpected_note(results[Status.UNEXPECTED_PASSED], report.sampled_repetitions),
        edits=tuple(edits_of(unexpected)),
        warnings=warnings,
        grid=grid,
        grid_title=grid_title,
    )
    if extent.whole:
        view = _with_green(view, figures, rows, budget)
    return replace(
        view,
        left_out=_left_out(view, "some details" if shortened else ""),
        in_summary=NOTHING if extent.whole else _in_summary(figures, failures),
    )


def _with_green(view: View, figures: ReportTotals, rows: Rows, budget: RowBudget) -> View:
    """The view with what is skipped, marked as failing, and passed; and with how sure that is."""
    results = figures.by_status
    section = partial(_section, results, budget)
    scored = any(result.score is not None for result in results[Status.PASSED])
    certainty = while_it_fits(figures.certainty(), budget, _BULLET, lambda line: (line,))
    skipped, expected = section(Status.SKIPPED, rows.reasoned), section(Status.EXPECTED_FAILED, rows.reasoned)
    passed, scores = section(Status.PASSED, rows.passed), markup("Score") if scored else NOTHING
    return replace(
        view,
        certainty=certainty,
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
        provenance = _provenance(figures, some) if extent.whole else NOTHING
    with budget.part(3 / 4) as some:
        table, table_title = _table(figures, some)
    with budget.part(1 / 2) as some:
        reasons = while_it_fits(figures.reasons(), some, _REASON, lambda reason: (reason,))
        notes = while_it_fits(figures.notes(), some, _BULLET, lambda line: (line,))
    quarter = partial(_in_a_quarter, budget)
    no_result = quarter(partial(no_results_of, figures.by_status[Status.ERRORED]))
    leaks, addressing = (
        quarter(partial(findings_of, id_, report.all_results, rows)) for id_ in (LEAK_DETECTED, ADDRESSES_JUDGE)
    )
    suites_from = quarter(partial(suites_from_of, report))
    changed = quarter(partial(changed_suites_of, report, partial(_in_changed_suite, rows), most=extent.lines))
    since_baseline = quarter(partial(changes_of, report.comparison, rows))
    differing = quarter(partial(list_of, mixed(report), rows, size=_BULLET)) if extent.whole else NO_LINES
    in_quarantine = quarter(partial(list_of, quarantined(report, red_first=True), rows))
    reused = quarter(partial(list_of, runs_reused(report), rows))
    return View(
        title=figures.title(),
        run=figures.run(),
        parts=figures.parts(),
        facts=figures.facts(),
        reasons=reasons,
        table=table,
        table_title=table_title,
        notes=notes,
        uplift=quarter(partial(arms_of, report)),
        leaks=leaks,
        addressing=addressing,
        suites_from=suites_from,
        changed_suites=changed,
        mixed=differing,
        quarantined=in_quarantine,
        reused=reused,
        no_result=no_result,
        changes=since_baseline,
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
) -> RowSection:
    return section_of(results[status], _SECTION_NOUNS[status], row, budget, most)


def _left_out(view: View, details: str) -> Markup:
    sections = (view.unexpected, view.skipped, view.expected, view.passed)
    absent = [section.title for section in sections if not section.rows]
    absent += [
        NOTHING if some.lines else some.title
        for some in (
            view.leaks,
            view.addressing,
            view.no_result,
            view.mixed,
            view.quarantined,
            view.reused,
            view.warnings,
        )
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
    return View(title=figures.title(), run=figures.run(), parts=figures.report_link())


def _provenance(figures: ReportTotals, budget: RowBudget) -> Markup:
    """What it takes to make this run again."""
    parts = (figures.judge(), figures.sources(), figures.versions())
    judge, sources, agents = (while_it_fits(words, budget, _SEPARATOR, lambda word: (word,)) for words in parts)
    return markup(" · ").join((figures.tool(), *agents, *judge, *sources))


# Characters that a template adds to a name.
_COMMA = 2


def _table(figures: ReportTotals, budget: RowBudget) -> tuple[Table, Markup]:
    """The table, and the title below which it is folded where nothing has changed."""
    tables = ResultsTable(figures.glance)
    main = tables.main()
    if not main or figures.report.comparison is None or figures.glance.has_news:
        return table_of(main, budget) if main else NO_TABLE, NOTHING
    runners = f" on {counted(len(tables.runners), 'runner')}" if len(tables.runners) > 1 else ""
    return table_of(main, budget), markup(f"{counted(len(tables.cases), 'case')}{runners}")


def _grid(figures: ReportTotals, budget: RowBudget, *, whole: bool) -> tuple[Table, Markup]:
    """The table of cases where the other one has a row per runner, with its title."""
    grid = ResultsTable(figures.glance).grid(whole=whole)
    shown = table_of(replace(grid, about=grid.about[:MAX_GRID_CASES]), budget) if grid else NO_TABLE
    missing = left_out(len(grid) - len(shown.rows), "case")
    return replace(shown, left_out=missing) if shown.rows else NO_TABLE, markup(grid.title)


def changes_of(comparison: Comparison | None, rows: Rows, budget: RowBudget) -> BaselineChanges:
    """What else changed, each kind with as many names as there is room for."""
    if comparison is None:
        return NO_CHANGES
    differences = (inline(difference(found)) for found in comparison.differences)
    return BaselineChanges(
        base=inline(comparison.base_name),
        differences=while_it_fits(differences, budget, _BULLET, lambda line: (line,)),
        kinds=tuple(_kinds(comparison, rows, budget)),
    )


def _kinds(comparison: Comparison, rows: Rows, budget: RowBudget) -> Iterator[ChangeKind]:
    for section in uncompared(comparison):
        number = len(section)
        title = markup(f"{number:,} {section.title}")
        if number and budget.take((title,), _BULLET):
            shown = (_changed(topic, rows) for topic in section.topics(rows.extent.names))
            names = while_it_fits(shown, budget, _COMMA, lambda name: (name,))
            more = markup(f" and {number - len(names):,} more") if names and number > len(names) else NOTHING
            yield ChangeKind(title=title, names=markup(", ").join(names) + more)


def _changed(topic: Topic, rows: Rows) -> Markup:
    on = markup(" on ") + code(topic.result.runner.id) if topic.result and topic.result.runner else NOTHING
    return markup(" ").join((rows.case(topic.result) + on, *map(said, topic.cells))) if topic.result else NOTHING


def arms_of(report: RunReport, budget: RowBudget) -> ArmComparisons:
    """As many comparisons as there is room for; then as many statements about them."""
    section = arms(report)
    explanation = inline(section.explanation)
    if not section or not budget.take((explanation,), _PARAGRAPH):
        return NO_ARMS
    table = table_of(section, budget)
    spending = inline(f"All sessions together: {section.closing}.")
    spending = spending if budget.take((spending,), _PARAGRAPH) else NOTHING
    return ArmComparisons(
        explanation=explanation, table=table, spending=spending, comparisons=tuple(remarks_of(section, budget))
    )
