"""Where sessions run: on this machine, or on the workers of a cluster."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, NonNegativeInt

from skillgym_action.model.errors import ConfigError, UsageError
from skillgym_action.remote_limits import (
    DEFAULT_LOST_AFTER_SECONDS,
    DEFAULT_LOST_RETRIES,
    DEFAULT_WORKER_WAIT_SECONDS,
    MAX_ENGINE_SESSIONS,
)
from skillgym_action.settings.declarations import RUN, Input, Option
from skillgym_action.settings.provider_limits import ProviderSettings

if TYPE_CHECKING:
    from skillgym_action.settings.configuration_file import Config
    from skillgym_action.settings.context import LaunchContext
    from skillgym_action.settings.options import ExecuteOptions, Settings

LOCAL = "local"
DASK_EXTRA = "pip install 'skillgym-action[dask]'"
_HOST = r"(\[[0-9a-fA-F:.]+\]|[^\s/:@?#\[\]]+)"
_ADDRESS = re.compile(rf"(dask|tls|tcp)://{_HOST}:([0-9]{{1,5}})")
_LOOPBACK = r"(localhost|127(\.(0|[1-9][0-9]{0,2})){3}|\[127(\.(0|[1-9][0-9]{0,2})){3}\]|\[[0:]*:0{0,3}1\])"
_PORT = r"(?!0+$)([0-5]?[0-9]{1,4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])"
CLUSTER_ADDRESS = rf"^((dask|tls)://{_HOST}|tcp://{_LOOPBACK}):{_PORT}$"
"""The pattern of what ``cluster_address`` accepts, for JSON Schemas; a few addresses that are none match it, too."""
OF_TLS = "^(dask|tls)://"


class EngineSettings(ProviderSettings, BaseModel):
    """The part of ``Settings`` that says where sessions run, and how many of them use a provider at once."""

    engine: Annotated[
        str | None,
        Option(
            RUN,
            "ADDRESS|local",
            "Where to run sessions: on this machine (local), or on a Dask cluster (dask://HOST:PORT).",
        ),
        Input("engine"),
    ] = None
    lost_retries: Annotated[
        NonNegativeInt | None,
        Option(RUN, "N", "With --engine: rerun a session up to N times if its worker is lost (default: 2)."),
    ] = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Tls:
    """Files in PEM format: the authority that signed all certificates of the cluster, and the own one with its key."""

    ca: Path
    cert: Path
    key: Path


@dataclass(frozen=True, kw_only=True, slots=True)
class EngineOptions:
    """A cluster of Dask. ``address``: of the scheduler, ``tls://…``, or ``tcp://…`` on loopback, then without ``tls``.

    ``slots``: sessions at once, over all workers. Seconds: ``lost_after``, the silence after which a worker is lost,
    and ``wait``, how long a run waits for a worker. ``lost_retries``: how often a lost worker's session runs again.
    """

    address: str
    tls: Tls | None = None
    slots: int = MAX_ENGINE_SESSIONS
    lost_after: float = DEFAULT_LOST_AFTER_SECONDS
    lost_retries: int = DEFAULT_LOST_RETRIES
    wait: float = DEFAULT_WORKER_WAIT_SECONDS


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


def on_engine(options: ExecuteOptions, engine: EngineOptions | None, schedule: str | None) -> ExecuteOptions:
    """The options with as many sessions at once as a cluster may run; unless a schedule is set, in parallel.

    ``schedule``: the one that the user set.
    """
    if engine is None or schedule in {"isolated-by-runner", "serial"}:
        return options
    return replace(options, jobs=engine.slots, schedule="parallel")


def cluster_address(text: str) -> str:
    """The address of a scheduler as Dask writes it; ``dask://`` means TLS. Raises UsageError.

    Whoever reaches a scheduler without TLS may run programs on it, so ``tcp://`` is for this machine alone.
    """
    match = _ADDRESS.fullmatch(text)
    if not match or not 0 < int(match[3]) < 2**16:
        raise UsageError(
            f"{text[:200]!r} is not the address of a scheduler",
            remedy="write dask://HOST:PORT, or tcp://127.0.0.1:PORT for a scheduler on this machine",
        )
    scheme, host, port = match.groups()
    if scheme == "tcp" and not _is_loopback(host.strip("[]")):
        raise UsageError(
            f"{text}: tcp:// is not encrypted, and anybody who reaches the port can run programs",
            remedy="use dask:// with certificates; tcp:// works only on this machine",
        )
    return f"{'tcp' if scheme == 'tcp' else 'tls'}://{host}:{port}"


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    import ipaddress  # imported late: a run on this machine does not need it

    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


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
