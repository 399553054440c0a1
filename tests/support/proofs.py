"""What the tests of safety come to: a table at the end of every run, a row for each thing that was held against us.

A test that took attempts, faults or inputs says so with the fixture ``proved``, after the last of its assertions::

    proved("agents", "attempts to reach what is the job's, refused", len(ATTEMPTS))
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Literal

import pytest

from positions import POSITIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

Area = Literal["agents", "processes", "text", "faults", "suites", "untrusted commits", "image", "budget"]
PROPERTY, CELLS = "proved", "attacks"


class Proved:
    """Says that ``count`` of ``what`` were seen to hold; those of several tests are added up."""

    def __init__(self, record: Callable[[str, object], None]) -> None:
        """``record`` keeps a property of the test."""
        self._record = record

    def __call__(self, area: Area, what: str, count: int = 1) -> None:
        """``what`` reads on after the figure: "attempts to reach the job's token, refused"."""
        self._record(PROPERTY, [area, what, count])

    def cells(self, setting: str, found: Mapping[str, Mapping[str, str]]) -> None:
        """Cells of the table of attacks: position -> attempt -> ``refused`` or ``possible``."""
        self._record(
            CELLS, [[setting, position, what, kept] for position, row in found.items() for what, kept in row.items()]
        )


@pytest.fixture
def proved(record_property: Callable[[str, object], None]) -> Proved:
    """For tests of safety."""
    return Proved(record_property)


def table(rows: Iterable[tuple[str, str, int]]) -> list[str]:
    """The lines of the table, by area; figures of one kind are added up."""
    counted: Counter[tuple[str, str]] = Counter()
    for area, what, count in rows:
        counted[area, what] += count
    return [f"{area:<12}{count:>9,}  {what}" for (area, what), count in sorted(counted.items())]


def attacks(cells: Iterable[tuple[str, str, str, str]], positions: Sequence[str]) -> list[str]:
    """The lines of the table of attacks: a row for each attempt, a column for each position.

    A cell has the number of settings in which it was refused, and after a plus those in which it is possible by design.
    """
    counted: dict[str, dict[str, Counter[str]]] = {}
    settings: dict[str, None] = {}
    for setting, position, what, kept in cells:
        settings[setting] = None
        counted.setdefault(what, {}).setdefault(position, Counter())[kept] += 1
    columns = [position for position in positions if any(position in row for row in counted.values())]
    head = [f"{chr(ord('a') + number)} {position}" for number, position in enumerate(columns)]
    totals = {
        kept: sum(one[kept] for row in counted.values() for one in row.values()) for kept in ("refused", "possible")
    }
    lines = [f"{len(counted)} attempts, {len(columns)} positions; {', '.join(settings)}", "; ".join(head), ""]
    lines.append("".join(f"{name[0]:>5}" for name in head))
    for what, row in counted.items():
        lines.append("".join(f"{_cell(row.get(position)):>5}" for position in columns) + f"  {what}")
    return [
        *lines,
        "",
        f"{totals['refused']:,} cells refused, {totals['possible']:,} possible by design (after a plus)",
    ]


def _cell(counted: Counter[str] | None) -> str:
    if counted is None:
        return "–"  # noqa: RUF001
    return f"{counted['refused'] or ''}{'+' + str(counted['possible']) if counted['possible'] else ''}"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the table, if anything is in it."""
    passed = [report for report in terminalreporter.getreports("passed") if report.when == "call"]
    rows = [value for report in passed for name, value in report.user_properties if name == PROPERTY]
    cells = [cell for report in passed for name, value in report.user_properties if name == CELLS for cell in value]
    if cells:
        terminalreporter.section("safety: attacks by position")
        for line in attacks((tuple(cell) for cell in cells), POSITIONS):
            terminalreporter.write_line(line)
    if rows:
        terminalreporter.section("safety: what was tried, and held")
        for line in table(tuple(row) for row in rows):
            terminalreporter.write_line(line)
