"""The release script run as the workflow runs it, on repositories made for it."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from paths import REPOSITORY
from runner_env_files import entries
from scratch import IDENTITY, git_in

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = REPOSITORY / ".github" / "release.py"


@dataclass(frozen=True, kw_only=True)
class Released:
    """What came of a command of the script; ``log`` is all it said."""

    code: int
    outputs: dict[str, str]
    log: str


def release(folder: Path, *arguments: object, **env: str) -> Released:
    """Run it in that folder."""
    (outputs := folder.parent / f"{folder.name}.outputs").write_text("")
    job = {
        "GITHUB_OUTPUT": str(outputs),
        "GITHUB_REF": "refs/heads/main",
        "GITHUB_REPOSITORY": "Octo/skillgym-action",
        "GITHUB_SERVER_URL": "https://github.com",
    }
    finished = subprocess.run(
        [sys.executable, SCRIPT, *map(str, arguments)],
        cwd=folder,
        env={**os.environ, **job, **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return Released(code=finished.returncode, outputs=dict(entries(outputs.read_text())), log=finished.stdout)


def released(folder: Path, origin: Path) -> Path:
    """Make the folder a repository with one commit on main, and the origin that it was pushed to."""
    git_in(folder, "init", "--quiet", "--initial-branch=main")
    git_in(folder, "add", "--all")
    git_in(folder, *IDENTITY, "commit", "--quiet", "--message=x")
    origin.mkdir()
    git_in(origin, "init", "--quiet", "--bare", "--initial-branch=main")
    git_in(folder, "push", "--quiet", str(origin), "main")
    git_in(folder, "remote", "add", "origin", "https://github.com/octo/skillgym-action.git")
    return folder
