"""What the assertions of one session may look at; fulfils ``assertions.Subject`` with real doors."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

from skillgym_action.camel import to_json
from skillgym_action.session import Ending, Invocation

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from skillgym_action.domain import Execution, Judgement, Outcome
    from skillgym_action.effects.files import WorkspaceFiles
    from skillgym_action.effects.workspace import Workspace
    from skillgym_action.session import Capture
    from skillgym_action.session_report import SessionReport
    from skillgym_action.verdicts import FailureClass
    from skillgym_action.world import World

TAIL = 8 * 1024


@dataclass(frozen=True, slots=True)
class Ran:
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
        return self.capture.stdout.tail(TAIL) + self.capture.stderr.tail(TAIL)


class SessionSubject:
    """One session's subject."""

    def __init__(self, world: World, execution: Execution, workspace: Workspace, folder: Path) -> None:
        """``folder`` takes the logs of commands run for assertions."""
        self._world, self._execution, self._workspace, self._folder = world, execution, workspace, folder
        self._numbers: Iterator[int] = count(1)
        self.report: SessionReport | None = None

    @property
    def files(self) -> WorkspaceFiles:
        """The workspace after the agent."""
        return self._workspace.files

    @property
    def timeout(self) -> float:
        """The execution's time limit in seconds."""
        return self._execution.timeout

    def run(self, command: str, timeout: float) -> Ran:
        """A shell command at the workspace root, with a home of its own and no secrets."""
        name = f"command-{next(self._numbers)}"
        invocation = Invocation(
            argv=("sh", "-c", command), cwd=self._workspace.path, timeout=timeout, env=self._workspace.grader_env()
        )
        capture = self._world.processes.run(
            invocation, stdout=self._folder / f"{name}.stdout.log", stderr=self._folder / f"{name}.stderr.log"
        )
        self._world.directory.redact(self._folder / f"{name}.stdout.log", self._folder / f"{name}.stderr.log")
        return Ran(capture)

    def check(self, case_id: str) -> tuple[Outcome, ...]:
        """What the suite program says of the session."""
        if self.report is None:
            return ()
        return self._world.hosts.judge(self._execution.suite.file, case_id, self.report)

    def classify(self, case_id: str, judgement: Judgement) -> FailureClass | None:
        """What the suite program's classifier says; it sees the result as checks see reports."""
        failure = judgement.failure
        result = {
            "caseId": case_id,
            "runnerId": self._execution.runner.id,
            "status": str(judgement.status),
            "passed": False,
            "failureOrigin": judgement.origin,
            "failureClass": to_json(judgement.failure_class) if judgement.failure_class else None,
            "error": {"name": failure.name, "message": failure.message} if failure else None,
            "report": to_json(self.report) if self.report else None,
        }
        return self._world.hosts.classify(self._execution.suite.file, case_id, result)
