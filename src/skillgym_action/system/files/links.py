"""Where paths lead below a folder if symbolic links are followed as long as they stay inside.

The system never follows a link here: each component is opened below its folder's descriptor, and the target of each
link is read and walked in its turn. So nothing outside is looked at, even if a session changes the folder meanwhile.
"""

from __future__ import annotations

import errno
import os
import stat

from skillgym_action.model.limits import MAX_LINKS_FOLLOWED, MAX_PATH_CHARACTERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from skillgym_action.system.files.open_below import DescriptorWalk


class OutsideError(Exception):
    """A path leads out of the folder."""


class DanglingError(FileNotFoundError):
    """There is a link at the path, and it leads to nothing."""


def follow(walk: DescriptorWalk, path: str, root: str | None) -> tuple[str, os.stat_result]:
    """Go to the folder of what ``path`` leads to, and return its name there and its status.

    The name is "." for the current folder itself. ``root`` is the first folder's own path: absolute links below it lead
    inside. Raises OutsideError, OSError.
    """
    if len(path) > MAX_PATH_CHARACTERS:
        raise OSError(errno.ENAMETOOLONG, "the path is too long", path)
    parts = _components(walk, path, root)
    links, is_link = 0, False
    while parts:
        name = parts.pop()
        try:
            if _step(walk, name, is_last=not parts):
                continue
            found = os.stat(name, dir_fd=walk.fd, follow_symlinks=False)
        except FileNotFoundError:
            if is_link:
                raise DanglingError from None
            raise
        if not stat.S_ISLNK(found.st_mode):
            if parts:
                raise NotADirectoryError(errno.ENOTDIR, "not a folder", name)
            return name, found
        links += 1
        if links > MAX_LINKS_FOLLOWED:
            raise OSError(errno.ELOOP, "too many symbolic links", path)
        is_link = is_link or not parts
        target = os.readlink(name, dir_fd=walk.fd)
        parts += _components(walk, target, root, is_link=True)
    return ".", os.fstat(walk.fd)


def without_links(walk: DescriptorWalk, path: str, root: str | None) -> str | None:
    """The same path without links on the way to its last component, which may be one; None if it leads outside.

    ``a/..`` is removed as text, even if ``a`` is a link. Nothing needs to exist.
    """
    if path.startswith("/"):
        if root is None or not _is_below(path, root):
            return None
        path = path[len(root) :]
    names = _normalized(path)
    if not names:
        return "." if names is not None else None
    *parents, last = names
    try:
        name, found = follow(walk, "/".join(parents), root) if parents else (".", None)
        if found is not None and name != "." and stat.S_ISDIR(found.st_mode):
            walk.enter(name)
        elif name != ".":
            return "/".join(names)
        folders = walk.names
    except OutsideError:
        return None
    except (OSError, ValueError):
        return "/".join(names)
    return "/".join([*folders, last])


def _normalized(path: str) -> list[str] | None:
    """The components of a relative path without "." and ".."; None if it leads outside."""
    names: list[str] = []
    for part in path.split("/"):
        if part == "..":
            if not names:
                return None
            names.pop()
        elif part not in {"", "."}:
            names.append(part)
    return names


def _components(walk: DescriptorWalk, path: str, root: str | None, *, is_link: bool = False) -> list[str]:
    """The components to walk, the last one first; for an absolute path the walk goes back to the first folder."""
    if path.startswith("/"):
        if root is None or not _is_below(path, root):
            raise OutsideError
        walk.leave_to(0)
        path = path[len(root) :]
    parts = [part for part in path.split("/") if part not in {"", "."}]
    if is_link and path.endswith(("/", "/.")):
        parts.append(".")  # the target has to be a folder
    return parts[::-1]


def _is_below(path: str, root: str) -> bool:
    return path == root or path.startswith(root + "/")


def _step(walk: DescriptorWalk, name: str, *, is_last: bool) -> bool:
    """Walk one component; False for a link or a file, and for a last component, which is looked at and not entered."""
    if name == ".":
        return True
    if name == "..":
        if not walk.names:
            raise OutsideError
        walk.leave()
        return True
    if is_last:
        return False
    try:
        walk.enter(name)
    except NotADirectoryError:
        return False
    return True
