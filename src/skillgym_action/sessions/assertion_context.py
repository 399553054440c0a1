"""The context of a session's assertions; implements ``model.assertion.AssertionContext`` with the services."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING

from skillgym_action.model.json_codec import to_json
from skillgym_action.model.result import ADDRESSES_JUDGE, Finding
from skillgym_action.model.session import NEVER_RAN, Ending, Invocation
from skillgym_action.model.session_report import AgentRef, RunnerRef, SessionReport, Usage
from skillgym_action.sessions.case_container import CommandRun, container_of_session
from skillgym_action.sessions.session_texts import SessionTexts
from skillgym_action.text.javascript.regex import SearchBudget

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

    import regex

    from skillgym_action.judging.judge.client import Judge
    from skillgym_action.judging.judge.model_proxy import ModelCall
    from skillgym_action.model.assertion import Assertion, AssertionContext, CaseContainer, ModelAccess, TurnJudge
    from skillgym_action.model.execution import Execution
    from skillgym_action.model.judge_question import Answer, Poll, Question, T
    from skillgym_action.model.judgement import FunctionReply, Judgement, Outcome
    from skillgym_action.model.session import Capture, Programs
    from skillgym_action.model.verdicts import FailureClass
    from skillgym_action.services import Services
    from skillgym_action.workspaces.workspace import SessionWorkspace, WorkspaceFiles


class SuiteClassifier:
    """Asks the suite program for the class of a failure.

    ``report``: what assertions read; None if no session has run, or was ended in the middle. ``partial``: what is known
    of the session, also then. ``directory``: the session's, relative to the run directory; None if the failure is of
    no session.
    """

    def __init__(self, services: Services, execution: Execution, directory: str | None = None) -> None:
        self._services, self._execution = services, execution
        self.directory = directory
        self.partial: SessionReport | None = None

    @property
    def report(self) -> SessionReport | None:
        return None

    def classify(self, case_id: str, judgement: Judgement) -> FailureClass | None:
        """The failure class by the suite program's classifier; None: it leaves the class as it is.

        The classifier gets the result in skillgym's format, in which every ``status`` but ``passed`` is ``failed``;
        ``failureOrigin`` distinguishes them. The error is the one that the check raised, if it raised one.
        """
        report = self.partial or _empty_report(self._execution)
        whole = self._services.directory.path.absolute() / self._execution.directory
        folder = self._services.directory.path.absolute() / self.directory if self.directory else whole
        logs = (folder / "bootstrap.stderr.log", folder / "stderr.log")
        log = next((path for path in logs[judgement.origin != "workspace-bootstrap" :] if path.is_file()), None)
        result = {
            "caseId": case_id,
            "runnerId": self._execution.runner.id,
            "status": "failed",
            "passed": False,
            "failureOrigin": judgement.origin,
            "failureClass": to_json(judgement.failure_class) if judgement.failure_class else None,
            "durationMs": report.duration_ms or 0,
            "executionArtifactDir": str(whole),
            "artifactDir": str(folder),
            "failureLogPath": str(log) if log else None,
            "error": _raised(judgement),
            "report": to_json(report),
        }
        return self._services.hosts.classify(self._execution.suite.file, case_id, result)


class SessionAssertionContext(SuiteClassifier):
    """The assertion context of one session. ``cost_usd``: of the judge's answers so far; None: unknown.

    ``findings``: texts of the agent in questions so far that address the judge.
    """

    def __init__(
        self,
        services: Services,
        execution: Execution,
        workspace: SessionWorkspace,
        directory: str,
        before_judging: Callable[[], None],
    ) -> None:
        """``directory`` is for logs of commands and answers of the judge, relative to the run directory.

        ``before_judging`` is called once, before the first command, question to the judge, or check.
        """
        super().__init__(services, execution, directory)
        self._workspace, self._folder = workspace, services.directory.open_path / directory
        self.texts = SessionTexts(services.directory.redactor, workspace)
        self._commands: Iterator[int] = count(1)
        self._questions: Iterator[int] = count(1)
        self._before_judging: Callable[[], None] | None = before_judging
        self._diff: str | None = None
        self._has_diff = False
        self.cost_usd: float | None = 0.0
        self.findings: list[Finding] = []
        self._search_budget = SearchBudget()
        self.turn_outcomes: tuple[tuple[Outcome, ...], ...] = ()

    @property
    def report(self) -> SessionReport | None:
        return self.texts.report

    @property
    def files(self) -> WorkspaceFiles:
        return self.texts.files

    def decided(self, assertion: Assertion, seen: Callable[[], AssertionContext] | None = None) -> tuple[Outcome, ...]:
        """Only an assertion that starts no program and asks no model can be evaluated twice, so that it sees secrets.

        A check sees them, too: see ``check``.
        """
        if not assertion.diagnostic:
            return assertion.judge(seen() if seen else self)
        return self.texts.decided(lambda: assertion.judge(seen() if seen else self))

    def judge_turn(self, conversation_judge: TurnJudge) -> bool:
        """Judge the last turn of a conversation, whose turns so far are in the report; whether it goes on.

        Raises OSError if the workspace cannot be read.
        """
        self._has_diff = False
        self._workspace.forget_changes()
        outcomes = conversation_judge.judge_turn(self)
        self.turn_outcomes += (outcomes,)
        self._has_diff = False
        self._workspace.forget_changes()
        return conversation_judge.goes_on(outcomes)

    def search(
        self, pattern: regex.Pattern[str], text: str, *, at_start: bool = False, start: int = 0
    ) -> regex.Match[str] | None:
        """The first match. Raises SearchError once the time limit for all searches of the session is exceeded."""
        return self._search_budget.search(pattern, text, at_start=at_start, start=start)

    @property
    def timeout(self) -> float:
        return self._execution.timeout

    def run(self, command: str, timeout: float) -> CommandRun:
        """Run a shell command in the workspace root, as the agent's user. Raises OSError if it is unknown how it ended.

        In a container also if the engine does not start it: such a command says nothing about the agent's work.
        """
        argv, identity = ("sh", "-c", command), self._workspace.identity
        cwd = self._workspace.places.workspace
        invocation = Invocation(argv=argv, cwd=cwd, timeout=timeout, identity=identity)
        capture = self._run(invocation, self._workspace.programs)
        if capture.ending is Ending.LOST or (self._workspace.in_container and capture.ending in NEVER_RAN):
            raise OSError(f"{command!r} was not run: {capture.error or 'its end is unknown'}")
        return CommandRun(capture)

    def execute(self, invocation: Invocation) -> Capture:
        """Run a program of the suite, as the suite's user, with an empty home and without secrets.

        It is a file of this machine, and runs here; a workspace in a container is a copy for it.
        """
        self._workspace.renew_copy()
        return self._run(replace(invocation, identity=self._workspace.suite_identity))

    def _begin(self) -> None:
        """Call ``before_judging``, the first time only."""
        before_judging, self._before_judging = self._before_judging, None
        if before_judging:
            before_judging()

    def _run(self, invocation: Invocation, programs: Programs | None = None) -> Capture:
        self._begin()
        stdout, stderr = self._log_files()
        here = programs is None
        env = {**self._workspace.grader_env(here=here), **invocation.env}
        limited = replace(invocation, env=env, limits=self._execution.limits, folders=self._workspace.folders)
        capture = (programs or self._services.processes).run(limited, stdout=stdout, stderr=stderr)
        self._services.directory.redact(stdout, stderr)
        written = ((capture.stdout, stdout), (capture.stderr, stderr))
        return replace(capture, logs=tuple(path.name for output, path in written if output.tail(1)))

    @property
    def container(self) -> CaseContainer | None:
        """The container of the session; None: its programs are processes of this machine."""
        spec = self._execution.case.workspace or self._execution.suite.workspace
        if spec.container is None or not self._workspace.in_container:
            return None
        self._begin()
        return container_of_session(self._services, self._workspace, spec.container, self._log_files)

    def _log_files(self) -> tuple[Path, Path]:
        """The files for the output of the next command."""
        name = f"command-{next(self._commands)}"
        return self._folder / f"{name}.stdout.log", self._folder / f"{name}.stderr.log"

    def file_changes(self) -> str | None:
        """The agent's changes as a unified diff, computed once: later changes by graders are not in it."""
        if not self._has_diff:
            self._diff, self._has_diff = self._workspace.diff(clean=self.texts.clean), True
        return self._diff

    def ask_judge(self, question: Question[T], votes: int | None = None) -> Poll[T] | None:
        """Ask the judge, add the cost, and store question and answers as an artifact. None: no judge is configured."""
        judge = self._services.judge
        if judge is None:
            return None
        from skillgym_action.judging.judge.addressing import addressed_texts

        self._begin()
        with self._services.processes.work_slots.released():
            poll = judge.poll(question, votes)
        self._add_cost(poll.cost_usd)
        path = self._folder / f"judge-{next(self._questions)}.json"
        self.findings += [
            Finding(id=ADDRESSES_JUDGE, kind=text.kind, where=f"{path.name}: {text.name}")
            for text in addressed_texts(question, self._execution.case.prompt)
        ]
        self._services.directory.write(path, json.dumps(_judge_artifact(question, poll), indent=1))
        return poll

    def model_access(self, max_calls: int) -> AbstractContextManager[ModelAccess] | None:
        """Access to the judge's model for one program; afterwards its cost is added, and its calls are artifacts."""
        return self._model_access(self._services.judge, max_calls) if self._services.judge else None

    @contextmanager
    def _model_access(self, judge: Judge, max_calls: int) -> Iterator[ModelAccess]:
        from skillgym_action.judging.judge.model_proxy import ModelProxy

        self._begin()
        environment = self._services.processes.environment
        no_proxy = environment.get("NO_PROXY") or environment.get("no_proxy") or ""
        proxy = ModelProxy(judge, max_calls, no_proxy)
        try:
            with proxy:
                yield proxy
        finally:
            self._add_cost(proxy.cost_usd)
            for call in proxy.calls:
                path = self._folder / f"judge-{next(self._questions)}.json"
                self._services.directory.write(path, json.dumps(_model_artifact(call), indent=1))

    def _add_cost(self, usd: float | None) -> None:
        """Add to the cost of the judge's answers. None: unknown."""
        both = (self.cost_usd, usd)
        self.cost_usd = None if None in both else sum(usd or 0.0 for usd in both)

    def check(self, case_id: str) -> tuple[Outcome, ...]:
        """The outcomes of the case's check; (): the session has no report. Called again if it has read a secret."""
        if self.report is None:
            return ()
        self._begin()

        def called() -> tuple[Outcome, ...]:
            report = self._workspace.report_of_copy(self.report) if self.report else None
            return self._services.hosts.judge(self._execution.suite.file, case_id, report) if report else ()

        return self.texts.decided(called)

    def call_function(self, number: int, answer: Mapping[str, object]) -> FunctionReply:
        """What a grading function of the suite program says about an answer."""
        self._begin()
        return self._services.hosts.score(self._execution.suite.file, number, answer)


