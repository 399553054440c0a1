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
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillgym_action.engines.announcement import unpack_files
from skillgym_action.filesystem.bundle import BundleError
from skillgym_action.filesystem.removal import remove_path
from skillgym_action.remote_limits import SLOT_END_SECONDS
from skillgym_action.repository.repository import COMMIT_ALL, GIT_ENVIRONMENT, SAFE_GIT_OPTIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from skillgym_action.engines import Announcement

Answer = tuple[str, bytes, bytes]
"""Kind (line, refused, failed, unusable, lost, gone, ended), then a line or a reason, then an archive.

``gone``: the slot had ended before the ticket could be sent.
"""


@dataclass(frozen=True, slots=True)
class SlotSettings:
    """How slots are started and ended. ``unpack``: writes the files of an announcement to a new folder."""

    argv: tuple[str, ...] = (sys.executable, "-P", "-m", "skillgym_action", "slot")
    end_seconds: float = SLOT_END_SECONDS
    unpack: Callable[[Announcement, Path], None] = unpack_files


DEFAULT_SETTINGS = SlotSettings()


class SlotEndedError(Exception):
    """The process of a slot ended, or was ended."""


class SlotPool:
    """The slots of one run on one worker. They are started when they are needed, and used again. Thread-safe."""

    def __init__(
        self,
        announcement: Announcement,
        folder: Path,
        environment: Mapping[str, str],
        own: Mapping[str, object],
        settings: SlotSettings = DEFAULT_SETTINGS,
    ) -> None:
        """``folder``: a new one for files, workspaces and answers. ``own``: what the worker decides about sessions.

        Raises OSError, BundleError.
        """
        self._announcement, self._folder, self._own = announcement, folder, dict(own)
        self._settings = settings
        temporary = folder / "tmp"
        temporary.mkdir(parents=True)
        for each in (folder, temporary):
            each.chmod(0o711)  # agents may run as another user
        self._environment = {**environment, "TMPDIR": str(temporary)}
        self._lock = threading.Condition()
        self._idle: list[_Slot] = []
        self._lanes: dict[str, _Slot] = {}
        self._busy: dict[str, _Slot | None] = {}
        self._started: list[_Slot] = []
        self._starting = 0
        self._numbers = 0
        self._closed = False
        if not self._own.get("agent_user"):
            self._unpack(folder / "files")

    def _unpack(self, target: Path) -> None:
        """The files; as the checkout is a git repository, so are they. Raises OSError, BundleError."""
        self._settings.unpack(self._announcement, target)
        for arguments in COMMIT_ALL if self._announcement.has_git else ():
            done = subprocess.run(
                ("git", *SAFE_GIT_OPTIONS, *arguments),  # noqa: S607 -- found in the worker's PATH
                cwd=target,
                env=GIT_ENVIRONMENT | {"PATH": self._environment.get("PATH", os.defpath)},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
            )
            if done.returncode:
                raise OSError(f"git cannot commit the files: {done.stderr.decode(errors='replace').strip()[:1000]}")

    def run(self, key: str, ticket: str, judging: Callable[[], None]) -> Answer:
        """Run the session of a ticket in a free slot; ``judging`` is called when its judgement starts commands."""
        lane = json.loads(ticket).get("lane")
        with self._lock:
            if self._closed:
                return "ended", b"the run has ended", b""
            slot = self._lanes.get(lane) if lane else self._idle_slot()
            if lane and slot and not slot.is_alive():
                del self._lanes[lane]
                return "gone", b"the process with the shared workspace ended", b""
            self._busy[key] = None
        try:
            slot = slot or self._start(lane)
            with self._lock:
                if key not in self._busy or self._closed:
                    slot.end()
                    return "ended", b"the session was given up", b""
                self._busy[key] = slot
            answer = slot.run(ticket, judging)
        except (SlotEndedError, OSError, BundleError) as error:
            with self._lock:
                was_cancelled = key not in self._busy or self._closed
                self._lanes.pop(lane, None)
            if slot:  # the ticket was sent
                slot.end()
            kind = "lost" if slot else "unusable"
            return ("ended" if was_cancelled else kind), str(error).encode(), b""
        finally:
            with self._lock:
                self._busy.pop(key, None)
        with self._lock:
            if slot and not lane and slot.is_alive() and answer[0] != "unusable":
                self._idle.append(slot)
            self._forget_ended()
        return answer

    def _forget_ended(self) -> None:
        busy = self._busy.values()
        ended = [slot for slot in self._started if not slot.is_running() and slot not in busy]
        self._started = [slot for slot in self._started if slot not in ended]
        for slot in ended:
            slot.end()
            slot.wait(waits_for_hooks=False)

    def _idle_slot(self) -> _Slot | None:
        """One that is alive; an idle one may have been killed."""
        while self._idle:
            if (slot := self._idle.pop()).is_alive():
                return slot
        return None

    def _start(self, lane: str | None) -> _Slot:
        """Raises OSError, BundleError; SlotEndedError if the run has ended."""
        with self._lock:
            if self._closed:
                raise SlotEndedError("the run has ended")
            self._starting += 1
            self._numbers += 1
            folder = self._folder / f"slot-{self._numbers}"
        slot = None
        try:
            slot = self._started_in(folder)
        finally:
            if slot is None:
                remove_path(folder)
            with self._lock:
                self._starting -= 1
                if slot:
                    self._started.append(slot)
                    if lane:
                        self._lanes[lane] = slot
                self._lock.notify_all()
        return slot

    def _started_in(self, folder: Path) -> _Slot:
        folder.mkdir()
        folder.chmod(0o711)
        files = self._folder / "files"
        if not files.exists():  # agents have a user of their own, and each slot closes its checkout to it
            files = folder / "files"
            self._unpack(files)
        opening = {
            "root": str(files),
            "cwd": self._announcement.cwd,
            "settings": {**json.loads(self._announcement.settings), **self._own},
            "versions": asdict(self._announcement.versions),
            "folder": str(folder),
        }
        return _Slot(folder, self._environment, opening, self._settings)

    def cancel(self, key: str) -> None:
        """End the session of a ticket, and its slot: the answer is not needed. Does not wait. Safe in any thread."""
        with self._lock:
            slot = self._busy.pop(key, None)
        if slot:
            slot.end()

    def close(self, *, waits_for_hooks: bool = True) -> None:
        """End all slots and remove the files. Slots without a session run the hooks that come last before.

        ``waits_for_hooks``: for as long as their own time limits permit.
        """
        with self._lock:
            self._closed = True
            self._lock.wait_for(lambda: self._starting == 0)
            busy = [slot for slot in self._busy.values() if slot]
            started, self._started = self._started, []
            self._busy.clear()
        for slot in started:
            if slot in busy:
                slot.end()
            else:
                slot.finish()
        for slot in started:  # also those whose sessions were given up: one that does not end is killed
            slot.wait(waits_for_hooks=waits_for_hooks)
        remove_path(self._folder)


