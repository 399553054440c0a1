"""Digests of suites, which identify the text that graded a session. Nothing of a suite is executed for them."""

from __future__ import annotations

import os
import stat
from hashlib import sha256
from typing import TYPE_CHECKING

from skillgym_action.filesystem.file_digests import content_digest
from skillgym_action.limits import MAX_SUITE_DIGEST_FILE_BYTES, MAX_TEMPLATE_DIGEST_FILES
from skillgym_action.repository.walk import REGULAR_FILE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from skillgym_action.model.suite import BenchmarkSuite
    from skillgym_action.repository.repository import Repository


def suite_digest(suite: BenchmarkSuite, repository: Repository) -> str | None:
    """SHA-256 of the suite's file, or of the list of its files if ``suite.hidden`` names others.

    None: a file is unreadable or too large, or the run is cancelled. A folder in ``suite.hidden`` means the files below
    it that git does not ignore.
    """
    if suite.digest is None or not suite.hidden:
        return suite.digest
    try:
        paths = {path for hidden in suite.hidden for path in _files_at(repository, hidden)}
        lines = [f"{suite.path}\0file {suite.digest}\n"]
        for path in sorted(paths - {suite.path}):
            file = repository.root / path
            if os.lstat(file).st_size > MAX_SUITE_DIGEST_FILE_BYTES:
                return None
            lines.append(f"{path}\0{kind_and_digest(file, repository.raise_if_cancelled)}\n")
    except OSError:
        return None
    return sha256("".join(lines).encode(errors="surrogateescape")).hexdigest()


def template_digest(suite: BenchmarkSuite, repository: Repository) -> str | None:
    """SHA-256 of the list of files in the workspace templates of a suite and its cases, those that git does not ignore.

    None without a template, if one is unreadable, if there are more than ``MAX_TEMPLATE_DIGEST_FILES``, or if the run
    is cancelled.
    """
    specs = (suite.workspace, *(case.workspace for case in suite.cases if case.workspace))
    templates = sorted({spec.template for spec in specs if spec.source == "template" and spec.template})
    if not templates:
        return None
    try:
        files = [(folder, path) for folder in templates for path in repository.files(folder)]
        if len(files) > MAX_TEMPLATE_DIGEST_FILES:
            return None
        lines = []
        for folder, path in files:
            file = repository.root / path
            content = kind_and_digest(file, repository.raise_if_cancelled)
            lines.append(f"{os.path.relpath(file, folder)}\0{content}\n")
    except OSError:
        return None
    return sha256("".join(lines).encode(errors="surrogateescape")).hexdigest()


def _files_at(repository: Repository, path: str) -> list[str]:
    target = repository.root / path
    return list(repository.files(target)) if target.is_dir() and not target.is_symlink() else [path]


def kind_and_digest(file: Path, checked: Callable[[], None] = lambda: None) -> str:
    """The kind of a file, and the SHA-256 of its content or of the link's target. Raises OSError.

    ``checked`` is called after each part of a file, and may raise.
    """
    mode = os.lstat(file).st_mode
    if stat.S_ISLNK(mode):
        return f"link {sha256(os.fsencode(os.readlink(file))).hexdigest()}"
    if not stat.S_ISREG(mode):
        return "other"
    with open(file, "rb", opener=lambda path, _: os.open(path, REGULAR_FILE)) as opened:
        return f"file {content_digest(opened, checked)}"
