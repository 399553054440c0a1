"""One session, from an empty directory to a judgement.

prepare the workspace -> run the agent -> normalise its output -> judge -> clean up. Trouble on the way is a value.
"""

from __future__ import annotations

import json
import re
import shlex
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from skillgym_action.agents import AGENTS, agent_named
from skillgym_action.agents.accounts import LOGIN_PAGE, settings_with_account
from skillgym_action.agents.output.agent_output import total, total_usage
from skillgym_action.model.arm_cases import assertion_results
from skillgym_action.model.errors import OutputError
from skillgym_action.model.json_codec import to_json
from skillgym_action.model.records import record
from skillgym_action.model.result import Attempt, Result, SessionResult
from skillgym_action.model.session import (
    NEVER_RAN,
    NO_CASE_SETTINGS,
    PARTIAL,
    PARTIAL_REPORT,
    REPORT,
    Session,
    SessionPlaces,
)
from skillgym_action.model.session_report import Cost, ObservedFiles, SessionReport, Trouble, Usage
from skillgym_action.model.verdicts import GREEN, TROUBLES
from skillgym_action.sessions import hooks
from skillgym_action.sessions.assertion_context import (
    SessionAssertionContext,
    SuiteClassifier,
    runner_ref,
    without_place,
)
from skillgym_action.sessions.environment import environment_findings, server_trouble
from skillgym_action.sessions.follow_up import FollowUpRecord, follow_ups, store_follow_up
from skillgym_action.sessions.hooks import is_of_skill
from skillgym_action.sessions.judge import (
    CANCELLED_JUDGEMENT,
    judge,
    trouble_judgement,
    with_refused_connections,
    with_suite_failure_class,
)
from skillgym_action.sessions.secret_scan import CHANGES_FOLDER, SecretScan
from skillgym_action.sessions.session_limits import (
    SessionLimits,
    TriggerWatch,
    answered,
    over_budget,
    total_cost,
    trouble_of_session,
)
from skillgym_action.sessions.session_reports import AgentOutput
from skillgym_action.sessions.session_texts import Reports
from skillgym_action.system.files.removal import remove_path
from skillgym_action.system.processes.outputs import OutputFile
from skillgym_action.text.escaping import clipped, terminal_line
from skillgym_action.text.words import duration
from skillgym_action.workspaces.archive import SavedChanges, archive_workspace, save_changes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from skillgym_action.agents import Agent
    from skillgym_action.model.arm import Arm, OverlayFile
    from skillgym_action.model.containers import RefusedConnection
    from skillgym_action.model.execution import Execution
    from skillgym_action.model.judgement import Judgement
    from skillgym_action.model.session import Capture, Invocation
    from skillgym_action.model.suite import CaseConversation
    from skillgym_action.services import Services
    from skillgym_action.settings.settings import ExecuteOptions
    from skillgym_action.workspaces.workspace import Changes, SessionWorkspace

MIN_TURN_SECONDS = 1.0  # for a turn of a conversation, whatever the turns before it have left of the session's time
MAX_LOG_COMMAND_CHARACTERS = 2_000  # of one command line in a verbose log
MAX_STORED_DIFF_CHARACTERS = 1024 * 1024  # of the diff of a session's workspace; the middle of a longer one is cut out
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


