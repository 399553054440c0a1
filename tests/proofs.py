"""What the tests of safety come to: a table at the end of every run, a row for each thing that was held against us.

A test that took attempts, faults or inputs says so with the fixture ``proved``, after the last of its assertions::

    proved("agents", "attempts to reach what is the job's, refused", len(ATTEMPTS))
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Literal, Protocol

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Area = Literal["agents", "processes", "text", "faults", "suites", "strangers", "image", "budget"]
PROPERTY = "proved"


class Proved(Protocol):
    """Says that ``count`` of ``what`` were seen to hold; those of several tests are added up."""

    def __call__(self, area: Area, what: str, count: int = 1) -> None:
        """``what`` reads on after the figure: "attempts to reach the job's token, refused"."""


@pytest.fixture
def proved(record_property: Callable[[str, object], None]) -> Proved:
    """For tests of safety."""

    def prove(area: Area, what: str, count: int = 1) -> None:
        record_property(PROPERTY, [area, what, count])

    return prove


def table(rows: Iterable[tuple[str, str, int]]) -> list[str]:
    """The lines of the table, by area; figures of one kind are added up."""
    counted: Counter[tuple[str, str]] = Counter()
    for area, what, count in rows:
        counted[area, what] += count
    return [f"{area:<12}{count:>9,}  {what}" for (area, what), count in sorted(counted.items())]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the table, if anything is in it."""
    passed = [report for report in terminalreporter.getreports("passed") if report.when == "call"]
    rows = [value for report in passed for name, value in report.user_properties if name == PROPERTY]
    if rows:
        terminalreporter.section("safety: what was tried, and held")
        for line in table(tuple(row) for row in rows):
            terminalreporter.write_line(line)
