"""What is seen through a descriptor is what is seen through paths, while nobody changes anything."""

# ruff: noqa: PTH110, PTH112, PTH115, PTH116, PTH118, PTH120

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import stat
import tempfile
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from folders import opened

ROOT = "<root>"
NAME = st.sampled_from(["a", "b", "c", ".git", "x.txt"])
PATH = st.lists(NAME, min_size=1, max_size=3).map("/".join)
STEP = st.sampled_from(["a", "b", "c", "x.txt", "..", ".", ""])
INSIDE = st.lists(STEP, min_size=1, max_size=4).map("/".join).filter(lambda target: target.strip("/") == target)
TARGET = st.one_of(
    INSIDE,
    INSIDE.map(lambda path: f"{ROOT}/{path}"),
    st.sampled_from(["/", "/etc", "/etc/passwd", "a/", "x.txt/", "b/.", ROOT, "../" * 12 + "etc/passwd"]),
).filter(bool)
MADE = st.one_of(
    st.tuples(st.just("file"), PATH, st.sampled_from(["", "one\r\ntwo\n", "\xff", "long" * 9])),
    st.tuples(st.just("folder"), PATH, st.just("")),
    st.tuples(st.just("link"), PATH, TARGET),
    st.tuples(st.just("fifo"), PATH, st.just("")),
)
ASKED = st.lists(STEP, max_size=5).map("/".join).filter(lambda path: not path.startswith("/"))
PATTERN = st.lists(st.sampled_from(["a", "*", "**", "x.*", "[ab]", "?", ".git"]), min_size=1, max_size=4).map("/".join)


def make(root: Path, made: list[tuple[str, str, str]]) -> None:
    for kind, path, content in made:
        place = root / path
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            if not place.parent.resolve().is_relative_to(root):
                continue
            if kind == "file":
                if not place.exists():
                    place.write_bytes(content.encode("latin-1"))
            elif kind == "link":
                place.symlink_to(content.replace(ROOT, os.fspath(root)))
            elif kind == "fifo":
                os.mkfifo(place)
            else:
                place.mkdir()
        except (OSError, RuntimeError):
            continue


@pytest.fixture(scope="module")
def scratch():
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as place:
        yield Path(os.path.realpath(place))


# --- the same by paths ------------------------------------------------------------------------------


def entries(root: Path) -> dict[str, tuple[object, ...]]:
    """Kind, size, times and inode of all but what is in folders called ``.git``."""
    found: dict[str, tuple[object, ...]] = {}
    for where, folders, files in os.walk(root):
        for name in (*folders, *files):
            path = os.path.join(where, name)
            now = os.lstat(path)
            if stat.S_ISDIR(now.st_mode):
                if name != ".git":
                    found[os.path.relpath(path, root)] = ("directory",)
                continue
            kind = "file" if stat.S_ISREG(now.st_mode) else "symlink" if stat.S_ISLNK(now.st_mode) else "other"
            found[os.path.relpath(path, root)] = (kind, now.st_size, now.st_mtime_ns, now.st_ctime_ns, now.st_ino)
        folders[:] = [name for name in folders if name != ".git"]
    return found


def digest(path: Path) -> str | None:
    if path.is_symlink():
        return f"-> {os.readlink(path)}"
    return hashlib.blake2b(path.read_bytes()).hexdigest() if path.is_file() else None


def is_inside(root: Path, path: str) -> bool:
    return Path(os.path.realpath(root / path)).is_relative_to(root)


def is_loop(path: Path) -> bool:
    """Links that never end; ``realpath`` names any place for those."""
    try:
        os.stat(path)
    except OSError as error:
        return error.errno == errno.ELOOP
    return False


def kind(root: Path, path: str) -> str | None:
    target = root / path
    try:
        os.lstat(target)
        if not is_loop(target) and not is_inside(root, path):
            return "outside"
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        return "symlink" if target.is_symlink() else None
    except OSError:
        return None
    return "directory" if stat.S_ISDIR(mode) else "file" if stat.S_ISREG(mode) else "other"


def text(root: Path, path: str, limit: int) -> str | None:
    content = (root / path).read_bytes() if kind(root, path) == "file" else None
    return None if content is None or len(content) > limit else content.decode("utf-8", "replace").replace("\r\n", "\n")


def place(root: Path, path: str) -> str:
    """Without links on the way to the last part."""
    folder, name = os.path.split(os.path.normpath(root / path))
    return os.path.relpath(os.path.join(os.path.realpath(folder), name), root)


def glob(root: Path, pattern: str) -> tuple[str, ...]:
    """Files that match, and links to files inside; none in folders that links lead to."""
    parts = pattern.split("/")
    parts += ["*"] if parts[-1] == "**" else []
    found = []
    for where, _, files in os.walk(root):
        for name in files:
            path = os.path.relpath(os.path.join(where, name), root)
            if matches(path.split("/"), parts) and (root / path).is_file() and is_inside(root, path):
                found.append(path)
    return tuple(sorted(found))


def matches(names: list[str], parts: list[str]) -> bool:
    if not parts:
        return not names
    if parts[0] == "**":
        return matches(names, parts[1:]) or (bool(names) and matches(names[1:], parts))
    return bool(names) and fnmatchcase(names[0], parts[0]) and matches(names[1:], parts[1:])


# --- compared ---------------------------------------------------------------------------------------


@pytest.mark.slow
@settings(max_examples=150)
@given(made=st.lists(MADE, max_size=14), asked=st.lists(ASKED, max_size=12), patterns=st.lists(PATTERN, max_size=3))
def test_all_is_seen_as_through_paths(scratch, made, asked, patterns):
    root = scratch / "root"
    root.mkdir()
    try:
        make(root, made)
        before = entries(root)
        with opened(root) as folder:
            assert folder.snapshot() == before
            for path, entry in before.items():
                assert folder.entry(path) == entry
                assert folder.digest(path) == digest(root / path)
            for path in {*before, *asked}:
                same_kind(folder.kind(path), kind(root, path), root / path)
                for limit in (3, 100):
                    assert folder.text(path, limit) == (None if leaves(root, path) else text(root, path, limit))
                same_place(folder, root, path)
            for pattern in patterns:
                assert folder.glob(pattern) == glob(root, pattern)
    finally:
        shutil.rmtree(root)


def same_kind(now: str | None, by_path: str | None, path: Path) -> None:
    """What leads out is outside even where nothing is there, and a way out and back in is one out."""
    if now == "outside":
        assert by_path in {"outside", None} or ".." in os.fspath(path) or path.is_symlink()
    elif now == "symlink" and by_path == "outside":  # by way of what is not there
        assert not path.exists()
    else:
        assert now == by_path


def leaves(root: Path, path: str) -> bool:
    with opened(root) as folder:
        return folder.kind(path) == "outside"


def same_place(folder, root: Path, path: str) -> None:
    by_path = place(root, path)
    if os.path.isdir(os.path.dirname(os.path.normpath(root / path))) and not os.path.normpath(path).startswith(".."):
        found = folder.snapshot_path(path)
        assert (found or "..") == by_path or (found is None and by_path.startswith("../"))
    if (target := folder.target(path)) is not None:
        assert os.path.normpath(root / target) == os.path.realpath(root / path)
    elif folder.kind(path) != "outside":
        assert not os.path.exists(root / path)
