"""``environment``, ``extensions`` and ``providers`` of AgentV 5 as workspaces, hooks and targets."""

from __future__ import annotations

import re
import shlex
from dataclasses import field, replace
from typing import TYPE_CHECKING

from skillgym_action.model.errors import SuiteError, did_you_mean
from skillgym_action.model.hooks import Hook, Hooks
from skillgym_action.model.limits import MAX_AGENTV_TARGETS
from skillgym_action.model.records import record
from skillgym_action.suites.agentv.targets import AGENT_TYPES, MODEL_PROVIDERS, NamedTarget, Targets, defined_targets
from skillgym_action.suites.agentv.version_5_assertions import PROGRAMS
from skillgym_action.suites.agentv.version_5_templates import with_environment
from skillgym_action.suites.agentv.workspaces import HOOK_SECONDS, STAGES, WorkspaceSettings, hooks_of
from skillgym_action.text.documents.user_files import kind_of, resolved

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from skillgym_action.model.errors import Problem
    from skillgym_action.suites.agentv.suite_files import SuiteFiles
    from skillgym_action.suites.values import SuiteValue

KEYS = frozenset({"type", "workdir", "setup", "env"})
SETUP_KEYS = frozenset({"command", "cwd", "timeout_ms"})
HOOK_NAMES = {
    "beforeAll": "before_all",
    "beforeEach": "before_each",
    "afterEach": "after_each",
    "afterAll": "after_all",
}
"""AgentV's names of the stages of hooks, and those of this tool."""
AGENT_RULES = "agentv:agent-rules"
SETUP_SECONDS = 600.0
"""How long a setup may take by default: it may clone repositories and install packages."""
WORKSPACE = "{{workspace_path}}"

_EXTENSION = re.compile(r"file://(.+):(\w+)")
_NODE_FILE = re.compile(r"\.[cm]?[jt]s$")


@record
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


CATALOGS = (".agentv/providers.yaml", ".agentv/providers.yml", "providers.yaml", "providers.yml")
PROJECT = (".agentv/config.yaml", ".agentv/config.yml")
_SIMPLE = re.compile(r"\{\{\s*env\.([A-Za-z_]\w*)\s*\}\}")
_PLACEHOLDER = re.compile(r"\{[A-Z][A-Z0-9_]*\}")
_IDENTITY = frozenset({"id", "label", "provider", "runtime", "config", "hooks", "extends"})
_RENAMED = {"batch_requests": "provider_batching", "grader_provider": "grader_target"}


def is_file_up(names: tuple[str, ...], files: SuiteFiles) -> bool:
    """Whether there is a file of one of these names, from the suite's folder up to the repository's."""
    return any((root / name).is_file() for root in files.roots for name in names)


@record(frozen=False, kw_only=False)
class Catalog:
    """The providers that are defined, as targets by their labels, and the one that is used by default."""

    defined: dict[str, SuiteValue] = field(default_factory=dict)
    paths: list[str] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)
    default: str | None = None

    def add(self, providers: SuiteValue, *, shadowing: bool = False) -> None:
        """Add the providers of a list; those that are nearer to the suite win. Raises SuiteError."""
        for item in providers.items():
            item.mapping()
            name = label_of(item)
            if shadowing or name not in self.defined:
                self.defined[name] = item

    def targets(self, named: list[NamedTarget], files: SuiteFiles) -> Targets:
        """All of them, each translated when a runner is made of it. ``named``: those that the suite names."""
        return Targets(
            defined=self.defined,
            path=" and ".join(self.paths) or None,
            warnings=tuple(self.warnings),
            noun="provider",
            usual=CATALOGS[0],
            named=tuple(named),
            translate=lambda item: as_target(item, files),
        )


def label_of(item: SuiteValue) -> str:
    """The name by which suites refer to a provider. Raises SuiteError."""
    if name := item.text("label", "id"):
        return name
    raise item.error("the provider has neither label nor id", "id: claude-cli")


