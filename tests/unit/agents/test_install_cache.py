"""Installations that outlive a job: whole or not there, verified, and restored in no other place than asked for."""

from __future__ import annotations

import hashlib
import os
import threading
from typing import TYPE_CHECKING

import pytest

from skillgym_action.agents.install_cache import AgentCache, _head
from skillgym_action.system.files.bundle import BundleEntry, BundleError, write_bundle

if TYPE_CHECKING:
    from pathlib import Path

NAME = "claude-code-1.2.3"


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """An installation as npm makes it."""
    folder = tmp_path / "installed"
    package = folder / "node_modules" / "cli"
    package.mkdir(parents=True)
    (package / "cli.sh").write_text("#!/bin/sh\necho 1.2.3\n")
    (package / "cli.sh").chmod(0o755)
    (package / "large").write_bytes(os.urandom(3 * 1024 * 1024))
    os.link(package / "large", package / "large-again")
    (folder / "node_modules" / ".bin").mkdir()
    (folder / "node_modules" / ".bin" / "cli").symlink_to("../cli/cli.sh")
    return folder


@pytest.fixture
def cache(tmp_path: Path) -> AgentCache:
    return AgentCache(tmp_path / "runner-temp" / "agents")


def contents(folder: Path) -> dict[str, object]:
    return {
        str(path.relative_to(folder)): str(path.readlink())
        if path.is_symlink()
        else (path.stat().st_mode & 0o777, path.read_bytes() if path.is_file() else None)
        for path in folder.rglob("*")
    }


def forged(cache: AgentCache, *entries: BundleEntry, links: str = "{}") -> None:
    """A file with a right digest, as whoever can write to the folder may make it."""
    cache.folder.mkdir(parents=True)
    path = cache._path(NAME)
    with path.open("wb") as file:
        file.write(_head(NAME) + links.encode() + b"\n")
        write_bundle(file, entries)
    path.write_bytes(path.read_bytes() + hashlib.sha256(path.read_bytes()).digest())


def test_what_was_kept_is_restored_as_it_was(cache, installed, tmp_path):
    cache.keep(NAME, installed)
    assert cache.restore(NAME, tmp_path / "restored")
    assert contents(tmp_path / "restored") == contents(installed)
    (file,) = cache.folder.iterdir()
    assert file.name.startswith(NAME)
    assert file.stat().st_size < 4 * 1024 * 1024, "a file with two names is there once"
    package = tmp_path / "restored" / "node_modules" / "cli"
    assert (package / "large").samefile(package / "large-again")


def test_nothing_is_restored_where_nothing_was_kept(cache, installed, tmp_path):
    assert not cache.restore(NAME, tmp_path / "restored")
    cache.keep("claude-code-1.2.4", installed)
    assert not cache.restore(NAME, tmp_path / "restored")
    assert not (tmp_path / "restored").exists()


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda content: content[: len(content) // 2], id="half of it"),
        pytest.param(lambda content: content[:-1], id="its last byte is missing"),
        pytest.param(lambda content: content + b"x", id="a byte too many"),
        pytest.param(lambda content: content[:100_000] + bytes(8) + content[100_008:], id="other bytes"),
        pytest.param(lambda content: content.replace(b"1.2.3 ", b"1.2.4 ", 1), id="of another version"),
        pytest.param(lambda _: b"", id="empty"),
    ],
)
def test_a_damaged_file_is_refused(cache, installed, tmp_path, damage):
    cache.keep(NAME, installed)
    path = cache._path(NAME)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(BundleError):
        cache.restore(NAME, tmp_path / "restored")


@pytest.mark.parametrize(
    "entries",
    [
        pytest.param([BundleEntry("file", "../out", 0o644)], id="a path out of the folder"),
        pytest.param([BundleEntry("link", "cli", 0o777, target="/bin/sh")], id="a link to elsewhere"),
        pytest.param([BundleEntry("link", "cli", 0o777, target="../../x")], id="a link out of the folder"),
        pytest.param([BundleEntry("link", "cli", 0o777, target="x/../../y")], id="a link by way of another"),
        pytest.param(
            [BundleEntry("link", "a", 0o777, target="."), BundleEntry("file", "a/b", 0o644)], id="a path through a link"
        ),
    ],
)
def test_a_forged_file_writes_nowhere_else(cache, tmp_path, entries):
    forged(cache, *entries)
    with pytest.raises(BundleError):
        cache.restore(NAME, tmp_path / "restored")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "links",
    [
        pytest.param('{"x": "/etc/passwd"}', id="of a file elsewhere"),
        pytest.param('{"x": "../outside"}', id="of a file above"),
        pytest.param('{"x": "a/out"}', id="of a file through a link"),
        pytest.param('{"a/x": "cli"}', id="in a link"),
        pytest.param('{"../x": "cli"}', id="in another folder"),
        pytest.param('{"x": 1}', id="of no path"),
        pytest.param("[]", id="no mapping"),
        pytest.param("{", id="no JSON"),
    ],
)
def test_forged_hard_links_are_refused(cache, tmp_path, links):
    (tmp_path / "outside").write_text("secret")
    entries = (BundleEntry("file", "cli", 0o644), BundleEntry("link", "a", 0o777, target="."))
    forged(cache, *entries, links=links)
    with pytest.raises(BundleError):
        cache.restore(NAME, tmp_path / "restored")
    assert not (tmp_path / "restored" / "x").exists()


def test_rights_of_the_owner_are_not_restored(cache, tmp_path):
    forged(cache, BundleEntry("file", "cli", 0o6755))
    assert cache.restore(NAME, tmp_path / "restored")
    assert (tmp_path / "restored" / "cli").stat().st_mode & 0o7777 == 0o755


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero")], ids=["a pipe", "a link"])
def test_what_is_no_file_is_refused_and_not_waited_for(cache, tmp_path, make):
    cache.folder.mkdir(parents=True)
    make(cache._path(NAME))
    with pytest.raises((BundleError, OSError)):
        cache.restore(NAME, tmp_path / "restored")


def test_two_that_are_kept_at_once_leave_a_whole_one(cache, installed, tmp_path):
    several = [threading.Thread(target=cache.keep, args=(NAME, installed)) for _ in range(4)]
    for thread in several:
        thread.start()
    for thread in several:
        thread.join()
    assert len(list(cache.folder.iterdir())) == 1
    assert cache.restore(NAME, tmp_path / "restored")


def test_what_cannot_be_kept_leaves_nothing(cache, tmp_path):
    with pytest.raises(OSError, match="No such file"):
        cache.keep(NAME, tmp_path / "nothing")
    assert list(cache.folder.iterdir()) == []
