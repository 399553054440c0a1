"""Stage, part of execute: one session, from an empty directory to a judgement.

prepare -> run -> normalise -> judge -> clean up. Trouble on the way travels as a value; see ``around`` for hooks.
"""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from skillgym_action.agents import AGENTS, agent_named
from skillgym_action.clock import iso_timestamp
from skillgym_action.filesystem.removal import remove_path
from skillgym_action.model.errors import OutputError
from skillgym_action.model.json_codec import to_json
from skillgym_action.model.result import Attempt, Judgement, Result, SessionResult
from skillgym_action.model.session import Ending, Session
from skillgym_action.model.session_report import Cost, SessionReport, Trouble, Usage
from skillgym_action.model.verdicts import GREEN
from skillgym_action.processes.outputs import OutputFile
from skillgym_action.sessions import hooks
from skillgym_action.sessions.assertion_context import SessionAssertionContext, SuiteClassifier, runner_ref
from skillgym_action.sessions.follow_up import FollowUpRecord, follow_ups, store_follow_up
from skillgym_action.sessions.judge import CANCELLED_JUDGEMENT, judge, trouble_judgement, with_suite_class
from skillgym_action.sessions.normalise import normalise
from skillgym_action.sessions.secret_scan import SecretScan
from skillgym_action.sessions.session_limits import SessionLimits
from skillgym_action.text.escaping import terminal_line
from skillgym_action.transcripts.trouble_signs import trouble_of_signal
from skillgym_action.workspaces.archive import SavedChanges, save_changes, save_workspace

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from skillgym_action.model.execution import Execution
    from skillgym_action.model.session import Capture
    from skillgym_action.services import Services
    from skillgym_action.settings.options import ExecuteOptions
    from skillgym_action.workspaces.workspace import Workspace

    Step = Callable[[], None]

NEVER_BEGAN = frozenset({Ending.NOT_STARTED, Ending.REFUSED})
LOST = "the process that looks after the session's programs was killed, hence nothing is known of their end"
NOTHING = Cost(usd=0.0, source="computed")


def run_session(
    services: Services,
    execution: Execution,
    repetition: int,
    number: int,
    options: ExecuteOptions,
    begins: Step = lambda: None,
) -> SessionResult:
    """Hold one session and judge it. ``number`` counts the sessions of the repetition from 1.

    ``begins`` is called before the first command, grader or check of the session's judging runs.
    """
    directory = f"{execution.directory}/repeat-{repetition}" + (f"/session-{number}" if number > 1 else "")
    kept = f"workspaces/{execution.directory}/repeat-{repetition}" + (f"-session-{number}" if number > 1 else "")
    folder = services.directory.folder(directory)
    services.directory.clear(kept)
    leaks = SecretScan(services.directory, folder, execution.case.prompt)
    began = services.clock.seconds()
    report, cost = None, NOTHING
    try:
        workspace = hooks.prepare_workspace(services, execution, folder)
    except hooks.NotPreparedError as error:
        if error.workspace:
            _cleaned_up(services, error.workspace, kept if options.keep == "all" else None)
        trouble: Trouble | None = error.trouble
        judgement = trouble_judgement(error.trouble)
        told = with_suite_class(execution.case, SuiteClassifier(services, execution), judgement)
        judgement = CANCELLED_JUDGEMENT if services.cancelled else told
    else:
        home = services.workspaces.new_records_folder()
        report, trouble, records = _held(services, execution, workspace, leaks, (repetition, options.max_steps, home))
        cost = report.cost if report else Cost()
        judgement = _judged(services, execution, workspace, leaks, (report, trouble, options.keep), begins)
        hooks.run_hooks_after_session(services, execution, workspace, folder)
        questions = follow_ups(judgement) if report else ()
        if report and questions:
            store_follow_up(
                services, execution, workspace, folder, FollowUpRecord(questions, report, home, records, kept)
            )
        if records:
            remove_path(home)
        _cleaned_up(services, workspace, kept if _is_kept(options.keep, judgement, asked=bool(questions)) else None)
    if judgement.failure:
        leaks.write("error.json", json.dumps(to_json(judgement.failure)))
    took = report.duration_ms if report else None
    took = round((services.clock.seconds() - began) * 1000) if took is None else took
    one = _as_listed((repetition, number), judgement, took, directory)
    result = replace(
        execution_result(execution, judgement, report),
        duration_ms=one.duration_ms,
        cost=_together(cost, judgement.cost_usd),
        attempts=(one,),
        directory=directory,
        findings=leaks.findings,
    )
    return SessionResult(
        result=leaks.hidden_in(result), agent_cost=cost, trouble=services.directory.redactor.redacted(trouble)
    )


