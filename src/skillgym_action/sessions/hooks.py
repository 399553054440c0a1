"""Part of a session: what is run around the agent. Bootstrap and hooks before it, hooks after it.

What fails before keeps the agent from being started; what fails after is told, and changes nothing.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from skillgym_action.agents import AGENTS
from skillgym_action.limits import HOOK_TAIL_BYTES
from skillgym_action.model.session import Ending, Invocation
from skillgym_action.model.session_report import Trouble
from skillgym_action.model.suite import WorkspaceSpec
from skillgym_action.text.escaping import terminal_line

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from skillgym_action.model.execution import Execution
    from skillgym_action.model.hooks import Hook, Hooks
    from skillgym_action.model.session import Capture
    from skillgym_action.services import Services
    from skillgym_action.workspaces.workspace import Workspace


class NotPreparedError(Exception):
    """A workspace could not be made ready."""

    def __init__(self, kind: str, message: str, workspace: Workspace | None = None) -> None:
        """``kind`` is one of ``TROUBLES``; ``workspace`` is as far as it came."""
        super().__init__(message)
        self.trouble = Trouble(kind=kind, message=message)
        self.workspace = workspace


def workspace_spec(execution: Execution) -> WorkspaceSpec:
    """Where the session takes place. An agent with a place of its own stays there, unless somebody names another.

    What an agent once changed in a directory of the user's is played in a copy: the user has gone on since.
    """
    said = execution.case.workspace or execution.suite.workspace
    cwd = execution.runner.agent.cwd
    if cwd and said == WorkspaceSpec(hooks=said.hooks, limits=said.limits):
        return WorkspaceSpec(mode="none", source="empty", cwd=cwd, hooks=said.hooks)
    if said.mode == "none" and AGENTS[execution.runner.agent.type].changes_again:
        return replace(said, mode="isolated", source="directory")
    return said


def shared_workspace_name(execution: Execution, *, one_user: bool) -> str | None:
    """The name of the directory that the session has in common with others, which wait for each other; None: its own.

    ``one_user``: sessions in directories that the tool did not make all run as one user, and each ends what it runs.
    """
    spec = workspace_spec(execution)
    if spec.mode == "none" and one_user:
        return ""
    lasts = spec.mode == "shared" or (
        spec.mode == "none" and bool(spec.hooks.enclosing(execution.runner.hooks).before_all)
    )
    return _name(execution) if lasts else None


def _name(execution: Execution) -> str:
    """Whose workspace it is, where it is shared: the suite's; the runner's, too, where it prepares it."""
    own = f" {execution.runner.id}" if execution.suite.runners else ""
    return f"{execution.suite.path}{own}"


def prepare_workspace(services: Services, execution: Execution, folder: Path) -> Workspace:
    """A workspace that is ready for the agent; ``folder`` takes logs. Raises NotPreparedError."""
    around = _SessionHooks(services, execution, folder)
    try:
        if around.spec.mode == "none":
            place = around.spec.cwd or services.repository.root
            if services.untrusted_configuration:
                services.untrusted_configuration.refuse(place, services.repository.root)
            services.suite_source.refuse_inside(place)
        if around.lasts:
            workspace = services.workspaces.shared(around.name, around.spec, around.before_all_in)
            around.before_each(workspace)
            around.remove_untrusted_configuration(workspace)
            workspace.record_state()
        else:
            workspace = services.workspaces.create(around.spec)
            around.before(workspace)
    except OSError as error:
        raise NotPreparedError("workspace", f"the workspace could not be made: {error}") from error
    if not workspace.path.is_dir():
        raise NotPreparedError("workspace", f"the workspace {workspace.path} is not there")
    return workspace


def run_hooks_after_agent(services: Services, execution: Execution, workspace: Workspace, folder: Path) -> None:
    """After the agent and before the judgement: nothing, unless it is to come last."""
    around = _SessionHooks(services, execution, folder)
    if around.spec.judge_after_hooks:
        around.after("after_each", around.hooks.after_each, workspace)


def run_hooks_after_session(services: Services, execution: Execution, workspace: Workspace, folder: Path) -> None:
    """After the judgement."""
    around = _SessionHooks(services, execution, folder)
    if not around.spec.judge_after_hooks:
        around.after("after_each", around.hooks.after_each, workspace)
    if not around.lasts:
        around.after("after_all", around.hooks.after_all, workspace)


def run_hooks_after_all(services: Services, execution: Execution) -> None:
    """After the last session in a workspace that several shared."""
    around = _SessionHooks(services, execution, services.directory.place / execution.directory / "after-all")
    if around.lasts and around.hooks.after_all and services.workspaces.has_shared(around.name):
        around.folder = services.directory.folder(f"{execution.directory}/after-all")
        workspace = services.workspaces.shared(around.name, around.spec, lambda _: None)
        around.after("after_all", around.hooks.after_all, workspace)
        services.workspaces.discard(workspace)


class _SessionHooks:
    """The commands around one session."""

    def __init__(self, services: Services, execution: Execution, folder: Path) -> None:
        self.services, self.execution, self.folder = services, execution, folder
        self.spec = workspace_spec(execution)
        self.hooks: Hooks = self.spec.hooks.enclosing(execution.runner.hooks)

    @property
    def name(self) -> str:
        """What a shared workspace is called."""
        return _name(self.execution)

    @property
    def lasts(self) -> bool:
        """Whether the directory is that of other sessions, too."""
        return shared_workspace_name(self.execution, one_user=False) is not None

    def reach(self, workspace: Workspace) -> None:
        """Raises NotPreparedError where the agent's user cannot work in the directory; says so where it cannot write.

        What plays recordings is no agent, and needs nothing of it.
        """
        if self.spec.mode != "none" or AGENTS[self.execution.runner.agent.type].plays:
            return
        works, changes = workspace.access()
        place, user = terminal_line(str(workspace.path)), terminal_line(str(workspace.user))
        if not works:
            told = f"the user {user} cannot work in {place}; let that user read it, or let the suite use a copy"
            raise NotPreparedError("workspace", told, workspace)
        if not changes and self.services.workspaces.is_first_read_only_use(workspace.path):
            self.services.observer.progress(f"the user {user} can read {place}, but not change it")

    def before_all_in(self, workspace: Workspace) -> None:
        """For the first session of several in one directory."""
        self.reach(workspace)
        self.before_all(workspace)

    def before(self, workspace: Workspace) -> None:
        """All of it, for a workspace of the session's own; what it is then, the agent starts from."""
        self.reach(workspace)
        if self.spec.bootstrap is None and not self.hooks.before_all and not self.hooks.before_each:
            self.remove_untrusted_configuration(workspace)
            workspace.record_state()
            return
        with workspace.bootstrapping():
            self.before_all(workspace)
            self.before_each(workspace)
            self.remove_untrusted_configuration(workspace)

    def remove_untrusted_configuration(self, workspace: Workspace) -> None:
        """Last of all, since a template or a bootstrap may have brought agent configuration as well."""
        if self.services.untrusted_configuration and self.spec.mode != "none":
            self.services.untrusted_configuration.remove_from(workspace)

    def before_all(self, workspace: Workspace) -> None:
        """Bootstrap, and the hooks that a new workspace needs."""
        if bootstrap := self.spec.bootstrap:
            env = {**self._env(workspace), **dict(bootstrap.env)}
            invocation = Invocation(
                argv=bootstrap.argv,
                cwd=workspace.path,
                timeout=bootstrap.timeout,
                env=env,
                identity=workspace.suite_identity,
                folders=workspace.folders,
            )
            self._required(invocation, "bootstrap", workspace)
        for hook in self.hooks.before_all:
            self._required(self._invocation(hook, workspace, "__before_all__"), "before_all", workspace)

    def before_each(self, workspace: Workspace) -> None:
        """The hooks of this session."""
        for hook in self.hooks.before_each:
            self._required(self._invocation(hook, workspace, self.execution.case.id), "before_each", workspace)

    def after(self, stage: str, hooks: tuple[Hook, ...], workspace: Workspace) -> None:
        """Hooks whose failure is no more than a line for people."""
        test_id = "__after_all__" if stage == "after_all" else self.execution.case.id
        for hook in () if self.services.cancelled else hooks:
            try:
                failure = self._run(self._invocation(hook, workspace, test_id), stage)
            except OSError as error:
                failure = str(error)
            if failure:
                where = f"{self.execution.suite.path}: {self.execution.case.id} [{self.execution.runner.id}]"
                self.services.observer.progress(f"{where}: {stage}: {failure}")

    def _required(self, invocation: Invocation, stage: str, workspace: Workspace) -> None:
        if failure := self._run(invocation, stage):
            told = failure if stage == "bootstrap" else f"{stage}: {failure}"
            raise NotPreparedError("workspace-bootstrap", told, workspace)

    def _run(self, invocation: Invocation, stage: str) -> str | None:
        """Why it failed, if it did."""
        logs = self.folder / f"{stage}.stdout.log", self.folder / f"{stage}.stderr.log"
        limited = replace(invocation, limits=self.execution.limits)
        capture = self.services.processes.run(limited, stdout=logs[0], stderr=logs[1])
        self.services.directory.redact(*logs)
        return _failure(invocation, capture)

    def _invocation(self, hook: Hook, workspace: Workspace, test_id: str) -> Invocation:
        case = self.execution.case
        told = {
            "workspace_path": str(workspace.path),
            "test_id": test_id,
            "eval_run_id": self.services.directory.path.name,
            "case_input": case.prompt,
            "case_metadata": case.metadata,
        }
        return Invocation(
            argv=tuple(_filled(word, told) for word in hook.argv),
            cwd=hook.cwd or workspace.path,
            timeout=hook.timeout,
            env=self._env(workspace),
            stdin=json.dumps(told, ensure_ascii=False),
            identity=workspace.suite_identity,
            folders=workspace.folders,
        )

    def _env(self, workspace: Workspace) -> dict[str, str]:
        env = {
            **workspace.grader_env(),
            "SKILLGYM_WORKSPACE": str(workspace.path),
            "SKILLGYM_OUTPUT_DIR": str(self.services.directory.path),
            "SKILLGYM_ARTIFACT_DIR": str(self.folder),
        }
        if self.lasts:
            return env
        return env | {"SKILLGYM_CASE_ID": self.execution.case.id, "SKILLGYM_RUNNER_ID": self.execution.runner.id}


def _filled(word: str, told: Mapping[str, object]) -> str:
    for name, value in told.items():
        if (sign := f"{{{{{name}}}}}") in word:
            word = word.replace(sign, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    return word


def _failure(invocation: Invocation, capture: Capture) -> str | None:
    if capture.ending is Ending.EXITED and not capture.exit_code:
        return None
    how = {
        Ending.STOPPED: capture.stopped_for.message if capture.stopped_for else "ended",
        Ending.EXITED: f"exit code {capture.exit_code}",
        Ending.TIMED_OUT: f"no end after {invocation.timeout:g} s",
    }.get(capture.ending, capture.ending)
    tail = capture.stderr.tail(HOOK_TAIL_BYTES).strip()
    return (capture.error or f"{invocation.argv[0]}: {how}") + (f"\n{tail}" if tail else "")
