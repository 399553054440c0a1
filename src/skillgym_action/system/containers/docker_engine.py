"""The client of a Docker engine: connected, its errors as messages, streams in both directions."""

from __future__ import annotations

import base64
import json
import socket
import time
from contextlib import closing, contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

import docker
from docker.errors import APIError, DockerException, NotFound, create_api_error_from_http_exception
from requests.exceptions import HTTPError, RequestException

from skillgym_action.model.errors import SandboxError
from skillgym_action.model.limits import MAX_SERVICE_MESSAGE_CHARACTERS
from skillgym_action.text.escaping import clipped, one_line, terminal_line

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping

    from requests import Response

CONTAINER_ENGINE_SECONDS = 300  # for one reply of the engine; fifty containers that start at once take their time
CONTAINER_ENGINE_CONNECTIONS = 64  # kept open for later requests
MAX_ENGINE_HEADER_BYTES = 64 * 1024  # of a reply's head, and of an error in it
ENGINE_ERRORS = (DockerException, RequestException, OSError)
DEFAULT_ADDRESS = "unix:///var/run/docker.sock"
LABEL = "skillgym-action"
VOLUME_PREFIX = f"{LABEL}-"  # of the names of volumes
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64", "armv7l": "arm", "i686": "386"}
NOT_FOUND, SWITCHED = 404, 101  # HTTP
FRAME_HEAD_BYTES = 8
READ_BYTES = 256 * 1024
START_IT = "start Docker, or set DOCKER_HOST to the address of an engine"


class _Client(docker.APIClient):
    """Closes the connection of a reply that is not read to its end, so that the engine ends what it does for it."""

    def _stream_helper(self, response: Response, decode: bool = False) -> Iterator[Any]:  # noqa: FBT001,FBT002 - inherited
        with closing(response):
            yield from super()._stream_helper(response, decode)  # type: ignore[misc] # the types leave it out


class DockerEngine:
    """A connection to an engine. Threads share it."""

    def __init__(self, environment: Mapping[str, str], redact: Callable[[str], str] = str) -> None:
        """Raises SandboxError if no engine answers at ``DOCKER_HOST`` of the environment, or its default."""
        self.address = environment.get("DOCKER_HOST") or DEFAULT_ADDRESS
        self.redact = redact
        parts = urlsplit(self.address)
        if parts.scheme not in {"unix", "tcp"} or environment.get("DOCKER_TLS_VERIFY"):
            raise SandboxError(
                f"DOCKER_HOST={self.shown(self.address)}: sandboxes connect by unix:// and by tcp:// without TLS",
                remedy="forward the engine's socket: ssh -nNT -L /tmp/docker.sock:/var/run/docker.sock HOST",
            )
        self._socket_address: str | tuple[str, int] = (
            parts.path if parts.scheme == "unix" else (parts.hostname or "", parts.port or 2375)
        )
        with self.errors(f"no Docker engine answers at {self.shown(self.address)}", START_IT):
            self._connect().close()  # a client that cannot connect leaves its sockets open
            self.api = _Client(
                base_url=self.address,
                version="auto",
                timeout=CONTAINER_ENGINE_SECONDS,
                num_pools=4,
                max_pool_size=CONTAINER_ENGINE_CONNECTIONS,
            )
            self.info: dict[str, Any] = self.api.info()
        self.architecture = ARCHITECTURES.get(self.info["Architecture"], self.info["Architecture"])

    @contextmanager
    def errors(self, what: str, remedy: str | None = None) -> Iterator[None]:
        """Raise errors of the block as SandboxError, which begins with ``what``."""
        try:
            yield
        except APIError as error:
            raise SandboxError(f"{what}: {self.shown(error.explanation or str(error))}", remedy=remedy) from error
        except (DockerException, RequestException) as error:
            raise SandboxError(f"{what}: {self.shown(_innermost(error))}", remedy=remedy or START_IT) from error
        except OSError as error:
            raise SandboxError(f"{what}: {self.shown(error.strerror or error)}", remedy=remedy) from error

    def shown(self, text: object) -> str:
        """What the engine says, on one line, without control characters and secrets."""
        line = terminal_line(one_line(self.redact(str(text))))
        return clipped(line, MAX_SERVICE_MESSAGE_CHARACTERS)

    def url(self, path: str) -> str:
        """The address of an operation for ``api.head`` and the like, such as ``/containers/ID/archive``."""
        return f"{self.api.base_url}/v{self.api.api_version}{quote(path)}"

    def time(self) -> float:
        """The engine's clock, in seconds since 1970: it may be another machine's. Raises ENGINE_ERRORS."""
        return seconds(self.api.info()["SystemTime"])

    def events(self, filters: Mapping[str, list[str]], until: float) -> list[str]:
        """The last events that the engine remembers, until a time of its clock; waits for it. Raises ENGINE_ERRORS."""
        params = {"filters": json.dumps(filters), "since": "1", "until": f"{until:.9f}"}
        reply = self.api.get(self.url("/events"), params=params)
        reply.raise_for_status()
        return [str(line) for line in reply.text.splitlines() if line]

    def status(self, container: str, path: str) -> dict[str, Any] | None:
        """Name, size, Go's file mode and target of a link at a path of a container; None: there is nothing."""
        reply = self.api.head(self.url(f"/containers/{container}/archive"), params={"path": path})
        if reply.status_code == NOT_FOUND:
            self.api.inspect_container(container)  # raises NotFound if it is the container that is missing
            return None
        if not reply.ok:
            self.archive(container, path).close()  # raises APIError with the reason, which replies to HEAD do not have
            reply.raise_for_status()
        found: dict[str, Any] = json.loads(base64.b64decode(reply.headers["X-Docker-Container-Path-Stat"]))
        return found

    def archive(self, container: str, path: str) -> Generator[bytes]:
        """The pieces of a tar archive of a path of a container; the one that reads them closes it.

        Raises ENGINE_ERRORS, also if the engine sends nothing for long: the library's own reader would wait for ever.
        """
        reply = self.api.get(
            self.url(f"/containers/{container}/archive"),
            params={"path": path},
            stream=True,
            timeout=CONTAINER_ENGINE_SECONDS,
        )
        try:
            reply.raise_for_status()
        except HTTPError as error:
            raise create_api_error_from_http_exception(error) from error
        pieces: Generator[bytes] = reply.iter_content(READ_BYTES)  # type: ignore[assignment] # it is one
        return pieces

    def stream(self, path: str, body: Mapping[str, Any] | None = None) -> Stream:
        """A connection in both directions for an operation that has one. Raises OSError, APIError."""
        text = json.dumps(body or {}).encode()
        connection = self._connect()
        try:
            connection.sendall(
                f"POST /v{self.api.api_version}{path} HTTP/1.1\r\nHost: docker\r\nConnection: Upgrade\r\n"
                f"Upgrade: tcp\r\nContent-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n".encode()
                + text
            )
            return Stream(connection, _reply_rest(connection))
        except BaseException:
            connection.close()
            raise

    def _connect(self) -> socket.socket:
        if isinstance(self._socket_address, tuple):
            return socket.create_connection(self._socket_address, CONTAINER_ENGINE_SECONDS)
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.settimeout(CONTAINER_ENGINE_SECONDS)
            connection.connect(self._socket_address)
        except BaseException:
            connection.close()
            raise
        return connection

    def close(self) -> None:
        self.api.close()