class _Slot:
    """The process of one slot."""

    def __init__(
        self, folder: Path, environment: Mapping[str, str], opening: Mapping[str, object], settings: SlotSettings
    ) -> None:
        """Raises OSError."""
        self._process = subprocess.Popen(
            settings.argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=folder,
            env=dict(environment),
            start_new_session=True,
        )
        self._sending = threading.Lock()
        self._end_seconds = settings.end_seconds
        self._hook_seconds, self._runs_hooks = 0.0, False
        with suppress(SlotEndedError):  # its first ticket is lost then
            self.send(opening)

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
                self._hook_seconds = max(self._hook_seconds, float(reply.get("ending", 0.0)))
                archive = Path(reply["archive"])
                try:
                    return "line", reply["line"].encode(), archive.read_bytes()
                finally:
                    archive.unlink(missing_ok=True)
            else:
                kind = next((kind for kind in ("unusable", "failed") if kind in reply), "refused")
                if kind == "failed":
                    self.end()
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
            self._runs_hooks = True
        self.end()

    def end(self) -> None:
        """Close its input: it ends its programs and itself."""
        with suppress(OSError, ValueError):
            self._stdin.close()

    def wait(self, *, waits_for_hooks: bool) -> None:
        """Wait for its end; kill it if that takes too long."""
        seconds = self._end_seconds + (self._hook_seconds if self._runs_hooks and waits_for_hooks else 0.0)
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            print(f"a slot did not end within {seconds:g} s, and is killed", file=sys.stderr, flush=True)  # noqa: T201
            self._process.kill()
            self._process.wait()
        if self._process.stdout:
            self._process.stdout.close()
