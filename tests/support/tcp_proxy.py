"""A proxy whose connections a test can cut, while both ends stay."""

from __future__ import annotations

import socket
import socketserver
import threading
from contextlib import suppress
from typing import Self


class TcpProxy:
    """Passes connections on to ``port`` of this machine. A context manager."""

    def __init__(self, port: int) -> None:
        self._target = "127.0.0.1", port
        self._open: list[socket.socket] = []
        pass_on = self._pass_on

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                pass_on(self.request)

        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self.address = f"tcp://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self.cut()
        self._server.server_close()  # waits for the threads of connections

    def cut(self) -> None:
        """End all connections; new ones are accepted."""
        for each in list(self._open):
            _shut_down(each)

    def _pass_on(self, near: socket.socket) -> None:
        with socket.create_connection(self._target) as far:
            self._open += near, far
            answering = threading.Thread(target=_copy, args=(far, near))
            answering.start()
            _copy(near, far)
            answering.join()
            self._open.remove(near)
            self._open.remove(far)


def _copy(source: socket.socket, target: socket.socket) -> None:
    """Copy bytes until one of both ends, which then ends the other one."""
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    _shut_down(source)
    _shut_down(target)


def _shut_down(one: socket.socket) -> None:
    with suppress(OSError):  # it has ended already
        one.shutdown(socket.SHUT_RDWR)
