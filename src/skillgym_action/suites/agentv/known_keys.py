"""The keys of AgentV's files, wherever they are: a key without effect is a warning, or an error in an assertion."""

from __future__ import annotations

from dataclasses import field, replace
from itertools import islice
from typing import TYPE_CHECKING

from skillgym_action.model.json_codec import camel_case
from skillgym_action.model.limits import MAX_AGENTV_WARNINGS
from skillgym_action.model.records import record
from skillgym_action.suites.agentv.metric_graders import METRICS, TOKENS
from skillgym_action.suites.agentv.version_5_assertions import plain_type
from skillgym_action.suites.agentv.workspaces import KNOWN_KEYS as WORKSPACE_KEYS
from skillgym_action.suites.agentv.workspaces import STAGES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from skillgym_action.model.errors import Problem
    from skillgym_action.suites.values import SuiteValue


@record(kw_only=False)
class Shape:
    """The known keys of a mapping; ``inner``: those of the mapping, or of the mappings in the list, below a key.

    ``in_list``: a mapping in place of the list has other keys, which are free.
    """

    keys: frozenset[str]
    inner: Mapping[str, Shape] = field(default_factory=dict)
    in_list: bool = False


def _keys(words: str) -> frozenset[str]:
    return frozenset(words.split())


_COMMON = _keys("name type weight required min_score negate metric")
_JUDGED = _COMMON | _keys("prompt target config max_steps temperature preprocessors votes rubrics criteria")
_RANGES = {"score_ranges": Shape(_keys("score_range outcome"), in_list=True)}
RUBRIC = Shape(_keys("id outcome criteria operator weight required min_score required_min_score score_ranges"), _RANGES)
_PROMPT = Shape(_keys("command script config"))
_AGGREGATOR = Shape(_keys("type weights threshold path prompt votes"))
_MEMBERS = ("assertions", "assert", "evaluators")
_VALUE = Shape(_COMMON | {"value"})
_SEQUENCE = Shape(_keys("mode steps name pattern"), {"steps": Shape(_keys("name pattern"))})
ASSERTIONS: Mapping[str, Shape] = {
    **dict.fromkeys(
        ("contains", "contains-any", "contains-all", "icontains", "icontains-any", "icontains-all"), _VALUE
    ),
    **dict.fromkeys(("starts-with", "ends-with", "equals"), _VALUE),
    "regex": Shape(_COMMON | {"value", "flags"}),
    "is-json": Shape(_COMMON),
    "latency": Shape(_COMMON | {"threshold"}),
    "cost": Shape(_COMMON | {"budget", "threshold"}),
    "token-usage": Shape(_COMMON | frozenset(TOKENS)),
    "execution-metrics": Shape(_COMMON | {*METRICS, "target_exploration_ratio", "exploration_tolerance"}),
    "skill-trigger": Shape(_COMMON | {"skill", "should_trigger"}),
    "tool-trajectory": Shape(
        _COMMON | {"mode", "minimums", "expected", "args_match"},
        {"expected": Shape(_keys("tool args args_match max_duration_ms"))},
    ),
    "field-accuracy": Shape(
        _COMMON | {"fields", "aggregation"},
        {"fields": Shape(_keys("path match required weight tolerance relative formats"))},
    ),
    "composite": Shape(_COMMON | {*_MEMBERS, "aggregator"}, {"aggregator": _AGGREGATOR}),
    "llm-grader": Shape(_JUDGED, {"rubrics": RUBRIC, "prompt": _PROMPT}),
    "rubrics": Shape(_JUDGED, {"criteria": RUBRIC, "prompt": _PROMPT}),
    "rubric": Shape(_JUDGED, {"rubrics": RUBRIC, "prompt": _PROMPT}),
    "llm-rubric": Shape(
        _JUDGED | _keys("value provider threshold"), {"value": RUBRIC, "rubrics": RUBRIC, "prompt": _PROMPT}
    ),
    "assert-set": Shape(_COMMON | _keys("assert assertions threshold config")),
    **dict.fromkeys(("javascript", "python"), Shape(_COMMON | _keys("value threshold config"))),
    "skill-used": Shape(_COMMON | {"value"}, {"value": Shape(_keys("name pattern min max"))}),
    "trajectory:tool-used": Shape(_COMMON | {"value"}, {"value": Shape(_keys("name pattern min max"))}),
    "trajectory:tool-sequence": Shape(_COMMON | {"value"}, {"value": _SEQUENCE}),
    "trajectory:tool-args-match": Shape(
        _COMMON | {"value"}, {"value": Shape(_keys("name pattern args arguments mode defaults ignore"))}
    ),
    "trajectory:step-count": Shape(_COMMON | {"value"}, {"value": Shape(_keys("name pattern type min max"))}),
    "trajectory:goal-success": Shape(_COMMON | {"value"}, {"value": Shape(_keys("goal"))}),
}
"""Types whose keys are known. Those of a program, and of a type of the suite's own, are its configuration."""

