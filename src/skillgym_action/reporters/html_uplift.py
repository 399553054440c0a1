"""The table of compared arms in the HTML report. All text is escaped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillgym_action.limits import MAX_HTML_LISTED
from skillgym_action.reporters.html_parts import inline
from skillgym_action.reporters.uplift_wording import uplift_result, uplift_sentences, uplift_shares
from skillgym_action.reporters.wording import percent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from markupsafe import Markup

    from skillgym_action.model.run_report import RunReport
    from skillgym_action.model.uplift import Uplift


@dataclass(frozen=True, kw_only=True, slots=True)
class ArmRow:
    """A comparison of two arms on one runner. ``more``: statements beside shares and uplift, a sentence each."""

    suite: Markup
    runner: Markup
    arm: Markup
    other: Markup
    share: Markup
    other_share: Markup
    uplift: Markup
    more: tuple[Markup, ...]


def arm_rows(report: RunReport) -> Iterator[ArmRow]:
    """A row for each comparison; the first ones, if there are many."""
    yield from map(_row, report.uplifts[:MAX_HTML_LISTED])


def _row(found: Uplift) -> ArmRow:
    sentences = list(uplift_sentences(found))[1:]
    return ArmRow(
        suite=inline(found.suite_name),
        runner=inline(found.runner),
        arm=inline(found.arm),
        other=inline(found.other),
        share=_share(found.share),
        other_share=_share(found.other_share),
        uplift=inline(uplift_result(found)),
        more=tuple(inline(sentence) for sentence in sentences if sentence != uplift_shares(found)),
    )


def _share(share: float | None) -> Markup:
    return inline("—" if share is None else percent(share))