class Stream:
    """Frames that come from programs of a container, and bytes that go to one."""

    def __init__(self, connection: socket.socket, begin: bytes) -> None:
        """``begin``: bytes of frames that came with the engine's reply."""
        self._connection, self._bytes = connection, begin
        self.ended = False
        self._left, self._channel = 0, 0
        connection.settimeout(None)

    def fileno(self) -> int:
        return self._connection.fileno()

    def send(self, content: bytes) -> None:
        """Raises OSError."""
        self._connection.sendall(content)

    def end_input(self) -> None:
        """The program's standard input ends here. Raises OSError."""
        self._connection.shutdown(socket.SHUT_WR)

    def pending(self) -> bool:
        """Whether there is something that ``frames`` returns without waiting."""
        return bool(self._bytes)

    def frames(self) -> Iterator[tuple[int, bytes]]:
        """What came, as (1 or 2: standard output or error, piece). Waits if nothing did; ``ended`` may be set then."""
        if not self._bytes:
            try:
                self._bytes = self._connection.recv(READ_BYTES)
            except OSError:
                self._bytes = b""
            self.ended = not self._bytes
        data, self._bytes = self._bytes, b""
        while data:
            if not self._left:
                if len(data) < FRAME_HEAD_BYTES:
                    self._bytes = data + self._more(FRAME_HEAD_BYTES - len(data))
                    data, self._bytes = self._bytes, b""
                    if len(data) < FRAME_HEAD_BYTES:
                        return
                self._channel, self._left = data[0], int.from_bytes(data[4:FRAME_HEAD_BYTES], "big")
                data = data[FRAME_HEAD_BYTES:]
                continue
            piece, data = data[: self._left], data[self._left :]
            self._left -= len(piece)
            yield self._channel, piece

    def _more(self, size: int) -> bytes:
        found = b""
        while len(found) < size:
            try:
                more = self._connection.recv(size - len(found))
            except OSError:
                more = b""
            if not more:
                self.ended = True
                break
            found += more
        return found

    def close(self) -> None:
        self._connection.close()


def seconds(text: str) -> float:
    """Seconds since 1970 of a time such as ``2026-01-31T12:00:00.123456789Z``."""
    head, _, fraction = text.partition(".")
    zone = fraction.lstrip("0123456789") if fraction else ""
    return datetime.fromisoformat(head + zone).timestamp() + float(
        f"0.{fraction.removesuffix(zone)}" if fraction else 0
    )


def _reply_rest(connection: socket.socket) -> bytes:
    """Read the head of the engine's reply; what came after it. Raises OSError, APIError."""
    found = b""
    while b"\r\n\r\n" not in found:
        more = connection.recv(4096)
        if not more or len(found) > MAX_ENGINE_HEADER_BYTES:
            raise OSError("the engine closed the connection")
        found += more
    head, _, rest = found.partition(b"\r\n\r\n")
    status = int(head.split(b" ", 2)[1])
    if status not in {SWITCHED, 200}:
        deadline = time.monotonic() + 1
        while len(rest) < MAX_ENGINE_HEADER_BYTES and time.monotonic() < deadline and not rest.rstrip().endswith(b"}"):
            more = connection.recv(4096)
            if not more:
                break
            rest += more
        text = rest.decode("utf-8", "replace").strip()
        error = NotFound if status == NOT_FOUND else APIError
        raise error(f"status {status}", explanation=_message(text))
    return rest


def _message(text: str) -> str:
    try:
        return str(json.loads(text[text.index("{") : text.rindex("}") + 1])["message"])
    except (ValueError, KeyError, TypeError):
        return text or "no explanation"


def _innermost(error: BaseException) -> str:
    """The reason of a failed connection, which libraries wrap several times."""
    seen = {id(error)}
    while True:
        inner = next(
            (
                found
                for found in (*error.args, error.__cause__, error.__context__)
                if isinstance(found, BaseException) and id(found) not in seen
            ),
            None,
        )
        if inner is None:
            strerror = getattr(error, "strerror", None)
            return str(strerror or error)
        seen.add(id(inner))
        error = inner
