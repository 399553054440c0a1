"""The contract of assertions, of the context they are evaluated in, and of the container of a case."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

    import regex

    from skillgym_action.model.containers import ContainerCommand
    from skillgym_action.model.judge_question import JudgeInfo, Poll, Question, T
    from skillgym_action.model.judgement import FunctionReply, Judgement, Outcome
    from skillgym_action.model.session import Capture, Invocation
    from skillgym_action.model.session_report import SessionReport, Trouble
    from skillgym_action.model.verdicts import FailureClass


class Files(Protocol):
    """The workspace as the agent left it, and as it was before. Paths are relative to the workspace root.

    A path with a trailing ``/`` is that of a directory.
    """

    def kind(self, path: str) -> str | None:
        """``file``, ``directory``, ``symlink`` (dangling), ``outside`` (leads out), ``other``, or None."""
        ...

    def text(self, path: str, limit: int) -> str | None:
        """UTF-8 text, errors replaced, CRLF as LF; None for more than ``limit`` bytes, or an unreadable file."""
        ...

    def size(self, path: str) -> int | None:
        """Bytes of a file; None if it is none."""
        ...

    def text_before(self, path: str, limit: int) -> str | None:
        """The same as ``text`` of the file as it was before the agent started; None also if that is not known."""
        ...

    def names(self) -> tuple[str, ...]:
        """The files that were there when the agent had ended, sorted."""
        ...

    def created(self) -> tuple[str, ...]:
        """Those of them that the agent created."""
        ...

    def changed_names(self) -> tuple[str, ...]:
        """The files that the agent created, modified or deleted, sorted."""
        ...

    def existed(self, path: str) -> bool:
        """Whether the path was there before the agent started."""
        ...

    def matched_before(self, pattern: str) -> bool:
        """Whether a file was there before the agent started that matches."""
        ...

    def changed(self, path: str) -> bool:
        """Whether the content differs from before. A created file counts, a deleted one does not.

        For a directory: whether any file below it changed.
        """
        ...

    def glob(self, pattern: str) -> tuple[str, ...]:
        """Files that match, sorted; symlinks are not followed."""
        ...


class CommandResult(Protocol):
    """The result of a command run in the workspace.

    ``exit_code`` is None when the time limit or a signal ended the command; ``seconds`` is its duration; ``tail`` is
    the end of stdout, followed by the end of stderr; ``logs`` are the artifacts with all of them.
    """

    @property
    def exit_code(self) -> int | None: ...
    @property
    def timed_out(self) -> bool: ...
    @property
    def seconds(self) -> float: ...
    @property
    def tail(self) -> str: ...
    @property
    def logs(self) -> tuple[str, ...]: ...


class Classifier(Protocol):
    """Classifies failures: the classifier of a suite program."""

    def classify(self, case_id: str, judgement: Judgement) -> FailureClass | None:
        """The failure class of a judgement that is not passed; None: keep the one it has."""
        ...


class ModelAccess(Protocol):
    """A server on loopback through which a program may ask the judge's model, until the access ends.

    ``url`` and ``token`` are for the program; ``variables`` are environment variables with which its HTTP client
    reaches the server. ``judge``: which judge has answered; ``unanswered``: why a question has no answer.
    """

    @property
    def url(self) -> str: ...
    @property
    def token(self) -> str: ...
    @property
    def variables(self) -> Mapping[str, str]: ...
    @property
    def judge(self) -> JudgeInfo | None: ...
    @property
    def unanswered(self) -> str | None: ...


class AssertionContext(Classifier, Protocol):
    """What an assertion may use: the session report, the workspace, commands, the judge."""

    @property
    def report(self) -> SessionReport | None:
        """None when the session has no report."""
        ...

    @property
    def files(self) -> Files: ...

    def decided(self, assertion: Assertion, seen: Callable[[], AssertionContext] | None = None) -> tuple[Outcome, ...]:
        """The outcomes of an assertion: decided by the texts as they are, explained by the texts without secrets.

        Other assertions, which start programs or ask the judge, see texts without secrets only. ``seen``: returns the
        context that the assertion gets; None: this one.
        """
        ...

    @property
    def timeout(self) -> float:
        """The case's time limit in seconds."""
        ...

    def search(
        self, pattern: regex.Pattern[str], text: str, *, at_start: bool = False, start: int = 0
    ) -> regex.Match[str] | None:
        """The first match of a pattern of the suite that begins at ``start`` or after it.

        Raises SearchError when the time limit for all searches of the session is exceeded.
        """
        ...

    def run(self, command: str, timeout: float) -> CommandResult:
        """Run ``sh -c command`` in the workspace root, without secrets and without stdin.

        After ``timeout`` seconds all of its processes are ended.
        """
        ...

    def execute(self, invocation: Invocation) -> Capture:
        """Run a program without secrets and with an empty home directory.

        After ``invocation.timeout`` seconds all of its processes are ended.
        """
        ...

    @property
    def container(self) -> CaseContainer | None:
        """The container of the session; None: its programs are processes of this machine."""
        ...

    def file_changes(self) -> str | None:
        """The agent's changes of the workspace, as a unified diff; None if its earlier state was not recorded."""
        ...

    @property
    def turn_outcomes(self) -> tuple[tuple[Outcome, ...], ...]:
        """Of a conversation: the outcomes of the turns that were judged as soon as they had ended, in order."""
        ...

    def ask_judge(self, question: Question[T], votes: int | None = None) -> Poll[T] | None:
        """The judge's answers: ``votes`` of them, by default as many as configured; None: no judge is configured."""
        ...

    def model_access(self, max_calls: int) -> AbstractContextManager[ModelAccess] | None:
        """Access to the judge's model for one program, for so many questions at most; None: no judge is configured."""
        ...

    def check(self, case_id: str) -> tuple[Outcome, ...]:
        """The outcomes of the case's check function, which runs in the suite program."""
        ...

    def call_function(self, number: int, answer: Mapping[str, object]) -> FunctionReply:
        """What a grading function of the suite program says about an answer."""
        ...


