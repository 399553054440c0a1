from itertools import count
from threading import Event, Lock, Thread

import pytest

from waiting import until, until_blocked, until_returned, until_written


def test_the_first_true_value_is_returned():
    numbers = count()
    assert until(lambda: next(numbers) // 3, "a number of at least 3") == 1


def test_the_content_of_a_file_is_returned_once_a_thread_has_written_it(tmp_path):
    path = tmp_path / "marker"
    path.touch()
    writer = Thread(target=path.write_text, args=("done",))
    writer.start()
    assert until_written(path) == "done"
    writer.join()


def test_a_wait_that_reaches_its_limit_names_what_did_not_come(tmp_path):
    with pytest.raises(AssertionError, match="after 0 s still not seen: a reply"):
        until(lambda: None, "a reply", limit=0)
    with pytest.raises(AssertionError, match=r"content of .*/marker"):
        until_written(tmp_path / "marker", limit=0)


def test_the_result_or_the_error_of_a_call_is_passed_on():
    assert until_returned(lambda: 3, "a number") == 3
    with pytest.raises(KeyError):
        until_returned({}.popitem, "an item")


def test_a_thread_that_waits_for_a_lock_is_blocked_until_it_has_ended():
    lock, entered = Lock(), []

    def enter():
        with lock:
            entered.append(True)

    thread = Thread(target=enter)
    with lock:
        thread.start()
        until_blocked(thread)
        assert (thread.is_alive(), entered) == (True, [])
    thread.join()
    until_blocked(thread)
    assert entered == [True]


def test_a_call_that_does_not_return_is_named():
    ends = Event()
    with pytest.raises(AssertionError, match="after 0 s still not returned: the end"):
        until_returned(ends.wait, "the end", limit=0)
    ends.set()
