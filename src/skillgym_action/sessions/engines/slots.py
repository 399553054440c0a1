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
import time
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillgym_action.model.records import record
from skillgym_action.sessions.engines.announcement import unpack_files
from skillgym_action.system.files.bundle import BundleError
from skillgym_action.system.files.removal import remove_path
from skillgym_action.workspaces.repository.repository import COMMIT_ALL, GIT_ENVIRONMENT, SAFE_GIT_OPTIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from skillgym_action.sessions.engines import Announcement

SLOT_END_SECONDS = 10.0  # for a slot to end its programs, before it is killed
POLL_SECONDS = 0.2
TEMPORARY = "tmp"  # the folder for temporary files, in that of a slot
Answer = tuple[str, bytes, bytes]
"""Kind (line, refused, failed, unusable, lost, gone, ended), then a line or a reason, then an archive.

``gone``: the slot ended before the session began.
"""


@record(kw_only=False)
class SlotSettings:
    """How slots are started and ended. ``unpack``: writes the files of an announcement to a new folder."""

    argv: tuple[str, ...] = (sys.executable, "-P", "-m", "skillgym_action", "slot")
    end_seconds: float = SLOT_END_SECONDS
    unpack: Callable[[Announcement, Path], None] = unpack_files


DEFAULT_SETTINGS = SlotSettings()


class SlotEndedError(Exception):
    """The process of a slot ended, or was ended."""


class SlotPool:
    """The slots of one run on one worker. They are started when they are needed, and used again. Thread-safe.

    Each has a folder for its files, workspaces and answers, which is removed when it has ended.
    """

    def __init__(
        self,
        announcement: Announcement,
        folder: Path,
        environment: Mapping[str, str],
        own: Mapping[str, object],
        shutdown: threading.Event,
        settings: SlotSettings = DEFAULT_SETTINGS,
    ) -> None:
        """``folder``: a new one. ``own``: what the worker decides about sessions. ``shutdown``: set once it shuts down.

        Raises OSError, BundleError.
        """
        self._announcement, self._folder, self._own = announcement, folder, dict(own)
        self._environment, self._shutdown, self._settings = environment, shutdown, settings
        _make_folder(folder)
        self._lock = threading.Condition()
        self._idle: list[_Slot] = []
        self._workspace_slots: dict[str, _Slot] = {}
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
        workspace = json.loads(ticket).get("shared_workspace")
        with self._lock:
            if self._closed:
                return "ended", b"the run has ended", b""
            slot = self._workspace_slots.get(workspace) if workspace else self._idle_slot()
            if workspace and slot and not slot.is_alive():
                del self._workspace_slots[workspace]
                return "gone", b"the process with the shared workspace ended", b""
            self._busy[key] = None
        try:
            slot = slot or self._start(workspace)
            with self._lock:
                if key not in self._busy or self._closed:
                    slot.end()
                    return "ended", b"the session was given up", b""
                self._busy[key] = slot
            answer = slot.run(ticket, judging)
        except (SlotEndedError, OSError, BundleError) as error:
            with self._lock:
                was_cancelled = key not in self._busy or self._closed
                self._workspace_slots.pop(workspace, None)
            if slot:
                slot.end()
            kind = slot.kind_of_loss() if slot else "unusable"
            return ("ended" if was_cancelled else kind), str(error).encode(), b""
        finally:
            with self._lock:
                self._busy.pop(key, None)
            self._remove_ended()
        if answer[0] == "unusable":
            slot.end()
        with self._lock:
            if not workspace and slot.is_alive():
                self._idle.append(slot)
        return answer

    def _remove_ended(self) -> None:
        with self._lock:
            busy = self._busy.values()
            ended = [slot for slot in self._started if not slot.is_running() and slot not in busy]
            self._started = [slot for slot in self._started if slot not in ended]
        for slot in ended:
            slot.remove()

    def _idle_slot(self) -> _Slot | None:
        """One that is alive; an idle one may have been killed."""
        while self._idle:
            if (slot := self._idle.pop()).is_alive():
                return slot
        return None

    def _start(self, workspace: str | None) -> _Slot:
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
                    if workspace:
                        self._workspace_slots[workspace] = slot
                self._lock.notify_all()
        return slot

    def _started_in(self, folder: Path) -> _Slot:
        _make_folder(folder)
        _make_folder(folder / TEMPORARY)
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

        ``waits_for_hooks``: for as long as their own time limits permit, unless the worker shuts down meanwhile.
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
        began = time.monotonic()
        for slot in started:  # also those whose sessions were given up: one that does not end is killed
            while not slot.has_ended(within=POLL_SECONDS):
                if waits_for_hooks and self._shutdown.is_set():
                    waits_for_hooks, began = False, time.monotonic()
                    for each in started:
                        each.end()
                slot.kill_after(began, with_hooks=waits_for_hooks)
            slot.remove()
        remove_path(self._folder)


def _make_folder(folder: Path) -> None:
    """Make a folder that the user of agents can enter."""
    folder.mkdir(exist_ok=True)
    folder.chmod(0o711)


class _Slot:
    """The process of one slot."""

    def __init__(
        self, folder: Path, environment: Mapping[str, str], opening: Mapping[str, object], settings: SlotSettings
    ) -> None:
        """Raises OSError."""
        self._folder = folder
        self._process = subprocess.Popen(
            settings.argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=folder,
            env={**environment, "TMPDIR": str(folder / TEMPORARY)},
            start_new_session=True,
        )
        self._sending = threading.Lock()
        self._end_seconds = settings.end_seconds
        self._hook_seconds, self._runs_hooks = 0.0, False
        self._has_replied = self._has_begun = False
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
        self._has_begun = False
        self.send({"ticket": json.loads(ticket)})
        while True:
            reply = self._reply()
            self._has_replied = self._has_begun = True
            if event := reply.get("event"):
                if event == "judging":
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

    def kind_of_loss(self) -> str:
        """The kind of the answer to a ticket during which the process ended.

        A process that ended before its first session began would end again.
        """
        if self._has_begun:
            return "lost"
        return "gone" if self._has_replied else "unusable"

    def finish(self) -> None:
        """Let it run the hooks that come last, and end. They are cancelled once its input is closed."""
        with suppress(SlotEndedError):
            self.send({"end": True})
            self._runs_hooks = True

    def end(self) -> None:
        """Close its input: it ends its programs and itself."""
        with suppress(OSError, ValueError):
            self._stdin.close()

    def has_ended(self, within: float) -> bool:
        """Whether the process ends within so many seconds."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(within)
        return not self.is_running()

    def kill_after(self, began: float, *, with_hooks: bool) -> None:
        """Kill the process if it was to end at ``began``, a time of the monotonic clock, and needs too long.

        ``with_hooks``: it may also use the time limits of the hooks that come last.
        """
        seconds = self._end_seconds + (self._hook_seconds if self._runs_hooks and with_hooks else 0.0)
        if time.monotonic() - began > seconds:
            print(f"a slot did not end within {seconds:g} s, and is killed", file=sys.stderr, flush=True)  # noqa: T201
            self._process.kill()
            self._process.wait()

    def remove(self) -> None:
        """Remove the files of a process that has ended."""
        self.end()
        if self._process.stdout:
            self._process.stdout.close()
        remove_path(self._folder)
