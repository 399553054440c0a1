"""Messages between the tool and the small processes it starts: a length, JSON, and descriptors that go with it.

Both ends are ours, but a process that runs as a session's user is not believed: lengths are limited, JSON is data.
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

LENGTH = struct.Struct(">I")
LARGEST = 256 * 1024 * 1024
"""Bytes of a message; the snapshot of a workspace with 200,000 entries is the largest there is."""
MOST_DESCRIPTORS = 8
CLOSED_ON_EXEC = getattr(socket, "MSG_CMSG_CLOEXEC", 0)


class ConnectionLostError(Exception):
    """The process at the other end is gone, or does not keep to the protocol."""


def send(link: socket.socket, message: dict[str, Any], descriptors: Iterable[int] = ()) -> None:
    """Send one message. Raises ConnectionLostError when there is no reader."""
    body = json.dumps(message).encode()
    packet = LENGTH.pack(len(body)) + body
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
    try:
        sent = link.sendmsg([packet], rights)
        if sent < len(packet):
            link.sendall(memoryview(packet)[sent:])
    except OSError as error:
        raise ConnectionLostError(str(error)) from error


def receive(link: socket.socket, largest: int = LARGEST) -> tuple[dict[str, Any], list[int]] | None:
    """The next message with its descriptors, which are closed on exec; None at the end of the connection.

    Raises ConnectionLostError for what is no message.
    """
    try:
        head, descriptors = _head(link)
        if not head:
            return None
        (length,) = LENGTH.unpack(head)
        if length > largest:
            raise ConnectionLostError(f"a message of {length} bytes")
        message = json.loads(_exactly(link, length))
    except (OSError, ValueError, RecursionError) as error:
        raise ConnectionLostError(str(error)) from error
    if not isinstance(message, dict):
        raise ConnectionLostError("a message that is no object")
    return message, descriptors


def _head(link: socket.socket) -> tuple[bytes, list[int]]:
    rights = array.array("i")
    space = socket.CMSG_LEN(MOST_DESCRIPTORS * rights.itemsize)
    head, ancillary, flags, _ = link.recvmsg(LENGTH.size, space, CLOSED_ON_EXEC)
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
        raise ConnectionLostError(f"a message with more than {MOST_DESCRIPTORS} descriptors")
    if head and len(head) < LENGTH.size:
        head += _exactly(link, LENGTH.size - len(head))
    return head, descriptors


def _exactly(link: socket.socket, length: int) -> bytes:
    pieces = []
    while length:
        piece = link.recv(min(length, 1024 * 1024))
        if not piece:
            raise ConnectionLostError("the connection ended within a message")
        pieces.append(piece)
        length -= len(piece)
    return b"".join(pieces)
