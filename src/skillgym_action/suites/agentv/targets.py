"""Targets of AgentV suites: those that a suite names, their definitions in ``targets.yaml``, and their runners."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from typing import TYPE_CHECKING

from skillgym_action.model.errors import Problem, SuiteError, did_you_mean
from skillgym_action.model.hooks import NO_HOOKS, Hooks
from skillgym_action.model.limits import MAX_AGENTV_TARGETS
from skillgym_action.model.records import record
from skillgym_action.model.runner import Runner
from skillgym_action.model.session import AgentConfig
from skillgym_action.suites.agentv.program_graders import FunctionReference
from skillgym_action.suites.agentv.variables import REFERENCE, interpolated
from skillgym_action.suites.agentv.workspaces import hooks_of
from skillgym_action.text.documents.user_files import kind_of
from skillgym_action.text.escaping import path_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from skillgym_action.suites.agentv.suite_files import SuiteFiles
    from skillgym_action.suites.values import SuiteValue

MAX_TARGET_REFERENCES = 5  # in a chain of `use_target`
TASK = "custom-task"
"""AgentV's name for a function of the suite in place of a target."""
TARGET_FILES = ("targets.yaml", "targets.yml", ".agentv/targets.yaml", ".agentv/targets.yml")

AGENT_TYPES = {
    **dict.fromkeys(("claude", "claude-cli", "claude-code", "claude-sdk", "cc-mirror"), "claude-code"),
    **dict.fromkeys(("codex", "codex-cli", "codex-sdk", "codex-app-server"), "codex"),
    **dict.fromkeys(("copilot", "copilot-cli", "copilot-sdk"), "copilot"),
    **dict.fromkeys(("pi", "pi-cli", "pi-coding-agent", "pi-sdk", "pi-rpc"), "pi"),
    **dict.fromkeys(("opencode",), "opencode"),
    **dict.fromkeys(("gemini-cli",), "gemini"),
    **dict.fromkeys(("qwen", "qwen-code"), "qwen"),
    **dict.fromkeys(("cursor", "cursor-agent"), "cursor-agent"),
    **dict.fromkeys(("cli",), "agentv-cli"),
    **dict.fromkeys(("mock",), "agentv-mock"),
    **dict.fromkeys(("replay",), "agentv-replay"),
    **dict.fromkeys(("transcript",), "agentv-transcript"),
}
MODEL_PROVIDERS = frozenset(
    {"openai", "openrouter", "azure", "azure-openai", "anthropic", "gemini", "google", "google-gemini"}
)
PROGRAM_PREFIXES = ("package:", "file:", "exec:", "http:", "https:", "python:", "javascript:")
"""Beginnings of the ids of AgentV 5's providers that are programs or servers."""
STAND_INS = frozenset({"agentv-cli", "agentv-mock", "agentv-replay", "agentv-transcript"})
COMMON_KEYS = frozenset(
    {"name", "provider", "use_target", "grader_target", "judge_target", "workers", "provider_batching"}
)
COMMON_KEYS |= {"fallback_targets", "subagent_mode_allowed", "env", "cwd", "timeout_seconds", "verbose"}
STAND_IN_KEYS = {
    "agentv-cli": frozenset({"command", "files_format", "healthcheck", "keep_temp_files"}),
    "agentv-mock": frozenset({"response", "delay_ms"}),
    "agentv-replay": frozenset({"fixtures", "source_target", "suite", "eval_path", "variant"}),
    "agentv-transcript": frozenset({"transcript"}),
}
AGENT_KEYS = frozenset({"model", "executable", "args"})
PLACEHOLDERS = ("PROMPT", "PROMPT_FILE", "EVAL_ID", "ATTEMPT", "FILES", "OUTPUT_FILE")

_PLACEHOLDER = re.compile(r"\{([A-Z][A-Z0-9_]*)\}")


@record
class NamedTarget:
    """A target as a suite names it. ``use_target``: the name of the target that it is a variant of.

    ``inline``: ``value`` is its definition, which suites in TypeScript may have.
    """

    name: str
    value: SuiteValue
    use_target: str | None = None
    hooks: Hooks = NO_HOOKS
    inline: bool = False


def named_targets(top: SuiteValue, files: SuiteFiles) -> list[NamedTarget]:
    """The targets that a suite names, each once. Raises SuiteError."""
    execution = top.get("execution")
    if execution and (targets := execution.get("targets")):
        if len(items := targets.items()) > MAX_AGENTV_TARGETS:
            raise targets.error(f"more than {MAX_AGENTV_TARGETS} targets", "split the suite")
        return list({target.name: target for target in (_named_target(item, files) for item in items)}.values())
    single = (execution and execution.get("target")) or top.get("target")
    if isinstance((task := top.member("task")).value, FunctionReference):
        return [NamedTarget(name=TASK, value=task)]
    if single and isinstance(single.value, dict) and single.value.keys() & {"provider", "use_target"}:
        return [NamedTarget(name=single.text("name") or "default", value=single, inline=True)]
    return [NamedTarget(name=single.as_text(), value=single)] if single else []


