"""The tool as any user of the machine can start it: with a Python that is not in somebody's home.

Suite hosts of sessions with users of their own need it, and so does the tool where it runs as an ordinary user.
"""

from __future__ import annotations

import atexit
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
SOURCES = Path(skillgym_action.__file__).parent.parent


def is_open(path: Path) -> bool:
    """Whether every user can get there and read it."""
    resolved = path.resolve()
    if not resolved.exists():
        return False
    folders = {*path.absolute().parents, *resolved.parents}
    return bool(resolved.stat().st_mode & 0o004) and all(folder.stat().st_mode & 0o001 for folder in folders)


@cache
def python() -> str:
    """A Python that every user can execute: ours, one of the same version that the system has, or a copy of ours.

    Who is not root becomes nobody else.
    """
    if os.geteuid() != 0 or is_open(Path(sys.executable)):
        return sys.executable
    return shutil.which(NAME, path="/usr/local/bin:/usr/bin") or os.fspath(copied())


@cache
def packages() -> tuple[Path, ...]:
    """The folders for ``PYTHONPATH``: this package and all others, where every user can read them."""
    ours = (SOURCES, *(Path(folder) for folder in sys.path if folder.endswith("site-packages")))
    if os.geteuid() != 0 or all(map(is_open, ours)):
        return ours
    return tuple(map(opened, ours))


@cache
def cache_folder() -> Path:
    """Where every user can read what these functions copy: in this clone, or elsewhere if only root can enter it."""
    if is_open(REPOSITORY):
        folder = REPOSITORY / ".cache" / "python"
        folder.mkdir(parents=True, exist_ok=True)
        return folder
    return temporary_folder()


@cache
def temporary_folder() -> Path:
    """A folder that every user can read, until this process ends."""
    folder = Path(tempfile.mkdtemp(prefix="skillgym-everybody-"))
    folder.chmod(0o755)
    atexit.register(shutil.rmtree, folder)
    return folder


def opened(packages: Path) -> Path:
    """A copy of a folder with packages that every user can read; its files are hard links where that is possible."""
    copy = Path(tempfile.mkdtemp(dir=temporary_folder())) / packages.name
    shutil.copytree(packages, copy, copy_function=_linked)  # also compiled modules: other users cannot write them
    copy.parent.chmod(0o755)
    return copy


def _linked(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # another file system
        shutil.copy2(source, target)


def copied() -> Path:
    """A copy of our own Python where everybody can read it, without packages; made once."""
    prefix, copy = Path(sys.base_prefix), cache_folder() / NAME
    if not copy.exists():
        new = Path(tempfile.mkdtemp(dir=cache_folder()))
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


def ran(
    *args: str | Path,
    cwd: Path,
    owned: Path | None = None,
    limit: float = 120,
    executable: Path | None = None,
    packages_first: Path | None = None,
    **env: str,
) -> Ran:
    """The tool in a process of its own.

    ``owned``: an ordinary user starts it, who owns that folder and all below. ``executable``: another Python than
    ``python()``; ``packages_first``: a folder of packages that come before the others.
    """
    argv = (executable or python(), "-m", "skillgym_action")
    needed = {"PYTHONPATH": os.pathsep.join(map(str, (packages_first, *packages()) if packages_first else packages()))}
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
