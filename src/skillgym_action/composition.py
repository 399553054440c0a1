"""The composition root: settings -> configuration, runners and options; opens the doors and closes them again."""

from __future__ import annotations

import gc
import os
import re
import signal
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from skillgym_action.agents import AGENTS
from skillgym_action.config import Config, find_config, read_config
from skillgym_action.effects.cancellation import Cancellation
from skillgym_action.effects.clock import Clock
from skillgym_action.effects.processes import Processes
from skillgym_action.effects.repository import Repository, repository_root
from skillgym_action.effects.run_directory import RunDirectory
from skillgym_action.effects.suite_host import SuiteHosts
from skillgym_action.effects.workspace import Workspaces
from skillgym_action.errors import UsageError
from skillgym_action.redaction import Redactor
from skillgym_action.runners import selected_runners
from skillgym_action.world import Observers, World

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from skillgym_action.domain import Runner
    from skillgym_action.effects.github_api import GitHubApi
    from skillgym_action.github.conversation import Conversation
    from skillgym_action.github.event import GitHubEvent
    from skillgym_action.options import Options, Settings
    from skillgym_action.world import Observer

SECRET_NAMES = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """A step of a job on GitHub: what started it, the token that may write for it, and what the runner reads of it.

    Without ``token`` nothing is said on a pull request; without ``summary`` or ``outputs`` that file is not written.
    """

    event: GitHubEvent | None = None
    token: str | None = field(default=None, repr=False)
    annotations: bool = False
    summary: Path | None = None
    outputs: Path | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Where we are: the working directory, the repository around it, the environment as it was, and the job around."""

    cwd: Path
    root: Path
    environment: Mapping[str, str]
    job: Job | None = None


def place(cwd: Path, environment: Mapping[str, str], job: Job | None = None) -> Place:
    """The place of a working directory."""
    absolute = Path(os.path.realpath(cwd))
    return Place(cwd=absolute, root=repository_root(absolute), environment=environment, job=job)


def configuration(given: Settings, here: Place) -> Config:
    """The configuration that is named, found upward from the first path, or empty. Raises ConfigError, UsageError."""
    if given.config:
        named = here.cwd / given.config
        if not named.is_file():
            raise UsageError(f"no such configuration file: {given.config}", remedy="check --config")
        config = read_config(named, given.config)
    else:
        first = next((here.cwd / path for path in given.paths if not path.startswith("!")), here.cwd)
        start = first if first.is_dir() else first.parent
        found = find_config(Path(os.path.normpath(start)), here.root)
        config = read_config(found, os.path.relpath(found, here.cwd)) if found else Config(folder=here.cwd)
    return config.with_runners(given.runners) if given.runners else config


def runners(given: Settings, config: Config, here: Place) -> tuple[Runner, ...]:
    """The runners of a run."""
    return selected_runners(config, given.runner, here.environment)


def run_directory(given: Settings, config: Config, here: Place, clock: Clock) -> Path:
    """``--output``, or a new folder below ``.skillgym-results``."""
    if given.output:
        return Path(os.path.normpath(here.cwd / given.output))
    parent = Path(config.folder, config.file.run.output_dir) if config.folder and config.file.run.output_dir else None
    name = f"{clock.now():%Y%m%dT%H%M%SZ}-{os.urandom(3).hex()}"
    return (parent or here.cwd / ".skillgym-results") / name


def secret_values(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Values of the environment that must never leave us."""
    return tuple(value for name, value in environment.items() if value and SECRET_NAMES.search(name))


def forget_keys() -> None:
    """Take keys out of our own environment, which any child of ours could otherwise read."""
    known = {key for listing in AGENTS.values() for key in listing.keys}
    for name in [name for name in os.environ if name in known or SECRET_NAMES.search(name)]:
        del os.environ[name]


@contextmanager
def opened(here: Place, directory: Path, observer: Observer, options: Options | None = None) -> Iterator[World]:
    """All doors, and SIGINT and SIGTERM turned into a cancellation, as long as the context lasts.

    Without ``options`` nothing is said on a pull request.
    """
    gc.freeze()
    gc.enable()
    with ExitStack() as stack:
        cancelled = Cancellation()
        stack.callback(cancelled.close)
        stack.enter_context(_signals(cancelled))
        processes = stack.enter_context(Processes(environment=here.environment, cancelled=cancelled))
        repository = Repository(here.root, processes)
        workspaces = stack.enter_context(Workspaces(repository, processes.turns))
        if directory.is_relative_to(here.root):
            workspaces.hide([directory.relative_to(here.root).as_posix()])
        redactor = Redactor(secret_values(here.environment))
        logs = stack.enter_context(RunDirectory(directory, redactor))
        hosts = stack.enter_context(SuiteHosts(processes, root=here.root, logs=directory))
        clock = Clock()
        event = here.job.event if here.job else None
        conversation = None
        if options and event and here.job and here.job.token:
            api = _github_api(event, here.job.token, clock, cancelled)
            stack.callback(api.close)
            conversation = _conversation(api, event, options, redactor, observer)
            stack.callback(conversation.close)
        yield World(
            cwd=here.cwd,
            repository=repository,
            processes=processes,
            workspaces=workspaces,
            hosts=hosts,
            directory=logs,
            clock=clock,
            cancelled=cancelled,
            observer=Observers(observer, conversation) if conversation else observer,
            links=event.links() if event else None,
            conversation=conversation,
        )


def _github_api(event: GitHubEvent, token: str, clock: Clock, cancelled: Cancellation) -> GitHubApi:
    from skillgym_action.effects.github_api import GitHubApi

    return GitHubApi(url=event.api_url, token=token, graphql_url=event.graphql_url, clock=clock, cancelled=cancelled)


def _conversation(
    api: GitHubApi, event: GitHubEvent, options: Options, redactor: Redactor, observer: Observer
) -> Conversation:
    from skillgym_action.github.conversation import Conversation

    return Conversation(api, event, options.conversation, redactor, observer.progress)


@contextmanager
def _signals(cancelled: Cancellation) -> Iterator[None]:
    """A second signal adds nothing: the first one is being obeyed."""
    before = {number: signal.signal(number, lambda *_: cancelled.set()) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