def catalog_of(files: SuiteFiles) -> Catalog:
    """The providers of all catalogs from the suite's folder up to the repository's, and targets. Raises SuiteError."""
    catalog = Catalog()
    for root in files.roots:
        for name in CATALOGS:
            if (file := root / name).is_file():
                _add_file(file, catalog, files)
        for name in PROJECT:
            if (file := root / name).is_file():
                _add_project(file, catalog, files)
    older = defined_targets(files)
    if older.path:
        catalog.paths.append(older.path)
        catalog.defined = {**older.defined, **catalog.defined}
        catalog.warnings.extend(older.warnings)
    return catalog


def _add_file(file: Path, catalog: Catalog, files: SuiteFiles) -> None:
    """``providers.yaml``: a list, or a mapping with the list ``providers``."""
    top = files.read(file)
    if isinstance(top.value, dict):
        catalog.warnings.extend(top.unknown_keys({"providers"}))
        if (providers := top.get("providers")) is None:
            raise top.error("has no providers", "providers: [{id: claude-cli, label: default}]")
        top = providers
    catalog.add(top)
    catalog.paths.append(files.shown(file))


def _add_project(file: Path, catalog: Catalog, files: SuiteFiles) -> None:
    """``providers`` and ``defaults`` of ``.agentv/config.yaml``; its other keys are about AgentV itself."""
    top = files.read(file)
    if not isinstance(top.value, dict):
        return
    providers = top.get("providers")
    if providers and isinstance(providers.value, str):
        named = file.parent / str(providers.value).removeprefix("file://")
        if kind_of(named) != "file":
            raise providers.error(f"there is no {files.shown(named)}")
        if files.shown(named) not in catalog.paths:
            _add_file(named, catalog, files)
    elif providers:
        catalog.add(providers)
        catalog.paths.append(files.shown(file))
    defaults = top.get("defaults")
    if defaults and isinstance(defaults.value, dict):
        catalog.default = catalog.default or defaults.text("provider", "target")


def named_providers(top: SuiteValue, catalog: Catalog, files: SuiteFiles) -> list[NamedTarget]:
    """What the suite runs on, each once; definitions in the suite are added to the catalog. Raises SuiteError."""
    written = top.get("providers", "targets", "target", "provider")
    if written is None:
        defaults = top.get("defaults")
        name = (defaults.text("provider") if defaults and isinstance(defaults.value, dict) else None) or catalog.default
        return [NamedTarget(name=name, value=defaults or top)] if name else []
    if isinstance(written.value, str) and written.value.startswith("file://"):
        written = _provider_in_file(written, files)
    items = written.items() if isinstance(written.value, list) else (written,)
    if len(items) > MAX_AGENTV_TARGETS:
        raise written.error(f"more than {MAX_AGENTV_TARGETS} providers", "split the suite")
    return list({target.name: target for item in items for target in _named(item, catalog, files)}.values())


def _provider_in_file(value: SuiteValue, files: SuiteFiles) -> SuiteValue:
    found = files.found(str(value.value).removeprefix("file://"))
    if found is None:
        raise value.error(f"there is no {str(value.value).removeprefix('file://')}")
    content = files.read(found)
    return content.get("providers") or content if isinstance(content.value, dict) else content


def _named(item: SuiteValue, catalog: Catalog, files: SuiteFiles) -> Iterator[NamedTarget]:
    if isinstance(item.value, str):
        name = str(with_environment(item.as_text(), files.environment, files.budget))
        if name not in catalog.defined and ":" in name:
            catalog.defined[name] = replace(item, value={"id": name})
        yield NamedTarget(name=name, value=item, use_target=_backend(name) if name not in catalog.defined else None)
        return
    item.mapping()
    if not item.has("id") and not item.has("label") and not item.has("name") and len(item.mapping()) == 1:
        (name,) = item.mapping()  # a mapping of a provider to its settings
        settings = item.member(name)
        item = replace(settings, value={"id": name, **settings.mapping()})
    name = item.text("name") or label_of(item)
    hooks = hooks_of(item.get("hooks"), files.folder, lines=True)
    parent = item.get("extends", "use_target")
    if parent:
        yield NamedTarget(name=name, value=parent, use_target=parent.as_text(), hooks=hooks)
        return
    if not item.has("name"):
        catalog.defined[name] = item
    yield NamedTarget(name=name, value=item, hooks=hooks)


