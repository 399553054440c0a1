"""The revival door: a session's home and workspace are put back where they were, for as long as it is asked.

Agents find a session by the path of its workspace, and speak of files by theirs.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from skillgym_action.effects.workspace import Workspace
from skillgym_action.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

# The places that the workspace door gives to sessions.
HOME = re.compile(r"skillgym-\w+/[0-9a-f]+")


@contextmanager
def revived(home: Path, cwd: Path, *, records: Path, kept: Path | None) -> Iterator[Workspace]:
    """A workspace at ``cwd`` with a home at ``home``; ``records`` and ``kept`` are copied there. Raises UsageError.

    Nothing that exists is touched, but for a ``cwd`` that was no session's own.
    """
    temporary = Path(tempfile.gettempdir()).resolve()
    if not home.is_relative_to(temporary) or not HOME.fullmatch(home.relative_to(temporary).as_posix()):
        message = f"the session's home was {home}, which is no place for one below {temporary}"
        raise UsageError(message, remedy=f"set TMPDIR, if it was run with another one: {home.parent.parent}")
    root = home.parent
    try:
        root.mkdir(mode=0o700)
    except FileExistsError:
        raise UsageError(f"{root} exists: its run is going on, or was killed", remedy="remove it, if so") from None
    try:
        home.mkdir()
        if records.is_dir():
            shutil.copytree(records, home, symlinks=True, dirs_exist_ok=True)
        if cwd.is_relative_to(root):
            if kept:
                shutil.copytree(kept, cwd, symlinks=True)
            cwd.mkdir(parents=True, exist_ok=True)
        if not cwd.is_dir():
            raise UsageError(f"the session's working directory is not there: {cwd}")
        yield Workspace(home, cwd, None)
    finally:
        shutil.rmtree(root, ignore_errors=True)