def without_place(judgement: Judgement, workspace: Path) -> Judgement:
    """The judgement with ``<workspace>`` in place of the directory, whose name is another one each time."""
    place = str(workspace)

    def neutral(text: str) -> str:
        return text.replace(place, "<workspace>")

    outcomes = tuple(
        replace(
            outcome,
            explanation=neutral(outcome.explanation),
            evidence=neutral(outcome.evidence or "") or outcome.evidence,
        )
        if place in outcome.explanation or place in (outcome.evidence or "")
        else outcome
        for outcome in judgement.outcomes
    )
    failure = judgement.failure and replace(judgement.failure, message=neutral(judgement.failure.message))
    return replace(judgement, outcomes=outcomes, failure=failure)


def runner_ref(execution: Execution) -> RunnerRef:
    """The runner of an execution, for session reports."""
    runner = execution.runner
    agent = AgentRef(type=runner.agent.type, model=execution.model)
    return RunnerRef(id=runner.id, path_key=runner.path_key, agent=agent)


def _raised(judgement: Judgement) -> dict[str, str] | None:
    """The error of a judgement: as the check raised it, else what the tool says."""
    outcomes = judgement.outcomes if judgement.origin in ("assertion", "assert-hook") else ()
    if error := next((outcome.error for outcome in outcomes if outcome.error), None):
        return {"name": error.name, "message": error.message, "stack": error.stack}
    failure = judgement.failure
    return {"name": failure.name, "message": failure.message} if failure else None