NOT_OF_THE_JUDGE = {
    "target": ("the judge is that of the configuration, for all questions", "set run.judge"),
    "temperature": ("the judge is asked with the default of its model", "use votes: 3 for more than one answer"),
    "max_steps": ("the judge answers at once, without tools", "a code-grader can look at the workspace"),
    "preprocessors": ("the judge reads files as they are", "convert them with a hook before_each"),
}
"""Keys of questions to the judge that have no effect: why, and what to do."""

EXECUTION_OF_TEST = Shape(_keys("targets threshold skip_defaults assertions assert evaluators"))
TRIALS = Shape(_keys("count strategy cost_limit_usd costLimitUsd"))
_HOOK = Shape(_keys("command script timeout_ms cwd reset"))
_HOOKS = Shape(frozenset({*STAGES, "enabled"}), dict.fromkeys(STAGES, _HOOK))
TARGET_OF_SUITE = Shape(_keys("name use_target hooks"), {"hooks": _HOOKS})
WORKSPACE = Shape(WORKSPACE_KEYS, {"hooks": _HOOKS, "env": Shape(_keys("required_commands required_python_modules"))})


def unknown_in(value: SuiteValue | None, shape: Shape) -> Iterator[Problem]:
    """Warnings about keys of a mapping, and of those in it, that have no effect. Only mappings are looked at."""
    if value is None:
        return
    if isinstance(value.value, list):
        for item in value.items():
            yield from unknown_in(item, shape)
    elif isinstance(value.value, dict):
        yield from value.unknown_keys(shape.keys | set(map(camel_case, shape.keys)))
        for key, inner in shape.inner.items():
            member = value.get(key)
            if not (inner.in_list and member and isinstance(member.value, dict)):
                yield from unknown_in(member, inner)


def refuse_misspelled_in(value: SuiteValue, shape: Shape) -> None:
    """Raise SuiteError for a key of a mapping, or of those in it, that is nearly a known one."""
    if isinstance(value.value, list):
        for item in value.items():
            refuse_misspelled_in(item, shape)
    elif isinstance(value.value, dict):
        written = value.snake_case()
        named = {key: item for key, item in written.mapping().items() if not key.startswith(("x-", "$"))}
        replace(written, value=named).refuse_misspelled_keys(shape.keys)
        for key, inner in shape.inner.items():
            member = written.get(key)
            if member and not (inner.in_list and isinstance(member.value, dict)):
                refuse_misspelled_in(member, inner)


def unknown_in_assertions(entries: SuiteValue | None) -> Iterator[Problem]:
    """The same for a list of assertions, and for those of composites in it."""
    if entries is None or not isinstance(entries.value, list):
        return
    for entry in islice(entries.items(), MAX_AGENTV_WARNINGS):
        kind = plain_type(entry.value.get("type")) if isinstance(entry.value, dict) else ""
        if shape := ASSERTIONS.get(kind):
            yield from unknown_in(entry, shape)
            if "prompt" in shape.keys:
                yield from _without_effect(entry)
            for key in _MEMBERS if kind in {"composite", "assert-set"} else ():
                yield from unknown_in_assertions(entry.get(key))


def _without_effect(entry: SuiteValue) -> Iterator[Problem]:
    """Warnings about keys of a question to the judge that AgentV reads, and that do nothing here."""
    for key, (message, remedy) in NOT_OF_THE_JUDGE.items():
        if value := entry.get(key, camel_case(key)):
            yield value.problem(f"{key} has no effect: {message}", remedy)


def each_once(problems: Iterable[Problem], most: int) -> list[Problem]:
    """At most so many problems, none twice."""
    return list(dict.fromkeys(islice(problems, max(0, most))))
