"""The table of compared arms in the HTML report. All text is escaped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillgym_action.limits import MAX_ARM_NAMES, MAX_HTML_LISTED
from skillgym_action.reporters.html_parts import inline, left_out
from skillgym_action.reporters.template_values import NOTHING
from skillgym_action.reporters.uplift_wording import (
    arms_explained,
    uplift_amounts,
    uplift_interval,
    uplift_lists,
    uplift_remarks,
    uplift_verdict,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from markupsafe import Markup

    from skillgym_action.model.run_report import RunReport
    from skillgym_action.model.uplift import Uplift


@dataclass(frozen=True, kw_only=True, slots=True)
class ArmRow:
    """A comparison of two arms on one runner.

    ``more``: statements beside shares and uplift, a sentence each; ``lists``: titles, each with lines.
    """

    suite: Markup
    runner: Markup
    arms: Markup
    shares: Markup
    uplift: Markup
    verdict: Markup
    more: tuple[Markup, ...]
    lists: tuple[tuple[Markup, tuple[Markup, ...]], ...]


def arms_paragraph(report: RunReport) -> Markup:
    """What was compared; empty without arms."""
    return inline(arms_explained(report.uplifts)) if report.uplifts else NOTHING


def arm_rows(report: RunReport) -> Iterator[ArmRow]:
    """A row for each comparison; the first ones, if there are many."""
    yield from map(_row, report.uplifts[:MAX_HTML_LISTED])


def _row(found: Uplift) -> ArmRow:
    return ArmRow(
        suite=inline(found.suite_name),
        runner=inline(found.runner),
        arms=inline(f"{found.arm} against {found.other}"),
        shares=inline(uplift_amounts(found) or "—"),
        uplift=inline(uplift_interval(found) or "—"),
        verdict=inline(uplift_verdict(found)),
        more=tuple(map(inline, uplift_remarks(found))),
        lists=tuple((inline(title), _lines(names)) for title, names in uplift_lists(found)),
    )


def _lines(names: list[str]) -> tuple[Markup, ...]:
    rest = left_out(len(names) - MAX_ARM_NAMES, "assertion")
    return (*map(inline, names[:MAX_ARM_NAMES]), *filter(None, (rest,)))
