"""What sessions leave behind, removed: their folders, and what they put where every program may write."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from skillgym_action.errors import OutputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillgym_action.effects.processes import Processes

APART = "/var/lib"
OPEN_TO_ALL = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108 - what agents put there is looked for


def temporary_folder(*, apart: bool) -> Path:
    """Where workspaces are made, and what is left of them put aside; no link leads there. Raises OutputError.

    ``apart``: nobody may write to the folders above it, in which agents look for instructions.
    """
    try:
        open_to_all = os.stat(tempfile.gettempdir()).st_mode & stat.S_IWOTH
        folder = Path(tempfile.mkdtemp(prefix="skillgym-", dir=APART if apart and open_to_all else None)).resolve()
        (folder / "trash").mkdir(mode=0o700)
    except OSError as error:
        what = f"no workspaces can be made: {error}"
        raise OutputError(what, remedy="free space there, or name another temporary folder in TMPDIR") from error
    return folder


def remove(folder: str | Path) -> None:
    """Remove a folder that an agent may have made deeper than recursion goes, or read-only; a link, not its target."""
    if os.path.islink(folder):
        os.unlink(folder)
        return
    with suppress(RecursionError):
        shutil.rmtree(folder, ignore_errors=True)
    if os.path.lexists(folder):
        removal = ("/bin/sh", "-c", 'chmod -R u+rwX "$1"; rm -rf "$1"', "sh", folder)
        subprocess.run(removal, check=False, capture_output=True)


@contextmanager
def removed_meanwhile(processes: Processes, folder: Path) -> Iterator[None]:
    """While the context lasts, another process removes the folder, as far as that is simple."""
    quiet = subprocess.DEVNULL
    argv = ("rm", "-rf", os.fspath(folder))
    child = processes.spawn(
        argv, trusted=True, cwd="/", env=processes.environment, stdin=quiet, stdout=quiet, stderr=quiet
    )
    try:
        yield
    finally:
        child.wait()
        processes.release(child)


def remove_of_group(uid: int, group: int) -> None:
    """Remove what a user made as a member of ``group`` in the folders for everybody's temporary files."""
    for place in {*OPEN_TO_ALL, tempfile.gettempdir()}:
        with suppress(OSError):
            for name in os.listdir(place):
                path = Path(place, name)
                found = os.lstat(path)
                if (found.st_uid, found.st_gid) != (uid, group):
                    continue
                if stat.S_ISDIR(found.st_mode):
                    remove(path)
                else:
                    path.unlink(missing_ok=True)
