"""Where paths lead below a folder, when symbolic links are followed as long as they stay inside.

Each part is opened below its folder's descriptor, and each link is read and taken apart here: so nothing is looked at
outside, whatever changes meanwhile.
"""

from __future__ import annotations

import errno
import os
import stat

from skillgym_action.filesystem.descriptor_walk import LONGEST

TYPE_CHECKING = False
if TYPE_CHECKING:
    from skillgym_action.filesystem.descriptor_walk import Descent

MOST_LINKS = 40


class OutsideError(Exception):
    """A path leads out of the folder."""


class DanglingError(FileNotFoundError):
    """There is a link at the path, and it leads to nothing."""


def follow(place: Descent, path: str, root: str | None) -> tuple[str, os.stat_result]:
    """Go to the folder of what ``path`` leads to: its name there, "." for the folder that the walk is in, and its stat.

    ``root`` is the first folder's own path: absolute paths below it lead inside. Raises OutsideError, OSError.
    """
    if len(path) > LONGEST:
        raise OSError(errno.ENAMETOOLONG, "the path is too long", path)
    parts = _below(place, path, root)
    links, is_link = 0, False
    while parts:
        name = parts.pop()
        try:
            if _gone(place, name, is_last=not parts):
                continue
            found = os.stat(name, dir_fd=place.fd, follow_symlinks=False)
        except FileNotFoundError:
            if is_link:
                raise DanglingError from None
            raise
        if not stat.S_ISLNK(found.st_mode):
            if parts:
                raise NotADirectoryError(errno.ENOTDIR, "not a folder", name)
            return name, found
        links += 1
        if links > MOST_LINKS:
            raise OSError(errno.ELOOP, "too many symbolic links", path)
        is_link = is_link or not parts
        target = os.readlink(name, dir_fd=place.fd)
        parts += _below(place, target, root, is_link=True)
    return ".", os.fstat(place.fd)


def lexical(place: Descent, path: str, root: str | None) -> str | None:
    """The path as those know it who follow no links: without any on the way to its last part, which may be one.

    ``a/..`` is nothing, whatever ``a`` is, and nothing needs to be there. None for a path that leads outside.
    """
    if path.startswith("/"):
        if root is None or not _is_below(path, root):
            return None
        path = path[len(root) :]
    names = _plain(path.split("/"), [])
    if not names:
        return "." if names is not None else None
    *parents, last = names
    way: list[str] | None
    try:
        name, found = follow(place, "/".join(parents), root) if parents else (".", None)
        if found is not None and name != "." and stat.S_ISDIR(found.st_mode):
            place.enter(name)
        elif name != ".":
            return "/".join(names)
        way = place.names
    except OutsideError:
        return None
    except (OSError, ValueError):
        return "/".join(names)
    return "/".join([*way, last])


def _plain(parts: list[str], names: list[str]) -> list[str] | None:
    for part in parts:
        if part == "..":
            if not names:
                return None
            names.pop()
        elif part not in {"", "."}:
            names.append(part)
    return names


def _below(place: Descent, path: str, root: str | None, *, is_link: bool = False) -> list[str]:
    """The parts to go, the last one first; for an absolute path the walk begins anew."""
    if path.startswith("/"):
        if root is None or not _is_below(path, root):
            raise OutsideError
        place.rise(0)
        path = path[len(root) :]
    parts = [part for part in path.split("/") if part not in {"", "."}]
    if is_link and path.endswith(("/", "/.")):
        parts.append(".")  # what it leads to has to be a folder
    return parts[::-1]


def _is_below(path: str, root: str) -> bool:
    return path == root or path.startswith(root + "/")


def _gone(place: Descent, name: str, *, is_last: bool) -> bool:
    """Go one part of the way; False where that is not possible, and for a last part that has a name."""
    if name == ".":
        return True
    if name == "..":
        if not place.names:
            raise OutsideError
        place.leave()
        return True
    if is_last:
        return False
    try:
        place.enter(name)
    except NotADirectoryError:
        return False
    return True
