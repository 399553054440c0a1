"""Messages between the tool and the small processes it starts: a length, JSON, and open files sent with them.

Both ends run code of this package, but a process of a session's user may have been taken over by the session: the
reader limits lengths, and JSON is nothing but data.
"""

from __future__ import annotations

import array
import json
import os
import socket
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

MAX_SUPERVISOR_MESSAGE_BYTES = 256 * 1024**2  # the largest one is the snapshot of a workspace with 200,000 entries
MAX_SUPERVISOR_MESSAGE_DESCRIPTORS = 8  # open files sent with one message
LENGTH = struct.Struct(">I")
WAIT_STATUS = struct.Struct("=i")  # what the supervisor writes when a worker has ended
CLOSED_ON_EXEC = getattr(socket, "MSG_CMSG_CLOEXEC", 0)


class ConnectionLostError(Exception):
    """The process at the other end has ended, or violates the protocol."""


def send(connection: socket.socket, message: dict[str, Any], descriptors: Iterable[int] = ()) -> None:
    """Send one message. Raises ConnectionLostError if the other end is closed."""
    body = json.dumps(message).encode()
    packet = LENGTH.pack(len(body)) + body
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
    try:
        sent = connection.sendmsg([packet], rights)
        if sent < len(packet):
            connection.sendall(memoryview(packet)[sent:])
    except OSError as error:
        raise ConnectionLostError(str(error)) from error


def receive(
    connection: socket.socket, limit: int = MAX_SUPERVISOR_MESSAGE_BYTES
) -> tuple[dict[str, Any], list[int]] | None:
    """The next message with its descriptors, which are closed on exec; None at the end of the connection.

    ``limit``: bytes of a message. Raises ConnectionLostError for anything that is no message.
    """
    try:
        head, descriptors = _receive_head(connection)
        if not head:
            return None
        (length,) = LENGTH.unpack(head)
        if length > limit:
            raise ConnectionLostError(f"a message of {length} bytes")
        message = json.loads(_receive_exactly(connection, length))
    except (OSError, ValueError, RecursionError) as error:
        raise ConnectionLostError(str(error)) from error
    if not isinstance(message, dict):
        raise ConnectionLostError("a message that is not an object")
    return message, descriptors


def _receive_head(connection: socket.socket) -> tuple[bytes, list[int]]:
    """The first bytes of a message, which bring its descriptors; no bytes at the end of the connection."""
    rights = array.array("i")
    space = socket.CMSG_LEN(MAX_SUPERVISOR_MESSAGE_DESCRIPTORS * rights.itemsize)
    head, ancillary, flags, _ = connection.recvmsg(LENGTH.size, space, CLOSED_ON_EXEC)
    for level, kind, content in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            rights.frombytes(content[: len(content) - len(content) % rights.itemsize])
    descriptors = list(rights)
    if not CLOSED_ON_EXEC:
        for descriptor in descriptors:
            os.set_inheritable(descriptor, False)  # noqa: FBT003 -- it takes no name
    if flags & socket.MSG_CTRUNC:
        for descriptor in descriptors:
            os.close(descriptor)
        raise ConnectionLostError(f"a message with more than {MAX_SUPERVISOR_MESSAGE_DESCRIPTORS} descriptors")
    if head and len(head) < LENGTH.size:
        head += _receive_exactly(connection, LENGTH.size - len(head))
    return head, descriptors


def _receive_exactly(connection: socket.socket, length: int) -> bytes:
    pieces = []
    while length:
        piece = connection.recv(min(length, 1024 * 1024))
        if not piece:
            raise ConnectionLostError("the connection ended within a message")
        pieces.append(piece)
        length -= len(piece)
    return b"".join(pieces)
