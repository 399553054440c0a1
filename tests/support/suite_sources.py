"""A suite file of a scratch repository, as formats get it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from skillgym_action.text.documents.skill_files import SkillFiles

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


@dataclass(frozen=True)
class ScratchSuite:
    """The suite file at ``path`` of the repository at ``root``. Links are refused, as in a checkout."""

    root: Path
    path: str
    environment: Mapping[str, str] = field(default_factory=dict)
    agentv_compat: bool = False
    opener: None = None

    @property
    def file(self) -> Path:
        return self.root / self.path

    @property
    def skills(self) -> SkillFiles:
        return SkillFiles(root=self.root, file=self.file)

    def refusal(self, path: Path) -> str | None:
        return "is a link" if path.is_symlink() else None

    def refusal_in_place(self, _: Path) -> None:
        return None

    def text(self) -> str:
        return self.file.read_text(encoding="utf-8")

    def program(self) -> dict[str, object]:
        """No format in data files asks for it."""
        raise NotImplementedError

    def exported(self) -> dict[str, object]:
        """No format in data files asks for it."""
        raise NotImplementedError
