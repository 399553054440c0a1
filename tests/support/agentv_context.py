"""The context of AgentV's assertions in tests: a session, a folder, real processes, a judge with a script."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fakes_context import Folder
from skillgym_action.judging.judge.client import AnswerFormatError, parsed_answer, user_prompt
from skillgym_action.judging.judge.model_proxy import ModelProxy
from skillgym_action.model.errors import Location
from skillgym_action.model.judge_question import Answer, JudgeInfo, Poll
from skillgym_action.model.session_report import (
    AgentRef,
    Cost,
    Message,
    RunnerRef,
    SessionReport,
    SkillSignal,
    ToolCall,
    ToolResult,
    Trouble,
    Usage,
)
from skillgym_action.suites.agentv.assertions import assertion_of
from skillgym_action.suites.agentv.grader_context import EntryContext, Task
from skillgym_action.system.cancellation import Cancellation
from skillgym_action.system.processes.launcher import ProcessLauncher
from skillgym_action.text.javascript.regex import SearchBudget

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillgym_action.model.session import Capture, Invocation

HERE = Location(path="evals/EVAL.yaml", line=7)
TRIES = 3


def entry_context(folder: Path = Path("/suite"), **settings: Any) -> EntryContext:
    """The place of an entry: the first of a list."""
    return EntryContext(folder=folder, location=HERE, key_path="assertions[0]", **settings)


def call(tool: str, args: object = None, output: str | None = None, ms: int | None = None) -> list[Any]:
    """The events of a tool call."""
    made = ToolCall(tool=tool, args={} if args is None else args, duration_ms=ms)
    return [made] if output is None else [made, ToolResult(tool=tool, output=output)]


def said(text: str) -> list[Any]:
    return [Message(role="assistant", text=text, phase="commentary")]


def loaded(skill: str) -> list[Any]:
    return [SkillSignal(skill=skill, signal="tool")]


def session(answer: str = "", *events: list[Any], agent: str = "claude-code", **figures: Any) -> SessionReport:
    """A session that ended with ``answer``; ``tokens``: input, output, cached; ``usd``; ``ms``."""
    tokens = figures.pop("tokens", None)
    usd, ms = figures.pop("usd", None), figures.pop("ms", None)
    names = ("input_tokens", "output_tokens", "cache_tokens", "reasoning_tokens")
    return SessionReport(
        runner=RunnerRef(id="main", path_key="main", agent=AgentRef(type=agent)),
        prompt="Fix the null check",
        cwd=figures.pop("cwd", "/workspace"),
        events=tuple(event for group in events for event in group),
        final_output=answer,
        duration_ms=ms,
        usage=Usage(**dict(zip(names, tokens, strict=False))) if tokens else Usage(),
        cost=Cost() if usd is None else Cost(usd=usd, source="reported"),
        **figures,
    )


@dataclass
class Judge:
    """Answers with the texts of its script in order; like the real client, asks again if an answer does not fit."""

    script: tuple[str, ...]
    asked: list[str] = field(default_factory=list)

    def ask(self, question: Any) -> Answer[Any]:
        self.asked.append(user_prompt(question, "#"))
        texts = iter(self.script[len(self.asked) - 1 :])
        why = "nothing was said"
        for _ in range(TRIES):
            try:
                return Answer(content=parsed_answer(question, next(texts, "")))
            except AnswerFormatError as error:
                why = str(error)
        return Answer(trouble=Trouble(kind="grader", message=why))


@dataclass
class FakeContext:
    """An ``AssertionContext`` for graders; it runs programs with real processes."""

    report: SessionReport | None
    files: Any = None
    timeout: float = 60.0
    judge: Judge | None = None
    model: Any = None
    votes: int = 1
    diff: str | None = None
    processes: ProcessLauncher | None = None
    logs: Path | None = None
    ran: list[Invocation] = field(default_factory=list)
    budget: SearchBudget = field(default_factory=SearchBudget)
    turn_outcomes: tuple[Any, ...] = ()
    _numbers: Iterator[int] = field(default_factory=count)

    def search(self, pattern: Any, text: str, *, at_start: bool = False, start: int = 0) -> Any:
        return self.budget.search(pattern, text, at_start=at_start, start=start)

    def decided(self, assertion: Any, seen: Any = None) -> tuple[Any, ...]:
        return assertion.judge(seen() if seen else self)

    def execute(self, invocation: Invocation) -> Capture:
        assert self.processes
        assert self.logs
        self.ran.append(invocation)
        number = next(self._numbers)
        return self.processes.run(invocation, stdout=self.logs / f"{number}.out", stderr=self.logs / f"{number}.err")

    def file_changes(self) -> str | None:
        return self.diff

    def model_access(self, max_calls: int) -> ModelProxy | None:
        return ModelProxy(self.model, max_calls) if self.model else None

    def ask_judge(self, question: Any, votes: int | None = None) -> Poll[Any] | None:
        if self.judge is None:
            return None
        info = JudgeInfo(api="anthropic", model="scripted", votes=votes or self.votes)
        return Poll(judge=info, answers=tuple(self.judge.ask(question) for _ in range(info.votes)))


@contextmanager
def real_processes() -> Iterator[ProcessLauncher]:
    """The real adapter for processes."""
    cancellation = Cancellation()
    try:
        with ProcessLauncher(environment=dict(os.environ), cancelled=cancellation) as processes:
            yield processes
    finally:
        cancellation.close()


def fake_context(
    root: Path, processes: ProcessLauncher, answer: str = "done", *events: list[Any], **settings: Any
) -> FakeContext:
    """A context with a workspace and a suite folder below ``root``; both are created."""
    workspace, logs = root / "workspace", root / "logs"
    for folder in (workspace, logs, root / "suite"):
        folder.mkdir(exist_ok=True)
    files = Folder(workspace)
    files.remember()
    report = session(answer, *events, cwd=str(workspace))
    return FakeContext(report=report, files=files, processes=processes, logs=logs, **settings)


def graded(entry: object, report: SessionReport, *, task: Task | None = None, **settings: Any) -> Any:
    """The outcome of one entry on a session."""
    assertion = assertion_of(entry, entry_context(task=task or Task()))
    (outcome,) = assertion.judge(FakeContext(report=report, **settings))
    return outcome
