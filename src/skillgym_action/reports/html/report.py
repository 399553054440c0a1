"""Reporter: the HTML report, one file that loads nothing. Its pages of sessions are data that its script shows.

The overview is rendered from a report template that users may override. The data of sessions is written behind it piece
by piece and does not pass through the template, so that memory does not grow with the report. A content security policy
allows the packaged script and the styles of the page, by their hashes, and nothing else.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from functools import cache
from hashlib import sha256
from itertools import chain, repeat
from typing import TYPE_CHECKING

from skillgym_action.model.comparison import samples_of
from skillgym_action.model.errors import ConfigError, Problem
from skillgym_action.model.limits import COMMIT_CHARACTERS, MAX_HTML_LISTED
from skillgym_action.model.records import record
from skillgym_action.model.session import NOT_STORED
from skillgym_action.model.totals import totals as totals_of
from skillgym_action.model.verdicts import ASSERTION_FAILURE, GREEN, TROUBLES, Status
from skillgym_action.reports.html.charts import charts_of
from skillgym_action.reports.html.parts import (
    MESSAGE,
    BaselineView,
    CaseRow,
    CaseRows,
    ExecutionGroup,
    Figure,
    Filter,
    Named,
    inline,
    left_out,
    named,
    runner_of,
    shown_executions,
    tone_of,
)
from skillgym_action.reports.html.session import Arms, address, execution_data, fitted, session_data, session_id
from skillgym_action.reports.html.statements import arm_rows, executions
from skillgym_action.reports.markdown.report import PACKAGED, environment
from skillgym_action.reports.template_values import NOTHING, markup
from skillgym_action.reports.wording.failed_assertions import failed_assertions, not_holding
from skillgym_action.reports.wording.first_glance import FirstGlance
from skillgym_action.reports.wording.plan import attempt_sentences, selection_sentences
from skillgym_action.reports.wording.rates import (
    VERDICTS,
    changes,
    comparison_verdict,
    mixed,
    rate_cell,
    rate_sentences,
    rates_compared,
    trigger_sentences,
)
from skillgym_action.reports.wording.reasons import command_of, red_groups
from skillgym_action.reports.wording.results import (
    QUESTION,
    cause,
    changed_suites,
    cost,
    finding_problems,
    judge_name,
    suite_class,
    suites_from,
    time_taken,
)
from skillgym_action.reports.wording.results_apart import quarantined, reused, reused_fact, saved
from skillgym_action.reports.wording.results_table import attempts_of
from skillgym_action.reports.wording.uplift import arms
from skillgym_action.results.statistics.comparison import difference, limits_in_words
from skillgym_action.text.escaping import clipped, html_data, html_text
from skillgym_action.text.words import amount, counted, duration, listed, money

if TYPE_CHECKING:
    from collections.abc import Iterator

    from markupsafe import Markup

    from skillgym_action.model.comparison import Comparison
    from skillgym_action.model.report import RunReport
    from skillgym_action.model.result import Attempt, Result
    from skillgym_action.model.session import ArtifactSource
    from skillgym_action.model.totals import Totals
    from skillgym_action.reports.html.charts import Chart
    from skillgym_action.reports.html.statements import ArmRow
    from skillgym_action.reports.markdown.report import Templates
    from skillgym_action.reports.wording.first_glance import Tone

MAX_HTML_BYTES = 19_000_000  # of the sessions in an HTML report: those of large runs are cut shorter
MAX_HTML_SESSION_BYTES = 1_500_000  # of one session in it
MIN_HTML_SESSION_BYTES = 2_000  # a session for which there is less space is left out, and counted
RED_SESSION_WEIGHT = 4  # times the space of a green session
TEMPLATE = "report.html.j2"
# Marks in the rendered template. All text in it is escaped, so that none can contain them.
_POLICY, _SESSIONS = "<!-- policy -->", "<!-- sessions -->"
_STYLE = re.compile(r"<style>(.*?)</style>", re.DOTALL | re.IGNORECASE)
# What may be before the policy. Anything else, even text, begins the body, and there browsers ignore the policy.
_ATTRIBUTES = r"""(?:[^<>"']|"[^"<>]*"|'[^'<>]*')*"""
_HEAD = re.compile(
    rf"(?:\s|<!doctype\b{_ATTRIBUTES}>|<(?:html|head|meta)\b{_ATTRIBUTES}>|<title>[^<]*</title>|<!--[^<>]*-->)*",
    re.IGNORECASE,
)


def render(
    report: RunReport, *, templates: Templates | None = None, artifacts: ArtifactSource | None = None
) -> Iterator[str]:
    """Yield the report in pieces. Without ``artifacts`` sessions have what the results have about them.

    Raises ConfigError for ``templates`` that do not work.
    """
    head, _, foot = _page(report, templates).partition(_SESSIONS)
    yield head
    if foot:
        yield from _sessions(report, artifacts)
        yield foot


@cache
def packaged_source(name: str) -> str:
    """The source of a packaged script or style."""
    return (PACKAGED / name).read_text(encoding="utf-8")


def _page(report: RunReport, templates: Templates | None) -> str:
    """The rendered template, with the policy."""
    script, style = f"\n{packaged_source('report.js')}", f"\n{packaged_source('report.css')}"
    view = html_view(report, style, script)
    if templates and templates.replaces(TEMPLATE):
        page = templates.rendered(TEMPLATE, view)
    else:
        page = environment().get_template(TEMPLATE).render(view=view)
    before = page.partition(_POLICY)[0]
    if page.count(_POLICY) != 1 or page.count(_SESSIONS) > 1 or not _HEAD.fullmatch(before):
        message = f"{TEMPLATE}: the head has to begin with view.policy, once, and view.sessions may be there once"
        raise ConfigError.of(Problem(message=message, remedy="correct the report template; the built-in one is used"))
    return page.replace(_POLICY, policy(script, _STYLE.findall(page)))


def policy(script: str | None, styles: list[str]) -> str:
    """The element with a content security policy that allows these styles, embedded images, and the script if any."""
    hashes = " ".join(dict.fromkeys(map(_hash, styles))) or "'none'"
    script_hash = "'none'" if script is None else _hash(script)
    rules = (
        "default-src 'none'",
        f"script-src {script_hash}",
        f"style-src {hashes}",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
    )
    return f'<meta http-equiv="Content-Security-Policy" content="{"; ".join(rules)}">'


def _hash(source: str) -> str:
    """As browsers compute it: parsers of HTML read each line end as a line feed."""
    text = source.replace("\r\n", "\n").replace("\r", "\n")
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


# --- the data of sessions -----------------------------------------------------------------------------


def _sessions(report: RunReport, artifacts: ArtifactSource | None) -> Iterator[str]:
    """A script element with data for each execution and each session.

    What a session does not use of its space is shared by those after it; sessions that are not green get more. Those of
    other arms come last. Executions that the tables leave out have no page, and their sessions are counted.
    """
    left = MAX_HTML_BYTES
    arms = Arms(report.results, report.other_arms)
    shown = [
        result for some in (report.results, report.other_arms, report.quarantined) for result in shown_executions(some)
    ]
    weights = sum(_weight_of(result, arms) * (1 + len(result.attempts)) for result in shown)
    before = _sessions_before(report)
    yield _data("settings", html_data(json.dumps(dict(limits_in_words(report.limits)))))
    left_out = 0
    if len(shown) < len(report.all_results):
        left_out = sum(len(result.attempts) for result in report.all_results)
        left_out -= sum(len(result.attempts) for result in shown)
    for result in shown:
        weight = _weight_of(result, arms)
        text, _ = fitted(execution_data(result, report.links, arms), _space(left, weight, weights))
        yield _data(f"execution-{result.index}", text, address(result, other=arms.is_other(result)))
        left, weights = left - len(text), weights - weight
        for attempt in result.attempts if artifacts else ():
            space = _space(left, weight, weights)
            text = _session(attempt, artifacts, before.get(id(result)), space) if artifacts else ""
            weights -= weight
            if not text:
                left_out += 1
                continue
            yield _data(session_id(result.index, attempt), text)
            left -= len(text)
    yield _data("left-out", str(left_out))


def _weight_of(result: Result, arms: Arms) -> int:
    """Sessions that are not green need more space; those of other arms are rarely read."""
    return 1 if result.status in GREEN or arms.is_other(result) else RED_SESSION_WEIGHT


def _space(left: int, weight: int, weights: int) -> int:
    return min(max(0, left) * weight // max(1, weights), MAX_HTML_SESSION_BYTES)


def _session(attempt: Attempt, artifacts: ArtifactSource, before: str | None, space: int) -> str:
    """The data of a session; empty if there is no space for it."""
    if space < MIN_HTML_SESSION_BYTES:
        return ""
    stored = artifacts.session(attempt.directory, max(space // 2, MIN_HTML_SESSION_BYTES))
    baseline = artifacts.baseline_session(before, MIN_HTML_SESSION_BYTES) if before else NOT_STORED
    text, fits = fitted(session_data(stored, baseline), space)
    return text if fits else ""


def _sessions_before(report: RunReport) -> dict[int, str]:
    """The session of the baseline that is compared with, by the identity of the result of this run.

    One that ended differently is preferred: it says more about why the other failed.
    """
    comparison = report.comparison
    if comparison is None:
        return {}
    found = {}
    for pair in (*comparison.newly_failing, *comparison.fixed, *comparison.changed):
        if attempt := _other(pair.before, pair.after):
            found[id(pair.after)] = attempt.directory
    return found


def _other(before: Result, after: Result) -> Attempt | None:
    own = after.attempts[0].status if after.attempts else None
    return next((attempt for attempt in before.attempts if attempt.status != own), next(iter(before.attempts), None))


def _data(id_: str, text: str, shown_at: str = "") -> str:
    """An element with JSON. ``shown_at``: the fragment at which the script shows it."""
    attribute = f' data-address="{html_text(shown_at)}"' if shown_at else ""
    return f'<script type="application/json" id="{id_}"{attribute}>{text}</script>\n'


# --- the view -----------------------------------------------------------------------------------------

_DETAIL = 4_000  # characters


_SIGNS: dict[Tone, str] = {"good": "✓", "bad": "✗", "odd": "!", "shown": "i"}


@record
class HtmlView:
    """Everything that the template shows. ``policy`` and ``sessions`` are replaced after rendering.

    ``tone``: good, bad or odd, of the verdict. ``baseline`` has at most one member, ``warnings`` sentences.
    """

    title: Markup
    verdict: Markup
    tone: Markup
    heading: Markup
    parts: Markup
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
    reused: tuple[Named, ...]
    reused_left_out: Markup
    filters: tuple[Filter, ...]
    runners: tuple[Markup, ...]
    cases: tuple[CaseRow, ...]
    cases_left_out: Markup
    charts: tuple[Chart, ...]
    warnings: tuple[Markup, ...]
    provenance: tuple[Figure, ...]


def html_view(report: RunReport, style: str, script: str) -> HtmlView:
    """The view of a run."""
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
    failures, differing, taken = list(_failures(report)), mixed(report), reused(report)
    compared = arms(report)
    sentences = (*rate_sentences(totals, report), *trigger_sentences(report), *selection_sentences(report))
    glance = FirstGlance(report)
    return HtmlView(
        title=inline(
            " · ".join(filter(None, (f"{_SIGNS[glance.tone]} {glance.title}", _repository(report), "skillgym")))
        ),
        verdict=inline(glance.title.partition(":")[0]),
        heading=inline(glance.title),
        parts=inline(" ".join(filter(None, (glance.news(), glance.others())))),
        tone=markup("odd" if glance.tone == "shown" else glance.tone),
        run=markup(html_text(report.links.run)) if report.links and report.links.run else NOTHING,
        policy=markup(_POLICY),
        style=markup(style),
        script=markup(script),
        sessions=markup(_SESSIONS),
        reasons=tuple(map(inline, _reasons(report))),
        figures=tuple(_figures(report, totals, compared.closing)),
        rates=tuple(map(inline, (*attempt_sentences(report), *sentences))),
        baseline=tuple(_baselines(report.comparison)),
        arms_explained=inline(compared.explanation),
        arms=tuple(arm_rows(compared)),
        failures=tuple(failures[:MAX_HTML_LISTED]),
        failures_left_out=left_out(len(failures) - MAX_HTML_LISTED, "cause"),
        flaky=executions(differing),
        flaky_left_out=left_out(len(differing) - MAX_HTML_LISTED, "execution"),
        quarantined=executions(quarantined(report)),
        quarantined_left_out=left_out(len(report.quarantined) - MAX_HTML_LISTED, "execution"),
        reused=executions(taken),
        reused_left_out=left_out(len(taken) - MAX_HTML_LISTED, "execution"),
        filters=tuple(rows.filters()),
        runners=tuple(map(inline, rows.runners)),
        cases=tuple(rows.shown()),
        cases_left_out=_cases_left_out(rows),
        charts=charts_of(report.results, by_runner),
        warnings=tuple(_warnings(report)),
        provenance=tuple(_provenance(report)),
    )


def _repository(report: RunReport) -> str:
    """``octo/skills``; empty if it is unknown."""
    return "/".join(report.links.repository.split("/")[-2:]) if report.links else ""


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


def _reasons(report: RunReport) -> Iterator[str]:
    yield from FirstGlance(report).reasons()
    yield from report.incomplete
    if changed := changed_suites(report):
        yield changed
    if report.suites_from:
        for sentence, paths in suites_from(report.suites_from):
            yield f"Suites of {report.suites_from.folder}: {sentence}{': ' if paths else ''}{listed(paths)}"


def _figures(report: RunReport, totals: Totals, arms_took: str) -> Iterator[Figure]:
    def figure(label: str, value: str, note: str = "") -> Figure:
        return Figure(label=inline(label), value=inline(value), note=inline(note))

    yield figure("Pass rate", rate_cell(totals), "of attempts, 95% interval" if totals.cases else "no result")
    retries = f", {counted(totals.retries, 'retry', 'retries')}" if totals.retries else ""
    yield figure(
        "Attempts", f"{attempts_of(report.all_results):,}", f"of {counted(totals.executions, 'result')}{retries}"
    )
    if fact := reused_fact(report):
        yield figure("Reused", fact, saved(report))
    cost_of_all = money(totals.cost_usd, complete=totals.cost_complete)
    yield figure("Cost", cost_of_all, arms_took or "all sessions together")
    yield figure("Tokens", amount(totals.tokens.total_tokens), "mean of each execution, added up")
    yield figure("Time", duration(report.duration_ms), f"since {report.started_at[:16].replace('T', ' ')} UTC")


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


def _failures(report: RunReport) -> Iterator[ExecutionGroup]:
    """Reasons and causes, each with the results that have it; what is shown of the first holds for all.

    Those with a class of the suite's are one group, which says how many messages there are.
    """
    for results in red_groups(report):
        status, message = results[0].status, cause(results[0]).message
        messages = len({cause(result).message for result in results}) if suite_class(results[0]) else 1
        several = f"{messages:,} messages, the first: " if messages > 1 else ""
        failure_class = results[0].judgement.failure_class
        kind = TROUBLES.get(failure_class.id) if failure_class else None
        label = "" if failure_class == ASSERTION_FAILURE else cause(results[0]).label
        yield ExecutionGroup(
            label=inline(f"{counted(len(results), 'result')}{': ' if label else ''}{label}"),
            title=inline(several + clipped(_asked(results[0], message), MESSAGE)),
            members=tuple(named(result, _sessions_in_words(result, report)) for result in results[:MAX_HTML_LISTED]),
            remedy=inline(kind.remedy) if kind and status is Status.ERRORED else NOTHING,
            detail=_detail(results[0], message),
            command=inline(command_of(results[0])) if status is not Status.ERRORED else NOTHING,
            tone=tone_of(status),
            left_out=left_out(len(results) - MAX_HTML_LISTED, "result"),
        )


def _asked(result: Result, message: str) -> str:
    """The message; a judge's answer with its question, without which it says nothing."""
    questions = (one for one in not_holding(result) if one.type == QUESTION and one.explanation == message)
    return next((f"{one.assertion}: {message}" for one in questions), message)


def _detail(result: Result, message: str) -> Markup:
    """What does not hold, below a title with the message; with all of the message if the title has not."""
    found = failed_assertions(result, _DETAIL)
    return markup(html_text(found.text() if len(message) > MESSAGE else found.text_below_reason()))


def _sessions_in_words(result: Result, report: RunReport) -> str:
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
    for section, tone in zip(changes(comparison), chain(("bad", "good", "odd"), repeat("none")), strict=False):
        if number := len(section):
            yield ExecutionGroup(
                label=inline(f"{section.title[:1].upper()}{section.title[1:]}"),
                title=inline(f"{number:,}"),
                members=executions(section),
                tone=markup(tone),
                left_out=left_out(number - MAX_HTML_LISTED, "execution"),
            )
