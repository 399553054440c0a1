"""Messages between the tool and its small processes: one that a session has taken over harms nobody with them."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from skillgym_action.system.supervisor.messages import (
    LENGTH,
    MAX_SUPERVISOR_MESSAGE_DESCRIPTORS,
    ConnectionLostError,
    receive,
    send,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

Pair = tuple[socket.socket, socket.socket]


@pytest.fixture
def pair() -> Iterator[Pair]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


def test_a_message_arrives_with_its_descriptors(pair: Pair) -> None:
    ours, theirs = pair
    read, write = os.pipe()
    send(theirs, {"op": "x", "text": "é" * 9}, [write])
    received = receive(ours)
    assert received
    message, (passed,) = received
    assert message == {"op": "x", "text": "é" * 9}
    assert not os.get_inheritable(passed)
    os.write(passed, b"y")
    assert os.read(read, 9) == b"y"
    for descriptor in (read, write, passed):
        os.close(descriptor)


def test_the_end_is_no_message(pair: Pair) -> None:
    ours, theirs = pair
    theirs.close()
    assert receive(ours) is None


def test_a_length_is_not_believed(pair: Pair) -> None:
    ours, theirs = pair
    theirs.sendall(LENGTH.pack(2**32 - 1))
    theirs.close()
    with pytest.raises(ConnectionLostError, match="a message of 4294967295 bytes"):
        receive(ours)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"[" * 50_000 + b"]" * 50_000, id="nested"),
        pytest.param(b"{", id="no JSON"),
        pytest.param(b"\xff", id="no text"),
        pytest.param(b"[]", id="no object"),
        pytest.param(b"", id="nothing"),
    ],
)
def test_what_is_no_message_ends_the_connection(pair: Pair, body: bytes) -> None:
    ours, theirs = pair
    theirs.sendall(LENGTH.pack(len(body)) + body)
    with pytest.raises(ConnectionLostError):
        receive(ours)


def test_a_message_that_is_cut_ends_the_connection(pair: Pair) -> None:
    ours, theirs = pair
    theirs.sendall(LENGTH.pack(9) + b"{")
    theirs.close()
    with pytest.raises(ConnectionLostError, match="ended within a message"):
        receive(ours)


def test_a_message_with_more_descriptors_than_are_taken_is_refused(pair: Pair) -> None:
    ours, theirs = pair
    before = len(list(Path("/dev/fd").iterdir()))
    send(theirs, {"op": "x"}, [0] * (MAX_SUPERVISOR_MESSAGE_DESCRIPTORS + 1))
    with pytest.raises(ConnectionLostError, match=f"more than {MAX_SUPERVISOR_MESSAGE_DESCRIPTORS} descriptors"):
        receive(ours)
    assert len(list(Path("/dev/fd").iterdir())) == before