def _empty_report(execution: Execution) -> SessionReport:
    prompt = execution.case.prompt
    usage = Usage(input_chars=len(prompt))
    return SessionReport(runner=runner_ref(execution), prompt=prompt, cwd="", usage=usage)


def _judge_artifact(question: Question[T], poll: Poll[T]) -> dict[str, object]:
    """A question and its answers, as the artifact ``judge-N.json`` has them.

    ``answer`` and ``trouble`` are those of a question with one vote; null if there are several.
    """
    from skillgym_action.agents.output.agent_output import total_usage

    votes = [_vote(answer) for answer in poll.answers]
    only: dict[str, object] = votes[0] if poll.judge.votes == 1 else {}
    return {
        "judge": to_json(poll.judge),
        "instructions": question.instructions,
        "prompt": [part if isinstance(part, str) else to_json(part) for part in question.prompt],
        "answer": only.get("answer"),
        "trouble": only.get("trouble"),
        "votes": votes,
        "usage": to_json(total_usage([answer.usage for answer in poll.answers])),
        "costUsd": poll.cost_usd,
    }


def _model_artifact(call: ModelCall) -> dict[str, object]:
    """A question of a grader's program to the model, and the answer, as the artifact ``judge-N.json`` has them."""
    reply = call.reply
    vote = {
        "answer": None if reply.text is None else {"text": reply.text},
        "trouble": to_json(reply.trouble) if reply.trouble else None,
        "version": next(iter(reply.judge.versions), None),
        "usage": to_json(reply.usage),
        "costUsd": reply.cost_usd,
    }
    asked = {"judge": to_json(reply.judge), "instructions": call.system, "prompt": [call.prompt]}
    only = {name: vote[name] for name in ("answer", "trouble")}
    return {**asked, **only, "votes": [vote], "usage": vote["usage"], "costUsd": reply.cost_usd}


def _vote(answer: Answer[T]) -> dict[str, object]:
    return {
        "answer": answer.content.model_dump(mode="json") if answer.content else None,
        "trouble": to_json(answer.trouble) if answer.trouble else None,
        "version": answer.version,
        "usage": to_json(answer.usage),
        "costUsd": answer.cost_usd,
    }
