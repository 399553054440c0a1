"""A worker that lies: the answers to some cases are forged. Which one is in the case's id; the others are honest.

Started like ``skillgym-action worker``; with ``--as VERSION`` it claims to be another version, and is honest.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from skillgym_action.cancellation import Cancellation
from skillgym_action.engines import dask_worker
from skillgym_action.engines.slots import SlotPool
from skillgym_action.filesystem.bundle import HEADER, START, BundleEntry, write_bundle

if TYPE_CHECKING:
    from collections.abc import Callable

    from skillgym_action.engines import Announcement
    from skillgym_action.engines.slots import Answer

TEXT = b"forged"
LARGE = 65 * 1024**2


def file(path: str, content: bytes = TEXT) -> BundleEntry:
    return BundleEntry("file", path, 0o644).with_content(len(content), content)


def folder(path: str) -> BundleEntry:
    return BundleEntry("folder", path, 0o755)


def bundle(*entries: BundleEntry) -> bytes:
    content = io.BytesIO()
    write_bundle(content, entries)
    return content.getvalue()


def changed(line: bytes, **fields: object) -> bytes:
    return json.dumps({**json.loads(line), **fields}).encode()


def with_result(line: bytes, **fields: object) -> bytes:
    return changed(line, result={**json.loads(line)["result"], **fields})


SESSION = folder("session")
FORGERIES: dict[str, Callable[[bytes, bytes], object]] = {
    "line-is-no-json": lambda _, archive: ("line", b"{]", archive),
    "line-is-empty": lambda _, archive: ("line", b"", archive),
    "line-with-unknown-key": lambda line, archive: ("line", changed(line, more=1), archive),
    "line-of-another-execution": lambda line, archive: ("line", changed(line, digest="0" * 64), archive),
    "line-of-another-case": lambda line, archive: ("line", with_result(line, caseId="honest"), archive),
    "line-of-another-folder": lambda line, archive: ("line", with_result(line, artifactDir="x/y/z/repeat-1"), archive),
    "line-with-a-path-upwards": lambda line, archive: ("line", with_result(line, artifactDir="../../x"), archive),
    "line-that-contradicts-itself": lambda line, archive: ("line", with_result(line, status="failed"), archive),
    "line-with-negative-cost": lambda line, archive: ("line", changed(line, agentUsd=-5.0), archive),
    "archive-upwards": lambda line, _: ("line", line, bundle(SESSION, file("session/../escaped"))),
    "archive-absolute": lambda line, _: ("line", line, bundle(file("/tmp/escaped"))),
    "archive-beside": lambda line, _: ("line", line, bundle(file("escaped"))),
    "archive-of-a-retry": lambda line, _: ("line", line, bundle(SESSION, folder("session/session-2"))),
    "archive-with-a-file-named-as-a-retry": lambda line, _: ("line", line, bundle(SESSION, file("session/session-2"))),
    "archive-with-a-link-named-as-a-retry": lambda line, _: (
        "line",
        line,
        bundle(SESSION, file("session/x"), BundleEntry("link", "session/session-2", 0o777, target="x")),
    ),
    "archive-through-a-link": lambda line, _: (
        "line",
        line,
        bundle(SESSION, BundleEntry("link", "session/out", 0o777, target="/tmp"), file("session/out/escaped")),
    ),
    "archive-too-large": lambda line, _: ("line", line, bundle(SESSION, file("session/x", bytes(LARGE)))),
    "archive-that-claims-too-much": lambda line, _: (
        "line",
        line,
        START + HEADER.pack(b"d", 0o755, 7, 0, 0) + b"session" + HEADER.pack(b"f", 0o644, 9, LARGE, 0) + b"session/x",
    ),
    "archive-is-text": lambda line, _: ("line", line, b"no bundle"),
    "answer-is-a-number": lambda *_: 42,
    "answer-has-other-types": lambda *_: ("line", "text", None),
}
"""Case id -> the answer that is made of the honest one."""


class HostilePool(SlotPool):
    """Forges answers."""

    def run(self, key: str, ticket: str, judging: Callable[[], None]) -> Answer:
        """The honest answer, or the forged one of the case."""
        answer = super().run(key, ticket, judging)
        forge = FORGERIES.get(json.loads(ticket)["case"])
        return forge(answer[1], answer[2]) if forge else answer  # type: ignore[return-value]


class HostileHost(dask_worker.WorkerHost):
    """Has hostile pools."""

    def open_run(self, announcement: Announcement) -> SlotPool:
        """The slots of a run."""
        unpacked = self.folder / announcement.run
        unpacked.mkdir()
        return HostilePool(announcement, unpacked, os.environ, {}, self.shutdown)


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("address")
    arguments.add_argument("--slots", type=int, default=1)
    arguments.add_argument("--as", dest="version", default="")
    chosen = arguments.parse_args()
    host = HostileHost(os.environ, {})
    if chosen.version:
        host.versions = f"skillgym-action {chosen.version}, Python 3.99, protocol 1"

    def log(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    dask_worker.serve(chosen.address, None, chosen.slots, host, Cancellation(), log)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    main()
