"""The commands of a session beside the agent: bootstrap and hooks before it, hooks after it.

If a command before the agent fails, the agent is not started. If one after it fails, that is only logged.
"""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING

from skillgym_action.agents import AGENTS
from skillgym_action.model.errors import InstallError, SandboxError
from skillgym_action.model.hooks import REPO_BUNDLE
from skillgym_action.model.judgement import Judgement
from skillgym_action.model.session import Ending, Invocation
from skillgym_action.model.session_report import Trouble
from skillgym_action.model.suite import WorkspaceSpec
from skillgym_action.model.verdicts import Status
from skillgym_action.sessions.case_container import container_of_session
from skillgym_action.system.files.globs import matches
from skillgym_action.text.escaping import terminal_line, terminal_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from skillgym_action.model.arm import Arm
    from skillgym_action.model.containers import ContainerSpec
    from skillgym_action.model.execution import Execution
    from skillgym_action.model.hooks import Hook, Hooks, RepositoryFetch
    from skillgym_action.model.session import Capture
    from skillgym_action.services import Services
    from skillgym_action.workspaces.workspace import SessionWorkspace

HOOK_TAIL_BYTES = 500  # of stderr, in the message about a failed hook


class NotPreparedError(Exception):
    """A workspace could not be prepared. ``workspace``: as far as it was created, to be removed; None: it was not."""

    def __init__(self, kind: str, message: str, workspace: SessionWorkspace | None = None) -> None:
        super().__init__(message)
        self.trouble = Trouble(kind=kind, message=message)
        self.workspace = workspace


def workspace_spec(execution: Execution) -> WorkspaceSpec:
    """The workspace of the session: the one of the case or the suite, else the agent's configured directory.

    Recordings of sessions in a user's directory are replayed in a copy: applying the recorded changes to the directory
    itself would overwrite what the user has done since.
    """
    spec = execution.case.workspace or execution.suite.workspace
    if execution.arm:
        spec = replace(spec, skills=execution.arm.skills(spec.skills))
    cwd = execution.runner.agent.cwd
    if cwd and spec == WorkspaceSpec(hooks=spec.hooks, limits=spec.limits):
        return WorkspaceSpec(mode="none", source="empty", cwd=cwd, hooks=spec.hooks)
    if spec.mode == "none" and AGENTS[execution.runner.agent.type].replays_changes:
        return replace(spec, mode="isolated", source="directory")
    return spec


def shared_workspace_name(execution: Execution, *, one_user: bool) -> str | None:
    """The name of the workspace that the session shares with others, with which it cannot run in parallel; or None.

    ``one_user``: agents run as one configured user. Sessions outside of workspaces (mode ``none``) then share the name
    "", since at its end each of them ends all processes of that user.
    """
    spec = workspace_spec(execution)
    if spec.mode == "none" and one_user:
        return ""
    is_shared = spec.mode == "shared" or (
        spec.mode == "none" and bool(spec.hooks.enclosing(execution.runner.hooks).before_all)
    )
    return _shared_name(execution) if is_shared else None


def is_of_skill(execution: Execution) -> bool:
    """Whether the suite is about a skill, also in a session that does without it, such as one of another arm."""
    spec = execution.case.workspace or execution.suite.workspace
    return bool(spec.skills or spec.removed_skills)


def untrusted_skill(services: Services, execution: Execution) -> Judgement | None:
    """The judgement on an execution whose skill under test an untrusted commit may have written; None: it may run.

    So with what an arm puts into the agent's home. Both instruct agents, as the agent configuration does that such a
    commit cannot bring in.
    """
    if services.untrusted_configuration is None:
        return None
    arm = execution.arm
    if arm and (arm.home or (arm.of_suite and arm.changes_agent)) and not services.suite_source.is_separate:
        reason = f"the arm {arm.name} configures the agent, and the commit is not trusted"
        reason += "; to compare with it, set allow-untrusted: with-configuration"
        return Judgement(status=Status.SKIPPED, reason=reason)
    if not is_of_skill(execution):
        return None
    reason = "the skill under test is of an untrusted commit; to test it, set allow-untrusted: with-configuration"
    return Judgement(status=Status.SKIPPED, reason=reason)


def _shared_name(execution: Execution) -> str:
    """Suites have one shared workspace; suites with their own runners, whose hooks prepare it, one per runner.

    With arms there is one for each arm.
    """
    own = f" {execution.runner.id}" if execution.suite.runners or execution.suite.other_runners else ""
    return f"{execution.suite.path}{own}{f' {execution.arm.name}' if execution.arm else ''}"


