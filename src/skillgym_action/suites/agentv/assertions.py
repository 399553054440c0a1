"""The assertions of AgentV suites: the types of assertions, and how an ``assertions:`` list becomes graders."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from skillgym_action.judging.assertions.graders import AssertionGroup, ScoredAssertion
from skillgym_action.model.errors import Problem, SuiteError, did_you_mean
from skillgym_action.suites.agentv import action_graders as tools
from skillgym_action.suites.agentv import answer_graders as texts
from skillgym_action.suites.agentv import metric_graders as metrics
from skillgym_action.suites.agentv import version_5_assertions as version_5
from skillgym_action.suites.agentv.action_graders import skill_used, trajectory
from skillgym_action.suites.agentv.answer_graders import field_accuracy
from skillgym_action.suites.agentv.composite_graders import (
    AGGREGATORS,
    JUDGE_PROMPT,
    AssertSet,
    Composite,
    JudgeAggregator,
    passing_share,
    program_aggregator,
    weighted_average,
)
from skillgym_action.suites.agentv.judge_graders import JudgeGrader, TextPrompt, rubrics_in, text_prompt, votes_in
from skillgym_action.suites.agentv.known_keys import ASSERTIONS, refuse_misspelled_in, unknown_in_assertions
from skillgym_action.suites.agentv.program_graders import (
    FunctionGrader,
    FunctionReference,
    PromptProgram,
    code_grader,
    custom_grader,
    program,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from skillgym_action.judging.assertions.graders import Grader
    from skillgym_action.model.assertion import Assertion
    from skillgym_action.suites.agentv.composite_graders import Aggregator
    from skillgym_action.suites.agentv.grader_context import EntryContext
    from skillgym_action.suites.values import SuiteValue

MAX_INCLUDE_DEPTH = 3  # of `include` in assertions; AgentV's own limit
MAX_ASSERTION_NAME_CHARACTERS = 30  # of the regular expression in the name of its assertion
JUDGE_TYPES = {"llm-grader": "rubrics", "rubrics": "criteria", "rubric": "rubrics"}
"""Types that ask the judge, and the key of their rubrics."""
SIMPLE_TYPES: dict[str, Callable[[SuiteValue, str], Grader]] = {
    "contains": texts.contains,
    "contains-any": texts.contains,
    "contains-all": texts.contains,
    "icontains": texts.contains,
    "icontains-any": texts.contains,
    "icontains-all": texts.contains,
    "starts-with": texts.compares,
    "ends-with": texts.compares,
    "equals": texts.compares,
    "is-json": texts.is_json,
    "latency": metrics.latency,
    "cost": metrics.cost,
    "token-usage": metrics.token_usage,
    "execution-metrics": metrics.execution_metrics,
    "tool-trajectory": tools.tool_trajectory,
    "skill-trigger": tools.skill_trigger,
    "skill-used": skill_used,
}
"""Types that need nothing but their entry, and what makes the grader."""
TYPES = frozenset(
    {*SIMPLE_TYPES, *JUDGE_TYPES, *version_5.TYPES, "regex", "field-accuracy", "code-grader", "composite"}
)
NAMED_BY = {
    "contains": "value",
    "icontains": "value",
    "starts-with": "value",
    "ends-with": "value",
    "equals": "value",
    "regex": "value",
    "skill-trigger": "skill",
}
"""Types whose assertions are named after a key, if they have no name."""


# --- lists of assertions ----------------------------------------------------------------------------


def assertions_of(entries: object, at: EntryContext) -> tuple[Assertion, ...]:
    """The assertions of a list whose key path is ``at.key_path``. Raises SuiteError.

    Entries that are texts become one question to the judge, in place of the first of them, with their number as its
    weight. For an empty list the judge is asked about the case's criteria and its expected output.
    """
    if not isinstance(entries, list):
        raise _error(at, "must be a list of assertions")
    if not entries:
        return (_criteria_assertion(at),)
    places = [(entry, replace(at, key_path=f"{at.key_path}[{index}]")) for index, entry in enumerate(entries)]
    included = [one for entry, place in places for one in _included(entry, place, ())]
    criteria = [entry.strip() for entry, _ in included if isinstance(entry, str) and entry.strip()]
    assertions: list[Assertion] = []
    for entry, place in included:
        if isinstance(entry, FunctionReference):
            assertions.append(_function_assertion(entry, place))
        elif not isinstance(entry, str):
            assertions.append(_scored(entry, place))
        elif criteria:
            assertions.append(_rubrics_assertion(criteria, place))
            criteria = []
    return tuple(assertions)


def assertion_of(entry: object, at: EntryContext) -> Assertion:
    """The assertion of one entry; an include that has several becomes a group. Raises SuiteError."""
    assertions = tuple(_single(included, place) for included, place in _included(entry, at, ()))
    return assertions[0] if len(assertions) == 1 else AssertionGroup(assertions, str(entry))


def _criteria_assertion(at: EntryContext) -> Assertion:
    grader = JudgeGrader(prompt=TextPrompt(task=at.task, criteria=at.task.criteria))
    return ScoredAssertion(name="criteria", type="llm-grader", grader=grader, location=at.location)


def _included(entry: object, at: EntryContext, chain: tuple[Path, ...]) -> Iterator[tuple[object, EntryContext]]:
    """The entry itself, or the entries of the file that it includes. ``chain``: the files that include this entry."""
    if not isinstance(entry, dict) or "include" not in entry or "type" in entry:
        yield entry, at
        return
    if others := [key for key in entry if key != "include"]:
        message = f"an include has no other keys, but this one has {others[0]!r}"
        raise _error(at, message, "write it into the assertions of the included file")
    name = at.value(entry).required_text("include")
    is_path = name.startswith(".") or "/" in name or "\\" in name
    path = at.find(name) if is_path else at.find(*(f".agentv/templates/{name}.{end}" for end in ("yaml", "yml")))
    if path is None:
        raise _error(at, f"there is no template {name!r}", "it is a path, or the name of a file in .agentv/templates")
    if path in chain:
        raise _error(at, f"{name} includes itself")
    if len(chain) == MAX_INCLUDE_DEPTH:
        raise _error(at, f"more than {MAX_INCLUDE_DEPTH} includes deep")
    try:
        content = at.read(path, name)
    except SuiteError as error:
        raise _error(at, str(error)) from error
    file = replace(at, key_path=f"{at.key_path}.{name}")
    top = file.value(content)
    entries = top.member("assertions").value
    if not isinstance(entries, list):
        message = f"{name} has no list of assertions"
        raise top.missing("assertions", "assertions: [{type: contains, value: done}]", message)
    at.warnings.extend((*top.unknown_keys({"assertions"}), *unknown_in_assertions(file.value(entries))))
    for index, included in enumerate(entries):
        inside = replace(at, key_path=f"{at.key_path}.{name}[{index}]", roots=(path.parent, *at.roots))
        yield from _included(included, inside, (*chain, path))


def _single(entry: object, at: EntryContext) -> ScoredAssertion:
    if isinstance(entry, FunctionReference):
        return _function_assertion(entry, at)
    return _rubrics_assertion([entry.strip()], at) if isinstance(entry, str) else _scored(entry, at)


def _function_assertion(function: FunctionReference, at: EntryContext) -> ScoredAssertion:
    name = f"function {function.number + 1}"
    grader = FunctionGrader(function, at.task, compat=at.compat)
    return ScoredAssertion(name=name, type="function", grader=grader, location=at.location)


def _rubrics_assertion(criteria: list[str], at: EntryContext) -> ScoredAssertion:
    if not all(criteria):
        raise _error(at, "the assertion is empty")
    prompt = TextPrompt(task=at.task, criteria=at.task.criteria)
    grader = JudgeGrader(prompt=prompt, rubrics=rubrics_in(at.value({"criteria": criteria}), "criteria"))
    name = criteria[0] if len(criteria) == 1 else "rubrics"
    return ScoredAssertion(name=name, type="rubrics", grader=grader, weight=float(len(criteria)), location=at.location)


def _scored(value: object, at: EntryContext) -> ScoredAssertion:
    written = at.value(value).snake_case()
    if not written.has("type") and written.misspelled("include"):
        raise written.missing("include", "", "has neither type nor include")
    shown = version_5.plain_type(written.required_text("type"))
    entry = version_5.translated(written, at)
    type_ = entry.required_text("type").replace("_", "-")
    if shown in ASSERTIONS and not (shown == type_ and shown in version_5.RENAMED):  # else it is the suite's own type
        refuse_misspelled_in(written, ASSERTIONS[shown])
    if type_ == "assert-set":
        grader: Grader = _assert_set(entry, at)
    else:
        grader = _composite(entry, at) if type_ == "composite" else _grader(entry, at, type_)
    weight = entry.number("weight")
    required, min_score = entry.member("required").value, _min_score(entry, "min_score")
    if required is not None and not isinstance(required, bool):  # a number is a minimum score, too
        least = _min_score(entry, "required")
        min_score = min_score or least
    return ScoredAssertion(
        name=entry.scalar_text("name") or _default_name(written, shown),
        type=shown,
        grader=grader,
        weight=1.0 if weight is None else weight,
        required=bool(required),
        min_score=min_score,
        negate=entry.flag("negate"),
        location=at.location,
    )


def _min_score(entry: SuiteValue, key: str) -> float | None:
    value = entry.number(key, most=1)
    if value == 0:
        raise entry.invalid(key, "a number above 0")
    return value


def _default_name(entry: SuiteValue, type_: str) -> str:
    """The name that AgentV gives an entry without one."""
    if type_ in texts.LISTS:
        return f"{type_}-{len(entry.scalar_texts('value'))}"
    if type_ == "llm-rubric" and isinstance(entry.member("value").value, str):
        return entry.required_text("value").strip()
    if type_ in NAMED_BY and (word := entry.scalar_text(NAMED_BY[type_])):
        return f"{type_}-{word[:MAX_ASSERTION_NAME_CHARACTERS] if type_ == 'regex' else word}"
    return type_


def _error(at: EntryContext, message: str, remedy: str | None = None) -> SuiteError:
    problem = Problem(message=message, location=at.location, key_path=at.key_path, remedy=remedy)
    return SuiteError(message, problems=(problem,))


# --- graders ----------------------------------------------------------------------------------------


def _grader(entry: SuiteValue, at: EntryContext, type_: str) -> Grader:
    """The grader of an entry of any type except ``composite``. Raises SuiteError."""
    if type_ in SIMPLE_TYPES:
        return SIMPLE_TYPES[type_](entry, type_)
    if type_ == "regex":
        return texts.matches(entry, at.patterns)
    if type_ == "field-accuracy":
        return field_accuracy(entry, at.task.expected_output)
    if type_ == "code-grader":
        return code_grader(entry, at)
    return _judge_grader(entry, at, type_) if type_ in JUDGE_TYPES else _other_grader(entry, at, type_)


def _other_grader(entry: SuiteValue, at: EntryContext, type_: str) -> Grader:
    if type_.startswith(version_5.TRAJECTORY) and type_ in version_5.TYPES:
        return trajectory(entry, at, type_.removeprefix(version_5.TRAJECTORY))
    if custom := custom_grader(entry, at, type_):
        return custom
    remedy = f"write {type_.replace('-judge', '-grader')}" if type_.endswith("-judge") else did_you_mean(type_, TYPES)
    raise entry.member("type").error(f"unknown assertion type {type_!r}", remedy)


def _judge_grader(entry: SuiteValue, at: EntryContext, type_: str) -> JudgeGrader:
    key = JUDGE_TYPES[type_]
    rubrics = rubrics_in(entry, key) if entry.has(key) or type_ != "llm-grader" else ()
    votes = votes_in(entry)
    if isinstance(entry.member("prompt").value, dict) and (prompt := entry.child("prompt")):
        argv = prompt.scalar_texts("command") or prompt.scalar_texts("script")
        config = prompt.child("config")
        if not argv:
            raise prompt.invalid("command", "a list of a program and its arguments")
        writer = program(argv, at, config.mapping() if config else {})
        text = TextPrompt(task=at.task, criteria=at.task.criteria)
        return JudgeGrader(prompt=PromptProgram(writer, text), rubrics=rubrics, votes=votes)
    return JudgeGrader(prompt=text_prompt(entry, at), rubrics=rubrics, votes=votes)


def _composite(entry: SuiteValue, at: EntryContext) -> Composite:
    key = next((name for name in ("assertions", "assert", "evaluators") if entry.has(name)), "assertions")
    members = tuple(
        _single(included, place)
        for item in (entry.member(key).items() if entry.has(key) else ())
        for included, place in _included(item.value, replace(at, key_path=item.name), ())
    )
    if not members:
        raise entry.invalid(key, "a list of assertions that is not empty")
    return Composite(members=members, aggregator=_aggregator(entry, at))


def _assert_set(entry: SuiteValue, at: EntryContext) -> AssertSet:
    """``assert-set``. Its ``config`` is that of its members, except for keys that they have themselves."""
    key = "assert" if entry.has("assert") or not entry.has("assertions") else "assertions"
    config = entry.child("config")
    shared = config.mapping() if config else {}
    members = tuple(
        _single(_with_config(included, shared), place)
        for item in (entry.member(key).items() if entry.has(key) else ())
        for included, place in _included(item.value, replace(at, key_path=item.name), ())
    )
    if not members:
        raise entry.invalid(key, "a list of assertions that is not empty")
    return AssertSet(members=members, threshold=entry.number("threshold", most=1))


def _with_config(member: object, shared: dict[str, object]) -> object:
    if not shared or not isinstance(member, dict):
        return member
    if version_5.plain_type(member.get("type")) not in version_5.WITH_CONFIG:
        return member
    own = member.get("config")
    return {**member, "config": {**shared, **(own if isinstance(own, dict) else {})}}


def _aggregator(entry: SuiteValue, at: EntryContext) -> Aggregator:
    """What makes one grade of those of a composite's members. Raises SuiteError."""
    aggregator = entry.child("aggregator")
    if aggregator is None:
        raise entry.invalid("aggregator", f"a mapping with a type: {', '.join(AGGREGATORS)}")
    type_ = (aggregator.scalar_text("type") or "").replace("_", "-")
    if type_ == "weighted-average":
        return weighted_average(aggregator)
    if type_ == "threshold":
        return passing_share(aggregator)
    if type_ in {"code-grader", "script"}:
        return program_aggregator(aggregator, at.folder, compat=at.compat)
    if type_ in {"llm-grader", "llm-rubric"}:
        prompt = aggregator.scalar_text("prompt") or JUDGE_PROMPT
        if prompt.startswith("file://"):
            prompt = at.file_text(aggregator.member("prompt"), prompt.removeprefix("file://"))
        return JudgeAggregator(prompt, votes_in(aggregator))
    raise aggregator.invalid("type", f"one of {', '.join(AGGREGATORS)}")
