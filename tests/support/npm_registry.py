"""An npm registry on loopback with stand-ins for agents: what npm installs from it is a shell script.

with NpmRegistry(stand_in("claude-code", "9.9.9")) as registry:
    subprocess.run(["npm", "install", ...], env={**os.environ, **registry.settings})
"""

from __future__ import annotations

import io
import json
import tarfile
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import unquote

from skillgym_action.agents import AGENTS

# Does what every case of a scratch repository asks for, and says so in Claude Code's words.
WORKS = """\
cat > /dev/null
echo done > out.txt
id -un > user.txt
echo '{"type":"system","subtype":"init","session_id":"s","model":"m","claude_code_version":"VERSION"}'
echo '{"type":"result","subtype":"success","is_error":false,"num_turns":1,"result":"fine","total_cost_usd":0.01}'
"""


@dataclass(frozen=True)
class Package:
    """What is published: ``manifest`` is its package.json, ``files`` are programs."""

    manifest: dict[str, Any]
    files: dict[str, str]
    dependencies: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return str(self.manifest["name"])

    def tarball(self) -> bytes:
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w:gz") as archive:
            for name, text in {"package.json": json.dumps(self.manifest), **self.files}.items():
                member = tarfile.TarInfo(f"package/{name}")
                member.size, member.mode = len(text.encode()), 0o755
                archive.addfile(member, io.BytesIO(text.encode()))
        return packed.getvalue()


def stand_in(agent: str, version: str | None = None, *, says: str | None = None, **manifest: Any) -> Package:
    """The package of an agent whose CLI ``says`` its version, or else that of the package."""
    listing = AGENTS[agent]
    known = version or str(listing.version)
    script = f'#!/bin/sh\nif [ "$1" = --version ]; then echo "{says or known}"; exit; fi\n'
    bins = {"bin": {str(listing.executable): "cli.sh"}}
    return Package(
        manifest={"name": listing.package, "version": known, **bins, **manifest},
        files={"cli.sh": script + WORKS.replace("VERSION", known)},
    )


class NpmRegistry:
    """Listens on a free port between ``with`` and its end. ``silent``: it never answers; ``latest``: that version."""

    def __init__(
        self, *packages: Package, host: str = "127.0.0.1", silent: bool = False, latest: str | None = None
    ) -> None:
        self.requests: list[str] = []
        self._ended = threading.Event()
        registry = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                path = unquote(self.path).lstrip("/")
                registry.requests.append(path)
                if silent:
                    registry._ended.wait()
                    return
                found = registry._answer(path, packages, f"http://{self.headers['Host']}", latest)
                self.send_response(404 if found is None else 200)
                self.end_headers()
                self.wfile.write(found if found is not None else b"{}")

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer((host, 0), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_port

    @staticmethod
    def _answer(path: str, packages: tuple[Package, ...], url: str, latest: str | None) -> bytes | None:
        versions, tags = {}, {"latest": latest} if latest else {}
        for package in packages:
            tarball = f"{package.name}/{package.manifest['version']}.tgz"
            if path == tarball:
                return package.tarball()
            if path == package.name:
                versions[package.manifest["version"]] = package.manifest | {"dist": {"tarball": f"{url}/{tarball}"}}
        return json.dumps({"name": path, "versions": versions, "dist-tags": tags}).encode() if versions else None

    @property
    def settings(self) -> dict[str, str]:
        """What leads npm to it."""
        return {"npm_config_registry": f"http://127.0.0.1:{self.port}"}

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._server.shutdown()
        self._server.server_close()
