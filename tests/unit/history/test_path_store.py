"""Stores in a folder or a file."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from skillgym_action.history import StoreError
from skillgym_action.history.path_store import path_store, run_file, too_old
from skillgym_action.model.limits import MAX_STORE_BYTES

AT = datetime(2026, 1, 31, 23, 59, tzinfo=UTC)
NAMES = ["store", "store.jsonl"]


def contents(store):
    return [text.content for text in store.newest_first()]


@pytest.mark.parametrize("name", NAMES)
def test_lines_are_read_the_newest_first(tmp_path, name):
    store = path_store(tmp_path / name, name)
    assert contents(store) == []
    for number in range(3):
        store.add(b"%d\n" % number, str(number), AT + timedelta(days=number))
    assert contents(store) == [b"2", b"1", b"0"]


@pytest.mark.parametrize("name", NAMES)
def test_jobs_that_write_at_once_lose_nothing(tmp_path, name):
    def write(number):
        path_store(tmp_path / name, name).add(b"%d" % number * 9_000 + b"\n", str(number), AT)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(40)))
    assert sorted(contents(path_store(tmp_path / name, name))) == sorted(b"%d" % n * 9_000 for n in range(40))


def test_a_torn_line_of_a_file_is_dropped(tmp_path):
    store = path_store(tmp_path / "store.jsonl", "store.jsonl")
    store.add(b"one\n", "1", AT)
    with (tmp_path / "store.jsonl").open("ab") as file:
        file.write(b"to")
    assert contents(store) == [b"one"]
    store.add(b"two\n", "2", AT)
    assert contents(store) == [b"two", b"one"]


@pytest.mark.parametrize("name", NAMES)
def test_the_oldest_runs_are_dropped(tmp_path, name):
    store = path_store(tmp_path / name, name)
    line = b"x" * (MAX_STORE_BYTES // 4)
    for number in range(5):
        store.add(b"%d" % number + line + b"\n", str(number), AT + timedelta(days=number))
    found = [text[:1] for text in contents(store)]
    assert found[0] == b"4"
    assert b"0" not in found


def test_links_and_other_files_are_not_read(tmp_path):
    (tmp_path / "outside").write_text("secret")
    store = path_store(tmp_path / "store", "store")
    store.add(b"one\n", "1", AT)
    (tmp_path / "store" / "README.md").write_text("text")
    file = tmp_path / "store" / run_file("2", AT)
    file.symlink_to(tmp_path / "outside")
    with pytest.raises(StoreError, match="cannot be read"):
        contents(store)
    file.unlink()
    os.mkfifo(file)
    with pytest.raises(StoreError, match="is not a regular file"):
        contents(store)
    link = tmp_path / "link.jsonl"
    link.symlink_to(tmp_path / "outside")
    with pytest.raises(StoreError, match="cannot be read"):
        contents(path_store(link, "link.jsonl"))
    with pytest.raises(StoreError, match="cannot be written"):
        path_store(link, "link.jsonl").add(b"x\n", "1", AT)


def test_names_of_other_files_are_never_dropped():
    assert too_old({"README.md": MAX_STORE_BYTES * 2, run_file("1", AT): 1}) == []
    old, new = run_file("1", AT), run_file("2", AT + timedelta(days=1))
    assert too_old({old: 1, new: MAX_STORE_BYTES}) == [old]
