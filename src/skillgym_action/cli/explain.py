"""Agents are asked about failures of theirs, in the sessions that failed. For the command ``explain``."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field

from skillgym_action.agents import AGENTS, agent_named
from skillgym_action.clock import iso_timestamp
from skillgym_action.documents.documents import read_document, validated
from skillgym_action.model.errors import Location, UsageError
from skillgym_action.model.execution import Execution, Plan
from skillgym_action.model.json_codec import camel_case, to_json
from skillgym_action.model.session import Session
from skillgym_action.model.suite import Case, Suite
from skillgym_action.processes.outputs import OutputFile
from skillgym_action.sessions.assertion_context import runner_ref
from skillgym_action.sessions.follow_up import EXPLAIN, HOME
from skillgym_action.sessions.normalise import normalise
from skillgym_action.sessions.run_session import trouble_of_ending
from skillgym_action.settings.options import InstallAgentsOptions
from skillgym_action.stages.install_agents import install_agents
from skillgym_action.storage.run_files import read_file
from skillgym_action.workspaces.restore import restored_session

if TYPE_CHECKING:
    from skillgym_action.model.execution import Runner
    from skillgym_action.model.session_report import Trouble
    from skillgym_action.services import Services
    from skillgym_action.workspaces.workspace import Workspace

EXPLANATIONS = "explanations.json"
JOURNAL = "journal.jsonl"
LARGEST = 4 * 1024 * 1024  # bytes of the questions
LIMIT = 300.0  # seconds an answer may take


class _Model(BaseModel):
    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, alias_generator=camel_case, populate_by_name=True
    )


class Source(_Model):
    """A location."""

    path: str
    line: int | None = None
    column: int | None = None


class Asked(_Model):
    """A question."""

    question: str
    source: Source | None = None


class Questions(_Model):
    """What ``explain.json`` holds."""

    suite_path: str
    case_id: str
    runner_id: str
    agent_type: str
    model: str | None = None
    cwd: str
    home: str
    workspace: str | None = None
    session_id: str | None = None
    questions: tuple[Asked, ...] = Field(strict=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """An answer, or why there is none. Times are ISO 8601 in UTC."""

    asked: Asked
    answer: str
    session_id: str
    started_at: str
    ended_at: str
    duration_ms: int
    logs: tuple[str, str]
    trouble: Trouble | None = None


def questions_in(directory: Path, *, rerun: bool) -> Questions:
    """The questions of a session whose artifacts lie there. Raises UsageError."""
    file = directory / EXPLAIN
    remedy = "name the folder of a session with a failed assertion that has a question"
    try:
        text = read_file(directory, (EXPLAIN,), LARGEST).data.decode()
    except OSError as error:
        raise UsageError(f"{file}: cannot be read: {error.strerror}", remedy=remedy) from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{file}: cannot be read: {error}", remedy=remedy) from error
    found = validated(read_document(text, path=str(file), kind="json", error=UsageError), Questions, error=UsageError)
    if not rerun and ((directory / EXPLANATIONS).exists() or (directory / EXPLANATIONS).is_symlink()):
        raise UsageError(f"{directory / EXPLANATIONS} exists", remedy="use --rerun to ask again")
    if not found.session_id:
        raise UsageError(f"{file}: the agent told no session id, hence cannot be asked")
    return found


def explanations(services: Services, asked: Questions, runner: Runner, directory: Path) -> tuple[Answer, ...]:
    """The answers, one after the other in one conversation; written beside the questions. Raises UsageError."""
    if runner.agent.type != asked.agent_type:
        told = f"the runner {runner.id} is {runner.agent.type} now, and was {asked.agent_type}"
        raise UsageError(told, remedy="ask with the configuration of the run")
    records, kept = directory / HOME, _kept(directory, asked)
    if AGENTS[asked.agent_type].executable and (records.is_symlink() or not records.is_dir()):
        raise UsageError(f"{asked.agent_type} left no record of the session that it could resume")
    execution = _execution(asked, runner)
    plan = Plan(suites=(), runners=(runner,), executions=(execution,), unrunnable=())
    (equipped,) = install_agents(services, plan, InstallAgentsOptions()).executions
    if equipped.runner.trouble:
        raise UsageError(equipped.runner.trouble.message)
    with restored_session(
        services.processes, Path(asked.home), Path(asked.cwd), records=records, kept=kept
    ) as workspace:
        answers: list[Answer] = []
        for number, question in enumerate(asked.questions, start=1):
            session_id = answers[-1].session_id if answers else asked.session_id or ""
            publisher = _Conversation(services, equipped, workspace, directory)
            answers.append(publisher.answer(question, session_id, f"explanation-{number}"))
    written = json.dumps(_document(asked, answers, iso_timestamp(services.clock.now())), indent=1, ensure_ascii=False)
    services.directory.write_whole(directory / EXPLANATIONS, [written])
    return tuple(answers)


@dataclass(frozen=True, slots=True)
class _Conversation:
    services: Services
    execution: Execution
    workspace: Workspace
    directory: Path

    def answer(self, asked: Asked, session_id: str, name: str) -> Answer:
        """Ask one question."""
        execution, workspace = self.execution, self.workspace
        agent = agent_named(execution.runner.agent.type)
        session = Session(
            agent=replace(execution.runner.agent, model=execution.model),
            prompt=asked.question,
            case_id=execution.case.id,
            key=("", execution.case.id, execution.runner.path_key, name),
            workspace=workspace.path,
            home=workspace.home,
            scratch=workspace.scratch,
            timeout=LIMIT,
        )
        invocation = agent.resume(session, session_id)
        env = {**workspace.agent_env(), **session.agent.env, **invocation.env}
        logs = f"{name}.stdout.log", f"{name}.stderr.log"
        began = self.services.clock.now()
        workspace.write(invocation.files)
        stdout, stderr = (self.directory / log for log in logs)
        capture = self.services.processes.run(replace(invocation, env=env), stdout=stdout, stderr=stderr)
        ended = began + timedelta(seconds=capture.seconds)
        collected = tuple(
            map(OutputFile, workspace.collect(invocation.collect, self.services.workspaces.new_records_folder()))
        )
        capture = replace(capture, collected=collected)
        transcript = agent.transcript(capture, session)
        times = {"started_at": iso_timestamp(began), "ended_at": iso_timestamp(ended)}
        report = normalise(transcript, capture, session, runner_ref(execution), **times)
        self.services.directory.redact(stdout, stderr)
        return Answer(
            asked=asked,
            answer=report.final_output,
            session_id=report.session_id or session_id,
            started_at=times["started_at"],
            ended_at=times["ended_at"],
            duration_ms=round(capture.seconds * 1000),
            logs=logs,
            trouble=trouble_of_ending(capture, LIMIT) or agent.trouble(capture, transcript),
        )


def _kept(directory: Path, asked: Questions) -> Path | None:
    """The workspace that the run kept, which lies inside of its directory."""
    if asked.workspace is None:
        return None
    run = next((folder for folder in directory.resolve().parents if (folder / JOURNAL).is_file()), None)
    kept = (run / asked.workspace).resolve() if run else None
    if run is None or kept is None or not kept.is_relative_to(run) or not kept.is_dir():
        raise UsageError(f"the run did not keep the session's workspace: {asked.workspace}")
    return kept


def _execution(asked: Questions, runner: Runner) -> Execution:
    case = Case(id=asked.case_id, prompt="", location=Location(path=asked.suite_path), assertions=())
    suite = Suite(path=asked.suite_path, file=Path(asked.suite_path), name=asked.suite_path, format="", cases=(case,))
    return Execution(
        index=0,
        suite=suite,
        case=case,
        runner=runner,
        directory="",
        timeout=LIMIT,
        budget=None,
        model=asked.model,
    )


def _document(asked: Questions, answers: list[Answer], created_at: str) -> dict[str, Any]:
    return {
        "suitePath": asked.suite_path,
        "caseId": asked.case_id,
        "runnerId": asked.runner_id,
        "cwd": asked.cwd,
        "sessionId": asked.session_id,
        "createdAt": created_at,
        "questions": [_told(answer) for answer in answers],
    }


def _told(answer: Answer) -> dict[str, Any]:
    stdout, stderr = answer.logs
    return {
        **answer.asked.model_dump(by_alias=True, exclude_none=True),
        "answer": answer.answer,
        "sessionId": answer.session_id,
        "startedAt": answer.started_at,
        "endedAt": answer.ended_at,
        "durationMs": answer.duration_ms,
        "rawArtifacts": {"stdoutPath": stdout, "stderrPath": stderr},
        **({"trouble": to_json(answer.trouble)} if answer.trouble else {}),
    }