def as_target(item: SuiteValue, files: SuiteFiles) -> SuiteValue:
    """The provider with the keys of a target; a target as it is. Raises SuiteError."""
    if not item.has("id") and not item.has("label"):
        return item
    _refuse_runtime(item.get("runtime"))
    backend = item.text("provider", "id")
    if backend is None:
        raise item.error("the provider has no id", "id: claude-cli")
    config = item.get("config")
    if config and not isinstance(config.value, dict):
        raise config.wrong_type("a mapping of keys to values")
    moved = dict(item.moved)
    members: dict[str, object] = {"name": label_of(item), "provider": _backend(backend)}
    moved[(*item.key_path, "provider")] = (*item.key_path, "provider" if item.has("provider") else "id")
    for place in (config, item):
        for key, value in place.mapping().items() if place else ():
            if place is item and key in _IDENTITY:
                continue
            new = _RENAMED.get(key, key)
            members[new] = _older_references(value, files)
            moved[(*item.key_path, new)] = (*place.key_path, key)  # type: ignore[union-attr]
    prefix, _, model = backend.partition(":")
    if model and prefix in MODEL_PROVIDERS and _backend(backend) in MODEL_PROVIDERS:
        members.setdefault("model", model)
    target = replace(item, value=members, moved=moved)
    return _with_command(target)


def _refuse_runtime(runtime: SuiteValue | None) -> None:
    if runtime is None:
        return
    mode = runtime.text("mode") if isinstance(runtime.value, dict) else runtime.as_text()
    if mode not in {None, "host"}:
        remedy = "leave it out: every session has a home of its own; for another image, run the job in a container"
        raise runtime.error(f"the runtime {mode} is not supported", remedy)
    if unread := next(runtime.unknown_keys({"mode"}), None):
        raise SuiteError.of(replace(unread, message=f"{unread.message} of a runtime on the host"))


def _backend(name: str) -> str:
    """AgentV's name of the agent or the model: ``agentv:codex-cli`` and ``openai:codex-sdk`` are Codex."""
    prefix, _, rest = name.partition(":")
    if rest in AGENT_TYPES:
        return rest
    return prefix if rest and (prefix in MODEL_PROVIDERS or prefix in AGENT_TYPES) else name


def _older_references(value: object, files: SuiteFiles) -> object:
    """Texts with ``${{ NAME }}`` for ``{{ env.NAME }}``, as targets have it; other expressions are evaluated."""
    if isinstance(value, str):
        return with_environment(_SIMPLE.sub(r"${{ \1 }}", value), files.secrets, files.budget)
    if isinstance(value, list):
        return [_older_references(item, files) for item in value]
    if isinstance(value, dict):
        return {key: _older_references(member, files) for key, member in value.items()}
    return value


def _with_command(target: SuiteValue) -> SuiteValue:
    """``command`` as targets have it: a line for the shell, or of agents the executable."""
    members = target.mapping()
    command = members.get("command")
    if not isinstance(command, list):
        return target
    words = [item.as_text() for item in target.member("command").items()]
    if not words:
        raise target.member("command").error("must not be empty")
    if AGENT_TYPES.get(str(members["provider"])) in {None, "agentv-cli"}:
        line = " ".join(word if _PLACEHOLDER.search(word) else shlex.quote(word) for word in words)
        return replace(target, value={**members, "command": line})
    without = {key: value for key, value in members.items() if key != "command"}
    moved = {**target.moved, (*target.key_path, "executable"): target.member("command").written_path}
    if words[1:]:  # the executable's own arguments; those in `args` follow them
        without["args"] = [*words[1:], *(target.texts("args"))]
    return replace(target, value={"executable": words[0], **without}, moved=moved)
