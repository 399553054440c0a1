"""The command ``worker``: runs sessions of other machines' runs until it is ended by SIGINT or SIGTERM."""

from __future__ import annotations

import logging
import sys
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillgym_action import wiring
from skillgym_action.model.errors import UsageError
from skillgym_action.model.exit_codes import ExitCode
from skillgym_action.processes.users import agent_user
from skillgym_action.settings.engine_options import Tls, check_certificates, cluster_address, require_dask
from skillgym_action.text.escaping import terminal_line
from skillgym_action.text.redaction import Redactor

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkerRequest:
    """The arguments of the command."""

    address: str
    slots: int
    tls_ca: Path | None = None
    tls_cert: Path | None = None
    tls_key: Path | None = None
    agent_user: str | None = None
    install_agents: bool = False


def run_worker(request: WorkerRequest, environment: Mapping[str, str]) -> int:
    """Connect to a scheduler and run sessions; the exit code. Raises UsageError, EngineError."""
    address, tls = cluster_address(request.address), _certificates(request)
    require_dask()
    if request.agent_user:
        agent_user(request.agent_user)  # a wrong name is an error now, not with the first session
    from skillgym_action.engines.dask_worker import WorkerHost, serve

    logging.getLogger("distributed").setLevel(logging.ERROR)
    redact = Redactor.of_environment(environment).text

    def log(line: str) -> None:
        print(redact(terminal_line(line)), file=sys.stderr, flush=True)  # noqa: T201

    own: dict[str, object] = {}
    if request.agent_user:
        own["agent_user"] = request.agent_user
    if request.install_agents:
        own["install_agents"] = True
    wiring.collect_garbage_rarely()  # a worker serves many runs
    with wiring.cancellation() as cancelled, closing(WorkerHost(environment, own)) as host:
        serve(address, tls, request.slots, host, cancelled, log)
    return ExitCode.PASSED


def _certificates(request: WorkerRequest) -> Tls | None:
    """None for a scheduler on this machine without encryption. Raises UsageError."""
    if not cluster_address(request.address).startswith("tls://"):
        return None
    if request.tls_ca is None or request.tls_cert is None or request.tls_key is None:
        raise UsageError(f"{request.address} needs certificates", remedy="add --tls-ca, --tls-cert and --tls-key")
    tls = Tls(ca=request.tls_ca, cert=request.tls_cert, key=request.tls_key)
    check_certificates(tls)
    return tls
