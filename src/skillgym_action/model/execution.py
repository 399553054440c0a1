"""The plan: runners, executions (a case on a runner), and what cannot be executed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from skillgym_action.model.hooks import NO_HOOKS, Hooks

if TYPE_CHECKING:
    from skillgym_action.model.arm import Arm
    from skillgym_action.model.errors import Problem
    from skillgym_action.model.quarantine import Quarantine
    from skillgym_action.model.resource_limits import ResourceLimits
    from skillgym_action.model.selection import CaseSelection
    from skillgym_action.model.session import AgentConfig
    from skillgym_action.model.session_report import Trouble
    from skillgym_action.model.shard_plan import PlanContents
    from skillgym_action.model.suite import BenchmarkCase, BenchmarkSuite, Invalid


@dataclass(frozen=True, kw_only=True, slots=True)
class Runner:
    """A configured agent; promptfoo calls it a provider, AgentV a target.

    ``path_key``: its id as one path segment. ``problem``: why it cannot be used. ``trouble``: why its CLI is missing;
    its executions end with it. ``warnings``: what is probably a mistake in its configuration.
    """

    id: str
    path_key: str
    agent: AgentConfig
    hooks: Hooks = NO_HOOKS
    problem: Problem | None = None
    trouble: Trouble | None = None
    warnings: tuple[Problem, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
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


@dataclass(frozen=True, kw_only=True, slots=True)
class Unrunnable:
    """An entry of the plan for an invalid case or suite: it becomes an errored result, without an agent."""

    index: int
    suite: BenchmarkSuite
    invalid: Invalid


@dataclass(frozen=True, kw_only=True, slots=True)
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
