"""``workspace`` of an AgentV suite and of its tests, and hooks: where agents work, and commands before and after."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from skillgym_action.model.hooks import NO_HOOKS, Hook, Hooks
from skillgym_action.model.records import record
from skillgym_action.model.resource_limits import LimitError, parse_workspace_limits
from skillgym_action.model.suite import WorkspaceSpec
from skillgym_action.suites.agentv.repos import repos_of
from skillgym_action.text.documents.user_files import kind_of, resolved

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from skillgym_action.model.errors import Problem
    from skillgym_action.model.resource_limits import ResourceLimits
    from skillgym_action.suites.agentv.suite_files import SuiteFiles
    from skillgym_action.suites.values import SuiteValue

Stage = Literal["before_all", "before_each", "after_each", "after_all"]
STAGES: tuple[Stage, ...] = ("before_all", "before_each", "after_each", "after_all")
HOOK_SECONDS = {"before_all": 60.0, "before_each": 60.0, "after_each": 30.0, "after_all": 30.0}
KNOWN_KEYS = frozenset({"template", "isolation", "hooks", "mode", "path", "repos", "docker", "env", "limits"})

UNSUPPORTED = {
    "docker": "run the whole job in a container of that image, or prepare a template with hooks.before_all",
    "static_path": "write path: ./folder",
    "static": "write path: ./folder",
    "pool": "leave it out: each session has a new workspace",
}
"""Keys that are errors, and the nearest thing that works."""

_NO_SUCH_PROGRAM = 'for name; do command -v "$name" >/dev/null || { echo "not installed: $name" >&2; exit 1; }; done'
_NO_SUCH_MODULE = 'for name; do python3 -c "import $name" || exit 1; done'


@record
class WorkspaceSettings:
    """The settings under ``workspace``; None: not set. ``disabled``: the suite's hooks do not run, either.

    ``repos``: what clones repositories, before all hooks.
    """

    template: Path | None = None
    directory: Path | None = None
    shared: bool | None = None
    hooks: Hooks = NO_HOOKS
    repos: tuple[Hook, ...] | None = None
    disabled: bool = False
    warnings: tuple[Problem, ...] = ()
    limits: ResourceLimits | None = None

    def over(self, suite: WorkspaceSettings | None, *, compat: bool = False) -> WorkspaceSettings:
        """A case's settings over its suite's; for each stage of hooks, the case's replace the suite's."""
        if suite is None:
            return self
        hooks = {stage: getattr(self.hooks, stage) or getattr(suite.hooks, stage) for stage in STAGES}
        own = self.template is not None or self.directory is not None
        return WorkspaceSettings(
            template=self.template if own else suite.template,
            directory=self.directory if own else suite.directory,
            # In one workspace for all cases, the template of one case would be that of all. That is so with AgentV.
            shared=False if self.template and not compat else suite.shared if self.shared is None else self.shared,
            hooks=NO_HOOKS if self.disabled else Hooks(**hooks),
            repos=suite.repos if self.repos is None else self.repos,
            limits=self.limits.with_defaults(suite.limits) if self.limits else suite.limits,
        )

    def spec(self, *, compat: bool = False) -> WorkspaceSpec:
        """A new workspace for each session, unless a directory or ``isolation: shared`` is set.

        ``compat``: as AgentV, one workspace for all cases unless ``isolation: per_test`` is set, judged at the end.
        """
        if self == WorkspaceSettings(limits=self.limits) and self.limits:  # nothing but limits is set
            return WorkspaceSpec(limits=self.limits)
        if self.directory:
            return WorkspaceSpec(
                mode="none",
                source="empty",
                cwd=self.directory,
                hooks=self.hooks,
                judge_after_hooks=compat,
                limits=self.limits,
            )
        shared = compat if self.shared is None else self.shared
        return WorkspaceSpec(
            judge_after_hooks=compat,
            mode="shared" if shared else "isolated",
            source="template" if self.template else "empty",
            template=self.template,
            hooks=_with_first(self.hooks, self.repos or ()),
            limits=self.limits,
        )


def workspace_settings(
    value: SuiteValue | None, files: SuiteFiles, case_folder: Path | None = None
) -> WorkspaceSettings | None:
    """The settings of ``workspace``: a folder, a YAML file or a mapping. Raises SuiteError.

    A folder ``workspace`` beside a ``case.yaml`` is the case's template.
    """
    beside = case_folder / "workspace" if case_folder else None
    own = files.template(beside, None) if beside and kind_of(beside) == "folder" else None
    if value is None or value.value in ("", False):
        return WorkspaceSettings(template=own) if own else None
    first = (case_folder,) if case_folder else ()
    folder = files.folder
    if isinstance(value.value, str):
        found = files.linked_path(value.value, *first)
        if found is None:
            remedy = "name a folder that workspaces are copies of, or a YAML file"
            raise value.error(f"there is no {value.value}", remedy)
        if found.is_dir():
            return WorkspaceSettings(template=files.template(found, value))
        found = resolved(found)
        value, folder = files.interpolated(files.read(found)), found.parent
    value.mapping()
    settings = _settings(value, files, folder, first)
    return replace(settings, template=own) if own and not settings.template and not settings.directory else settings


def _settings(value: SuiteValue, files: SuiteFiles, folder: Path, first: tuple[Path, ...]) -> WorkspaceSettings:
    for name, remedy in UNSUPPORTED.items():
        if member := value.get(name):
            raise member.error(f"{name} is not supported", remedy)
    repos = repos_of(value.get("repos"), folder)
    if repos and value.get("path"):
        raise value.member("repos").error("repositories are cloned into new workspaces only", "leave path out")
    isolation = value.text("isolation")
    if isolation not in {None, "shared", "per_test"}:
        raise value.error("isolation must be shared or per_test")
    hooks = value.get("hooks")
    shared = None if isolation is None else isolation == "shared"
    directory = value.get("path")
    return WorkspaceSettings(
        template=_template(value, files, folder, first),
        directory=resolved(files.directory(directory, folder)) if directory else None,
        shared=shared,
        hooks=_with_first(hooks_of(hooks, folder, lines=False), _preflight(value)),
        disabled=hooks is not None and hooks.get("enabled") is not None and not hooks.flag("enabled"),
        repos=repos[0] if repos else None,
        warnings=(
            *(repos[1] if repos else ()),
            *_ignored_modes(value),
            *(_resets(hooks) if hooks and shared else ()),
        ),
        limits=_limits(value),
    )


def _ignored_modes(value: SuiteValue) -> Iterator[Problem]:
    """A warning for a ``mode`` that says something else than what is done."""
    mode = value.get("mode")
    works = {"pooled", "temp", *(("static",) if value.get("path") else ())}
    if mode and mode.value not in works:
        yield mode.problem(f"the mode {mode.value} is ignored: each session has a new workspace", "leave it out")


def _limits(value: SuiteValue) -> ResourceLimits | None:
    limits = value.get("limits")
    if limits is None:
        return None
    try:
        return parse_workspace_limits(limits.value)
    except LimitError as error:
        raise (limits.get(error.key) or limits).error(error.message) from error


def _template(value: SuiteValue, files: SuiteFiles, folder: Path, first: tuple[Path, ...]) -> Path | None:
    template = value.get("template")
    if template is None:
        return None
    name = template.as_text()
    found = next((parent / name for parent in (*first, folder) if kind_of(parent / name)), None)
    if found is None:
        raise value.error(f"there is no template {name}", "template is a folder, relative to the suite file")
    return files.template(found.parent if found.suffix == ".code-workspace" else found, template)


def _with_first(hooks: Hooks, first: tuple[Hook, ...]) -> Hooks:
    """The hooks, with others that run before all of them."""
    return replace(hooks, before_all=first + hooks.before_all)


def _preflight(value: SuiteValue) -> tuple[Hook, ...]:
    """Hooks that fail if a required program or Python module is not installed."""
    if needs := value.get("env"):
        needs.mapping()
    wanted = (
        (_NO_SUCH_PROGRAM, needs.texts("required_commands") if needs else ()),
        (_NO_SUCH_MODULE, needs.texts("required_python_modules") if needs else ()),
    )
    seconds = HOOK_SECONDS["before_all"]
    return tuple(Hook(argv=("sh", "-c", script, "sh", *names), timeout=seconds) for script, names in wanted if names)


def hooks_of(value: SuiteValue | None, folder: Path, *, lines: bool) -> Hooks:
    """The hooks of a workspace or of a target; with ``lines``, a command that is text is run by the shell.

    Raises SuiteError.
    """
    if value is None:
        return NO_HOOKS
    value.mapping()
    if value.get("enabled") and not value.flag("enabled"):
        return NO_HOOKS
    hooks: dict[str, tuple[Hook, ...]] = {}
    for stage in STAGES:
        if (hook := value.get(stage)) and (argv := _argv(hook, lines=lines)):
            milliseconds = hook.number("timeout_ms")
            cwd = hook.text("cwd")
            seconds = milliseconds / 1000 if milliseconds else HOOK_SECONDS[stage]
            hooks[stage] = (Hook(argv=argv, timeout=seconds, cwd=folder / cwd if cwd else folder),)
    return Hooks(**hooks)


def _argv(hook: SuiteValue, *, lines: bool) -> tuple[str, ...]:
    hook.mapping()
    command = hook.get("command", "script")
    if command is None:
        if hook.get("reset"):
            return ()
        raise hook.missing("command", 'write command: ["sh", "./prepare.sh"]')
    if isinstance(command.value, list):
        argv = tuple(item.as_text() for item in command.items())
        if not argv:
            raise command.error("must not be empty")
        return argv
    return ("sh", "-c", command.as_text()) if lines else tuple(command.as_text().split())


def _resets(hooks: SuiteValue) -> tuple[Problem, ...]:
    """Warnings for ``reset``, which is not supported: it restores a shared workspace between tests."""
    stages = (hooks.get(stage) for stage in STAGES)
    resets = (stage.get("reset") for stage in stages if stage)
    remedy = "leave isolation out: every session then has a fresh workspace"
    return tuple(
        reset.problem("a shared workspace is not reset", remedy) for reset in resets if reset and reset.value != "none"
    )
