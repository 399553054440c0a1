"""The part of a report template's view about the run as a whole: the verdict, counts, and what the run was made of."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillgym_action.limits import COMMIT_CHARACTERS
from skillgym_action.model.totals import Totals
from skillgym_action.model.totals import totals as totals_of
from skillgym_action.model.verdicts import Status
from skillgym_action.reporters.attempt_wording import attempt_sentences
from skillgym_action.reporters.carried_wording import carried_fact
from skillgym_action.reporters.markdown_failures import grouped
from skillgym_action.reporters.markdown_rows import NAME, code, inline, linked
from skillgym_action.reporters.quarantine_wording import quarantine_fact
from skillgym_action.reporters.rate_wording import (
    MEANS_NOTE,
    OTHER_CASES_NOTE,
    comparison_fact,
    rate_cell,
    rate_sentences,
    trigger_sentences,
)
from skillgym_action.reporters.selection_wording import selection_sentences
from skillgym_action.reporters.template_values import NOTHING, markup
from skillgym_action.reporters.wording import (
    amount,
    cause,
    counted,
    duration,
    headline,
    is_cut_off,
    judge_name,
    money,
    tallied,
    tally,
    telling_reasons,
    verdict,
)
from skillgym_action.text.escaping import clipped, markdown_inline

if TYPE_CHECKING:
    from collections.abc import Iterator

    from markupsafe import Markup

    from skillgym_action.model.execution import Runner
    from skillgym_action.model.result import Result
    from skillgym_action.model.run_report import RunReport

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
WORDS = {
    Status.PASSED: "passed",
    Status.FAILED: "failed",
    Status.EXPECTED_FAILED: "failed as expected",
    Status.UNEXPECTED_PASSED: "unexpected pass",
    Status.ERRORED: "not judged",
    Status.SKIPPED: "skipped",
}
_TITLE_SIGNS = {"passed": "✅", "failed": "❌", "inconclusive": "⚠️", "not-gated": "⚪"}


@dataclass(frozen=True, kw_only=True, slots=True)
class ReportTotals:
    """Results by status and by the id of their runner; those that never had one are under an empty id.

    ``failures``: the failed ones in groups, see ``markdown_failures.grouped``.
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
            counts = tally(totals)
        sign = _TITLE_SIGNS["inconclusive" if is_cut_off(report) and word != "failed" else word]
        return markup(f"{sign} {headline(report).capitalize()}: {counts}")

    def tally(self) -> Markup:
        """How many of each status."""
        words = [f"{SIGNS[status]} {words}" for status, words in tallied(self.totals)]
        words += [f"🔀 {self.totals.flaky:,} flaky"] if self.totals.flaky else []
        words += [f"🚧 {apart}"] if (apart := quarantine_fact(self.report)) else []
        words += [f"📦 {carried}"] if (carried := carried_fact(self.report)) else []
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
            yield f"cost {money(totals.cost_usd, complete=totals.cost_complete)}"
            tokens = totals.tokens.total_tokens
            yield "tokens unknown" if tokens is None else f"{amount(tokens)} tokens"
        if totals.retries:
            yield counted(totals.retries, "retry", "retries")
        if comparison:
            yield comparison_fact(comparison)

    def reasons(self) -> Iterator[Markup]:
        """Reasons of the decision that do not repeat the counts."""
        yield from map(inline, telling_reasons(self.report, self.totals))

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