def prepare_workspace(services: Services, execution: Execution, folder: Path) -> SessionWorkspace:
    """Create a workspace and prepare it for the agent; ``folder`` is for logs. Raises NotPreparedError."""
    commands = _SessionCommands(services, execution, folder)
    try:
        if commands.spec.mode == "none":
            directory = commands.spec.cwd or services.repository.root
            if services.untrusted_configuration:
                services.untrusted_configuration.refuse(directory, services.repository.root)
            services.suite_source.refuse_inside(directory)
        if commands.is_shared:
            workspace = services.workspaces.shared(commands.name, commands.spec, commands.prepare_shared)
            commands.run_before_each(workspace)
            commands.remove_untrusted_configuration(workspace)
            workspace.record_state()
            if workspace.baseline and commands.hooks.before_each:
                workspace.baseline.count_from_now()
        else:
            agent = AGENTS[execution.runner.agent.type]
            workspace = services.workspaces.create(commands.spec, agent.skills, plugins=agent.plugins)
            try:
                commands.start_container(workspace)
                commands.prepare_own(workspace)
            except OSError:
                workspace.close()
                raise
    except OSError as error:
        raise NotPreparedError("workspace", f"the workspace could not be created: {error}") from error
    if not workspace.path.is_dir():
        raise NotPreparedError("workspace", f"the workspace {workspace.path} does not exist")
    return workspace


def run_hooks_after_agent(services: Services, execution: Execution, workspace: SessionWorkspace, folder: Path) -> None:
    """Run ``after_each`` after the agent and before the judgement, if the suite wants it to be judged."""
    commands = _SessionCommands(services, execution, folder)
    if commands.spec.judge_after_hooks:
        commands.run_optional("after_each", commands.hooks.after_each, workspace)


def run_hooks_after_session(
    services: Services, execution: Execution, workspace: SessionWorkspace, folder: Path
) -> None:
    """Run ``after_each`` after the judgement, unless it ran before; ``after_all``, unless the workspace is shared."""
    commands = _SessionCommands(services, execution, folder)
    if not commands.spec.judge_after_hooks:
        commands.run_optional("after_each", commands.hooks.after_each, workspace)
    if not commands.is_shared:
        commands.run_optional("after_all", commands.hooks.after_all, workspace)


def run_hooks_after_all(services: Services, execution: Execution) -> None:
    """Run ``after_all`` after the last session in a shared workspace, and remove the workspace."""
    commands = _SessionCommands(services, execution, services.directory.open_path / execution.directory / "after-all")
    if commands.is_shared and commands.hooks.after_all and services.workspaces.has_shared(commands.name):
        commands.folder = services.directory.folder(f"{execution.directory}/after-all")
        workspace = services.workspaces.shared(commands.name, commands.spec, lambda _: None)
        commands.run_optional("after_all", commands.hooks.after_all, workspace)
        services.workspaces.discard(workspace)


def seconds_after_all(execution: Execution) -> float:
    """The sum of the time limits of what ``run_hooks_after_all`` runs, in seconds."""
    hooks = workspace_spec(execution).hooks.enclosing(execution.runner.hooks)
    is_shared = shared_workspace_name(execution, one_user=False) is not None
    return sum(hook.timeout for hook in hooks.after_all) if is_shared else 0.0


