"""What is done in the container of a task before its agent starts."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from skillgym_action.harbor.container_paths import (
    LOGS_PATH,
    ROOT,
    SOLUTION_PATH,
    SOLVE_PATH,
    TESTS_PATH,
    as_shell,
    solution,
)
from skillgym_action.limits import COMMAND_TAIL_BYTES
from skillgym_action.model.containers import ContainerCommand
from skillgym_action.model.session_report import Trouble

if TYPE_CHECKING:
    from pathlib import Path

    from skillgym_action.harbor.task_settings import Healthcheck, Variables
    from skillgym_action.model.case_container import CaseContainer, ContainerPreparation

_PREPARE_SECONDS = 120.0
_HIDE = f"rm -rf {TESTS_PATH} {SOLUTION_PATH} && mkdir -p {LOGS_PATH}/agent {LOGS_PATH}/verifier {LOGS_PATH}/artifacts"
_HIDE += f" && chmod 777 {LOGS_PATH}/agent {LOGS_PATH}/verifier {LOGS_PATH}/artifacts"
_EXECUTABLE = 'chmod 755 "$1"'


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskPreparation:
    """Removes what an image has at the paths of tests and solution, makes the folders of logs, waits until it is ready.

    ``environment``: a folder whose content the agent finds where it works, of a task whose image is not built. ``env``:
    of the task. ``digest``: of the content of that folder.
    ``solution``: the folder of the reference solution that the session runs; None: it runs an agent.
    """

    env: Variables = ()
    environment: Path | None = None
    digest: str = ""
    healthcheck: Healthcheck | None = None
    solution: Path | None = None

    def prepare(self, container: CaseContainer) -> Trouble | None:
        """Prepare the container. The trouble: a command that failed, or a container that does not get ready."""
        made = container.run(ContainerCommand(argv=as_shell(_HIDE), user=ROOT, cwd="/", timeout=_PREPARE_SECONDS))
        if made.exit_code != 0:
            return _trouble(f"the container cannot be prepared: {_last_lines(made.tail)}")
        if self.environment:
            container.put(self.environment, container.workdir)
        if trouble := self._until_ready(container):
            return trouble
        if self.solution:
            container.put(self.solution, SOLUTION_PATH)
            command = as_shell(_EXECUTABLE, SOLVE_PATH)
            container.run(
                ContainerCommand(argv=command, user=ROOT, cwd="/", timeout=_PREPARE_SECONDS, keep_processes=True)
            )
        return None

    def _until_ready(self, container: CaseContainer) -> Trouble | None:
        """Try the health check until it succeeds, or has failed too often after the start period."""
        check = self.healthcheck
        if check is None:
            return None
        starting = time.monotonic() + check.start_period
        failed = 0
        while True:
            began = time.monotonic()
            command = ContainerCommand(
                argv=as_shell(check.command),
                env=dict(self.env),
                user=container.image_user,
                timeout=check.timeout,
                keep_processes=True,
            )
            tried = container.run(command)
            if tried.exit_code == 0:
                return None
            failed += began >= starting
            if failed >= check.retries:
                message = f"the health check failed {check.retries} times: {check.command}: {_last_lines(tried.tail)}"
                return _trouble(message)
            container.pause(check.interval if began >= starting else check.start_interval)


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskSolution:
    """The reference solution of a task, run as Harbor's oracle runs it. ``env``: variables for it."""

    folder: Path
    env: Variables = ()

    @property
    def command(self) -> tuple[str, ...]:
        return solution()

    def preparation(self, usual: ContainerPreparation | None) -> ContainerPreparation:
        """The usual preparation of the task, which then brings the solution in."""
        usual = usual if isinstance(usual, TaskPreparation) else TaskPreparation()
        return replace(usual, solution=self.folder)


def _trouble(message: str) -> Trouble:
    return Trouble(kind="container", message=message)


def _last_lines(text: str) -> str:
    return " ".join(text[-COMMAND_TAIL_BYTES:].split())[-300:] or "it printed nothing"
