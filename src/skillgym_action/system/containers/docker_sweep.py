"""What runs leave in a Docker engine when they are killed: found by its labels and removed."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from skillgym_action.system.containers.docker_engine import ENGINE_ERRORS, LABEL, VOLUME_PREFIX, seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from skillgym_action.system.containers.docker_engine import DockerEngine

CONTAINER_STRAY_SECONDS = 120  # for what a run makes before a container of it runs; older than that it is a stray
RUN = f"{LABEL}.run"
CONTENT = f"{LABEL}.content"


def labels(run: str, kind: str) -> dict[str, str]:
    """The labels of what a run makes. ``kind``: container, filler, proxy, network, content or volume."""
    return {LABEL: kind, RUN: run}


def remove_run(engine: DockerEngine, run: str) -> None:
    """Remove the containers, networks and unfinished volumes of a run. Raises ENGINE_ERRORS."""
    of_run = {"label": f"{RUN}={run}"}
    for container in _own_containers(engine, of_run):
        with suppress(*ENGINE_ERRORS):
            engine.api.remove_container(container["Id"], force=True, v=True)
    for network in engine.api.networks(filters=of_run):
        with suppress(*ENGINE_ERRORS):
            engine.api.remove_network(network["Id"])


def sweep(
    engine: DockerEngine,
    stray_seconds: float = CONTAINER_STRAY_SECONDS,
    run: str | None = None,
    lease_seconds: float = math.inf,
) -> tuple[str, ...]:
    """Remove what runs that have ended left, of all runs that used the engine, or of one: what it was.

    A run lives while a container of it runs: a container ends with the tool. Nothing is removed that was made less than
    ``stray_seconds`` ago. After ``lease_seconds``, containers that run are removed, too: the engine does not always
    notice that a machine has lost its network. Raises ENGINE_ERRORS.
    """
    now = engine.time()
    containers = _own_containers(engine, _labelled(run))
    live, removed = set(), []
    for container in containers:
        age = now - container["Created"]
        runs = container["State"] in {"running", "paused", "restarting"}
        if (runs and age < lease_seconds) or age < stray_seconds:
            live.add(container["Labels"].get(RUN))
        elif _removed(lambda found=container: engine.api.remove_container(found["Id"], force=True, v=True)):  # type: ignore[misc]
            removed.append(f"container {container['Id'][:12]}")
    removed += list(_swept_networks(engine, _labelled(run), live, now - stray_seconds))
    removed += list(_swept_volumes(engine, _labelled(run), live, now - stray_seconds))
    return tuple(map(engine.shown, removed))


def _swept_networks(engine: DockerEngine, filters: dict[str, str], live: set[Any], before: float) -> Iterator[str]:
    for network in engine.api.networks(filters=filters):
        is_new = seconds(network["Created"]) > before
        if (
            network["Labels"].get(RUN) not in live
            and not is_new
            and _removed(_call(engine.api.remove_network, network["Id"]))
        ):
            yield f"network {network['Name']}"


def _swept_volumes(engine: DockerEngine, filters: dict[str, str], live: set[Any], before: float) -> Iterator[str]:
    """Remove volumes that were never filled to their end."""
    volumes = engine.api.volumes(filters=filters)["Volumes"] or []
    used = {volume["Labels"].get(CONTENT) for volume in volumes}
    for volume in volumes:
        if volume["Labels"].get(LABEL) != "content" or volume["Name"] in used or volume["Labels"].get(RUN) in live:
            continue
        is_new = seconds(volume["CreatedAt"]) > before
        if not is_new and _removed(_call(engine.api.remove_volume, volume["Name"])):
            yield f"volume {volume['Name']}"


def _own_containers(engine: DockerEngine, filters: dict[str, str]) -> list[dict[str, Any]]:
    """The containers that have the labels, and a volume of the tool.

    The labels alone do not say who has made a container: it inherits those of its image. An image cannot name volumes.
    """

    def is_own(container: dict[str, Any]) -> bool:
        return any(str(mount.get("Name")).startswith(VOLUME_PREFIX) for mount in container.get("Mounts") or ())

    return [container for container in engine.api.containers(all=True, filters=filters) if is_own(container)]


def _labelled(run: str | None) -> dict[str, str]:
    return {"label": f"{RUN}={run}" if run else LABEL}


def _call(operation: Callable[[str], Any], name: str) -> Callable[[], Any]:
    return lambda: operation(name)


def _removed(remove: Callable[[], Any]) -> bool:
    try:
        remove()
    except ENGINE_ERRORS:  # another run sweeps, too, or it is in use again
        return False
    return True
