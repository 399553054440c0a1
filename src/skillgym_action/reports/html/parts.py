"""Parts of the view of the HTML report: figures, rows of cases; how texts become markup. All is escaped."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from skillgym_action.model.comparison import is_flaky, samples_of
from skillgym_action.model.limits import MAX_HTML_LISTED
from skillgym_action.model.records import record
from skillgym_action.model.verdicts import GREEN, RED, Status
from skillgym_action.reports.html.session import address
from skillgym_action.reports.template_values import NOTHING, markup
from skillgym_action.reports.wording.rates import changes
from skillgym_action.reports.wording.results import TITLE, case_name, cost, runner_id, score, time_taken
from skillgym_action.text.escaping import clipped, html_text, one_line
from skillgym_action.text.words import counted, duration, money

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from markupsafe import Markup

    from skillgym_action.model.comparison import Comparison
    from skillgym_action.model.report import RunReport
    from skillgym_action.model.result import Result

MAX_HTML_EXECUTIONS = 5_000  # in the tables of an HTML report, and with a page; green ones are left out first
WORDS = {
    Status.PASSED: "Passed",
    Status.FAILED: "Failed",
    Status.EXPECTED_FAILED: "Failed as expected",
    Status.UNEXPECTED_PASSED: "Unexpected pass",
    Status.ERRORED: "Not judged",
    Status.SKIPPED: "Skipped",
}
SIGNS = {
    Status.PASSED: "✓",
    Status.FAILED: "✗",
    Status.EXPECTED_FAILED: "✓",
    Status.UNEXPECTED_PASSED: "!",
    Status.ERRORED: "?",
    Status.SKIPPED: "-",
}
ORDER = (*RED, Status.PASSED, Status.EXPECTED_FAILED, Status.SKIPPED)
MESSAGE = 600  # characters


@record
class Figure:
    """A number of the run with its unit, and what there is to add."""

    label: Markup
    value: Markup
    note: Markup = NOTHING


@record
class Choice:
    """A value that executions can be filtered by, with the number of executions that have it."""

    value: Markup
    label: Markup
    count: Markup


@record
class Filter:
    """A property of executions; ``name`` is its key in the address."""

    name: Markup
    label: Markup
    choices: tuple[Choice, ...]


@record
class CaseCell:
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


@record
class CaseRow:
    """One case on all runners. ``title``: what people call it, if that is not its id.

    ``number``, ``red``, ``usd`` and ``ms`` are for sorting.
    """

    suite: Markup
    case: Markup
    tags: tuple[Markup, ...]
    cells: tuple[CaseCell, ...]
    cost: Markup
    time: Markup
    number: Markup
    red: Markup
    usd: Markup
    ms: Markup
    title: Markup = NOTHING


@record
class Named:
    """An execution in a list: ``title`` is case and runner, ``detail`` what there is to say about it."""

    link: Markup
    title: Markup
    detail: Markup = NOTHING
    command: Markup = NOTHING
    tone: Markup = NOTHING


def left_out(number: int, one: str, many: str | None = None) -> Markup:
    """How many are left out; empty unless there are any."""
    return inline(f"{counted(number, f'more {one}', many and f'more {many}')} left out") if number > 0 else NOTHING


@record
class ExecutionGroup:
    """Results with something in common. ``label``: how many; ``detail`` is preformatted; ``command`` runs the first."""

    label: Markup
    title: Markup
    members: tuple[Named, ...]
    remedy: Markup = NOTHING
    detail: Markup = NOTHING
    command: Markup = NOTHING
    tone: Markup = NOTHING
    left_out: Markup = NOTHING


@record
class BaselineView:
    """The comparison: the verdict, both rates and what else differs as sentences, and the executions that changed."""

    verdict: Markup
    rate: Markup
    differences: tuple[Markup, ...]
    groups: tuple[ExecutionGroup, ...]


def inline(text: str) -> Markup:
    """Any text on one line."""
    if not text:
        return NOTHING
    return markup(html_text(one_line(text)))


def tone_of(status: Status) -> Markup:
    """The class of the colour of a status."""
    if status in GREEN:
        return markup("good")
    return markup("none" if status is Status.SKIPPED else "bad" if status is Status.FAILED else "odd")


def named(result: Result, detail: str = "") -> Named:
    """An execution in a list."""
    title = f"{case_name(result)} · {runner_id(result)}"
    return Named(
        link=markup(html_text(address(result))),
        title=inline(clipped(title, 200)),
        detail=inline(clipped(detail, MESSAGE)),
        tone=tone_of(result.status),
    )


def runner_of(result: Result) -> str:
    """The runner's id; empty without a runner."""
    return result.runner.id if result.runner else ""


