"""The door to the files in which a step of a GitHub job leaves its outputs and its summary.

``GITHUB_ENV`` and ``GITHUB_PATH`` have no function here: what they hold reaches every later step, and our values come
from models.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING
from uuid import uuid4

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

SUMMARY_LIMIT = 1_048_576  # bytes a step; GitHub drops the whole summary when it is larger
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


def append_outputs(path: Path, outputs: Mapping[str, str]) -> None:
    """Add step outputs to the file ``GITHUB_OUTPUT`` names. Raises ValueError for a name no output can have, OSError.

    No value can end its own entry or begin another: a random word that it does not hold stands before and after it.
    """
    entries = [_entry(name, value) for name, value in outputs.items()]
    with path.open("a", encoding="utf-8", errors="replace", newline="\n") as file:
        file.writelines(entries)


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
    with path.open("ab") as file:
        if file.tell() + len(content) > SUMMARY_LIMIT:
            return False
        file.write(content)
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
        for folder in (path, *path.parents):
            if folder == path or home in folder.parents:
                os.chown(folder, owner.st_uid, owner.st_gid, follow_symlinks=False)
        for _, folders, files, descriptor in os.fwalk(path):
            for name in folders + files:
                os.chown(name, owner.st_uid, owner.st_gid, dir_fd=descriptor, follow_symlinks=False)