@record
class _AgentRun:
    """What the agent did. ``records``: copies of the CLI's own records of the session.

    ``cost``: of a session without a report.
    """

    reports: Reports | None = None
    trouble: Trouble | None = None
    records: tuple[Path, ...] = ()
    cost: Cost = Cost()

    @property
    def report(self) -> SessionReport | None:
        """Without secrets."""
        return self.reports.clean if self.reports else None

    @property
    def is_partial(self) -> bool:
        """Whether the report has only a part of the session."""
        return self.trouble is not None and TROUBLES[self.trouble.kind].is_partial


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
            cost = agent_run.report.cost if agent_run.report else agent_run.cost
        if judgement.failure:
            self._services.directory.write(self._folder / "error.json", json.dumps(to_json(judgement.failure)))
        reported = agent_run.report.duration_ms if agent_run.report else None
        elapsed = round((self._services.clock.seconds() - began) * 1000)
        attempt = self._attempt(judgement, elapsed if reported is None else reported)
        result = replace(
            execution_result(self._execution, judgement, agent_run.report),
            duration_ms=attempt.duration_ms,
            cost=total_cost(cost, judgement.cost_usd),
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
            held=assertion_results(judgement) if self._execution.arm else (),
            score=judgement.score,
        )

    def _judge_unprepared(self, error: hooks.NotPreparedError) -> Judgement:
        if error.workspace:
            self._clean_up(error.workspace, archived=self._options.keep == "all")
        classifier = SuiteClassifier(self._services, self._execution, self._directory)
        judgement = with_suite_failure_class(self._execution.case, classifier, trouble_judgement(error.trouble))
        return CANCELLED_JUDGEMENT if self._services.cancelled else judgement

    def _run_in(self, workspace: SessionWorkspace) -> tuple[_AgentRun, Judgement]:
        """Everything that happens in a prepared workspace, which is removed at the end."""
        services, execution = self._services, self._execution
        context = SessionAssertionContext(services, execution, workspace, self._directory, self._before_judging)
        home = self._services.workspaces.new_records_folder()
        agent_run = self._run_agent(workspace, home, context)
        if agent_run.report and agent_run.trouble is None and (over := over_budget(agent_run.report.cost, execution)):
            reports = agent_run.reports and agent_run.reports.changed(partial(replace, trouble=over))
            agent_run = replace(agent_run, reports=reports, trouble=over)
        judgement = self._judge(workspace, agent_run, context)
        judgement = with_refused_connections(judgement, self._refused(workspace))
        hooks.run_hooks_after_session(self._services, self._execution, workspace, self._folder)
        questions = follow_ups(judgement) if agent_run.report else ()
        if agent_run.report and questions:
            record = FollowUpRecord(questions, agent_run.report, home, agent_run.records, self._archive)
            store_follow_up(self._services, self._execution, workspace, self._folder, record)
        if agent_run.records:
            remove_path(home)
        archived = _is_archived(self._options.keep, judgement, asked=bool(questions))
        self._clean_up(workspace, archived=archived, asked=bool(questions))
        return agent_run, judgement

    # --- the agent ----------------------------------------------------------------------------------

    def _run_agent(self, workspace: SessionWorkspace, home: Path, context: SessionAssertionContext) -> _AgentRun:
        """Run the agent, in a conversation once for each turn. ``home``: where copies of its records are stored."""
        session, conversation = self._session(workspace), self._execution.case.conversation
        if conversation is None or AGENTS[self._execution.runner.agent.type].replays_changes:
            return self._run_turn(workspace, home, session)
        remaining = session.timeout
        turns: list[Reports] = []
        for number in range(1, len(conversation.turns) + 1):
            turn = replace(
                session,
                prompt=next_prompt(conversation, [turn.clean.final_output for turn in turns]),
                case_id=f"{session.case_id}/turn-{number}",
                timeout=max(MIN_TURN_SECONDS, remaining),
                turn=number,
            )
            remove_path(home)
            began = self._services.clock.seconds()
            agent_run = self._run_turn(workspace, home, turn)
            remaining -= self._services.clock.seconds() - began
            if agent_run.reports is None:
                return agent_run
            turns.append(agent_run.reports)
            if agent_run.trouble or self._services.cancelled or number == len(conversation.turns):
                break
            context.texts.reports = combined_reports(turns)
            try:
                goes_on = conversation.judge is None or context.judge_turn(conversation.judge)
            except OSError as error:
                message = f"turn {number} could not be judged: {error}"
                return _AgentRun(trouble=Trouble(kind="workspace", message=message))
            if not goes_on:
                break
        return replace(agent_run, reports=combined_reports(turns))

    def _run_turn(self, workspace: SessionWorkspace, home: Path, session: Session) -> _AgentRun:
        """Run the agent for one prompt and read its output."""
        agent_type = self._execution.runner.agent.type
        agent, prefix = agent_named(agent_type), f"turn-{session.turn}." if session.turn > 1 else ""
        info = AGENTS[agent_type]
        watched = info.streams or self._execution.runner.agent.output == "events"
        limits = self._limits(agent, session) if watched else None
        began = self._services.clock.now()
        stdout, stderr = self._folder / f"{prefix}stdout.log", self._folder / f"{prefix}stderr.log"
        try:
            invocation = self._with_files(workspace, session, self._confined(agent.invocation(session), workspace))
            if redirected := self._redirected(workspace, invocation):
                return _AgentRun(trouble=redirected, cost=Cost() if session.turn > 1 else NO_COST)
            self._log_command(invocation)
            capture = self._captured(workspace, invocation, (stdout, stderr), limits)
        except (OSError, HomeConflictError) as error:
            what = "cannot write the agent's files: " if isinstance(error, OSError) else ""
            return _AgentRun(trouble=Trouble(kind="workspace", message=f"{what}{error}"))
        self._log_ending(capture)
        silence = limits.silence() if limits and info.streams else None
        output = AgentOutput(agent=agent, session=session, runner=runner_ref(self._execution), began=began)
        records: tuple[Path, ...] = ()
        try:
            try:
                workspace.restore_folders()
                records = workspace.collect(invocation.collect, home)
                if records:
                    capture = replace(capture, collected=tuple(map(OutputFile, records)))
                transcript, raw = output.read(capture)
            finally:
                # Before a message quotes the output: the secret scan could not recognise a key that was cut off.
                has_secret = self._secrets.scan_output(records, prefix)
            transcript, report = output.read(capture) if has_secret else (transcript, raw)
            reports = Reports(self._secrets.scan_report(report), raw)
            if capture.ending in NEVER_RAN:
                reports = reports.changed(partial(replace, cost=NO_COST))
            of_agent = agent.trouble(capture, transcript)
            trouble = trouble_of_session(of_agent, capture, transcript, silence, self._execution.timeout)
            self._secrets.add(environment_findings(self._execution, transcript, capture.ending, f"{prefix}stdout.log"))
            trouble = trouble or server_trouble(self._execution, transcript, self._services.suites)
        except OutputError:
            raise
        except OSError as error:
            return _AgentRun(trouble=Trouble(kind="workspace", message=f"cannot read the session's output: {error}"))
        except Exception as error:  # noqa: BLE001 -- an adapter that fails on some output must not end the run
            return _AgentRun(trouble=Trouble(kind="normalization", message=f"{type(error).__name__}: {error}"))
        if watched and is_of_skill(self._execution):
            names, end = workspace.installed.names, answered(capture.stopped_for)
            reports = reports.changed(partial(replace, watched_skills=names, answered=end))
        reports = reports.changed(partial(replace, trouble=trouble, raw_artifacts=_raw_artifacts(self._folder)))
        return _AgentRun(reports=reports, trouble=trouble, records=records)

    def _with_files(self, workspace: SessionWorkspace, session: Session, invocation: Invocation) -> Invocation:
        """The invocation, whose files are written. Raises OSError, HomeConflictError."""
        arm = self._execution.arm
        if session.turn <= 1:
            write_home(workspace, arm, invocation.files)
        workspace.write(with_arm_settings(invocation.files, workspace.places.home, arm))
        if AGENTS[session.agent.type].replays:
            return invocation
        return replace(invocation, argv=workspace.reachable(invocation.argv, self._services.suites.root))

    def _redirected(self, workspace: SessionWorkspace, invocation: Invocation) -> Trouble | None:
        """That the caller's login would be used beside settings that may send it to another service.

        Such settings may be of another commit than the checkout's, of the suite, or of a command before the agent.
        """
        agent, root = self._execution.agent, self._services.repository.root
        if agent.account.way != "login":
            return None
        above = [folder for folder in workspace.path.parents if folder.is_relative_to(root)]
        found = settings_with_account(agent.type, (workspace.path, *above, workspace.home))
        file = next((file for file in found if file not in invocation.files), None)
        if file is None:
            return None
        place = "home of the session" if file.is_relative_to(workspace.home) else "workspace"
        why = f"{file.parent.name}/{file.name} in the {place} may name another account or service"
        return Trouble(kind="auth", message=f"the login of {agent.type} is not used: {why}; see {LOGIN_PAGE}")

    def _captured(
        self, workspace: SessionWorkspace, invocation: Invocation, logs: tuple[Path, Path], limits: SessionLimits | None
    ) -> Capture:
        """Run the agent where the session's programs run; a program of the tool that stands in for it runs here."""
        stdout, stderr = logs
        agent = self._execution.agent
        if not AGENTS[agent.type].replays:
            programs = workspace.programs or self._services.processes
            with self._services.installs.logins.turn(agent.account, invocation.timeout):
                return programs.run(invocation, stdout=stdout, stderr=stderr, watch=limits)
        with workspace.changed_by_tool():
            return self._services.processes.run(invocation, stdout=stdout, stderr=stderr, watch=limits)

    def _limits(self, agent: Agent, session: Session) -> SessionLimits:
        """What may stop the session: a limit, or that its trigger query is answered."""
        rule, reading = self._execution.case.trigger, agent.event_reader(session)
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
        with workspace.looking():
            try:
                changes = workspace.changes()
            except OSError as error:
                trouble = Trouble(kind="workspace", message=f"the workspace cannot be read: {error}")
                return CANCELLED_JUDGEMENT if self._services.cancelled else trouble_judgement(trouble)
            self._store_changes(workspace, changes)
        if agent_run.report:
            self._store_report(agent_run.report, is_partial=agent_run.is_partial)
        context.partial = agent_run.report
        context.texts.reports = None if agent_run.is_partial else agent_run.reports
        try:
            if hooks.workspace_spec(self._execution).judge_after_hooks:
                context.file_changes()  # computed now, so that it has the agent's changes only
                hooks.run_hooks_after_agent(self._services, self._execution, workspace, self._folder)
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

    def _store_report(self, report: SessionReport, *, is_partial: bool) -> None:
        """Write the session report; one that has only a part of the session has another name, and says so."""
        content = to_json(report)
        name, content = (PARTIAL_REPORT, {PARTIAL: True, **content}) if is_partial else (REPORT, content)
        self._services.directory.write(self._folder / name, json.dumps(content))
        self._secrets.report_stored(name)

    def _store_changes(self, workspace: SessionWorkspace, changes: Changes) -> None:
        """Copy changed files to the artifacts, and list them in ``workspace.json``; the rest of many is counted."""
        saved = SavedChanges(complete=False)
        if self._options.keep != "none":
            saved = save_changes(workspace, changes, self._folder / CHANGES_FOLDER)
        complete = self._secrets.scan_changes(changes, workspace, stored=saved.complete)
        self._store_diff(workspace, changes)
        links = {"links": dict(saved.links)} if saved.links else {}
        listed, left_out = changes.listed()
        more = {"leftOut": left_out} if left_out else {}
        complete = complete and not left_out
        summary = {"path": "workspace", **to_json(listed), **more, **links, "complete": complete}
        self._secrets.write_scanned("workspace.json", json.dumps(summary))

    def _store_diff(self, workspace: SessionWorkspace, changes: Changes) -> None:
        """Write the changes as a diff. Keys in it are no findings: lines around a change were there before."""
        if self._options.keep == "none":
            return
        directory = self._services.directory
        with suppress(OSError):
            if diff := workspace.diff(changes, directory.redactor.text):
                directory.write(self._folder / "changes.diff", clipped(diff, MAX_STORED_DIFF_CHARACTERS))

    def _refused(self, workspace: SessionWorkspace) -> tuple[RefusedConnection, ...]:
        """The connections that the network of the container refused, which are stored."""
        refused = () if self._services.cancelled else workspace.refused_connections()
        if refused:
            self._secrets.write_scanned("network.json", json.dumps({"refused": [to_json(each) for each in refused]}))
        return refused

    # --- cleanup ------------------------------------------------------------------------------------

    def _clean_up(self, workspace: SessionWorkspace, *, archived: bool, asked: bool = False) -> None:
        """Remove the workspace, unless it is a folder of the user's; if ``archived``, copy it to the artifacts first.

        ``asked``: `explain` may ask the agent about it, which needs all of it.

        Once the run is cancelled nothing is done: workspaces are removed after everything has been reported.
        """
        if self._services.cancelled:
            return
        if archived and workspace.is_own:
            try:
                with workspace.looking():
                    archive_workspace(workspace, self._services.directory, self._archive, any_size=asked)
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
        metadata=execution.case.metadata,
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


