"""Parts of a view about the run as a whole: verdict, counts, what the run was made of; tables of runners and cases."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillgym_action.model.comparison import is_flaky, samples_of
from skillgym_action.model.limits import COMMIT_CHARACTERS
from skillgym_action.model.totals import Totals
from skillgym_action.model.totals import totals as totals_of
from skillgym_action.model.verdicts import RED, Status
from skillgym_action.reports.markdown.failures import grouped
from skillgym_action.reports.markdown.rows import NAME, code, inline, left_out, linked, while_it_fits
from skillgym_action.reports.markdown.statements import NO_BREAK, NO_TABLE, Table
from skillgym_action.reports.template_values import NOTHING, markup
from skillgym_action.reports.wording.plan import attempt_sentences, selection_sentences
from skillgym_action.reports.wording.rates import (
    MEANS_NOTE,
    OTHER_CASES_NOTE,
    comparison_fact,
    rate_cell,
    rate_sentences,
    trigger_sentences,
)
from skillgym_action.reports.wording.results import (
    cause,
    counts_by_status,
    counts_in_words,
    further_reasons,
    headline,
    is_cut_off,
    judge_name,
    total_cost,
    verdict,
)
from skillgym_action.reports.wording.results_apart import quarantine_fact, reused_fact
from skillgym_action.text.escaping import clipped, markdown_inline
from skillgym_action.text.words import amount, counted, duration, money

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from markupsafe import Markup

    from skillgym_action.model.report import RunReport
    from skillgym_action.model.result import Result
    from skillgym_action.model.runner import Runner
    from skillgym_action.reports.markdown.rows import Row, RowBudget, Rows

MAX_MATRIX_RUNNERS = 8  # columns of the table of cases and runners in the summary
MAX_MATRIX_CASES = 300  # rows of it
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
WORDS = {
    Status.PASSED: "passed",
    Status.FAILED: "failed",
    Status.EXPECTED_FAILED: "failed as expected",
    Status.UNEXPECTED_PASSED: "unexpected pass",
    Status.ERRORED: "not judged",
    Status.SKIPPED: "skipped",
}
_TITLE_SIGNS = {"passed": "✅", "failed": "❌", "inconclusive": "⚠️", "not-gated": "⚪", "unverified": "❔"}


@dataclass(frozen=True, kw_only=True, slots=True)
class ReportTotals:
    """Results by status and by the id of their runner; those that never had one are under an empty id.

    ``failures``: the failed ones in groups, see ``failures.grouped``.
    """

    report: RunReport
    totals: Totals
    by_status: dict[Status, list[Result]]
    failures: list[list[Result]]
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
        others: dict[str, list[Result]] = {}
        for result in report.deciding_nothing:
            others.setdefault(result.runner.id if result.runner else "", []).append(result)
        repetitions = report.sampled_repetitions
        comparison = report.comparison
        new = frozenset(pair.after.index for pair in comparison.newly_failing) if comparison else frozenset()
        groups = grouped(by_status[Status.FAILED], new)
        by_status[Status.FAILED] = [result for group in groups for result in group]
        by_status[Status.ERRORED].sort(key=lambda result: cause(result).label)
        by_status[Status.UNEXPECTED_PASSED].sort(key=lambda result: result.suite.format)
        return cls(
            report=report,
            totals=report.totals(),
            by_status=by_status,
            failures=groups,
            by_runner=by_runner,
            runner_totals={
                runner: totals_of(results, repetitions, others.get(runner, [])) for runner, results in by_runner.items()
            },
        )

    # --- the head -----------------------------------------------------------------------------------

    def title(self) -> Markup:
        """The verdict."""
        totals, report = self.totals, self.report
        counts = f"{totals.green:,} of {totals.executions:,} green" if totals.executions else "nothing ran"
        if (word := verdict(report)) == "not-gated":
            counts = counts_in_words(totals)
        sign = _TITLE_SIGNS["inconclusive" if is_cut_off(report) and word != "failed" else word]
        return markup(f"{sign} {headline(report).capitalize()}: {counts}")

    def tally(self) -> Markup:
        """How many of each status."""
        words = [f"{SIGNS[status]} {words}" for status, words in counts_by_status(self.totals)]
        words += [f"🔀 {self.totals.flaky:,} flaky"] if self.totals.flaky else []
        words += [f"🚧 {apart}"] if (apart := quarantine_fact(self.report)) else []
        words += [f"📦 {reused}"] if (reused := reused_fact(self.report)) else []
        return _listed(iter(words))

    def facts(self) -> Markup:
        """Size, time, cost, and what changed."""
        return _listed(self._facts())

    def _facts(self) -> Iterator[str]:
        totals, comparison = self.totals, self.report.comparison
        if len(self.report.suites) > 1:
            yield counted(len(self.report.suites), "suite")
        yield duration(self.report.duration_ms)
        if totals.cost_usd is not None or not totals.cost_complete:
            yield f"cost {total_cost(self.report, totals)}"
            tokens = totals.tokens.total_tokens
            yield "tokens unknown" if tokens is None else f"{amount(tokens)} tokens"
        if totals.retries:
            yield counted(totals.retries, "retry", "retries")
        if comparison:
            yield comparison_fact(comparison)

    def reasons(self) -> Iterator[Markup]:
        """Reasons of the decision that do not repeat the counts."""
        yield from map(inline, further_reasons(self.report, self.totals))

    def coverage(self) -> Markup:
        """How many of those that ran have a verdict."""
        totals = self.totals
        return markup(f"{totals.judged:,} of {totals.executions - totals.counts[Status.SKIPPED]:,} judged")

    def run(self) -> Markup:
        """A link to the workflow run, which shows the job summary."""
        links = self.report.links
        return linked(markup(f"Job{NO_BREAK}summary"), links.run) if links and links.run else NOTHING

    def artifacts(self) -> Markup:
        """A link to the artifacts of the workflow run, where a workflow uploads the HTML report."""
        links = self.report.links
        title = f"HTML{NO_BREAK}report{NO_BREAK}and{NO_BREAK}artifacts"
        return linked(markup(title), f"{links.run}#artifacts") if links and links.run else NOTHING

    # --- rates --------------------------------------------------------------------------------------

    def rates(self, *, whole: bool = True) -> Iterator[Markup]:
        """The rate over all runners in words; by case, so that runners are no independent samples.

        Not ``whole``: only what explains the table. First which attempt of the job ran the sessions.
        """
        yield from (inline(f"{sentence[:1].upper()}{sentence[1:]}.") for sentence in attempt_sentences(self.report))
        notes = [OTHER_CASES_NOTE] if any("†" in rate_cell(totals) for totals in self.runner_totals.values()) else []
        notes += [MEANS_NOTE] if any(len(result.attempts) > 1 for result in self.report.results) else []
        sentences = rate_sentences(self.totals, self.report) if whole else ()
        for sentence in (*sentences, *notes) if self.totals.executions else ():
            text = sentence[:1].upper() + sentence[1:] + "."
            yield inline(text) if "@" in text else markup(text)  # pass@5 must not mention a user named 5
        of_run = (*trigger_sentences(self.report), *selection_sentences(self.report))
        yield from (inline(f"{sentence}.") for sentence in of_run)

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
        for line in report.slowed:
            yield inline(f"slowed by {line}", 2 * NAME)
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


def _digest(report: RunReport) -> str | None:
    """One digest of all suites; None when one of them has none."""
    lines = sorted(f"{suite.path} {suite.digest}" for suite in report.suites if suite.digest)
    if not lines or len(lines) < len(report.suites):
        return None
    return hashlib.sha256("\n".join(lines).encode(errors="replace")).hexdigest()[:DIGEST]


_CELLS = 30  # characters that a template adds to a row
_UNKNOWN = frozenset({"", "—", "unknown"})
Cells = tuple["Markup", ...]


def _rule(text_columns: int, number_columns: int) -> Markup:
    return markup("|" + "---|" * text_columns + "--:|" * number_columns)


def _known(head: Sequence[str], rows: Sequence[Cells]) -> list[int]:
    """The columns of which at least one cell says something."""
    return [number for number in range(len(head)) if any(str(row[number]) not in _UNKNOWN for row in rows)]


def runners_table(figures: ReportTotals, budget: RowBudget) -> Table:
    """A row per runner, and their sum, unless that is the same. Columns without a known value are left out."""
    if not figures.totals.executions:
        return NO_TABLE
    words = ["Runner", "Passed", "Failed", "Other", f"Pass{NO_BREAK}rate [95{NO_BREAK}%]", "Cost", "Tokens", "Time"]
    total = _sums(markup("All"), figures.totals)
    shown = _known(words, [total])
    lines = (_sums(code(name) or markup("—"), totals) for name, totals in figures.runner_totals.items())
    few = (tuple(cells[number] for number in shown) for cells in lines)
    rows = while_it_fits(few, budget, _CELLS, tuple)
    missing = len(figures.runner_totals) - len(rows)
    if len(rows) != 1 or missing:
        sums = (markup("<br>").join(f"**{line}**" for line in total[number].split("<br>") if line) for number in shown)
        rows = (*rows, tuple(map(markup, sums)))
    return Table(
        head=tuple(markup(words[number]) for number in shown),
        rule=markup("|" + "".join("---|" if number in (0, 3) else "--:|" for number in shown)),
        rows=rows,
        left_out=left_out(missing, "runner"),
    )


def _sums(name: Markup, totals: Totals) -> Cells:
    """The cells of a row. What neither passed nor failed shares a cell, so that the table is narrow."""
    counts = [f"{totals.counts[status]:,}" for status in (Status.PASSED, Status.FAILED)]
    others = [status for status in SIGNS if status not in (Status.PASSED, Status.FAILED) and totals.counts[status]]
    other = "<br>".join(f"{totals.counts[status]:,}{NO_BREAK}{WORDS[status]}" for status in others)
    cost = money(totals.cost_usd, complete=totals.cost_complete).replace(" ", NO_BREAK)
    time = re.sub(r"(\d) ", rf"\1{NO_BREAK}", duration(totals.duration_ms))  # may break between its units
    rate, tokens = rate_cell(totals).replace(" ", NO_BREAK), amount(totals.tokens.total_tokens)
    return (name, *map(markup, (*counts, other, rate, cost, tokens, time)))


def matrix(figures: ReportTotals, rows: Rows, budget: RowBudget) -> Table:
    """A row per case and a column per runner, those with a failure first; none for a single runner."""
    runners = [runner.id for runner in figures.report.runners]
    if len(runners) < 2:  # noqa: PLR2004
        return NO_TABLE
    cases: dict[tuple[str, str], dict[str, Result]] = {}
    for result in figures.report.results:
        if result.runner:
            cases.setdefault((result.suite.path, result.case_id), {})[result.runner.id] = result
    ordered = sorted(cases.values(), key=lambda own: not _is_red(own))
    columns = runners[:MAX_MATRIX_RUNNERS]
    lines = (_case_line(own, columns, rows) for own in ordered[:MAX_MATRIX_CASES])
    shown = while_it_fits(lines, budget, _CELLS, tuple)
    missing = ordered[len(shown) :]
    return Table(
        head=tuple(map(markup, ("Case", *(code(runner) for runner in columns)))),
        rule=_rule(1 + len(columns), 0),
        rows=shown,
        left_out=_left_out_of_matrix(missing, len(runners) - len(columns)),
    )


def _is_red(own: dict[str, Result]) -> bool:
    return any(result.status in RED for result in own.values())


def _case_line(own: dict[str, Result], columns: Sequence[str], rows: Rows) -> Cells:
    first = next(iter(own.values()))
    return (rows.case(first), *(_cell(own.get(runner), rows) for runner in columns))


def _cell(result: Result | None, rows: Rows) -> Markup:
    if result is None:
        return markup("not run")
    samples = samples_of(result, rows.repetitions)
    words = [f"{SIGNS[result.status]}{NO_BREAK}{WORDS[result.status].replace(' ', NO_BREAK)}"]
    words += [f"{samples} sessions".replace(" ", NO_BREAK)] if samples.judged > 1 else []
    words += ["flaky"] if is_flaky(result, rows.repetitions) else []
    words += ["**new**"] if result.index in rows.newly_failing else []
    return markup(", ".join(words))


def _left_out_of_matrix(missing: Sequence[dict[str, Result]], runners: int) -> Markup:
    parts = []
    if missing:
        words = "" if any(map(_is_red, missing)) else " without a failure"
        parts.append(counted(len(missing), "case") + words)
    if runners > 0:
        parts.append(counted(runners, "runner"))
    return markup(f"{' and '.join(parts)} left out") if parts else NOTHING


def passed_table(found: Sequence[Row], scores: Markup) -> Table:
    """A row per passing execution. Columns without a known value are left out."""
    if not found:
        return NO_TABLE
    words = ["Case", "Runner", str(scores) or "Score", "Time", "Cost", "Tokens"]
    cells = [(_passed(row), row.runner, row.score, row.time, row.cost, row.tokens) for row in found]
    shown = _known(words, cells)
    return Table(
        head=tuple(markup(words[number]) for number in shown),
        rule=_rule(sum(number < 2 for number in shown), sum(number >= 2 for number in shown)),  # noqa: PLR2004
        rows=tuple(tuple(row[number] for number in shown) for row in cells),
    )


def _passed(row: Row) -> Markup:
    return markup(" · ").join(filter(None, (row.case, row.sessions, row.retries)))
