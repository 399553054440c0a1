"""The report of a run, the decision on it, and what a run leaves that ends without a report."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal
from urllib.parse import quote

from skillgym_action.model.exit_codes import ExitCode
from skillgym_action.model.records import record
from skillgym_action.model.totals import spending_of_arm, totals

if TYPE_CHECKING:
    from collections.abc import Callable

    from skillgym_action.model.adaptive import Adaptive
    from skillgym_action.model.comparison import Comparison
    from skillgym_action.model.errors import Location, Problem
    from skillgym_action.model.execution import SelectionSummary
    from skillgym_action.model.judge_question import JudgeInfo
    from skillgym_action.model.plugin_table import PlugIn
    from skillgym_action.model.result import Result
    from skillgym_action.model.runner import Runner
    from skillgym_action.model.shard_plan import WholePlan
    from skillgym_action.model.suite import BenchmarkSuite
    from skillgym_action.model.totals import ArmSpending, Totals
    from skillgym_action.model.uplift import Uplift


Verdict = Literal["passed", "failed", "inconclusive", "not-gated", "unverified"]


@record
class SuitesFrom:
    """The folder of ``--suites-from``, from which the suites and the configuration were read.

    ``folder`` as the user wrote it; ``commit``: its commit, if known. Paths of suites, compared with the checkout:
    ``added`` exist in the checkout only and were not run; of ``changed`` ones the folder's version was run; ``removed``
    exist in the folder only and were run.
    """

    folder: str
    commit: str | None = None
    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    configuration_differs: bool = False


@record
class LimitSettings:
    """Limits that the user set for all sessions: ``timeout`` in seconds, ``max_steps`` in model rounds; None: not set.

    ``default_timeout``, in seconds, holds where no suite, case or runner has a time limit. ``on_limit``: the status of
    a session that exceeds its time, steps or budget.
    """

    default_timeout: float
    timeout: float | None = None
    max_steps: int | None = None
    on_limit: Literal["failed", "errored"] = "failed"


@record
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


@record
class Decision:
    """The verdict on a run, with the reasons in words; shared by the terminal, reports, outputs and the exit code.

    ``not-gated``: no rule was applied, because the user asked for none, or because the only one needs a comparison.
    ``unverified``: an untrusted contributor may have made up the results, so they are only shown.
    ``uncompared``: the run was to be compared with a baseline that does not exist yet.
    """

    verdict: Verdict
    exit_code: int
    reasons: tuple[str, ...] = ()
    uncompared: bool = False

    @property
    def passed(self) -> bool:
        """Whether the job is green for what it judged: one that only shows results has judged nothing."""
        return self.exit_code == ExitCode.PASSED and self.verdict != "unverified"


@record
class Links:
    """``repository`` is an address such as ``https://github.com/octo/skills``, ``run`` that of the workflow run.

    ``commit``: the commit that line addresses refer to.
    """

    repository: str
    commit: str | None = None
    run: str | None = None

    def line_address(self, location: Location) -> str | None:
        """The address of a file, or of a line of it, in the commit; None for a path outside of the repository."""
        if self.commit is None or not is_in_repository(location):
            return None
        line = f"#L{location.line}" if location.line else ""
        path = quote(location.path, errors="replace")
        return f"{self.repository}/blob/{quote(self.commit, safe='', errors='replace')}/{path}{line}"

    def commit_address(self, commit: str) -> str:
        """The address of a commit."""
        return f"{self.repository}/commit/{quote(commit, safe='', errors='replace')}"


@record
class RunReport:
    """A whole run; ``results`` are in the order of the plan; where suites have arms, those of the deciding arm.

    ``command``: `run`, `rejudge` or `report`. ``shard``: such as ``2/4``; ``plan_digest``: of the stored plan that it
    is of, None: of none; ``whole_plan``: what all shards of its run have in common, None: it is no shard, or that is
    unknown. Times are ISO 8601 in UTC. ``incomplete``: why results are missing, a sentence per reason.
    ``missing_shards``: such as ``3/4``, of merged runs, with those that differ from the plan of the others; they are
    among the reasons. ``merge_parents``: what ``commit`` merges, if it is a merge, such as GitHub's test merge of a
    pull request. ``adaptive``: how a run with ``repeat: auto`` decided, of which only first sessions are in rates;
    None: it had a fixed number. ``judge``: the judge that graders asked; None: it never replied. ``limits``: None if
    they are unknown, as in results of versions before 1.0. ``other_arms``: results of the arms that do not decide;
    ``uplifts``: what the comparison with them says. ``quarantined``: results that decide nothing, in the order of the
    plan. ``attempts``: of a run that attempts of a job on GitHub may share, what each contributed, in their order.
    ``unchanged``: that nothing ran, since only changed skills or cases were to run and none has changed; None:
    otherwise. ``selection``: the executions that a change touches; None: all were to run. ``slowed``: a sentence per
    provider that reported rate limits. ``plug_ins``: those that the run used. ``decision`` is None until the gate has
    decided.
    """

    id: str
    version: str
    command: str
    started_at: str
    ended_at: str
    duration_ms: int
    results: tuple[Result, ...]
    suites: tuple[BenchmarkSuite, ...]
    runners: tuple[Runner, ...]
    warnings: tuple[Problem, ...] = ()
    cancelled: bool = False
    commit: str | None = None
    merge_parents: tuple[str, ...] = ()
    shard: str | None = None
    plan_digest: str | None = None
    whole_plan: WholePlan | None = None
    incomplete: tuple[str, ...] = ()
    missing_shards: tuple[str, ...] = ()
    adaptive: Adaptive | None = None
    suites_from: SuitesFrom | None = None
    judge: JudgeInfo | None = None
    limits: LimitSettings | None = None
    links: Links | None = None
    comparison: Comparison | None = None
    other_arms: tuple[Result, ...] = ()
    uplifts: tuple[Uplift, ...] = ()
    quarantined: tuple[Result, ...] = ()
    attempts: tuple[AttemptShare, ...] = ()
    unchanged: str | None = None
    selection: SelectionSummary | None = None
    slowed: tuple[str, ...] = ()
    plug_ins: tuple[PlugIn, ...] = ()
    decision: Decision | None = None

    @property
    def deciding_nothing(self) -> tuple[Result, ...]:
        """The results of other arms and those in quarantine: what they took counts, and nothing else."""
        return (*self.other_arms, *self.quarantined)

    @property
    def all_results(self) -> tuple[Result, ...]:
        """The results of all arms, and those in quarantine."""
        return (*self.results, *self.deciding_nothing)

    @property
    def sampled_repetitions(self) -> int | None:
        """How many repetitions of each execution count in rates; None: all."""
        return 1 if self.adaptive else None

    def totals(self, where: Callable[[Result], bool] = lambda _: True) -> Totals:
        """Sums over the results that ``where`` accepts; what they took includes those that decide nothing."""
        return totals(filter(where, self.results), self.sampled_repetitions, filter(where, self.deciding_nothing))

    def arm_spending(self) -> tuple[ArmSpending, ...]:
        """What the executions of each arm took, the deciding arms first; () if none were compared."""
        if not self.other_arms:
            return ()
        arms: dict[str, list[Result]] = {}
        for result in self.all_results:
            if result.arm:
                arms.setdefault(result.arm, []).append(result)
        return tuple(spending_of_arm(arm, results) for arm, results in arms.items())


ERROR_VERDICT = "error"
"""The step output ``verdict`` of a run that ended early."""


@record
class RunWithoutReport:
    """Why a run ended early, in one or more problems. ``exit_code``: of the process.

    ``reported``: the run had written its report, and failed only then.
    """

    exit_code: int
    problems: tuple[Problem, ...]
    reported: bool = False


@record
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


def sum_of_costs(*costs: float | None) -> float | None:
    """The sum; None if one of them is unknown."""
    known = [cost for cost in costs if cost is not None]
    return sum(known) if len(known) == len(costs) else None


def is_in_repository(location: Location) -> bool:
    """Whether the path is relative to the repository root, without ``..``."""
    return not {"", ".", ".."} & set(location.path.split("/"))


def identity_of(run: RunReport) -> str:
    """What tells a run from others, whatever their folders are called."""
    return f"{run.id} {run.started_at}"
