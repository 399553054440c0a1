"""A task of Harbor as a case: its prompt, its container, its tests, and its reference solution."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillgym_action.harbor.preparation import TaskPreparation, TaskSolution
from skillgym_action.harbor.suite_names import ENVIRONMENT, TASK, TESTS
from skillgym_action.harbor.task_settings import SettingsParser
from skillgym_action.harbor.verifier import HarborVerifier
from skillgym_action.model.containers import ContainerBuild, ContainerSpec
from skillgym_action.model.errors import Location, Problem, SuiteError
from skillgym_action.model.session import CaseAgentSettings
from skillgym_action.model.suite import BenchmarkCase, WorkspaceSpec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skillgym_action.documents.suite_values import SuiteValue
    from skillgym_action.harbor.task_files import TaskFolder
    from skillgym_action.harbor.task_settings import TaskSettings

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
