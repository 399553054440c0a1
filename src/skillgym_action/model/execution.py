"""The plan: executions (a case on a runner in an arm), what cannot be executed, and what ``--changed-only`` selects."""

from __future__ import annotations

import json
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING, Literal

from skillgym_action.model.records import record

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from skillgym_action.model.arm import Arm
    from skillgym_action.model.errors import Problem
    from skillgym_action.model.resource_limits import ResourceLimits
    from skillgym_action.model.result import Quarantine
    from skillgym_action.model.runner import Runner
    from skillgym_action.model.session import AgentConfig
    from skillgym_action.model.suite import BenchmarkCase, BenchmarkSuite, Invalid


@record
class Execution:
    """One case on one runner, in one arm if its suite has arms; with all of its sessions.

    ``index``: its position in the plan. ``directory``: its folder, relative to the run directory. ``timeout``: seconds
    per session; ``budget``: US dollars per session; ``limits``: resources per session. ``repetitions``: how many it
    has; None: as many as the run's options say. ``quarantine``: why it decides nothing.
    """

    index: int
    suite: BenchmarkSuite
    case: BenchmarkCase
    runner: Runner
    directory: str
    timeout: float
    budget: float | None
    model: str | None
    limits: ResourceLimits | None = None
    repetitions: int | None = None
    arm: Arm | None = None
    quarantine: Quarantine | None = None

    @property
    def agent(self) -> AgentConfig:
        """The runner's agent, with what the arm adds to it."""
        agent, arm = self.runner.agent, self.arm
        if arm is None or not arm.changes_agent:
            return agent
        env = {**agent.env, **dict(arm.env)}
        kept = {name: value for name, value in env.items() if name not in arm.without_env}
        return replace(agent, env=kept, command_args=(*agent.command_args, *arm.command_args))

    @property
    def arm_name(self) -> str | None:
        return self.arm.name if self.arm else None

    @property
    def decides(self) -> bool:
        """Whether its result counts for the run: those of other arms are only compared with it."""
        return self.quarantine is None and not self.is_other_arm

    @property
    def is_other_arm(self) -> bool:
        """Whether it is in an arm that is only compared with the deciding one."""
        return self.arm is not None and not self.arm.decides

    @property
    def title(self) -> str:
        """``CASE [RUNNER]``, with the arm if there is one; as suites and users wrote the names."""
        return f"{self.case.id} [{self.runner.id}]{f' {self.arm.name}' if self.arm else ''}"


@record
class Unrunnable:
    """An entry of the plan for an invalid case or suite: it becomes an errored result, without an agent."""

    index: int
    suite: BenchmarkSuite
    invalid: Invalid


SelectedFor = Literal["input", "declared", "not-mapped", "configuration", "nothing"]
"""What a changed file selects, and why: the cases whose input it is; the suites that ``inputs:`` of the configuration
lists for it; all cases, since no suite names it, or since it is a configuration file; no case."""


@record
class SelectingFile:
    """A file that differs from the base, relative to the root of the repository; the ``executions`` that it selects."""

    path: str
    reason: SelectedFor
    executions: frozenset[int]


@record
class CaseSelection:
    """The selected executions of a plan, by index, of ``total``.

    ``base``: the commit that files were compared with; None: unknown, so that all are selected. ``note``: why all are,
    where that does not follow from a changed file. ``files``: all changed ones, sorted. ``unstored``: executions that
    are not selected, and run since the store has no result of them.
    """

    selected: frozenset[int]
    total: int
    base: str | None = None
    note: str | None = None
    files: tuple[SelectingFile, ...] = ()
    unstored: frozenset[int] = frozenset()

    @property
    def left_out(self) -> int:
        """How many executions are not selected."""
        return self.total - len(self.selected)

    def reasons(self) -> Iterable[SelectingFile]:
        """The files that select something, those first that select most."""
        effective = [file for file in self.files if file.executions]
        return sorted(effective, key=lambda file: (file.reason not in SELECTS_ALL, -len(file.executions), file.path))


@record
class PlanContents:
    """The executions of a plan, and its invalid cases: their number, and the SHA-256 of ``names``, in hexadecimal."""

    executions: int
    digest: str

    @classmethod
    def of(cls, names: Sequence[tuple[Key, int | None]]) -> PlanContents:
        """``names``: keys, with the number of repetitions if the case has its own; in the order of the plan."""
        return cls(executions=len(names), digest=sha256(json.dumps(names).encode()).hexdigest())


@record
class Plan:
    """What will run, and what cannot. Entries are numbered by ``index`` in the order in which reports show them.

    ``warnings``: about files that are no suites, and filters that select nothing. ``nothing_selected``: that there is
    no suite, or why the filters leave no case of any shard; None: there are cases. ``unchanged``: that only changed
    skills were to run, and none has changed; None: otherwise. ``selection``: the executions that a change touches;
    None: all run. ``shards_digest``: that of the stored plan whose shard this is; None: of none. ``all_shards``: what
    all shards have, if this is one of several; None: it is the whole plan.
    """

    suites: tuple[BenchmarkSuite, ...]
    runners: tuple[Runner, ...]
    executions: tuple[Execution, ...]
    unrunnable: tuple[Unrunnable, ...]
    warnings: tuple[Problem, ...] = ()
    nothing_selected: Problem | None = None
    unchanged: str | None = None
    selection: CaseSelection | None = None
    shards_digest: str | None = None
    all_shards: PlanContents | None = None


Key = tuple[str, str, str, str | None]
"""Path of the suite, id of the case, id of the runner, name of the arm."""

SELECTS_ALL: frozenset[SelectedFor] = frozenset({"not-mapped", "configuration"})


@record
class SelectionSummary:
    """What reports say of a selection: ``selected`` executions of ``total``, for a ``reason`` in words.

    ``base``: the commit that files were compared with, if there was one. ``left_out``: executions that are not in the
    run, since they were not selected and no earlier result stands for them. ``unstored``: those that ran although they
    were not selected, since the store has no result of them.
    """

    selected: int
    total: int
    reason: str
    base: str | None = None
    left_out: int = 0
    unstored: int = 0
