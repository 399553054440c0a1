"""Volumes of a Docker engine whose content is known by a key: filled once, then only read."""

from __future__ import annotations

import hashlib
import threading
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING
from uuid import uuid4

from docker.errors import APIError, NotFound
from docker.types import Mount

from skillgym_action.filesystem.bundle import BundleEntry
from skillgym_action.sandboxes.docker_engine import ENGINE_ERRORS, VOLUME_PREFIX
from skillgym_action.sandboxes.docker_sweep import CONTENT, labels
from skillgym_action.sandboxes.keeper import keeper
from skillgym_action.sandboxes.tar_entries import END, write_tar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from skillgym_action.sandboxes.docker_engine import DockerEngine

EMPTY_IMAGE = ("skillgym-action/empty", "1")
FILLED = "/content"
KEEPER_FOLDER = "/.skillgym-action"
KEEPER_PATH = f"{KEEPER_FOLDER}/keeper"


class DockerVolumes:
    """The volumes that a run uses; they stay when it ends."""

    def __init__(self, engine: DockerEngine, run: str) -> None:
        self._engine, self._run = engine, run
        self._lock = threading.Lock()
        self._keeper: str | None = None

    def volume(self, key: str, entries: Callable[[], Iterable[BundleEntry]]) -> str:
        """See ``Sandbox.volume``; raises ENGINE_ERRORS instead.

        The content is in a volume with a name of its own. Once it is complete, an empty volume named after the key gets
        a label that names it: creating a volume returns the one that exists, so the first to be complete is used.
        """
        name = f"{VOLUME_PREFIX}{hashlib.sha256(key.encode()).hexdigest()[:32]}"
        with suppress(NotFound):
            return str(self._engine.api.inspect_volume(name)["Labels"][CONTENT])
        content, found = f"{name}-{uuid4().hex[:8]}", ""
        self._engine.api.create_volume(content, labels=labels(self._run, "content"))
        try:
            self._fill(content, entries())
            named = {**labels(self._run, "volume"), CONTENT: content}
            found = str(self._engine.api.create_volume(name, labels=named)["Labels"][CONTENT])
        finally:
            if found != content:
                with suppress(*ENGINE_ERRORS):
                    self._engine.api.remove_volume(content)
        return found

    def _fill(self, volume: str, entries: Iterable[BundleEntry]) -> None:
        """Write into a volume, by way of a container that never runs."""
        api, (repository, tag) = self._engine.api, EMPTY_IMAGE
        try:
            api.inspect_image(f"{repository}:{tag}")  # type: ignore[no-untyped-call]
        except APIError:
            folder = BundleEntry("folder", FILLED[1:], 0o755)
            api.import_image_from_data(b"".join((*write_tar([folder]), END)), repository=repository, tag=tag)
        config = api.create_host_config(mounts=[Mount(FILLED, volume)], network_mode="none")
        made = api.create_container(
            f"{repository}:{tag}", command=["/"], labels=labels(self._run, "filler"), host_config=config
        )
        try:
            api.put_archive(made["Id"], FILLED, chain(write_tar(entries), (END,)))
        finally:
            api.remove_container(made["Id"], force=True)

    def keeper(self) -> Mount:
        """Where the program is that a container's first process executes. Raises ENGINE_ERRORS."""
        with self._lock:
            if self._keeper is None:
                program = keeper(self._engine.architecture)
                entry = BundleEntry("file", KEEPER_PATH.rpartition("/")[2], 0o555).with_content(len(program), program)
                self._keeper = self.volume(f"keeper {hashlib.sha256(program).hexdigest()}", lambda: [entry])
            return Mount(KEEPER_FOLDER, self._keeper, read_only=True)
