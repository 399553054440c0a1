"""The hosts of vendors as a CLI sees them through a proxy that ends TLS: token endpoints that rotate, and a model.

Nothing leaves this machine. CLIs trust the proxy with ``NODE_EXTRA_CA_CERTS``.
"""

from __future__ import annotations

import json
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Self
from urllib.request import Request, urlopen

import trustme

if TYPE_CHECKING:
    from pathlib import Path

ACCESS, REFRESH = "sk-ant-oat01-scripted-access-token-{}", "sk-ant-ort01-scripted-refresh-token-{}"


class VendorServices:
    """A context manager. ``model``: the address of a scripted model. ``refuses``: no refresh token is accepted.

    ``seen``: host, path and headers of each request. ``number``: of the tokens that are valid.
    """

    def __init__(self, folder: Path, model: str, *, refuses: bool = False) -> None:
        self.seen: list[tuple[str, str, dict[str, str]]] = []
        self.refreshes, self.number = 0, 0
        self._model, self._refuses, self._lock = model, refuses, threading.Lock()
        self._authority = trustme.CA()
        self._ca = folder / "vendors.pem"
        self._authority.cert_pem.write_to_path(self._ca)
        services = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            host = ""

            def do_CONNECT(self) -> None:
                self.send_response(200)
                self.end_headers()
                self.host = self.path.partition(":")[0]
                self.connection = services.context(self.host).wrap_socket(self.connection, server_side=True)
                self.rfile, self.wfile = self.connection.makefile("rb"), self.connection.makefile("wb", 0)
                self.close_connection = False

            def do_GET(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                status, kind, answer = services.answer(self.host, self.path, dict(self.headers.items()), body)
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            do_POST = do_GET  # noqa: N815 - as http.server calls it

            def finish(self) -> None:
                super().finish()
                self.connection.close()

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.handle_error = lambda *_: None  # type: ignore[method-assign]  # a CLI may leave at any time
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def environment(self) -> dict[str, str]:
        address = f"http://127.0.0.1:{self._server.server_address[1]}"
        return {"HTTPS_PROXY": address, "NODE_EXTRA_CA_CERTS": str(self._ca), "NO_PROXY": ""}

    def login(self, expires: float) -> str:
        """The content of ``.credentials.json``, with the tokens that are valid."""
        tokens = {"accessToken": ACCESS.format(self.number), "refreshToken": REFRESH.format(self.number)}
        more = {"expiresAt": int(expires * 1000), "scopes": ["user:inference", "user:profile"]}
        return json.dumps({"claudeAiOauth": {**tokens, **more, "subscriptionType": "max"}})

    def context(self, host: str) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._authority.issue_cert(host).configure_cert(context)
        return context

    def answer(self, host: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, str, bytes]:
        """Status, type and content of an answer."""
        with self._lock:
            self.seen.append((host, path, {name.lower(): value for name, value in headers.items()}))
            if path.startswith("/v1/oauth/token"):
                return _json(*self._refreshed(json.loads(body)))
            token = headers.get("Authorization", headers.get("authorization", ""))
            if "sk-ant-oat" in token and token != f"Bearer {ACCESS.format(self.number)}":
                return _json(401, {"type": "error", "error": {"type": "authentication_error", "message": "expired"}})
        if "/v1/messages" in path and "count_tokens" not in path:
            asked = Request(f"{self._model}/v1/messages", body, {"Content-Type": "application/json"})
            with urlopen(asked, timeout=60) as found:
                return 200, found.headers["Content-Type"], found.read()
        return _json(403 if "amazonaws" in host else 200, {"message": "not here"})

    def _refreshed(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if self._refuses or body.get("refresh_token") != REFRESH.format(self.number):
            return 400, {"error": "invalid_grant", "error_description": "Refresh token not found or invalid"}
        self.refreshes += 1
        self.number += 1
        tokens = {"access_token": ACCESS.format(self.number), "refresh_token": REFRESH.format(self.number)}
        return 200, {"token_type": "Bearer", "expires_in": 28_800, "scope": "user:inference user:profile", **tokens}


def _json(status: int, content: dict[str, Any]) -> tuple[int, str, bytes]:
    return status, "application/json", json.dumps(content).encode()