def _named_target(item: SuiteValue, files: SuiteFiles) -> NamedTarget:
    if isinstance(item.value, str):
        return NamedTarget(name=item.as_text(), value=item)
    item.mapping()
    name = item.text("name")
    if name is None:
        raise item.missing("name", "name: claude-baseline", "the target has no name")
    use = item.get("use_target")
    return NamedTarget(
        name=name,
        value=use or item,
        use_target=str(use.value) if use else None,
        hooks=hooks_of(item.get("hooks"), files.folder, lines=True),
    )


# --- targets.yaml -----------------------------------------------------------------------------------


@record
class Targets:
    """The defined targets by name; ``path`` is the path of their file in messages, None if there is no file.

    ``noun``: what messages call one of them; ``usual``: the file where they are looked for. ``named``: those that the
    suite names, if they are not written as AgentV 4 has it; ``translate`` then gives a definition the keys of a target.
    """

    defined: Mapping[str, SuiteValue]
    path: str | None = None
    warnings: tuple[Problem, ...] = ()
    noun: str = "target"
    usual: str = "targets.yaml"
    named: tuple[NamedTarget, ...] | None = None
    translate: Callable[[SuiteValue], SuiteValue] | None = None


def defined_targets(files: SuiteFiles) -> Targets:
    """The targets of the nearest file of targets, from the suite's folder up. Raises SuiteError."""
    found = next((file for root in files.roots if (file := files.first_of(root, TARGET_FILES))), None)
    if found is None:
        return Targets(defined={})
    path, top = files.shown(found), files.read(found)
    top.mapping()
    targets = top.get("targets")
    if targets is None:
        raise top.missing("targets", "targets: [{name: default, provider: claude}]")
    defined: dict[str, SuiteValue] = {}
    for target in targets.items():
        target.mapping()
        name = target.text("name")
        if name is None:
            raise target.missing("name", "name: default", "the target has no name")
        if name in defined:
            raise target.error(f"the name {name!r} is already used by the target at {defined[name].location}")
        defined[name] = target
    return Targets(defined=defined, path=path, warnings=tuple(top.unknown_keys({"targets"})))


# --- runners ----------------------------------------------------------------------------------------


@record
class SuiteRunners:
    """The runners of a suite, those that it may run on as well, and warnings."""

    own: tuple[Runner, ...] = ()
    others: tuple[Runner, ...] = ()
    warnings: tuple[Problem, ...] = ()


def runners_of(top: SuiteValue, files: SuiteFiles, suite: str, found: Targets | None = None) -> SuiteRunners:
    """The suite's runners: the targets that it names, else ``default``; the others are those that are defined as well.

    ``found``: its targets, if they are not those of ``targets.yaml``. A target that cannot be used becomes a runner
    with a problem. Raises SuiteError.
    """
    targets = found or defined_targets(files)
    named = named_targets(top, files) if targets.named is None else list(targets.named)
    if not named and (default := targets.defined.get("default")):
        named = [NamedTarget(name="default", value=default)]
    own, warnings = _runners(named, targets, files, suite)
    warnings = (*targets.warnings, *warnings)
    names = {target.name for target in named}
    left = [NamedTarget(name=name, value=value) for name, value in targets.defined.items() if name not in names]
    others, _ = _runners(left[:MAX_AGENTV_TARGETS], targets, files, suite)
    return SuiteRunners(own=own, others=others, warnings=warnings)


def _runners(
    named: Iterable[NamedTarget], targets: Targets, files: SuiteFiles, suite: str
) -> tuple[tuple[Runner, ...], tuple[Problem, ...]]:
    """The runners of targets, and warnings."""
    runners: list[Runner] = []
    warnings: list[Problem] = []
    for target in named:
        try:
            provider, definition = _resolved(target, targets, files)
            agent = _agent(provider, definition, files, suite)
            if definition:
                warnings.extend(definition.unknown_keys(COMMON_KEYS | STAND_IN_KEYS.get(agent.type, AGENT_KEYS)))
                warnings.extend(_without_effect(definition, agent.type))
            runner = Runner(id=target.name, path_key=path_key(target.name), agent=agent, hooks=target.hooks)
        except SuiteError as error:
            agent = AgentConfig(type=target.use_target or target.name)
            problem = replace(error.problems[0], message=f"{targets.noun} {target.name}: {error.problems[0].message}")
            runner = Runner(id=target.name, path_key=path_key(target.name), agent=agent, problem=problem)
        runners.append(runner)
    return tuple(runners), tuple(warnings)


