"""The view of a run that the template of the HTML report gets: escaped for HTML and formatted."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from markupsafe import Markup

from skillgym_action.limits import MAX_HTML_EXECUTIONS, MAX_HTML_LISTED
from skillgym_action.model.samples import is_flaky, samples_of
from skillgym_action.model.totals import totals as totals_of
from skillgym_action.model.verdicts import GREEN, TROUBLES, Status
from skillgym_action.reporters.html_charts import charts_of
from skillgym_action.reporters.html_session import address
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
)
from skillgym_action.reporters.wording import (
    RED,
    amount,
    cause,
    changed_suites,
    cost,
    counted,
    duration,
    finding_problems,
    headline,
    judge_name,
    money,
    runner_id,
    score,
    suites_from,
    tally,
    verdict,
)
from skillgym_action.text.escaping import clipped, html_text, one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from skillgym_action.model.comparison import Comparison, ResultPair
    from skillgym_action.model.result import Result
    from skillgym_action.model.run_report import RunReport
    from skillgym_action.model.totals import Totals
    from skillgym_action.reporters.html_charts import Chart

NOTHING = Markup()
WORDS = {
    Status.PASSED: "Passed",
    Status.FAILED: "Failed",
    Status.EXPECTED_FAILED: "Failed as expected",
    Status.UNEXPECTED_PASSED: "Unexpected pass",
    Status.ERRORED: "Not judged",
    Status.SKIPPED: "Skipped",
}
_SIGNS = {
    Status.PASSED: "✓",
    Status.FAILED: "✗",
    Status.EXPECTED_FAILED: "✓",
    Status.UNEXPECTED_PASSED: "!",
    Status.ERRORED: "?",
    Status.SKIPPED: "–",
}
_ORDER = (*RED, Status.PASSED, Status.EXPECTED_FAILED, Status.SKIPPED)
_MESSAGE, _DETAIL, _COMMIT = 600, 4_000, 12  # characters


@dataclass(frozen=True, kw_only=True, slots=True)
class Figure:
    """A number of the run with its unit, and what there is to add."""

    label: Markup
    value: Markup
    note: Markup = NOTHING


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """A value that executions can be filtered by, with the number of executions that have it."""

    value: Markup
    label: Markup
    count: Markup


@dataclass(frozen=True, kw_only=True, slots=True)
class Filter:
    """A property of executions; ``name`` is its key in the address."""

    name: Markup
    label: Markup
    choices: tuple[Choice, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    """One execution. ``link`` leads to its page; empty where the case did not run on the runner.

    ``status`` is a value of ``Status``, ``word`` its name; ``share`` such as ``3 of 5``; ``tone``: good, bad, odd or
    none. ``changed`` is what the comparison says, such as ``newly failing``; ``failure`` the failure class.
    """

    runner: Markup
    link: Markup = NOTHING
    status: Markup = NOTHING
    word: Markup = NOTHING
    sign: Markup = NOTHING
    tone: Markup = NOTHING
    share: Markup = NOTHING
    score: Markup = NOTHING
    cost: Markup = NOTHING
    time: Markup = NOTHING
    failure: Markup = NOTHING
    flaky: Markup = NOTHING
    changed: Markup = NOTHING


@dataclass(frozen=True, kw_only=True, slots=True)
class CaseRow:
    """One case on all runners. ``number``, ``red``, ``usd`` and ``ms`` are for sorting."""

    suite: Markup
    case: Markup
    tags: tuple[Markup, ...]
    cells: tuple[Cell, ...]
    cost: Markup
    time: Markup
    number: Markup
    red: Markup
    usd: Markup
    ms: Markup


@dataclass(frozen=True, kw_only=True, slots=True)
class Named:
    """An execution in a list: ``title`` is case and runner, ``detail`` what there is to say about it."""

    link: Markup
    title: Markup
    detail: Markup = NOTHING
    tone: Markup = NOTHING


@dataclass(frozen=True, kw_only=True, slots=True)
class Group:
    """Executions with something in common. ``label``: such as the failure class; ``detail`` is preformatted."""

    label: Markup
    title: Markup
    members: tuple[Named, ...]
    remedy: Markup = NOTHING
    detail: Markup = NOTHING
    tone: Markup = NOTHING
    left_out: Markup = NOTHING


@dataclass(frozen=True, kw_only=True, slots=True)
class BaselineView:
    """The comparison: the verdict, both rates and what else differs as sentences, and the executions that changed."""

    verdict: Markup
    rate: Markup
    differences: tuple[Markup, ...]
    groups: tuple[Group, ...]


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
    failures: tuple[Group, ...]
    failures_left_out: Markup
    flaky: tuple[Named, ...]
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


def markup(text: str) -> Markup:
    """Escaped text, or markup, as a template may place it."""
    return Markup(text)  # noqa: S704


def inline(text: str) -> Markup:
    """Any text on one line."""
    return markup(html_text(one_line(text)))


def _runner(result: Result) -> str:
    return result.runner.id if result.runner else ""


def html_view(report: RunReport, parts: FixedParts) -> HtmlView:
    """The view of a run."""
    totals = report.totals()
    rows = _CaseRows(report)
    by_runner = {
        runner: totals_of(results, report.sampled_repetitions) for runner, results in _by_runner(report).items() if runner
    }
    failures = list(_failures(report))
    word = verdict(report)
    return HtmlView(
        title=inline(f"{headline(report)[:1].upper()}{headline(report)[1:]}: {report.id}"),
        verdict=inline(headline(report)),
        tone=markup({"passed": "good", "failed": "bad"}.get(word, "odd")),
        tally=inline(tally(totals)),
        run=markup(html_text(report.links.run)) if report.links and report.links.run else NOTHING,
        policy=markup(parts.policy),
        style=markup(parts.style),
        script=markup(parts.script),
        sessions=markup(parts.sessions),
        reasons=tuple(map(inline, _reasons(report))),
        figures=tuple(_figures(report, totals)),
        rates=tuple(map(inline, rate_sentences(totals, report))),
        baseline=tuple(_baselines(report.comparison)),
        failures=tuple(failures[:MAX_HTML_LISTED]),
        failures_left_out=_more(len(failures) - MAX_HTML_LISTED, "cause"),
        flaky=tuple(_named(result, words) for result, words in mixed_results(report)[:MAX_HTML_LISTED]),
        filters=tuple(rows.filters()),
        runners=tuple(map(inline, rows.runners)),
        cases=tuple(rows.shown()),
        cases_left_out=_more(rows.left_out, "green execution", "green executions"),
        charts=charts_of(report.results, by_runner),
        warnings=tuple(_warnings(report)),
        provenance=tuple(_provenance(report)),
    )


def _by_runner(report: RunReport) -> dict[str, list[Result]]:
    found: dict[str, list[Result]] = {runner.id: [] for runner in report.runners}
    for result in report.results:
        found.setdefault(_runner(result), []).append(result)
    return found


def _more(number: int, one: str, many: str | None = None) -> Markup:
    return inline(f"{counted(number, f'more {one}', many and f'more {many}')} left out") if number > 0 else NOTHING


def _reasons(report: RunReport) -> Iterator[str]:
    yield from report.decision.reasons if report.decision else ()
    yield from report.incomplete
    if changed := changed_suites(report):
        yield changed
    if report.suites_from:
        for sentence, paths in suites_from(report.suites_from):
            yield f"Suites of {report.suites_from.folder}: {sentence}{': ' if paths else ''}{', '.join(paths[:20])}"


def _figures(report: RunReport, totals: Totals) -> Iterator[Figure]:
    def figure(label: str, value: str, note: str = "") -> Figure:
        return Figure(label=inline(label), value=inline(value), note=inline(note))

    yield figure("Pass rate", rate_cell(totals), "of sessions, 95 % interval" if totals.cases else "nothing was judged")
    yield figure("Executions", f"{totals.green:,} of {totals.executions:,} green", tally(totals))
    sessions = sum(len(result.attempts) for result in report.results)
    retries = f", {counted(totals.retries, 'retry', 'retries')}" if totals.retries else ""
    flaky = f"{totals.flaky:,} flaky" if totals.flaky else "none flaky"
    yield figure("Sessions", f"{sessions:,}", flaky + retries)
    yield figure("Cost", money(totals.cost_usd, complete=totals.cost_complete), "all sessions together")
    yield figure("Tokens", amount(totals.tokens.total_tokens), "mean of each execution, added up")
    yield figure("Time", duration(report.duration_ms), report.started_at)
    if report.comparison:
        yield figure("Baseline", VERDICTS[report.comparison.verdict], comparison_fact(report.comparison))


def _warnings(report: RunReport) -> Iterator[Markup]:
    problems = [*finding_problems(report), *report.warnings]
    for problem in problems[:MAX_HTML_LISTED]:
        yield inline(str(problem))
    if more := _more(len(problems) - MAX_HTML_LISTED, "warning"):
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
    for runner in report.runners:
        versions = sorted({result.version for result in report.results if result.version and result.runner is runner})
        models = sorted({result.model for result in report.results if result.model and result.runner is runner})
        words = [runner.agent.type, " ".join(versions), ", ".join(models) or runner.agent.model or ""]
        found[f"Runner {runner.id}"] = " · ".join(filter(None, words))
    for label, value in found.items():
        if value:
            yield Figure(label=inline(label), value=inline(clipped(value, _MESSAGE)))


# --- lists of executions ----------------------------------------------------------------------------


def _tone(status: Status) -> Markup:
    if status in GREEN:
        return markup("good")
    return markup("none" if status is Status.SKIPPED else "bad" if status is Status.FAILED else "odd")


def _named(result: Result, detail: str = "") -> Named:
    title = f"{result.case_id} · {runner_id(result)}"
    return Named(
        link=markup(html_text(address(result))),
        title=inline(clipped(title, 200)),
        detail=inline(clipped(detail, _MESSAGE)),
        tone=_tone(result.status),
    )


def _failures(report: RunReport) -> Iterator[Group]:
    """Executions that are not green by their cause, the most frequent causes first."""
    found: dict[tuple[Status, str, str], list[Result]] = {}
    for result in report.results:
        if result.status in RED:
            reason = cause(result)
            found.setdefault((result.status, reason.label, reason.message), []).append(result)
    order = sorted(found.items(), key=lambda entry: (RED.index(entry[0][0]), -len(entry[1])))
    for (status, label, message), results in order:
        failure_class = results[0].judgement.failure_class
        kind = TROUBLES.get(failure_class.id) if failure_class else None
        yield Group(
            label=inline(label if status is not Status.UNEXPECTED_PASSED else WORDS[status]),
            title=inline(clipped(message, _MESSAGE)),
            members=tuple(_named(result, _sessions(result, report)) for result in results[:MAX_HTML_LISTED]),
            remedy=inline(kind.remedy) if kind and status is Status.ERRORED else NOTHING,
            detail=_assertions(results[0]),
            tone=_tone(status),
            left_out=_more(len(results) - MAX_HTML_LISTED, "execution"),
        )


def _sessions(result: Result, report: RunReport) -> str:
    samples = samples_of(result, report.sampled_repetitions)
    share = f"{samples} passed, " if samples.judged > 1 else ""
    return f"{share}{cost(result)}, {duration(result.duration_ms)}"


def _assertions(result: Result) -> Markup:
    """All assertions of an execution that do not hold, with their evidence; each begins on a line of its own."""
    lines = []
    for outcome in result.judgement.outcomes:
        if outcome.passed is not True:
            lines.append(f"{'✗' if outcome.passed is False else '?'} {outcome.assertion}: {outcome.explanation}")
            lines += [outcome.evidence] if outcome.evidence else []
    return markup(html_text(clipped("\n".join(lines), _DETAIL)))


def _baselines(comparison: Comparison | None) -> Iterator[BaselineView]:
    if comparison is None:
        return
    before, after = rates_compared(comparison)
    base = comparison.base_commit[:_COMMIT] if comparison.base_commit else comparison.base_id
    words = comparison_verdict(comparison)
    yield BaselineView(
        verdict=inline(f"{VERDICTS[comparison.verdict]}{': ' if words else ''}{words}"),
        rate=inline(f"{before}{base}{after}"),
        differences=tuple(inline(difference(found)) for found in comparison.differences[:MAX_HTML_LISTED]),
        groups=tuple(_changes(comparison)),
    )


def _changes(comparison: Comparison) -> Iterator[Group]:
    pairs = (
        ("Newly failing", "bad", comparison.newly_failing),
        ("Fixed", "good", comparison.fixed),
        ("Changed, may be chance", "odd", comparison.changed),
    )
    for words, tone, found in pairs:
        yield from _change(words, tone, len(found), [_named(pair.after, pair_change(pair)) for pair in found[:MAX_HTML_LISTED]])
    several = (
        ("Judged in the baseline, not now", comparison.no_longer_judged),
        ("With a different prompt, assertion or expectation: not compared", comparison.redefined),
        ("Added", comparison.added),
        ("Not in this run", comparison.removed),
    )
    for words, results in several:
        yield from _change(words, "none", len(results), [_named(result) for result in results[:MAX_HTML_LISTED]])


def _change(words: str, tone: str, number: int, members: Sequence[Named]) -> Iterator[Group]:
    if number:
        more = _more(number - len(members), "execution")
        yield Group(label=inline(words), title=inline(f"{number:,}"), members=tuple(members), tone=markup(tone), left_out=more)


# --- the matrix -------------------------------------------------------------------------------------


@dataclass(slots=True)
class _CaseRows:
    """The cases of a run as rows, its runners as columns. If there are too many, green executions are left out."""

    report: RunReport
    runners: list[str] = field(init=False)
    left_out: int = field(init=False, default=0)
    _changed: dict[int, str] = field(init=False)
    _results: list[Result] = field(init=False)

    def __post_init__(self) -> None:
        results = list(self.report.results)
        if len(results) > MAX_HTML_EXECUTIONS:
            red = [result for result in results if result.status not in GREEN]
            green = [result for result in results if result.status in GREEN]
            kept = {id(result) for result in (red + green)[:MAX_HTML_EXECUTIONS]}
            results = [result for result in results if id(result) in kept]
        self.left_out = len(self.report.results) - len(results)
        self._results = results
        named = {_runner(result) for result in results}
        self.runners = [runner.id for runner in self.report.runners if runner.id in named]
        self.runners += sorted(named - set(self.runners))
        self._changed = _news(self.report.comparison)

    def shown(self) -> Iterator[CaseRow]:
        cases: dict[tuple[str, str], dict[str, Result]] = {}
        for result in self._results:
            cases.setdefault((result.suite.path, result.case_id), {})[_runner(result)] = result
        for number, ((suite, case), on_runners) in enumerate(cases.items()):
            results = list(on_runners.values())
            usd = [result.cost.usd for result in results if result.cost.usd is not None]
            ms = sum(result.duration_ms for result in results)
            yield CaseRow(
                suite=inline(suite),
                case=inline(case),
                tags=tuple(inline(tag) for tag in results[0].tags),
                cells=tuple(self._cell(runner, on_runners.get(runner)) for runner in self.runners),
                cost=inline(money(sum(usd) if usd else None, complete=len(usd) == len(results))),
                time=inline(duration(ms)),
                number=inline(str(number)),
                red=inline(str(min(_ORDER.index(result.status) for result in results))),
                usd=inline(f"{sum(usd):.6f}"),
                ms=inline(str(ms)),
            )

    def _cell(self, runner: str, result: Result | None) -> Cell:
        if result is None:
            return Cell(runner=inline(runner))
        samples = samples_of(result, self.report.sampled_repetitions)
        found = result.judgement.failure_class
        return Cell(
            runner=inline(runner),
            link=markup(html_text(address(result))),
            status=inline(result.status),
            word=inline(WORDS[result.status]),
            sign=inline(_SIGNS[result.status]),
            tone=_tone(result.status),
            share=inline(str(samples)) if samples.judged > 1 else NOTHING,
            score=inline(score(result.judgement)),
            cost=inline(cost(result)),
            time=inline(duration(result.duration_ms)),
            failure=inline(found.label) if found else NOTHING,
            flaky=inline("flaky") if is_flaky(result, self.report.sampled_repetitions) else NOTHING,
            changed=inline(self._changed.get(id(result), "")),
        )

    def filters(self) -> Iterator[Filter]:
        """The filters that have more than one value, or mark some of the executions."""
        results, repetitions = self._results, self.report.sampled_repetitions
        yield from _filter("status", "Status", ((result.status, WORDS[result.status]) for result in results), least=1)
        yield from _filter("in", "Suite", ((result.suite.path,) * 2 for result in results))
        yield from _filter("on", "Runner", ((_runner(result),) * 2 for result in results if result.runner))
        yield from _filter("tag", "Tag", ((tag, tag) for result in results for tag in result.tags), least=1)
        classes = (result.judgement.failure_class for result in results)
        yield from _filter("class", "Failure class", ((one.label, one.label) for one in classes if one), least=1)
        flaky = (("flaky", "Flaky") for result in results if is_flaky(result, repetitions))
        yield from _filter("flaky", "Stability", flaky, least=1)
        yield from _filter("changed", "Since the baseline", ((word, word) for word in self._changed.values()), least=1)


def _filter(name: str, label: str, values: Iterable[tuple[str, str]], *, least: int = 2) -> Iterator[Filter]:
    """A filter, unless there are fewer than ``least`` different values."""
    counts: dict[tuple[str, str], int] = {}
    for value in values:
        counts[value] = counts.get(value, 0) + 1
    if len(counts) >= least:
        choices = tuple(
            Choice(value=inline(value), label=inline(clipped(words, 80)), count=inline(f"{count:,}"))
            for (value, words), count in counts.items()
        )
        yield Filter(name=inline(name), label=inline(label), choices=choices[:MAX_HTML_LISTED])


def _news(comparison: Comparison | None) -> dict[int, str]:
    """What the comparison says about executions of this run, by the identity of their results."""
    if comparison is None:
        return {}
    pairs: Mapping[str, Sequence[ResultPair]] = {
        "newly failing": comparison.newly_failing,
        "fixed": comparison.fixed,
        "changed": comparison.changed,
    }
    found = {id(pair.after): word for word, several in pairs.items() for pair in several}
    found |= {id(result): "redefined" for result in comparison.redefined}
    return found | {id(result): "added" for result in comparison.added}
