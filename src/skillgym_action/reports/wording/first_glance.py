"""The first two lines of every output: better or worse, and what became of each result. Nothing is escaped yet."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Literal

from skillgym_action.model.comparison import is_flaky
from skillgym_action.model.records import record
from skillgym_action.model.result import LEAK_DETECTED, findings_of_kind
from skillgym_action.model.verdicts import Status
from skillgym_action.reports.wording.reasons import by_reason
from skillgym_action.reports.wording.results import (
    OF_COMPARISON,
    case_name,
    cause,
    further_reasons,
    is_cut_off,
    is_over_budget,
    verdict,
)
from skillgym_action.text.words import counted, money, percent

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from skillgym_action.model.comparison import Comparison, ResultPair
    from skillgym_action.model.report import RunReport
    from skillgym_action.model.result import Result

Tone = Literal["good", "bad", "odd", "shown"]
Kind = Literal[
    "newly-failing", "fixed", "unexpected", "fails", "fails-now", "fails-as-before", "flaky", "no-result", "skipped",
    "expected", "passes-now", "passes-as-before", "passes",
]  # fmt: skip
SURE_POINTS = 15  # "No change" if a larger drop is ruled out, and no larger rise was seen
# What is said of one result of a kind, and of several; in the order of the second line and of the table.
KINDS: Mapping[Kind, tuple[str, str]] = {
    "newly-failing": ("newly fails", "newly fail"),
    "unexpected": ("passes although marked as failing", "pass although marked as failing"),
    "fails": ("fails", "fail"),
    "fails-now": ("fails here and passed before", "fail here and passed before"),
    "fails-as-before": ("fails as before", "fail as before"),
    "fixed": ("is fixed", "are fixed"),
    "flaky": ("is flaky", "are flaky"),
    "no-result": ("has no result", "have no result"),
    "skipped": ("was skipped", "were skipped"),
    "expected": ("is marked as failing", "are marked as failing"),
    "passes-now": ("passes here and failed before", "pass here and failed before"),
    "passes": ("passes", "pass"),
    "passes-as-before": ("passes as before", "pass as before"),
}
_TONES: Mapping[str, Tone] = {"passed": "good", "failed": "bad", "inconclusive": "odd"}
NO_BASE = (
    "There is nothing to compare with yet. After the first run on the base branch, reports show what a change makes "
    "better or worse."
)


@record(kw_only=False, slots=False)
class FirstGlance:
    """What the first two lines say about a run."""

    report: RunReport

    @cached_property
    def pairs(self) -> dict[int, ResultPair]:
        """The compared pairs, by the index of this run's result."""
        found = self.report.comparison
        return {pair.after.index: pair for pair in found.pairs} if found else {}

    @cached_property
    def newly_failing(self) -> frozenset[int]:
        """Indexes of the results that fail since the baseline, beyond chance."""
        found = self.report.comparison
        return frozenset(pair.after.index for pair in found.newly_failing) if found else frozenset()

    @cached_property
    def fixed(self) -> frozenset[int]:
        """Indexes of the results that pass since the baseline, beyond chance."""
        found = self.report.comparison
        return frozenset(pair.after.index for pair in found.fixed) if found else frozenset()

    @cached_property
    def kinds(self) -> dict[Kind, list[Result]]:
        """The results of each kind; each result is of one. Kinds without a result are left out."""
        found: dict[Kind, list[Result]] = {}
        for result in self.report.results:
            found.setdefault(self.kind_of(result), []).append(result)
        return {kind: found[kind] for kind in KINDS if kind in found}

    def kind_of(self, result: Result) -> Kind:  # noqa: PLR0911 - a table of kinds
        """What became of a result."""
        if result.index in self.newly_failing:
            return "newly-failing"
        if result.index in self.fixed:
            return "fixed"
        match result.status:
            case Status.ERRORED:
                return "no-result"
            case Status.SKIPPED:
                return "skipped"
            case Status.UNEXPECTED_PASSED:
                return "unexpected"
            case Status.EXPECTED_FAILED:
                return "expected"
        if is_flaky(result, self.report.sampled_repetitions):
            return "flaky"
        pair = self.pairs.get(result.index)
        if pair is None:
            return "fails" if result.status is Status.FAILED else "passes"
        before = pair.samples_before
        if result.status is Status.FAILED:
            return "fails-as-before" if before.passed < before.judged else "fails-now"
        return "passes-as-before" if before.passed else "passes-now"

    def of(self, *kinds: Kind) -> list[Result]:
        """The results of these kinds."""
        return [result for kind in kinds for result in self.kinds.get(kind, ())]

    def number(self, *kinds: Kind) -> int:
        """How many results are of these kinds."""
        return len(self.of(*kinds))

    @cached_property
    def _reasons(self) -> list[str]:
        found = further_reasons(self.report, self.report.totals())
        return [one.removeprefix(OF_COMPARISON) for one in found]

    def reasons(self) -> list[str]:
        """Reasons of the decision that neither the counts nor the title have."""
        return [one for one in self._reasons if one not in self.title]

    # --- the title --------------------------------------------------------------------------------------

    @property
    def tone(self) -> Tone:
        """What the sign before the title says: as the decision, and never good where the title is not."""
        word = verdict(self.report)
        tone = _TONES.get(word, "shown")
        if word == "failed":
            return tone
        if any(_leaked(self.report)):
            return "odd"
        if is_cut_off(self.report) or (tone == "good" and self.report.totals().judged == 0 and self.report.results):
            return "odd"
        found = self.report.comparison
        return "shown" if tone == "good" and found and found.verdict == "regression" else tone

    @cached_property
    def title(self) -> str:
        """Better or worse, in one line, without the sign."""
        words = next(self._titles())
        before = "Cancelled: " if self.report.cancelled else ""
        if not before and is_cut_off(self.report) and not words.startswith("Stopped"):
            before = "Incomplete: "
        before += "Unverified: " if verdict(self.report) == "unverified" else ""
        return f"{before}{words[:1].lower()}{words[1:]}" if before and words.startswith("All ") else f"{before}{words}"

    def _titles(self) -> Iterator[str]:
        """What may be the title, the first one that applies first."""
        report, comparison = self.report, self.report.comparison
        yield from _leaked(report)
        if not report.totals().judged:
            yield self._not_tested()
        yield from self._worse(comparison) if comparison else ()
        yield from self._red(report.totals().counts[Status.FAILED])
        yield from self._cut_off()
        if verdict(report) == "inconclusive":
            yield self._not_sure()
        yield from self._better(comparison) if comparison else ()
        yield from self._variants()
        yield self._unchanged(comparison) if comparison and comparison.rate else self._first_run()

    def _rates(self, comparison: Comparison) -> str:
        """``99% → 64% of attempts pass``."""
        rate = comparison.rate
        return f"{percent(rate.before)} → {percent(rate.after)} of attempts pass" if rate else ""

    def _worse(self, comparison: Comparison) -> Iterator[str]:
        rate = comparison.rate
        if comparison.verdict != "regression" or rate is None:
            return
        if rate.drop > 0 and percent(rate.before) != percent(rate.after):
            yield f"Worse than {comparison.base_name}: {self._rates(comparison)}"
        yield self._newly(comparison, self.kinds.get("newly-failing", []))

    def _newly(self, comparison: Comparison, failing: Sequence[Result]) -> str:
        if len(failing) == 1:
            return f"{case_name(failing[0])} fails; it passed on {comparison.base_name}"
        return f"{counted(len(failing), 'result')} newly fail"

    def _red(self, failing: int) -> Iterator[str]:
        """Titles of runs that failed for another reason than a regression."""
        report, comparison = self.report, self.report.comparison
        if verdict(report) != "failed":
            return
        if self._reasons:
            yield f"Failed: {_short(self._reasons[0])}"
        own, size = self.number("unexpected"), len(report.results)
        if own and not failing:
            yield f"{counted(own, 'result')} {'passes' if own == 1 else 'pass'} although marked as failing"
        if comparison is None or comparison.rate is None:
            yield from self._variants()
            yield self._first_run()
            return
        new = self.of("fails", "fails-now")
        if len(new) == failing == self.number("fails-now") == 1:
            yield self._newly(comparison, new)
        words = f"{failing:,} of {counted(size, 'result')} {'fails' if failing == 1 else 'fail'}"
        if not new:
            change = "Better" if comparison.improved else "No change"
            yield f"{change}, but {words}, as on {comparison.base_name}"
        yield f"{words}: {self._rates(comparison)}"

    def _cut_off(self) -> Iterator[str]:
        """The title of a run that its budget ended."""
        report = self.report
        stopped = sum(map(is_over_budget, report.all_results))
        if not stopped:
            return
        totals, size = report.totals(), len(report.all_results)
        rates = self._rates(report.comparison) if report.comparison else ""
        spent = money(totals.cost_usd, complete=totals.cost_complete)
        at = f" at {spent}" if totals.cost_usd is not None else ""
        yield f"Stopped{at}: {size - stopped:,} of {counted(size, 'result')}{', ' if rates else ''}{rates}"

    def _not_sure(self) -> str:
        missing, size = self.number("no-result", "skipped"), len(self.report.results)
        if self._reasons:
            return f"Not sure: {_short(self._reasons[0])}"
        if missing:
            return f"Not sure: {missing:,} of {counted(size, 'result')} {'is' if missing == 1 else 'are'} missing"
        return f"Not sure: {self._first_run()}"

    def _not_tested(self) -> str:
        """The title of a run without any result, with its cause."""
        causes = by_reason(self.kinds.get("no-result", []))
        if len(causes) > 1:
            return f"Not tested: {counted(len(causes), 'cause')}"
        if causes:
            found = cause(causes[0][0])
            return f"Not tested: {_short(found.message.partition(chr(10))[0]) or found.label}"
        if self._reasons:
            return f"Not tested: {_short(self._reasons[0])}"
        return "Not tested: every case was skipped" if self.report.results else "Not tested: nothing ran"

    def _better(self, comparison: Comparison) -> Iterator[str]:
        if comparison.improved and comparison.rate:
            yield f"Better than {comparison.base_name}: {self._rates(comparison)}"

    def _unchanged(self, comparison: Comparison) -> str:
        rate, found = comparison.rate, comparison.adaptive
        if found and found.check == "not-confirmed" and (beside := found.beside):
            before, after = (percent(share) for share in beside.shares)
            return f"No worse than {comparison.base_name} today: {before} → {after} of attempts pass"
        if found and found.nothing_differs:
            return f"No change: {found.why}"
        sure = rate and max(rate.drop_at_most, -rate.drop) <= SURE_POINTS / 100
        return f"No change{'' if sure else ' seen'}: {self._rates(comparison)}"

    def _variants(self) -> Iterator[str]:
        """The title of a run whose news is what a skill, or another variant, adds."""
        found = [one for one in self.report.uplifts if one.points is not None]
        if not found or len({one.verdict for one in found}) > 1:
            return
        first = found[0]
        verb = {"helps": "helps", "hurts": "harms"}.get(first.verdict, "does not help, as far as shown")
        here = sum(one.share or 0 for one in found) / len(found)
        other = sum(one.other_share or 0 for one in found) / len(found)
        if (first.arm, first.other) == ("with_skill", "without_skill"):
            yield f"The skill {verb}: {percent(other)} without it → {percent(here)} with it"
        else:
            yield f"{first.arm} {verb}: {percent(other)} in {first.other} → {percent(here)}"

    def _first_run(self) -> str:
        report, size = self.report, len(self.report.results)
        first = "First run: " if report.decision and report.decision.uncompared else ""
        passing = self.of("passes", "passes-now", "passes-as-before")
        failing = self.of("newly-failing", "fails", "fails-now", "fails-as-before")
        flaky = self.of("flaky")
        if size == 1:
            return f"{first}{case_name(report.results[0])} {KINDS[next(iter(self.kinds))][0]}"
        if len(passing) == size:
            return f"{first}{'all' if first else 'All'} {size:,} results pass"
        words = f"{first}{len(passing):,} of {counted(size, 'result')} {KINDS['passes'][len(passing) != 1]}"
        if failing:
            reasons = counted(len(by_reason(failing)), "reason")
            return f"{words}, {len(failing):,} {KINDS['fails'][len(failing) > 1]} for {reasons}"
        return f"{words}, {len(flaky):,} {KINDS['flaky'][len(flaky) > 1]}" if flaky else words

    # --- the second line --------------------------------------------------------------------------------

    @property
    def has_news(self) -> bool:
        """Whether anything but chance distinguishes the results from those of the baseline."""
        return not self.kinds.keys() <= {"passes-as-before", "fails-as-before", "flaky", "expected"}

    @property
    def base_name(self) -> str:
        """What the baseline is called."""
        return self.report.comparison.base_name if self.report.comparison else ""

    def parts(self, *said: Kind) -> Iterator[tuple[int, str]]:
        """How many results are of each kind but those ``said``; without these, the numbers add up to all results."""
        for kind, results in self.kinds.items():
            if kind not in said:
                yield len(results), KINDS[kind][len(results) > 1]

    def news(self) -> str:
        """``5 of 16 results newly fail, for 2 reasons.``: the most important part; empty if the title says it."""
        size, parts = len(self.report.results), [*self.parts()]
        if not self.pairs or not parts or size == 1:
            return ""
        if not self.has_news:
            return f"All {counted(size, 'result')} are as on {self.base_name}."
        (kind, results), (number, words) = next(iter(self.kinds.items())), parts[0]
        reasons = (
            f", for {counted(len(by_reason(results)), 'reason')}"
            if kind in ("newly-failing", "fails", "fails-now")
            else ""
        )
        return f"{number:,} of {counted(size, 'result')} {words}{reasons}."

    def others(self) -> str:
        """``1 is flaky, 9 pass as before.``: the other parts; then what the comparison rules out."""
        parts = [*self.parts()][1:] if self.news() else [*self.parts("passes", "fails")]
        if len(self.report.results) == 1 or (self.pairs and not self.has_news) or self.kinds.keys() == {"no-result"}:
            parts = []
        rest = ", ".join(f"{number:,} {words}" for number, words in parts)
        unknown = "" if self.report.totals().judged else "This says nothing about the change."
        return " ".join(filter(None, (f"{rest}." if rest else "", unknown or self.ruled_out())))

    def ruled_out(self) -> str:
        """How a regression was checked, or what may have changed unseen; empty where the title says more."""
        from skillgym_action.results.statistics.comparison import format_points

        found = self.report.comparison
        if found is None:
            return NO_BASE if self.report.decision and self.report.decision.uncompared else ""
        if found.adaptive and found.adaptive.check not in ("cleared", "undecided"):
            said = found.reason in self.title
            return "" if said else f"{found.reason[:1].upper()}{found.reason[1:]}."
        if found.verdict == "inconclusive":
            said = _short(found.reason) in self.title or any(found.reason in one for one in self._reasons)
            return "" if said else f"Worse or better is unknown: {found.reason}."
        if found.verdict != "no-regression-shown" or found.reason or found.rate is None or found.improved:
            return ""
        most = found.rate.drop_at_most
        return f"A drop of more than {format_points(most)} is ruled out." if most <= SURE_POINTS / 100 else ""


def _short(reason: str) -> str:
    """A reason without what to do about it."""
    return reason.partition("; ")[0]


def _leaked(report: RunReport) -> Iterator[str]:
    found = [one for result in report.all_results for one in findings_of_kind(result.findings, LEAK_DETECTED)]
    kinds = list(dict.fromkeys(one.kind for one in found))
    if kinds:
        keys = f"the key {kinds[0]}" if kinds[0].isupper() else f"a key ({kinds[0]})"
        more = f" and {counted(len(kinds) - 1, 'more key')}" if len(kinds) > 1 else ""
        yield f"An agent wrote {keys}{more} into its output"
