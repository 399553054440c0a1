"""The skills under test as they are at the merge base with the base branch."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from skillgym_action.model.errors import Problem
from skillgym_action.model.limits import MAX_SKILL_BYTES, MAX_SKILL_FILE_BYTES
from skillgym_action.system.files.checked_paths import REGULAR_FILE
from skillgym_action.workspaces.repository import FETCH_BASE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from skillgym_action.model.arm import SkillUnderTest
    from skillgym_action.system.processes.launcher import ProcessLauncher
    from skillgym_action.workspaces.repository.changed_files import CommittedTree
    from skillgym_action.workspaces.repository.repository import Repository


class SkillsAtBase:
    """Finds the merge base when it is needed first, and copies skills of it. Nothing is fetched.

    ``warnings``: what could not be found out.
    """

    def __init__(
        self,
        repository: Repository,
        processes: ProcessLauncher,
        *,
        new_folder: Callable[[], Path],
        files_of: Callable[[SkillUnderTest], Iterable[str]],
        base: str | None,
        required: bool,
    ) -> None:
        """``new_folder`` returns a path for a folder of the run's, ``files_of`` the installed files of a skill.

        ``base``: the commit of the base branch, if known. ``required``: warn without a base commit even if none is.
        """
        self._repository, self._processes, self._new_folder = repository, processes, new_folder
        self._files_of, self._base, self._required = files_of, base, required
        self._found: dict[str, Path | None] = {}
        self.warnings: list[Problem] = []

    @property
    def commit(self) -> str | None:
        """The id of the merge base; None: it is unknown."""
        return self._commit

    @cached_property
    def _commit(self) -> str | None:

        if not self._repository.has_git:
            return None
        from skillgym_action.workspaces.repository.changed_files import merge_base

        commit = merge_base(self._repository.root, self._processes, self._base)
        if commit is None and (self._base or self._required):
            self._warn("the base commit is not in the clone, so no skill can be compared with its version there")
        return commit

    def _warn(self, message: str) -> None:
        self.warnings.append(Problem(message=f"arms: {message}", remedy=FETCH_BASE))

    def warn_without(self, suite: str) -> None:
        """The old version of the skill was wanted, and there is none."""
        why = "the base commit has no such skill" if self._commit else "the base commit is not in the clone"
        self._warn(f"{suite}: {why}; without_skill runs in place of old_skill")

    def skills(self, skills: Iterable[SkillUnderTest]) -> tuple[tuple[Path, SkillUnderTest], ...]:
        """The versions of the skills at the base, by the folders of today's; those that it has."""
        found = []
        for skill in skills:
            folder = self._folder(skill.folder)
            if folder and skill.packaging == "plugin":
                found.append((skill.folder, replace(skill, folder=folder, origin=skill.folder)))
            elif folder and (earlier := skill_in(folder, skill)):
                found.append((skill.folder, replace(earlier, origin=skill.folder)))
        return tuple(found)

    def has_others(self, skills: tuple[SkillUnderTest, ...]) -> bool:
        """Whether the base has one of the skills with other content."""
        at_base = dict(self.skills(skills))
        return any(
            self._digest(skill) != self._digest(at_base[skill.folder]) for skill in skills if skill.folder in at_base
        )

    def has_changed(self, skills: tuple[SkillUnderTest, ...], paths: Iterable[str]) -> bool:
        """Whether a skill, or what is at one of the paths of the repository, differs; also if that is unknown."""
        if self._commit is None:
            return True
        at_base = dict(self.skills(skills))
        if len(at_base) < len(skills) or any(map(self._has_links_out, skills)):
            return True
        return self.has_others(skills) or any(map(self._differs, paths))

    def _has_links_out(self, skill: SkillUnderTest) -> bool:
        """Whether a link leads out of the skill's folder: what is there may have changed."""
        try:
            files = [skill.folder / name for name in self._files_of(skill)]
        except OSError:
            return True
        root = os.path.realpath(skill.folder)
        return any(not Path(os.path.realpath(file)).is_relative_to(root) for file in files if file.is_symlink())

    def lost(self, is_evals: Callable[[str], bool]) -> tuple[Problem, ...]:
        """A problem for each file of evals that the base has and the checkout has not, although it has the skill."""
        if self._commit is None:
            return ()
        root = self._repository.root
        try:
            named = [path for path in self._tree(self._commit).paths() if is_evals(path)]
        except OSError as error:
            return (Problem(message=f"arms: the base commit cannot be read: {error}", remedy=FETCH_BASE),)
        from skillgym_action.text.documents.skill_files import SKILL_FILE

        problems = []
        for path in named:
            above = (parent for parent in PurePosixPath(path).parents if os.path.lexists(root / parent / SKILL_FILE))
            if not os.path.lexists(root / path) and (skill := next(above, None)):
                message = f"{path}: the base has it, and nothing judges {skill} without it"
                problems.append(Problem(message=message, remedy="put it back, or run without --changed-skills"))
        return tuple(problems)

    def _tree(self, commit: str) -> CommittedTree:
        from skillgym_action.workspaces.repository.changed_files import CommittedTree

        return CommittedTree(self._repository.root, self._processes, commit)

    def _differs(self, path: str) -> bool:
        """Whether a file or folder of the checkout differs from the base."""
        now, before = self._repository.root / path, self._folder(self._repository.root / path)
        return before is None or _digest_of(_below(self._repository, now), now) != _digest_of(_walked(before), before)

    def _digest(self, skill: SkillUnderTest) -> str:
        """Of what is installed; a skill that cannot be installed differs from all others."""
        try:
            return _digest_of((skill.folder / name for name in self._files_of(skill)), skill.folder)
        except OSError as error:
            return f"{skill.folder}: {error}"

    def _folder(self, folder: Path) -> Path | None:
        """A copy of what the base has at a path of the checkout; None if it has nothing there."""
        root = self._repository.root
        if self._commit is None or not folder.is_relative_to(root):
            return None
        path = folder.relative_to(root).as_posix()
        if path not in self._found:
            self._found[path] = self._copied(self._commit, "" if path == "." else path)
        return self._found[path]

    def _copied(self, commit: str, path: str) -> Path | None:
        from skillgym_action.workspaces.repository.changed_files import MissingObjectError

        target = self._new_folder()
        tree = self._tree(commit)
        try:
            target.parent.mkdir(mode=0o700, exist_ok=True)
            tree.write(target, path)
        except MissingObjectError as error:
            self._warn(f"the base commit lacks files in the clone: {error.strerror}")
            return None
        except OSError as error:
            self._warn(f"the base commit cannot be read: {error}")
            return None
        return target / path if os.path.lexists(target / path) else None


