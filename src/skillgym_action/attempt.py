"""Stage, part of execute: one session, from an empty directory to a judgement.

prepare -> run -> normalise -> judge -> clean up. Trouble on the way travels as a value; see ``around`` for hooks.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from skillgym_action import around
from skillgym_action.agents import AGENTS, agent_named
from skillgym_action.camel import to_json
from skillgym_action.domain import Attempt, Judgement
from skillgym_action.effects.clock import iso
from skillgym_action.effects.outputs import OutputFile
from skillgym_action.follow_up import Remembered, follow_ups, remember
from skillgym_action.judge import CANCELLED, classified, errored, judge
from skillgym_action.limits import Limits
from skillgym_action.normalise import session_report
from skillgym_action.session import Ending, Session
from skillgym_action.session_report import Cost, SessionReport, Trouble
from skillgym_action.subject import SessionSubject, SuiteClassifier, runner_reference
from skillgym_action.verdicts import GREEN

if TYPE_CHECKING:
    from pathlib import Path

    from skillgym_action.domain import Execution
    from skillgym_action.effects.workspace import Workspace
    from skillgym_action.session import Capture
    from skillgym_action.world import World


@dataclass(frozen=True, kw_only=True, slots=True)
class Attempted:
    """What one session came to. ``trouble`` stands beside the judgement, since retries depend on it."""

    attempt: Attempt
    judgement: Judgement
    report: SessionReport | None = None
    trouble: Trouble | None = None

    @property
    def cost(self) -> Cost:
        """What agent and judge cost together; unknown as soon as one of them is."""
        agent, judge = self.report.cost if self.report else Cost(), self.judgement.cost_usd
        if not judge:
            return Cost() if judge is None else agent
        return agent if agent.usd is None else Cost(usd=agent.usd + judge, source="computed")


def attempt(world: World, execution: Execution, repetition: int, number: int, max_steps: int | None) -> Attempted:
    """Hold one session and judge it. ``number`` counts the sessions of the repetition from 1."""
    directory = f"{execution.directory}/repeat-{repetition}" + (f"/session-{number}" if number > 1 else "")
    kept = f"workspaces/{execution.directory}/repeat-{repetition}" + (f"-session-{number}" if number > 1 else "")
    folder = world.directory.folder(directory)
    began = world.clock.seconds()
    report: SessionReport | None = None
    try:
        workspace = around.prepared(world, execution, folder)
    except around.NotPreparedError as error:
        if error.workspace:
            _cleaned_up(world, error.workspace, kept)
        trouble: Trouble | None = error.trouble
        judgement = errored(error.trouble)
        told = classified(execution.case, SuiteClassifier(world, execution), judgement)
        judgement = CANCELLED if world.cancelled else told
    else:
        report, trouble, records = _held(world, execution, workspace, folder, (repetition, max_steps))
        judgement = _judged(world, execution, workspace, folder, (report, trouble))
        around.finished(world, execution, workspace, folder)
        questions = follow_ups(judgement) if report else ()
        if report and questions:
            remember(world, execution, workspace, folder, Remembered(questions, report, records, kept))
        _cleaned_up(world, workspace, kept if questions or judgement.status not in GREEN else None)
    if judgement.failure:
        world.directory.write(folder / "error.json", json.dumps(to_json(judgement.failure)))
    duration = round((world.clock.seconds() - began) * 1000)
    return Attempted(
        judgement=judgement,
        report=report,
        trouble=trouble,
        attempt=Attempt(
            repetition=repetition,
            session=number,
            status=judgement.status,
            duration_ms=report.duration_ms if report and report.duration_ms is not None else duration,
            directory=directory,
            failure_class=judgement.failure_class,
            message=judgement.failure.message if judgement.failure else None,
        ),
    )


def _cleaned_up(world: World, workspace: Workspace, kept: str | None) -> None:
    """Keep the workspace there, without secrets, for people to look at; or nothing of it."""
    if kept:
        changes = workspace.changes()
        world.directory.redact(*(workspace.path / path for path in (*changes.created, *changes.modified)))
        workspace.keep(world.directory.path / kept)
    world.workspaces.discard(workspace)


def _held(
    world: World, execution: Execution, workspace: Workspace, folder: Path, settings: tuple[int, int | None]
) -> tuple[SessionReport | None, Trouble | None, tuple[Path, ...]]:
    """The session: what the agent did, why that cannot be judged, if so, and the agent's own records of it."""
    repetition, max_steps = settings
    runner, agent = execution.runner, agent_named(execution.runner.agent.type)
    suite, case, own = execution.directory.split("/")
    session = Session(
        agent=replace(runner.agent, model=execution.model),
        prompt=execution.case.prompt,
        case_id=execution.case.id,
        key=(suite, case, own, f"repeat-{repetition}"),
        workspace=workspace.path,
        home=workspace.home,
        scratch=workspace.scratch,
        timeout=execution.timeout,
        max_steps=max_steps,
        budget=execution.budget,
        files=execution.case.files,
    )
    invocation = agent.invocation(session)
    invocation = replace(invocation, env={**workspace.agent_env(), **runner.agent.env, **invocation.env})
    watched = AGENTS[runner.agent.type].streams or runner.agent.output == "events"
    limits = Limits(agent, max_steps=max_steps, budget=execution.budget, model=execution.model) if watched else None
    began = world.clock.now()
    workspace.write(invocation.files)
    capture = world.processes.run(invocation, stdout=folder / "stdout.log", stderr=folder / "stderr.log", watch=limits)
    ended = world.clock.now()
    workspace.settle()
    collected = workspace.collected(invocation.collect)
    capture = replace(capture, collected=tuple(map(OutputFile, collected)))
    try:
        transcript = agent.transcript(capture, session)
        report = session_report(
            transcript, capture, session, runner_reference(execution), started_at=iso(began), ended_at=iso(ended)
        )
        trouble = trouble_of_ending(capture, execution.timeout) or agent.trouble(capture, transcript)
    except Exception as error:  # noqa: BLE001 -- foreign output must cost its own execution only, whatever it holds
        return None, Trouble(kind="normalization", message=f"{type(error).__name__}: {error}"), ()
    finally:
        world.directory.redact(folder / "stdout.log", folder / "stderr.log")
        world.directory.take((path for path in collected if path.suffix == ".jsonl"), folder)
    return replace(report, trouble=trouble, raw_artifacts=_raw_artifacts(folder)), trouble, collected


