"""Puts a session's home and workspace back to where they were, so that the agent can continue the session.

Agents identify a session by the path of its workspace, and mention files by their paths.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from skillgym_action.filesystem.removal import remove_path
from skillgym_action.model.errors import UsageError
from skillgym_action.workspaces.session_folder import HOME, SCRATCH, WORKSPACE, SessionFolder
from skillgym_action.workspaces.workspace import SessionWorkspace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillgym_action.processes.launcher import ProcessLauncher

# Homes of sessions, below the temporary directory: see ``Workspaces``. No other path is written to.
HOME_PATH = re.compile(rf"skillgym-\w+/[0-9a-f]+/{HOME}")


@contextmanager
def restored_session(
    processes: ProcessLauncher, home: Path, cwd: Path, *, records: Path, kept: Path | None
) -> Iterator[SessionWorkspace]:
    """A workspace at ``cwd`` with a home at ``home``, removed afterwards. Raises UsageError.

    ``records`` is copied to the home, ``kept`` to the workspace. Existing files are not changed, except in a ``cwd``
    that was not a workspace made for the session.
    """
    temporary = Path(tempfile.gettempdir()).resolve()
    if not home.is_relative_to(temporary) or not HOME_PATH.fullmatch(home.relative_to(temporary).as_posix()):
        message = f"the session's home was {home}, which is not the home of a session below {temporary}"
        raise UsageError(message, remedy=f"set TMPDIR, if it was run with another one: {home.parents[2]}")
    root, workspace_of_session = home.parents[1], home.with_name(WORKSPACE)
    try:
        root.mkdir(mode=0o700)
    except FileExistsError:
        raise UsageError(
            f"{root} exists: its run is still in progress, or was killed", remedy="remove it if no run uses it"
        ) from None
    try:
        session = SessionFolder(home.parent, processes.supervisor, None, None)
        session.make(HOME)
        session.make(SCRATCH)
        if records.is_dir() and not records.is_symlink():
            shutil.copytree(records, home, symlinks=True, dirs_exist_ok=True)
        if cwd == workspace_of_session:
            session.make(WORKSPACE)
            if kept:
                shutil.copytree(kept, cwd, symlinks=True, dirs_exist_ok=True)
        elif cwd.is_dir():
            session.adopt(WORKSPACE, os.open(cwd, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC), cwd)
        else:
            raise UsageError(f"the session's working directory is not there: {cwd}")
        yield SessionWorkspace(session, cwd, None)
        session.close()
    finally:
        remove_path(root)
