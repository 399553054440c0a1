"""Wait until another process or thread has done something: a marker file, a request to a server, an event.

Tests never sleep for a number of seconds and assert that something has happened since then. The limit is no part of
what a test states: it only ends a test that would otherwise wait for ever.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

# Seconds; a busy machine is several times slower than a quiet one. `make mutants` sets less: a mutant may end no wait.
LIMIT = float(os.environ.get("TESTS_WAIT_SECONDS", "120"))
PAUSE = 0.01

_T = TypeVar("_T")


def until(found: Callable[[], _T], what: str, *, limit: float = LIMIT) -> _T:
    """The first true value of ``found()``. Raises AssertionError with ``what`` if none comes in ``limit`` seconds."""
    end = time.monotonic() + limit
    while not (value := found()):
        if time.monotonic() > end:
            raise AssertionError(f"after {limit:g} s still not seen: {what}")
        time.sleep(PAUSE)
    return value


def until_written(path: Path, *, limit: float = LIMIT) -> str:
    """The content of the file, as soon as it has any."""

    def content() -> str:
        try:
            return path.read_text()
        except FileNotFoundError:
            return ""

    return until(content, f"content of {path}", limit=limit)


def until_returned(call: Callable[[], _T], what: str, *, limit: float = LIMIT) -> _T:
    """The result of a call that must return although something that it must not wait for takes longer.

    Raises what the call raises, and AssertionError with ``what`` if it does not return in ``limit`` seconds.
    """
    results: list[_T] = []
    errors: list[BaseException] = []

    def called() -> None:
        try:
            results.append(call())
        except BaseException as error:  # noqa: BLE001 -- raised again below
            errors.append(error)

    calling = threading.Thread(target=called, daemon=True)
    calling.start()
    calling.join(limit)
    if errors:
        raise errors[0]
    if not results:
        raise AssertionError(f"after {limit:g} s still not returned: {what}")
    return results[0]


def until_blocked(thread: threading.Thread, *, looks: int = 5) -> None:
    """Wait until a thread waits, such as for a lock: it stays at one instruction. Returns, too, if it has ended."""
    places: list[object] = []

    def stays() -> bool:
        frame = sys._current_frames().get(thread.ident or 0)
        places.append(frame and (frame.f_code, frame.f_lasti))
        return not thread.is_alive() or places[-looks:] == [places[-1]] * looks

    until(stays, f"the thread {thread.name} waits")
