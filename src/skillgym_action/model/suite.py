"""Suites and their cases, as formats read them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from skillgym_action.model.hooks import NO_HOOKS, Hooks

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from skillgym_action.model.assertion import Assertion
    from skillgym_action.model.errors import Location, Problem
    from skillgym_action.model.execution import Runner
    from skillgym_action.model.resource_limits import ResourceLimits


@dataclass(frozen=True, kw_only=True, slots=True)
class Bootstrap:
    """A command that prepares a workspace before the agent starts. ``timeout`` is in seconds."""

    argv: tuple[str, ...]
    timeout: float = 300.0
    env: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class SkillUnderTest:
    """A skill that is installed into the workspace of each session, where the runner's agent looks for skills.

    ``name``: from the frontmatter of its SKILL.md, also the name of the installed folder. ``folder``: the absolute path
    of the folder of its SKILL.md.
    """

    name: str
    folder: Path


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkspaceSpec:
    """Where the agents of a suite work.

    ``mode`` ``none``: in ``cwd`` itself; ``shared``: one directory per suite; ``isolated``: a new one per session.
    ``source`` ``repository``: a copy of the files of the checkout that git knows; ``template``: a copy of ``template``;
    ``directory``: a copy of ``cwd``, or else of the checkout's folder with everything in it; ``empty``: nothing.
    ``judge_after_hooks``: assertions are evaluated after ``after_each``, not before. ``limits`` lower those of the run.
    ``skills``: installed after the copy is made and before the agent starts; they are no change of the agent's.
    """

    mode: Literal["none", "shared", "isolated"] = "isolated"
    source: Literal["empty", "template", "repository", "directory"] = "repository"
    template: Path | None = None
    cwd: Path | None = None
    bootstrap: Bootstrap | None = None
    hooks: Hooks = NO_HOOKS
    judge_after_hooks: bool = False
    limits: ResourceLimits | None = None
    skills: tuple[SkillUnderTest, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class CaseConversation:
    """What is said to the agent, one turn after the other, each after its reply.

    ``opening``: role and text of the messages before the first turn. ``window``: how many of the last turns the agent
    is told again; None: all of them.
    """

    turns: tuple[str, ...]
    opening: tuple[tuple[str, str], ...] = ()
    window: int | None = None

    def history(self, replies: Sequence[str], turns: int) -> tuple[tuple[str, str], ...]:
        """Role and text of all messages of so many turns; the last one may have no reply yet."""
        messages = list(self.opening)
        for at, turn in enumerate(self.turns[:turns]):
            messages.append(("user", turn))
            messages += [("assistant", reply) for reply in replies[at : at + 1]]
        return tuple(messages)

    def shown(self, replies: Sequence[str], turns: int) -> tuple[tuple[str, str], ...]:
        """The history in the window: instructions of the system, and the last messages of user and assistant."""
        history = self.history(replies, turns)
        if self.window is None:
            return history
        system = (message for message in history if message[0] == "system")
        others = [message for message in history if message[0] != "system"]
        return (*system, *others[-2 * self.window :])


@dataclass(frozen=True, kw_only=True, slots=True)
class BenchmarkCase:
    """A prompt, its assertions, and its own settings. None: not set.

    ``timeout``: seconds per session; ``budget``: US dollars per session. ``classify``: the suite program classifies
    failures. ``runners``: patterns of the runners that it runs on; (): all. ``files``: attached to the prompt.
    ``workspace`` replaces the suite's. ``retries``: sessions after a failed one. ``depends_on``: ids of cases that must
    be green before; ``on_dependency_failure``: what happens otherwise. ``threshold``: the score that it needs, from 0
    to 1; None: every assertion has to pass. ``conversation``: its turns; ``prompt`` is that of the first one.
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
    on_dependency_failure: Literal["skip", "fail", "run"] = "skip"
    threshold: float | None = None
    conversation: CaseConversation | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Invalid:
    """An invalid case, or an invalid suite if ``case_id`` is None: reported as errored, never dropped."""

    problem: Problem
    case_id: str | None = None


SuiteChange = Literal["differs", "added", "unidentified", "not-compared"]
"""How a suite of stored results differs from the base commit: another digest, no such suite there, no digest in the
results, or no base commit to compare with."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BenchmarkSuite:
    """Cases, and what they share. ``path`` is relative to the repository root; ``file`` is absolute.

    ``invalid``: cases that cannot be used. ``runners``: its own, instead of the configured ones; ``other_runners``:
    those that it runs on only if they are named. ``budget``: US dollars that all sessions on one runner may cost.
    ``hidden``: paths that, like the suite file, agents must not see.
    ``digest``: SHA-256 over ``file`` and the hidden paths. ``template_digest``: over the files of the workspace
    templates; None without one, or if it is unknown. ``changed``: set when stored results were compared with the suites
    of a base commit.
    """

    path: str
    file: Path
    name: str
    format: str
    cases: tuple[BenchmarkCase, ...] = ()
    invalid: tuple[Invalid, ...] = ()
    workspace: WorkspaceSpec = field(default_factory=WorkspaceSpec)
    warnings: tuple[Problem, ...] = ()
    default_timeout: float | None = None
    runners: tuple[Runner, ...] = ()
    other_runners: tuple[Runner, ...] = ()
    budget: float | None = None
    hidden: tuple[str, ...] = ()
    digest: str | None = None
    template_digest: str | None = None
    changed: SuiteChange | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class FoundSuite:
    """A suite file that was found. ``path``: relative to the repository root, or absolute outside of it."""

    path: str
    file: Path
    format: str


@dataclass(frozen=True, kw_only=True, slots=True)
class NotASuite:
    """Why a file is not run. ``near_miss``: it was probably meant as a suite, so that it becomes a warning."""

    reason: str
    remedy: str | None = None
    near_miss: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Discovery:
    """The files that a search for suites has found.

    ``skipped``: files called or written like suites that are not run, by path. ``warnings``: about arguments that
    select nothing. ``not_searched``: how many files with other names were not looked at, since there are too many.
    """

    suites: tuple[FoundSuite, ...] = ()
    skipped: tuple[tuple[str, NotASuite], ...] = ()
    warnings: tuple[Problem, ...] = ()
    not_searched: int = 0