def _without_effect(target: SuiteValue, agent: str) -> Iterator[Problem]:
    """Warnings about keys of a target that AgentV reads, and that do something else here, or nothing."""
    if (fallback := target.get("fallback_targets")) and fallback.value:
        names = fallback.value if isinstance(fallback.value, list) else [fallback.value]
        yield fallback.problem(
            "fallback_targets has no effect: what another agent did would count as this one's",
            f"let the suite run on both: --runner {target.text('name')} --runner {names[0]}",
        )
    if target.flag("provider_batching"):
        stands_in = agent == "agentv-cli"
        does = "the command is run for each test, and the line with the test's id counts"
        message = f"there are no batches: {does if stands_in else 'sessions run one by one'}"
        yield target.member("provider_batching").problem(message, "leave it out")
    check = target.get("healthcheck") if agent == "agentv-cli" else None
    if check and (url := check.get("url")):
        yield url.problem("the URL is not requested before sessions", f"write command: curl --fail {url.value}")


def _resolved(target: NamedTarget, targets: Targets, files: SuiteFiles) -> tuple[str, SuiteValue | None]:
    """The provider of a target, and its definition. A name that is not defined may be that of a provider itself."""
    if isinstance(target.value.value, FunctionReference):
        remedy = "have a program do it: target: { provider: 'cli', command: … }; or choose another agent with --runner"
        raise target.value.error("a function cannot be the agent here: agents are programs", remedy)
    if target.inline and (provider := target.value.text("provider")):
        return provider, target.value
    name = target.name if target.use_target is None else target.use_target
    if target.inline:
        name = target.value.text("use_target") or ""
    reference, written = target.value, target.value.written
    for _ in range(MAX_TARGET_REFERENCES):
        if not name:
            unset = REFERENCE.search(written) if isinstance(written, str) else None
            variable = unset[1] if unset else "the variable"
            raise reference.error(
                f"{variable} is not set in the environment", f"set {variable} to the name of a target"
            )
        definition = targets.defined.get(name)
        if definition is None:
            if name in AGENT_TYPES:
                return name, None
            where = f" in {targets.path}" if targets.path else f": there is no {targets.usual}"
            known = targets.defined or AGENT_TYPES
            raise reference.error(f"no {targets.noun} is called {name!r}{where}", did_you_mean(name, known))
        definition = targets.translate(definition) if targets.translate else definition
        use = definition.get("use_target")
        if use is None:
            if provider := definition.text("provider"):
                return str(interpolated(provider, files.secrets, files.budget)), definition
            raise definition.missing("provider", "provider: claude", "has neither provider nor use_target")
        name, written, reference = str(interpolated(use.value, files.secrets, files.budget)), use.value, use
    raise target.value.error(f"more than {MAX_TARGET_REFERENCES} targets in a chain of use_target")


def _agent(provider: str, definition: SuiteValue | None, files: SuiteFiles, suite: str) -> AgentConfig:
    """The agent of a target. Raises SuiteError for a provider that is not supported."""
    target = definition or files.read(files.folder / "targets.yaml", f"provider: {provider}")
    type_ = AGENT_TYPES.get(provider)
    if provider in MODEL_PROVIDERS:
        raise target.error(f"{provider} is a model, not an agent", "name an agent: claude, codex, copilot, pi or cli")
    if type_ is None and target.get("command"):
        type_ = "agentv-cli"
    if type_ is None:
        if provider.startswith(PROGRAM_PREFIXES):
            remedy = "write id: cli with a command that writes its answer to {OUTPUT_FILE}"
            raise target.error(f"providers that are programs are not supported: {provider}", remedy)
        raise target.error(f"the provider {provider} is not supported yet", did_you_mean(provider, AGENT_TYPES))
    target = _with_environment(target, files)
    seconds = target.number("timeout_seconds")
    cwd = target.get("cwd")
    stand_in = type_ in STAND_INS
    agent = AgentConfig(
        type=type_,
        model=target.text("model"),
        command=(target.text("executable") or "",) if target.get("executable") else (),
        command_args=target.texts("args"),
        env=_env(target, files),
        timeout=float(seconds) if seconds else None,
        cwd=None if not stand_in else files.directory(cwd, files.folder) if cwd else files.folder,
    )
    return replace(agent, **_STAND_IN_SETTINGS[type_](target, files, suite)) if stand_in else agent  # type: ignore[arg-type]


