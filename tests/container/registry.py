"""A registry of images on this machine: Debian's docker-registry, which engine.sh installs."""

from __future__ import annotations

import json
import socket
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.request import Request, urlopen

from waiting import until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

INDEX = "application/vnd.docker.distribution.manifest.list.v2+json"


@contextmanager
def registry(folder: Path) -> Iterator[str]:
    """Its address, ``localhost:PORT``: engines demand no certificate of it. Images are kept in the folder."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = {
        "version": "0.1",
        "log": {"level": "warn"},
        "storage": {"filesystem": {"rootdirectory": str(folder / "images")}},
        "http": {"addr": f"127.0.0.1:{port}"},
    }
    (folder / "registry.json").write_text(json.dumps(settings))
    with (folder / "registry.log").open("wb") as log:
        process = subprocess.Popen(["docker-registry", "serve", folder / "registry.json"], stdout=log, stderr=log)
    try:
        until(lambda: answers(port), "the registry")
        yield f"localhost:{port}"
    finally:
        process.terminate()
        process.wait()


def answers(port: int) -> bool:
    """Whether a program listens at a port of this machine."""
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


def manifest(image: str) -> dict[str, Any]:
    """What a registry says of ``HOST/NAME@DIGEST`` or ``HOST/NAME:TAG``, an index or one image."""
    host, _, rest = image.partition("/")
    name, _, reference = rest.partition("@") if "@" in rest else rest.rpartition(":")
    accept = {"Accept": f"{INDEX}, application/vnd.docker.distribution.manifest.v2+json"}
    with urlopen(Request(f"http://{host}/v2/{name}/manifests/{reference}", headers=accept)) as answer:
        told: dict[str, Any] = json.load(answer)
    return told
