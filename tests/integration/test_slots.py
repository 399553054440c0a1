"""The slots of a worker, with a shell script in place of the process of a slot."""

from __future__ import annotations

import asyncio
import hashlib
import io
import json
import threading
import time
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from skillgym_action.sessions.engines import Announcement, Ticket
from skillgym_action.sessions.engines.announcement import own_versions
from skillgym_action.sessions.engines.dask_engine import HOST, AnnouncementPlugin
from skillgym_action.sessions.engines.dask_worker import WorkerHost
from skillgym_action.sessions.engines.slots import SlotPool, SlotSettings
from skillgym_action.system.files.bundle import BundleEntry, BundleError, write_bundle
from waiting import LIMIT, until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TICKET = Ticket(suite="s", case="c", runner="r", digest="d", repetition=1, session=1)
IN_SHARED_WORKSPACE = replace(TICKET, shared_workspace="shared")
OTHER_USER = {"agent_user": "nobody"}  # each slot then has files of its own
PATIENCE = LIMIT


def announced(**changes: Any) -> Announcement:
    content = io.BytesIO()
    write_bundle(content, [BundleEntry("folder", "empty", 0o755)])
    files = content.getvalue()
    made = Announcement(
        run="run",
        settings="{}",
        cwd=".",
        files=files,
        digest=hashlib.sha256(files).hexdigest(),
        has_git=False,
        versions=own_versions(),
    )
    return replace(made, **changes)


BROKEN = announced(digest="0" * 64)


@pytest.fixture
def answers(tmp_path: Path) -> Callable[..., Path]:
    """Sets what slots reply to tickets, and what they do at their end. Returns the file of their process ids."""
    script, archive = tmp_path / "slot.sh", tmp_path / "answer"

    def set_to(reply: dict[str, Any] | None = None, at_end: str = "") -> Path:
        text = json.dumps(reply or {"line": "{}", "archive": str(archive)})
        cases = f"*end*) {at_end or 'exit'};; *) touch {archive}; echo '{text}';;"
        loop = f"while read -r line; do case $line in {cases} esac; done"
        script.write_text(f"#!/bin/sh\nread -r opening\necho $$ >> {tmp_path}/ids\n{loop}\n")
        script.chmod(0o755)
        return tmp_path / "ids"

    return set_to


def pool_in(
    folder: Path,
    announcement: Announcement | None = None,
    own: Any = None,
    shutdown: threading.Event | None = None,
    **settings: Any,
) -> SlotPool:
    """Slots that run the script of ``answers``. ``settings``: of ``SlotSettings``."""
    given = SlotSettings(**{"argv": (str(folder / "slot.sh"),)} | settings)
    return SlotPool(announcement or announced(), folder / "pool", {}, own or {}, shutdown or threading.Event(), given)


