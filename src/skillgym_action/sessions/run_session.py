"""One session, from an empty directory to a judgement.

prepare the workspace -> run the agent -> normalise its output -> judge -> clean up. Trouble on the way is a value.
"""

from __future__ import annotations

import json
import shlex
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from skillgym_action.agents import AGENTS, agent_named
from skillgym_action.clock import iso_timestamp
from skillgym_action.filesystem.removal import remove_path
from skillgym_action.limits import MAX_LOG_COMMAND_CHARACTERS, MAX_STORED_DIFF_CHARACTERS, MIN_TURN_SECONDS
from skillgym_action.model.arm import held_assertions
from skillgym_action.model.errors import OutputError
from skillgym_action.model.json_codec import to_json
from skillgym_action.model.result import Attempt, Judgement, Result, SessionResult
from skillgym_action.model.session import NEVER_RAN, NO_CASE_SETTINGS, Ending, Session, SessionPlaces
from skillgym_action.model.session_report import Cost, SessionReport, Trouble, Usage
from skillgym_action.model.verdicts import GREEN
from skillgym_action.processes.outputs import OutputFile
from skillgym_action.reporters.wording import duration
from skillgym_action.sessions import hooks
from skillgym_action.sessions.arm_home import HomeConflictError, with_arm_settings, write_home
from skillgym_action.sessions.assertion_context import (
    SessionAssertionContext,
    SuiteClassifier,
    runner_ref,
    without_place,
)
from skillgym_action.sessions.conversation import combined, next_prompt
from skillgym_action.sessions.follow_up import FollowUpRecord, follow_ups, store_follow_up
from skillgym_action.sessions.hooks import is_of_skill
from skillgym_action.sessions.judge import CANCELLED_JUDGEMENT, judge, trouble_judgement, with_suite_failure_class
from skillgym_action.sessions.normalise import normalise
from skillgym_action.sessions.secret_scan import CHANGES_FOLDER, SecretScan
from skillgym_action.sessions.session_limits import SessionLimits, time_limit_or_service
from skillgym_action.sessions.trigger_watch import TriggerWatch, answered
from skillgym_action.text.escaping import clipped, terminal_line
from skillgym_action.transcripts.trouble_signs import trouble_of_signal
from skillgym_action.workspaces.archive import SavedChanges, save_changes, save_workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from skillgym_action.agents import Agent
    from skillgym_action.model.containers import RefusedConnection
    from skillgym_action.model.execution import Execution
    from skillgym_action.model.session import Capture, Invocation
    from skillgym_action.services import Services
    from skillgym_action.settings.options import ExecuteOptions
    from skillgym_action.workspaces.changes import Changes
    from skillgym_action.workspaces.workspace import SessionWorkspace

SUPERVISOR_LOST = "the supervisor of the session's programs was killed, so it is unknown how they ended"
MAX_LISTED_CONNECTIONS = 3
NO_COST = Cost(usd=0.0, source="computed")


def run_session(
    services: Services,
    execution: Execution,
    repetition: int,
    number: int,
    options: ExecuteOptions,
    before_judging: Callable[[], None] = lambda: None,
) -> SessionResult:
    """Run one session and judge it. ``number`` counts the sessions of the repetition from 1.

    ``before_judging`` is called before the first command, grader or check of the judgement runs.
    """
    return _SessionRun(services, execution, (repetition, number), options, before_judging).run()


@dataclass(frozen=True, kw_only=True, slots=True)
class _AgentRun:
    """What the agent did. ``records``: copies of the CLI's own records of the session."""

    report: SessionReport | None = None
    trouble: Trouble | None = None
    records: tuple[Path, ...] = ()


