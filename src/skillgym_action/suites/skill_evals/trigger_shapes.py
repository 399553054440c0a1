"""The shapes of lists of trigger queries: which value is one, and what its queries expect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from skillgym_action.model.records import record
from skillgym_action.suites.skill_evals import keys

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillgym_action.suites.values import SuiteValue

LISTS = frozenset({*keys.CASE_LISTS, "queries"})
QUERY = ("query", "prompt")
EXPECTED = ("should_trigger", "expected_trigger", "expected_skill", "expect_skill", "expected")
"""The keys of a query that say whether the skill has to load, or which one."""
POSITIVE, NEGATIVE = "should_trigger", "should_not_trigger"
QUERY_LISTS = ("queries", "skills", POSITIVE, NEGATIVE)
"""Keys of a file that are lists in lists of queries alone."""
TAGS = ("tags", "split", "category", "area", "language")
WITHOUT_EFFECT = frozenset({"reason", "why", "note", "notes", "rationale", "description", "difficulty", "comment"})
QUERY_KEYS = frozenset({*QUERY, *EXPECTED, *TAGS, *keys.NAME, *WITHOUT_EFFECT, "id", "skill", "skill_name"})
SKILL_KEYS = frozenset({POSITIVE, NEGATIVE, "name", "skill_name", "skill", "id", "path", *WITHOUT_EFFECT})
TOP_KEYS = frozenset({*keys.AT_TOP, "queries", "skills", POSITIVE, NEGATIVE, "runs", *WITHOUT_EFFECT})
_YES = frozenset({"trigger", "should_trigger", "triggers", "yes", "true", "load", "activate"})
_NO = frozenset(
    {"no_trigger", "not_trigger", "should_not_trigger", "dont_trigger", "no", "false", "none", "null", "skip"}
)

Shape = Literal["list", "two lists", "skills"]


@record
class ExpectedTrigger:
    """Whether a skill has to load, or must not. ``skill``: its name; None: any skill under test."""

    loads: bool
    skill: str | None = None


@record
class TriggerQuery:
    """A query in a file: a mapping, or its text alone with what the list it stands in expects."""

    value: SuiteValue
    expected: ExpectedTrigger | None = None


def trigger_shape(value: object, *, certain: bool = False) -> Shape | None:
    """The shape of a value that is a list of trigger queries; None: it is none.

    ``certain``: the file has the name of a trigger list; in others ``expected`` may be null or any text.
    """
    if isinstance(value, list):
        return "list" if _are_queries(value, certain=certain) else None
    if not isinstance(value, dict):
        return None
    members = {keys.canonical(key): item for key, item in value.items()}
    if any(_is_filled(members.get(key)) for key in (POSITIVE, NEGATIVE)):
        return "two lists"
    cases = next((item for key, item in members.items() if key in LISTS and item), None)
    if _are_queries(cases, certain=certain):
        return "list"
    skills = members.get("skills")
    entries = skills if isinstance(skills, list) else [*skills.values()] if isinstance(skills, dict) else []
    two = any(
        isinstance(one, dict)
        and any(_is_filled(item) for key, item in one.items() if keys.canonical(key) in {POSITIVE, NEGATIVE})
        for one in entries
    )
    return "skills" if two else None


def queries_in(top: SuiteValue, shape: Shape) -> Iterator[TriggerQuery]:
    """All queries of a value of that shape. Raises SuiteError."""
    if shape == "two lists":
        yield from _two_lists(top, None)
    elif shape == "skills":
        skills = keys.Members(top).named("skills") or top
        if isinstance(skills.value, dict):
            for name in skills.value:
                yield from _two_lists(skills.member(name), name)
        else:
            for skill in skills.items():
                yield from _two_lists(skill, keys.Members(skill).value.text("name", "skill_name", "skill"))
    else:
        cases = top if isinstance(top.value, list) else next(keys.Members(top).all(sorted(LISTS, key=_order)), top)
        yield from (TriggerQuery(value=item) for item in cases.items())


def skills_in(top: SuiteValue) -> Iterator[SuiteValue]:
    """The mappings of the shape ``skills``, one for each skill."""
    skills = keys.Members(top).named("skills") or top
    if isinstance(skills.value, dict):
        yield from (skills.member(name) for name in skills.value if isinstance(skills.value[name], dict))
    else:
        yield from (skill for skill in skills.items() if isinstance(skill.value, dict))


def expected_of(members: keys.Members) -> ExpectedTrigger | None:
    """What a query expects; None: it does not say. Null stands for: no skill under test may load. Raises SuiteError."""
    for key, written in members.value.mapping().items():
        if keys.canonical(key) in EXPECTED and written is None and not members.has(EXPECTED):
            return ExpectedTrigger(loads=False)
    item = members.first(EXPECTED)
    return None if item is None else expected_trigger(item)


def expected_trigger(item: SuiteValue) -> ExpectedTrigger:
    """What true, false, a word or the name of a skill stands for. Raises SuiteError."""
    written = item.value
    if isinstance(written, bool):
        return ExpectedTrigger(loads=written)
    if not isinstance(written, str) or not written.strip():
        raise item.wrong_type("true, false or the name of a skill")
    word = keys.canonical(written.strip().replace(" ", "_").replace("'", ""))
    if word in _YES or word in _NO:
        return ExpectedTrigger(loads=word in _YES)
    return ExpectedTrigger(loads=True, skill=written.strip())


def _two_lists(value: SuiteValue, skill: str | None) -> Iterator[TriggerQuery]:
    members = keys.Members(value)
    for key in (POSITIVE, NEGATIVE):
        for queries in members.all((key,)):
            expected = ExpectedTrigger(loads=key == POSITIVE, skill=skill)
            yield from (TriggerQuery(value=item, expected=expected) for item in queries.items())


def _are_queries(cases: object, *, certain: bool) -> bool:
    """Whether each case has a query and what it expects, and none has a question or files."""
    entries = cases if isinstance(cases, list) else []
    other = {*keys.QUESTIONS, *keys.NEGATED_QUESTIONS, *keys.EXPECTED_OUTPUT, "files", *keys.CONVERSATION} - {
        "expected"
    }
    usable = [{keys.canonical(key): item for key, item in one.items()} for one in entries if isinstance(one, dict)]
    if not usable or any(other & {key for key, item in one.items() if item} for one in usable):
        return False
    return any(any(key in one for key in QUERY) and _has_mark(one, certain=certain) for one in usable)


def _has_mark(case: dict[str, object], *, certain: bool) -> bool:
    """Whether a case has a key for what has to load; ``expected`` only with a word such as ``trigger``."""
    if any(key in case for key in EXPECTED[:-1]):
        return True
    word = case.get("expected", ...)
    if certain:
        return word is None or isinstance(word, str | bool)
    return isinstance(word, str) and keys.canonical(word.strip().replace(" ", "_")) in _YES | _NO


def _is_filled(value: object) -> bool:
    return isinstance(value, list) and bool(value)


def _order(key: str) -> int:
    return keys.CASE_LISTS.index(key) if key in keys.CASE_LISTS else len(keys.CASE_LISTS)
