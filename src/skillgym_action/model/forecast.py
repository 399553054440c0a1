"""What a plan will cost and how long it will take, from what sessions cost and took in stored runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillgym_action.model.records import record

if TYPE_CHECKING:
    from skillgym_action.model.execution import Execution


@record
class ExpectedExecution:
    """What one execution will take. ``planned``: its repetitions; ``sessions``: these and expected retries.

    ``usd``: mean cost of a session with its judging, ``ms``: mean duration; None: not known. ``runs``: the stored runs
    that they are from. ``same_key``: whether these had the same prompt, assertions, workspace, agent and model.
    """

    execution: Execution
    planned: int
    sessions: float
    usd: float | None = None
    ms: float | None = None
    runs: int = 0
    same_key: bool = True

    @property
    def total_usd(self) -> float | None:
        """The cost of all of its sessions."""
        return None if self.usd is None else self.usd * self.sessions

    @property
    def total_ms(self) -> float | None:
        """The duration of all of its sessions, one after the other."""
        return None if self.ms is None else self.ms * self.sessions


@record
class PredictionInterval:
    """Where the total of the next run is expected. ``runs``: the stored runs that it was made of.

    ``level``: 0.95, for a prediction interval; None: the ends are the least and the greatest of these runs.
    """

    low: float
    high: float
    runs: int
    level: float | None


@record
class Expected:
    """The total of the executions for which it is known. ``unknown``: the others."""

    total: float
    interval: PredictionInterval | None
    unknown: tuple[Execution, ...]


@record
class Forecast:
    """What a plan will take. ``usd``: US dollars. ``ms``: wall time of the sessions in their schedule, on ``jobs``.

    ``least_ms``: what no schedule can be below. ``least_share``: the share of the cost that is known of the same key,
    and of sessions that the run certainly has. ``ends_early``: whether it may end before all of them. ``source``: what
    the store is called.
    """

    source: str
    executions: tuple[ExpectedExecution, ...]
    usd: Expected
    ms: Expected
    least_ms: float
    jobs: int
    least_share: float = 1.0
    ends_early: bool = False

    @property
    def least_usd(self) -> float | None:
        """What the run costs at least, to 97.5%; None: there are too few stored runs to say that."""
        found = self.usd.interval
        return found.low * self.least_share if found and found.level else None

    @property
    def knows_nothing(self) -> bool:
        """Whether the store has nothing about any execution."""
        return not any(one.runs for one in self.executions)

    @property
    def with_other_keys(self) -> tuple[Execution, ...]:
        """The executions whose stored runs had another prompt, agent or the like."""
        return tuple(one.execution for one in self.executions if one.runs and not one.same_key)
