"""What a plan consists of: runners, and cases on runners."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillgym_action.model.hooks import NO_HOOKS, Hooks

if TYPE_CHECKING:
    from skillgym_action.model.errors import Problem
    from skillgym_action.model.resource_limits import ResourceLimits
    from skillgym_action.model.session import AgentConfig
    from skillgym_action.model.session_report import Trouble
    from skillgym_action.model.suite import Case, Invalid, Suite


@dataclass(frozen=True, kw_only=True, slots=True)
class Runner:
    """A configured agent. ``path_key``: its id as one path segment; ``problem``: why it cannot be used.

    ``trouble``: what its executions end in because its program is not there.
    """

    id: str
    path_key: str
    agent: AgentConfig
    hooks: Hooks = NO_HOOKS
    problem: Problem | None = None
    trouble: Trouble | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Execution:
    """One case on one runner. ``directory``: its folder in the run directory; ``limits``: those of its sessions."""

    index: int
    suite: Suite
    case: Case
    runner: Runner
    directory: str
    timeout: float
    budget: float | None
    model: str | None
    limits: ResourceLimits | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Unrunnable:
    """An entry of the plan that becomes a result without an agent: an invalid case or suite."""

    index: int
    suite: Suite
    invalid: Invalid


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """What will run, and what cannot."""

    suites: tuple[Suite, ...]
    runners: tuple[Runner, ...]
    executions: tuple[Execution, ...]
    unrunnable: tuple[Unrunnable, ...]
