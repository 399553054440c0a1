"""Git repositories over HTTP, as GitHub serves them: anybody reads, who pushes needs a token that may write.

with GitServer(folder, writers={JOB_TOKEN}) as server:
    ...  # git fetch f"{server.url}/octo/skills.git", of the bare repository folder/octo/skills.git
"""

from __future__ import annotations

import base64
import binascii
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

from scratch import environment

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from pathlib import Path

PUSH = "git-receive-pack"


class GitServer:
    """The server between ``with`` and its end; ``url`` is the address above all repositories."""

    def __init__(self, folder: Path, writers: Collection[str]) -> None:
        self.folder, self.writers = folder, frozenset(writers)
        self.before_push: list[Callable[[], object]] = []
        """Each is called once, after a client has fetched and before it learns the branches that it pushes to."""
        self._http = _Http(("127.0.0.1", 0), _Handler)
        self._http.owner = self
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01})

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    owner: GitServer


class _Handler(BaseHTTPRequestHandler):
    server: _Http

    def log_message(self, *_: object) -> None:
        """Tests print nothing."""

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        size = int(self.headers.get("Content-Length") or 0)
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            self._reply(411, "text/plain", b"chunks are not served by the fake")
            return
        content = self.rfile.read(size)
        if PUSH in self.path and self._token() not in self.server.owner.writers:
            name = url.path.split(".git")[0].lstrip("/")
            self._reply(403, "text/plain", f"Permission to {name}.git denied to github-actions[bot].\n".encode())
            return
        if PUSH in url.query and self.server.owner.before_push:
            self.server.owner.before_push.pop()()
        told = {
            "GIT_PROJECT_ROOT": str(self.server.owner.folder),
            "GIT_HTTP_EXPORT_ALL": "1",
            "REQUEST_METHOD": self.command,
            "PATH_INFO": url.path,
            "QUERY_STRING": url.query,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(size),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "REMOTE_USER": "somebody",
            "REMOTE_ADDR": "127.0.0.1",
        }
        argv = ("git", "http-backend")
        answer = subprocess.run(argv, input=content, env=environment(**told), capture_output=True, check=True).stdout
        head, _, body = answer.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        self._reply(int(fields.get("Status", "200").split()[0]), fields["Content-Type"], body)

    do_POST = do_GET  # noqa: N815

    def _token(self) -> str:
        """The password of the request; empty if it has none."""
        try:
            given = base64.b64decode(self.headers.get("Authorization", "").removeprefix("Basic "), validate=True)
        except binascii.Error:
            return ""
        return given.decode(errors="replace").partition(":")[2]

    def _reply(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
