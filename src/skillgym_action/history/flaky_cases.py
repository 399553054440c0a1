"""Executions of a store whose sessions differ although nothing that is known of them did."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillgym_action.history.stored_lines import PASSED, StoredExecution
from skillgym_action.model.comparison import Samples
from skillgym_action.model.records import record
from skillgym_action.results.statistics.exact_tests import Flakiness, flakiness

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillgym_action.history.reading import BaseHistory
    from skillgym_action.history.stored_lines import ExecutionName


@record
class ExecutionHistory:
    """The sessions of an execution in the runs with the key of its newest one.

    ``runs``: how many; ``first``, ``last``: the days of the first and the last of them, ``YYYY-MM-DD`` in UTC.
    """

    name: ExecutionName
    samples: Samples
    runs: int
    first: str
    last: str
    verdict: Flakiness


def execution_histories(history: BaseHistory) -> Iterator[ExecutionHistory]:
    """The executions of a store, sorted by name; those that are expected to fail are left out."""
    found = history.executions_by_name()
    for name in sorted(found):
        newest = found[name][0]
        if not newest.entry.expected_fail:
            equal = [one for one in found[name] if one.key == newest.key and not one.entry.expected_fail]
            yield _history(name, equal[::-1])


def _history(name: ExecutionName, executions: list[StoredExecution]) -> ExecutionHistory:
    """``executions``: the oldest first. Parts of one run, which several jobs ran, are one run."""
    runs: dict[str, list[bool]] = {}
    for one in executions:
        runs.setdefault(one.line.run.group, []).extend(sample == PASSED for sample in one.entry.sessions)
    sessions = [passed for run in runs.values() for passed in run]
    days = sorted(one.line.run.at[:10] for one in executions)
    return ExecutionHistory(
        name=name,
        samples=Samples(passed=sum(sessions), judged=len(sessions)),
        runs=len(runs),
        first=days[0],
        last=days[-1],
        verdict=flakiness(list(runs.values())),
    )
