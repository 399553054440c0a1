"""The part of a report template's view about arms that were compared. All text is escaped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillgym_action.reporters.markdown_budget import left_out, while_it_fits
from skillgym_action.reporters.markdown_rows import inline
from skillgym_action.reporters.template_values import NOTHING
from skillgym_action.reporters.uplift_wording import arms_spending, uplift_sentences, uplift_title

if TYPE_CHECKING:
    from collections.abc import Iterator

    from markupsafe import Markup

    from skillgym_action.model.run_report import RunReport
    from skillgym_action.reporters.markdown_budget import RowBudget

# Characters that a template adds to a title, and to a list item.
_HEAD, _BULLET = 8, 12


@dataclass(frozen=True, kw_only=True, slots=True)
class ArmComparison:
    """One comparison: what is compared, and a sentence per statement, the most important first."""

    title: Markup
    lines: tuple[Markup, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class ArmComparisons:
    """The comparisons of arms, and what the sessions of each arm took; none without arms, or without room."""

    spending: Markup = NOTHING
    comparisons: tuple[ArmComparison, ...] = ()
    left_out: Markup = NOTHING


NO_ARMS = ArmComparisons()


def arms_of(report: RunReport, budget: RowBudget) -> ArmComparisons:
    """As many comparisons as there is room for, and as many statements of each."""
    if not report.uplifts:
        return NO_ARMS
    spending = inline(f"Taken by the sessions of {arms_spending(report)}.")
    spending = spending if budget.take((spending,), _HEAD) else NOTHING
    found = tuple(_comparisons(report, budget))
    return ArmComparisons(
        spending=spending, comparisons=found, left_out=left_out(len(report.uplifts) - len(found), "comparison")
    )


def _comparisons(report: RunReport, budget: RowBudget) -> Iterator[ArmComparison]:
    for one in report.uplifts:
        title = inline(uplift_title(one))
        if not budget.take((title,), _HEAD):
            return
        lines = while_it_fits(map(inline, uplift_sentences(one)), budget, _BULLET, lambda line: (line,))
        yield ArmComparison(title=title, lines=lines)
