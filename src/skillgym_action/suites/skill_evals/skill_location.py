"""Which folder has the skill that a suite is about.

The first that fits: the configured one; SKILL.md in the folder above ``evals/``; beside the suite; the only one below
that folder; the one with the suite's name for it; and the same in the folders above, up to the repository's root.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from skillgym_action.model.arm import SkillUnderTest
from skillgym_action.model.errors import Location, Problem, SuiteError
from skillgym_action.model.limits import MAX_LISTED_SKILLS
from skillgym_action.model.records import record
from skillgym_action.text.documents.skill_files import EVAL_FOLDERS, RESULTS_ENDING, SKILL_FILE, above_evals, read_skill
from skillgym_action.text.documents.user_files import kind_of, read_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from skillgym_action.suites import SuiteFile
    from skillgym_action.text.documents.skill_files import SkillFrontmatter

MAX_SKILL_SEARCH_ENTRIES = 100_000  # files and folders that one search for SKILL.md looks at
_NOT_SEARCHED = frozenset({".git", "node_modules", ".venv", "venv", "__pycache__", ".skillgym-results"})
_PLUGIN_FILES = (".claude-plugin/plugin.json", ".codex-plugin/plugin.json", ".cursor-plugin/plugin.json", "plugin.json")
_REMEDY = "put the suite into the folder evals/ of the skill, or name the skill's folder with skills.path"


@record
class SkillLocation:
    """The skills that are installed for a suite: one; several if the suite names several, or if no name chooses one.

    ``warnings``: about the names of the skills, with the suite file as their place.
    """

    skills: tuple[SkillUnderTest, ...]
    warnings: tuple[Problem, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names under which agents know them."""
        return tuple(skill.name for skill in self.skills)


def located_skill(source: SuiteFile, skill_name: str | None = None, *, named: Collection[str] = ()) -> SkillLocation:
    """The skill that a suite is about.

    ``skill_name``: as the suite calls it; None: it does not. ``named``: the skills that its queries name; if they are
    not just the one, all skills near the suite are installed. Raises SuiteError, which lists where it was looked for.
    """
    return _Search(source, skill_name, frozenset(named)).location()


