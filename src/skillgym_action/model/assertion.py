"""Assertions as the rest of the tool sees them, and the context they are evaluated in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import regex

    from skillgym_action.model.judge_question import Answer, Question, T
    from skillgym_action.model.result import Judgement, Outcome
    from skillgym_action.model.session import Capture, Invocation
    from skillgym_action.model.session_report import SessionReport
    from skillgym_action.model.verdicts import FailureClass


class Files(Protocol):
    """The workspace after the agent, and before it. Paths are relative; a trailing ``/`` means a directory."""

    def kind(self, path: str) -> str | None:
        """``file``, ``directory``, ``symlink`` (dangling), ``outside`` (leads out), ``other``, or None."""
        ...

    def text(self, path: str, limit: int) -> str | None:
        """UTF-8 text, errors replaced, CRLF as LF; None when it has more than ``limit`` bytes or cannot be read."""
        ...

    def existed(self, path: str) -> bool:
        """Whether the path was there before the agent started."""
        ...

    def changed(self, path: str) -> bool:
        """Whether the content is not what it was; created counts, deleted does not; for a directory, any file below."""
        ...

    def glob(self, pattern: str) -> tuple[str, ...]:
        """Files that match, sorted; symlinks are not followed."""
        ...


class CommandResult(Protocol):
    """What came of a command run in the workspace. ``exit_code`` None: ended by the time limit or a signal."""

    @property
    def exit_code(self) -> int | None: ...
    @property
    def timed_out(self) -> bool: ...
    @property
    def seconds(self) -> float: ...
    @property
    def tail(self) -> str: ...


class Classifier(Protocol):
    """Who may give a failure a class of its own."""

    def classify(self, case_id: str, judgement: Judgement) -> FailureClass | None:
        """What the suite program's classifier says of a session that did not pass."""
        ...


class AssertionContext(Classifier, Protocol):
    """What an assertion may look at."""

    @property
    def report(self) -> SessionReport | None:
        """None when the session gave none."""
        ...

    @property
    def files(self) -> Files: ...

    @property
    def timeout(self) -> float:
        """The case's time limit in seconds."""
        ...

    def search(self, pattern: regex.Pattern[str], text: str, *, at_start: bool = False) -> regex.Match[str] | None:
        """The first match of a suite's pattern. Raises SearchError when the time for searches is used up."""
        ...

    def run(self, command: str, timeout: float) -> CommandResult:
        """``sh -c command`` at the workspace root: no secrets, no stdin, whole tree ended at the limit."""
        ...

    def execute(self, invocation: Invocation) -> Capture:
        """A program with its own stdin and place: no secrets, a new home, whole tree ended at the limit."""
        ...

    def file_changes(self) -> str | None:
        """What the agent changed in the workspace, as a unified diff; None where nobody remembers what was there."""
        ...

    def ask_judge(self, question: Question[T]) -> Answer[T] | None:
        """What the judge answers; None: no judge is configured."""
        ...

    def check(self, case_id: str) -> tuple[Outcome, ...]:
        """The suite program's own verdict on the session."""
        ...


class Assertion(Protocol):
    """A rule. ``diagnostic``: worth evaluating on a session that had trouble; the others are skipped then."""

    @property
    def name(self) -> str: ...
    @property
    def type(self) -> str: ...
    @property
    def diagnostic(self) -> bool: ...
    @property
    def fail_fast(self) -> bool:
        """Whether the assertions after it are not evaluated once it has failed."""
        ...

    def judge(self, context: AssertionContext) -> tuple[Outcome, ...]:
        """One outcome, or for a check one per collected failure."""
        ...