def _with_environment(target: SuiteValue, files: SuiteFiles) -> SuiteValue:
    """The target with its values that consist of one variable replaced; the variable must be set.

    Variables inside of longer texts stay: the shell of a ``cli`` target replaces them.
    """
    replaced: dict[str, object] = {}
    for key, value in target.mapping().items():
        whole = REFERENCE.fullmatch(value) if isinstance(value, str) else None
        if whole and not files.secrets.get(whole[1]):
            raise (target.get(key) or target).error(f"{whole[1]} is not set in the environment", f"set {whole[1]}")
        replaced[key] = interpolated(value, files.secrets, files.budget) if whole else value
    return replace(target, value=replaced)


def _env(target: SuiteValue, files: SuiteFiles) -> dict[str, str]:
    """The variables of ``env``: a list of names, or a mapping of names to texts with variables."""
    env = target.get("env")
    if env is None:
        return {}
    if isinstance(env.value, list):
        return {name: files.secrets.get(name, "") for name in target.texts("env")}
    written = {name: env.scalar_text(name) or "" for name in env.mapping()}
    return {name: str(interpolated(value, files.secrets, files.budget)) for name, value in written.items()}


# --- stand-ins for agents ---------------------------------------------------------------------------


def _cli(target: SuiteValue, files: SuiteFiles, suite: str) -> dict[str, object]:  # noqa: ARG001 - all stand-ins take the same
    command = target.text("command")
    if command is None:
        remedy = "command: ./agent.sh {PROMPT_FILE} > {OUTPUT_FILE}"
        raise target.missing("command", remedy, "a cli target needs a command")
    _check_placeholders(command, target.member("command"))
    settings = {"files_format": target.text("files_format") or "{path}"}
    if target.flag("provider_batching"):
        settings["batch"] = "true"
    if check := _healthcheck(target, files):
        settings["healthcheck"] = check
    return {"command": (command,), "settings": settings}


def _healthcheck(target: SuiteValue, files: SuiteFiles) -> str | None:
    """The line for the shell that tells whether the agent works; None: there is none. Raises SuiteError."""
    check = target.get("healthcheck")
    if check is None:
        return None
    check.mapping()
    command = check.text("command")
    if command is None:
        if check.get("url") is None:
            raise check.error("the healthcheck has no command", "command: my-agent --version")
        return None
    _check_placeholders(command, check.member("command"))
    cwd = check.get("cwd") or target.get("cwd")
    folder = files.directory(cwd, files.folder) if cwd else files.folder
    return f"cd {shlex.quote(str(folder))} && {{ {command}\n}}"


def _check_placeholders(command: str, value: SuiteValue) -> None:
    for name in _PLACEHOLDER.findall(command):
        if name not in PLACEHOLDERS:
            raise value.error(f"{{{name}}} is not a placeholder", did_you_mean(name, PLACEHOLDERS))


def _mock(target: SuiteValue, files: SuiteFiles, suite: str) -> dict[str, object]:  # noqa: ARG001
    response = target.get("response")
    milliseconds = target.number("delay_ms") or 0
    answer = response.value if response else '{"answer":"Mock provider response."}'
    return {"settings": {"response": str(answer), "delay": f"{milliseconds / 1000:g}"}}


def _replay(target: SuiteValue, files: SuiteFiles, suite: str) -> dict[str, object]:
    file = _recording(target, files, "replay", "fixtures")
    settings = {key: target.text(key) for key in ("source_target", "eval_path", "variant")}
    known = {key: value for key, value in settings.items() if value}
    return {"settings": {"fixtures": str(file), "suite": target.text("suite") or suite, **known}}


def _transcript(target: SuiteValue, files: SuiteFiles, suite: str) -> dict[str, object]:  # noqa: ARG001
    return {"settings": {"transcript": str(_recording(target, files, "transcript", "transcript"))}}


def _recording(target: SuiteValue, files: SuiteFiles, provider: str, key: str) -> Path:
    """The JSONL file that a key of a target names. Raises SuiteError."""
    name = target.text(key)
    if name is None:
        raise target.error(f"a {provider} target needs {key}", f"{key}: ./recorded.jsonl")
    file: Path = files.folder / name
    if kind_of(file) != "file":
        raise target.error(f"there is no {files.shown(file)}", f"{key} is a JSONL file, relative to the suite")
    return file


_STAND_IN_SETTINGS = {
    "agentv-cli": _cli,
    "agentv-mock": _mock,
    "agentv-replay": _replay,
    "agentv-transcript": _transcript,
}