class _SessionRun:
    """The steps of one session, whose artifacts are in ``_folder``."""

    def __init__(
        self,
        services: Services,
        execution: Execution,
        position: tuple[int, int],
        options: ExecuteOptions,
        before_judging: Callable[[], None],
    ) -> None:
        self._services, self._execution, self._options = services, execution, options
        self._repetition, self._number = position
        self._before_judging = before_judging
        name = f"{execution.directory}/repeat-{self._repetition}"
        self._directory = f"{name}/session-{self._number}" if self._number > 1 else name
        self._archive = f"workspaces/{name}-session-{self._number}" if self._number > 1 else f"workspaces/{name}"
        self._folder = services.directory.folder(self._directory)
        services.directory.clear(self._archive)
        self._secrets = SecretScan(services.directory, self._folder, execution.case.prompt)

    def run(self) -> SessionResult:
        """Run all steps."""
        began = self._services.clock.seconds()
        try:
            workspace = hooks.prepare_workspace(self._services, self._execution, self._folder)
        except hooks.NotPreparedError as error:
            agent_run, cost = _AgentRun(trouble=error.trouble), NO_COST
            judgement = self._judge_unprepared(error)
        else:
            agent_run, judgement = self._run_in(workspace)
            cost = agent_run.report.cost if agent_run.report else Cost()
        if judgement.failure:
            self._secrets.write("error.json", json.dumps(to_json(judgement.failure)))
        reported = agent_run.report.duration_ms if agent_run.report else None
        elapsed = round((self._services.clock.seconds() - began) * 1000)
        attempt = self._attempt(judgement, elapsed if reported is None else reported)
        result = replace(
            execution_result(self._execution, judgement, agent_run.report),
            duration_ms=attempt.duration_ms,
            cost=_total_cost(cost, judgement.cost_usd),
            attempts=(attempt,),
            directory=self._directory,
            findings=self._secrets.findings,
        )
        trouble = self._services.directory.redactor.redacted(agent_run.trouble)
        return SessionResult(result=self._secrets.redacted(result), agent_cost=cost, trouble=trouble)

    def _attempt(self, judgement: Judgement, duration_ms: int) -> Attempt:
        return Attempt(
            repetition=self._repetition,
            session=self._number,
            status=judgement.status,
            duration_ms=duration_ms,
            directory=self._directory,
            failure_class=judgement.failure_class,
            message=judgement.failure.message if judgement.failure else None,
            held=held_assertions(judgement) if self._execution.arm else (),
            score=judgement.score,
        )

    def _judge_unprepared(self, error: hooks.NotPreparedError) -> Judgement:
        if error.workspace:
            self._clean_up(error.workspace, archived=self._options.keep == "all")
        classifier = SuiteClassifier(self._services, self._execution)
        judgement = with_suite_failure_class(self._execution.case, classifier, trouble_judgement(error.trouble))
        return CANCELLED_JUDGEMENT if self._services.cancelled else judgement

    def _run_in(self, workspace: SessionWorkspace) -> tuple[_AgentRun, Judgement]:
        """Everything that happens in a prepared workspace, which is removed at the end."""
        services, execution = self._services, self._execution
        context = SessionAssertionContext(services, execution, workspace, self._folder, self._before_judging)
        home = self._services.workspaces.new_records_folder()
        agent_run = self._run_agent(workspace, home, context)
        judgement = self._judge(workspace, agent_run, context)
        judgement = with_refused_connections(judgement, self._refused(workspace))
        hooks.run_hooks_after_session(self._services, self._execution, workspace, self._folder)
        questions = follow_ups(judgement) if agent_run.report else ()
        if agent_run.report and questions:
            record = FollowUpRecord(questions, agent_run.report, home, agent_run.records, self._archive)
            store_follow_up(self._services, self._execution, workspace, self._folder, record)
        if agent_run.records:
            remove_path(home)
        self._clean_up(workspace, archived=_is_archived(self._options.keep, judgement, asked=bool(questions)))
        return agent_run, judgement

    # --- the agent ----------------------------------------------------------------------------------

    def _run_agent(self, workspace: SessionWorkspace, home: Path, context: SessionAssertionContext) -> _AgentRun:
        """Run the agent, in a conversation once for each turn. ``home``: where copies of its records are stored."""
        session, conversation = self._session(workspace), self._execution.case.conversation
        if conversation is None or AGENTS[self._execution.runner.agent.type].replays_changes:
            return self._run_turn(workspace, home, session)
        remaining = session.timeout
        reports: list[SessionReport] = []
        for number in range(1, len(conversation.turns) + 1):
            turn = replace(
                session,
                prompt=next_prompt(conversation, [report.final_output for report in reports]),
                case_id=f"{session.case_id}/turn-{number}",
                timeout=max(MIN_TURN_SECONDS, remaining),
                turn=number,
            )
            remove_path(home)
            began = self._services.clock.seconds()
            agent_run = self._run_turn(workspace, home, turn)
            remaining -= self._services.clock.seconds() - began
            if agent_run.report is None:
                return agent_run
            reports.append(agent_run.report)
            if agent_run.trouble or self._services.cancelled or number == len(conversation.turns):
                break
            try:
                goes_on = conversation.judge is None or context.judge_turn(conversation.judge, combined(reports))
            except OSError as error:
                message = f"turn {number} could not be judged: {error}"
                return _AgentRun(trouble=Trouble(kind="workspace", message=message))
            if not goes_on:
                break
        return replace(agent_run, report=combined(reports))

    def _run_turn(self, workspace: SessionWorkspace, home: Path, session: Session) -> _AgentRun:
        """Run the agent for one prompt and read its output."""
        agent_type = self._execution.runner.agent.type
        agent, prefix = agent_named(agent_type), f"turn-{session.turn}." if session.turn > 1 else ""
        info = AGENTS[agent_type]
        invocation = self._confined(agent.invocation(session), workspace)
        watched = info.streams or self._execution.runner.agent.output == "events"
        limits = self._limits(agent, session) if watched else None
        began = self._services.clock.now()
        stdout, stderr = self._folder / f"{prefix}stdout.log", self._folder / f"{prefix}stderr.log"
        try:
            invocation = self._with_files(workspace, session, invocation)
            self._log_command(invocation)
            capture = self._captured(workspace, invocation, (stdout, stderr), limits)
        except OSError as error:
            return _AgentRun(trouble=Trouble(kind="workspace", message=f"cannot write the agent's files: {error}"))
        except HomeConflictError as error:
            return _AgentRun(trouble=Trouble(kind="workspace", message=str(error)))
        self._log_ending(capture)
        silence = limits.silence() if limits and info.streams else None
        ended = began + timedelta(seconds=capture.seconds)
        runner, started_at, ended_at = runner_ref(self._execution), iso_timestamp(began), iso_timestamp(ended)
        records: tuple[Path, ...] = ()
        try:
            try:
                workspace.restore_folders()
                records = workspace.collect(invocation.collect, home)
                if records:
                    capture = replace(capture, collected=tuple(map(OutputFile, records)))
                transcript = agent.transcript(capture, session)
                report = normalise(transcript, capture, session, runner, started_at=started_at, ended_at=ended_at)
            finally:
                # Before a message quotes the output: the secret scan could not recognise a key that was cut off.
                self._secrets.scan_output((path for path in records if path.suffix == ".jsonl"), prefix)
            if capture.ending in NEVER_RAN:
                report = replace(report, cost=NO_COST)
            trouble = _trouble(capture, self._execution.timeout, agent.trouble(capture, transcript))
            trouble = trouble and time_limit_or_service(trouble, silence, capture.seconds, transcript.events)
        except OutputError:
            raise
        except OSError as error:
            message = f"cannot read the session's output: {error}"
            return _AgentRun(trouble=Trouble(kind="workspace", message=message))
        except Exception as error:  # noqa: BLE001 -- an adapter that fails on some output must not end the run
            return _AgentRun(trouble=Trouble(kind="normalization", message=f"{type(error).__name__}: {error}"))
        if watched and is_of_skill(self._execution):
            report = replace(report, watched_skills=workspace.installed.names, answered=answered(capture.stopped_for))
        report = replace(report, trouble=trouble, raw_artifacts=_raw_artifacts(self._folder))
        return _AgentRun(report=report, trouble=trouble, records=records)

    def _with_files(self, workspace: SessionWorkspace, session: Session, invocation: Invocation) -> Invocation:
        """The invocation, whose files are written. Raises OSError, HomeConflictError."""
        arm = self._execution.arm
        if session.turn <= 1:
            write_home(workspace, arm, invocation.files)
        workspace.write(with_arm_settings(invocation.files, workspace.places.home, arm))
        if AGENTS[session.agent.type].replays:
            return invocation
        return replace(invocation, argv=workspace.reachable(invocation.argv, self._services.suites.root))

    def _captured(
        self, workspace: SessionWorkspace, invocation: Invocation, logs: tuple[Path, Path], limits: SessionLimits | None
    ) -> Capture:
        """Run the agent where the session's programs run; a program of the tool that stands in for it runs here."""
        stdout, stderr = logs
        if not AGENTS[self._execution.runner.agent.type].replays:
            programs = workspace.programs or self._services.processes
            return programs.run(invocation, stdout=stdout, stderr=stderr, watch=limits)
        with workspace.changed_by_tool():
            return self._services.processes.run(invocation, stdout=stdout, stderr=stderr, watch=limits)

    def _limits(self, agent: Agent, session: Session) -> SessionLimits:
        """What may stop the session: a limit, or that its trigger query is answered."""
        rule, reading = self._execution.case.trigger, agent.reading(session)
        trigger = TriggerWatch(rule, reading, str(session.workspace)) if rule and reading else None
        return SessionLimits(agent, session, trigger=trigger)

    def _log_ending(self, capture: Capture) -> None:
        code = "" if capture.exit_code is None else f" with {capture.exit_code}"
        after = duration(round(capture.seconds * 1000))
        self._services.observer.detail(f"{self._name()} {capture.ending}{code} after {after}")

    def _log_command(self, invocation: Invocation) -> None:
        """Log the command line of the agent; secrets are replaced before it is cut off."""
        redacted = self._services.directory.redactor.text
        command = redacted(shlex.join(map(redacted, invocation.argv)))  # each word first: quotes change a secret
        shown = clipped(command.replace("\n", " "), MAX_LOG_COMMAND_CHARACTERS)
        self._services.observer.detail(f"{self._name()} $ {shown}")

    def _name(self) -> str:
        execution = self._execution
        retry = f", retry {self._number - 1}" if self._number > 1 else ""
        return f"{execution.title} repetition {self._repetition}{retry}:"

    def _session(self, workspace: SessionWorkspace) -> Session:
        execution = self._execution
        suite, case, runner = execution.directory.split("/")
        agent, places = execution.agent, workspace.places
        if AGENTS[execution.runner.agent.type].replays:
            places = SessionPlaces(workspace=workspace.path, home=workspace.home, scratch=workspace.scratch)
        return Session(
            agent=replace(agent, model=execution.model, command=workspace.command or agent.command),
            prompt=execution.case.prompt,
            case_id=execution.case.id,
            key=(suite, case, runner, f"repeat-{self._repetition}"),
            workspace=places.workspace,
            home=places.home,
            scratch=places.scratch,
            timeout=execution.timeout,
            max_steps=self._options.max_steps or execution.case.max_steps,
            budget=execution.budget,
            files=execution.case.files,
            turns=execution.case.conversation.turns if execution.case.conversation else (),
            root=self._services.suites.root,
            prices=self._services.prices,
            settings=execution.case.agent or NO_CASE_SETTINGS,
            plugins=tuple(places.workspace / path for path in workspace.installed.plugins),
        )

    def _confined(self, invocation: Invocation, workspace: SessionWorkspace) -> Invocation:
        """The adapter's invocation, with the environment, user and limits of the session."""
        agent = self._execution.agent
        info = AGENTS[agent.type]
        skill = workspace.installed.paths[:1] if info.skills_variable else ()
        installed = {str(info.skills_variable): str(workspace.places.workspace / path) for path in skill}
        of_case = self._execution.case.agent.env if self._execution.case.agent else ()
        return replace(
            invocation,
            env={**workspace.agent_env(), **installed, **dict(of_case), **agent.env, **invocation.env},
            identity=workspace.suite_identity if info.replays else workspace.identity,
            limits=self._execution.limits,
            folders=workspace.folders,
        )

    # --- the judgement ------------------------------------------------------------------------------

    def _judge(self, workspace: SessionWorkspace, agent_run: _AgentRun, context: SessionAssertionContext) -> Judgement:
        """Store what the agent changed and did, then evaluate the assertions."""
        if self._services.cancelled:
            return CANCELLED_JUDGEMENT
        try:
            changes = workspace.changes()
        except OSError as error:
            return trouble_judgement(Trouble(kind="workspace", message=f"the workspace cannot be read: {error}"))
        self._store_changes(workspace, changes)
        if agent_run.report:
            self._secrets.write_scanned("report.json", json.dumps(to_json(agent_run.report)))
        context.report = agent_run.report
        if hooks.workspace_spec(self._execution).judge_after_hooks:
            context.file_changes()  # computed now, so that it has the agent's changes only
            hooks.run_hooks_after_agent(self._services, self._execution, workspace, self._folder)
        try:
            judgement = judge(self._execution.case, context, agent_run.trouble, self._options.on_limit)
        except OSError as error:
            judgement = trouble_judgement(
                Trouble(kind="workspace", message=f"the session could not be judged: {error}")
            )
        self._secrets.add(context.findings)
        if workspace.is_own:
            judgement = without_place(judgement, workspace.path)
        judgement = CANCELLED_JUDGEMENT if self._services.cancelled else judgement
        return judgement if judgement.cost_usd == context.cost_usd else replace(judgement, cost_usd=context.cost_usd)

    def _store_changes(self, workspace: SessionWorkspace, changes: Changes) -> None:
        """Copy changed files to the artifacts, and list them in ``workspace.json``."""
        saved = SavedChanges(complete=False)
        if self._options.keep != "none":
            saved = save_changes(workspace, changes, self._folder / CHANGES_FOLDER)
        complete = saved.complete and self._secrets.scan_changes(changes, workspace)
        self._store_diff(workspace, changes)
        links = {"links": dict(saved.links)} if saved.links else {}
        summary = {"path": "workspace", **to_json(changes), **links, "complete": complete}
        self._secrets.write_scanned("workspace.json", json.dumps(summary))

    def _store_diff(self, workspace: SessionWorkspace, changes: Changes) -> None:
        """Write the changes as a diff. Keys in it are no findings: lines around a change were there before."""
        if self._options.keep == "none":
            return
        with suppress(OSError):
            if diff := workspace.diff(changes):
                self._secrets.write("changes.diff", clipped(diff, MAX_STORED_DIFF_CHARACTERS))

    def _refused(self, workspace: SessionWorkspace) -> tuple[RefusedConnection, ...]:
        """The connections that the network of the container refused, which are stored."""
        refused = () if self._services.cancelled else workspace.refused_connections()
        if refused:
            self._secrets.write_scanned("network.json", json.dumps({"refused": [to_json(each) for each in refused]}))
        return refused

    # --- cleanup ------------------------------------------------------------------------------------

    def _clean_up(self, workspace: SessionWorkspace, *, archived: bool) -> None:
        """Remove the workspace, unless it is a folder of the user's; if ``archived``, copy it to the artifacts first.

        Once the run is cancelled nothing is done: workspaces are removed after everything has been reported.
        """
        if self._services.cancelled:
            return
        if archived and workspace.is_own:
            try:
                save_workspace(workspace, workspace.changes(), self._services.directory, self._archive)
            except OSError as error:
                message = (
                    f"cannot archive {terminal_line(self._archive)}: {terminal_line(error.strerror or str(error))}"
                )
                self._services.observer.progress(message)
        self._services.workspaces.discard(workspace)


