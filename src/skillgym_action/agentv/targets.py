"""Targets of AgentV suites: which ones a suite names, what ``targets.yaml`` says of them, the runners they become."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from skillgym_action.agentv.variables import REFERENCE, interpolated
from skillgym_action.agentv.workspaces import hooks_of
from skillgym_action.documents.user_files import kind_of
from skillgym_action.model.errors import Problem, SuiteError, did_you_mean
from skillgym_action.model.execution import Runner
from skillgym_action.model.hooks import NO_HOOKS, Hooks
from skillgym_action.model.session import AgentConfig
from skillgym_action.text.escaping import path_key

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from skillgym_action.agentv.source_values import Files, Part

DEEPEST = 5
"""How often ``use_target`` may lead on."""
MOST_TARGETS = 100
"""Targets that a suite names."""
NAMES = ("targets.yaml", "targets.yml", ".agentv/targets.yaml", ".agentv/targets.yml")

KINDS = {
    **dict.fromkeys(("claude", "claude-cli", "claude-code", "claude-sdk", "cc-mirror"), "claude-code"),
    **dict.fromkeys(("codex", "codex-cli"), "codex"),
    **dict.fromkeys(("copilot", "copilot-cli", "copilot-sdk"), "copilot"),
    **dict.fromkeys(("pi", "pi-cli", "pi-coding-agent"), "pi"),
    **dict.fromkeys(("opencode",), "opencode"),
    **dict.fromkeys(("gemini-cli",), "gemini"),
    **dict.fromkeys(("qwen", "qwen-code"), "qwen"),
    **dict.fromkeys(("cursor", "cursor-agent"), "cursor-agent"),
    **dict.fromkeys(("cli",), "agentv-cli"),
    **dict.fromkeys(("mock",), "agentv-mock"),
    **dict.fromkeys(("replay",), "agentv-replay"),
}
MODELS = frozenset({"openai", "openrouter", "azure", "azure-openai", "anthropic", "gemini", "google", "google-gemini"})
STAND_INS = frozenset({"agentv-cli", "agentv-mock", "agentv-replay"})
OF_ANY = frozenset({"name", "provider", "use_target", "grader_target", "judge_target", "workers", "provider_batching"})
OF_ANY |= {"fallback_targets", "subagent_mode_allowed", "env", "cwd", "timeout_seconds", "verbose"}
SETTINGS = {
    "agentv-cli": frozenset({"command", "files_format", "healthcheck", "keep_temp_files"}),
    "agentv-mock": frozenset({"response", "delay_ms"}),
    "agentv-replay": frozenset({"fixtures", "source_target", "suite", "eval_path", "variant"}),
}
OF_AGENTS = frozenset({"model", "executable", "args"})
PLACEHOLDERS = ("PROMPT", "PROMPT_FILE", "EVAL_ID", "ATTEMPT", "FILES", "OUTPUT_FILE")

_PLACEHOLDER = re.compile(r"\{([A-Z][A-Z0-9_]*)\}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    """A target as a suite names it; ``use`` leads to the one that it is a variant of."""

    name: str
    part: Part
    use: str | None = None
    hooks: Hooks = NO_HOOKS


def wanted_targets(top: Part, files: Files) -> list[Wanted]:
    """The targets that a suite names, once each. Raises SuiteError."""
    execution = top.get("execution")
    if execution and (several := execution.get("targets")):
        if len(items := several.items()) > MOST_TARGETS:
            raise several.error(f"more than {MOST_TARGETS} targets", "split the suite")
        wanted = [one for item in items if (one := _wanted(item, files))]
        return list({one.name: one for one in wanted}.values())
    single = (execution and execution.get("target")) or top.get("target")
    return [Wanted(name=single.as_text(), part=single)] if single else []


def _wanted(item: Part, files: Files) -> Wanted | None:
    if isinstance(item.value, str):
        return Wanted(name=item.as_text(), part=item)
    name = item.mapping().text("name")
    if name is None:
        raise item.error("the target has no name", "name: claude-baseline")
    use = item.get("use_target")
    return Wanted(
        name=name,
        part=use or item,
        use=str(use.value) if use else None,
        hooks=hooks_of(item.get("hooks"), files.folder, lines=True),
    )


# --- what targets.yaml says -------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class Targets:
    """The targets that are defined; ``path`` is how messages call the file, None where there is none."""

    defined: Mapping[str, Part]
    path: str | None = None


def defined_targets(files: Files) -> Targets:
    """What the nearest file of targets says, from the suite's folder up. Raises SuiteError."""
    found = next((file for root in files.roots for name in NAMES if (file := root / name).is_file()), None)
    if found is None:
        return Targets(defined={})
    path, top = files.shown(found), files.read(found).mapping()
    told = top.get("targets")
    if told is None:
        raise top.error("has no targets", "targets: [{name: default, provider: claude}]")
    defined: dict[str, Part] = {}
    for part in told.items():
        name = part.mapping().text("name")
        if name is None:
            raise part.error("the target has no name")
        if name in defined:
            raise part.error(f"the name {name!r} is already that of the target at {defined[name].location}")
        defined[name] = part
    return Targets(defined=defined, path=path)


