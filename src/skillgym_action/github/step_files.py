"""Files of a step of a GitHub job: its outputs, its summary, and the owner of what it leaves in the workspace.

There is no function for ``GITHUB_ENV`` and ``GITHUB_PATH``: they affect every later step, and values come from models.
"""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress
from typing import TYPE_CHECKING
from uuid import uuid4

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

MAX_STEP_SUMMARY_BYTES = 1_048_576  # GitHub drops the whole summary of a step when it is larger
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


def append_outputs(path: Path, outputs: Mapping[str, str]) -> None:
    """Append step outputs to the file that ``GITHUB_OUTPUT`` names. Raises OSError, ValueError for an invalid name.

    A value cannot end its entry or begin another: the delimiter is random, and not part of the value.
    """
    _append(path, "".join(_entry(name, value) for name, value in outputs.items()).encode("utf-8", errors="replace"))


def _append(path: Path, content: bytes) -> None:
    """Append all or nothing: half an entry would make the next one a part of its value. Raises OSError."""
    with path.open("ab", buffering=0) as file:
        size, left = file.tell(), memoryview(content)
        try:
            while left:
                left = left[file.write(left) :]
        except OSError:
            with suppress(OSError):
                file.truncate(size)
            raise


def _entry(name: str, value: str) -> str:
    if not _NAME.fullmatch(name):
        raise ValueError(f"not the name of a step output: {name!r}")
    while (delimiter := f"end-{uuid4()}") in value:
        pass
    return f"{name}<<{delimiter}\n{value}\n{delimiter}\n"


def append_summary(path: Path, markdown: str) -> bool:
    """Append to the file that ``GITHUB_STEP_SUMMARY`` names. Raises OSError.

    Returns False, and writes nothing, when the summary would be larger than GitHub accepts.
    """
    content = markdown.encode("utf-8", errors="replace")
    if path.exists() and path.stat().st_size + len(content) > MAX_STEP_SUMMARY_BYTES:
        return False
    _append(path, content)
    return True


def give_to_owner(paths: Iterable[Path], directory: Path) -> None:
    """Change the owner of ``paths``, with all below them and the folders between, to the owner of ``directory``.

    Does nothing unless the tool runs as root, as it does in the container of an action: the runner's user could not
    delete files of root in the workspace. Symbolic links are changed themselves, never their targets. Paths that do
    not exist are skipped. Raises OSError.
    """
    if os.geteuid() != 0:
        return
    home, owner = directory.resolve(), directory.stat()
    for path in [path.resolve() for path in paths if path.exists()]:
        for folder in path.parents:
            if home in folder.parents:
                os.chown(folder, owner.st_uid, owner.st_gid, follow_symlinks=False)
        chown_tree(path, owner.st_uid, owner.st_gid)


def chown_tree(root: str | os.PathLike[str], uid: int, gid: int) -> None:
    """Change the owner of ``root`` and of all below it; of links themselves, not of their targets. Raises OSError.

    Only for folders that no other program changes.
    """
    os.chown(root, uid, gid, follow_symlinks=False)
    folders = [os.fspath(root)] if stat.S_ISDIR(os.lstat(root).st_mode) else []
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                os.chown(entry.path, uid, gid, follow_symlinks=False)
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
