"""The view of a run that report templates get: escaped for Markdown, formatted, and made to fit."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from skillgym_action.limits import COMMIT_CHARACTERS
from skillgym_action.model.result import ADDRESSES_JUDGE, LEAK_DETECTED
from skillgym_action.model.totals import Totals
from skillgym_action.model.totals import totals as totals_of
from skillgym_action.model.verdicts import GREEN, Status
from skillgym_action.reporters.markdown_comparison import NO_CHANGES, BaselineChanges, changes_of, mixed_of
from skillgym_action.reporters.markdown_rows import (
    NAME,
    NO_LINES,
    NO_ROWS,
    NO_SUITES,
    Block,
    ChangedSuites,
    Edit,
    Group,
    Rows,
    Section,
    changed_suites_of,
    code,
    edits_of,
    findings_of,
    groups_of,
    inline,
    left_out,
    lengthened,
    linked,
    section_of,
    suites_from_of,
    warnings_of,
    while_it_fits,
)
from skillgym_action.reporters.markdown_uplift import NO_ARMS, ArmComparisons, arms_of
from skillgym_action.reporters.rate_wording import (
    OTHER_CASES_NOTE,
    comparison_fact,
    rate_cell,
    rate_sentences,
    trigger_sentences,
)
from skillgym_action.reporters.template_values import NOTHING, markup
from skillgym_action.reporters.wording import (
    NOUNS,
    amount,
    cause,
    counted,
    duration,
    headline,
    judge_name,
    money,
    tallied,
    tally,
    verdict,
)
from skillgym_action.text.escaping import clipped, markdown_inline

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from markupsafe import Markup

    from skillgym_action.model.execution import Runner
    from skillgym_action.model.result import Result
    from skillgym_action.model.run_report import RunReport
    from skillgym_action.reporters.markdown_rows import Row, RowBudget

NO_BREAK = "\u00a0"
ALL_DETAILS = f"all{NO_BREAK}details"
DIGEST = 12  # characters
SIGNS = {
    Status.PASSED: "✅",
    Status.FAILED: "❌",
    Status.EXPECTED_FAILED: "☑️",
    Status.UNEXPECTED_PASSED: "❗",
    Status.ERRORED: "⚠️",
    Status.SKIPPED: "⏭️",
}
T = TypeVar("T")
_SECTION_NOUNS = NOUNS | {Status.FAILED: ("failure", "failures")}
_TITLE_SIGNS = {"passed": "✅", "failed": "❌", "inconclusive": "⚠️", "not-gated": "⚪"}
# Characters that a template adds to a reason, a cell, a word of the last line, a title, a list item and a name.
_REASON, _CELLS, _SEPARATOR, _HEAD, _BULLET, _COMMA = 10, 30, 3, 40, 12, 2


# --- totals -------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class ReportTotals:
    """Results by status and by the id of their runner; those that never had one are under an empty id."""

    report: RunReport
    totals: Totals
    by_status: dict[Status, list[Result]]
    by_runner: dict[str, list[Result]]
    runner_totals: dict[str, Totals]

    @classmethod
    def of(cls, report: RunReport) -> ReportTotals:
        """Count."""
        by_status: dict[Status, list[Result]] = {status: [] for status in Status}
        by_runner: dict[str, list[Result]] = {runner.id: [] for runner in report.runners}
        for result in report.results:
            if not result.suite.changed:  # those have a section of their own
                by_status[result.status].append(result)
            by_runner.setdefault(result.runner.id if result.runner else "", []).append(result)
        repetitions = report.sampled_repetitions
        by_status[Status.ERRORED].sort(key=lambda result: cause(result).label)
        by_status[Status.UNEXPECTED_PASSED].sort(key=lambda result: result.suite.format)
        return cls(
            report=report,
            totals=report.totals(),
            by_status=by_status,
            by_runner=by_runner,
            runner_totals={runner: totals_of(results, repetitions) for runner, results in by_runner.items()},
        )

    # --- the head -----------------------------------------------------------------------------------

    def title(self) -> Markup:
        """The verdict."""
        totals, report = self.totals, self.report
        counts = f"{totals.green:,} of {totals.executions:,} green" if totals.executions else "nothing ran"
        if (word := verdict(report)) == "not-gated":
            counts = tally(totals)
        title = f"{_TITLE_SIGNS[word]} {headline(report).capitalize()}"
        return markup(f"{title}: {counts}{', cancelled' if report.cancelled else ''}")

    def tally(self) -> Markup:
        """How many of each status."""
        words = [f"{SIGNS[status]} {words}" for status, words in tallied(self.totals)]
        return _listed(iter([*words, f"🔀 {self.totals.flaky:,} flaky"] if self.totals.flaky else words))

    def facts(self) -> Markup:
        """Size, time, cost, and what changed."""
        return _listed(self._facts())

    def _facts(self) -> Iterator[str]:
        totals, comparison = self.totals, self.report.comparison
        if len(self.report.suites) > 1:
            yield counted(len(self.report.suites), "suite")
        yield duration(self.report.duration_ms)
        if totals.cost_usd is not None or not totals.cost_complete:
            yield f"cost {money(totals.cost_usd, complete=totals.cost_complete)}"
            tokens = totals.tokens.total_tokens
            yield "tokens unknown" if tokens is None else f"{amount(tokens)} tokens"
        if totals.retries:
            yield counted(totals.retries, "retry", "retries")
        if comparison:
            yield comparison_fact(comparison)

    def reasons(self) -> Iterator[Markup]:
        """Reasons of the decision that do not repeat the counts."""
        totals = self.totals
        shown = {f"{count} {status}" for status, count in totals.counts.items()}
        shown.add(f"{totals.counts[Status.ERRORED]} of {totals.executions} could not be judged")
        decision = self.report.decision
        yield from (inline(reason) for reason in (decision.reasons if decision else ()) if reason not in shown)

    def coverage(self) -> Markup:
        """How many of those that ran have a verdict."""
        totals = self.totals
        return markup(f"{totals.judged:,} of {totals.executions - totals.counts[Status.SKIPPED]:,} judged")

    def run(self) -> Markup:
        """A link to the workflow run."""
        links = self.report.links
        return linked(markup(ALL_DETAILS), links.run) if links and links.run else NOTHING

    # --- the table of runners -----------------------------------------------------------------------

    def columns(self) -> list[Status]:
        """Columns of zeros alone are left out, but two."""
        return [status for status in SIGNS if self.totals.counts[status] or status in (Status.PASSED, Status.FAILED)]

    def head(self) -> tuple[Markup, ...]:
        """The head of the table."""
        signs = (SIGNS[status] for status in self.columns())
        return tuple(map(markup, ("Runner", *signs, f"Pass{NO_BREAK}rate [95{NO_BREAK}%]", "Cost", "Tokens", "Time")))

    def runner_rows(self) -> Iterator[tuple[Markup, ...]]:
        """A row per runner."""
        for runner, totals in self.runner_totals.items():
            yield _sums(code(runner) or markup("—"), totals, self.columns())

    def all_row(self) -> tuple[Markup, ...]:
        """The sum of all runners."""
        return tuple(markup(f"**{cell}**") for cell in _sums(markup("All"), self.totals, self.columns()))

    def rates(self) -> Iterator[Markup]:
        """The rate over all runners in words; by case, so that runners are no independent samples."""
        notes = [OTHER_CASES_NOTE] if any("†" in rate_cell(totals) for totals in self.runner_totals.values()) else []
        sentences = rate_sentences(self.totals, self.report)
        for sentence in (*sentences, *notes) if self.totals.executions else ():
            text = sentence[:1].upper() + sentence[1:] + "."
            yield inline(text) if "@" in text else markup(text)  # pass@5 must not mention a user named 5
        yield from (inline(f"{sentence}.") for sentence in trigger_sentences(self.report))

    # --- provenance ---------------------------------------------------------------------------------

    def versions(self) -> Iterator[Markup]:
        """Which agent in which version, with which model, each runner is."""
        for runner in self.report.runners:
            yield inline(self._version(runner), NAME)

    def _version(self, runner: Runner) -> str:
        own = self.by_runner[runner.id]
        versions = sorted({result.version for result in own if result.version})
        models = sorted({result.model for result in own if result.model} or {runner.agent.model or "its default model"})
        agent = " ".join((runner.agent.type, ", ".join(versions))).strip()
        return f"{clipped(runner.id, NAME // 3)}: {agent} with {', '.join(models)}"

    def judge(self) -> Iterator[Markup]:
        """The judge, if it was asked."""
        if self.report.judge:
            yield inline(f"judge: {judge_name(self.report.judge)}", 2 * NAME)

    def sources(self) -> Iterator[Markup]:
        """What else it takes to make this run again: suites, commit, and where it is kept."""
        report, links = self.report, self.report.links
        if digest := _digest(report):
            yield markup("suites ") + code(digest)
        if report.commit:
            address = links.commit_address(report.commit) if links else None
            yield markup("commit ") + linked(code(report.commit[:COMMIT_CHARACTERS]), address)
        yield markup("run ") + linked(code(report.id), links.run if links else None)

    def tool(self) -> Markup:
        """This program and its version."""
        return markup(f"skillgym-action {markdown_inline(self.report.version)}")


def _listed(facts: Iterator[str]) -> Markup:
    return markup(" · ".join(fact.replace(" ", NO_BREAK) for fact in facts))


def _sums(name: Markup, totals: Totals, columns: list[Status]) -> tuple[Markup, ...]:
    counts = (f"{totals.counts[status]:,}" for status in columns)
    cost = money(totals.cost_usd, complete=totals.cost_complete).replace(" ", NO_BREAK)
    time = re.sub(r"(\d) ", rf"\1{NO_BREAK}", duration(totals.duration_ms))  # may break between its units
    rate, tokens = rate_cell(totals).replace(" ", NO_BREAK), amount(totals.tokens.total_tokens)
    return (name, *map(markup, (*counts, rate, cost, tokens, time)))


def _digest(report: RunReport) -> str | None:
    """One digest of all suites; None when one of them has none."""
    lines = sorted(f"{suite.path} {suite.digest}" for suite in report.suites if suite.digest)
    if not lines or len(lines) < len(report.suites):
        return None
    return hashlib.sha256("\n".join(lines).encode(errors="replace")).hexdigest()[:DIGEST]


# --- the view -----------------------------------------------------------------------------------------


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
    rates: tuple[Markup, ...] = ()
    uplift: ArmComparisons = NO_ARMS
    leaks: Block = NO_LINES
    addressing: Block = NO_LINES
    suites_from: Block = NO_LINES
    changed_suites: ChangedSuites = NO_SUITES
    failed: Section = NO_ROWS
    mixed: Block = NO_LINES
    unexpected: Section = NO_ROWS
    edits: tuple[Edit, ...] = ()
    errored: Section = NO_ROWS
    errored_groups: tuple[Group, ...] = ()
    coverage: Markup = NOTHING
    changes: BaselineChanges = NO_CHANGES
    warnings: Block = NO_LINES
    skipped: Section = NO_ROWS
    expected: Section = NO_ROWS
    passed: Section = NO_ROWS
    scores: Markup = NOTHING
    left_out: Markup = NOTHING
    provenance: Markup = NOTHING


def view_of(figures: ReportTotals, budget: RowBudget) -> View:
    """The view whose rows fit into ``budget``. What is asked for first is what goes last."""
    report, results, rows = figures.report, figures.by_status, Rows.of(figures.report)
    section = partial(_section, results, budget)
    head = _without_sections(figures, rows, budget)
    failed, unexpected = section(Status.FAILED, rows.brief), section(Status.UNEXPECTED_PASSED, rows.unexpected)
    errored = section(Status.ERRORED, rows.brief)
    failed = lengthened(failed, results[Status.FAILED], rows.reasoned, budget)
    errored = lengthened(errored, results[Status.ERRORED], rows.reasoned, budget)
    warnings = warnings_of(report.warnings, rows, budget)
    failed = lengthened(failed, results[Status.FAILED], rows.detailed, budget)
    failed = lengthened(failed, results[Status.FAILED], rows.proven, budget)
    shortened = budget.full and (failed.rows or errored.rows)
    view = replace(
        head,
        failed=failed,
        unexpected=unexpected,
        edits=tuple(edits_of(unexpected)),
        errored=errored,
        errored_groups=tuple(groups_of(errored)),
        warnings=warnings,
        skipped=section(Status.SKIPPED, rows.reasoned),
        expected=section(Status.EXPECTED_FAILED, rows.reasoned),
        passed=section(Status.PASSED, rows.passed),
        scores=markup("Score") if any(result.score is not None for result in results[Status.PASSED]) else NOTHING,
    )
    return replace(view, left_out=_left_out(view, "some details" if shortened else ""))


def _without_sections(figures: ReportTotals, rows: Rows, budget: RowBudget) -> View:
    """The view without the sections of executions by status; each part has a share of ``budget``."""
    report = figures.report
    with budget.part(1 / 8) as some:
        provenance = _provenance(figures, some)
    with budget.part(1 / 2) as some:
        reasons = while_it_fits(figures.reasons(), some, _REASON, lambda reason: (reason,))
        runners = _runners(figures, some)
        rates = while_it_fits(figures.rates(), some, _BULLET, lambda line: (line,))
    quarter = partial(_in_a_quarter, budget)
    leaks, addressing = (
        quarter(partial(findings_of, id_, report.results, rows)) for id_ in (LEAK_DETECTED, ADDRESSES_JUDGE)
    )
    suites_from = quarter(partial(suites_from_of, report))
    changed = quarter(partial(changed_suites_of, report, partial(_in_changed_suite, rows)))
    changes = quarter(partial(changes_of, report.comparison, rows))
    mixed = quarter(partial(mixed_of, report, rows))
    return View(
        title=figures.title(),
        run=figures.run(),
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
        coverage=figures.coverage(),
        changes=changes,
        provenance=provenance,
    )


def _in_a_quarter(budget: RowBudget, render: Callable[[RowBudget], T]) -> T:
    """What ``render`` makes with at most a quarter of what is left of the budget."""
    with budget.part(1 / 4) as some:
        return render(some)


def _section(
    results: dict[Status, list[Result]], budget: RowBudget, status: Status, row: Callable[[Result], Row]
) -> Section:
    return section_of(results[status], _SECTION_NOUNS[status], row, budget)


def _left_out(view: View, details: str) -> Markup:
    sections = (view.failed, view.unexpected, view.errored, view.skipped, view.expected, view.passed)
    absent = [section.title for section in sections if not section.rows]
    absent += [
        NOTHING if some.lines else some.title for some in (view.leaks, view.addressing, view.mixed, view.warnings)
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


def _runners(figures: ReportTotals, budget: RowBudget) -> Table:
    """A row per runner, and their sum, unless that is the same."""
    if not figures.totals.executions:
        return Table()
    rows = while_it_fits(figures.runner_rows(), budget, _CELLS, tuple)
    missing = len(figures.runner_totals) - len(rows)
    if len(rows) != 1 or missing:
        rows = (*rows, figures.all_row())
    head = figures.head()
    rule = markup("|---|" + "--:|" * (len(head) - 1))
    return Table(head=head, rule=rule, rows=rows, left_out=left_out(missing, "runner"))


def _provenance(figures: ReportTotals, budget: RowBudget) -> Markup:
    judge, sources, versions = (
        while_it_fits(words, budget, _SEPARATOR, lambda word: (word,))
        for words in (figures.judge(), figures.sources(), figures.versions())
    )
    return markup(" · ").join((figures.tool(), *versions, *judge, *sources))
