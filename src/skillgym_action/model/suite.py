"""Suites and their cases, as formats read them."""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING, Literal

from skillgym_action.model.hooks import NO_HOOKS, Hooks
from skillgym_action.model.records import record

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from skillgym_action.model.arm import Arm, SkillUnderTest
    from skillgym_action.model.assertion import Assertion, ContainerPreparation, ContainerSolution, TurnJudge
    from skillgym_action.model.containers import ContainerSpec
    from skillgym_action.model.errors import Location, Problem
    from skillgym_action.model.resource_limits import ResourceLimits
    from skillgym_action.model.runner import Runner
    from skillgym_action.model.session import CaseAgentSettings


@record
class Bootstrap:
    """A command that prepares a workspace before the agent starts. ``timeout`` is in seconds."""

    argv: tuple[str, ...]
    timeout: float = 300.0
    env: tuple[tuple[str, str], ...] = ()


@record
class SkillSettings:
    """The section ``skills`` of the configuration.

    ``path``: the absolute path of the folder of the skill under test; None: it is looked for near each suite.
    ``workspace``: what suites of skills work in beside their input files. ``trigger_rounds``: model rounds after which
    a session of a trigger eval ends.
    """

    path: Path | None = None
    workspace: Literal["empty", "repository"] = "empty"
    trigger_rounds: int = 5


@record
class TriggerRule:
    """How the sessions of a query are run that asks whether a skill is loaded.

    ``skills``: names of the skills, any of which counts. ``should_trigger``: whether one of them has to load. ``runs``:
    repetitions, ended once they decide; ``threshold``: the share of judged runs, 0 to 1, that has to load one of them,
    or below which it has to stay. ``rounds``: model rounds after which a session ends.
    """

    skills: tuple[str, ...]
    should_trigger: bool = True
    runs: int = 3
    threshold: float = 0.5
    rounds: int = 5


@record
class TrialRule:
    """How several sessions of a case become one score, as AgentV's ``trials`` do.

    ``strategy`` ``pass_at_k``: the best score of its retries; ``mean``: the mean score of its repetitions;
    ``confidence_interval``: where the 95% interval of that mean begins. ``cost_limit``: US dollars of its agent after
    which no other session begins; what is not known counts as 0. None: unlimited.
    """

    strategy: Literal["pass_at_k", "mean", "confidence_interval"] = "pass_at_k"
    cost_limit: float | None = None


@record
class InputFile:
    """A file, or a folder with everything in it, that is copied into workspaces.

    ``path``: where, relative to the workspace, with ``/``. ``source``: the absolute path of the original; None: there
    is none, it is a file with ``content``. ``read_only``: the copies are.
    """

    path: str
    source: Path | None = None
    content: str = ""
    read_only: bool = False


@record
class WorkspaceSpec:
    """Where the agents of a suite work.

    ``mode`` ``none``: in ``cwd`` itself; ``shared``: one directory per suite; ``isolated``: a new one per session.
    ``source`` ``repository``: a copy of the files of the checkout that git knows; ``template``: a copy of ``template``;
    ``directory``: a copy of ``cwd``, or else of the checkout's folder with everything in it; ``empty``: nothing.
    ``judge_after_hooks``: assertions are evaluated after ``after_each``, not before. ``limits`` lower those of the run.
    ``files``: copied into it. ``committed``: all of that is the only commit of a Git repository. ``removed_skills``:
    names of skills that copies of the repository do not contain. ``skills``: installed where the runner's agent looks
    for skills; they are in no commit, and no change of the agent's. ``container``: what the programs of the session run
    in; None: they are processes of this machine. ``preparation``: what is done in the container before the agent.
    ``root``: the folder that is copied in place of the checkout; None: the checkout.
    """

    mode: Literal["none", "shared", "isolated"] = "isolated"
    source: Literal["empty", "template", "repository", "directory"] = "repository"
    template: Path | None = None
    cwd: Path | None = None
    bootstrap: Bootstrap | None = None
    hooks: Hooks = NO_HOOKS
    judge_after_hooks: bool = False
    limits: ResourceLimits | None = None
    files: tuple[InputFile, ...] = ()
    committed: bool = False
    removed_skills: tuple[str, ...] = ()
    skills: tuple[SkillUnderTest, ...] = ()
    container: ContainerSpec | None = None
    preparation: ContainerPreparation | None = None
    root: Path | None = None


@record
class CaseConversation:
    """What is said to the agent, one turn after the other, each after its reply.

    ``opening``: role and text of the messages before the first turn. ``window``: how many of the last turns the agent
    gets again; None: all of them. ``judge``: judges each turn before the next one; None: all are played first.
    """

    turns: tuple[str, ...]
    opening: tuple[tuple[str, str], ...] = ()
    window: int | None = None
    judge: TurnJudge | None = None

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


