"""``environment`` and ``extensions`` of AgentV 5 as workspaces and hooks."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from skillgym_action.agentv.version_5_assertions import PROGRAMS
from skillgym_action.agentv.workspaces import HOOK_SECONDS, STAGES, WorkspaceSettings
from skillgym_action.documents.user_files import kind_of, resolved
from skillgym_action.model.errors import did_you_mean
from skillgym_action.model.hooks import Hook, Hooks

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from skillgym_action.agentv.suite_files import SuiteFiles
    from skillgym_action.documents.suite_values import SuiteValue
    from skillgym_action.model.errors import Problem

KEYS = frozenset({"type", "workdir", "setup", "env"})
SETUP_KEYS = frozenset({"command", "cwd", "timeout_ms"})
HOOK_NAMES = {
    "beforeAll": "before_all",
    "beforeEach": "before_each",
    "afterEach": "after_each",
    "afterAll": "after_all",
}
"""AgentV's names of the stages of hooks, and ours."""
AGENT_RULES = "agentv:agent-rules"
SETUP_SECONDS = 600.0
"""How long a setup may take by default: it may clone repositories and install packages."""
WORKSPACE = "{{workspace_path}}"

_EXTENSION = re.compile(r"file://(.+):(\w+)")
_NODE_FILE = re.compile(r"\.[cm]?[jt]s$")


@dataclass(frozen=True, kw_only=True, slots=True)
class Environment:
    """Where agents work, and the variables that they get; settings None: nothing is said about it."""

    settings: WorkspaceSettings | None = None
    variables: Mapping[str, str] | None = None


def environment_of(value: SuiteValue | None, files: SuiteFiles, case_folder: Path | None = None) -> Environment:
    """The environment that ``value`` describes, or that is in the file it names. Raises SuiteError."""
    if value is None:
        return Environment()
    folder = files.folder
    if isinstance(value.value, str):
        value, folder = _in_file(value, files)
    value.mapping()
    kind = value.text("type") or "host"
    if kind == "docker":
        remedy = "run the whole job in a container of that image, and write type: host"
        raise value.member("type").error("environments of the type docker are not supported", remedy)
    if kind != "host":
        raise value.member("type").error(f"must be host, not {kind!r}", did_you_mean(kind, ("host",)))
    variables = text_mapping(value.get("env"))
    workdir = value.get("workdir")
    setup = value.get("setup")
    name = workdir.as_text() if workdir else None
    candidates = [one / name for one in _folders(case_folder, folder)] if name else [None]
    path = next((one for one in candidates if one and kind_of(one)), candidates[-1])
    if setup is None:
        settings = _without_setup(workdir, path, files)
    else:
        settings = _with_setup(setup, workdir, path, folder, files)
        hooks = tuple(_with_variables(hook, variables) for hook in settings.hooks.before_all)
        settings = replace(settings, hooks=replace(settings.hooks, before_all=hooks))
    unread = tuple(_unread(value))
    return Environment(settings=replace(settings, warnings=(*settings.warnings, *unread)), variables=variables)


def _in_file(value: SuiteValue, files: SuiteFiles) -> tuple[SuiteValue, Path]:
    """The description in a file, and the folder of that file, to which its paths are relative."""
    name = value.as_text()
    if not name.startswith("file://"):
        raise value.error("must be a mapping with type and workdir, or file://PATH")
    found = files.found(name.removeprefix("file://"))
    if found is None:
        raise value.error(f"there is no {name.removeprefix('file://')}")
    content = files.interpolated(files.read(found))
    if isinstance(content.value, dict) and content.has("environment"):
        raise content.member("environment").error("is not expected here", "write its content at the top of the file")
    return content, found.parent


def _folders(case_folder: Path | None, folder: Path) -> tuple[Path, ...]:
    return (case_folder, folder) if case_folder else (folder,)


def _unread(value: SuiteValue) -> Iterator[Problem]:
    yield from value.unknown_keys(KEYS)
    if setup := value.get("setup"):
        yield from setup.unknown_keys(SETUP_KEYS)


def _without_setup(workdir: SuiteValue | None, path: Path | None, files: SuiteFiles) -> WorkspaceSettings:
    if workdir is None or path is None:
        return WorkspaceSettings()
    if kind_of(path) != "folder":
        raise workdir.error(f"there is no folder {workdir.value}", "each session works in a copy of it")
    return WorkspaceSettings(template=files.template(path, workdir))


