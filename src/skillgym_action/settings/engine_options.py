"""Where sessions run: on this machine, or on the workers of a cluster."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from skillgym_action.model.errors import ConfigError, UsageError
from skillgym_action.model.limits import (
    DEFAULT_LOST_AFTER_SECONDS,
    DEFAULT_LOST_RETRIES,
    DEFAULT_WORKER_WAIT_SECONDS,
    MAX_ENGINE_SESSIONS,
)
from skillgym_action.settings.option_types import DASK_EXTRA, LOCAL, cluster_address
from skillgym_action.settings.slices import EngineOptions, Tls

if TYPE_CHECKING:
    from skillgym_action.settings.configuration_file import Config
    from skillgym_action.settings.context import LaunchContext
    from skillgym_action.settings.settings import Settings


def engine_options(settings: Settings, config: Config, context: LaunchContext) -> EngineOptions | None:
    """The cluster that sessions run on; None: on this machine. Raises UsageError, ConfigError.

    Commands that run no sessions resolve it, too: whether it can be used here is a question of ``check_engine``.
    """
    section = config.file.engine
    if settings.engine == LOCAL or (settings.engine is None and (section is None or section.type == LOCAL)):
        return None
    named = settings.engine or (section.address if section else None)
    if named is None:
        raise ConfigError("engine: an engine of type dask needs an address", remedy="add address: dask://HOST:PORT")
    address = cluster_address(named)
    files = section.tls if section else None
    folder = config.folder or context.cwd
    tls = Tls(ca=folder / files.ca, cert=folder / files.cert, key=folder / files.key) if files else None
    if not address.startswith("tls://"):
        tls = None
    elif tls is None:
        raise ConfigError(
            f"engine: {address} needs certificates", remedy="add tls: {ca: …, cert: …, key: …} below engine"
        )
    elif normalized_inside(tls.key, context.root):
        raise ConfigError(
            f"engine.tls.key: {tls.key} is in the checkout, whose files agents can read",
            remedy="keep the key in another folder",
        )
    retries = settings.lost_retries
    if retries is None and section:
        retries = section.lost_retries
    return EngineOptions(
        address=address,
        tls=tls,
        slots=settings.jobs or (section.slots if section else None) or MAX_ENGINE_SESSIONS,
        lost_after=(section.lost_after if section else None) or DEFAULT_LOST_AFTER_SECONDS,
        lost_retries=DEFAULT_LOST_RETRIES if retries is None else retries,
        wait=(section.wait if section else None) or DEFAULT_WORKER_WAIT_SECONDS,
    )


def check_engine(engine: EngineOptions, context: LaunchContext, agent_user: str | None) -> None:
    """Raises UsageError if the sessions of this run must not be sent to a cluster, or if something for it is missing.

    Scheduler and coordinator trust each other's messages. An untrusted commit has written the configuration, which may
    name a scheduler of its author; how far its agent configuration is trusted changes nothing about that.

    ``agent_user`` is a user of this machine. Jobs of the action have one without asking for it, so they keep it.
    """
    if agent_user is not None and context.job is None:
        raise UsageError(
            f"--agent-user {agent_user} is a user of this machine, and its sessions would run as that of their worker",
            remedy="give --agent-user to `skillgym-action worker`, or run with --engine local",
        )
    event = context.job.event if context.job else None
    if context.suite_source.is_separate or (event is not None and event.untrusted):
        raise UsageError(
            "--engine does not run suites of another folder (--suites-from), nor commits that are not trusted",
            remedy="run them with --engine local",
        )
    if engine.tls:
        check_certificates(engine.tls)
    require_dask()


def with_placeholders(settings: Settings, config: Config, context: LaunchContext) -> LaunchContext:
    """The context of a coordinator, whose environment needs no keys: workers have them. Locally it is unchanged."""
    if engine_options(settings, config, context) is None:
        return context
    return replace(context, environment=WithoutKeys(context.environment))


def check_certificates(tls: Tls) -> None:
    """Raises UsageError unless all files are there."""
    for path in (tls.ca, tls.cert, tls.key):
        if not path.is_file():
            raise UsageError(f"there is no certificate or key {path}", remedy="check engine.tls, or --tls-ca and alike")


def normalized_inside(path: Path, folder: Path) -> bool:
    """Whether a path, or the file that it leads to, is in a folder."""
    return Path(os.path.normpath(path)).is_relative_to(folder) or path.resolve().is_relative_to(folder.resolve())


def require_dask() -> None:
    """Raises UsageError unless Dask is installed. It is not imported."""
    from importlib.util import find_spec

    if find_spec("distributed") is None:
        raise UsageError("the engine dask needs the package distributed", remedy=DASK_EXTRA)


class WithoutKeys(Mapping[str, str]):
    """The environment of a coordinator, where variables that only workers have to know are ``-``.

    Such a variable is not in the mapping, though it has this value: what asks whether a key is set gets the truth.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = {name: value for name, value in environment.items() if value}

    def __getitem__(self, name: str) -> str:
        return self._environment.get(name, "-")

    def __contains__(self, name: object) -> bool:
        return name in self._environment

    def __iter__(self) -> Iterator[str]:
        return iter(self._environment)

    def __len__(self) -> int:
        return len(self._environment)
