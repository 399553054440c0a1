"""``workspace`` of an AgentV suite and of its cases, and hooks: where agents work, and what is run around them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from skillgym_action.documents.user_files import kind_of, resolved
from skillgym_action.model.hooks import NO_HOOKS, Hook, Hooks
from skillgym_action.model.resource_limits import LimitError, parse_workspace_limits
from skillgym_action.model.suite import WorkspaceSpec

if TYPE_CHECKING:
    from pathlib import Path

    from skillgym_action.agentv.source_values import Files, Part
    from skillgym_action.model.errors import Problem
    from skillgym_action.model.resource_limits import ResourceLimits

Stage = Literal["before_all", "before_each", "after_each", "after_all"]
STAGES: tuple[Stage, ...] = ("before_all", "before_each", "after_each", "after_all")
SECONDS = {"before_all": 60.0, "before_each": 60.0, "after_each": 30.0, "after_all": 30.0}
KNOWN = frozenset({"template", "isolation", "hooks", "mode", "path", "repos", "docker", "env", "limits"})

_NO_SUCH_PROGRAM = 'for name; do command -v "$name" >/dev/null || { echo "not installed: $name" >&2; exit 1; }; done'
_NO_SUCH_MODULE = 'for name; do python3 -c "import $name" || exit 1; done'


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """What ``workspace`` says; None: nothing of that. ``disabled``: hooks of the suite are not run, either."""

    template: Path | None = None
    directory: Path | None = None
    shared: bool | None = None
    hooks: Hooks = NO_HOOKS
    disabled: bool = False
    warnings: tuple[Problem, ...] = ()
    limits: ResourceLimits | None = None

    def over(self, suite: Place | None, *, compat: bool = False) -> Place:
        """What a case says over what its suite says; hooks of the same stage replace each other."""
        if suite is None:
            return self
        hooks = {stage: getattr(self.hooks, stage) or getattr(suite.hooks, stage) for stage in STAGES}
        own = self.template is not None or self.directory is not None
        return Place(
            template=self.template if own else suite.template,
            directory=self.directory if own else suite.directory,
            # A template of a case's own in a directory for all would be everybody's, as it is with AgentV.
            shared=False if self.template and not compat else suite.shared if self.shared is None else self.shared,
            hooks=NO_HOOKS if self.disabled else Hooks(**hooks),
            limits=self.limits.with_defaults(suite.limits) if self.limits else suite.limits,
        )

    def spec(self, *, compat: bool = False) -> WorkspaceSpec:
        """A fresh workspace for each session, unless a directory is named or ``isolation: shared`` asks for one.

        ``compat``: as AgentV does it; one for all unless ``isolation: per_test`` says otherwise, judged at the end.
        """
        if self == Place(limits=self.limits) and self.limits:  # says nothing of the place
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
            hooks=self.hooks,
            limits=self.limits,
        )


def place(said: Part | None, files: Files, case_folder: Path | None = None) -> Place | None:
    """``workspace``: a folder, a YAML file or a mapping; and the folder ``workspace`` beside a ``case.yaml``.

    Raises SuiteError.
    """
    beside = case_folder / "workspace" if case_folder else None
    own = files.template(beside, None) if beside and kind_of(beside) == "folder" else None
    if said is None or said.value in ("", False):
        return Place(template=own) if own else None
    first = (case_folder,) if case_folder else ()
    folder = files.folder
    if isinstance(said.value, str):
        found = files.place_of(said.value, *first)
        if found is None:
            raise said.error(f"there is no {said.value}", "name a folder that workspaces are copies of, or a YAML file")
        if found.is_dir():
            return Place(template=files.template(found, said))
        found = resolved(found)
        said, folder = files.interpolated(files.read(found)), found.parent
    made = _place(said.mapping(), files, folder, first)
    return replace(made, template=own) if own and not made.template and not made.directory else made


def _place(said: Part, files: Files, folder: Path, first: tuple[Path, ...]) -> Place:
    for name in ("repos", "docker", "static_path", "pool", "static"):
        if part := said.get(name):
            raise part.error(f"{name} is not supported", "name a template, and prepare it with hooks.before_all")
    isolation = said.text("isolation")
    if isolation not in {None, "shared", "per_test"}:
        raise said.error("isolation must be shared or per_test")
    hooks = said.get("hooks")
    shared = None if isolation is None else isolation == "shared"
    directory = said.get("path")
    return Place(
        template=_template(said, files, folder, first),
        directory=resolved(files.directory(directory, folder)) if directory else None,
        shared=shared,
        hooks=replace_before(hooks_of(hooks, folder, lines=False), _preflight(said)),
        disabled=hooks is not None and hooks.get("enabled") is not None and not hooks.flag("enabled"),
        warnings=(*said.unknown(KNOWN), *(_resets(hooks) if hooks and shared else ())),
        limits=_limits(said),
    )


def _limits(said: Part) -> ResourceLimits | None:
    part = said.get("limits")
    try:
        return parse_workspace_limits(part.value) if part else None
    except LimitError as error:
        raise ((part.get(error.key) or part) if part else said).error(error.message) from error


def _template(said: Part, files: Files, folder: Path, first: tuple[Path, ...]) -> Path | None:
    part = said.get("template")
    if part is None:
        return None
    name = part.as_text()
    found = next((place / name for place in (*first, folder) if kind_of(place / name)), None)
    if found is None:
        raise said.error(f"there is no template {name}", "template is a folder, relative to the suite file")
    return files.template(found.parent if found.suffix == ".code-workspace" else found, part)


def replace_before(hooks: Hooks, first: tuple[Hook, ...]) -> Hooks:
    """The hooks, with others before all of them."""
    return replace(hooks, before_all=first + hooks.before_all)


def _preflight(said: Part) -> tuple[Hook, ...]:
    """What has to be installed, as hooks that fail where it is not."""
    needs = said.get("env")
    wanted = (
        (_NO_SUCH_PROGRAM, needs.texts("required_commands") if needs else ()),
        (_NO_SUCH_MODULE, needs.texts("required_python_modules") if needs else ()),
    )
    seconds = SECONDS["before_all"]
    return tuple(Hook(argv=("sh", "-c", script, "sh", *names), timeout=seconds) for script, names in wanted if names)


def hooks_of(said: Part | None, folder: Path, *, lines: bool) -> Hooks:
    """The hooks of a workspace or of a target; ``lines``: a command that is text is a line for the shell.

    Raises SuiteError.
    """
    if said is None:
        return NO_HOOKS
    said.mapping()
    if said.get("enabled") and not said.flag("enabled"):
        return NO_HOOKS
    made: dict[str, tuple[Hook, ...]] = {}
    for stage in STAGES:
        if (part := said.get(stage)) and (argv := _argv(part.mapping(), lines=lines)):
            milliseconds = part.number("timeout_ms")
            cwd = part.text("cwd")
            seconds = milliseconds / 1000 if milliseconds else SECONDS[stage]
            made[stage] = (Hook(argv=argv, timeout=seconds, cwd=folder / cwd if cwd else folder),)
    return Hooks(**made)


def _argv(part: Part, *, lines: bool) -> tuple[str, ...]:
    command = part.get("command", "script")
    if command is None:
        if part.get("reset"):
            return ()
        raise part.error("has no command", 'write command: ["sh", "./prepare.sh"]')
    if isinstance(command.value, list):
        argv = tuple(item.as_text() for item in command.items())
        if not argv:
            raise command.error("must not be empty")
        return argv
    return ("sh", "-c", command.as_text()) if lines else tuple(command.as_text().split())


def _resets(hooks: Part) -> tuple[Problem, ...]:
    """``reset`` brings a shared workspace back to its state; here every session has a fresh one instead."""
    parts = (hooks.get(stage) for stage in STAGES)
    found = (part.get("reset") for part in parts if part)
    message = "a shared workspace is not reset"
    return tuple(
        part.problem(message, "leave isolation out: every session then has a fresh workspace")
        for part in found
        if part and part.value != "none"
    )