class _SessionCommands:
    """The commands of one session. ``hooks`` are those of the suite and of the runner."""

    def __init__(self, services: Services, execution: Execution, folder: Path) -> None:
        self.services, self.execution, self.folder = services, execution, folder
        self.spec, self.arm = workspace_spec(execution), execution.arm
        self.hooks: Hooks = self.spec.hooks.enclosing(execution.runner.hooks)

    @property
    def name(self) -> str:
        """The name of the workspace if it is shared."""
        return _shared_name(self.execution)

    @property
    def is_shared(self) -> bool:
        """Whether other sessions use the directory, too."""
        return shared_workspace_name(self.execution, one_user=False) is not None

    def check_access(self, workspace: SessionWorkspace) -> None:
        """Check that the agent's user can work in a directory of the user's. Raises NotPreparedError.

        Read-only access is logged, once per directory. Replayed recordings need no access.
        """
        if self.spec.mode != "none" or AGENTS[self.execution.runner.agent.type].replays:
            return
        works, changes = workspace.access()
        path, user = terminal_line(str(workspace.path)), terminal_line(str(workspace.user))
        if not works:
            message = (
                f"the user {user} cannot work in {path}; "
                "give that user read access, or use a copy as the suite's workspace"
            )
            raise NotPreparedError("workspace", message, workspace)
        if not changes and self.services.workspaces.is_first_read_only_use(workspace.path):
            self.services.observer.progress(f"the user {user} can read {path}, but not change it")

    def prepare_shared(self, workspace: SessionWorkspace) -> None:
        """Prepare a shared workspace, before its first session."""
        self.check_access(workspace)
        self.apply_arm(workspace)
        self.run_before_all(workspace)
        self.remove_for_arm(workspace)

    def start_container(self, workspace: SessionWorkspace) -> None:
        """Make the container of the session, if it runs in one. Raises NotPreparedError."""
        container, containers = self.spec.container, self.services.containers
        if container is None:
            return
        if containers is None:
            raise NotPreparedError("container", "the session needs a container, and there is no sandbox", workspace)
        try:
            containers().start(workspace, container, self.execution.agent, self.execution.limits)
        except (SandboxError, InstallError, OSError) as error:
            raise NotPreparedError("container", f"the container could not be made: {error}", workspace) from error
        if self.spec.preparation:
            self.prepare_container(workspace, container)

    def prepare_container(self, workspace: SessionWorkspace, spec: ContainerSpec) -> None:
        """Do what the format of the suite does before an agent starts. Raises NotPreparedError."""
        numbers = count(1)

        def logs() -> tuple[Path, Path]:
            name = f"prepare-{next(numbers)}"
            return self.folder / f"{name}.stdout.log", self.folder / f"{name}.stderr.log"

        try:
            inside = container_of_session(self.services, workspace, spec, logs)
            trouble = self.spec.preparation.prepare(inside) if self.spec.preparation else None
        except OSError as error:
            message = f"the container cannot be prepared: {error}"
            raise NotPreparedError("container", message, workspace) from error
        if trouble:
            raise NotPreparedError(trouble.kind, trouble.message, workspace)

    def prepare_own(self, workspace: SessionWorkspace) -> None:
        """Prepare a workspace that is not shared. Its state is recorded then: changes count from there."""
        self.check_access(workspace)
        changed = self.arm is not None and self.arm.changes_files
        if self.spec.bootstrap is None and not self.hooks.before_all and not self.hooks.before_each and not changed:
            self.remove_untrusted_configuration(workspace)
            workspace.record_state()
            return
        with workspace.bootstrapping():
            self.apply_arm(workspace)
            self.run_before_all(workspace)
            self.run_before_each(workspace)
            self.remove_for_arm(workspace)
            self.remove_untrusted_configuration(workspace)

    def apply_arm(self, workspace: SessionWorkspace) -> None:
        """Remove what the arm removes, then write its files. Raises NotPreparedError, OSError."""
        if self.arm is None or not self.arm.changes_files:
            return
        if not workspace.is_own and self.spec.mode == "none":
            message = (
                f"the arm {self.arm.name} adds or removes files, and agents of this suite work in {workspace.path}"
            )
            raise NotPreparedError("workspace", f"{message} itself; use a copy as the suite's workspace", workspace)
        self.remove_for_arm(workspace)
        for file in self.arm.files:
            workspace.write_file(file.path, file.content, file.mode)

    def remove_for_arm(self, workspace: SessionWorkspace) -> None:
        """Remove what the arm removes, except its own files; after the bootstrap, too, which may have made it."""
        if self.arm and self.arm.remove:
            workspace.remove_paths(removed_by(self.arm, workspace.inside.snapshot()))

    def remove_untrusted_configuration(self, workspace: SessionWorkspace) -> None:
        """Remove untrusted agent configuration. Last of all, since templates and bootstraps may contain some, too."""
        if self.services.untrusted_configuration and self.spec.mode != "none":
            self.services.untrusted_configuration.remove_from(workspace)

    def run_before_all(self, workspace: SessionWorkspace) -> None:
        """Run the bootstrap command and the ``before_all`` hooks."""
        if bootstrap := self.spec.bootstrap:
            env = {**self._env(workspace), **dict(bootstrap.env)}
            invocation = Invocation(
                argv=workspace.reachable(bootstrap.argv, self.services.suites.root),
                cwd=workspace.places.workspace,
                timeout=bootstrap.timeout,
                env=env,
                identity=workspace.suite_identity,
                folders=workspace.folders,
            )
            self._run_required(invocation, "bootstrap", workspace)
        for hook in self.hooks.before_all:
            bundle = self._fetched(hook, hook.fetch, workspace) if hook.fetch else None
            invocation = self._invocation(hook, workspace, "__before_all__")
            fetched = {REPO_BUNDLE: str(bundle)} if bundle else {}
            self._run_required(replace(invocation, env={**invocation.env, **fetched}), "before_all", workspace)

    def _fetched(self, hook: Hook, fetch: RepositoryFetch, workspace: SessionWorkspace) -> Path | None:
        """The bundle of a repository; None if it cannot be fetched so: then the hook itself fetches it."""

        def fetched(target: Path) -> Path | None:
            path = workspace.places.home / "fetched.bundle"
            invocation = self._invocation(replace(hook, argv=fetch.argv), workspace, "__before_all__")
            fetching = replace(invocation, env={**invocation.env, REPO_BUNDLE: str(path)})
            failure = self._run(fetching, "fetch", workspace)
            found = () if failure else workspace.collect((path.name,), target)
            workspace.remove_from_home(path.name)
            return found[0] if found else None

        with self.services.processes.work_slots.released():
            return self.services.workspaces.fetched.bundle(fetch.url, fetched)

    def run_before_each(self, workspace: SessionWorkspace) -> None:
        """Run the ``before_each`` hooks."""
        for hook in self.hooks.before_each:
            self._run_required(self._invocation(hook, workspace, self.execution.case.id), "before_each", workspace)

    def run_optional(self, stage: str, hooks: tuple[Hook, ...], workspace: SessionWorkspace) -> None:
        """Run hooks after the agent; a failure is only logged. Nothing runs once the run is cancelled."""
        test_id = "__after_all__" if stage == "after_all" else self.execution.case.id
        for hook in () if self.services.cancelled else hooks:
            try:
                failure = self._run(self._invocation(hook, workspace, test_id), stage, workspace)
            except OSError as error:
                failure = str(error)
            if failure:
                where = f"{self.execution.suite.path}: {self.execution.title}"
                self.services.observer.progress(terminal_text(f"{where}: {stage}: {failure}"))

    def _run_required(self, invocation: Invocation, stage: str, workspace: SessionWorkspace) -> None:
        if failure := self._run(invocation, stage, workspace):
            message = failure if stage == "bootstrap" else f"{stage}: {failure}"
            raise NotPreparedError("workspace-bootstrap", message, workspace)

    def _run(self, invocation: Invocation, stage: str, workspace: SessionWorkspace) -> str | None:
        """Run a command, with logs. Why it failed; None: it succeeded."""
        logs = self.folder / f"{stage}.stdout.log", self.folder / f"{stage}.stderr.log"
        limited = replace(invocation, limits=self.execution.limits)
        programs = workspace.programs or self.services.processes
        capture = programs.run(limited, stdout=logs[0], stderr=logs[1])
        self.services.directory.redact(*logs)
        return _failure(invocation, capture)

    def _invocation(self, hook: Hook, workspace: SessionWorkspace, test_id: str) -> Invocation:
        case = self.execution.case
        values = {
            "workspace_path": str(workspace.places.workspace),
            "test_id": test_id,
            "eval_run_id": self.services.directory.path.name,
            "case_input": case.prompt,
            "case_metadata": case.metadata,
        }
        return Invocation(
            argv=tuple(_filled(word, values) for word in hook.argv),
            cwd=hook.cwd or workspace.places.workspace,
            timeout=hook.timeout,
            env=self._env(workspace),
            stdin=json.dumps(values, ensure_ascii=False),
            identity=workspace.suite_identity,
            folders=workspace.folders,
        )

    def _env(self, workspace: SessionWorkspace) -> dict[str, str]:
        env = {
            **workspace.grader_env(),
            "SKILLGYM_WORKSPACE": str(workspace.places.workspace),
        }
        if not workspace.in_container:
            env["SKILLGYM_OUTPUT_DIR"] = str(self.services.directory.path)
            env["SKILLGYM_ARTIFACT_DIR"] = str(self.folder)
        if self.is_shared:
            return env
        return env | {"SKILLGYM_CASE_ID": self.execution.case.id, "SKILLGYM_RUNNER_ID": self.execution.runner.id}


