"""What suites of questions and lists of trigger queries have in common: the skill, the workspace, the name."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from skillgym_action.limits import MAX_CASE_ID_CHARACTERS
from skillgym_action.model.errors import SuiteError
from skillgym_action.model.suite import BenchmarkSuite, Invalid, WorkspaceSpec
from skillgym_action.skill_evals import keys
from skillgym_action.skill_evals.skill_location import located_skill
from skillgym_action.skill_evals.suite_names import TRIGGERS_NAME

if TYPE_CHECKING:
    from pathlib import Path

    from skillgym_action.documents.suite_values import SuiteValue
    from skillgym_action.formats import SuiteFile
    from skillgym_action.model.errors import Problem
    from skillgym_action.skill_evals.cases import LoadedEvals
    from skillgym_action.skill_evals.skill_location import SkillLocation


def finished(
    source: SuiteFile, top: SuiteValue, location: SkillLocation, loaded: LoadedEvals, warnings: tuple[Problem, ...]
) -> BenchmarkSuite:
    """The suite of the loaded cases; without any it is errored, since it checks nothing."""
    invalid = tuple(loaded.invalid)
    if not loaded.cases and not invalid:
        invalid = (Invalid(problem=top.problem("has no cases", "a suite without cases checks nothing")),)
    return BenchmarkSuite(
        path=source.path,
        file=source.file,
        name=_name(source, location),
        format="skill-evals",
        cases=tuple(loaded.cases),
        invalid=invalid,
        workspace=workspace_of(source, location),
        warnings=(*warnings, *loaded.warnings.problems),
    )


def skill_of(source: SuiteFile, skill_name: str | None, named: tuple[str, ...]) -> SkillLocation:
    """The skill that a suite is about; ``named``: the skills that its cases name. Raises SuiteError if there is none.

    Where no skill has one of these names, only the cases that name them cannot be used.
    """
    try:
        return located_skill(source, skill_name, named=named)
    except SuiteError:
        if not named:
            raise
        return located_skill(source, skill_name)


def skill_name_of(members: keys.Members) -> str | None:
    """The name of the skill, as the file has it; None: it does not. Raises SuiteError."""
    item = members.first(keys.SKILL)
    if item is None or item.value == "":
        return None
    if isinstance(item.value, dict):
        inner = item.text("name")
        if inner is None:
            raise item.missing("name", "write the skill's name: skill_name: pdf")
        return inner.strip()
    return item.as_text().strip()


def workspace_of(source: SuiteFile, location: SkillLocation) -> WorkspaceSpec:
    """The workspace of sessions: nothing but input files, in a Git repository, with the skills installed."""
    names, skills = location.names, location.skills
    if source.skills.settings.workspace == "repository":
        return WorkspaceSpec(source="repository", removed_skills=names, skills=skills)
    return WorkspaceSpec(source="empty", committed=True, removed_skills=names, skills=skills)


def root_of(source: SuiteFile) -> Path:
    """The folder that the suite's path is relative to; its own folder if the path is absolute."""
    path = PurePosixPath(source.path)
    return source.file.parent if path.is_absolute() else source.file.parents[len(path.parts) - 1]


def _name(source: SuiteFile, location: SkillLocation) -> str:
    """The skill's name, else that of the file's folder; for a list of trigger queries with that word."""
    path, names = PurePosixPath(source.path), location.names
    name = names[0] if len(names) == 1 else path.parent.name or path.stem
    name = f"{name} triggers" if TRIGGERS_NAME.search(source.path) else name
    return name[:MAX_CASE_ID_CHARACTERS]
