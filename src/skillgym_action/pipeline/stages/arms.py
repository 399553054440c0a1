"""Stage: suites -> suites with the arms that they run in.

Suites without configured arms have some if they are about skills: with the skill, and with its version at the merge
base if that is another one, else without it.
"""

from __future__ import annotations

import posixpath
from dataclasses import replace
from typing import TYPE_CHECKING

from skillgym_action.model.arm import OLD_SKILL, SKILL_ARMS, WITH_SKILL, WITHOUT_SKILL, Arm
from skillgym_action.model.arm_cases import arms_of_case
from skillgym_action.model.errors import Problem, UsageError, did_you_mean
from skillgym_action.model.limits import COMMIT_CHARACTERS
from skillgym_action.model.records import record
from skillgym_action.settings.arm_options import AUTO, SKILL_WORDS
from skillgym_action.suites import format_named

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from skillgym_action.model.arm import SkillUnderTest
    from skillgym_action.model.suite import BenchmarkSuite
    from skillgym_action.services import Services
    from skillgym_action.settings.arm_options import ArmOptions
    from skillgym_action.workspaces.repository.earlier_skills import SkillsAtBase

UNCHANGED = "no skill or evals changed"


@record
class Assigned:
    """The suites that run, with their arms. ``warnings``: why some have other arms than were wanted.

    ``unchanged``: that there were suites of skills, and none is left, since nothing has changed; None: some are left.
    """

    suites: tuple[BenchmarkSuite, ...]
    warnings: tuple[Problem, ...] = ()
    unchanged: str | None = None


def assign_arms(services: Services, suites: tuple[BenchmarkSuite, ...], options: ArmOptions) -> Assigned:
    """Choose the arms of each suite. With ``changed_skills`` only suites of changed skills are left.

    Raises UsageError if ``selected`` has an unknown arm, or leaves none of the configured ones.
    """
    _check_selected(suites, options)
    if options.stored is not None:
        return Assigned(suites=tuple(_with_indicators(_stored(suite, options)) for suite in suites))
    base = _base(services, options)
    if options.changed_skills:
        of_skills = any(_skills(suite) for suite in suites)
        suites = tuple(suite for suite in suites if not suite.cases or _has_changed(suite, base))
        if of_skills and not suites and (lost := base.lost(format_named("skill-evals").named)):
            return Assigned(suites=(), warnings=(*base.warnings, *lost))
        if of_skills and not suites:
            since = (base.commit or "")[:COMMIT_CHARACTERS]
            return Assigned(suites=(), warnings=tuple(base.warnings), unchanged=f"{UNCHANGED} since {since}")
    chosen = tuple(_with_indicators(replace(suite, arms=_arms(suite, options, base))) for suite in suites)
    return Assigned(suites=chosen, warnings=(*dict.fromkeys(base.warnings), *_without_effect(suites, options)))


def _without_effect(suites: Iterable[BenchmarkSuite], options: ArmOptions) -> Iterator[Problem]:
    """A warning if ``--arms`` selects arms, and no suite has any. An invalid suite may have some."""
    suites = tuple(suites)
    if not options.by_option or set(options.selected) == {AUTO} or options.configured or not suites:
        return
    if all(suite.cases and not suite.arms and not _skills(suite) for suite in suites):
        yield Problem(
            message=f"--arms {','.join(options.selected)} has no effect: no suite has arms",
            remedy="leave it out, or add arms to the configuration or to a suite",
        )


def _check_selected(suites: Iterable[BenchmarkSuite], options: ArmOptions) -> None:
    of_suites = (arm.name for suite in suites for arm in suite.arms)
    configured = (arm.name for arm in options.configured)
    known = tuple(dict.fromkeys((AUTO, *SKILL_WORDS, *SKILL_WORDS.values(), *configured, *of_suites)))
    for word in options.selected:
        if word not in known:
            raise UsageError(f"unknown arm {word!r}", remedy=did_you_mean(word, known))


def _with_indicators(suite: BenchmarkSuite) -> BenchmarkSuite:
    """The suite, in which indicators are advisory in cases of several arms, unless a case has no other assertion."""
    from skillgym_action.judging.assertions.graders import ScoredAssertion

    cases = []
    for case in suite.cases:
        shown = tuple(
            replace(one, advisory=True) if isinstance(one, ScoredAssertion) and one.indicator else one
            for one in case.assertions
        )
        changed = sum(one is not other for one, other in zip(shown, case.assertions, strict=True))
        if 0 < changed < len(shown) and len(arms_of_case(suite, case)) > 1:
            cases.append(replace(case, assertions=shown))
        else:
            cases.append(case)
    return replace(suite, cases=tuple(cases))


