"""Digests of what sessions start from beside their suite: skills under test, input files, workspace templates."""

from __future__ import annotations

import os
import stat
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING

from skillgym_action.model.limits import MAX_TEMPLATE_DIGEST_FILES
from skillgym_action.workspaces.repository.suite_source import kind_and_digest
from skillgym_action.workspaces.skill_installation import SkillDigests

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from skillgym_action.model.execution import Execution
    from skillgym_action.workspaces.repository.repository import Repository


class InputDigests:
    """SHA-256 over what is copied into workspaces: paths, modes and contents. Each file and folder is read once."""

    def __init__(self, repository: Repository, hidden: Iterable[str]) -> None:
        """``hidden``: paths of the repository that agents do not see."""
        self._repository = repository
        self._skills = SkillDigests(repository, hidden)
        self._known: dict[Path, str] = {}

    def of(self, execution: Execution) -> tuple[str, ...]:
        """Digests of the skills, files, templates and containers of an execution's sessions; () if they have none."""
        spec = execution.case.workspace or execution.suite.workspace
        template = [spec.template] if spec.source == "template" and spec.template else []
        context = [spec.container.build.context] if spec.container and spec.container.build else []
        files = (file.source for file in spec.files if file.source)
        sources = [*template, *context, *files, *execution.case.files]
        container = (repr(replace(spec.container, build=None)),) if spec.container else ()
        return (*self._skills.of(execution), *container, *map(self._digest, sources))

    def _digest(self, path: Path) -> str:
        if path not in self._known:
            self._known[path] = sha256("".join(self._lines(path)).encode(errors="surrogateescape")).hexdigest()
        return self._known[path]

    def _lines(self, path: Path) -> Iterator[str]:
        """A line per file; of one that cannot be read, with the reason."""
        try:
            if not path.is_dir():
                yield _line(path, path.name)
                return
            files = [self._repository.root / name for name in self._repository.files(path)]
            many = len(files) > MAX_TEMPLATE_DIGEST_FILES
            for file in files:
                name = os.path.relpath(file, path)
                yield f"{name}\0{os.lstat(file).st_size}\n" if many else _line(file, name)
        except OSError as error:
            yield f"{error.strerror}\n"


def _line(file: Path, name: str) -> str:
    return f"{name}\0{stat.S_IMODE(os.lstat(file).st_mode):o} {kind_and_digest(file)}\n"