# --- the runners they become ------------------------------------------------------------------------


def runners_of(top: Part, files: Files, suite: str) -> tuple[tuple[Runner, ...], tuple[Problem, ...]]:
    """The suite's runners, and warnings; a target that cannot be used is a runner with a problem.

    None where the suite names no target and nobody defines ``default``. Raises SuiteError.
    """
    targets = defined_targets(files)
    wanted = wanted_targets(top, files)
    if not wanted and (default := targets.defined.get("default")):
        wanted = [Wanted(name="default", part=default)]
    runners: list[Runner] = []
    warnings: list[Problem] = []
    for one in wanted:
        try:
            kind, told = _resolved(one, targets, files)
            agent = _agent(kind, told, files, suite)
            if told:
                warnings.extend(told.unknown(OF_ANY | SETTINGS.get(agent.type, OF_AGENTS)))
            runner = Runner(id=one.name, path_key=path_key(one.name), agent=agent, hooks=one.hooks)
        except SuiteError as error:
            agent = AgentConfig(type=one.use or one.name)
            problem = replace(error.problems[0], message=f"target {one.name}: {error.problems[0].message}")
            runner = Runner(id=one.name, path_key=path_key(one.name), agent=agent, problem=problem)
        runners.append(runner)
    return tuple(runners), tuple(warnings)


def _resolved(wanted: Wanted, targets: Targets, files: Files) -> tuple[str, Part | None]:
    """The kind of agent, and where it is defined. A name that is not defined may be that of an agent itself."""
    name, said, place = wanted.use if wanted.use is not None else wanted.name, wanted.part.raw, wanted.part
    for _ in range(DEEPEST):
        if not name:
            unset = REFERENCE.search(said) if isinstance(said, str) else None
            variable = unset[1] if unset else "the variable"
            raise place.error(f"{variable} is not set in the environment", f"set {variable} to the name of a target")
        told = targets.defined.get(name)
        if told is None:
            if name in KINDS:
                return name, None
            raise place.error(
                f"no target is called {name!r}{_where(targets)}", did_you_mean(name, targets.defined or KINDS)
            )
        use = told.get("use_target")
        if use is None:
            if provider := told.text("provider"):
                return str(interpolated(provider, files.secrets, files.growth)), told
            raise told.error("has neither provider nor use_target", "provider: claude")
        name, said, place = str(interpolated(use.value, files.secrets, files.growth)), use.value, use
    raise wanted.part.error(f"use_target leads on more than {DEEPEST} times")


def _where(targets: Targets) -> str:
    return f" in {targets.path}" if targets.path else ": there is no targets.yaml"


