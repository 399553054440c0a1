"""The command ``init``: a first suite, a configuration and a workflow for the repository it is started in."""

from __future__ import annotations

import os
import re
import shutil
import sys
from functools import partial
from typing import TYPE_CHECKING

from skillgym_action.agents import AGENTS
from skillgym_action.agents.accounts import key_names, log_in
from skillgym_action.authoring.starter.facts import (
    StarterAgents,
    agents_of_runners,
    chosen_agents,
    keys_of,
    repository_facts,
)
from skillgym_action.authoring.starter.files import CONFIGURATION, WORKFLOW, starter_files, starter_plan, write_files
from skillgym_action.authoring.starter.suites import SUITE_FORMATS
from skillgym_action.model.errors import UsageError, did_you_mean
from skillgym_action.pipeline import wiring
from skillgym_action.settings.configuration_file import find_config
from skillgym_action.settings.settings import Settings
from skillgym_action.suites import FORMAT_ALIASES
from skillgym_action.text.documents.option_values import known_word
from skillgym_action.text.documents.user_files import read_text
from skillgym_action.text.escaping import terminal_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from skillgym_action.authoring.starter.facts import RepositoryFacts
    from skillgym_action.authoring.starter.files import StarterPlan
    from skillgym_action.settings.context import LaunchContext

MAX_STARTER_SOURCE_BYTES = 1024**2  # of a file of the repository that is read for its test command or its title


def write_starter(
    context: LaunchContext, *, suite_format: str | None, agents: tuple[str, ...], branch: str | None, force: bool
) -> int:
    """Write the files and print what to do next; the exit code.

    ``suite_format`` None: skill-evals if a skill has no evals, else x-bench. ``agents`` (): those of the configuration
    that is kept; without one, those that have a key here, or are installed. ``force``: files that exist are replaced,
    but no configuration with another name than ours. Raises UsageError, ConfigError, OutputError.
    """
    named, named_format = tuple(map(_known_agent, agents)), suite_format and _known_format(suite_format)
    facts, default = _facts(context)
    chosen_format = named_format or ("skill-evals" if facts.skills_without_evals else "x-bench")
    configuration = _kept_configuration(context, force=force)
    runs = _agents(context, named, configuration)
    files = starter_files(
        facts,
        suite_format=chosen_format,
        agents=runs,
        branch=branch or default,
        configuration=configuration or CONFIGURATION,
    )
    plan = starter_plan(files, context.root, configuration=configuration, force=force)
    write_files(plan.written, context.checkout)
    for line in _lines(context, facts, plan, runs, suite=files[0].path):
        print(terminal_text(" ".join(line.splitlines())))  # noqa: T201 - names of folders may have line ends
    return 0


def _kept_configuration(context: LaunchContext, *, force: bool) -> str | None:
    """The name of the configuration file in the root; None if there is none, or it is replaced. Raises ConfigError."""
    found = find_config(context.root, context.root)
    return None if found is None or (force and found.name == CONFIGURATION) else found.name


def _agents(context: LaunchContext, named: tuple[str, ...], configuration: str | None) -> StarterAgents:
    """The agents to run: those of the configuration that is kept, and those that are named or chosen."""

    def has_key(name: str) -> bool:
        return bool(context.environment.get(name))

    if configuration:
        file = os.path.relpath(context.root / configuration, context.cwd)
        if runners := wiring.configuration(Settings(config=file), context).file.runners:
            sections = [runner.agent for runner in runners.values()]
            return agents_of_runners(sections, named, _installable(), has_key=has_key)
    keys = _keys(named, context.environment, has_key)
    return StarterAgents.of_keys(keys, have_runners=configuration is None)


def _facts(context: LaunchContext) -> tuple[RepositoryFacts, str]:
    """Facts about the repository, and its default branch."""
    with wiring.repository_of(context) as repository:
        try:
            files = tuple(repository.searched_files(context.root))
        except OSError as error:
            raise UsageError(f"the files of {context.root} cannot be listed: {error}") from error
        folder = "" if context.cwd == context.root else context.cwd.relative_to(context.root).as_posix()
        return repository_facts(files, partial(_text, context), folder), repository.default_branch()


def _text(context: LaunchContext, path: str) -> str | None:
    """The text of a file of the repository; None if there is none, or it cannot be read."""
    file = context.root / path
    opener = context.checkout.opener(file)
    try:
        return read_text(file, path=path, error=UsageError, largest=MAX_STARTER_SOURCE_BYTES, opener=opener)
    except (OSError, UsageError):
        return None


def _known_format(word: str) -> str:
    try:
        return known_word(word, SUITE_FORMATS, FORMAT_ALIASES)
    except ValueError as error:
        raise UsageError(f"--format: {error}") from None


def _known_agent(agent: str) -> str:
    known = _installable()
    if agent in known:
        return agent
    info = AGENTS.own.get(agent)
    if info is None or info.internal or info.format:
        raise UsageError(f"--agent: unknown agent {agent!r}", remedy=did_you_mean(agent, known))
    remedy = "configure its runner yourself: docs/reference/agents.md of skillgym-action"
    raise UsageError(f"--agent: a workflow cannot install {agent!r}", remedy=remedy)