def removed_by(arm: Arm, paths: Iterable[str]) -> tuple[str, ...]:
    """The paths that the arm removes, each without what is below it; never what is above one of the arm's own files."""
    own = {file.path for file in arm.files}
    own |= {"/".join(path.split("/")[:depth]) for path in own for depth in range(1, path.count("/") + 1)}
    found: list[str] = []
    for path in sorted(paths):
        above = found and path.startswith(f"{found[-1]}/")
        if path not in own and not above and any(matches(path, pattern) for pattern in arm.remove):
            found.append(path)
    return tuple(found)


def _filled(word: str, values: Mapping[str, object]) -> str:
    """``word`` with the placeholders such as ``{{test_id}}`` replaced."""
    for name, value in values.items():
        if (placeholder := f"{{{{{name}}}}}") in word:
            word = word.replace(placeholder, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    return word


def _failure(invocation: Invocation, capture: Capture) -> str | None:
    if capture.ending is Ending.EXITED and not capture.exit_code:
        return None
    ending = {
        Ending.STOPPED: capture.stopped_for.message if capture.stopped_for else "ended",
        Ending.EXITED: f"exit code {capture.exit_code}",
        Ending.TIMED_OUT: f"timed out after {invocation.timeout:g} s",
    }.get(capture.ending, capture.ending)
    tail = capture.stderr.tail(HOOK_TAIL_BYTES).strip()
    return (capture.error or f"{invocation.argv[0]}: {ending}") + (f"\n{tail}" if tail else "")
