"""What ``--changed-only`` has selected, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillgym_action.limits import COMMIT_CHARACTERS, MAX_SHOWN_CHANGES
from skillgym_action.model.selection import SELECTS_ALL
from skillgym_action.reporters.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from skillgym_action.model.run_report import RunReport
    from skillgym_action.model.selection import CaseSelection, SelectedFor

REASONS: Mapping[SelectedFor, str] = {
    "input": "an input of cases",
    "declared": "selects suites by inputs: of the configuration",
    "not-mapped": "no suite names it, so it selects all",
    "configuration": "the configuration selects all",
    "nothing": "no case depends on it",
}
_NAMED = 2  # files that the summary names


def selection_summary(selection: CaseSelection) -> str:
    """``12 of 40 executions: bench/core.json changed since 0a1b2c3d4e5f``; the caller escapes it."""
    return f"{len(selection.selected):,} of {counted(selection.total, 'execution')}: {selection_reason(selection)}"


def selection_reason(selection: CaseSelection) -> str:
    """Why these executions were selected."""
    if selection.note:
        return selection.note
    reasons = list(selection.reasons())
    since = f" since {selection.base[:COMMIT_CHARACTERS]}" if selection.base else ""
    if not selection.files:
        return f"nothing has changed{since}"
    if not reasons:
        number = len(selection.files)
        return f"no case depends on the {counted(number, 'changed file')}{since}"
    first = reasons[0]
    if first.reason in SELECTS_ALL:
        what = "the configuration" if first.reason == "configuration" else "which no suite names"
        return f"{first.path}, {what}, changed{since}"
    rest = len(reasons) - _NAMED
    more = f" and {rest:,} more" if rest > 0 else ""
    return f"{', '.join(file.path for file in reasons[:_NAMED])}{more} changed{since}"


def selection_sentences(report: RunReport) -> Iterator[str]:
    """``12 of 40 executions were selected: bench/core.json changed; 28 are not in this run``; the caller escapes it."""
    if (found := report.selection) is None:
        return
    rest = f"; {found.unstored:,} more ran, since the store has no result of them" if found.unstored else ""
    rest += f"; {found.left_out:,} {'is' if found.left_out == 1 else 'are'} not in this run" if found.left_out else ""
    was = "was" if found.selected == 1 else "were"
    yield f"{found.selected:,} of {counted(found.total, 'execution')} {was} selected: {found.reason}{rest}"


def selection_lines(selection: CaseSelection) -> Iterator[str]:
    """A line for each changed file, with what it selects; the caller escapes it."""
    for file in selection.files[:MAX_SHOWN_CHANGES]:
        yield f"{file.path}: {counted(len(file.executions), 'execution')} ({REASONS[file.reason]})"
    if (rest := len(selection.files) - MAX_SHOWN_CHANGES) > 0:
        yield f"and {counted(rest, 'more changed file')}"


def left_out(selection: CaseSelection) -> str:
    """``28 of 40 executions were not selected``."""
    number = selection.left_out
    return f"{number:,} of {counted(selection.total, 'execution')} {'was' if number == 1 else 'were'} not selected"
