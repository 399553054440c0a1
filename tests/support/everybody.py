"""The tool as any user of the machine can start it: with a Python that is not in somebody's home.

Suite hosts of sessions with users of their own need it, and so does the tool where it runs as an ordinary user.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import skillgym_action
from paths import REPOSITORY
from scratch import Ran, environment

if TYPE_CHECKING:
    from collections.abc import Callable

ORDINARY = 65534
NAME = f"python{sys.version_info.major}.{sys.version_info.minor}"
CACHE = REPOSITORY / ".cache" / "python"
SOURCES = Path(skillgym_action.__file__).parent.parent


def is_open(path: Path) -> bool:
    """Whether every user can get there and read it."""
    resolved = path.resolve()
    if not resolved.exists():
        return False
    return bool(resolved.stat().st_mode & 0o004) and all(folder.stat().st_mode & 0o001 for folder in resolved.parents)


@cache
def start() -> tuple[tuple[str, ...], dict[str, str]]:
    """The command that starts the tool, and what it needs in its environment.

    Ours, a Python of the same version that the system has, or a copy of ours. Who is not root becomes nobody else.
    """
    if os.geteuid() != 0:
        return (sys.executable, "-m", "skillgym_action"), {}
    packages = [SOURCES, *(Path(folder) for folder in sys.path if folder.endswith("site-packages"))]
    closed = [path for path in packages if not is_open(path)]
    assert not closed, f"other users of this machine have to be able to read {closed}"
    if is_open(Path(sys.executable)):
        return (sys.executable, "-m", "skillgym_action"), {}
    found = shutil.which(NAME, path="/usr/local/bin:/usr/bin") or os.fspath(copied())
    return (found, "-m", "skillgym_action"), {"PYTHONPATH": os.pathsep.join(map(str, packages))}


def copied() -> Path:
    """A copy of our own Python where everybody can read it, without packages; made once."""
    prefix, copy = Path(sys.base_prefix), CACHE / NAME
    if not copy.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        new = Path(tempfile.mkdtemp(dir=CACHE))
        new.chmod(0o755)
        left_out = shutil.ignore_patterns("site-packages", "test", "idlelib", "tkinter", "config-*", "__pycache__")
        shutil.copytree(prefix / "lib" / NAME, new / "lib" / NAME, ignore=left_out)
        (new / "bin").mkdir()
        shutil.copy(Path(sys.executable).resolve(), new / "bin" / NAME)
        try:
            new.rename(copy)
        except OSError:  # another process was faster
            shutil.rmtree(new)
    return copy / "bin" / NAME


def ran(*args: str | Path, cwd: Path, owned: Path | None = None, limit: float = 120, **env: str) -> Ran:
    """The tool in a process of its own. ``owned``: an ordinary user starts it, who owns that folder and all below."""
    argv, needed = start()
    become: Callable[[], None] | None = None
    if os.geteuid() == 0:  # what nobody else can start only costs time
        folders = [folder for folder in os.environ["PATH"].split(os.pathsep) if is_open(Path(folder))]
        needed = {**needed, "PATH": os.pathsep.join(folders)}
    if owned and os.geteuid() == 0:
        for path in (owned, *owned.rglob("*")):
            os.chown(path, ORDINARY, ORDINARY, follow_symlinks=False)
        become = _become_ordinary
    done = subprocess.run(
        (*argv, *map(os.fspath, args)), cwd=cwd, env=environment(**{**needed, **env}), stdin=subprocess.DEVNULL,
        capture_output=True, check=False, timeout=limit, preexec_fn=become,
    )  # fmt: skip
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


def _become_ordinary() -> None:
    os.setgroups([])
    os.setgid(ORDINARY)
    os.setuid(ORDINARY)