def _is_archived(keep: str, judgement: Judgement, *, asked: bool) -> bool:
    """Whether to archive the workspace: if the options say so, or `explain` may ask the agent about it."""
    return keep != "none" and (asked or (keep == "all" and judgement.status not in GREEN))


def _raw_artifacts(folder: Path) -> dict[str, str]:
    """The agent's stored output: name in the session report -> file beside it."""
    names = {"stdoutPath": "stdout.log", "stderrPath": "stderr.log", "sessionPath": "session.jsonl"}
    return {key: name for key, name in names.items() if (folder / name).exists()}


# --- the home folder of an arm ------------------------------------------------------------------------

_FIRST_TABLE = re.compile(r"^[ \t]*\[", re.MULTILINE)


class HomeConflictError(Exception):
    """A file of the arm does not go together with the one that the tool writes; the message says why."""


def write_home(workspace: SessionWorkspace, arm: Arm | None, own: Mapping[Path, str]) -> None:
    """Write the files of the arm into the session's home, but those that the tool writes (``own``). Raises OSError."""
    for file in arm.home if arm else ():
        if workspace.places.home / file.path not in own:
            workspace.write_home(file.path, file.content, file.mode)


def with_arm_settings(own: Mapping[Path, str], home: Path, arm: Arm | None) -> Mapping[Path, str]:
    """The files that the tool writes, with what the arm adds to them. Raises HomeConflictError.

    A file that both write, such as ``.codex/config.toml`` with an MCP server, has the settings of both.
    """
    added = {home / file.path: file for file in arm.home} if arm else {}
    if arm is None or added.keys().isdisjoint(own):
        return own
    return {path: _merged(text, added[path], arm) if path in added else text for path, text in own.items()}


