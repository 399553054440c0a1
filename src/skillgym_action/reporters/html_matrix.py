"""The matrix of the HTML report, cases and runners, with the filters for it. All text is escaped."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from skillgym_action.limits import MAX_HTML_EXECUTIONS, MAX_HTML_LISTED
from skillgym_action.model.samples import is_flaky, samples_of
from skillgym_action.model.verdicts import GREEN, Status
from skillgym_action.reporters.html_parts import (
    ORDER,
    SIGNS,
    WORDS,
    CaseRow,
    Cell,
    Choice,
    Filter,
    inline,
    runner_of,
    tone_of,
)
from skillgym_action.reporters.html_session import address
from skillgym_action.reporters.template_values import NOTHING, markup
from skillgym_action.reporters.wording import TITLE, cost, duration, money, score, time_taken
from skillgym_action.text.escaping import clipped, html_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from markupsafe import Markup

    from skillgym_action.model.comparison import Comparison, ResultPair
    from skillgym_action.model.result import Result
    from skillgym_action.model.run_report import RunReport


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


@dataclass(slots=True)
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

    def _cell(self, runner: Markup, result: Result | None) -> Cell:
        if result is None:
            return Cell(runner=runner)
        samples = samples_of(result, self.report.sampled_repetitions)
        found = result.judgement.failure_class
        status, word, sign, tone = _SHOWN[result.status]
        return Cell(
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
