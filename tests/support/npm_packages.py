"""Packages of npm that tests need: installed once, in versions that do not move."""

from __future__ import annotations

import subprocess
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from paths import REPOSITORY

CACHE = REPOSITORY / ".cache"


@cache
def node_modules(name: str, *packages: str) -> Path:
    """A folder with them and what they need. Raises CalledProcessError when npm cannot install one."""
    folder = CACHE / name
    if not folder.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=CACHE) as half_made:
            prefix = Path(half_made, "whole")
            options = ("--silent", "--no-audit", "--no-fund", "--ignore-scripts", f"--prefix={prefix}")
            subprocess.run(("npm", "install", *options, *packages), check=True)
            with suppress(OSError):  # another process was faster
                prefix.rename(folder)
    return folder / "node_modules"
