"""A runner: an agent with its model and its settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillgym_action.model.hooks import NO_HOOKS, Hooks
from skillgym_action.model.records import record

if TYPE_CHECKING:
    from skillgym_action.model.errors import Problem
    from skillgym_action.model.session import AgentConfig
    from skillgym_action.model.session_report import Trouble


@record
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
