"""Providers of AgentV 5 as targets: the catalogs ``providers.yaml`` and ``config.yaml``, and those of a suite."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from skillgym_action.agentv.targets import AGENT_TYPES, MODEL_PROVIDERS, NamedTarget, Targets, defined_targets
from skillgym_action.agentv.version_5_templates import with_environment
from skillgym_action.agentv.workspaces import hooks_of
from skillgym_action.documents.user_files import kind_of
from skillgym_action.limits import MAX_AGENTV_TARGETS
from skillgym_action.model.errors import SuiteError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from skillgym_action.agentv.suite_files import SuiteFiles
    from skillgym_action.documents.suite_values import SuiteValue
    from skillgym_action.model.errors import Problem

CATALOGS = (".agentv/providers.yaml", ".agentv/providers.yml", "providers.yaml", "providers.yml")
PROJECT = (".agentv/config.yaml", ".agentv/config.yml")

_SIMPLE = re.compile(r"\{\{\s*env\.([A-Za-z_]\w*)\s*\}\}")
_PLACEHOLDER = re.compile(r"\{[A-Z][A-Z0-9_]*\}")
_IDENTITY = frozenset({"id", "label", "provider", "runtime", "config", "hooks", "extends"})
_RENAMED = {"batch_requests": "provider_batching", "grader_provider": "grader_target"}


def is_file_up(names: tuple[str, ...], files: SuiteFiles) -> bool:
    """Whether there is a file of one of these names, from the suite's folder up to the repository's."""
    return any((root / name).is_file() for root in files.roots for name in names)


@dataclass(slots=True)
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


# --- the providers of a suite -----------------------------------------------------------------------


def named_providers(top: SuiteValue, catalog: Catalog, files: SuiteFiles) -> list[NamedTarget]:
    """What the suite runs on, each once; definitions in the suite are added to the catalog. Raises SuiteError."""
    written = top.get("providers", "targets", "target", "provider")
    if written is None:
        defaults = top.get("defaults")
        name = (defaults.text("provider") if defaults and isinstance(defaults.value, dict) else None) or catalog.default
        return [NamedTarget(name=name, value=defaults or top)] if name else []
    if isinstance(written.value, str) and written.value.startswith("file://"):
        written = _in_file(written, files)
    items = written.items() if isinstance(written.value, list) else (written,)
    if len(items) > MAX_AGENTV_TARGETS:
        raise written.error(f"more than {MAX_AGENTV_TARGETS} providers", "split the suite")
    return list({target.name: target for item in items for target in _named(item, catalog, files)}.values())


def _in_file(value: SuiteValue, files: SuiteFiles) -> SuiteValue:
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


# --- a provider as a target -------------------------------------------------------------------------


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
