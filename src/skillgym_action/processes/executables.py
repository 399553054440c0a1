"""Programs that exist, but are not executable."""

from __future__ import annotations

import os
import shlex
import shutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def permission_remedy(program: str, search_path: str | None, cwd: Path | None = None) -> str | None:
    """The command that makes a program executable; None if it is, or if there is no such file.

    ``program``: a name on ``search_path``, or a path relative to ``cwd``.
    """
    named = os.path.join(cwd or "", program) if os.path.dirname(program) else program
    if shutil.which(named, path=search_path):
        return None
    file = shutil.which(named, mode=os.F_OK, path=search_path)
    return f"run chmod +x {shlex.quote(file)}" if file else None
