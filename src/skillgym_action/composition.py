"""The composition root: settings -> configuration, runners and options; opens the doors and closes them again."""

from __future__ import annotations

import gc
import os
import re
import signal
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
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
from skillgym_action.world import World

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from skillgym_action.domain import Runner
    from skillgym_action.options import Settings
    from skillgym_action.world import Observer

SECRET_NAMES = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Where we are: the working directory, the repository around it, and the environment as it was at the start."""

    cwd: Path
    root: Path
    environment: Mapping[str, str]


def place(cwd: Path, environment: Mapping[str, str]) -> Place:
    """The place of a working directory."""
    absolute = Path(os.path.realpath(cwd))
    return Place(cwd=absolute, root=repository_root(absolute), environment=environment)


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
def opened(here: Place, directory: Path, observer: Observer) -> Iterator[World]:
    """All doors, and SIGINT and SIGTERM turned into a cancellation, as long as the context lasts."""
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
        logs = stack.enter_context(RunDirectory(directory, Redactor(secret_values(here.environment))))
        hosts = stack.enter_context(SuiteHosts(processes, root=here.root, logs=directory))
        yield World(
            cwd=here.cwd,
            repository=repository,
            processes=processes,
            workspaces=workspaces,
            hosts=hosts,
            directory=logs,
            clock=Clock(),
            cancelled=cancelled,
            observer=observer,
        )


@contextmanager
def _signals(cancelled: Cancellation) -> Iterator[None]:
    """A second signal adds nothing: the first one is being obeyed."""
    before = {number: signal.signal(number, lambda *_: cancelled.set()) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