def _keys(named: tuple[str, ...], environment: Mapping[str, str], has_key: Callable[[str], bool]) -> dict[str, str]:
    """The variable with the key of each agent to run."""
    agents = _installable()

    def is_installed(agent: str) -> bool:
        return shutil.which(_program(agent), path=environment.get("PATH")) is not None

    if named:
        return keys_of(named, agents, has_key=has_key)
    return chosen_agents(agents, has_key=has_key, is_installed=is_installed)


# Of a case with 2 to 5 model rounds with Claude Sonnet 4.6: a test computes it from the price table.
SESSION_COST = "about 3 to 11 cents a session"


def _installable() -> dict[str, tuple[str, ...]]:
    """Agents that a workflow can install and that need a key, with the names of the variables that have one."""
    return {name: keys for name, info in AGENTS.own.items() if info.package and (keys := key_names(name))}


def _program(agent: str) -> str:
    return AGENTS.own[agent].executable or agent


def _lines(
    context: LaunchContext, facts: RepositoryFacts, plan: StarterPlan, runs: StarterAgents, *, suite: str
) -> Iterator[str]:
    """Lines to print: what was written and kept, and what to do next."""
    root = os.path.relpath(context.root, context.cwd)
    for file in plan.written:
        yield f"wrote {os.path.normpath(f'{root}/{file.path}')}"
    for path in plan.kept:
        yield f"kept {os.path.normpath(f'{root}/{path}')}"
    yield from _about_the_skill(facts, suite)
    yield ""
    written = {file.path for file in plan.written}
    configuration = next((path for path in plan.kept if path.startswith("skillgym.config.")), None)
    for need in _needs(context, runs, configuration, typescript=suite in written and suite.endswith(".ts")):
        yield f"First: {need}"
    yield "Next:" if root == "." else f"Next, in {root}:"
    yield from _next_steps(runs, configuration)
    yield ""
    yield from _on_github(runs, None if WORKFLOW in written else _text(context, WORKFLOW) or "")
    if suite in written:
        yield "Then replace the two cases with tasks that an agent should manage in this repository."


def _about_the_skill(facts: RepositoryFacts, suite: str) -> Iterator[str]:
    """Which skill the evals are for, and how to choose another one."""
    chosen = next((skill for skill in facts.skills_without_evals if skill.evals == suite), None)
    if chosen:
        yield ""
        yield f"The evals are for the skill {chosen.name}. For another skill, run init in the folder of that skill."


def _needs(
    context: LaunchContext, runs: StarterAgents, configuration: str | None, *, typescript: bool
) -> Iterator[str]:
    """What has to be done before the suite can run."""
    if typescript and (missing := wiring.missing_node(context)):
        yield missing
    for agent in runs.without_runner:
        yield f"{configuration} has no runner for {agent}; add one whose agent.type is {agent}"


def _next_steps(runs: StarterAgents, configuration: str | None) -> Iterator[str]:
    """The commands to try. ``configuration``: the name of the configuration file, if it is kept."""
    several, program = len(runs.names) > 1, started_as(sys.prefix)
    install = " ".join(["doctor", *(f"--install {agent}" for agent in runs.names)])
    installs = f"install the agent{'s' if several else ''}, " if runs.names else ""
    accounts = f"check {'their accounts' if several else 'its account'}: {''.join(map(log_in, runs.names))}"
    checks = f"{accounts}set {', '.join(runs.secrets)}" if runs.secrets else "check what the runners need"
    runners = f"the runners of {configuration}" if configuration else ", ".join(runs.names)
    cost = f"; {SESSION_COST}" if "claude-code" in runs.names else ""
    yield f"  {program} run --runner nop   # an agent that does nothing: each case fails and says why"
    yield f"  {program} {install}   # {installs}{checks}"
    yield f"  {program} run   # with {runners}{cost}"


def _on_github(runs: StarterAgents, kept_workflow: str | None) -> Iterator[str]:
    """What the workflow needs. ``kept_workflow``: its text, if it is kept; None: it was written."""
    if kept_workflow is None:
        secrets = f" and create {_secrets(runs.secrets)} on GitHub" if runs.secrets else ""
        yield f"For the workflow, commit these files{secrets}."
    elif missing := [name for name in runs.secrets if not re.search(rf"\b{name}\b", kept_workflow)]:
        yield f"{WORKFLOW} does not pass {', '.join(missing)}: create {_secrets(missing)} on GitHub, and pass it there."


def started_as(prefix: str) -> str:
    """The command that starts the tool again as it was started, from the Python environment ``prefix``."""
    if re.search(r"/uv/archive-v\d+/", f"{prefix}/"):
        return "uvx skillgym-action"
    return (
        "pipx run skillgym-action"
        if re.search(r"/pipx/(\.cache/|cache/)|/\.cache/pipx/", prefix)
        else "skillgym-action"
    )


def _secrets(names: Sequence[str]) -> str:
    return f"the {'secret' if len(names) == 1 else 'secrets'} {', '.join(names)}"
