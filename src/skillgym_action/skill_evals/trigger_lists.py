"""Lists of trigger queries as cases: whether a skill loads, or does not."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from skillgym_action.limits import MAX_SUITE_CASES
from skillgym_action.model.errors import SuiteError
from skillgym_action.model.suite import BenchmarkCase
from skillgym_action.skill_evals import keys, trigger_shapes
from skillgym_action.skill_evals.cases import LoadedEvals, case_id_of, prompt_of, tags_of, title_of
from skillgym_action.skill_evals.deterministic import DecidedEvalAssertion, SkillUsed
from skillgym_action.skill_evals.skill_location import located_skill
from skillgym_action.skill_evals.suite_parts import finished, skill_name_of
from skillgym_action.text.escaping import one_line

if TYPE_CHECKING:
    from skillgym_action.documents.suite_values import SuiteValue
    from skillgym_action.formats import SuiteFile
    from skillgym_action.model.assertion import Assertion
    from skillgym_action.model.errors import Location
    from skillgym_action.model.suite import BenchmarkSuite
    from skillgym_action.skill_evals.trigger_shapes import ExpectedTrigger, Shape, TriggerQuery


def trigger_suite(source: SuiteFile, top: SuiteValue, shape: Shape) -> BenchmarkSuite:
    """The suite of a list of queries. Raises SuiteError."""
    queries = tuple(trigger_shapes.queries_in(top, shape))
    if len(queries) > MAX_SUITE_CASES:
        raise top.error(f"more than {MAX_SUITE_CASES:,} queries", "split the list")
    loaded = LoadedEvals()
    skill_name = None
    if isinstance(top.value, dict):
        members = keys.Members(top)
        skill_name = skill_name_of(members)
        loaded.warnings.unknown(members, trigger_shapes.TOP_KEYS, "the file")
    location = located_skill(source, skill_name, named=_skills_named(queries))
    for number, query in enumerate(queries, start=1):
        case_id = f"eval-{number}"
        try:
            if not isinstance(query.value.value, str):
                query.value.mapping()
                case_id = case_id_of(keys.Members(query.value), number)
            loaded.claim(case_id, query.value)
            case = _case(case_id, query, location.names, loaded)
        except SuiteError as error:
            loaded.refuse(case_id, error)
        else:
            loaded.add(case)
    return finished(source, top, location, loaded, location.warnings)


def trigger_assertion(expected: ExpectedTrigger, skills: tuple[str, ...], location: Location) -> Assertion:
    """The assertion that a skill loads, or does not. ``skills``: the names of those under test."""
    wanted = (expected.skill,) if expected.skill else skills
    name = f"{expected.skill or 'the skill'} {'loads' if expected.loads else 'does not load'}"
    return DecidedEvalAssertion(
        name=one_line(name),
        type="skill-trigger",
        subject=SkillUsed(wanted),
        location=location,
        negate=not expected.loads,
    )


def _case(case_id: str, query: TriggerQuery, skills: tuple[str, ...], loaded: LoadedEvals) -> BenchmarkCase:
    value, expected = query.value, query.expected
    title: str | None = None
    tags: tuple[str, ...] = ()
    if isinstance(value.value, str):
        prompt = value.as_text()
    else:
        members = keys.Members(value)
        loaded.warnings.unknown(members, trigger_shapes.QUERY_KEYS, "a query")
        prompt = prompt_of(members, trigger_shapes.QUERY, loaded.warnings)
        title, tags = title_of(members), tags_of(members, trigger_shapes.TAGS)
        expected = expected or trigger_shapes.expected_of(members)
    if expected is None:
        raise value.error("does not say whether the skill has to load", "write should_trigger: true or false")
    return BenchmarkCase(
        id=case_id,
        title=title,
        prompt=prompt,
        location=value.location,
        assertions=(trigger_assertion(expected, skills, value.location),),
        tags=tags,
    )


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
