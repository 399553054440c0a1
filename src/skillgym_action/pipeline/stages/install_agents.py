"""Stage: plan -> plan whose runners know the program of their agent.

That is the command of the runner; else the CLI on PATH; else one that skillgym-action installed before, or installs
now. If a runner sets a version, the CLI on PATH is not used. Without a key nothing is installed or started.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING

from skillgym_action.agents import AGENTS
from skillgym_action.agents.accounts import LOGIN_PAGE, secrets_in, settings_with_account
from skillgym_action.agents.installation import check_with_node, is_package_of, notes_on_program
from skillgym_action.model.errors import ConfigError, InstallError, SandboxError
from skillgym_action.model.session_report import Trouble
from skillgym_action.settings.runners import NO_MODEL
from skillgym_action.text.escaping import terminal_line, terminal_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from skillgym_action.model.containers import ContainerSpec
    from skillgym_action.model.execution import Execution, Plan
    from skillgym_action.model.runner import Runner
    from skillgym_action.model.session import AgentConfig
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

    with_accounts = {id(runner): _with_account(services, runner) for runner in plan.runners}
    executions = [
        replace(one, runner=with_accounts.get(id(one.runner)) or _with_account(services, one.runner))
        for one in plan.executions
    ]
    used = {id(one.runner): one.runner for one in executions}.values()
    with_login = partial(_with_login, services, planned=executions, folders=folders, find=find, here=options.login)
    with_logins = {id(runner): with_login(runner) for runner in used}
    executions = [replace(one, runner=with_logins.get(id(one.runner), one.runner)) for one in executions]
    of_plan = (with_accounts[id(runner)] for runner in plan.runners)
    with_program = partial(_with_program, services, find=find, install=options.install_agents)
    return replace(
        plan,
        executions=tuple(
            _in_container(services, execution, spec, find)
            if (spec := _container_of(execution)) and services.containers and not execution.runner.trouble
            else replace(execution, runner=checked(with_program(execution.runner, folders[execution.runner.id])))
            for execution in executions
        ),
        runners=tuple(with_logins.get(id(runner), runner) for runner in of_plan),
    )


def _with_login(
    services: Services,
    runner: Runner,
    planned: Sequence[Execution],
    folders: Mapping[str, set[Path]],
    find: Find,
    *,
    here: bool,
) -> Runner:
    """The runner with the caller's own login, if it has no other account and the login may be used.

    ``here``: the caller is at this machine.
    """
    agent, logins = runner.agent, services.installs.logins
    asked = agent.account.asked
    if runner.trouble or agent.account.way:
        return runner
    if asked not in {None, "login"} or not logins.is_there(agent.type):
        return _troubled(runner, services.installs.accounts.missing(agent, ()) if asked else None)
    executions = [one for one in planned if one.runner is runner]
    why = None if here else "sessions run on a worker"
    if why := why or next(_login_refusals(services, executions, folders[runner.id]), None):
        message = f"the login of {agent.type} is not used: {why}; see {LOGIN_PAGE}"
        if not asked:
            services.observer.progress(terminal_line(f"note: {runner.id}: {message}"))
        return _troubled(runner, message if asked else None)
    program = agent.command or _cli(services, agent, find)
    if isinstance(program, Trouble):
        return replace(runner, trouble=program)
    account, secrets = logins.account(agent, program, max(one.timeout for one in executions))
    services.directory.redactor.learn(secrets)
    if account.problem:
        return _troubled(runner, f"{account.problem}; see {LOGIN_PAGE}")
    plan = f"{agent.type} uses your own login: its sessions count against your plan; --auth key refuses it"
    more = "" if agent.model else f"; {NO_MODEL}"
    services.observer.progress(terminal_line(f"note: {runner.id}: {plan}{more}"))
    return replace(runner, agent=replace(agent, account=account))


def _troubled(runner: Runner, message: str | None) -> Runner:
    return replace(runner, trouble=Trouble(kind="auth", message=message)) if message else runner


def _cli(services: Services, agent: AgentConfig, find: Find) -> tuple[str, ...] | Trouble:
    """The command of the agent's CLI, which is installed if need be."""
    on_path = services.installs.find_program(str(AGENTS[agent.type].executable), agent.env.get("PATH"))
    if on_path and not agent.version:
        return (on_path,)
    found = find(agent.type, agent.version)
    return found if isinstance(found, Trouble) else (str(found),)


def _login_refusals(services: Services, executions: Iterable[Execution], folders: set[Path]) -> Iterator[str]:
    """Why the caller's login must not be used for a runner's executions."""
    if services.processes.user:
        yield "agents run as another user (--agent-user), who needs a key or a token of `claude setup-token`"
    if services.suite_source.is_separate or services.untrusted_configuration:
        yield "the checkout is not trusted"
    for execution in executions:
        if _container_of(execution):
            yield "sessions run in containers"
        agent, arm, case = execution.agent, execution.arm, execution.case.agent
        if any(settings_with_account(agent.type, folders)):
            yield "a settings file of the workspace may name an account"
        overlaid = [*arm.files, *arm.home] if arm else []
        if any(name.endswith(AGENTS[agent.type].settings_files) for name in (file.path for file in overlaid)):
            yield f"the arm {execution.arm_name} writes settings of the agent"
        variables = dict((*agent.env.items(), *(case.env if case else ()), *(arm.env if arm else ())))
        if why := services.installs.logins.refusal(agent, variables):
            yield why


def _with_account(services: Services, runner: Runner) -> Runner:
    """The runner with the credentials that its variables name a file for; with the trouble if it has no account."""
    agent = runner.agent
    if agent.account.problem or not agent.account.files:
        return _troubled(runner, agent.account.problem)
    repository = services.repository
    try:
        tracked = [repository.root / found.path for found in repository.tracked_paths()]
        agent, paths = services.installs.accounts.with_files(agent, tracked)
    except ConfigError as error:
        return _troubled(runner, str(error))
    services.directory.redactor.learn([one for text in agent.account.contents.values() for one in secrets_in(text)])
    inside = (path.relative_to(repository.root).as_posix() for path in paths if path.is_relative_to(repository.root))
    services.workspaces.hide(inside)
    return replace(runner, agent=agent)


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
    if runner.trouble or agent.command or not info.package or not info.executable:
        return runner
    on_path = None if agent.version else services.installs.find_program(info.executable, agent.env.get("PATH"))
    if on_path and not is_package_of(agent.type, on_path):
        return runner  # a wrapper may have an account of its own
    there = on_path or install or services.installs.installed_program(agent.type, agent.version)
    if there and (missing := services.installs.accounts.missing(agent, folders)):
        return replace(runner, trouble=Trouble(kind="auth", message=missing))
    if on_path:
        return runner
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