def _raw_artifacts(folder: Path) -> dict[str, str]:
    """What was kept of the agent's own output, by the names skillgym gives it; beside the session report."""
    names = {"stdoutPath": "stdout.log", "stderrPath": "stderr.log", "sessionPath": "session.jsonl"}
    return {key: name for key, name in names.items() if (folder / name).is_file()}


def trouble_of_ending(capture: Capture, timeout: float) -> Trouble | None:
    """Trouble that needs no knowledge of the agent."""
    match capture.ending:
        case Ending.NOT_STARTED:
            return Trouble(kind="agent-missing", message=capture.error or "the agent did not start")
        case Ending.REFUSED:
            return Trouble(kind="runner-crash", message=capture.error or "the agent was not started")
        case Ending.TIMED_OUT:
            return Trouble(kind="timeout", message=f"no end after {timeout:g} s; the session was ended")
        case Ending.STOPPED:
            return capture.stopped_for
        case _:
            return None


def _judged(
    world: World,
    execution: Execution,
    workspace: Workspace,
    folder: Path,
    held: tuple[SessionReport | None, Trouble | None],
) -> Judgement:
    report, trouble = held
    if world.cancelled:
        return CANCELLED
    changes = workspace.changes()
    complete = workspace.save(changes, folder / "changes")
    world.directory.redact(*(folder / "changes" / path for path in (*changes.created, *changes.modified)))
    summary = {"path": "workspace", **to_json(changes), "complete": complete}
    world.directory.write(folder / "workspace.json", json.dumps(summary))
    if report:
        world.directory.write(folder / "report.json", json.dumps(to_json(report)))
    subject = SessionSubject(world, execution, workspace, folder)
    subject.report = report
    if around.place_of(execution).judged_last:
        subject.file_changes()  # of the agent alone
        around.after_agent(world, execution, workspace, folder)
    judgement = judge(execution.case, subject, trouble)
    return replace(CANCELLED if world.cancelled else judgement, cost_usd=subject.cost_usd)
