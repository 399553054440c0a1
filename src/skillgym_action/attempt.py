"""Stage, part of execute: one session, from an empty directory to a judgement.

prepare -> run -> normalise -> judge -> clean up. Trouble on the way travels as a value.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from skillgym_action.agents import AGENTS, agent_named
from skillgym_action.camel import to_json
from skillgym_action.domain import Attempt, Judgement
from skillgym_action.effects.clock import iso
from skillgym_action.effects.outputs import OutputFile
from skillgym_action.judge import CANCELLED, errored, judge
from skillgym_action.limits import Limits
from skillgym_action.normalise import session_report
from skillgym_action.session import Ending, Invocation, Session
from skillgym_action.session_report import AgentRef, RunnerRef, SessionReport, Trouble
from skillgym_action.subject import SessionSubject
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


class _NotPreparedError(Exception):
    """A workspace could not be made ready."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.trouble = Trouble(kind=kind, message=message)


def attempt(world: World, execution: Execution, repetition: int, number: int, max_steps: int | None) -> Attempted:
    """Hold one session and judge it. ``number`` counts the sessions of the repetition from 1."""
    directory = f"{execution.directory}/repeat-{repetition}" + (f"/session-{number}" if number > 1 else "")
    kept = f"workspaces/{execution.directory}/repeat-{repetition}" + (f"-session-{number}" if number > 1 else "")
    folder = world.directory.folder(directory)
    began = world.clock.seconds()
    report: SessionReport | None = None
    try:
        workspace = _prepared(world, execution, folder, kept)
    except _NotPreparedError as error:
        trouble: Trouble | None = error.trouble
        judgement = CANCELLED if world.cancelled else errored(error.trouble)
    else:
        report, trouble = _held(world, execution, workspace, folder, (repetition, max_steps))
        judgement = _judged(world, execution, workspace, folder, (report, trouble))
        _cleaned_up(world, workspace, None if judgement.status in GREEN else kept)
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


def _prepared(world: World, execution: Execution, folder: Path, kept: str) -> Workspace:
    """A workspace after bootstrap. Raises _NotPreparedError."""
    suite = execution.suite

    def bootstrapped(workspace: Workspace) -> None:
        try:
            _bootstrap(world, execution, workspace, folder)
        except _NotPreparedError:
            _cleaned_up(world, workspace, kept)
            raise

    try:
        if suite.workspace.mode == "shared":
            workspace = world.workspaces.shared(suite, bootstrapped)
        else:
            workspace = world.workspaces.fresh(suite.workspace)
            bootstrapped(workspace)
    except OSError as error:
        raise _NotPreparedError("workspace", f"the workspace could not be made: {error}") from error
    if not workspace.path.is_dir():
        raise _NotPreparedError("workspace", f"the workspace {workspace.path} is not there")
    return workspace


def _cleaned_up(world: World, workspace: Workspace, kept: str | None) -> None:
    """Keep the workspace there, without secrets, for people to look at; or nothing of it."""
    if kept:
        changes = workspace.changes()
        world.directory.redact(*(workspace.path / path for path in (*changes.created, *changes.modified)))
        workspace.keep(world.directory.path / kept)
    world.workspaces.discard(workspace)


def _bootstrap(world: World, execution: Execution, workspace: Workspace, folder: Path) -> None:
    bootstrap = execution.suite.workspace.bootstrap
    if bootstrap is None:
        workspace.remember()
        return
    env = {
        "SKILLGYM_WORKSPACE": str(workspace.path),
        "SKILLGYM_OUTPUT_DIR": str(world.directory.path),
        "SKILLGYM_ARTIFACT_DIR": str(folder),
    }
    if execution.suite.workspace.mode == "isolated":
        env |= {"SKILLGYM_CASE_ID": execution.case.id, "SKILLGYM_RUNNER_ID": execution.runner.id}
    logs = folder / "bootstrap.stdout.log", folder / "bootstrap.stderr.log"
    with workspace.bootstrapping():
        capture = world.processes.run(
            Invocation(
                argv=bootstrap.argv,
                cwd=workspace.path,
                timeout=bootstrap.timeout,
                env={**workspace.grader_env(), **env, **dict(bootstrap.env)},
            ),
            stdout=logs[0],
            stderr=logs[1],
        )
    world.directory.redact(*logs)
    if capture.ending is not Ending.EXITED or capture.exit_code:
        how = {
            Ending.EXITED: f"exit code {capture.exit_code}",
            Ending.TIMED_OUT: f"no end after {bootstrap.timeout:g} s",
        }.get(capture.ending, capture.ending)
        tail = capture.stderr.tail(500).strip()
        message = capture.error or f"{bootstrap.argv[0]}: {how}"
        raise _NotPreparedError("workspace-bootstrap", message + (f"\n{tail}" if tail else ""))


def _held(
    world: World, execution: Execution, workspace: Workspace, folder: Path, settings: tuple[int, int | None]
) -> tuple[SessionReport | None, Trouble | None]:
    """The session: what the agent did, and why that cannot be judged, if so."""
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
    )
    invocation = agent.invocation(session)
    invocation = replace(invocation, env={**workspace.agent_env(), **runner.agent.env, **invocation.env})
    streams = AGENTS[runner.agent.type].streams or runner.agent.output == "events"
    watched = streams and (max_steps is not None or execution.budget is not None)
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
            transcript, capture, session, _reference(execution), started_at=iso(began), ended_at=iso(ended)
        )
        trouble = _trouble(capture, execution) or agent.trouble(capture, transcript)
    except Exception as error:  # noqa: BLE001 -- foreign output must cost its own execution only, whatever it holds
        return None, Trouble(kind="normalization", message=f"{type(error).__name__}: {error}")
    finally:
        world.directory.redact(folder / "stdout.log", folder / "stderr.log")
        world.directory.take((path for path in collected if path.suffix == ".jsonl"), folder)
    return replace(report, trouble=trouble, raw_artifacts=_raw_artifacts(folder)), trouble


def _raw_artifacts(folder: Path) -> dict[str, str]:
    """What was kept of the agent's own output, by the names skillgym gives it; beside the session report."""
    names = {"stdoutPath": "stdout.log", "stderrPath": "stderr.log", "sessionPath": "session.jsonl"}
    return {key: name for key, name in names.items() if (folder / name).is_file()}


def _trouble(capture: Capture, execution: Execution) -> Trouble | None:
    """Trouble that needs no knowledge of the agent."""
    match capture.ending:
        case Ending.NOT_STARTED:
            return Trouble(kind="agent-missing", message=capture.error or "the agent did not start")
        case Ending.REFUSED:
            return Trouble(kind="runner-crash", message=capture.error or "the agent was not started")
        case Ending.TIMED_OUT:
            return Trouble(kind="timeout", message=f"no end after {execution.timeout:g} s; the session was ended")
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
    judgement = judge(execution.case, subject, trouble)
    return CANCELLED if world.cancelled else judgement


def _reference(execution: Execution) -> RunnerRef:
    runner = execution.runner
    agent = AgentRef(type=runner.agent.type, model=execution.model)
    return RunnerRef(id=runner.id, path_key=runner.path_key, agent=agent)
