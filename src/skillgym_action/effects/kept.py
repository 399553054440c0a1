"""What stays of a workspace: its changes, so that they can be played again; the whole of it, for people to look at.

Others pack and upload it with programs that follow links, wait at FIFOs and stop at what they may not read. So no link
leads out of what is kept, nothing in it is special, and all of it can be read.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from typing import TYPE_CHECKING

from skillgym_action.effects.leftovers import remove
from skillgym_action.effects.trees import copy_file, copy_tree

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from skillgym_action.effects.cancellation import Cancellation

READABLE_FILE, READABLE_FOLDER = 0o600, 0o700
LARGEST_FILE, LARGEST = 64 * 1024 * 1024, 512 * 1024 * 1024  # bytes: of a file, and in all
DEEPEST = 400  # folders in each other
LONGEST = 3000  # bytes of a path that others can do something with, and that still has room for a longer place


def copy_changes(root: Path, paths: Iterable[str], target: Path) -> dict[str, str]:
    """Copy files and links at ``paths`` below ``root`` to ``target``, which is not there yet; all of them or none.

    Links that lead out of ``root`` are not made, but returned: where they are, and where they lead. Raises OSError.
    """
    leading_out: dict[str, str] = {}
    try:
        for path in paths:
            source, copy = os.path.join(root, path), os.path.join(target, path)
            if os.path.islink(source) and leads_out(os.fspath(root), source):
                leading_out[path] = os.readlink(source)
            else:
                _make_folder(os.path.dirname(copy))
                _copy(source, copy)
    except OSError:
        remove(target)
        raise
    return leading_out


def _make_folder(path: str) -> None:
    if path.count("/") > DEEPEST:
        raise OSError(errno.ENAMETOOLONG, "too deep", path)
    os.makedirs(path, exist_ok=True)


def _copy(source: str, copy: str) -> None:
    if os.path.islink(source):
        os.symlink(os.readlink(source), copy)
        return
    copy_file(source, copy)
    _open_up(copy, os.stat(copy).st_mode, READABLE_FILE)


def leads_out(root: str, link: str) -> bool:
    """Whether a link below ``root`` names a place outside of it, whether there is anything or not."""
    target = os.readlink(link)
    named = os.path.normpath(os.path.join(os.path.relpath(os.path.dirname(link), root), target))
    return os.path.isabs(target) or _is_above(named) or not _is_below(os.path.realpath(root), _end(link))


def _end(link: str) -> str:
    try:
        return os.path.realpath(link)
    except OSError:  # longer than the system allows
        return "/"


def _is_above(path: str) -> bool:
    return path == ".." or path.startswith("../")


def _is_below(root: str, path: str) -> bool:
    return path == root or path.startswith(root + os.sep)


def move(source: Path, target: Path, cancelled: Cancellation) -> None:
    """Move a workspace, in place of what is at ``target``: the whole of it, or nothing. Raises OSError."""
    tidy(os.fspath(source))
    remove(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.rename(source, target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
    else:
        return
    beside = target.with_name(f".{os.urandom(8).hex()}")
    try:
        copy_tree(source, beside, cancelled)
        os.rename(beside, target)
    except OSError:
        remove(beside)
        raise


def tidy(root: str) -> None:
    """Make of a directory what others can take away; what is too large or too deep for them is removed.

    Raises OSError, also where there is too much of it.
    """
    folders, size = [root], 0
    while folders:
        folder = folders.pop()
        if folder.count("/") > DEEPEST or len(os.fsencode(folder)) > LONGEST:
            remove(folder)
            continue
        _open_up(folder, os.lstat(folder).st_mode, READABLE_FOLDER)
        for entry in list(os.scandir(folder)):
            with suppress(FileNotFoundError):
                found = entry.stat(follow_symlinks=False)
                mode = found.st_mode
                if stat.S_ISDIR(mode):
                    folders.append(entry.path)
                elif stat.S_ISREG(mode) and found.st_size <= LARGEST_FILE:
                    _open_up(entry.path, mode, READABLE_FILE)
                    size += found.st_size
                elif not stat.S_ISLNK(mode):
                    os.unlink(entry.path)
                elif leads_out(root, entry.path):
                    _tell_of_link(entry.path)
        if size > LARGEST:
            raise OSError(errno.EFBIG, f"it has more than {LARGEST // 1024**2} MiB")


def _open_up(path: str, mode: int, least: int) -> None:
    if mode & least != least:
        os.chmod(path, stat.S_IMODE(mode) | least)


def _tell_of_link(path: str) -> None:
    """A file in its place that says where it led."""
    target = os.readlink(path)
    os.unlink(path)
    with open(path, "xb") as file:
        file.write(b"a symbolic link to " + os.fsencode(target) + b"\n")