def _stored(suite: BenchmarkSuite, options: ArmOptions) -> BenchmarkSuite:
    """The suite with the arms of its stored sessions; those that are not configured any more by their name alone."""
    names = (options.stored or {}).get(suite.path, ())
    configured = {arm.name: arm for arm in suite.arms or options.configured}
    arms = (
        replace(configured.get(name) or Arm(name=name, skill=SKILL_ARMS.get(name, "head")), decides=number == 0)
        for number, name in enumerate(names)
    )
    return replace(suite, arms=tuple(arms))


def _arms(suite: BenchmarkSuite, options: ArmOptions, base: SkillsAtBase) -> tuple[Arm, ...]:
    """The arms of a suite; () if there is only one, which does nothing."""
    skills = _skills(suite)
    if configured := suite.arms or options.configured:
        arms = _selected(configured, options.selected, suite.path if suite.arms else "the configuration")
        if any(arm.skill == "base" for arm in arms):
            pairs = base.skills(skills)
            arms = tuple(replace(arm, base_skills=pairs) if arm.skill == "base" else arm for arm in arms)
        return arms
    if not skills:
        return ()
    names = list(dict.fromkeys(_skill_arms(suite, skills, options.selected or (AUTO,), base)))
    if names == [WITH_SKILL]:
        return ()
    deciding = WITH_SKILL if WITH_SKILL in names else names[0]
    names = [deciding, *(name for name in names if name != deciding)]
    return tuple(
        Arm(
            name=name,
            skill=SKILL_ARMS[name],
            base_skills=base.skills(skills) if name == OLD_SKILL else (),
            decides=name == deciding,
        )
        for name in names
    )


def _selected(arms: tuple[Arm, ...], selected: Iterable[str], where: str) -> tuple[Arm, ...]:
    """The arms that are named, all if none is; one of them decides. Raises UsageError if the names leave none.

    ``where``: what has the arms.
    """
    names = [SKILL_WORDS.get(name, name) for name in selected if name != AUTO]
    chosen = [arm for arm in arms if not names or arm.name in {*names, *selected}]
    if not chosen:
        known = ", ".join(arm.name for arm in arms)
        raise UsageError(f"--arms {','.join(selected)}: {where} has other arms", remedy=f"known: {known}")
    if not any(arm.decides for arm in chosen):
        chosen[0] = replace(chosen[0], decides=True)
    return tuple(sorted(chosen, key=lambda arm: not arm.decides))


def _skill_arms(
    suite: BenchmarkSuite, skills: tuple[SkillUnderTest, ...], selected: Iterable[str], base: SkillsAtBase
) -> Iterator[str]:
    """Names of the arms of a suite of skills."""
    for word in selected:
        name = SKILL_WORDS.get(word, word)
        if name == AUTO:
            yield WITH_SKILL
            yield OLD_SKILL if base.has_others(skills) else WITHOUT_SKILL
        elif name == OLD_SKILL and not base.skills(skills):
            base.warn_without(suite.path)
            yield WITHOUT_SKILL
        elif name in SKILL_ARMS:
            yield name


def _skills(suite: BenchmarkSuite) -> tuple[SkillUnderTest, ...]:
    """The skills that the suite or one of its cases is about."""
    specs = (suite.workspace, *(case.workspace for case in suite.cases if case.workspace))
    return tuple({skill.folder: skill for spec in specs for skill in spec.skills}.values())


def _has_changed(suite: BenchmarkSuite, base: SkillsAtBase) -> bool:
    """Whether a skill of the suite or the suite itself differs from the base; also if that cannot be known."""
    skills = _skills(suite)
    folder = suite.file.parent  # the files that its cases use are there
    beside = (posixpath.dirname(suite.path),) if any(folder.is_relative_to(skill.folder) for skill in skills) else ()
    return bool(skills) and base.has_changed(skills, (suite.path, *suite.hidden, *beside))


def _base(services: Services, options: ArmOptions) -> SkillsAtBase:
    from skillgym_action.workspaces.repository.earlier_skills import SkillsAtBase
    from skillgym_action.workspaces.skill_installation import files_of_skill

    return SkillsAtBase(
        services.repository,
        services.processes,
        new_folder=services.workspaces.new_records_folder,
        files_of=lambda skill: files_of_skill(skill, services.repository, ()),
        base=options.base,
        required=options.changed_skills,
    )