def execution_result(execution: Execution, judgement: Judgement, report: SessionReport | None = None) -> Result:
    """The result of an execution with one session, from its report; without a session, from the execution alone."""
    return Result(
        index=execution.index,
        suite=execution.suite,
        case_id=execution.case.id,
        title=execution.case.title,
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
        arm=execution.arm_name,
    )


def with_refused_connections(judgement: Judgement, refused: Sequence[RefusedConnection]) -> Judgement:
    """The judgement; if the session failed, or could not be judged, its message names what the network refused."""
    if not refused or judgement.failure is None:
        return judgement
    shown = ", ".join(connection.target for connection in refused[:MAX_LISTED_CONNECTIONS])
    more = len(refused) - MAX_LISTED_CONNECTIONS
    also = f"; the container's network refused: {shown}" + (f" and {more} more" if more > 0 else "")
    return replace(judgement, failure=replace(judgement.failure, message=judgement.failure.message + also))


def _trouble(capture: Capture, timeout: float, of_agent: Trouble | None) -> Trouble | None:
    """The trouble of a session: of how it ended, else of its agent; none if it ended since its query was answered."""
    return None if answered(capture.stopped_for) else trouble_of_ending(capture, timeout) or of_agent


def trouble_of_ending(capture: Capture, timeout: float) -> Trouble | None:
    """The trouble that follows from how the process ended, for any agent; None: read the agent's output."""
    if capture.ending is Ending.STOPPED:
        return capture.stopped_for
    if capture.ending is Ending.SIGNALLED:
        return trouble_of_signal(capture.exit_code)
    troubles = {
        Ending.NOT_STARTED: ("agent-missing", capture.error or "the agent did not start"),
        Ending.REFUSED: ("runner-crash", capture.error or "the agent was not started"),
        Ending.TIMED_OUT: ("timeout", f"timed out after {timeout:g} s"),
        Ending.LOST: ("workspace", capture.error or SUPERVISOR_LOST),
    }
    kind, message = troubles.get(capture.ending, ("", ""))
    return Trouble(kind=kind, message=message) if kind else None


def _is_archived(keep: str, judgement: Judgement, *, asked: bool) -> bool:
    """Whether to archive the workspace: if the options say so, or `explain` may ask the agent about it."""
    return keep != "none" and (asked or (keep == "all" and judgement.status not in GREEN))


def _total_cost(agent: Cost, judge_usd: float | None) -> Cost:
    """The cost of agent and judge together; unknown if one of them is."""
    if not judge_usd:
        return Cost() if judge_usd is None else agent
    return agent if agent.usd is None else Cost(usd=agent.usd + judge_usd, source="computed")


def _raw_artifacts(folder: Path) -> dict[str, str]:
    """The agent's stored output: name in the session report -> file beside it."""
    names = {"stdoutPath": "stdout.log", "stderrPath": "stderr.log", "sessionPath": "session.jsonl"}
    return {key: name for key, name in names.items() if (folder / name).exists()}
