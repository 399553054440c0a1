"""The view of a run that the template of the HTML report gets: escaped for HTML and formatted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillgym_action.comparison.differences import limits_in_words
from skillgym_action.limits import COMMIT_CHARACTERS, MAX_HTML_LISTED
from skillgym_action.model.samples import samples_of
from skillgym_action.model.totals import totals as totals_of
from skillgym_action.model.verdicts import TROUBLES, Status
from skillgym_action.reporters.attempt_wording import attempt_sentences
from skillgym_action.reporters.carried_wording import carried_fact, carried_outcome, carried_results, saved
from skillgym_action.reporters.failed_assertions import failed_assertions, not_holding
from skillgym_action.reporters.html_charts import charts_of
from skillgym_action.reporters.html_matrix import CaseRows
from skillgym_action.reporters.html_parts import (
    MESSAGE,
    WORDS,
    BaselineView,
    CaseRow,
    ExecutionGroup,
    Figure,
    Filter,
    Named,
    inline,
    left_out,
    named,
    runner_of,
    tone_of,
)
from skillgym_action.reporters.quarantine_wording import quarantine_fact, quarantine_reason, quarantined_outcome
from skillgym_action.reporters.rate_wording import (
    VERDICTS,
    comparison_fact,
    comparison_verdict,
    difference,
    mixed_results,
    pair_change,
    rate_cell,
    rate_sentences,
    rates_compared,
    trigger_sentences,
)
from skillgym_action.reporters.selection_wording import selection_sentences
from skillgym_action.reporters.template_values import NOTHING, markup
from skillgym_action.reporters.uplift_wording import arms_spending
from skillgym_action.reporters.wording import (
    QUESTION,
    RED,
    amount,
    cause,
    changed_suites,
    cost,
    counted,
    duration,
    finding_problems,
    headline,
    is_cut_off,
    judge_name,
    listed,
    money,
    suites_from,
    tally,
    telling_reasons,
    time_taken,
    verdict,
)
from skillgym_action.text.escaping import clipped, html_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from markupsafe import Markup

    from skillgym_action.model.comparison import Comparison
    from skillgym_action.model.result import Result
    from skillgym_action.model.run_report import RunReport
    from skillgym_action.model.totals import Totals
    from skillgym_action.reporters.html_charts import Chart
    from skillgym_action.reporters.html_uplift import ArmRow

_DETAIL = 4_000  # characters


@dataclass(frozen=True, kw_only=True, slots=True)
class HtmlView:
    """Everything that the template shows. ``policy`` and ``sessions`` are replaced after rendering.

    ``tone``: good, bad or odd, of the verdict. ``baseline`` has at most one member, ``warnings`` sentences.
    """

    title: Markup
    verdict: Markup
    tone: Markup
    tally: Markup
    run: Markup
    policy: Markup
    style: Markup
    script: Markup
    sessions: Markup
    reasons: tuple[Markup, ...]
    figures: tuple[Figure, ...]
    rates: tuple[Markup, ...]
    baseline: tuple[BaselineView, ...]
    arms_explained: Markup
    arms: tuple[ArmRow, ...]
    failures: tuple[ExecutionGroup, ...]
    failures_left_out: Markup
    flaky: tuple[Named, ...]
    flaky_left_out: Markup
    quarantined: tuple[Named, ...]
    quarantined_left_out: Markup
    carried: tuple[Named, ...]
    carried_left_out: Markup
    filters: tuple[Filter, ...]
    runners: tuple[Markup, ...]
    cases: tuple[CaseRow, ...]
    cases_left_out: Markup
    charts: tuple[Chart, ...]
    warnings: tuple[Markup, ...]
    provenance: tuple[Figure, ...]


@dataclass(frozen=True, slots=True)
class FixedParts:
    """What the view has that is not of the run: the sources of script and style, and two marks."""

    policy: str
    style: str
    script: str
    sessions: str


def html_view(report: RunReport, parts: FixedParts) -> HtmlView:
    """The view of a run."""
    from skillgym_action.reporters.html_uplift import arm_rows, arms_paragraph

    totals = report.totals()
    rows = CaseRows(report)
    others: dict[str, list[Result]] = {}
    for result in report.deciding_nothing:
        others.setdefault(runner_of(result), []).append(result)
    by_runner = {
        runner: totals_of(results, report.sampled_repetitions, others.get(runner, ()))
        for runner, results in _by_runner(report).items()
        if runner
    }
    failures, mixed, carried = list(_failures(report)), mixed_results(report), carried_results(report)
    sentences = (*rate_sentences(totals, report), *trigger_sentences(report), *selection_sentences(report))
    word = verdict(report)
    return HtmlView(
        title=inline(f"{headline(report)[:1].upper()}{headline(report)[1:]}: {report.id}"),
        verdict=inline(headline(report)),
        tone=markup("good" if word == "passed" and not is_cut_off(report) else "bad" if word == "failed" else "odd"),
        tally=inline(", ".join(filter(None, [tally(totals), quarantine_fact(report), carried_fact(report)]))),
        run=markup(html_text(report.links.run)) if report.links and report.links.run else NOTHING,
        policy=markup(parts.policy),
        style=markup(parts.style),
        script=markup(parts.script),
        sessions=markup(parts.sessions),
        reasons=tuple(map(inline, _reasons(report, totals))),
        figures=tuple(_figures(report, totals)),
        rates=tuple(map(inline, (*attempt_sentences(report), *sentences))),
        baseline=tuple(_baselines(report.comparison)),
        arms_explained=arms_paragraph(report),
        arms=tuple(arm_rows(report)),
        failures=tuple(failures[:MAX_HTML_LISTED]),
        failures_left_out=left_out(len(failures) - MAX_HTML_LISTED, "cause"),
        flaky=tuple(named(result, words) for result, words in mixed[:MAX_HTML_LISTED]),
        flaky_left_out=left_out(len(mixed) - MAX_HTML_LISTED, "execution"),
        quarantined=tuple(_quarantined(report)),
        quarantined_left_out=left_out(len(report.quarantined) - MAX_HTML_LISTED, "execution"),
        carried=tuple(named(result, carried_outcome(result, report)) for result in carried[:MAX_HTML_LISTED]),
        carried_left_out=left_out(len(carried) - MAX_HTML_LISTED, "execution"),
        filters=tuple(rows.filters()),
        runners=tuple(map(inline, rows.runners)),
        cases=tuple(rows.shown()),
        cases_left_out=_cases_left_out(rows),
        charts=charts_of(report.results, by_runner),
        warnings=tuple(_warnings(report)),
        provenance=tuple(_provenance(report)),
    )


def _by_runner(report: RunReport) -> dict[str, list[Result]]:
    found: dict[str, list[Result]] = {runner.id: [] for runner in report.runners}
    for result in report.results:
        found.setdefault(runner_of(result), []).append(result)
    return found


def _cases_left_out(rows: CaseRows) -> Markup:
    if not rows.left_out:
        return NOTHING
    where = inline("; they have no page here, and are in results.json")
    if rows.red_left_out:
        note = inline(f", {rows.red_left_out:,} of them not green")
        return left_out(rows.left_out, "execution") + note + where
    return left_out(rows.left_out, "green execution", "green executions") + where


def _reasons(report: RunReport, totals: Totals) -> Iterator[str]:
    yield from telling_reasons(report, totals)
    yield from report.incomplete
    if changed := changed_suites(report):
        yield changed
    if report.suites_from:
        for sentence, paths in suites_from(report.suites_from):
            yield f"Suites of {report.suites_from.folder}: {sentence}{': ' if paths else ''}{listed(paths)}"


def _figures(report: RunReport, totals: Totals) -> Iterator[Figure]:
    def figure(label: str, value: str, note: str = "") -> Figure:
        return Figure(label=inline(label), value=inline(value), note=inline(note))

    yield figure("Pass rate", rate_cell(totals), "of sessions, 95 % interval" if totals.cases else "nothing was judged")
    yield figure("Executions", f"{totals.green:,} of {totals.executions:,} green", tally(totals))
    sessions = sum(len(result.attempts) for result in report.all_results)
    retries = f", {counted(totals.retries, 'retry', 'retries')}" if totals.retries else ""
    flaky = f"{totals.flaky:,} flaky" if totals.flaky else "none flaky"
    yield figure("Sessions", f"{sessions:,}", flaky + retries)
    if fact := carried_fact(report):
        yield figure("Carried", fact, saved(report))
    yield figure(
        "Cost", money(totals.cost_usd, complete=totals.cost_complete), arms_spending(report) or "all sessions together"
    )
    yield figure("Tokens", amount(totals.tokens.total_tokens), "mean of each execution, added up")
    yield figure("Time", duration(report.duration_ms), report.started_at)
    if report.comparison:
        yield figure("Baseline", VERDICTS[report.comparison.verdict], comparison_fact(report.comparison))


def _warnings(report: RunReport) -> Iterator[Markup]:
    problems = [*finding_problems(report), *report.warnings]
    for problem in problems[:MAX_HTML_LISTED]:
        yield inline(str(problem))
    if more := left_out(len(problems) - MAX_HTML_LISTED, "warning"):
        yield more


def _provenance(report: RunReport) -> Iterator[Figure]:
    found = {
        "Run": report.id,
        "Command": report.command,
        "Started": report.started_at,
        "Ended": f"{report.ended_at}{' (cancelled)' if report.cancelled else ''}",
        "Commit": report.commit or "",
        "Shard": report.shard or "",
        "Judge": judge_name(report.judge) if report.judge else "",
        "skillgym-action": report.version,
    }
    found |= {f"{what[:1].upper()}{what[1:]}": words for what, words in limits_in_words(report.limits)}
    found |= {"Slowed by": "; ".join(report.slowed)}
    for runner in report.runners:
        versions = sorted(
            {result.version for result in report.results if result.version and runner_of(result) == runner.id}
        )
        models = sorted({result.model for result in report.results if result.model and runner_of(result) == runner.id})
        words = [runner.agent.type, " ".join(versions), ", ".join(models) or runner.agent.model or ""]
        found[f"Runner {runner.id}"] = " · ".join(filter(None, words))
    for label, value in found.items():
        if value:
            yield Figure(label=inline(label), value=inline(clipped(value, MESSAGE)))


# --- lists of executions ----------------------------------------------------------------------------


def _failures(report: RunReport) -> Iterator[ExecutionGroup]:
    """Executions that are not green by their cause, the most frequent causes first.

    Those of one group have the same assertions that do not hold, so that what is shown of the first holds for all.
    """
    found: dict[tuple[Status, str, str, tuple[tuple[str, str], ...]], list[Result]] = {}
    for result in report.results:
        if result.status in RED:
            reason = cause(result)
            outcomes = tuple((outcome.assertion, outcome.explanation) for outcome in not_holding(result))
            found.setdefault((result.status, reason.label, reason.message, outcomes), []).append(result)
    order = sorted(found.items(), key=lambda entry: (RED.index(entry[0][0]), -len(entry[1])))
    for (status, label, message, _), results in order:
        failure_class = results[0].judgement.failure_class
        kind = TROUBLES.get(failure_class.id) if failure_class else None
        yield ExecutionGroup(
            label=inline(label if status is not Status.UNEXPECTED_PASSED else WORDS[status]),
            title=inline(clipped(_asked(results[0], message), MESSAGE)),
            members=tuple(named(result, _sessions(result, report)) for result in results[:MAX_HTML_LISTED]),
            remedy=inline(kind.remedy) if kind and status is Status.ERRORED else NOTHING,
            detail=_detail(results[0], message),
            tone=tone_of(status),
            left_out=left_out(len(results) - MAX_HTML_LISTED, "execution"),
        )


def _quarantined(report: RunReport) -> Iterator[Named]:
    for result in report.quarantined[:MAX_HTML_LISTED]:
        why = f"; {quarantine_reason(result.quarantine)}" if result.quarantine else ""
        yield named(result, quarantined_outcome(result, report.sampled_repetitions) + why)


def _asked(result: Result, message: str) -> str:
    """The message; a judge's answer with its question, without which it says nothing."""
    questions = (one for one in not_holding(result) if one.type == QUESTION and one.explanation == message)
    return next((f"{one.assertion}: {message}" for one in questions), message)


