"""Format: evals of skills: ``evals.json`` as skill-creator and agentskills.io write it, and lists of trigger queries.

Which files these are is in ``suite_names``, their keys in ``keys``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from skillgym_action.model.errors import SuiteError, closest_match, meant_word
from skillgym_action.suites.arm_section import FOREIGN_KEY, suite_arms
from skillgym_action.suites.skill_evals import keys
from skillgym_action.suites.skill_evals.suite_names import TRIGGERS_NAME, accepts, named, rejection
from skillgym_action.suites.skill_evals.trigger_shapes import QUERY_LISTS, trigger_shape
from skillgym_action.suites.values import SuiteValue
from skillgym_action.text.documents.documents import read_document
from skillgym_action.text.documents.skill_files import above_evals

if TYPE_CHECKING:
    from pathlib import Path

    from skillgym_action.model.suite import BenchmarkSuite
    from skillgym_action.suites import SuiteFile
    from skillgym_action.suites.skill_evals.input_files import InputPlaces
    from skillgym_action.suites.skill_evals.skill_location import SkillLocation

__all__ = ["accepts", "named", "rejection", "suite"]

_LIKENESS = 0.8
_LISTS = (*keys.CASE_LISTS, *QUERY_LISTS)
_WRITE_CASES = "write them as a list evals: [{id: 1, prompt: …, expectations: […]}]"


def suite(source: SuiteFile) -> BenchmarkSuite:
    """The suite. A case that cannot be used becomes an Invalid. Raises SuiteError for problems of the whole file."""
    document = read_document(source.text(), path=source.path, kind="json", error=SuiteError)
    top = SuiteValue(source=document, value=document.value)
    shape = trigger_shape(top.value, certain=TRIGGERS_NAME.search(source.path) is not None)
    if shape:
        from skillgym_action.suites.skill_evals.cases import trigger_suite

        return trigger_suite(source, top, shape)
    return _evals(source, top)


def _evals(source: SuiteFile, top: SuiteValue) -> BenchmarkSuite:
    from skillgym_action.suites.skill_evals.cases import (
        SuiteSettings,
        TriggerSettings,
        cases_of,
        finished,
        skill_name_of,
        skill_of,
        skills_named,
        workspace_of,
    )

    warnings = keys.KeyWarnings.none_yet()
    cases, skill_name, threshold = _case_list(top), None, None
    if isinstance(top.value, dict):
        members = keys.Members(top)
        skill_name, threshold = skill_name_of(members), _threshold(members)
        warnings.unknown(members, keys.AT_TOP, "the file")
    location = skill_of(source, skill_name, skills_named(cases))
    settings = SuiteSettings(
        workspace=workspace_of(source, location),
        places=_places(source, location),
        skills=location.names,
        threshold=threshold,
        triggers=TriggerSettings(skills=location.names, rounds=source.skills.settings.trigger_rounds),
    )
    loaded = cases_of(cases, settings)
    made = finished(source, top, location, loaded, (*warnings.problems, *location.warnings))
    value = top.value.get(FOREIGN_KEY) if isinstance(top.value, dict) else None
    arms = suite_arms(source, value, FOREIGN_KEY, top.source)
    return replace(made, arms=arms.arms, hidden=(*made.hidden, *arms.hidden))


def _case_list(top: SuiteValue) -> SuiteValue:
    """The list of cases. Raises SuiteError."""
    if isinstance(top.value, list):
        return top
    members = keys.Members(top)
    if (cases := members.first(keys.CASE_LISTS)) is None:
        if (queries := members.first(QUERY_LISTS)) and not isinstance(queries.value, list):
            raise queries.wrong_type("a list")
        for key in top.mapping():
            if isinstance(top.member(key).value, list) and (meant := closest_match(key, _LISTS, _LIKENESS)):
                raise top.member(key).error("has no evals", meant_word(meant, key))
        raise top.error("has no evals", _WRITE_CASES)
    if not isinstance(cases.value, list):
        raise cases.wrong_type("a list")
    for other in members.all(keys.CASE_LISTS):
        if other.key_path != cases.key_path and isinstance(other.value, list) and other.value:
            raise other.error(f"is a second list of cases, beside {cases.name}", "write all cases into one list")
    return cases


def _threshold(members: keys.Members) -> float | None:
    """The share of questions that a case needs; None: all of them. Raises SuiteError."""
    item = members.first(keys.THRESHOLD)
    if item is None:
        return None
    share = item.as_number(above=True, most=1)
    return None if share == 1 else float(share)


def _places(source: SuiteFile, location: SkillLocation) -> InputPlaces:
    """Where input files are: in the folder above ``evals/``, beside the suite, in the skill's, or at the root."""
    from skillgym_action.suites.skill_evals.cases import root_of
    from skillgym_action.suites.skill_evals.input_files import InputPlaces

    root, folder = root_of(source), source.file.parent
    above = above_evals(folder) or folder.parent
    own = [skill.folder for skill in location.skills] if len(location.skills) == 1 else []

    def shown(file: Path) -> str:
        return file.relative_to(root).as_posix() if file.is_relative_to(root) else file.as_posix()

    folders = (*([above] if above.is_relative_to(root) else []), folder, *own, root)
    return InputPlaces(
        suite=source.file,
        folders=folders,
        refusal=source.refusal,
        is_suite=named,
        shown=shown,
        skills=tuple(skill.folder for skill in location.skills),
    )
