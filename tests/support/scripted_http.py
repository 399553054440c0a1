"""A server on loopback that gives prepared replies in their order and keeps what it was asked.

    with ScriptedServer(Reply(503), Reply(body={"id": 1})) as server:
        requests.get(server.url + "/thing")
    assert [request.line for request in server.requests] == ["GET /thing"]

Where replies run out it answers as ``otherwise`` says, or 418.
"""

from __future__ import annotations

import json
import threading
from collections import deque
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Callable
    from ssl import SSLContext


@dataclass(frozen=True)
class Reply:
    """A ``body`` that is no bytes is sent as JSON.

    ``promised``: how many bytes more than that are announced; ``meanwhile``: called before the reply is sent.
    """

    status: int = 200
    body: Any = b""
    headers: dict[str, str] = field(default_factory=dict)
    promised: int = 0
    meanwhile: Callable[[], object] = bool

    def content(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


class HangUp:
    """The connection is closed instead of a reply."""


class Silence:
    """Nothing comes, until the server is closed."""


@dataclass(frozen=True)
class Received:
    line: str
    headers: dict[str, str]
    body: Any


class ScriptedServer:
    """Listens on a free port of 127.0.0.1 between ``with`` and its end."""

    def __init__(
        self,
        *replies: Reply | HangUp | Silence,
        tls: SSLContext | None = None,
        otherwise: Callable[[Received], Reply] | None = None,
    ) -> None:
        self.replies = deque(replies)
        self.otherwise = otherwise or (lambda _: Reply(418, {"message": "no reply is prepared"}))
        self.requests: list[Received] = []
        self.closing = threading.Event()
        self._http = _Http(("127.0.0.1", 0), _Handler)
        self._http.owner = self
        if tls:
            self._http.socket = tls.wrap_socket(self._http.socket, server_side=True)
        self.port = self._http.server_port
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01})

    @property
    def lines(self) -> list[str]:
        return [request.line for request in self.requests]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    owner: ScriptedServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is part of the game."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Http

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Requests are in ``ScriptedServer.requests``."""

    def _answer(self) -> None:
        owner = self.server.owner
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        received = Received(f"{self.command} {self.path}", headers, json.loads(body) if body else None)
        owner.requests.append(received)
        reply = owner.replies.popleft() if owner.replies else owner.otherwise(received)
        self.close_connection = True
        if isinstance(reply, Silence):
            owner.closing.wait()
        if not isinstance(reply, Reply):
            return
        reply.meanwhile()
        content = reply.content()
        self.send_response(reply.status)
        self.send_header("Content-Length", str(len(content) + reply.promised))
        self.send_header("Connection", "close")
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("do_"):
            return self._answer
        raise AttributeError(name)
