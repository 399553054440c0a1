"""What graders see of one turn of a conversation: its own report, and what was said until then."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

    import regex

    from skillgym_action.agentv.grader_context import Task
    from skillgym_action.model.assertion import AssertionContext, CommandResult, Files, ModelAccess
    from skillgym_action.model.case_container import CaseContainer
    from skillgym_action.model.judge_question import Poll, Question, T
    from skillgym_action.model.result import FunctionReply, Judgement, Outcome
    from skillgym_action.model.session import Capture, Invocation
    from skillgym_action.model.session_report import SessionReport
    from skillgym_action.model.verdicts import FailureClass


@dataclass(frozen=True, kw_only=True, slots=True)
class TurnContext:
    """An ``AssertionContext`` whose report is that of a turn. ``messages``: what was said, as graders get it."""

    whole: AssertionContext
    report: SessionReport | None
    messages: tuple[object, ...]

    @property
    def files(self) -> Files:
        return self.whole.files

    @property
    def timeout(self) -> float:
        return self.whole.timeout

    def search(
        self, pattern: regex.Pattern[str], text: str, *, at_start: bool = False, start: int = 0
    ) -> regex.Match[str] | None:
        return self.whole.search(pattern, text, at_start=at_start, start=start)

    def run(self, command: str, timeout: float) -> CommandResult:
        return self.whole.run(command, timeout)

    def execute(self, invocation: Invocation) -> Capture:
        return self.whole.execute(invocation)

    @property
    def container(self) -> CaseContainer | None:
        return self.whole.container

    def file_changes(self) -> str | None:
        return self.whole.file_changes()

    @property
    def turn_outcomes(self) -> tuple[tuple[Outcome, ...], ...]:
        return self.whole.turn_outcomes

    def ask_judge(self, question: Question[T], votes: int | None = None) -> Poll[T] | None:
        return self.whole.ask_judge(question, votes)

    def model_access(self, max_calls: int) -> AbstractContextManager[ModelAccess] | None:
        return self.whole.model_access(max_calls)

    def check(self, case_id: str) -> tuple[Outcome, ...]:
        return self.whole.check(case_id)

    def call_function(self, number: int, answer: Mapping[str, object]) -> FunctionReply:
        return self.whole.call_function(number, answer)

    def classify(self, case_id: str, judgement: Judgement) -> FailureClass | None:
        return self.whole.classify(case_id, judgement)


def task_in(context: AssertionContext, task: Task) -> Task:
    """The task as graders get it: in a turn, its input is what was said until then."""
    return replace(task, input=context.messages) if isinstance(context, TurnContext) else task
