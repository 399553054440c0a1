"""What a report template may show of a comparison with the baseline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillgym_action.reporters.rows import NOTHING, Rows, code, linked, ours
from skillgym_action.reporters.wording import counted, percent, runner_id

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from markupsafe import Markup

    from skillgym_action.model.comparison import Comparison, RateChange
    from skillgym_action.model.result import Result
    from skillgym_action.reporters.fitting import Room

NAMES = 20  # of a kind
COMMIT = 12  # characters
_HEAD, _BULLET, _COMMA = 40, 12, 2  # characters that a template adds, or we


@dataclass(frozen=True, kw_only=True, slots=True)
class Kind:
    """Executions that changed in the same way. ``names`` is one line."""

    title: Markup
    names: Markup = NOTHING


@dataclass(frozen=True, kw_only=True, slots=True)
class Changes:
    """Everything that changed. ``rate`` is a sentence; empty when there is no baseline, or no room."""

    rate: Markup = NOTHING
    kinds: tuple[Kind, ...] = ()


NO_CHANGES = Changes()


def changes_of(comparison: Comparison | None, rows: Rows, room: Room) -> Changes:
    """The changes, each kind with as many names as there is room for."""
    if comparison is None:
        return NO_CHANGES
    rate = _rate(comparison, rows)
    return Changes(rate=rate, kinds=tuple(_kinds(comparison, rows, room))) if room.holds((rate,), _HEAD) else NO_CHANGES


def _kinds(comparison: Comparison, rows: Rows, room: Room) -> Iterator[Kind]:
    kinds = (
        ("broken", [pair.after for pair in comparison.newly_failing]),
        ("mended", [pair.after for pair in comparison.fixed]),
        ("judged then, not now", [pair.after for pair in comparison.no_longer_judged]),
        ("with another prompt or other assertions", [pair.after for pair in comparison.redefined]),
        ("added", comparison.added),
        ("not in this run", comparison.removed),
    )
    for words, results in kinds:
        title = ours(f"{len(results):,} {words}")
        if results and room.holds((title,), _BULLET):
            yield Kind(title=title, names=_names(results, rows, room))


def _names(results: Sequence[Result], rows: Rows, room: Room) -> Markup:
    names: list[Markup] = []
    for result in results[:NAMES]:
        name = rows.case(result) + ours(" on ") + code(runner_id(result)) if result.runner else rows.case(result)
        if not room.holds((name,), _COMMA):
            break
        names.append(name)
    more = len(results) - len(names)
    listed = ours(", ").join(names)
    if not names:
        return NOTHING
    return listed + ours(f" and {more:,} more") if more else listed


def _rate(comparison: Comparison, rows: Rows) -> Markup:
    base, links = comparison.base_commit, rows.links
    commit = (
        linked(code(base[:COMMIT]), links.commit_address(base) if links else None) if base else code(comparison.base_id)
    )
    change = comparison.rate
    if change is None:
        return ours("No case was judged both at ") + commit + ours(" and now.")
    rates = f"{percent(change.before)} did not fail then and {percent(change.after)} now"
    cases = ours(f"Of {counted(change.cases, 'case')} judged both at ")
    return cases + commit + ours(f" and now, {rates}; {_drop(change)}.")


def _drop(change: RateChange) -> str:
    """What that proves."""
    from skillgym_action.comparison.comparison import format_points, format_probability  # most runs have no baseline
    from skillgym_action.model.comparison import MIN_RELEVANT_DROP, SIGNIFICANCE_LEVEL  # most runs have no baseline

    if change.significant:
        return f"the pass rate dropped by {format_points(change.drop)} ({format_probability(change.p)})"
    if change.p < SIGNIFICANCE_LEVEL:
        margin = format_points(MIN_RELEVANT_DROP)
        return f"a drop of {format_points(change.drop)} ({format_probability(change.p)}), which is within {margin}"
    if change.drop_at_most == 0:
        return f"the pass rate rose by {format_points(-change.drop)}"
    return f"cannot exclude a drop of up to {format_points(change.drop_at_most)}"