def _detail(result: Result, message: str) -> Markup:
    """What does not hold, below a title with the message; with all of the message if the title has not."""
    found = failed_assertions(result, _DETAIL)
    return markup(html_text(found.text() if len(message) > MESSAGE else found.text_below_reason()))


def _sessions(result: Result, report: RunReport) -> str:
    samples = samples_of(result, report.sampled_repetitions)
    share = f"{samples} passed, " if samples.judged > 1 else ""
    known = f"{cost(result)}, " if result.cost.usd is not None else ""
    return f"{share}{known}{time_taken(result)}"


def _baselines(comparison: Comparison | None) -> Iterator[BaselineView]:
    if comparison is None:
        return
    before, after = rates_compared(comparison)
    base = comparison.base_commit[:COMMIT_CHARACTERS] if comparison.base_commit else comparison.base_id
    words = comparison_verdict(comparison)
    yield BaselineView(
        verdict=inline(f"{VERDICTS[comparison.verdict]}{': ' if words else ''}{words}"),
        rate=inline(f"{before}{base}{after}"),
        differences=(
            *(inline(difference(found)) for found in comparison.differences[:MAX_HTML_LISTED]),
            *filter(None, [left_out(len(comparison.differences) - MAX_HTML_LISTED, "difference")]),
        ),
        groups=tuple(_changes(comparison)),
    )


def _changes(comparison: Comparison) -> Iterator[ExecutionGroup]:
    pairs = (
        ("Newly failing", "bad", comparison.newly_failing),
        ("Fixed", "good", comparison.fixed),
        ("Changed, each by itself may be chance", "odd", comparison.changed),
    )
    for words, tone, found in pairs:
        yield from _change(
            words, tone, len(found), [named(pair.after, pair_change(pair)) for pair in found[:MAX_HTML_LISTED]]
        )
    several = (
        ("Judged in the baseline, not now", comparison.no_longer_judged),
        ("With a different prompt, assertion or expectation: not compared", comparison.redefined),
        ("Added", comparison.added),
        ("Not in this run", comparison.removed),
    )
    for words, results in several:
        yield from _change(words, "none", len(results), [named(result) for result in results[:MAX_HTML_LISTED]])


def _change(words: str, tone: str, number: int, members: Sequence[Named]) -> Iterator[ExecutionGroup]:
    if number:
        more = left_out(number - len(members), "execution")
        yield ExecutionGroup(
            label=inline(words), title=inline(f"{number:,}"), members=tuple(members), tone=markup(tone), left_out=more
        )
