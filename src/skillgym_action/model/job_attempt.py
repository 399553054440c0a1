"""The attempt of a job on GitHub that a run belongs to, and what each attempt contributed to a report."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, kw_only=True, slots=True)
class JobAttempt:
    """An attempt of a job, which counts from 1: GitHub runs a job again in the same workflow run.

    ``job``: its id in the workflow. ``part``: a digest of its matrix values and shard, by which the jobs of a matrix
    are distinguished; empty if it has none.
    """

    repository: str
    run_id: int
    attempt: int
    job: str
    part: str = ""

    def is_same_job(self, other: JobAttempt) -> bool:
        """Whether ``other`` is an attempt of this job in this workflow run."""
        return replace(self, attempt=1) == replace(other, attempt=1)


@dataclass(frozen=True, kw_only=True, slots=True)
class AttemptShare:
    """The sessions of a report that an attempt ran, and their cost in US dollars, agent and judge; None: unknown.

    ``repeated``: its sessions that are not in the report, since a later attempt ran or runs them again.
    """

    number: int
    sessions: int = 0
    cost_usd: float | None = 0.0
    repeated: int = 0
    repeated_cost_usd: float | None = 0.0

    def with_session(self, cost_usd: float | None, *, repeated: bool) -> AttemptShare:
        """The share with one more session."""
        if repeated:
            return replace(
                self, repeated=self.repeated + 1, repeated_cost_usd=sum_of_costs(self.repeated_cost_usd, cost_usd)
            )
        return replace(self, sessions=self.sessions + 1, cost_usd=sum_of_costs(self.cost_usd, cost_usd))

    def joined(self, other: AttemptShare) -> AttemptShare:
        """This share and that of another part of the run, such as a shard."""
        return replace(
            self,
            sessions=self.sessions + other.sessions,
            cost_usd=sum_of_costs(self.cost_usd, other.cost_usd),
            repeated=self.repeated + other.repeated,
            repeated_cost_usd=sum_of_costs(self.repeated_cost_usd, other.repeated_cost_usd),
        )


def sum_of_costs(*costs: float | None) -> float | None:
    """The sum; None if one of them is unknown."""
    known = [cost for cost in costs if cost is not None]
    return sum(known) if len(known) == len(costs) else None