def _as_listed(place: tuple[int, int], judgement: Judgement, duration_ms: int, directory: str) -> Attempt:
    return Attempt(
        repetition=place[0],
        session=place[1],
        status=judgement.status,
        duration_ms=duration_ms,
        directory=directory,
        failure_class=judgement.failure_class,
        message=judgement.failure.message if judgement.failure else None,
    )


def _is_kept(keep: str, judgement: Judgement, *, asked: bool) -> bool:
    """Whether the whole workspace stays: where that is wanted, or its agent may be asked questions about it."""
    return keep != "none" and (asked or (keep == "all" and judgement.status not in GREEN))


def execution_result(execution: Execution, judgement: Judgement, report: SessionReport | None = None) -> Result:
    """The result of an execution: without a session, or what the report of its only one says."""
    return Result(
        index=execution.index,
        suite=execution.suite,
        case_id=execution.case.id,
        judgement=judgement,
        runner=execution.runner,
        location=execution.case.location,
        tags=execution.case.tags,
        expected_fail=execution.case.expected_fail,
        usage=report.usage if report else Usage(),
        model=(report.model if report else None) or execution.model,
        version=report.version if report else None,
        prompt=execution.case.prompt,
        final_output=report.final_output if report else None,
        session_id=report.session_id if report else None,
    )


def _together(agent: Cost, judge: float | None) -> Cost:
    """What agent and judge cost together; unknown as soon as one of them is."""
    if not judge:
        return Cost() if judge is None else agent
    return agent if agent.usd is None else Cost(usd=agent.usd + judge, source="computed")


def _cleaned_up(services: Services, workspace: Workspace, kept: str | None) -> None:
    """Keep a copy of the whole workspace there, for people to look at; or none. A folder of the user's is left alone.

    Whoever cancels a run does not wait for that: it goes when all is reported.
    """
    if services.cancelled:
        return
    if kept and workspace.is_own:
        try:
            save_workspace(workspace, workspace.changes(), services.directory, kept)
        except OSError as error:
            services.observer.progress(
                f"{terminal_line(kept)} is not kept: {terminal_line(error.strerror or str(error))}"
            )
    services.workspaces.discard(workspace)


def _held(
    services: Services,
    execution: Execution,
    workspace: Workspace,
    leaks: SecretScan,
    settings: tuple[int, int | None, Path],
) -> tuple[SessionReport | None, Trouble | None, tuple[Path, ...]]:
    """The session: what the agent did, why that cannot be judged, if so, and copies of the agent's records of it.

    ``settings``: repetition, most steps, and the folder for those copies.
    """
    session, folder = _session(services, execution, workspace, settings[:2]), leaks.folder
    runner, agent = execution.runner, agent_named(execution.runner.agent.type)
    invocation = agent.invocation(session)
    invocation = replace(
        invocation,
        env={**workspace.agent_env(), **runner.agent.env, **invocation.env},
        identity=workspace.suite_identity if AGENTS[runner.agent.type].plays else workspace.identity,
        limits=execution.limits,
        folders=workspace.folders,
    )
    watched = AGENTS[runner.agent.type].streams or runner.agent.output == "events"
    limits = SessionLimits(agent, session) if watched else None
    began = services.clock.now()
    try:
        workspace.write(invocation.files)
    except OSError as error:
        return None, Trouble(kind="workspace", message=f"the agent's files could not be written: {error}"), ()
    capture = services.processes.run(
        invocation, stdout=folder / "stdout.log", stderr=folder / "stderr.log", watch=limits
    )
    ended = began + timedelta(seconds=capture.seconds)
    collected: tuple[Path, ...] = ()
    try:
        try:
            workspace.restore_folders()
            collected = workspace.collect(invocation.collect, settings[2])
            if collected:
                capture = replace(capture, collected=tuple(map(OutputFile, collected)))
            transcript = agent.transcript(capture, session)
            report = normalise(
                transcript,
                capture,
                session,
                runner_ref(execution),
                started_at=iso_timestamp(began),
                ended_at=iso_timestamp(ended),
            )
        finally:  # before anything of it is quoted: half a key could not be recognised any more
            leaks.in_output(path for path in collected if path.suffix == ".jsonl")
        if capture.ending in NEVER_BEGAN:
            report = replace(report, cost=NOTHING)
        trouble = trouble_of_ending(capture, execution.timeout) or agent.trouble(capture, transcript)
    except OutputError:
        raise
    except OSError as error:
        return None, Trouble(kind="workspace", message=f"what the session left cannot be read: {error}"), ()
    except Exception as error:  # noqa: BLE001 -- foreign output must cost its own execution only, whatever it holds
        return None, Trouble(kind="normalization", message=f"{type(error).__name__}: {error}"), ()
    return replace(report, trouble=trouble, raw_artifacts=_raw_artifacts(folder)), trouble, collected


