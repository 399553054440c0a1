"""The documentation site, built in a copy of the repository, and served on this machine at its path."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from paths import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LEFT_OUT = shutil.ignore_patterns(".git", ".venv", ".cache", ".*_cache", ".skillgym-results", "__pycache__")


def copied(folder: Path) -> Path:
    """The repository in another folder: pages link to any of its files."""
    shutil.copytree(REPOSITORY, folder / "repository", ignore=LEFT_OUT)
    return folder / "repository"


def build(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, folder / ".github/site.py"], cwd=folder, capture_output=True, text=True, check=False
    )


def built(folder: Path) -> Path:
    """The folder of the pages."""
    repository = copied(folder)
    done = build(repository)
    assert done.returncode == 0, done.stdout + done.stderr
    return repository / ".cache/site/html"


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass


@contextmanager
def served(pages: Path) -> Iterator[str]:
    """The address of the site until the context ends: below a folder, as on GitHub."""
    root = pages.parent / "served"
    root.mkdir()
    (root / "skillgym-action").symlink_to(pages)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(root))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/skillgym-action/"
        server.shutdown()
