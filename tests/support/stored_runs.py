"""Runs as a store has them, from a few words."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from builders import run_report
from skillgym_action.history import StoreText
from skillgym_action.history.reading import BasePoint
from skillgym_action.history.stored_lines import lines_of
from skillgym_action.model.result import CaseInputs
from skillgym_action.system.clock import iso_timestamp

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillgym_action.model.report import RunReport

NOON = datetime(2026, 1, 10, 12, tzinfo=UTC)
POINT = BasePoint(now=NOON, branch="main")


def inputs_of(case: str, **changes: str) -> CaseInputs:
    """Digests that only depend on the case."""
    digest = case.encode().hex().rjust(16, "0")[-16:]
    return replace(CaseInputs(prompt=digest, assertions=digest, workspace="0" * 16), **changes)


def run_of(text: str, **changes: Any) -> RunReport:
    """A report whose executions have inputs; ``text`` as in ``run_report``."""
    report = run_report(text, **({"commit": "a" * 40} | changes))
    return replace(report, results=tuple(replace(one, inputs=inputs_of(one.case_id)) for one in report.results))


def line_of(report: RunReport, *, hours: float, group: str | None = None, branch: str = "main") -> bytes:
    """The line of a run that began so many hours before noon."""
    at = iso_timestamp(NOON - timedelta(hours=hours))
    (line,) = lines_of(replace(report, started_at=at), id_=at, group=group or at, branch=branch)
    return line


class GivenLines:
    """A store with those lines, the newest first."""

    title = "the store"

    def __init__(self, *lines: bytes) -> None:
        self.lines = lines

    def newest_first(self) -> Iterator[StoreText]:
        for number, line in enumerate(self.lines, start=1):
            yield StoreText(f"runs:{number}", line.rstrip(b"\n"))