def is_running(pid: int) -> bool:
    """Whether a process has not ended; its pool may have noticed that or not."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def ran(pool: SlotPool, ticket: Ticket = TICKET) -> str:
    """The kind of the answer to a ticket."""
    return pool.run("key", ticket.text(), lambda: None)[0]


def test_an_answer_that_cannot_be_read_is_a_lost_session(answers: Callable[..., Path], tmp_path: Path) -> None:
    answers({"line": "{}", "archive": str(tmp_path / "missing")})
    pool = pool_in(tmp_path)
    assert ran(pool) == "lost"
    pool.close()


def test_files_that_cannot_be_unpacked_make_the_worker_unusable_and_do_not_stay(
    answers: Callable[..., Path], tmp_path: Path
) -> None:
    answers()
    pool = pool_in(tmp_path, BROKEN, OTHER_USER)
    assert ran(pool) == "unusable"
    assert list((tmp_path / "pool").iterdir()) == []
    pool.close()


def test_a_slot_that_was_killed_while_it_was_idle_is_replaced(answers: Callable[..., Path], tmp_path: Path) -> None:
    ids = answers()
    pool = pool_in(tmp_path)
    assert [ran(pool), ran(pool)] == ["line", "line"]
    (first,) = ids.read_text().split()
    psutil.Process(int(first)).kill()
    until(lambda: psutil.Process(int(first)).status() == psutil.STATUS_ZOMBIE, "the end of the slot")
    assert ran(pool) == "line"
    assert len(ids.read_text().split()) == 2
    pool.close()


@pytest.mark.timed
@pytest.mark.parametrize(("ending", "is_over"), [(PATIENCE, True), (0.0, False)])
def test_hooks_that_come_last_have_their_own_time_limits(
    answers: Callable[..., Path], tmp_path: Path, *, ending: float, is_over: bool
) -> None:
    reply = {"line": "{}", "archive": str(tmp_path / "answer"), "ending": ending}
    answers(reply, f"sleep 1; touch {tmp_path}/over; exit")
    pool = pool_in(tmp_path, end_seconds=0.3)
    assert ran(pool, IN_SHARED_WORKSPACE) == "line"
    pool.close()
    assert (tmp_path / "over").exists() == is_over


@pytest.mark.timed
def test_a_worker_that_shuts_down_does_not_wait_for_hooks(answers: Callable[..., Path], tmp_path: Path) -> None:
    answers({"line": "{}", "archive": str(tmp_path / "answer"), "ending": PATIENCE}, "sleep 5")
    pool = pool_in(tmp_path, end_seconds=0.3)
    assert ran(pool, IN_SHARED_WORKSPACE) == "line"
    began = time.monotonic()
    pool.close(waits_for_hooks=False)
    assert time.monotonic() - began < 4


def test_a_worker_that_shuts_down_meanwhile_stops_waiting_for_hooks(
    answers: Callable[..., Path], tmp_path: Path
) -> None:
    reply = {"line": "{}", "archive": str(tmp_path / "answer"), "ending": 3600.0}
    answers(reply, f"touch {tmp_path}/ending; sleep 3600")
    shutdown = threading.Event()
    pool = pool_in(tmp_path, shutdown=shutdown, end_seconds=0.3)
    assert ran(pool, IN_SHARED_WORKSPACE) == "line"
    closing = threading.Thread(target=pool.close, daemon=True)
    closing.start()
    until((tmp_path / "ending").exists, "the hooks of the slot")
    assert closing.is_alive()
    shutdown.set()
    until(lambda: not closing.is_alive(), "the end of the pool")


@pytest.mark.timed
def test_slots_that_do_not_end_are_killed_together(answers: Callable[..., Path], tmp_path: Path) -> None:
    ids = answers({"line": "{}", "archive": str(tmp_path / "answer")}, "sleep 15")
    pool = pool_in(tmp_path, end_seconds=1)
    for number in range(6):
        assert ran(pool, replace(TICKET, shared_workspace=str(number))) == "line"
    began = time.monotonic()
    pool.close()
    assert 1 <= time.monotonic() - began < 5.5
    assert not [each for each in ids.read_text().split() if psutil.pid_exists(int(each))]


@pytest.mark.parametrize(
    ("script", "kinds"),
    [
        pytest.param("exit 1", ["unusable", "unusable"], id="a process that cannot start"),
        pytest.param("read -r ticket; exit 1", ["unusable", "unusable"], id="one that ends before its first session"),
        pytest.param(
            """read -r ticket; echo '{"event": "began"}'; exit 1""", ["lost", "lost"], id="one that ends in a session"
        ),
        pytest.param(
            """read -r ticket; echo '{"refused": "x"}'; read -r ticket; exit 1""",
            ["refused", "gone"],
            id="one that ends before its second session",
        ),
    ],
)
def test_only_sessions_that_have_begun_are_lost(tmp_path: Path, script: str, kinds: list[str]) -> None:
    pool = pool_in(tmp_path, argv=("sh", "-c", f"read -r opening; {script}"))
    assert [ran(pool), ran(pool)] == kinds
    pool.close()


@pytest.mark.parametrize("own", [{}, OTHER_USER], ids=["as the worker's user", "as another user"])
def test_a_slot_that_ended_leaves_no_files(answers: Callable[..., Path], tmp_path: Path, own: Any) -> None:
    ids = answers()
    pool = pool_in(tmp_path, own=own)
    for _ in range(3):
        assert ran(pool) == "line"
        slot = psutil.Process(int(ids.read_text().split()[-1]))
        slot.kill()
        until(lambda slot=slot: slot.status() == psutil.STATUS_ZOMBIE, "the end of the slot")
    assert ran(pool) == "line"
    assert len(list((tmp_path / "pool").glob("slot-*"))) == 1
    pool.close()


def test_a_slot_that_cannot_run_the_plan_ends(answers: Callable[..., Path], tmp_path: Path) -> None:
    ids = answers({"unusable": "a key is missing"})
    pool = pool_in(tmp_path)
    assert ran(pool) == "unusable"
    until(lambda: not is_running(int(ids.read_text())), "the end of the slot")
    pool.close()


def test_a_run_that_ends_while_a_slot_starts_leaves_nothing(answers: Callable[..., Path], tmp_path: Path) -> None:
    answers()
    unpacks, may_go_on = threading.Event(), threading.Event()

    def slow(announcement: Announcement, target: Path) -> None:
        if unpacks.is_set():
            raise OSError("one after the other")
        unpacks.set()
        assert may_go_on.wait(LIMIT)
        (target / "x").mkdir(parents=True)

    pool = pool_in(tmp_path, own=OTHER_USER, unpack=slow)
    kinds: list[str] = []
    running = threading.Thread(target=lambda: kinds.append(ran(pool)))
    running.start()
    assert unpacks.wait(LIMIT)
    closing = threading.Thread(target=pool.close)
    closing.start()
    until(lambda: pool.run("another", TICKET.text(), lambda: None)[0] == "ended", "the pool takes no more tickets")
    may_go_on.set()
    closing.join(LIMIT)
    running.join(LIMIT)
    assert kinds == ["ended"]
    assert not (tmp_path / "pool").exists()


def test_a_worker_keeps_nothing_of_an_announcement_that_it_cannot_unpack(tmp_path: Path) -> None:
    host = WorkerHost({"TMPDIR": str(tmp_path)}, {})
    with pytest.raises(BundleError):
        host.open_run(BROKEN)
    assert list(host.folder.iterdir()) == []
    host.close()


def test_a_run_that_ends_while_its_files_are_unpacked_leaves_nothing(tmp_path: Path) -> None:
    host, may_go_on = WorkerHost({"TMPDIR": str(tmp_path)}, {}), threading.Event()

    class SlowHost:
        """Unpacks once it may."""

        def open_run(self, announcement: Announcement) -> SlotPool:
            assert may_go_on.wait(LIMIT)
            return host.open_run(announcement)

    async def ends_early() -> None:
        worker: Any = SimpleNamespace(**{HOST: SlowHost()}, status=SimpleNamespace(name="running"))
        plugin = AnnouncementPlugin(announced())
        await plugin.setup(worker)
        ending = asyncio.create_task(plugin.teardown(worker))
        await asyncio.sleep(0)  # so that it begins
        assert plugin.is_over
        may_go_on.set()
        await ending
        assert plugin.pool is None

    asyncio.run(ends_early())
    assert list(host.folder.iterdir()) == []
    host.close()
