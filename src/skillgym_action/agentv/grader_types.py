"""AgentV's types of assertions, and how the entry of each becomes a grader."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillgym_action.agentv import metric_graders as figures
from skillgym_action.agentv import text_graders as text
from skillgym_action.agentv import tool_graders as tools
from skillgym_action.agentv.composite_graders import (
    AGGREGATORS,
    DECIDE,
    ByJudge,
    by_program,
    share,
    weighted_average,
)
from skillgym_action.agentv.field_graders import field_accuracy
from skillgym_action.agentv.judge_prompts import Asking
from skillgym_action.agentv.model_graders import Judged, asking, rubrics_of
from skillgym_action.agentv.program_graders import WrittenByProgram, code_grader, custom_grader, program
from skillgym_action.model.errors import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable

    from skillgym_action.agentv.assertions import Where
    from skillgym_action.agentv.composite_graders import Aggregator
    from skillgym_action.assertions.grades import Grader
    from skillgym_action.documents.entries import Entry

_NAMED = 30


COMMON = frozenset({"name", "type", "weight", "required", "min_score", "negate"})
JUDGED = {"llm-grader": "rubrics", "rubrics": "criteria", "rubric": "rubrics"}
PLAIN: dict[str, tuple[Callable[[Entry, str], Grader], frozenset[str]]] = {
    "contains": (text.contains, frozenset({"value"})),
    "contains-any": (text.contains, frozenset({"value"})),
    "contains-all": (text.contains, frozenset({"value"})),
    "icontains": (text.contains, frozenset({"value"})),
    "icontains-any": (text.contains, frozenset({"value"})),
    "icontains-all": (text.contains, frozenset({"value"})),
    "starts-with": (text.compares, frozenset({"value"})),
    "ends-with": (text.compares, frozenset({"value"})),
    "equals": (text.compares, frozenset({"value"})),
    "is-json": (text.is_json, frozenset()),
    "latency": (figures.latency, frozenset({"threshold"})),
    "cost": (figures.cost, frozenset({"budget"})),
    "token-usage": (figures.token_usage, frozenset(figures.TOKENS)),
    "execution-metrics": (
        figures.execution_metrics,
        frozenset({*figures.METRICS, "target_exploration_ratio", "exploration_tolerance"}),
    ),
    "tool-trajectory": (tools.tool_trajectory, frozenset({"mode", "minimums", "expected", "args_match"})),
    "skill-trigger": (tools.skill_trigger, frozenset({"skill", "should_trigger"})),
}
NAMED_BY = {
    "contains": "value",
    "icontains": "value",
    "starts-with": "value",
    "ends-with": "value",
    "equals": "value",
    "regex": "value",
    "skill-trigger": "skill",
}
REGEX = frozenset({"value", "flags"})
KINDS = frozenset({*PLAIN, *JUDGED, "regex", "field-accuracy", "code-grader", "composite"})


def grader_of(entry: Entry, at: Where, kind: str) -> Grader:
    """The grader of an entry of any type but ``composite``. Raises SuiteError."""
    if kind in PLAIN:
        make, keys = PLAIN[kind]
        entry.refuse_typing_errors(COMMON | keys)
        return make(entry, kind)
    if kind == "regex":
        entry.refuse_typing_errors(COMMON | REGEX)
        return text.matches(entry, at.patterns)
    if kind == "field-accuracy":
        entry.refuse_typing_errors(COMMON | {"fields", "aggregation"})
        return field_accuracy(entry, at.task.expected_output)
    if kind == "code-grader":
        return code_grader(entry, at)
    if kind in JUDGED:
        return _judged(entry, at, kind)
    if custom := custom_grader(entry, at, kind):
        return custom
    remedy = f"write {kind.replace('-judge', '-grader')}" if kind.endswith("-judge") else did_you_mean(kind, KINDS)
    raise entry.error(f"there is no assertion of the type {kind!r}", "type", remedy)


def name_of(entry: Entry, kind: str) -> str:
    """The name that AgentV gives an entry without one."""
    if kind in text.LISTS:
        return f"{kind}-{len(entry.texts('value'))}"
    if kind in NAMED_BY and (word := entry.text(NAMED_BY[kind])):
        return f"{kind}-{word[:_NAMED] if kind == 'regex' else word}"
    return kind


def aggregator_of(entry: Entry, at: Where) -> Aggregator:
    """How a composite's grades become one. Raises SuiteError."""
    aggregator = entry.child("aggregator")
    if aggregator is None:
        raise entry.wrong("aggregator", f"a mapping with a type: {', '.join(AGGREGATORS)}")
    kind = (aggregator.text("type") or "").replace("_", "-").replace("weighted-average", "weighted_average")
    if kind == "weighted_average":
        return weighted_average(aggregator)
    if kind == "threshold":
        return share(aggregator)
    if kind == "code-grader":
        return by_program(aggregator, at.folder)
    if kind == "llm-grader":
        prompt = aggregator.text("prompt") or DECIDE
        if prompt.startswith("file://"):
            prompt = at.text_of(aggregator, "prompt", prompt.removeprefix("file://"))
        return ByJudge(prompt)
    raise aggregator.wrong("type", f"one of {', '.join(AGGREGATORS)}")


def _judged(entry: Entry, at: Where, kind: str) -> Judged:
    key = JUDGED[kind]
    rubrics = rubrics_of(entry, key) if entry.has(key) or kind != "llm-grader" else ()
    if isinstance(entry.value.get("prompt"), dict) and (written := entry.child("prompt")):
        argv = written.texts("command") or written.texts("script")
        config = written.child("config")
        if not argv:
            raise written.wrong("command", "a list of a program and its arguments")
        writer = program(argv, at, config.value if config else {})
        asks = Asking(task=at.task, criteria=at.task.criteria)
        return Judged(prompt=WrittenByProgram(writer, asks), rubrics=rubrics)
    return Judged(prompt=asking(entry, at), rubrics=rubrics)
