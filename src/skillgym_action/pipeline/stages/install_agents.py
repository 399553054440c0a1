"""Stage: plan -> plan whose runners know the program of their agent.

That is the command of the runner; else the CLI on PATH; else one that skillgym-action installed before, or installs
now. If a runner sets a version, the CLI on PATH is not used. Without a key nothing is installed or started.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING

from skillgym_action.agents import AGENTS
from skillgym_action.agents.installation import check_with_node, notes_on_program
from skillgym_action.model.errors import InstallError, SandboxError
from skillgym_action.model.session_report import Trouble
from skillgym_action.text.escaping import terminal_text

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from skillgym_action.model.containers import ContainerSpec
    from skillgym_action.model.execution import Execution, Plan
    from skillgym_action.model.runner import Runner
    from skillgym_action.services import Services
    from skillgym_action.settings.slices import InstallAgentsOptions
    from skillgym_action.workspaces.session_containers import AgentBundle

    Find = Callable[[str, str | None], Path | Trouble]


def install_agents(services: Services, plan: Plan, options: InstallAgentsOptions) -> Plan:
    """The plan; each runner has the program of its agent, or the trouble that it is missing."""

    @cache
    def find(agent: str, version: str | None) -> Path | Trouble:
        try:
            return _program(services, agent, version, install=options.install_agents)
        except InstallError as error:
            return Trouble(kind="agent-missing", message=str(error))

    folders: dict[str, set[Path]] = {}
    for execution in plan.executions:
        folders.setdefault(execution.runner.id, set()).update(_settings_folders(services, execution))

    @cache
    def problem(agent: str, command: tuple[str, ...], path: str | None) -> Trouble | None:
        try:
            for note in notes_on_program(services.installs, agent, command, path):
                services.observer.progress(terminal_text(f"note: {note}"))
        except InstallError as error:
            return Trouble(kind="agent-missing", message=str(error))
        return None

    def checked(runner: Runner) -> Runner:
        agent = runner.agent
        path = agent.env.get("PATH")
        return replace(runner, trouble=runner.trouble or problem(agent.type, agent.command, path))

    with_program = partial(_with_program, services, find=find, install=options.install_agents)
    executions = (
        _in_container(services, execution, spec, find)
        if (spec := _container_of(execution)) and services.containers
        else replace(execution, runner=checked(with_program(execution.runner, folders[execution.runner.id])))
        for execution in plan.executions
    )
    return replace(plan, executions=tuple(executions))


def _container_of(execution: Execution) -> ContainerSpec | None:
    return (execution.case.workspace or execution.suite.workspace).container


def _in_container(services: Services, execution: Execution, spec: ContainerSpec, find: Find) -> Execution:
    """The execution, once the agent's program in its container is known; with the trouble if it is missing."""
    agent = execution.agent

    def bundle() -> AgentBundle:
        from skillgym_action.workspaces.session_containers import agent_bundle

        program = find(agent.type, agent.version)
        if isinstance(program, Trouble):
            raise InstallError(program.message)
        made = agent_bundle(agent.type, program, services.processes.environment.get("PATH"))
        if made.node:
            check_with_node(services.installs, agent.type, program, made.node)
        return made

    try:
        if services.containers and not services.cancelled:
            services.containers().agent(spec, agent, bundle)
    except InstallError as error:
        return _with_trouble(execution, "agent-missing", error)
    except (SandboxError, OSError) as error:
        return _with_trouble(execution, "container", error)
    return execution


def _with_trouble(execution: Execution, kind: str, error: Exception) -> Execution:
    return replace(execution, runner=replace(execution.runner, trouble=Trouble(kind=kind, message=str(error))))


def _settings_folders(services: Services, execution: Execution) -> set[Path]:
    """Where the workspace of an execution may come from, with the settings of agents."""
    workspace = execution.case.workspace or execution.suite.workspace
    named = {folder for folder in (workspace.template, workspace.cwd) if folder}
    return named | {services.cwd, services.repository.root, services.suites.root, execution.suite.file.parent}


def _with_program(services: Services, runner: Runner, folders: set[Path], find: Find, *, install: bool) -> Runner:
    agent, info = runner.agent, AGENTS[runner.agent.type]
    if agent.command or not info.package or not info.executable:
        return runner
    if not agent.version and services.installs.find_program(info.executable, agent.env.get("PATH")):
        return runner
    there = install or services.installs.installed_program(agent.type, agent.version)
    if there and (missing := services.installs.keys.missing_key(agent, folders)):
        return replace(runner, trouble=Trouble(kind="auth", message=missing))
    found = find(agent.type, agent.version)
    if isinstance(found, Trouble):
        return replace(runner, trouble=found)
    return replace(runner, agent=replace(agent, command=(str(found),)))


def _program(services: Services, agent: str, version: str | None, *, install: bool) -> Path:
    """The path of the agent's CLI. Raises InstallError if it is neither installed nor to be installed."""
    if existing := services.installs.installed_program(agent, version):
        return existing
    if not install:
        missing = f"version {version} is not installed" if version else f"{AGENTS[agent].executable} is not on PATH"
        wanted = f"{agent}@{version}" if version else agent
        remedy = f"use --install-agents, or skillgym-action doctor --install {wanted}"
        raise InstallError(f"{agent}: {missing}", remedy=remedy)
    installed = services.installs.install(agent, version)
    if installed.seconds is not None:
        how = "restored" if installed.restored else "installed"
        services.observer.progress(f"{how} {agent} {installed.version} in {installed.seconds:.1f} s")
    if installed.note:
        services.observer.progress(terminal_text(f"note: {installed.note}"))
    return installed.program