def _session(
    services: Services, execution: Execution, workspace: Workspace, settings: tuple[int, int | None]
) -> Session:
    repetition, max_steps = settings
    suite, case, own = execution.directory.split("/")
    agent = execution.runner.agent
    return Session(
        agent=agent if agent.model == execution.model else replace(agent, model=execution.model),
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
        prices=services.prices,
    )


def _raw_artifacts(folder: Path) -> dict[str, str]:
    """What was kept of the agent's own output, by the names skillgym gives it; beside the session report."""
    names = {"stdoutPath": "stdout.log", "stderrPath": "stderr.log", "sessionPath": "session.jsonl"}
    return {key: name for key, name in names.items() if (folder / name).exists()}


def trouble_of_ending(capture: Capture, timeout: float) -> Trouble | None:
    """Trouble that needs no knowledge of the agent."""
    if capture.ending is Ending.STOPPED:
        return capture.stopped_for
    if capture.ending is Ending.SIGNALLED:
        return trouble_of_signal(capture.exit_code)
    troubles = {
        Ending.NOT_STARTED: ("agent-missing", capture.error or "the agent did not start"),
        Ending.REFUSED: ("runner-crash", capture.error or "the agent was not started"),
        Ending.TIMED_OUT: ("timeout", f"no end after {timeout:g} s; the session was ended"),
        Ending.LOST: ("workspace", LOST),
    }
    kind, message = troubles.get(capture.ending, ("", ""))
    return Trouble(kind=kind, message=message) if kind else None


def _judged(
    services: Services,
    execution: Execution,
    workspace: Workspace,
    leaks: SecretScan,
    held: tuple[SessionReport | None, Trouble | None, str],
    begins: Step,
) -> Judgement:
    report, trouble, keep = held
    if services.cancelled:
        return CANCELLED_JUDGEMENT
    folder = leaks.folder
    try:
        changes = workspace.changes()
    except OSError as error:
        return trouble_judgement(Trouble(kind="workspace", message=f"the workspace cannot be read: {error}"))
    saved = save_changes(workspace, changes, folder / "changes") if keep != "none" else SavedChanges(complete=False)
    complete = saved.complete and leaks.in_changes(changes, workspace)
    links = {"links": dict(saved.links)} if saved.links else {}
    summary = {"path": "workspace", **to_json(changes), **links, "complete": complete}
    leaks.in_artifact("workspace.json", json.dumps(summary))
    if report:
        leaks.in_artifact("report.json", json.dumps(to_json(report)))
    context = SessionAssertionContext(services, execution, workspace, folder, begins)
    context.report = report
    if hooks.workspace_spec(execution).judge_after_hooks:
        context.file_changes()  # of the agent alone
        hooks.run_hooks_after_agent(services, execution, workspace, folder)
    try:
        judgement = judge(execution.case, context, trouble)
    except OSError as error:
        judgement = trouble_judgement(Trouble(kind="workspace", message=f"the session could not be judged: {error}"))
    judgement = CANCELLED_JUDGEMENT if services.cancelled else judgement
    return judgement if judgement.cost_usd == context.cost_usd else replace(judgement, cost_usd=context.cost_usd)