class TurnJudge(Protocol):
    """Judges the turns of a conversation while it goes on: each sees the workspace as that turn has left it."""

    def judge_turn(self, context: AssertionContext) -> tuple[Outcome, ...]:
        """The outcomes of the last turn in the report of ``context``."""
        ...

    def goes_on(self, outcomes: tuple[Outcome, ...]) -> bool:
        """Whether there is a next turn after one with these outcomes."""
        ...


class Assertion(Protocol):
    """A rule about what happened in a session.

    ``name`` is unique in its case; ``type`` is the class that reports show. ``diagnostic``: also evaluated after
    trouble, when other assertions are skipped.
    """

    @property
    def name(self) -> str: ...
    @property
    def type(self) -> str: ...
    @property
    def diagnostic(self) -> bool: ...
    @property
    def fail_fast(self) -> bool:
        """Whether later assertions are skipped once this one has failed."""
        ...

    def judge(self, context: AssertionContext) -> tuple[Outcome, ...]:
        """Evaluate the assertion. One outcome; for a check one per collected failure."""
        ...


class CaseContainer(Protocol):
    """The container of a session. All operations raise OSError if it is gone, or the engine refuses."""

    @property
    def image_user(self) -> str:
        """The user that the image sets."""
        ...

    @property
    def workdir(self) -> str:
        """The folder that the agent works in; absolute."""
        ...

    def put(self, folder: Path, path: str) -> None:
        """Copy a folder of this machine to the absolute ``path``, with root as the owner and everybody as reader.

        What is there already stays, unless it has the path of one of the files. Links are copied as links.
        """
        ...

    def read(self, path: str, size: int) -> bytes | None:
        """The content of a regular file; None: there is none, or it has more than ``size`` bytes."""
        ...

    def run(self, command: ContainerCommand) -> CommandResult:
        """Run a program to its end, with its output in artifacts. Afterwards no process is left in the container."""
        ...

    def pause(self, seconds: float) -> None:
        """Wait. Raises InterruptedError, an OSError, once the run is cancelled."""
        ...


class ContainerPreparation(Protocol):
    """What is done in the container of a session before its agent starts."""

    def prepare(self, container: CaseContainer) -> Trouble | None:
        """Prepare the container; why the session cannot begin, if so. Raises OSError."""
        ...


class ContainerSolution(Protocol):
    """A reference solution that is a program: it is run in the container in place of an agent."""

    @property
    def command(self) -> tuple[str, ...]:
        """What is run, in the working directory of the agent."""
        ...

    @property
    def env(self) -> tuple[tuple[str, str], ...]:
        """Environment variables for it."""
        ...

    def preparation(self, usual: ContainerPreparation | None) -> ContainerPreparation:
        """The preparation of a session that runs the solution, in place of the usual one."""
        ...
