"""The command ``init``: a first suite, a configuration and a workflow for the repository it is started in."""

from __future__ import annotations

import re
import shutil
import sys
from typing import TYPE_CHECKING

from skillgym_action import wiring
from skillgym_action.agents import AGENTS
from skillgym_action.documents.user_files import read_text
from skillgym_action.limits import MAX_STARTER_SOURCE_BYTES
from skillgym_action.model.errors import UsageError, did_you_mean
from skillgym_action.processes.agent_keys import key_names
from skillgym_action.starter.repository_facts import chosen_agents, repository_facts
from skillgym_action.starter.starter_files import starter_files, write_files
from skillgym_action.starter.starter_suites import SUITE_FORMATS
from skillgym_action.text.escaping import terminal_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillgym_action.settings.context import LaunchContext
    from skillgym_action.starter.repository_facts import RepositoryFacts
    from skillgym_action.starter.starter_files import StarterFile


def write_starter(
    context: LaunchContext, *, suite_format: str | None, agents: tuple[str, ...], branch: str | None, force: bool
) -> int:
    """Write the files and print what to do next; the exit code.

    ``suite_format`` None: evals if a skill has none yet, else x-bench. ``agents`` (): those that have a key here, or
    are installed. Raises UsageError, OutputError.
    """
    named = tuple(map(_known_agent, agents))
    if suite_format is not None and suite_format not in SUITE_FORMATS:
        raise UsageError(f"--format: unknown format {suite_format!r}", remedy=did_you_mean(suite_format, SUITE_FORMATS))
    facts, default = _facts(context)
    chosen_format = suite_format or ("evals" if facts.skills_without_evals else "x-bench")
    chosen = named or chosen_agents(
        {agent: key_names(agent) for agent in _installable()},
        has_key=lambda name: bool(context.environment.get(name)),
        is_installed=lambda agent: shutil.which(_program(agent), path=context.environment.get("PATH")) is not None,
    )
    files = starter_files(facts, suite_format=chosen_format, agents=chosen, branch=branch or default)
    write_files(files, context.checkout, context.root, force=force)
    missing = wiring.missing_node(context) if chosen_format == "typescript" else None
    for line in _next_steps(files, chosen, missing):
        print(terminal_text(line))  # noqa: T201
    return 0


def _facts(context: LaunchContext) -> tuple[RepositoryFacts, str]:
    """Facts about the repository, and its default branch."""

    def read(path: str) -> str | None:
        try:
            return read_text(
                context.root / path,
                path=path,
                error=UsageError,
                largest=MAX_STARTER_SOURCE_BYTES,
                opener=context.checkout.opener(context.root / path),
            )
        except (OSError, UsageError):
            return None

    with wiring.repository_of(context) as repository:
        try:
            files = tuple(repository.files(context.root))
        except OSError as error:
            raise UsageError(f"the files of {context.root} cannot be listed: {error}") from error
        return repository_facts(files, read), repository.default_branch()


def _known_agent(agent: str) -> str:
    known = tuple(_installable())
    if agent not in known:
        raise UsageError(f"--agent: unknown agent {agent!r}", remedy=did_you_mean(agent, known))
    return agent


def _installable() -> Iterator[str]:
    """Agents that a workflow can install and that need a key."""
    return (name for name, info in AGENTS.items() if info.package and key_names(name))


def _program(agent: str) -> str:
    return AGENTS[agent].executable or agent


def _next_steps(files: tuple[StarterFile, ...], agents: tuple[str, ...], missing: str | None) -> Iterator[str]:
    """Lines to print. ``missing``: what has to be done before the suite can run."""
    for file in files:
        yield f"wrote {file.path}"
    names = list(dict.fromkeys(key_names(agent)[0] for agent in agents))
    yield ""
    if missing:
        yield f"First: {missing}"
    yield "Next:"
    install = " ".join(f"--install {agent}" for agent in agents)
    program = started_as(sys.prefix)
    yield f"  {program} run --runner nop   # an agent that does nothing: each case fails and says why"
    yield f"  {program} doctor {install}   # install the agent, check its key: {', '.join(names)} in the environment"
    yield f"  {program} run   # with {', '.join(agents)}; costs a few cents"
    yield ""
    yield f"For the workflow, commit these files and create {_secrets(names)} on GitHub."
    yield "Then replace the two cases by tasks that an agent should manage in this repository."


def started_as(prefix: str) -> str:
    """The command that starts the tool again as it was started, from the Python environment ``prefix``."""
    if re.search(r"/uv/archive-v\d+/", f"{prefix}/"):
        return "uvx skillgym-action"
    return (
        "pipx run skillgym-action"
        if re.search(r"/pipx/(\.cache/|cache/)|/\.cache/pipx/", prefix)
        else "skillgym-action"
    )


def _secrets(names: list[str]) -> str:
    return f"the {'secret' if len(names) == 1 else 'secrets'} {', '.join(names)}"
