"""The command ``explain``: resume a failed session and ask the agent the questions of the assertions that failed."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field

from skillgym_action.agents import AGENTS, agent_named
from skillgym_action.cli.terminal import terminal_for
from skillgym_action.model.errors import Location, UsageError
from skillgym_action.model.execution import Execution, Plan
from skillgym_action.model.exit_codes import ExitCode
from skillgym_action.model.json_codec import camel_case, to_json
from skillgym_action.model.records import record
from skillgym_action.model.session import Session
from skillgym_action.model.suite import BenchmarkCase, BenchmarkSuite
from skillgym_action.pipeline import wiring
from skillgym_action.pipeline.stages.install_agents import install_agents
from skillgym_action.results.journal_file import JOURNAL
from skillgym_action.results.run_files import read_file
from skillgym_action.sessions.assertion_context import runner_ref
from skillgym_action.sessions.follow_up import EXPLAIN, HOME
from skillgym_action.sessions.session_limits import trouble_of_ending
from skillgym_action.sessions.session_reports import normalise
from skillgym_action.settings.runners import configured_runners, unknown_runner
from skillgym_action.settings.slices import InstallAgentsOptions
from skillgym_action.system.clock import iso_timestamp
from skillgym_action.system.processes.outputs import OutputFile
from skillgym_action.text.documents.documents import read_document, validated
from skillgym_action.text.escaping import terminal_line, terminal_text
from skillgym_action.workspaces.archive import restored_session

if TYPE_CHECKING:
    from skillgym_action.model.runner import Runner
    from skillgym_action.model.session_report import Trouble
    from skillgym_action.services import Services
    from skillgym_action.settings.context import LaunchContext
    from skillgym_action.settings.settings import Settings
    from skillgym_action.workspaces.workspace import SessionWorkspace

MAX_EXPLAIN_FILE_BYTES = 4 * 1024 * 1024  # of explain.json
MAX_EXPLAIN_SECONDS = 300.0  # for an answer to a question of `explain`
EXPLANATIONS = "explanations.json"


class _Model(BaseModel):
    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, alias_generator=camel_case, populate_by_name=True
    )


class QuestionSource(_Model):
    """Where a suite has a question."""

    path: str
    line: int | None = None
    column: int | None = None


class ExplainQuestion(_Model):
    """A question that an assertion has for the agent."""

    question: str
    source: QuestionSource | None = None


class QuestionsFile(_Model):
    """The content of ``explain.json``: a session, and the questions of its failed assertions."""

    suite_path: str
    case_id: str
    runner_id: str
    agent_type: str
    model: str | None = None
    cwd: str
    home: str
    workspace: str | None = None
    session_id: str | None = None
    in_container: bool = False
    questions: tuple[ExplainQuestion, ...] = Field(strict=False)


@record
class ExplainAnswer:
    """The answer to a question, or the trouble instead of it. Times are ISO 8601 in UTC."""

    question: ExplainQuestion
    answer: str
    session_id: str
    started_at: str
    ended_at: str
    duration_ms: int
    logs: tuple[str, str]
    trouble: Trouble | None = None


def explain_failures(directory: Path, settings: Settings, context: LaunchContext, *, rerun: bool) -> int:
    """Ask, print and store the answers; 3 if one did not come, else 0. Raises UsageError, ConfigError."""
    context.checkout.refuse(context.cwd / directory, "the folder of the session")
    questions = questions_in(directory, rerun=rerun)
    config = wiring.configuration(settings, context)
    runners = configured_runners(settings.model_copy(update={"runner": (questions.runner_id,)}), config, context)
    if not runners:
        raise unknown_runner(questions.runner_id, config.file.runners or ())
    terminal = terminal_for(settings, context)
    with wiring.services_without_run(context, terminal, settings.agent_user) as services:
        answers = explanations(services, questions, runners[0], directory)
    for answer in answers:
        reply = answer.trouble.message if answer.trouble else answer.answer
        print(context.redactor.text(quoted_reply(answer.question.question, reply)))  # noqa: T201
    return ExitCode.INCONCLUSIVE if any(answer.trouble for answer in answers) else ExitCode.PASSED


def quoted_reply(question: str, reply: str) -> str:
    """The question as a quoted line, the reply below it; escaped, since it is printed in logs of jobs."""
    return "\n".join([f"> {terminal_line(question)}", *map(terminal_text, reply.splitlines()), ""])


def questions_in(directory: Path, *, rerun: bool) -> QuestionsFile:
    """The questions in the artifacts of a session. Raises UsageError."""
    file = directory / EXPLAIN
    remedy = "name the folder of a session with a failed assertion that has a question"
    try:
        text = read_file(directory, (EXPLAIN,), MAX_EXPLAIN_FILE_BYTES).data.decode()
    except OSError as error:
        raise UsageError(f"{file}: cannot be read: {error.strerror}", remedy=remedy) from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{file}: cannot be read: {error}", remedy=remedy) from error
    found = validated(
        read_document(text, path=str(file), kind="json", error=UsageError), QuestionsFile, error=UsageError
    )
    if not rerun and ((directory / EXPLANATIONS).exists() or (directory / EXPLANATIONS).is_symlink()):
        raise UsageError(f"{directory / EXPLANATIONS} exists", remedy="use --rerun to ask again")
    if found.in_container:
        message = f"{file}: the session ran in a container, which no longer exists, so the session cannot be continued"
        raise UsageError(message, remedy="read its output and archived workspace in the run directory")
    if not found.session_id:
        raise UsageError(f"{file}: the agent reported no session id, so the session cannot be resumed")
    return found


def explanations(services: Services, file: QuestionsFile, runner: Runner, directory: Path) -> tuple[ExplainAnswer, ...]:
    """Ask one question after the other in the same session; the answers, which are also stored. Raises UsageError."""
    if runner.agent.type != file.agent_type:
        message = f"the runner {runner.id} is {runner.agent.type} now, and was {file.agent_type} in the run"
        raise UsageError(message, remedy="use the configuration of the run")
    records, archived = directory / HOME, _archived_workspace(directory, file)
    if AGENTS[file.agent_type].executable and (records.is_symlink() or not records.is_dir()):
        raise UsageError(f"{file.agent_type} has no record of the session, so it cannot be resumed")
    execution = _execution(file, runner)
    plan = Plan(suites=(), runners=(runner,), executions=(execution,), unrunnable=())
    (installed,) = install_agents(services, plan, InstallAgentsOptions()).executions
    if installed.runner.trouble:
        raise UsageError(installed.runner.trouble.message)
    with restored_session(
        services.processes, Path(file.home), Path(file.cwd), records=records, kept=archived
    ) as workspace:
        answers: list[ExplainAnswer] = []
        for number, question in enumerate(file.questions, start=1):
            session_id = answers[-1].session_id if answers else file.session_id or ""
            conversation = _Conversation(services, installed, workspace, directory)
            answers.append(conversation.ask(question, session_id, f"explanation-{number}"))
    written = json.dumps(_document(file, answers, iso_timestamp(services.clock.now())), indent=1, ensure_ascii=False)
    services.directory.write_whole(directory / EXPLANATIONS, [written])
    return tuple(answers)


@record(kw_only=False)
class _Conversation:
    services: Services
    execution: Execution
    workspace: SessionWorkspace
    directory: Path

    def ask(self, question: ExplainQuestion, session_id: str, name: str) -> ExplainAnswer:
        """Resume the session with one question; ``name`` begins the names of the logs."""
        execution, workspace = self.execution, self.workspace
        agent = agent_named(execution.runner.agent.type)
        session = Session(
            agent=replace(execution.runner.agent, model=execution.model),
            prompt=question.question,
            case_id=execution.case.id,
            key=("", execution.case.id, execution.runner.path_key, name),
            workspace=workspace.path,
            home=workspace.home,
            scratch=workspace.scratch,
            timeout=MAX_EXPLAIN_SECONDS,
        )
        invocation = agent.resume(session, session_id)
        env = {**workspace.agent_env(), **session.agent.env, **invocation.env}
        logs = f"{name}.stdout.log", f"{name}.stderr.log"
        began = self.services.clock.now()
        workspace.write(invocation.files)
        stdout, stderr = (self.directory / log for log in logs)
        capture = self.services.processes.run(replace(invocation, env=env), stdout=stdout, stderr=stderr)
        ended = began + timedelta(seconds=capture.seconds)
        records = workspace.collect(invocation.collect, self.services.workspaces.new_records_folder())
        self.services.directory.redact(stdout, stderr, *records)
        capture = replace(capture, collected=tuple(map(OutputFile, records)))
        transcript = agent.transcript(capture, session)
        times = {"started_at": iso_timestamp(began), "ended_at": iso_timestamp(ended)}
        report = normalise(transcript, capture, session, runner_ref(execution), **times)
        return ExplainAnswer(
            question=question,
            answer=report.final_output,
            session_id=report.session_id or session_id,
            started_at=times["started_at"],
            ended_at=times["ended_at"],
            duration_ms=round(capture.seconds * 1000),
            logs=logs,
            trouble=trouble_of_ending(capture, MAX_EXPLAIN_SECONDS) or agent.trouble(capture, transcript),
        )


def _archived_workspace(directory: Path, file: QuestionsFile) -> Path | None:
    """The archived workspace of the session, if there is one. Raises UsageError if it is not in the run directory."""
    if file.workspace is None:
        return None
    run = next((folder for folder in directory.resolve().parents if (folder / JOURNAL).is_file()), None)
    archived = (run / file.workspace).resolve() if run else None
    if run is None or archived is None or not archived.is_relative_to(run) or not archived.is_dir():
        raise UsageError(f"the run did not archive the session's workspace: {file.workspace}")
    return archived


def _execution(file: QuestionsFile, runner: Runner) -> Execution:
    case = BenchmarkCase(id=file.case_id, prompt="", location=Location(path=file.suite_path), assertions=())
    suite = BenchmarkSuite(
        path=file.suite_path, file=Path(file.suite_path), name=file.suite_path, format="", cases=(case,)
    )
    return Execution(
        index=0,
        suite=suite,
        case=case,
        runner=runner,
        directory="",
        timeout=MAX_EXPLAIN_SECONDS,
        budget=None,
        model=file.model,
    )


def _document(file: QuestionsFile, answers: list[ExplainAnswer], created_at: str) -> dict[str, Any]:
    return {
        "suitePath": file.suite_path,
        "caseId": file.case_id,
        "runnerId": file.runner_id,
        "cwd": file.cwd,
        "sessionId": file.session_id,
        "createdAt": created_at,
        "questions": [_entry(answer) for answer in answers],
    }


def _entry(answer: ExplainAnswer) -> dict[str, Any]:
    stdout, stderr = answer.logs
    return {
        **answer.question.model_dump(by_alias=True, exclude_none=True),
        "answer": answer.answer,
        "sessionId": answer.session_id,
        "startedAt": answer.started_at,
        "endedAt": answer.ended_at,
        "durationMs": answer.duration_ms,
        "rawArtifacts": {"stdoutPath": stdout, "stderrPath": stderr},
        **({"trouble": to_json(answer.trouble)} if answer.trouble else {}),
    }
