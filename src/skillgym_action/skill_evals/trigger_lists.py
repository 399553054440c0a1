"""Lists of trigger queries as cases: whether a skill loads, or does not."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from skillgym_action.limits import MAX_LISTED_SKILLS, MAX_SUITE_CASES, MAX_TRIGGER_RUNS
from skillgym_action.model.errors import SuiteError
from skillgym_action.model.suite import BenchmarkCase, TriggerRule
from skillgym_action.skill_evals import keys, trigger_shapes
from skillgym_action.skill_evals.cases import LoadedEvals, case_id_of, prompt_of, tags_of, title_of
from skillgym_action.skill_evals.suite_parts import finished, skill_name_of, skill_of
from skillgym_action.skill_evals.triggers import trigger_assertion

if TYPE_CHECKING:
    from skillgym_action.documents.suite_values import SuiteValue
    from skillgym_action.formats import SuiteFile
    from skillgym_action.model.suite import BenchmarkSuite
    from skillgym_action.skill_evals.trigger_shapes import ExpectedTrigger, Shape, TriggerQuery


def trigger_suite(source: SuiteFile, top: SuiteValue, shape: Shape) -> BenchmarkSuite:
    """The suite of a list of queries. Raises SuiteError."""
    queries = tuple(trigger_shapes.queries_in(top, shape))
    if len(queries) > MAX_SUITE_CASES:
        raise top.error(f"more than {MAX_SUITE_CASES:,} queries", "split the list")
    loaded = LoadedEvals()
    for entry in trigger_shapes.skills_in(top) if shape == "skills" else ():
        loaded.warnings.unknown(keys.Members(entry), trigger_shapes.SKILL_KEYS, "a skill")
    skill_name = None
    if isinstance(top.value, dict):
        members = keys.Members(top)
        skill_name = skill_name_of(members)
        loaded.warnings.unknown(members, trigger_shapes.TOP_KEYS, "the file")
    location = skill_of(source, skill_name, _skills_named(queries))
    settings = _settings(source, top, location.names)
    for number, query in enumerate(queries, start=1):
        case_id = f"eval-{number}"
        try:
            if not isinstance(query.value.value, str):
                query.value.mapping()
                case_id = case_id_of(keys.Members(query.value), number)
            loaded.claim(case_id, query.value)
            case = _case(case_id, query, settings, loaded)
        except SuiteError as error:
            loaded.refuse(case_id, error)
        else:
            loaded.add(case)
    return finished(source, top, location, loaded, location.warnings)


@dataclass(frozen=True, kw_only=True, slots=True)
class TriggerSettings:
    """What a suite defines for all of its queries. ``skills``: the names of those under test; ``rounds``: of the model.

    ``runs`` and ``threshold`` as in ``TriggerRule``.
    """

    skills: tuple[str, ...]
    rounds: int
    runs: int = 3
    threshold: float = 0.5

    def rule(self, expected: ExpectedTrigger, value: SuiteValue) -> TriggerRule:
        """The rule of one query. Raises SuiteError for a skill that is not under test."""
        if expected.skill and expected.skill not in self.skills:
            known = ", ".join(self.skills[:MAX_LISTED_SKILLS])
            raise value.error(
                f"the skill {expected.skill} is not installed for this suite: {known}",
                "name one of these, or true or false",
            )
        return TriggerRule(
            skills=(expected.skill,) if expected.skill else self.skills,
            should_trigger=expected.loads,
            runs=self.runs,
            threshold=self.threshold,
            rounds=self.rounds,
        )


def _settings(source: SuiteFile, top: SuiteValue, skills: tuple[str, ...]) -> TriggerSettings:
    """Raises SuiteError for a number that is out of range."""
    members = keys.Members(top) if isinstance(top.value, dict) else None
    runs = members.named("runs") if members else None
    threshold = members.first(keys.THRESHOLD) if members else None
    return TriggerSettings(
        skills=skills,
        rounds=source.skills.settings.trigger_rounds,
        runs=int(runs.as_number(least=1, most=MAX_TRIGGER_RUNS, whole=True)) if runs else 3,
        threshold=threshold.as_number(above=True, most=1) if threshold else 0.5,
    )


def _case(case_id: str, query: TriggerQuery, settings: TriggerSettings, loaded: LoadedEvals) -> BenchmarkCase:
    value, expected = query.value, query.expected
    title: str | None = None
    tags: tuple[str, ...] = ()
    if isinstance(value.value, str):
        prompt = value.as_text()
    else:
        members = keys.Members(value)
        loaded.warnings.unknown(members, trigger_shapes.QUERY_KEYS, "a query")
        prompt = prompt_of(members, trigger_shapes.QUERY, loaded.warnings)
        title, tags = title_of(members, loaded.warnings), tags_of(members, trigger_shapes.TAGS)
        expected = expected or trigger_shapes.expected_of(members)
        expected = expected and _of_named_skill(expected, members, settings, loaded)
    if expected is None:
        raise value.error("does not say whether the skill has to load", "write should_trigger: true or false")
    rule = settings.rule(expected, value)
    return BenchmarkCase(
        id=case_id,
        title=title,
        prompt=prompt,
        location=value.location,
        assertions=(trigger_assertion(rule, value.location),),
        tags=tags,
        trigger=rule,
    )


def _of_named_skill(
    expected: ExpectedTrigger, members: keys.Members, settings: TriggerSettings, loaded: LoadedEvals
) -> ExpectedTrigger:
    """What a query expects of the skill that it names beside ``should_trigger``, if that is under test."""
    item = members.first(keys.SKILL)
    if item is None or expected.skill is not None:
        return expected
    if item.value in settings.skills:
        return replace(expected, skill=str(item.value))
    known = ", ".join(settings.skills[:MAX_LISTED_SKILLS])
    message = f"{item.key_path[-1]} has no effect: the skill {item.value} is not installed for this suite: {known}"
    loaded.warnings.once(item, message)
    return expected


def _skills_named(queries: tuple[TriggerQuery, ...]) -> tuple[str, ...]:
    """The skills that queries name, as far as they can be read."""
    names: dict[str, None] = {}
    for query in queries:
        expected = query.expected
        with suppress(SuiteError):
            if expected is None and isinstance(query.value.value, dict):
                expected = trigger_shapes.expected_of(keys.Members(query.value))
        if expected and expected.skill:
            names[expected.skill] = None
    return tuple(names)
