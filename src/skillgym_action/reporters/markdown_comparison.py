"""The part of a report template's view about rates and the baseline. All text is escaped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillgym_action.limits import COMMIT_CHARACTERS
from skillgym_action.reporters.markdown_budget import left_out, while_it_fits
from skillgym_action.reporters.markdown_rows import code, inline, linked
from skillgym_action.reporters.markdown_sections import NO_LINES, Block
from skillgym_action.reporters.rate_wording import (
    VERDICTS,
    comparison_verdict,
    difference,
    mixed_results,
    pair_change,
    rates_compared,
)
from skillgym_action.reporters.template_values import NOTHING, markup
from skillgym_action.reporters.wording import counted, runner_id

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from markupsafe import Markup

    from skillgym_action.model.comparison import Comparison, ResultPair
    from skillgym_action.model.result import Result
    from skillgym_action.model.run_report import RunReport
    from skillgym_action.reporters.markdown_budget import RowBudget
    from skillgym_action.reporters.markdown_rows import Rows

# Characters that a template adds to a title, a list item and a name.
_HEAD, _BULLET, _COMMA = 40, 12, 2


@dataclass(frozen=True, kw_only=True, slots=True)
class ChangeKind:
    """Executions that changed in the same way. ``names`` is one line."""

    title: Markup
    names: Markup = NOTHING


@dataclass(frozen=True, kw_only=True, slots=True)
class BaselineChanges:
    """Everything that changed. ``verdict`` and ``rate`` are a sentence each; ``differences``: what else may explain it.

    All are empty when there is no baseline, or no room.
    """

    differences: tuple[Markup, ...] = ()
    verdict: Markup = NOTHING
    rate: Markup = NOTHING
    kinds: tuple[ChangeKind, ...] = ()


NO_CHANGES = BaselineChanges()


def changes_of(comparison: Comparison | None, rows: Rows, budget: RowBudget) -> BaselineChanges:
    """The changes, each kind with as many names as there is room for."""
    if comparison is None:
        return NO_CHANGES
    rate, verdict = _rate(comparison, rows), _verdict(comparison)
    if not budget.take((rate, verdict), _HEAD):
        return NO_CHANGES
    differences = (inline(difference(found)) for found in comparison.differences)
    return BaselineChanges(
        differences=while_it_fits(differences, budget, _BULLET, lambda line: (line,)),
        verdict=verdict,
        rate=rate,
        kinds=tuple(_kinds(comparison, rows, budget)),
    )


def _verdict(comparison: Comparison) -> Markup:
    words = comparison_verdict(comparison)
    return markup(f"**{VERDICTS[comparison.verdict]}**") + (markup(": ") + inline(words) if words else NOTHING)


def _rate(comparison: Comparison, rows: Rows) -> Markup:
    base, links = comparison.base_commit, rows.links
    commit = linked(code(base[:COMMIT_CHARACTERS]), links.commit_address(base) if links else None) if base else NOTHING
    before, after = rates_compared(comparison)
    return inline(before) + markup(" ") + (commit or code(comparison.base_id)) + markup(" ") + inline(after.strip())


def _kinds(comparison: Comparison, rows: Rows, budget: RowBudget) -> Iterator[ChangeKind]:
    pairs = (
        ("newly failing", comparison.newly_failing),
        ("fixed", comparison.fixed),
        ("changed, each by itself may be chance", comparison.changed),
    )
    for words, found in pairs:
        yield from _kind(words, [_changed(pair, rows) for pair in found[: rows.extent.names]], len(found), budget)
    results: tuple[tuple[str, Sequence[Result]], ...] = (
        ("judged in the baseline, not now", comparison.no_longer_judged),
        ("with a different prompt, assertion or expectation: not compared", comparison.redefined),
        ("added", comparison.added),
        ("not in this run", comparison.removed),
    )
    for words, several in results:
        yield from _kind(words, [_name(one, rows) for one in several[: rows.extent.names]], len(several), budget)


def _kind(words: str, shown: Sequence[Markup], number: int, budget: RowBudget) -> Iterator[ChangeKind]:
    title = markup(f"{number:,} {words}")
    if number and budget.take((title,), _BULLET):
        names = while_it_fits(shown, budget, _COMMA, lambda name: (name,))
        more = markup(f" and {number - len(names):,} more") if names and number > len(names) else NOTHING
        yield ChangeKind(title=title, names=markup(", ").join(names) + more)


def _name(result: Result, rows: Rows) -> Markup:
    return rows.case(result) + markup(" on ") + code(runner_id(result)) if result.runner else rows.case(result)


def _changed(pair: ResultPair, rows: Rows) -> Markup:
    return _name(pair.after, rows) + markup(f" {pair_change(pair)}")


# --- executions whose sessions differ -----------------------------------------------------------------


def mixed_of(report: RunReport, rows: Rows, budget: RowBudget) -> Block:
    """As many executions with mixed sessions as there is room for, the flaky ones first."""
    found = mixed_results(report)
    if not found:
        return NO_LINES
    shown = (
        markup(" · ").join((rows.case(one), code(runner_id(one)), markup(words)))
        for one, words in found[: rows.extent.lines]
    )
    lines = while_it_fits(shown, budget, _BULLET, lambda line: (line,))
    flaky = report.totals().flaky
    counts = [counted(flaky, "flaky execution")] if flaky else []
    counts += [counted(len(found) - flaky, "execution") + " with mixed sessions"] if len(found) > flaky else []
    return Block(title=markup(", ".join(counts)), lines=lines, left_out=left_out(len(found) - len(lines), "line"))