@record
class BenchmarkCase:
    """A prompt, its assertions, and its own settings. None: not set.

    ``timeout``: seconds per session; ``budget``: US dollars per session, by ``has_default_budget`` that of the format
    and not the author's. ``classify``: the suite program classifies failures. ``runners``: patterns of the runners that
    it runs on; (): all. ``files``: attached to the prompt. ``workspace`` replaces the suite's. ``retries``: sessions
    after a failed one. ``depends_on``: ids of cases that must be green before; ``on_dependency_failure``: what happens
    otherwise. ``threshold``: the score that it needs, from 0 to 1; None: every assertion has to pass. ``title``: a name
    for people, beside the id. ``questions``: how many outcomes need the judge; advisory ones are not counted.
    ``max_steps``: model rounds per session. ``trigger``: its only assertion is about skills that are loaded; its
    sessions end once that is known. ``repetitions``: unless the user says how many. ``averaged``: the mean score of its
    repetitions has to reach the threshold, not that of each. ``trials``: what else holds for retries and repetitions.
    ``agent``: what it asks of its agent. ``conversation``: its turns; ``prompt`` is that of the first one.
    ``solution``: a program that solves it in its container; None: its reference solution is files, if it has one.
    """

    id: str
    prompt: str
    location: Location
    assertions: tuple[Assertion, ...]
    tags: tuple[str, ...] = ()
    timeout: float | None = None
    budget: float | None = None
    has_default_budget: bool = False
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
    title: str | None = None
    questions: int = 0
    max_steps: int | None = None
    trigger: TriggerRule | None = None
    repetitions: int | None = None
    averaged: bool = False
    trials: TrialRule | None = None
    agent: CaseAgentSettings | None = None
    conversation: CaseConversation | None = None
    solution: ContainerSolution | None = None


@record
class Invalid:
    """An invalid case, or an invalid suite if ``case_id`` is None: reported as errored, never dropped."""

    problem: Problem
    case_id: str | None = None

    @classmethod
    def of(cls, problems: Iterable[Problem], case_id: str | None) -> Invalid:
        """The invalid case or suite with these problems, at least one: the first one, which names the others."""
        first, *others = problems
        also = "".join(f"; also {_beside(first, problem)}" for problem in others)
        return cls(problem=replace(first, message=first.message + also), case_id=case_id)


def _beside(first: Problem, other: Problem) -> str:
    """The key path and the message of ``other``; with its file, if that is not the file of ``first``."""
    path = other.location.path if other.location else ""
    is_elsewhere = first.location is None or first.location.path != path
    return ": ".join(part for part in (path if is_elsewhere else "", other.key_path, other.message) if part)


SuiteChange = Literal["differs", "added"]
"""How a suite of stored results differs from the base commit: another digest or none, or no such suite there."""


@record
class BenchmarkSuite:
    """Cases, and what they share. ``path`` is relative to the repository root; ``file`` is absolute.

    ``invalid``: cases that cannot be used. ``runners``: its own, instead of the configured ones; ``other_runners``:
    those that it runs on only if they are named. ``budget``: US dollars that all sessions on one runner may cost.
    ``hidden``: paths that, like the suite file, agents must not see.
    ``digest``: SHA-256 over ``file`` and the hidden paths. ``template_digest``: over the files of the workspace
    templates; None without one, or if it is unknown. ``stops_on_error``: once one of its cases could not be judged, no
    other one begins on the same runner. ``changed``: set when stored results were compared with the suites
    of a base commit. ``arms``: the variants that its sessions are run in; (): there is only one way. ``files``: those
    of the repository that were read to load it.
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
    stops_on_error: bool = False
    hidden: tuple[str, ...] = ()
    digest: str | None = None
    template_digest: str | None = None
    changed: SuiteChange | None = None
    arms: tuple[Arm, ...] = ()
    files: tuple[str, ...] = ()


@record
class FoundSuite:
    """A suite file that was found. ``path``: relative to the repository root, or absolute outside of it.

    ``parts``: the files of it that were selected, where a suite has cases in files of their own; (): all.
    """

    path: str
    file: Path
    format: str
    parts: tuple[str, ...] = ()


@record
class NotASuite:
    """Why a file is not run. ``near_miss``: it was probably meant as a suite, so that it becomes a warning."""

    reason: str
    remedy: str | None = None
    near_miss: bool = False


@record
class Discovery:
    """The files that a search for suites has found.

    ``skipped``: files called or written like suites that are not run, by path. ``warnings``: about arguments that
    select nothing. ``not_searched``: how many files with other names were not looked at, since there are too many.
    """

    suites: tuple[FoundSuite, ...] = ()
    skipped: tuple[tuple[str, NotASuite], ...] = ()
    warnings: tuple[Problem, ...] = ()
    not_searched: int = 0
