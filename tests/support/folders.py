"""Folders of all kinds for tests, opened by descriptors, and checks done as somebody who is not root."""

# ruff: noqa: PTH115, PTH118, PTH123

from __future__ import annotations

import os
import socket
import stat
import traceback
from contextlib import contextmanager
from typing import TYPE_CHECKING

from skillgym_action.system.files.folder import Folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

LONG = "n" * 255
NAMES = (
    *("plain", ".hidden", "-rf", "--help", "-", "...", "..a", " ", "  ", "a b", "é", "e\u0301", "\u754c" * 85),
    *(
        "two\nlines",
        "\n",
        "\r",
        "\t",
        "\x1b[31m\x01",
        "\x7f",
        "a\\b",
        "a'b",
        'a"b',
        "$(touch x)",
        "`x`",
        "*",
        "?",
        "[a]",
    ),
    *("::error::x", "##[error]x", "@octocat", "<img src=x>", "|a|b|", "a:b", "C:", "CON", "nul.txt", "a~", LONG),
    *(os.fsdecode(name) for name in (b"caf\xe9", b"\xff\xfe", b"\xed\xa0\x80")),
)


@contextmanager
def opened(path: Path) -> Iterator[Folder]:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield Folder(fd, os.fspath(path))
    finally:
        os.close(fd)


def digging(depth: int, name: str = "d") -> str:
    """A program that makes folders in each other, however long their path gets."""
    return f"import os\nfor _ in range({depth}): os.mkdir({name!r}); os.chdir({name!r})\nopen('deepest', 'w').close()"


def tree(root: Path) -> dict[str, tuple[str, object]]:
    """Everything below a folder: its kind and permissions, and content or target."""
    found: dict[str, tuple[str, object]] = {}
    for where, folders, files in os.walk(root):
        for name in (*folders, *files):
            path = os.path.join(where, name)
            now = os.lstat(path)
            what: object = None
            if stat.S_ISLNK(now.st_mode):
                what = os.readlink(path)
            elif stat.S_ISREG(now.st_mode):
                with open(path, "rb") as file:
                    what = (file.read(), now.st_mtime_ns)
            mode = "link" if stat.S_ISLNK(now.st_mode) else stat.filemode(now.st_mode)
            found[os.path.relpath(path, root)] = (mode, what)
    return found


def special(folder: Path) -> None:
    """A FIFO, a socket, and a device where one can be made."""
    os.mkfifo(folder / "fifo")
    with socket.socket(socket.AF_UNIX) as unix:
        unix.bind(os.path.relpath(folder / "socket"))
    if os.geteuid() == 0:
        os.mknod(folder / "null", 0o666 | stat.S_IFCHR, os.makedev(1, 3))


def as_plain_user(root: Path, check: Callable[[], None]) -> None:
    """Run a check as somebody whom modes bind, and who owns ``root``; what fails there is shown here."""
    if os.geteuid() != 0:
        check()
        return
    for where, folders, files in os.walk(root):
        for path in (where, *(os.path.join(where, name) for name in (*folders, *files))):
            os.chown(path, 65534, 65534, follow_symlinks=False)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        said = b""
        try:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            check()
        except BaseException:  # noqa: BLE001
            said = traceback.format_exc().encode()
        os.write(writing, said[-60_000:])
        os._exit(0)
    os.close(writing)
    with open(reading, "rb") as file:
        said = file.read().decode()
    os.waitpid(child, 0)
    assert not said, said