def _merged(own: str, file: OverlayFile, arm: Arm) -> str:
    where = f"arms.{arm.name}.home: {file.path}"
    try:
        text = file.content.decode()
        if file.path.endswith(".json"):
            return json.dumps(_united(json.loads(own), json.loads(text), ()))
        if file.path.endswith(".toml"):
            return _toml(own, text)
    except _SetTwiceError as error:
        raise HomeConflictError(f"{where} sets {error}, which skillgym-action sets itself; leave it out") from error
    except (ValueError, RecursionError) as error:
        message = f"{where} cannot be joined with the settings that skillgym-action writes: {error}"
        raise HomeConflictError(message) from error
    raise HomeConflictError(f"{where} is written by skillgym-action itself; leave it out")


class _SetTwiceError(Exception):
    """The key is set to different values."""


def _united(own: Any, added: Any, at: tuple[str, ...]) -> Any:
    """Both values: mappings key by key, lists one after the other. Raises _SetTwiceError."""
    if isinstance(own, dict) and isinstance(added, dict):
        both = {key: _united(own[key], added[key], (*at, key)) for key in own if key in added}
        return {**own, **added, **both}
    if isinstance(own, list) and isinstance(added, list):
        return [*own, *(item for item in added if item not in own)]
    if own != added:
        raise _SetTwiceError(".".join(at) or "another value")
    return own


