"""The table below the title: how many attempts passed, by case and runner, and what one took. Nothing is escaped yet.

Rows add up to ``All``, and ``All`` to the title: only results that were judged on both sides are in sums.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from skillgym_action.model.comparison import Samples, samples_of
from skillgym_action.model.records import record
from skillgym_action.reports.wording.first_glance import KINDS
from skillgym_action.reports.wording.results import case_name, runner_id
from skillgym_action.reports.wording.statements import Cell, Section, Share, Topic
from skillgym_action.text.words import counted, duration, percent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from skillgym_action.model.comparison import ResultPair
    from skillgym_action.model.result import Result
    from skillgym_action.reports.wording.first_glance import FirstGlance, Kind
    from skillgym_action.reports.wording.statements import Statement

MAX_COLUMNS = 2  # runners of a table with a row per case
MAX_ROWS = 12  # cases of it
_NOTHING = Samples(passed=0, judged=0)
_NONE = Cell("—", "own")
_AS_EXPECTED = frozenset({"passes", "passes-now", "passes-as-before"})
_NOTES: dict[Kind, str] = {
    "flaky": "flaky",
    "expected": "marked as failing",
    "unexpected": "marked as failing",
}
_ORDER = {kind: number for number, kind in enumerate(KINDS)}


@record(kw_only=False, slots=False)
class ResultsTable:
    """The results of a run as tables."""

    glance: FirstGlance

    @cached_property
    def runners(self) -> list[str]:
        """The ids of the runners that have results; a dash for results without a runner."""
        return list(dict.fromkeys(map(runner_id, self.glance.report.results)))

    @cached_property
    def cases(self) -> list[list[Result]]:
        """The results of each case, the cases in the order of the worst that became of them."""
        found: dict[tuple[str, str], list[Result]] = {}
        for result in self.glance.report.results:
            found.setdefault((result.suite.path, result.case_id), []).append(result)
        return sorted(found.values(), key=self._rank)

    def _rank(self, results: Sequence[Result]) -> int:
        return min(_ORDER[self.glance.kind_of(result)] for result in results)

    @cached_property
    def notable(self) -> list[list[Result]]:
        """The cases with more to say than that they pass as before."""
        kinds = self.glance.kind_of
        return [own for own in self.cases if any(kinds(one) not in _AS_EXPECTED or self._note(one) for one in own)]

    @property
    def _is_small(self) -> bool:
        return len(self.runners) <= MAX_COLUMNS and len(self.notable) < MAX_ROWS

    def main(self) -> Section:
        """The table: a row per case if these are few, else per runner; empty for a single case on a single runner."""
        if len(self.glance.report.results) < 2 or not self.passed()[1].judged:  # noqa: PLR2004
            return Section(about=(), topic=_row)
        if not self._is_small:
            return self._by_runner()
        rows = [*self._case_rows(self.notable), *self._other_cases()]
        return _table(("Passed", *self.runners), [*rows, *self._sums()], "row")

    def grid(self, *, whole: bool) -> Section:
        """The cases that changed on all runners, for tables with a row per runner; ``whole``: all cases."""
        shown = self.cases if whole else self.notable
        if self._is_small or not shown or not self.passed()[1].judged:
            return Section(about=(), topic=_row)
        more = len(self.cases) - len(shown)
        title = f"All {counted(len(shown), 'case')}" + (f" that did not just pass ({more:,} more did)" if more else "")
        return _table(("Passed", *self.runners), list(self._case_rows(shown)), "case", title)

    # --- rows of cases ----------------------------------------------------------------------------------

    def _case_rows(self, cases: Iterable[Sequence[Result]]) -> Iterator[tuple[Statement, ...]]:
        several = len(self.glance.report.suites) > 1
        for own in cases:
            cells = {runner_id(result): self.cell(result) for result in own}
            name = case_name(own[0])
            title = f"{own[0].suite.name} › {name}" if several else name  # noqa: RUF001
            yield title, *(cells.get(runner, _NONE) for runner in self.runners)

    def _other_cases(self) -> Iterator[tuple[Statement, ...]]:
        shown = set(map(id, self.notable))
        rest = [own for own in self.cases if id(own) not in shown]
        if len(rest) == 1:
            yield from self._case_rows(rest)
        elif rest:
            cells = []
            for runner in self.runners:
                several = (one for own in rest for one in own if runner_id(one) == runner)
                passed = self._sum(samples_of(one, self._repetitions) for one in several)
                cells.append(Share(words=_of(passed), sign="passes") if passed.judged else _NONE)
            words = counted(len(rest), "case") if len(rest) == len(self.cases) else counted(len(rest), "other case")
            yield words, *cells

    def cell(self, result: Result) -> Share:
        """What became of a result: ``❌ 5/5 → 0/5``; what it was before only if the change is more than chance."""
        kind = self.glance.kind_of(result)
        if kind in ("no-result", "skipped"):
            return Share(words="no result" if kind == "no-result" else "skipped", sign=kind)
        samples = samples_of(result, self._repetitions)
        pair = self.glance.pairs.get(result.index)
        if pair:
            samples = pair.samples_after
        note = ", ".join(filter(None, (_NOTES.get(kind, ""), self._note(result))))
        if kind in ("newly-failing", "fixed") and pair:
            return Share(words=_of(samples), before=_of(pair.samples_before), sign=kind, note=note, strong=True)
        return Share(words=_of(samples), sign=kind, note=note)

    def _note(self, result: Result) -> str:
        """Why a result is in no sum, though it was judged; empty if it is in them."""
        if result.reused:
            return "reused"
        found = self.glance.report.comparison
        if found is None or not found.pairs or result.index in self.glance.pairs or result.expected_fail:
            return ""
        return "new" if any(one.index == result.index for one in found.added) else "not compared"

    @property
    def _repetitions(self) -> int | None:
        return self.glance.report.sampled_repetitions

    # --- sums -------------------------------------------------------------------------------------------

    def passed(self, runner: str | None = None) -> tuple[Samples, Samples]:
        """How many attempts passed before and here, on one runner or all; without a comparison only here."""
        if self.glance.pairs:
            pairs = self._pairs(runner)
            return self._sum(one.samples_before for one in pairs), self._sum(one.samples_after for one in pairs)
        results = (one for one in self._results(runner) if not one.expected_fail)
        return _NOTHING, self._sum(samples_of(one, self._repetitions) for one in results)

    def _pairs(self, runner: str | None) -> list[ResultPair]:
        return [one for one in self.glance.pairs.values() if runner in (None, runner_id(one.after))]

    def _results(self, runner: str | None) -> list[Result]:
        return [one for one in self.glance.report.results if runner in (None, runner_id(one))]

    def _sum(self, several: Iterable[Samples]) -> Samples:
        return sum(several, _NOTHING)

    @cached_property
    def is_even(self) -> bool:
        """Whether all results have as many attempts as the others, so that sums are in the proportion of means."""
        pairs = self.glance.pairs.values()
        sizes = {(one.samples_before.judged, one.samples_after.judged) for one in pairs}
        return len(sizes) <= 1

    def share(self, runner: str | None = None, *, rates: bool = False) -> Share | Cell:
        """``40/40 → 30/40``; ``100% → 75%``, the means over results, where these have different numbers of attempts."""
        before, here = self.passed(runner)
        if not here.judged:
            return _NONE
        if not before.judged:
            return Share(words=percent(here.rate) if rates else _of(here), strong=True)
        if self.is_even and not rates:
            return Share(words=_of(here), before=_of(before), strong=True)
        pairs = self._pairs(runner)
        means = (
            sum(side.rate for side in sides) / len(pairs)
            for sides in zip(*((one.samples_before, one.samples_after) for one in pairs), strict=True)
        )
        first, second = map(percent, means)
        return Share(words=second, before=first, strong=True)

    def _sums(self) -> Iterator[tuple[Statement, ...]]:
        """The last rows: the sum of all rows, and what an attempt took."""
        yield Cell("All", "strong"), *map(self.share, self.runners)
        for title, unit in (("Cost per attempt", _cost), ("Time per attempt", _time)):
            cells = [Cell(self._spent(runner, unit), "number") for runner in self.runners]
            if any(cell.words for cell in cells):
                yield title, *cells

    def _spent(self, runner: str | None, unit: Callable[[Sequence[Result]], str]) -> str:
        """What an attempt took, before and here; empty if that is not known."""
        here = unit([one for one in self._results(runner) if not one.reused])
        before = unit([one.before for one in self._pairs(runner)]) if self.glance.pairs else ""
        return f"{before} → {here}" if before and here else here

    def _by_runner(self) -> Section:
        newly = self.glance.newly_failing
        rows: list[tuple[Statement, ...]] = []
        for runner in (*self.runners, None):
            own = self._results(runner)
            if self.glance.pairs:
                number = sum(one.index in newly for one in own)
                failing = Share(words=f"{number:,} of {len(own):,}", sign="newly-failing" if number else "")
            else:
                number = sum(one.status == "failed" for one in own)
                failing = Share(words=f"{number:,} of {len(own):,}", sign="fails" if number else "")
            spent = [Cell(self._spent(runner, unit), "number") for unit in (_cost, _time)]
            name = Cell("All", "strong") if runner is None else runner
            rows.append((name, self.share(runner, rates=True), failing, *spent))
        if len(self.runners) == 1:
            del rows[0]
        changed = "Newly failing" if self.glance.pairs else "Failing"
        return _table(("Runner", "Passed", changed, "Cost per attempt", "Time per attempt"), rows, "runner")


def _table(head: tuple[str, ...], rows: list[tuple[Statement, ...]], noun: str, title: str = "") -> Section:
    return Section(title=title, head=head, about=[(row,) for row in rows], topic=_row, noun=noun)


def _row(cells: tuple[Statement, ...]) -> Topic:
    return Topic(cells=cells)


def _of(samples: Samples) -> str:
    return f"{samples.passed:,}/{samples.judged:,}"


def attempts_of(results: Iterable[Result]) -> int:
    """The number of attempts: planned repetitions with a session, retries not counted."""
    return sum(len({attempt.repetition for attempt in result.attempts}) for result in results)


def _cost(results: Sequence[Result]) -> str:
    """The mean cost of an attempt; empty if that of one is unknown."""
    costs, number = [one.cost.usd for one in results if one.attempts], attempts_of(results)
    known = [cost for cost in costs if cost is not None]
    if not number or not known or len(known) < len(costs):
        return ""
    usd = sum(known) / number
    digits = 2 if usd >= 0.995 or not usd else 3 if usd >= 0.001 else 4  # noqa: PLR2004 - a dollar, a tenth of a cent
    return f"${usd:,.{digits}f}"


def _time(results: Sequence[Result]) -> str:
    """The mean time of an attempt; empty without one."""
    ran = [one for one in results if one.attempts]
    number = attempts_of(ran)
    return duration(round(sum(one.duration_ms * attempts_of([one]) for one in ran) / number)) if number else ""