def skill_in(folder: Path, skill: SkillUnderTest) -> SkillUnderTest | None:
    """The version of a skill in a folder with another commit; None: it is none."""
    from skillgym_action.text.documents.skill_files import SKILL_FILE, frontmatter

    file = folder / SKILL_FILE
    if not file.is_file() or file.is_symlink():
        return None
    with open(file, "rb") as opened:
        text = opened.read(MAX_SKILL_FILE_BYTES).decode("utf-8", "replace").replace("\r\n", "\n")
    return replace(skill, name=frontmatter(text).get("name") or skill.name, folder=folder)


def _below(repository: Repository, path: Path) -> Iterator[Path]:
    """The files below a folder, or the file itself; those that git does not ignore."""
    if path.is_dir() and not path.is_symlink():
        yield from (repository.root / name for name in repository.files(path))
    elif os.path.lexists(path):
        yield path


def _walked(path: Path) -> Iterator[Path]:
    if path.is_symlink() or not path.is_dir():
        yield path
        return
    for folder, _, names in os.walk(path):
        yield from (Path(folder, name) for name in names)


def _digest_of(files: Iterable[Path], folder: Path) -> str:
    """SHA-256 over names, kinds and contents. Raises OSError."""
    digest = sha256()
    for file in sorted(files):
        digest.update(f"{os.path.relpath(file, folder)}\0".encode(errors="surrogateescape"))
        if file.is_symlink():
            digest.update(b"link " + os.fsencode(os.readlink(file)))
        elif file.is_file():
            with open(file, "rb", opener=lambda path, _: os.open(path, REGULAR_FILE)) as opened:
                digest.update(b"file " + sha256(opened.read(MAX_SKILL_BYTES)).digest())
        digest.update(b"\n")
    return digest.hexdigest()