def _toml(own: str, added: str) -> str:
    """Both texts: keys of the arm that are in no table come before the first table.

    Raises TOMLDecodeError, _SetTwiceError; ValueError if the joined text would say something else than both.
    """
    import tomllib

    both = _united(tomllib.loads(own), tomllib.loads(added), ())
    first = _FIRST_TABLE.search(added)
    keys, tables = (added[: first.start()], added[first.start() :]) if first else (added, "")
    text = f"{keys.rstrip()}\n{own.rstrip()}\n\n{tables}" if keys.strip() else f"{own.rstrip()}\n\n{tables}"
    if tomllib.loads(text) != both:  # a line of a text of several lines may look like the beginning of a table
        raise ValueError("a line that begins with [ is in a text of several lines")
    return text


# --- conversations ------------------------------------------------------------------------------------

T = TypeVar("T")


def next_prompt(conversation: CaseConversation, replies: Sequence[str]) -> str:
    """The prompt of the turn after ``replies``. Roles are marked if more than one message has text.

    It repeats what was said.
    """
    messages = [one for one in conversation.shown(replies, len(replies) + 1) if one[1].strip()]
    if len(messages) == 1:
        return messages[0][1].strip()
    return "\n\n".join(f"@[{role.capitalize()}]:\n{text}" for role, text in messages)


def combined(reports: Sequence[SessionReport]) -> SessionReport:
    """One report of the turns' reports, which it contains."""
    first, last = reports[0], reports[-1]
    usage = total_usage(report.usage for report in reports)
    return replace(
        last,
        prompt=first.prompt,
        usage=replace(
            usage,
            total_tokens=total(report.usage.total_tokens for report in reports),
            **{name: sum(getattr(one.usage, name) for one in reports) for name in _CHARACTERS},
        ),
        files=ObservedFiles(
            observed_reads=_once_each(report.files.observed_reads for report in reports),
            observed_skill_reads=_once_each(report.files.observed_skill_reads for report in reports),
        ),
        detected_skills=_once_each(report.detected_skills for report in reports),
        events=tuple(event for report in reports for event in report.events),
        started_at=first.started_at,
        duration_ms=total(report.duration_ms for report in reports),
        cost=_cost([report.cost for report in reports]),
        turns=total(report.turns for report in reports),
        exchanges=tuple(reports),
        dropped_events=total(report.dropped_events for report in reports),
    )


def combined_reports(turns: Sequence[Reports]) -> Reports:
    """The reports of a conversation, from those of its turns."""
    clean = combined([turn.clean for turn in turns])
    has_secret = any(turn.raw is not turn.clean for turn in turns)
    return Reports(clean, combined([turn.raw for turn in turns]) if has_secret else clean)


_CHARACTERS = ("input_chars", "output_chars", "reasoning_chars")


def _once_each(groups: Iterable[Iterable[T]]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(one for group in groups for one in group))


def _cost(costs: Sequence[Cost]) -> Cost:
    """The sum; unknown if one of them is."""
    amounts = [cost.usd for cost in costs]
    if None in amounts:
        return Cost()
    return Cost(usd=sum(usd or 0.0 for usd in amounts), source=costs[-1].source)
