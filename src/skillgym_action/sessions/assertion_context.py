"""What the assertions of one session may look at; fulfils ``assertions.AssertionContext`` with real doors."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING

from skillgym_action.javascript.regex import SearchBudget
from skillgym_action.limits import COMMAND_TAIL_BYTES
from skillgym_action.model.json_codec import to_json
from skillgym_action.model.session import Ending, Invocation
from skillgym_action.model.session_report import AgentRef, RunnerRef, SessionReport, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import regex

    from skillgym_action.model.execution import Execution
    from skillgym_action.model.judge_question import Answer, Question, T
    from skillgym_action.model.result import Judgement, Outcome
    from skillgym_action.model.session import Capture
    from skillgym_action.model.verdicts import FailureClass
    from skillgym_action.services import Services
    from skillgym_action.workspaces.workspace import Workspace, WorkspaceFiles


@dataclass(frozen=True, slots=True)
class CommandRun:
    """A command that was run; fulfils ``assertions.CommandResult``."""

    capture: Capture

    @property
    def exit_code(self) -> int | None:
        """None when a signal or the time limit ended it."""
        return self.capture.exit_code if self.capture.ending is Ending.EXITED else None

    @property
    def timed_out(self) -> bool:
        """Whether the time limit ended it."""
        return self.capture.ending is Ending.TIMED_OUT

    @property
    def seconds(self) -> float:
        """How long it ran."""
        return self.capture.seconds

    @property
    def tail(self) -> str:
        """The end of its output: stdout, then stderr."""
        return self.capture.stdout.tail(COMMAND_TAIL_BYTES) + self.capture.stderr.tail(COMMAND_TAIL_BYTES)


class SuiteClassifier:
    """Asks the suite program what class a failure is of. ``report`` is None for a session that was not held."""

    def __init__(self, services: Services, execution: Execution) -> None:
        """For one execution."""
        self._services, self._execution = services, execution
        self.report: SessionReport | None = None

    def classify(self, case_id: str, judgement: Judgement) -> FailureClass | None:
        """What the suite program's classifier says; it sees the result as checks see reports.

        ``status`` is skillgym's word for all that did not pass; ``failureOrigin`` tells them apart.
        """
        failure, report = judgement.failure, self.report or _nothing_reported(self._execution)
        result = {
            "caseId": case_id,
            "runnerId": self._execution.runner.id,
            "status": "failed",
            "passed": False,
            "failureOrigin": judgement.origin,
            "failureClass": to_json(judgement.failure_class) if judgement.failure_class else None,
            "error": {"name": failure.name, "message": failure.message} if failure else None,
            "report": to_json(report),
        }
        return self._services.hosts.classify(self._execution.suite.file, case_id, result)


class SessionAssertionContext(SuiteClassifier):
    """One session's subject."""

    def __init__(
        self, services: Services, execution: Execution, workspace: Workspace, folder: Path, begins: Callable[[], None]
    ) -> None:
        """``folder`` takes the logs of commands run for assertions; ``begins`` is called before the first of them.

        So it is before the first question to a judge, and before checks of the suite's program.
        """
        super().__init__(services, execution)
        self._workspace, self._folder = workspace, folder
        self._numbers: Iterator[int] = count(1)
        self._questions: Iterator[int] = count(1)
        self._begins: Callable[[], None] | None = begins
        self._diff: str | None = None
        self._has_diff = False
        self.cost_usd: float | None = 0.0
        self._search_budget = SearchBudget()

    def search(self, pattern: regex.Pattern[str], text: str, *, at_start: bool = False) -> regex.Match[str] | None:
        """Raises SearchError once the time for the suite's patterns is used up."""
        return self._search_budget.search(pattern, text, at_start=at_start)

    @property
    def files(self) -> WorkspaceFiles:
        """The workspace after the agent."""
        return self._workspace.files

    @property
    def timeout(self) -> float:
        """The execution's time limit in seconds."""
        return self._execution.timeout

    def run(self, command: str, timeout: float) -> CommandRun:
        """A shell command at the workspace root."""
        argv, identity = ("sh", "-c", command), self._workspace.identity
        return CommandRun(
            self._run(Invocation(argv=argv, cwd=self._workspace.path, timeout=timeout, identity=identity))
        )

    def execute(self, invocation: Invocation) -> Capture:
        """Any program of the suite, with a home of its own and no secrets."""
        return self._run(replace(invocation, identity=self._workspace.suite_identity))

    def _begin(self) -> None:
        """Say that the judging has effects from now on, once."""
        begins, self._begins = self._begins, None
        if begins:
            begins()

    def _run(self, invocation: Invocation) -> Capture:
        self._begin()
        name = f"command-{next(self._numbers)}"
        stdout, stderr = self._folder / f"{name}.stdout.log", self._folder / f"{name}.stderr.log"
        env = {**self._workspace.grader_env(), **invocation.env}
        limited = replace(invocation, env=env, limits=self._execution.limits, folders=self._workspace.folders)
        capture = self._services.processes.run(limited, stdout=stdout, stderr=stderr)
        self._services.directory.redact(stdout, stderr)
        return capture

    def file_changes(self) -> str | None:
        """What the agent changed, as a unified diff; what graders change afterwards is not in it."""
        if not self._has_diff:
            self._diff, self._has_diff = self._workspace.diff(), True
        return self._diff

    def ask_judge(self, question: Question[T]) -> Answer[T] | None:
        """What the judge says, whose cost counts in ``cost_usd``; kept with the artifacts. None: no judge."""
        judge = self._services.judge
        if judge is None:
            return None
        self._begin()
        answer = judge.ask(question)
        both = (self.cost_usd, answer.cost_usd)
        self.cost_usd = None if None in both else sum(usd or 0.0 for usd in both)
        path = self._folder / f"judge-{next(self._questions)}.json"
        self._services.directory.write(path, json.dumps(_publisher(question, answer), indent=1))
        return answer

    def check(self, case_id: str) -> tuple[Outcome, ...]:
        """What the suite program says of the session."""
        if self.report is None:
            return ()
        self._begin()
        return self._services.hosts.judge(self._execution.suite.file, case_id, self.report)


def runner_ref(execution: Execution) -> RunnerRef:
    """The runner as session reports name it."""
    runner = execution.runner
    agent = AgentRef(type=runner.agent.type, model=execution.model)
    return RunnerRef(id=runner.id, path_key=runner.path_key, agent=agent)


def _nothing_reported(execution: Execution) -> SessionReport:
    prompt = execution.case.prompt
    usage = Usage(input_chars=len(prompt))
    return SessionReport(runner=runner_ref(execution), prompt=prompt, cwd="", usage=usage)


def _publisher(question: Question[T], answer: Answer[T]) -> dict[str, object]:
    """A question and its answer, as artifacts keep them."""
    return {
        "instructions": question.instructions,
        "prompt": [part if isinstance(part, str) else to_json(part) for part in question.prompt],
        "answer": answer.content.model_dump(mode="json") if answer.content else None,
        "trouble": to_json(answer.trouble) if answer.trouble else None,
        "usage": to_json(answer.usage),
        "costUsd": answer.cost_usd,
    }
