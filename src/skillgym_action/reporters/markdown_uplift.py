"""The part of a report template's view about arms that were compared. All text is escaped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillgym_action.limits import MAX_ARM_NAMES
from skillgym_action.reporters.markdown_budget import left_out, while_it_fits
from skillgym_action.reporters.markdown_figures import NO_BREAK
from skillgym_action.reporters.markdown_rows import code, inline
from skillgym_action.reporters.markdown_tables import NO_TABLE, Table
from skillgym_action.reporters.template_values import NOTHING, markup
from skillgym_action.reporters.uplift_wording import (
    arms_explained,
    arms_spending,
    uplift_amounts,
    uplift_interval,
    uplift_lists,
    uplift_remarks,
    uplift_title,
    uplift_verdict,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from markupsafe import Markup

    from skillgym_action.model.run_report import RunReport
    from skillgym_action.model.uplift import Uplift
    from skillgym_action.reporters.markdown_budget import RowBudget

# Characters that a template adds to a title, to a list item, to a row, and to a folded list.
_HEAD, _BULLET, _CELLS, _FOLDED = 8, 12, 30, 60


@dataclass(frozen=True, kw_only=True, slots=True)
class ArmList:
    """Assertions that do not tell the arms apart."""

    title: Markup
    lines: tuple[Markup, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class ArmComparison:
    """What is to be said of one comparison beside its row in the table: a sentence per statement, and lists."""

    title: Markup
    lines: tuple[Markup, ...]
    lists: tuple[ArmList, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class ArmComparisons:
    """The comparisons of arms, what they are, and what each arm took; none without arms, or without room."""

    explanation: Markup = NOTHING
    table: Table = NO_TABLE
    spending: Markup = NOTHING
    comparisons: tuple[ArmComparison, ...] = ()


NO_ARMS = ArmComparisons()


def arms_of(report: RunReport, budget: RowBudget) -> ArmComparisons:
    """As many comparisons as there is room for; then as many statements about them."""
    explanation = inline(arms_explained(report.uplifts)) if report.uplifts else NOTHING
    if not report.uplifts or not budget.take((explanation,), _HEAD):
        return NO_ARMS
    words = ("Suite", "Runner", "Arms", "Assertions passed", f"Uplift [95{NO_BREAK}%]", "Verdict")
    rows = while_it_fits(map(_cells, report.uplifts), budget, _CELLS, tuple)
    table = Table(
        head=tuple(map(markup, words)),
        rule=markup("|---|---|---|--:|--:|---|"),
        rows=rows,
        left_out=left_out(len(report.uplifts) - len(rows), "comparison"),
    )
    spending = inline(f"All sessions together: {arms_spending(report)}.")
    spending = spending if budget.take((spending,), _HEAD) else NOTHING
    found = tuple(_comparisons(report, budget))
    return ArmComparisons(explanation=explanation, table=table, spending=spending, comparisons=found)


def _cells(found: Uplift) -> tuple[Markup, ...]:
    amounts, interval = (text.replace(" ", NO_BREAK) for text in (uplift_amounts(found), uplift_interval(found)))
    return (
        inline(found.suite_name),
        code(found.runner),
        inline(f"{found.arm} against {found.other}"),
        markup(amounts or "—"),
        markup(f"**{interval}**" if interval else "—"),
        markup(uplift_verdict(found)),
    )


def _comparisons(report: RunReport, budget: RowBudget) -> Iterator[ArmComparison]:
    for one in report.uplifts:
        title = inline(uplift_title(one))
        remarks = list(uplift_remarks(one))
        if not remarks or not budget.take((title,), _HEAD):
            continue
        lines = while_it_fits(map(inline, remarks), budget, _BULLET, lambda line: (line,))
        yield ArmComparison(title=title, lines=lines, lists=tuple(_lists(one, budget)))


def _lists(found: Uplift, budget: RowBudget) -> Iterator[ArmList]:
    for title, names in uplift_lists(found):
        if not budget.take((inline(title),), _FOLDED):
            return
        lines = while_it_fits(map(inline, names[:MAX_ARM_NAMES]), budget, _BULLET, lambda line: (line,))
        rest = left_out(len(names) - len(lines), "assertion")
        yield ArmList(title=inline(title), lines=(*lines, *filter(None, (rest,))))
