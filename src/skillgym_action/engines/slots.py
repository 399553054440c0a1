"""The slots of a worker: processes that plan by themselves and run one session after the other.

A slot is ``skillgym-action slot``: it reads requests from its standard input and writes replies to its standard output,
a JSON document per line. When its input ends it ends its programs, so no agent outlives the worker.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillgym_action.engines.announcement import unpack_files
from skillgym_action.filesystem.removal import remove_path
from skillgym_action.remote_limits import SLOT_END_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from skillgym_action.engines import Announcement

Answer = tuple[str, bytes, bytes]
"""Kind (line, refused, unusable, lost, ended), then a line or a reason, then an archive."""


class SlotEndedError(Exception):
    """The process of a slot ended, or was ended."""


class SlotPool:
    """The slots of one run on one worker. They are started when they are needed, and used again. Thread-safe."""

    def __init__(
        self, announcement: Announcement, folder: Path, environment: Mapping[str, str], own: Mapping[str, object]
    ) -> None:
        """``folder``: a new one for files, workspaces and answers. ``own``: settings of the worker.

        Raises OSError, BundleError.
        """
        self._announcement, self._folder, self._own = announcement, folder, dict(own)
        temporary = folder / "tmp"
        temporary.mkdir(parents=True)
        for each in (folder, temporary):
            each.chmod(0o711)  # agents may run as another user
        self._environment = {**environment, "TMPDIR": str(temporary)}
        self._lock = threading.Lock()
        self._idle: list[_Slot] = []
        self._lanes: dict[str, _Slot] = {}
        self._busy: dict[str, _Slot | None] = {}
        self._started: list[_Slot] = []
        self._numbers = 0
        self._closed = False
        if not self._own.get("agent_user"):
            unpack_files(announcement, folder / "files")

    def run(self, key: str, ticket: str, judging: Callable[[], None]) -> Answer:
        """Run the session of a ticket in a free slot; ``judging`` is called when its judgement starts commands."""
        lane = json.loads(ticket).get("lane")
        with self._lock:
            if self._closed:
                return "ended", b"the run has ended", b""
            self._busy[key] = None
            slot = self._lanes.get(lane) if lane else (self._idle.pop() if self._idle else None)
        try:
            slot = slot or self._start(lane)
            with self._lock:
                if key not in self._busy:
                    slot.end()
                    return "ended", b"the session was given up", b""
                self._busy[key] = slot
            answer = slot.run(ticket, judging)
        except SlotEndedError as error:
            with self._lock:
                was_cancelled = key not in self._busy or self._closed
            return ("ended" if was_cancelled else "lost"), str(error).encode(), b""
        except OSError as error:
            answer = "unusable", str(error).encode(), b""
        finally:
            with self._lock:
                self._busy.pop(key, None)
                if slot and not slot.is_alive() and lane:
                    self._lanes.pop(lane, None)
        with self._lock:
            if slot and not lane and slot.is_alive() and answer[0] != "unusable":
                self._idle.append(slot)
            self._started = [one for one in self._started if one.is_running()]
        return answer

    def _start(self, lane: str | None) -> _Slot:
        with self._lock:
            self._numbers += 1
            folder = self._folder / f"slot-{self._numbers}"
        folder.mkdir()
        folder.chmod(0o711)
        files = self._folder / "files"
        if not files.exists():  # agents have a user of their own, and each slot closes its checkout to it
            files = folder / "files"
            unpack_files(self._announcement, files)
        slot = _Slot(folder, self._environment)
        with self._lock:
            self._started.append(slot)
        slot.send(
            {
                "root": str(files),
                "cwd": self._announcement.cwd,
                "settings": {**json.loads(self._announcement.settings), **self._own},
                "versions": asdict(self._announcement.versions),
                "folder": str(folder),
            }
        )
        if lane:
            with self._lock:
                self._lanes[lane] = slot
        return slot

    def cancel(self, key: str) -> None:
        """End the session of a ticket, and its slot: the answer is not needed. Does not wait. Safe in any thread."""
        with self._lock:
            slot = self._busy.pop(key, None)
        if slot:
            slot.end()

    def close(self) -> None:
        """End all slots and remove the files. Slots without a session run the hooks that come last before."""
        with self._lock:
            self._closed = True
            busy = [slot for slot in self._busy.values() if slot]
            started, self._started = self._started, []
            self._busy.clear()
        for slot in started:
            if slot in busy:
                slot.end()
            else:
                slot.finish()
        for slot in started:  # also those whose sessions were given up: one that does not end is killed
            slot.wait()
        remove_path(self._folder)


class _Slot:
    """The process of one slot."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "skillgym_action", "slot"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=folder,
            env=dict(environment),
            start_new_session=True,
        )
        self._sending = threading.Lock()

    def is_alive(self) -> bool:
        return self._process.poll() is None and not self._stdin.closed

    def is_running(self) -> bool:
        """Whether its process is there, perhaps about to end."""
        return self._process.poll() is None

    @property
    def _stdin(self) -> Any:
        return self._process.stdin

    def send(self, request: Mapping[str, object]) -> None:
        """Raises SlotEndedError."""
        try:
            with self._sending:
                self._stdin.write(json.dumps(request).encode() + b"\n")
                self._stdin.flush()
        except (OSError, ValueError) as error:
            raise SlotEndedError(f"the slot ended: {error}") from error

    def run(self, ticket: str, judging: Callable[[], None]) -> Answer:
        """Raises SlotEndedError if the process ends, OSError if its answer cannot be read."""
        self.send({"ticket": json.loads(ticket)})
        while True:
            reply = self._reply()
            if reply.get("event") == "judging":
                judging()
            elif "archive" in reply:
                archive = Path(reply["archive"])
                try:
                    return "line", reply["line"].encode(), archive.read_bytes()
                finally:
                    archive.unlink(missing_ok=True)
            else:
                kind = "unusable" if "unusable" in reply else "refused"
                return kind, str(reply.get(kind, "it gave no answer")).encode(), b""

    def _reply(self) -> dict[str, Any]:
        output = self._process.stdout
        line = output.readline() if output else b""
        if not line.endswith(b"\n"):
            raise SlotEndedError("the process of the session ended")
        reply: dict[str, Any] = json.loads(line)
        return reply

    def finish(self) -> None:
        """Let it run the hooks that come last, and end."""
        with suppress(SlotEndedError):
            self.send({"end": True})
        self.end()

    def end(self) -> None:
        """Close its input: it ends its programs and itself."""
        with suppress(OSError, ValueError):
            self._stdin.close()

    def wait(self) -> None:
        """Wait for its end; kill it if that takes too long."""
        try:
            self._process.wait(SLOT_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout:
            self._process.stdout.close()


def worker_folders(base: Path) -> None:
    """Remove what killed workers left in ``base``: folders whose lock no process has."""
    import fcntl

    for lock in base.glob("*.lock"):
        with suppress(OSError):
            descriptor = os.open(lock, os.O_RDWR | os.O_NOFOLLOW)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                remove_path(lock.with_suffix(""))
                lock.unlink()
            finally:
                os.close(descriptor)
