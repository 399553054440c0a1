"""Suites and their cases, as formats read them: frozen, keyword-only; sequences are tuples."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from skillgym_action.model.hooks import NO_HOOKS, Hooks

if TYPE_CHECKING:
    from pathlib import Path

    from skillgym_action.model.assertion import Assertion
    from skillgym_action.model.errors import Location, Problem
    from skillgym_action.model.execution import Runner
    from skillgym_action.model.resource_limits import ResourceLimits


@dataclass(frozen=True, kw_only=True, slots=True)
class Bootstrap:
    """A command run in a workspace before the agent starts. ``timeout`` is in seconds."""

    argv: tuple[str, ...]
    timeout: float = 300.0
    env: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkspaceSpec:
    """Where the agents of a suite work.

    mode ``none``: in ``cwd``; ``shared``: one directory per suite; ``isolated``: a fresh one per session.
    ``source`` ``repository`` copies the checkout, ``template`` copies ``template``, ``directory`` copies ``cwd`` or
    else the checkout's folder with all that is in it, ``empty`` starts empty.
    ``judged_last``: assertions see what ``after_each`` left, not what the agent did. ``limits`` lower the run's.
    """

    mode: Literal["none", "shared", "isolated"] = "isolated"
    source: Literal["empty", "template", "repository", "directory"] = "repository"
    template: Path | None = None
    cwd: Path | None = None
    bootstrap: Bootstrap | None = None
    hooks: Hooks = NO_HOOKS
    judged_last: bool = False
    limits: ResourceLimits | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """A prompt, its assertions, its own settings. ``timeout`` in seconds, ``budget`` in US dollars; None: not given.

    ``files`` go with the prompt; ``workspace`` replaces the suite's; ``retries`` are sessions after a failure.
    ``depends_on``: ids of cases that have to be green before, else it is done as ``unmet`` says.
    ``threshold``: the score it needs, from 0 to 1; None: every assertion has to hold.
    """

    id: str
    prompt: str
    location: Location
    assertions: tuple[Assertion, ...]
    tags: tuple[str, ...] = ()
    timeout: float | None = None
    budget: float | None = None
    model: str | None = None
    expected_fail: bool = False
    classify: bool = False
    runners: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()
    metadata: object = None
    workspace: WorkspaceSpec | None = None
    retries: int = 0
    depends_on: tuple[str, ...] = ()
    unmet: Literal["skip", "fail", "run"] = "skip"
    threshold: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Invalid:
    """A case, or a whole suite where ``case_id`` is None, that cannot be used: reported as errored, never dropped."""

    problem: Problem
    case_id: str | None = None


SuiteChange = Literal["differs", "added", "unidentified", "not-compared"]
"""Why a suite of stored results is not one of the base commit: another digest, no such suite there, no digest in the
results, or no base commit to compare with."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Suite:
    """Cases plus what they share. ``path`` is relative to the repository root; ``file`` absolute.

    ``runners`` are its own, in place of the run's; ``budget``: US dollars its sessions on one runner may spend.
    ``hidden``: what else is left out of copies of the repository. ``digest``: of ``file`` and what is hidden.
    ``changed``: set where stored results were compared with the suites of a base commit.
    """

    path: str
    file: Path
    name: str
    format: str
    cases: tuple[Case, ...] = ()
    invalid: tuple[Invalid, ...] = ()
    workspace: WorkspaceSpec = field(default_factory=WorkspaceSpec)
    warnings: tuple[Problem, ...] = ()
    default_timeout: float | None = None
    runners: tuple[Runner, ...] = ()
    budget: float | None = None
    hidden: tuple[str, ...] = ()
    digest: str | None = None
    changed: SuiteChange | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class FoundSuite:
    """A suite file. ``path`` is relative to the repository root with ``/``, or absolute outside of it."""

    path: str
    file: Path
    format: str
