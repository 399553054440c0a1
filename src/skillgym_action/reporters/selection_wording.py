"""What ``--changed-only`` has selected, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillgym_action.limits import COMMIT_CHARACTERS, MAX_SHOWN_CHANGES
from skillgym_action.model.selection import SELECTS_ALL
from skillgym_action.reporters.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

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
    """``12 of 40 executions: bench/core.json changed``; the caller escapes it."""
    of = f"{len(selection.selected):,} of {counted(selection.total, 'execution')}"
    if selection.note:
        return f"{of}: {selection.note}"
    reasons = list(selection.reasons())
    since = f" since {selection.base[:COMMIT_CHARACTERS]}" if selection.base else ""
    if not reasons:
        what = counted(len(selection.files), "changed file") if selection.files else "nothing has changed"
        return f"{of}: {what}{since}, of which no case depends on any" if selection.files else f"{of}: {what}{since}"
    named = ", ".join(file.path for file in reasons[:_NAMED])
    rest = len(reasons) - _NAMED
    more = f" and {rest:,} more" if rest > 0 else ""
    unmapped = ", which no suite names" if reasons[0].reason == "not-mapped" else ""
    unmapped = ", the configuration" if reasons[0].reason == "configuration" else unmapped
    if reasons[0].reason in SELECTS_ALL:
        return f"{of}: {reasons[0].path}{unmapped}, changed{since}"
    return f"{of}: {named}{more} changed{since}"


def selection_lines(selection: CaseSelection) -> Iterator[str]:
    """A line for each changed file, with what it selects; the caller escapes it."""
    for file in selection.files[:MAX_SHOWN_CHANGES]:
        yield f"{file.path}: {counted(file.executions, 'execution')} ({REASONS[file.reason]})"
    if (rest := len(selection.files) - MAX_SHOWN_CHANGES) > 0:
        yield f"and {counted(rest, 'more changed file')}"


def left_out(selection: CaseSelection) -> str:
    """``28 of 40 executions were not selected``."""
    number = selection.left_out
    return f"{number:,} of {counted(selection.total, 'execution')} {'was' if number == 1 else 'were'} not selected"