def _with_setup(
    setup: SuiteValue, workdir: SuiteValue | None, path: Path | None, folder: Path, files: SuiteFiles
) -> WorkspaceSettings:
    """A workspace that a command prepares: words that name ``workdir`` become the path of the session's workspace.

    A command that does not name it prepares the folder itself, so that agents have to work there.
    """
    setup.mapping()
    command = setup.get("command")
    if command is None or not isinstance(command.value, list) or not command.value:
        raise (command or setup).error("must be a list of a program and its arguments", 'command: ["sh", "./setup.sh"]')
    words = [item.as_text() for item in command.items()]
    milliseconds = setup.number("timeout_ms")
    cwd = folder / (setup.text("cwd") or ".")
    seconds = milliseconds / 1000 if milliseconds else SETUP_SECONDS
    if workdir is None or path is None:
        return WorkspaceSettings(hooks=_before_all(words, WORKSPACE, cwd, seconds))
    named = [_is_path(word, cwd, path) for word in words]
    if any(named) or kind_of(path) is None:
        argv = [WORKSPACE if is_workdir else word for is_workdir, word in zip(named, words, strict=True)]
        template = files.template(path, workdir) if kind_of(path) == "folder" else None
        return WorkspaceSettings(template=template, hooks=_before_all(argv, WORKSPACE, cwd, seconds))
    warning = workdir.problem(
        "agents work in the folder itself: setup.command prepares it, and does not name it",
        "name the folder in the command, as a word of its own; then each session has a copy",
    )
    directory = resolved(files.directory(workdir, path.parent if path.is_absolute() else folder))
    return WorkspaceSettings(
        directory=directory, hooks=_before_all(words, str(directory), cwd, seconds), warnings=(warning,)
    )


def _is_path(word: str, cwd: Path, path: Path) -> bool:
    looks_like_one = word.startswith((".", "/")) or "/" in word
    return looks_like_one and resolved(cwd / word) == resolved(path)


def _before_all(words: list[str], workdir: str, cwd: Path, seconds: float) -> Hooks:
    argv = ("env", f"AGENTV_ENVIRONMENT_WORKDIR={workdir}", *words)
    return Hooks(before_all=(Hook(argv=argv, timeout=seconds, cwd=cwd),))


def _with_variables(hook: Hook, variables: Mapping[str, str]) -> Hook:
    program, *words = hook.argv
    return replace(hook, argv=(program, *(f"{name}={text}" for name, text in variables.items()), *words))


def text_mapping(value: SuiteValue | None) -> dict[str, str]:
    """A mapping of names of variables to texts; numbers and booleans become texts. Raises SuiteError."""
    if value is None:
        return {}
    return {str(name): value.scalar_text(str(name)) or "" for name in value.mapping()}


# --- extensions -------------------------------------------------------------------------------------


def extension_hooks(value: SuiteValue | None, files: SuiteFiles) -> tuple[Hooks, tuple[Problem, ...]]:
    """The hooks of ``extensions``, and warnings. Raises SuiteError."""
    hooks: dict[str, list[Hook]] = {stage: [] for stage in STAGES}
    warnings: list[Problem] = []
    for item in value.items() if value else ():
        if isinstance(item.value, dict) or item.value == AGENT_RULES:
            warnings.append(_agent_rules(item))
            continue
        stage, hook = _extension(item, files)
        hooks[stage].append(hook)
    return Hooks(**{stage: tuple(found) for stage, found in hooks.items()}), tuple(warnings)


def _agent_rules(item: SuiteValue) -> Problem:
    """Raises SuiteError if files are to be copied, or for another extension."""
    if not isinstance(item.value, dict):
        return item.problem(f"{AGENT_RULES} has no effect: agents find rules in the workspace themselves")
    name = item.text("id")
    if name != AGENT_RULES:
        raise item.error(f"the extension {name!r} is not known", "write file://hooks.mjs:beforeAll")
    if keys := sorted({"skills", "hooks", "agents", "rules"} & item.value.keys()):
        remedy = "put these files into environment.workdir, where the agent looks for them"
        raise item.member(keys[0]).error(f"{AGENT_RULES} does not copy files", remedy)
    return item.problem(f"{AGENT_RULES} has no effect: agents find rules in the workspace themselves")


def _extension(item: SuiteValue, files: SuiteFiles) -> tuple[str, Hook]:
    text = item.as_text()
    found = _EXTENSION.fullmatch(text)
    if found is None or found[2] not in HOOK_NAMES:
        hint = did_you_mean(found[2], HOOK_NAMES) if found else None
        raise item.error("must be file://PATH and one of " + ", ".join(f":{name}" for name in HOOK_NAMES), hint)
    path = files.found(found[1])
    if path is None:
        raise item.error(f"there is no {found[1]}", "paths of extensions are relative to the suite")
    if path.suffix == ".py":
        argv: tuple[str, ...] = ("python3", str(PROGRAMS / "python_hook.py"))
    elif _NODE_FILE.search(path.name):
        argv = ("node", str(PROGRAMS / "javascript_hook.mjs"))
    else:
        raise item.error(f"{path.name} is neither JavaScript, TypeScript nor Python")
    stage = HOOK_NAMES[found[2]]
    return stage, Hook(argv=(*argv, str(path), found[2]), timeout=HOOK_SECONDS[stage], cwd=files.folder)
