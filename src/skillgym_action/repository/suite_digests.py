"""The digest of a suite: which text judged. Nothing of the suite is executed to compute it."""

from __future__ import annotations

import os
import stat
from hashlib import file_digest, sha256
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from skillgym_action.model.suite import Suite
    from skillgym_action.repository.repository import Repository

_FLAGS = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def suite_digest(suite: Suite, repository: Repository) -> str | None:
    """SHA-256 of the suite's file, or of the list of its files where ``suite.hidden`` names more; None: unreadable.

    A folder stands for the files below it that git does not ignore.
    """
    if suite.digest is None or not suite.hidden:
        return suite.digest
    try:
        paths = {path for hidden in suite.hidden for path in _below(repository, hidden)}
        lines = [f"{suite.path}\0file {suite.digest}\n"]
        lines += [f"{path}\0{_content(repository.root / path)}\n" for path in sorted(paths - {suite.path})]
    except OSError:
        return None
    return sha256("".join(lines).encode(errors="surrogateescape")).hexdigest()


def _below(repository: Repository, path: str) -> list[str]:
    target = repository.root / path
    return list(repository.files(target)) if target.is_dir() and not target.is_symlink() else [path]


def _content(file: Path) -> str:
    """The kind of a file and the SHA-256 of what is in it; of a link, of where it leads. Raises OSError."""
    mode = os.lstat(file).st_mode
    if stat.S_ISLNK(mode):
        return f"link {sha256(os.fsencode(os.readlink(file))).hexdigest()}"
    if not stat.S_ISREG(mode):
        return "other"
    with open(file, "rb", opener=lambda path, flags: os.open(path, flags | _FLAGS)) as opened:
        return f"file {file_digest(opened, 'sha256').hexdigest()}"
