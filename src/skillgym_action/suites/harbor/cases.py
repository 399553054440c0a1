"""A task of Harbor as a case: its prompt, container, preparation, tests, and reference solution."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from skillgym_action.model.containers import ContainerBuild, ContainerCommand, ContainerSpec
from skillgym_action.model.errors import Location, Problem, SuiteError
from skillgym_action.model.limits import COMMAND_TAIL_BYTES
from skillgym_action.model.records import record
from skillgym_action.model.session import CaseAgentSettings
from skillgym_action.model.session_report import Trouble
from skillgym_action.model.suite import BenchmarkCase, WorkspaceSpec
from skillgym_action.suites.harbor.paths import (
    ENVIRONMENT,
    LOGS_PATH,
    ROOT,
    SOLUTION_PATH,
    SOLVE_PATH,
    TASK,
    TESTS,
    TESTS_PATH,
    as_shell,
    solution,
)
from skillgym_action.suites.harbor.task_settings import SettingsParser
from skillgym_action.suites.harbor.verifier import HarborVerifier

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from skillgym_action.model.assertion import CaseContainer, ContainerPreparation
    from skillgym_action.suites.harbor.task_files import TaskFolder
    from skillgym_action.suites.harbor.task_settings import Healthcheck, TaskSettings, Variables
    from skillgym_action.suites.values import SuiteValue

NO_IMAGE = "has neither docker_image nor environment/Dockerfile"
NO_FRONTEND = ("DEBIAN_FRONTEND", "noninteractive")


def task_case(
    task: TaskFolder, top: SuiteValue, environment: Mapping[str, str]
) -> tuple[BenchmarkCase, tuple[Problem, ...]]:
    """The case of a task, and warnings. ``environment``: of the tool. Raises SuiteError with all problems."""
    parser = SettingsParser(top, environment)
    settings = parser.unless(parser.settings)
    own = [*task.problems()]
    prompt = None if own else parser.unless(task.instruction)
    if settings and not settings.image and not task.build_context:
        own.append(top.member("environment").problem(NO_IMAGE, "write one of them"))
    problems = list(dict.fromkeys((*own, *parser.problems)))
    if settings is None or prompt is None or problems:
        raise SuiteError.of(*problems, *(one for one in parser.warnings if one not in problems))
    location = Location(path=task.shown(TASK), line=1)
    case = BenchmarkCase(
        id=task.folder.name,
        prompt=prompt,
        location=location,
        assertions=(_verifier(task, settings, location),),
        tags=settings.tags,
        timeout=settings.agent_timeout,
        metadata=settings.metadata or None,
        workspace=_workspace(task, settings),
        threshold=1.0,
        averaged=True,
        title=settings.title,
        agent=CaseAgentSettings(env=settings.env) if settings.env else None,
        solution=_solution(task, settings),
    )
    return case, (*parser.warnings, *task.warnings())


def _verifier(task: TaskFolder, settings: TaskSettings, location: Location) -> HarborVerifier:
    return HarborVerifier(
        tests=task.folder / TESTS,
        timeout=settings.verifier_timeout,
        user=settings.verifier_user,
        env=_merged(settings.env, settings.verifier_env),
        digest=task.digest(TESTS),
        location=location,
    )


def _workspace(task: TaskFolder, settings: TaskSettings) -> WorkspaceSpec:
    """The container, in which the agent works in the folder that the task or its image names."""
    context = None if settings.image else task.build_context
    brings_files = settings.image is not None and task.build_context is None and (task.folder / ENVIRONMENT).is_dir()
    return WorkspaceSpec(
        mode="isolated",
        source="empty",
        container=ContainerSpec(
            image=settings.image,
            build=ContainerBuild(context=context) if context else None,
            workdir=settings.workdir,
            user=settings.agent_user,
            limits=settings.limits,
            network=settings.network,
        ),
        preparation=TaskPreparation(
            env=settings.env,
            environment=task.folder / ENVIRONMENT if brings_files else None,
            digest=task.digest(ENVIRONMENT) if brings_files else "",
            healthcheck=settings.healthcheck,
        ),
    )


def _solution(task: TaskFolder, settings: TaskSettings) -> TaskSolution | None:
    folder = task.solution
    env = _merged((NO_FRONTEND,), settings.env, settings.solution_env)
    return TaskSolution(folder=folder, env=env) if folder else None


def _merged(*some: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """Variables in order, of which later ones win."""
    return tuple({name: value for variables in some for name, value in variables}.items())


_PREPARE_SECONDS = 120.0
_HIDE = f"rm -rf {TESTS_PATH} {SOLUTION_PATH} && mkdir -p {LOGS_PATH}/agent {LOGS_PATH}/verifier {LOGS_PATH}/artifacts"


_HIDE += f" && chmod 777 {LOGS_PATH}/agent {LOGS_PATH}/verifier {LOGS_PATH}/artifacts"


_EXECUTABLE = 'chmod 755 "$1"'


@record
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


@record
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
