"""What sessions of an execution cost and took in stored runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillgym_action.agents.output.models import is_same_model
from skillgym_action.history.stored_lines import PASSED, StoredExecution
from skillgym_action.model.limits import MAX_POOLED_RUNS
from skillgym_action.model.records import record

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from skillgym_action.history.pooling import BaselineKey
    from skillgym_action.history.reading import BaseHistory
    from skillgym_action.model.execution import Execution


@record
class RunCost:
    """An execution in one stored run: mean cost of a session in US dollars, None: unknown; mean duration.

    ``group``: the run. ``sessions``: how many samples it had, ``red`` of which had another end than expected.
    """

    group: str
    sessions: int
    red: int
    usd: float | None
    ms: int


@record
class StoredCosts:
    """An execution in the newest stored runs, all of one key; ``same_key``: that of the plan, as far as known."""

    runs: tuple[RunCost, ...] = ()
    same_key: bool = True

    @property
    def red_share(self) -> float:
        """The share of samples with another end than expected, which are retried where retries are allowed."""
        sessions = sum(run.sessions for run in self.runs)
        return sum(run.red for run in self.runs) / sessions if sessions else 0.0


def stored_costs(
    history: BaseHistory, wanted: Mapping[int, BaselineKey], executions: Iterable[Execution]
) -> dict[int, StoredCosts]:
    """What is stored of each execution, by its index. ``wanted``: the keys of the plan, by index."""
    of_name = history.executions_by_name()
    return {one.index: _costs(of_name.get(wanted[one.index].name, []), wanted[one.index], one) for one in executions}


def _costs(entries: list[StoredExecution], wanted: BaselineKey, execution: Execution) -> StoredCosts:
    """The newest runs with the wanted key, else those with the key of the newest one of the case.

    The store has the deciding arm alone: what it took is another key for the other arms.
    """
    equal = [one for one in entries if wanted.fits(one.key) and is_same_model(execution.model, one.key.model)]
    equal = [] if execution.is_other_arm else equal
    chosen = equal or entries
    found: dict[str, StoredExecution] = {}
    for one in chosen:
        if one.key == chosen[0].key:
            found.setdefault(one.line.run.group, one)
    return StoredCosts(
        runs=tuple(_run_cost(group, one) for group, one in list(found.items())[:MAX_POOLED_RUNS]),
        same_key=bool(equal) or not entries,
    )


def _run_cost(group: str, stored: StoredExecution) -> RunCost:
    entry = stored.entry
    passed = entry.sessions.count(PASSED)
    sessions = len(entry.sessions)
    red = passed if entry.expected_fail else sessions - passed
    return RunCost(group=group, sessions=sessions, red=red, usd=entry.usd, ms=entry.ms)
