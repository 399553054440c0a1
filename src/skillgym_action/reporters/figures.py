"""What is counted once for a report template, whatever its size: totals, the head of the report, its provenance."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillgym_action.comparison.statistics import wilson_interval
from skillgym_action.model.totals import Totals
from skillgym_action.model.totals import totals as totals_of
from skillgym_action.model.verdicts import Status
from skillgym_action.reporters.rows import NAME, NOTHING, code, inline, linked, ours
from skillgym_action.reporters.wording import amount, cause, counted, duration, money, percent, tallied, verdict
from skillgym_action.text.escaping import clipped, markdown_inline

if TYPE_CHECKING:
    from collections.abc import Iterator

    from markupsafe import Markup

    from skillgym_action.model.execution import Runner
    from skillgym_action.model.result import Result
    from skillgym_action.model.run_report import RunReport

NO_BREAK = "\u00a0"
ALL_DETAILS = f"all{NO_BREAK}details"
DIGEST = COMMIT = 12  # characters
SIGNS = {
    Status.PASSED: "✅",
    Status.FAILED: "❌",
    Status.EXPECTED_FAILED: "☑️",
    Status.UNEXPECTED_PASSED: "❗",
    Status.ERRORED: "⚠️",
    Status.SKIPPED: "⏭️",
}
_TITLES = {"passed": "✅ Passed", "failed": "❌ Failed", "inconclusive": "⚠️ Inconclusive"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Figures:
    """Results by status and by the id of their runner; those that never had one are under an empty id."""

    report: RunReport
    totals: Totals
    by_status: dict[Status, list[Result]]
    by_runner: dict[str, list[Result]]
    runner_totals: dict[str, Totals]

    @classmethod
    def of(cls, report: RunReport) -> Figures:
        """Count."""
        by_status: dict[Status, list[Result]] = {status: [] for status in Status}
        by_runner: dict[str, list[Result]] = {runner.id: [] for runner in report.runners}
        for result in report.results:
            if not result.suite.changed:  # those have a section of their own
                by_status[result.status].append(result)
            by_runner.setdefault(result.runner.id if result.runner else "", []).append(result)
        by_status[Status.ERRORED].sort(key=lambda result: cause(result).label)
        by_status[Status.UNEXPECTED_PASSED].sort(key=lambda result: result.suite.format)
        return cls(
            report=report,
            totals=report.totals(),
            by_status=by_status,
            by_runner=by_runner,
            runner_totals={runner: totals_of(results) for runner, results in by_runner.items()},
        )

    # --- the head -----------------------------------------------------------------------------------

    def title(self) -> Markup:
        """The verdict."""
        totals, report = self.totals, self.report
        green = f"{totals.green:,} of {totals.executions:,} green" if totals.executions else "nothing ran"
        return ours(f"{_TITLES[verdict(report)]}: {green}{', cancelled' if report.cancelled else ''}")

    def tally(self) -> Markup:
        """How many of each status."""
        return _listed(f"{SIGNS[status]} {words}" for status, words in tallied(self.totals))

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
            counts = ((len(comparison.newly_failing), "broken"), (len(comparison.fixed), "mended"))
            yield f"{', '.join(f'{n:,} {word}' for n, word in counts if n) or 'none broken'} since the baseline"

    def reasons(self) -> Iterator[Markup]:
        """What the counts beside them do not say already."""
        totals = self.totals
        said = {f"{count} {status}" for status, count in totals.counts.items()}
        said.add(f"{totals.counts[Status.ERRORED]} of {totals.executions} could not be judged")
        decision = self.report.decision
        yield from (inline(reason) for reason in (decision.reasons if decision else ()) if reason not in said)

    def coverage(self) -> Markup:
        """How many of those that ran have a verdict."""
        totals = self.totals
        return ours(f"{totals.judged:,} of {totals.executions - totals.counts[Status.SKIPPED]:,} judged")

    def run(self) -> Markup:
        """A link to the workflow run."""
        links = self.report.links
        return linked(ours(ALL_DETAILS), links.run) if links and links.run else NOTHING

    # --- the table of runners -----------------------------------------------------------------------

    def columns(self) -> list[Status]:
        """Columns of zeros alone are left out, but two."""
        return [status for status in SIGNS if self.totals.counts[status] or status in (Status.PASSED, Status.FAILED)]

    def head(self) -> tuple[Markup, ...]:
        """The head of the table."""
        signs = (SIGNS[status] for status in self.columns())
        return tuple(map(ours, ("Runner", *signs, f"Pass{NO_BREAK}rate [95{NO_BREAK}%]", "Cost", "Tokens", "Time")))

    def runner_rows(self) -> Iterator[tuple[Markup, ...]]:
        """A row per runner."""
        for runner, totals in self.runner_totals.items():
            yield _sums(code(runner) or ours("—"), totals, self.columns())

    def all_row(self) -> tuple[Markup, ...]:
        """The sum of all runners."""
        return tuple(ours(f"**{cell}**") for cell in _sums(ours("All"), self.totals, self.columns()))

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

    def sources(self) -> Iterator[Markup]:
        """What else it takes to make this run again: suites, commit, and where it is kept."""
        report, links = self.report, self.report.links
        if digest := _digest(report):
            yield ours("suites ") + code(digest)
        if report.commit:
            address = links.commit_address(report.commit) if links else None
            yield ours("commit ") + linked(code(report.commit[:COMMIT]), address)
        yield ours("run ") + linked(code(report.id), links.run if links else None)

    def tool(self) -> Markup:
        """This program and its version."""
        return ours(f"skillgym-action {markdown_inline(self.report.version)}")


def _listed(facts: Iterator[str]) -> Markup:
    return ours(" · ".join(fact.replace(" ", NO_BREAK) for fact in facts))


def _sums(name: Markup, totals: Totals, columns: list[Status]) -> tuple[Markup, ...]:
    counts = (f"{totals.counts[status]:,}" for status in columns)
    cost = money(totals.cost_usd, complete=totals.cost_complete).replace(" ", NO_BREAK)
    time = re.sub(r"(\d) ", rf"\1{NO_BREAK}", duration(totals.duration_ms))  # may break between its units
    return (name, *map(ours, (*counts, _rate(totals), cost, amount(totals.tokens.total_tokens), time)))


def _rate(totals: Totals) -> str:
    """The rate of the judged with its 95 % interval: ``90 % [77, 96]``."""
    interval = wilson_interval(totals.green, totals.judged)
    if interval is None or totals.pass_rate is None:
        return "—"
    low, high = (round(100 * bound) for bound in interval)
    return f"{percent(totals.pass_rate).replace(' ', NO_BREAK)} [{low},{NO_BREAK}{high}]"


def _digest(report: RunReport) -> str | None:
    """One digest of all suites; None when one of them has none."""
    lines = sorted(f"{suite.path} {suite.digest}" for suite in report.suites if suite.digest)
    if not lines or len(lines) < len(report.suites):
        return None
    return hashlib.sha256("\n".join(lines).encode(errors="replace")).hexdigest()[:DIGEST]