class _Search:
    def __init__(self, source: SuiteFile, skill_name: str | None, named: frozenset[str]) -> None:
        self._source, self._files = source, source.skills
        self._skill_name, self._named = skill_name, named
        self._looked: dict[str, None] = {}
        self._known: dict[Path, SkillFrontmatter] = {}

    def location(self) -> SkillLocation:
        folders = self._configured() or self._near() or self._around()
        read = [self._read(folder) for folder in folders]
        skills: dict[str, SkillUnderTest] = {}
        warnings: list[Problem] = []
        for folder, known in zip(folders, read, strict=True):
            name = known.installed_name
            if name in skills:
                first, second = self._files.shown(skills[name].folder), self._files.shown(folder)
                warnings.append(self._problem(f"two skills are called {name}: that of {first} is used, not {second}"))
                continue
            if known.name is None:
                shown = self._files.shown(folder / SKILL_FILE)
                warnings.append(self._problem(f"{shown} has no name in its frontmatter; it is installed as {name}"))
            skills[name] = SkillUnderTest(name=name, folder=folder)
        if self._skill_name is not None and len(skills) == 1 and self._skill_name not in skills:
            (skill,) = skills.values()
            warnings.append(
                self._problem(
                    f"the suite calls its skill {self._skill_name}, but {self._files.shown(skill.folder / SKILL_FILE)} "
                    f"calls itself {skill.name}, under which it is installed",
                    remedy="write the same name in both",
                )
            )
        return SkillLocation(skills=tuple(skills.values()), warnings=tuple(warnings))

    # --- where ------------------------------------------------------------------------------------------

    def _configured(self) -> list[Path]:
        path = self._files.settings.path
        if path is None:
            return []
        if not self._has_skill(path):
            shown = self._files.shown(path)
            problem = self._problem(f"skills.path: there is no {SKILL_FILE} in {shown}", remedy="name a skill's folder")
            raise SuiteError.of(problem)
        return [path]

    def _near(self) -> list[Path]:
        """The folder above ``evals/``, or that of the suite, if it has a SKILL.md that is all that is wanted."""
        beside = self._files.file.parent
        for folder in dict.fromkeys((self._above_evals() or beside, beside)):
            if self._has_skill(folder):
                return [folder] if self._named <= {self._read(folder).installed_name} else []
        return []

    def _around(self) -> list[Path]:
        """The skills below the folder above ``evals/``, or below a folder further up. Raises SuiteError for none."""
        several: list[Path] = []
        some: list[Path] = []
        for level in self._levels():
            found = self._below(level)
            if self._named:
                names_here = {self._read(folder).installed_name for folder in found}
                if self._named <= names_here:
                    return found
                some = some or (found if self._named & names_here else [])
                several = several or found
                continue
            if chosen := self._chosen(found, level):
                return [chosen]
            several = several or found
        if some or (several and self._skill_name is None):
            return some or several
        names = ", ".join(sorted({self._read(folder).installed_name for folder in several})[:MAX_LISTED_SKILLS])
        what = f"no skill is called {self._skill_name}; there are {names}" if several else f"there is no {SKILL_FILE}"
        message = f"the skill under test was not found: {what}. Looked {', '.join(self._looked)}"
        raise SuiteError.of(self._problem(message, remedy=_REMEDY))

    def _chosen(self, found: list[Path], level: Path) -> Path | None:
        """The skill with the name that is looked for; else the one of the folder itself, or the only one."""
        for name in self._wanted_names():
            for folder in found:
                if name in {folder.name, self._read(folder).installed_name}:
                    return folder
        if self._skill_name is not None and len(found) != 1:
            return None
        return level if level in found else found[0] if len(found) == 1 else None

    def _wanted_names(self) -> Iterator[str]:
        """The names that the skill may have, the best first."""
        if self._skill_name is not None:
            yield self._skill_name
            return
        if name := self._name_in(self._files.file.with_name("evals.json"), "skill_name", "skill"):
            yield name
        yield self._files.file.parent.name
        for folder in self._levels():
            for file in _PLUGIN_FILES:
                if name := self._name_in(folder / file, "name"):
                    yield name
                    return

    def _above_evals(self) -> Path | None:
        """The folder above the nearest ``evals/`` that the suite is in."""
        above = above_evals(self._files.file.parent)
        return above if above and above.is_relative_to(self._files.root) else None

    def _levels(self) -> Iterator[Path]:
        """The folder above ``evals/``, or that of the suite, and those above it up to the repository's root."""
        first = self._above_evals() or self._files.file.parent
        yield first
        yield from (folder for folder in first.parents if folder.is_relative_to(self._files.root))

    # --- files ------------------------------------------------------------------------------------------

    def _has_skill(self, folder: Path) -> bool:
        self._looked[f"in {self._files.shown(folder)}"] = None
        return kind_of(folder / SKILL_FILE) == "file" and self._files.refusal(folder) is None

    def _below(self, folder: Path) -> list[Path]:
        """The folders below, and itself, that have a SKILL.md: the nearest first; links are not followed."""
        self._looked[f"below {self._files.shown(folder)}"] = None
        if folder not in self._files.found:
            self._files.found[folder] = tuple(skill_folders(folder)) if self._files.refusal(folder) is None else ()
        return list(self._files.found[folder])

    def _read(self, folder: Path) -> SkillFrontmatter:
        if folder not in self._known:
            shown = self._files.shown(folder / SKILL_FILE)
            self._known[folder] = read_skill(folder, path=shown, opener=self._files.opener)
        return self._known[folder]

    def _name_in(self, file: Path, *keys: str) -> str | None:
        """The text at the first of the keys of a JSON file; None if there is none."""
        if kind_of(file) != "file":
            return None
        try:
            value = json.loads(
                read_text(file, path=self._files.shown(file), error=SuiteError, opener=self._files.opener)
            )
        except (SuiteError, ValueError, RecursionError):
            return None
        members = value if isinstance(value, dict) else {}
        return next((text for key in keys if isinstance(text := members.get(key), str) and text), None)

    def _problem(self, message: str, *, remedy: str | None = None) -> Problem:
        return Problem(message=message, location=Location(path=self._source.path), remedy=remedy)


def skill_folders(folder: Path) -> Iterator[Path]:
    """Folders at or below ``folder`` that have a SKILL.md, the least deep first, each level by name.

    Links are not followed. Folders of evals and of their results are left out, since their files may have skills.
    """
    level, seen = [folder], 0
    while level:
        following: list[Path] = []
        for current in level:
            entries = _entries(current)
            seen += len(entries)
            if any(entry.name == SKILL_FILE and kind_of(entry) == "file" for entry in entries):
                yield current
            following += [entry for entry in entries if _is_searched(entry)]
        level = following if seen <= MAX_SKILL_SEARCH_ENTRIES else []


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def _is_searched(entry: Path) -> bool:
    name = entry.name
    if name in _NOT_SEARCHED or name.lower() in EVAL_FOLDERS or name.endswith(RESULTS_ENDING):
        return False
    return not entry.is_symlink() and entry.is_dir()
