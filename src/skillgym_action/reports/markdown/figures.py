"""Parts of a view about the run as a whole: verdict, counts, what the run was made of; tables of runners and cases."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from skillgym_action.model.adaptive import OF_BASE_COMMIT
from skillgym_action.model.limits import COMMIT_CHARACTERS
from skillgym_action.model.records import record
from skillgym_action.model.totals import Totals
from skillgym_action.model.totals import totals as totals_of
from skillgym_action.model.verdicts import Status
from skillgym_action.reports.markdown.rows import NAME, code, inline, linked
from skillgym_action.reports.markdown.statements import NO_BREAK, NO_TABLE, Table
from skillgym_action.reports.template_values import NOTHING, markup
from skillgym_action.reports.wording.first_glance import FirstGlance
from skillgym_action.reports.wording.plan import attempt_sentences, selection_sentences
from skillgym_action.reports.wording.rates import (
    MEANS_NOTE,
    OTHER_CASES_NOTE,
    VERDICTS,
    comparison_verdict,
    rate_cell,
    rate_sentences,
    rates_compared,
    trigger_sentences,
)
from skillgym_action.reports.wording.reasons import by_reason
from skillgym_action.reports.wording.results import cause, judge_name, total_cost
from skillgym_action.reports.wording.results_apart import quarantine_fact, reused_fact
from skillgym_action.reports.wording.results_table import attempts_of
from skillgym_action.text.escaping import clipped, markdown_inline
from skillgym_action.text.words import amount, counted, duration

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from markupsafe import Markup

    from skillgym_action.model.report import RunReport
    from skillgym_action.model.result import Result
    from skillgym_action.model.runner import Runner
    from skillgym_action.reports.markdown.rows import Row
    from skillgym_action.reports.wording.first_glance import Tone

MAX_GRID_CASES = 300  # rows of the table of cases in the summary
ALL_RESULTS = "all results"
DIGEST = 12  # characters
SIGNS = {
    Status.PASSED: "✅",
    Status.FAILED: "❌",
    Status.EXPECTED_FAILED: "☑️",
    Status.UNEXPECTED_PASSED: "❗",
    Status.ERRORED: "⚠️",
    Status.SKIPPED: "⏭️",
}
TONES: dict[Tone, str] = {"good": "✅", "bad": "❌", "odd": "⚠️", "shown": "\u2139\ufe0f"}


@record
class ReportTotals:
    """Results by status and by the id of their runner; those that never had one are under an empty id.

    ``failures``: the failed ones in groups, see ``reasons.by_reason``.
    """

    report: RunReport
    totals: Totals
    by_status: dict[Status, list[Result]]
    failures: list[list[Result]]
    by_runner: dict[str, list[Result]]
    runner_totals: dict[str, Totals]
    glance: FirstGlance

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
        glance = FirstGlance(report)
        groups = by_reason(by_status[Status.FAILED], glance.newly_failing)
        by_status[Status.FAILED] = [result for group in groups for result in group]
        by_status[Status.ERRORED].sort(key=lambda result: cause(result).label)
        by_status[Status.UNEXPECTED_PASSED].sort(key=lambda result: result.suite.format)
        return cls(
            report=report,
            glance=glance,
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
        """Better or worse, with its sign."""
        title = inline(self.glance.title, 2 * NAME).replace(" → ", f" →{NO_BREAK}")
        return markup(f"{TONES[self.glance.tone]} ") + title

    def parts(self) -> Markup:
        """What became of the results, and the link to the report."""
        news = inline(self.glance.news())
        found = [markup(f"**{news}**") if news else NOTHING, inline(self.glance.others()), self.report_link()]
        return markup(" ").join(filter(None, found))

    def facts(self) -> Markup:
        """Sums of this run: attempts, cost, tokens, time, commits."""
        return markup(" · ").join(self._facts())

    def _facts(self) -> Iterator[Markup]:
        totals, report = self.totals, self.report
        attempts = attempts_of(report.all_results)
        yield markup(counted(attempts, "attempt"))
        if totals.retries:
            yield markup(counted(totals.retries, "retry", "retries"))
        if apart := ", ".join(filter(None, (quarantine_fact(report), reused_fact(report)))):
            yield markup(apart)
        if totals.cost_usd is not None or not totals.cost_complete:
            yield markup(f"cost {total_cost(report, totals)}")
            tokens = totals.tokens.total_tokens
            each = "" if attempts == len(report.all_results) else " for one attempt of each"
            yield markup("tokens unknown" if tokens is None else f"{amount(tokens)} tokens{each}")
        yield markup(duration(report.duration_ms))
        if report.commit:
            yield self._commit(report.commit)
        if report.comparison:
            base = report.comparison.base_commit
            is_commit = base and report.comparison.base_id.startswith(OF_BASE_COMMIT)
            named = (self._commit(base) if base else NOTHING, NOTHING if is_commit else code(report.comparison.base_id))
            yield markup("compared with ") + markup(" ").join(filter(None, named))
        if run := self.run():
            yield run

    def _commit(self, commit: str) -> Markup:
        links = self.report.links
        return linked(code(commit[:COMMIT_CHARACTERS]), links.commit_address(commit) if links else None)

    def reasons(self) -> Iterator[Markup]:
        """Reasons of the decision that neither the title nor the line below it has."""
        yield from map(inline, self.glance.reasons())

    def run(self) -> Markup:
        """A link to the workflow run, which shows the job summary."""
        links = self.report.links
        return linked(markup(ALL_RESULTS), links.run) if links and links.run else NOTHING

    def report_link(self) -> Markup:
        """A link to the artifacts of the workflow run, where a workflow uploads the HTML report."""
        links = self.report.links
        found = linked(markup("Open the report"), f"{links.run}#artifacts") if links and links.run else NOTHING
        return markup(f"**{found}**") if found else NOTHING

    # --- rates --------------------------------------------------------------------------------------

    def notes(self) -> Iterator[Markup]:
        """Which attempt of the job ran the sessions, the rates of trigger queries, and which cases were selected."""
        found = (*attempt_sentences(self.report), *trigger_sentences(self.report), *selection_sentences(self.report))
        yield from (inline(f"{sentence[:1].upper()}{sentence[1:]}.") for sentence in found)

    def certainty(self) -> Iterator[Markup]:
        """How sure the rates are: of each runner, of all by case, so that runners are no independent samples."""
        if not self.totals.executions:
            return
        comparison = self.report.comparison
        if comparison:
            before, after = rates_compared(comparison)
            yield inline(f"{before}{comparison.base_id}{after}")
            yield inline(f"{VERDICTS[comparison.verdict]}: {comparison_verdict(comparison) or 'see above'}.")
        cells = {name: rate_cell(totals) for name, totals in self.runner_totals.items()}
        if len(cells) > 1:
            yield from (inline(f"{name or '—'}: {cell} of attempts pass.") for name, cell in cells.items())
        notes = [OTHER_CASES_NOTE] if any("†" in cell for cell in cells.values()) and len(cells) > 1 else []
        notes += [MEANS_NOTE] if any(len(result.attempts) > 1 for result in self.report.results) else []
        for sentence in (*rate_sentences(self.totals, self.report), *notes):
            yield inline(sentence[:1].upper() + sentence[1:] + ".")

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
        yield markup("run ") + linked(code(report.id), links.run if links else None)

    def tool(self) -> Markup:
        """This program and its version."""
        return markup(f"skillgym-action {markdown_inline(self.report.version)}")


def _digest(report: RunReport) -> str | None:
    """One digest of all suites; None when one of them has none."""
    lines = sorted(f"{suite.path} {suite.digest}" for suite in report.suites if suite.digest)
    if not lines or len(lines) < len(report.suites):
        return None
    return hashlib.sha256("\n".join(lines).encode(errors="replace")).hexdigest()[:DIGEST]


_UNKNOWN = frozenset({"", "—", "unknown"})
Cells = tuple["Markup", ...]


def _rule(text_columns: int, number_columns: int) -> Markup:
    return markup("|" + "---|" * text_columns + "--:|" * number_columns)


def _known(head: Sequence[str], rows: Sequence[Cells]) -> list[int]:
    """The columns of which at least one cell says something."""
    return [number for number in range(len(head)) if any(str(row[number]) not in _UNKNOWN for row in rows)]


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
