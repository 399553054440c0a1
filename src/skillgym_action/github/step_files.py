"""The door to the files in which a step of a GitHub job leaves its outputs and its summary.

``GITHUB_ENV`` and ``GITHUB_PATH`` have no function here: what they hold reaches every later step, and our values come
from models.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING
from uuid import uuid4

from skillgym_action.filesystem.ownership import chown_tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

SUMMARY_LIMIT = 1_048_576  # bytes a step; GitHub drops the whole summary when it is larger
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


def append_outputs(path: Path, outputs: Mapping[str, str]) -> None:
    """Add step outputs to the file ``GITHUB_OUTPUT`` names. Raises ValueError for a name no output can have, OSError.

    No value can end its own entry or begin another: a random word that it does not hold stands before and after it.
    """
    _append(path, "".join(_entry(name, value) for name, value in outputs.items()).encode("utf-8", errors="replace"))


def _append(path: Path, content: bytes) -> None:
    """All of it, or nothing: half an entry would swallow the next one. Raises OSError."""
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
    """Add to the file ``GITHUB_STEP_SUMMARY`` names; False, and nothing written, when GitHub would not take it.

    Raises OSError.
    """
    content = markdown.encode("utf-8", errors="replace")
    if path.exists() and path.stat().st_size + len(content) > SUMMARY_LIMIT:
        return False
    _append(path, content)
    return True


def hand_over(paths: Iterable[Path], to: Path) -> None:
    """Give ``paths`` to the owner of the directory ``to``, with all below them and the folders between. Only root does.

    The container of an action runs as root; what it leaves in the workspace could not be deleted by the machine's own
    user. Links are given away themselves, never what they point to; paths that are not there are passed over. Raises
    OSError.
    """
    if os.geteuid() != 0:
        return
    home, owner = to.resolve(), to.stat()
    for path in [path.resolve() for path in paths if path.exists()]:
        for folder in path.parents:
            if home in folder.parents:
                os.chown(folder, owner.st_uid, owner.st_gid, follow_symlinks=False)
        chown_tree(path, owner.st_uid, owner.st_gid)
