"""Work slots: how many threads work at once, and that none waits forever."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from skillgym_action.system.processes.work_slots import WorkSlots
from waiting import LIMIT

PROCESSORS = os.cpu_count() or 2
THREADS = 4 * PROCESSORS


def test_at_most_as_many_threads_work_as_there_are_processors():
    slots, lock, working, most = WorkSlots(), threading.Lock(), 0, 0
    together = threading.Barrier(PROCESSORS, timeout=LIMIT)

    def work(_: int) -> None:
        nonlocal working, most
        with slots.occupied():
            with lock:
                working += 1
                most = max(most, working)
            together.wait()
            together.wait()  # meanwhile all other threads want a slot
            with lock:
                working -= 1

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(work, range(50 * PROCESSORS)))
    assert most == PROCESSORS


def test_threads_that_wait_leave_their_slots_to_others():
    slots, together = WorkSlots(), threading.Barrier(THREADS, timeout=LIMIT)

    def wait(_: int) -> None:
        with slots.occupied(), slots.released():
            together.wait()

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(wait, range(THREADS)))
    assert together.n_waiting == 0


def test_a_thread_without_a_slot_takes_none_by_waiting():
    slots = WorkSlots()
    for _ in range(2 * PROCESSORS):
        with slots.released():
            pass
    with slots.occupied(), slots.released(), slots.released():  # the second has none to give back
        pass
    test_slots_are_all_free(slots)


@pytest.fixture
def slots():
    slots = WorkSlots()
    for _ in range(2 * PROCESSORS):
        with pytest.raises(KeyError), slots.occupied(), slots.released():
            raise KeyError
    return slots


def test_slots_are_all_free(slots):
    """Also after exceptions."""
    together = threading.Barrier(PROCESSORS, timeout=LIMIT)

    def work(_: int) -> None:
        with slots.occupied():
            together.wait()

    with ThreadPoolExecutor(PROCESSORS) as pool:
        list(pool.map(work, range(PROCESSORS)))