def shown_executions(results: Sequence[Result]) -> list[Result]:
    """Return those that the HTML report has tables and pages of, in their order; green ones are left out first."""
    if len(results) <= MAX_HTML_EXECUTIONS:
        return list(results)
    red = [result for result in results if result.status not in GREEN]
    green = [result for result in results if result.status in GREEN]
    kept = {id(result) for result in (red + green)[:MAX_HTML_EXECUTIONS]}
    return [result for result in results if id(result) in kept]


_SHOWN = {status: (inline(status), inline(WORDS[status]), inline(SIGNS[status]), tone_of(status)) for status in Status}
_FLAKY = inline("flaky")


@record(frozen=False, kw_only=False)
class CaseRows:
    """The cases of a run as rows, its runners as columns. If there are too many, green executions are left out first.

    ``left_out``: how many executions are, ``red_left_out`` of them not green.
    """

    report: RunReport
    runners: list[str] = field(init=False)
    left_out: int = field(init=False, default=0)
    red_left_out: int = field(init=False, default=0)
    _changed: dict[int, str] = field(init=False)
    _results: list[Result] = field(init=False)

    def __post_init__(self) -> None:
        results = shown_executions(self.report.results)
        red = sum(result.status not in GREEN for result in self.report.results)
        self.red_left_out = max(0, red - MAX_HTML_EXECUTIONS)
        self.left_out = len(self.report.results) - len(results)
        self._results = results
        named = {runner_of(result) for result in results}
        self.runners = [runner.id for runner in self.report.runners if runner.id in named]
        self.runners += sorted(named - set(self.runners))
        self._changed = _changes_by_result(self.report.comparison)

    def shown(self) -> Iterator[CaseRow]:
        cases: dict[tuple[str, str], dict[str, Result]] = {}
        for result in self._results:
            cases.setdefault((result.suite.path, result.case_id), {})[runner_of(result)] = result
        runners = [(runner, inline(runner)) for runner in self.runners]
        for number, ((suite, case), on_runners) in enumerate(cases.items()):
            results = list(on_runners.values())
            usd = [result.cost.usd for result in results if result.cost.usd is not None]
            ms = sum(result.duration_ms for result in results)
            yield CaseRow(
                suite=inline(suite),
                case=inline(case),
                title=inline(clipped(results[0].title or "", TITLE)) if results[0].title != case else NOTHING,
                tags=tuple(inline(tag) for tag in results[0].tags),
                cells=tuple([self._cell(shown, on_runners.get(runner)) for runner, shown in runners]),
                cost=inline(money(sum(usd) if usd else None, complete=len(usd) == len(results))),
                time=inline(duration(ms)),
                number=inline(str(number)),
                red=inline(str(min(ORDER.index(result.status) for result in results))),
                usd=inline(f"{sum(usd):.6f}"),
                ms=inline(str(ms)),
            )

    def _cell(self, runner: Markup, result: Result | None) -> CaseCell:
        if result is None:
            return CaseCell(runner=runner)
        samples = samples_of(result, self.report.sampled_repetitions)
        found = result.judgement.failure_class
        status, word, sign, tone = _SHOWN[result.status]
        return CaseCell(
            runner=runner,
            link=markup(html_text(address(result))),
            status=status,
            word=word,
            sign=sign,
            tone=tone,
            share=inline(str(samples)) if samples.judged > 1 else NOTHING,
            score=inline(score(result.judgement)),
            cost=inline(cost(result)) if result.cost.usd is not None else NOTHING,
            time=inline(time_taken(result)),
            failure=inline(found.label) if found else NOTHING,
            flaky=_FLAKY if is_flaky(result, self.report.sampled_repetitions) else NOTHING,
            changed=inline(self._changed.get(id(result), "")),
        )

    def filters(self) -> Iterator[Filter]:
        """The filters that have more than one value, or mark some of the executions."""
        results, repetitions = self._results, self.report.sampled_repetitions
        yield from _filter("status", "Status", ((result.status, WORDS[result.status]) for result in results), least=1)
        yield from _filter("in", "Suite", ((result.suite.path,) * 2 for result in results))
        yield from _filter("on", "Runner", ((runner_of(result),) * 2 for result in results if result.runner))
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
        if len(counts) > MAX_HTML_LISTED:
            label += f" (the first {MAX_HTML_LISTED} of {len(counts):,})"
        choices = tuple(
            Choice(value=inline(value), label=inline(clipped(words, 80)), count=inline(f"{count:,}"))
            for (value, words), count in counts.items()
        )
        yield Filter(name=inline(name), label=inline(label), choices=choices[:MAX_HTML_LISTED])


def _changes_by_result(comparison: Comparison | None) -> dict[int, str]:
    """What the comparison says about executions of this run, by the identity of their results."""
    sections = changes(comparison) if comparison else ()
    return {id(topic.result): section.word for section in sections if section.word for topic in section.topics()}