def _agent(kind: str, told: Part | None, files: Files, suite: str) -> AgentConfig:
    """Raises SuiteError for what cannot be run."""
    at = told or _nowhere(kind, files)
    type_ = KINDS.get(kind)
    if kind in MODELS:
        raise at.error(f"{kind} is a model, not an agent", "name an agent: claude, codex, copilot, pi or cli")
    if type_ is None and at.get("command"):
        type_ = "agentv-cli"
    if type_ is None:
        raise at.error(f"the provider {kind} is not supported yet", did_you_mean(kind, KINDS))
    if at.flag("provider_batching"):
        raise at.error("provider_batching is not supported", "leave it out: the command is then run for each test")
    said = _with_environment(at, files)
    seconds = said.number("timeout_seconds")
    cwd = said.get("cwd")
    stand_in = type_ in STAND_INS
    shared = AgentConfig(
        type=type_,
        model=said.text("model"),
        command=(said.text("executable") or "",) if said.get("executable") else (),
        command_args=said.texts("args"),
        env=_env(said, files),
        timeout=seconds or None,
        cwd=None if not stand_in else files.directory(cwd, files.folder) if cwd else files.folder,
    )
    return replace(shared, **_OWN[type_](said, files, suite)) if stand_in else shared  # type: ignore[arg-type]


def _nowhere(kind: str, files: Files) -> Part:
    return files.read(files.folder / "targets.yaml", f"provider: {kind}")


def _with_environment(part: Part, files: Files) -> Part:
    """A value that is a reference is that variable's, which has to be set; other texts stay as they are."""
    told: dict[str, object] = {}
    for key, value in part.value.items():  # type: ignore[attr-defined]
        whole = REFERENCE.fullmatch(value) if isinstance(value, str) else None
        if whole and not files.secrets.get(whole[1]):
            place = part.get(key) or part
            raise place.error(f"{whole[1]} is not set in the environment", f"set {whole[1]}")
        told[key] = interpolated(value, files.secrets, files.growth) if whole else value
    return replace(part, value=told)


def _env(said: Part, files: Files) -> dict[str, str]:
    """What ``env`` names: a list of variables, or texts with references to them."""
    told = said.get("env")
    if told is None:
        return {}
    if isinstance(told.value, list):
        return {name: files.secrets.get(name, "") for name in said.texts("env")}
    values: dict[str, object] = told.mapping().value  # type: ignore[assignment]
    return {name: str(interpolated(f"{value}", files.secrets, files.growth)) for name, value in values.items()}


# --- stand-ins for agents ---------------------------------------------------------------------------


def _cli(said: Part, files: Files, suite: str) -> dict[str, object]:  # noqa: ARG001 - all of them take the same
    command = said.text("command")
    if command is None:
        raise said.error("a cli target needs a command", "command: ./agent.sh {PROMPT_FILE} > {OUTPUT_FILE}")
    for name in _PLACEHOLDER.findall(command):
        if name not in PLACEHOLDERS:
            place = said.get("command") or said
            raise place.error(f"{{{name}}} is no placeholder", did_you_mean(name, PLACEHOLDERS))
    return {"command": (command,), "settings": {"files_format": said.text("files_format") or "{path}"}}


def _mock(said: Part, files: Files, suite: str) -> dict[str, object]:  # noqa: ARG001
    told = said.get("response")
    milliseconds = said.number("delay_ms") or 0
    answer = told.value if told else '{"answer":"Mock provider response."}'
    return {"settings": {"response": str(answer), "delay": f"{milliseconds / 1000:g}"}}


def _replay(said: Part, files: Files, suite: str) -> dict[str, object]:
    name = said.text("fixtures")
    if name is None:
        raise said.error("a replay target needs fixtures", "fixtures: ./recorded.jsonl")
    file: Path = files.folder / name
    if kind_of(file) != "file":
        raise said.error(f"there is no {files.shown(file)}", "fixtures is a JSONL file, relative to the suite")
    settings = {key: said.text(key) for key in ("source_target", "eval_path", "variant")}
    given = {key: value for key, value in settings.items() if value}
    return {"settings": {"fixtures": str(file), "suite": said.text("suite") or suite, **given}}


_OWN = {"agentv-cli": _cli, "agentv-mock": _mock, "agentv-replay": _replay}
