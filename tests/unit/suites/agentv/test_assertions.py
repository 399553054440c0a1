"""AgentV's assertions that need neither a program nor a judge: each type, both outcomes, its edges, its exact score."""

from __future__ import annotations

import pytest

from agentv_context import HERE, call, entry_context, graded, loaded, said, session
from skillgym_action.model.errors import SuiteError
from skillgym_action.model.session_report import ObservedFiles
from skillgym_action.suites.agentv.assertions import assertion_of
from skillgym_action.suites.agentv.grader_context import Task


def scored(entry, report, **settings):
    outcome = graded(entry, report, **settings)
    assert outcome.trouble is None
    return round(outcome.score, 4)


# --- the answer's text ------------------------------------------------------------------------------

TEXTS = [
    pytest.param({"type": "contains", "value": "ok"}, "it is ok", 1, id="contains"),
    pytest.param({"type": "contains", "value": "OK"}, "it is ok", 0, id="contains minds upper case"),
    pytest.param({"type": "contains", "value": 42}, "the answer is 42", 1, id="a number is text"),
    pytest.param({"type": "contains", "value": True}, "it is true", 1, id="true is text"),
    pytest.param({"type": "contains-any", "value": ["no", "ok"]}, "it is ok", 1, id="any of two"),
    pytest.param({"type": "contains-any", "value": ["no", "OK"]}, "it is ok", 0, id="none of two"),
    pytest.param({"type": "contains-all", "value": ["it", "ok"]}, "it is ok", 1, id="all of two"),
    pytest.param({"type": "contains-all", "value": ["it", "no"]}, "it is ok", 0, id="one of two is not all"),
    pytest.param({"type": "icontains", "value": "OK"}, "it is ok", 1, id="icontains"),
    pytest.param({"type": "icontains", "value": "no"}, "it is ok", 0, id="icontains fails"),
    pytest.param({"type": "icontains_any", "value": ["NO", "OK"]}, "it is ok", 1, id="snake case is the same type"),
    pytest.param({"type": "icontains-any", "value": ["NO"]}, "it is ok", 0, id="icontains-any fails"),
    pytest.param({"type": "icontains-all", "value": ["IT", "OK"]}, "it is ok", 1, id="icontains-all"),
    pytest.param({"type": "icontains-all", "value": ["IT", "NO"]}, "it is ok", 0, id="icontains-all fails"),
    pytest.param({"type": "starts-with", "value": " it "}, "\n it is ok", 1, id="starts-with trims both sides"),
    pytest.param({"type": "starts-with", "value": "is"}, "it is ok", 0, id="starts-with fails"),
    pytest.param({"type": "ends-with", "value": "ok"}, "it is ok\n", 1, id="ends-with trims"),
    pytest.param({"type": "ends-with", "value": "is"}, "it is ok", 0, id="ends-with fails"),
    pytest.param({"type": "equals", "value": "ok"}, "\ufeff\xa0ok\n", 1, id="equals trims what JavaScript trims"),
    pytest.param({"type": "equals", "value": "ok"}, "\x1cok", 0, id="equals keeps what JavaScript keeps"),
    pytest.param({"type": "equals", "value": "ok"}, "Ok", 0, id="equals minds upper case"),
    pytest.param({"type": "regex", "value": "^it"}, "it is ok", 1, id="regex"),
    pytest.param({"type": "regex", "value": "^OK", "flags": "i"}, "it is ok", 0, id="regex fails"),
    pytest.param({"type": "regex", "value": "^OK$", "flags": "im"}, "it is\nok", 1, id="regex with flags"),
    pytest.param({"type": "regex", "value": "t.i", "flags": "s"}, "it\nis", 1, id="dot matches line ends"),
    pytest.param({"type": "regex", "value": r"\u{1F600}", "flags": "u"}, "\U0001f600", 1, id="regex of a code point"),
    pytest.param({"type": "regex", "value": "is", "flags": "g"}, "it is", 1, id="global changes nothing"),
    pytest.param({"type": "regex", "value": "is", "flags": "y"}, "it is", 0, id="sticky begins at the beginning"),
    pytest.param({"type": "regex", "value": r"\d"}, "\u0663", 0, id="digits are ASCII"),
    pytest.param({"type": "is-json"}, '{"a": [1]}', 1, id="an object is JSON"),
    pytest.param({"type": "is-json"}, "42", 1, id="a number is JSON"),
    pytest.param({"type": "is-json"}, ' "text" ', 1, id="a text with blanks is JSON"),
    pytest.param({"type": "is-json"}, "{a: 1}", 0, id="JavaScript is no JSON"),
    pytest.param({"type": "is-json"}, "NaN", 0, id="NaN is no JSON"),
    pytest.param({"type": "is-json"}, "", 0, id="nothing is no JSON"),
    pytest.param({"type": "is-json"}, '{"a": 1} done', 0, id="JSON and more is no JSON"),
    pytest.param({"type": "is-json"}, "[" * 100_000, 0, id="nesting without end is no JSON"),
]


@pytest.mark.parametrize(("entry", "answer", "score"), TEXTS)
def test_a_grader_of_the_answer(entry, answer, score):
    outcome = graded(entry, session(answer))
    assert (outcome.score, outcome.passed) == (score, score == 1)


def test_a_failure_says_what_was_found():
    outcome = graded({"type": "contains-all", "value": ["it", "no", "never"]}, session("it is ok"))
    assert outcome.explanation == "the answer does not contain 'no' and 'never'"
    assert outcome.evidence == "it is ok"
    assert graded({"type": "equals", "value": "x"}, session("")).evidence == "(the answer is empty)"


@pytest.mark.timed
def test_a_pattern_that_takes_for_ever_cannot_tell():
    outcome = graded({"type": "regex", "value": "(a|aa)+$"}, session("a" * 2000 + "b"))
    assert (outcome.passed, outcome.trouble) == (None, "grader")
    assert outcome.explanation == "assertions[0].value: /(a|aa)+$/ was searched for more than 2 s"


# --- figures ----------------------------------------------------------------------------------------

TOOLS = [call("Read"), call("Grep"), call("Edit"), call("Bash")]
FIGURES = [
    pytest.param({"type": "latency", "threshold": 100}, session(ms=100), 1, id="latency at its limit"),
    pytest.param({"type": "latency", "threshold": 99.5}, session(ms=100), 0, id="latency above"),
    pytest.param({"type": "latency", "threshold": 100}, session(), 0, id="latency unknown"),
    pytest.param({"type": "cost", "budget": 0.5}, session(usd=0.5), 1, id="cost at its limit"),
    pytest.param({"type": "cost", "budget": 0}, session(usd=0.01), 0, id="cost above"),
    pytest.param({"type": "cost", "budget": 1}, session(), 0, id="cost unknown"),
    pytest.param({"type": "token-usage", "max_total": 175}, session(tokens=(100, 50, 25)), 1, id="total with cached"),
    pytest.param({"type": "token-usage", "max_total": 174}, session(tokens=(100, 50, 25)), 0, id="total above"),
    pytest.param({"type": "token-usage", "maxInput": 100}, session(tokens=(100, 50)), 1, id="camelCase"),
    pytest.param(
        {"type": "token-usage", "max_input": 100, "max_output": 49},
        session(tokens=(100, 50)),
        0,
        id="one above is none",
    ),
    pytest.param(
        {"type": "token-usage", "max_output": 60}, session(tokens=(1, 50, 0, 20)), 0, id="reasoning is output"
    ),
    pytest.param({"type": "token-usage", "max_total": 9}, session(), 0, id="tokens unknown"),
    pytest.param({"type": "execution-metrics", "max_tool_calls": 4}, session("", *TOOLS), 1, id="tool calls"),
    pytest.param({"type": "execution-metrics", "max_tool_calls": 3}, session("", *TOOLS), 0, id="too many tool calls"),
    pytest.param(
        {"type": "execution-metrics", "max_llm_calls": 2},
        session("b", said("a"), said("b")),
        1,
        id="model calls are what it said",
    ),
    pytest.param(
        {"type": "execution-metrics", "max_llm_calls": 2},
        session("b", said("a"), turns=3),
        0,
        id="model calls are what the agent reports",
    ),
    pytest.param({"type": "execution-metrics", "max_llm_calls": 0}, session("b"), 0, id="an answer is a model call"),
    pytest.param(
        {"type": "execution-metrics", "max_tokens": 150}, session(tokens=(100, 50, 25)), 1, id="tokens without cached"
    ),
    pytest.param({"type": "execution-metrics", "max_tokens": 149}, session(tokens=(100, 50)), 0, id="too many tokens"),
    pytest.param({"type": "execution-metrics", "max_cost_usd": 1}, session(usd=1), 1, id="money"),
    pytest.param({"type": "execution-metrics", "max_duration_ms": 10}, session(ms=11), 0, id="time"),
    pytest.param(
        {"type": "execution-metrics", "max_tool_calls": 9, "max_cost_usd": 1, "max_duration_ms": 10},
        session("", *TOOLS, ms=11, usd=0.5),
        0.6667,
        id="two of three",
    ),
    pytest.param(
        {"type": "execution-metrics", "maxToolCalls": 9, "max_tokens": 5},
        session("", *TOOLS),
        0.5,
        id="what is unknown is not within",
    ),
    pytest.param(
        {"type": "execution-metrics", "target_exploration_ratio": 0.5},
        session("", *TOOLS),
        1,
        id="exploration on target",
    ),
    pytest.param(
        {"type": "execution-metrics", "target_exploration_ratio": 0.3},
        session("", *TOOLS),
        1,
        id="exploration within 0.2",
    ),
    pytest.param(
        {"type": "execution-metrics", "target_exploration_ratio": 0.3, "exploration_tolerance": 0},
        session("", *TOOLS),
        0,
        id="exploration without tolerance",
    ),
    pytest.param(
        {"type": "execution-metrics", "target_exploration_ratio": 0.5},
        session(),
        0,
        id="exploration without tool calls",
    ),
]


@pytest.mark.parametrize(("entry", "report", "score"), FIGURES)
def test_a_grader_of_figures(entry, report, score):
    assert scored(entry, report) == score


def test_figures_are_told_one_by_one():
    entry = {"type": "execution-metrics", "max_tool_calls": 3, "max_cost_usd": 1}
    outcome = graded(entry, session("", *TOOLS, usd=0.25))
    assert outcome.explanation == "1 of 2 passed; tool calls: 4 > 3"
    assert outcome.evidence == "no: tool calls: 4 > 3\nyes: cost: $0.2500 <= $1.0000"


# --- tools ------------------------------------------------------------------------------------------

READ_A, READ_B, EDIT = call("Read", {"path": "a"}), call("Read", {"path": "b"}), call("Edit", {"path": "a", "n": 1})


def trajectory(mode, *expected, **more):
    return {"type": "tool-trajectory", "mode": mode, "expected": list(expected), **more}


def tool(name, args=None, **more):
    return {"tool": name, **({} if args is None else {"args": args}), **more}


TRAJECTORIES = [
    pytest.param(
        {"type": "tool-trajectory", "mode": "any_order", "minimums": {"Read": 2, "Edit": 1}},
        [READ_A, READ_B, EDIT],
        1,
        id="any_order",
    ),
    pytest.param(
        {"type": "tool-trajectory", "mode": "any_order", "minimums": {"Read": 3, "Edit": 1, "readFile": 1}},
        [READ_A, READ_B, EDIT],
        0.3333,
        id="any_order: one of three",
    ),
    pytest.param({"type": "tool-trajectory", "mode": "any_order", "minimums": {}}, [], 1, id="any_order: nothing"),
    pytest.param({"type": "tool-trajectory", "mode": "any_order", "minimums": {"Read": 0}}, [], 1, id="at least 0"),
    pytest.param(
        trajectory("in_order", tool("Read"), tool("Edit")), [READ_A, READ_B, EDIT], 1, id="in_order: others between"
    ),
    pytest.param(trajectory("in_order", tool("Edit"), tool("Read")), [READ_A, EDIT], 0.5, id="in_order: the other way"),
    pytest.param(
        trajectory("in_order", tool("Write"), tool("Read")),
        [READ_A, EDIT],
        0,
        id="in_order: what is not found uses up the rest",
    ),
    pytest.param(
        trajectory("in_order", tool("Read", {"path": "b"}), tool("Read", {"path": "b"})),
        [READ_A, READ_B],
        0.5,
        id="in_order: wrong arguments use the call up",
    ),
    pytest.param(trajectory("in_order"), [READ_A], 1, id="in_order: nothing expected"),
    pytest.param(trajectory("exact", tool("Read"), tool("Edit")), [READ_A, EDIT], 1, id="exact"),
    pytest.param(trajectory("exact", tool("Read"), tool("Edit")), [EDIT, READ_A], 0, id="exact: the other way"),
    pytest.param(trajectory("exact", tool("Read")), [READ_A, EDIT], 1, id="exact: more calls lower nothing"),
    pytest.param(trajectory("exact", tool("Read"), tool("Edit")), [READ_A], 0.5, id="exact: a call is missing"),
    pytest.param(trajectory("exact"), [READ_A], 1, id="exact: nothing expected"),
    pytest.param(
        trajectory("superset", tool("Edit"), tool("Read", {"path": "b"})),
        [READ_A, READ_B, EDIT],
        1,
        id="superset in any order",
    ),
    pytest.param(
        trajectory("superset", tool("Read"), tool("Read"), tool("Read")),
        [READ_A, READ_B],
        0.6667,
        id="superset: each call counts once",
    ),
    pytest.param(trajectory("superset"), [], 1, id="superset of nothing"),
    pytest.param(trajectory("subset", tool("Read")), [READ_A, READ_B, EDIT], 0.6667, id="subset: two of three allowed"),
    pytest.param(trajectory("subset", tool("Read", {"path": "a"}), tool("Edit")), [READ_A, EDIT], 1, id="subset"),
    pytest.param(trajectory("subset", tool("Read")), [], 1, id="subset: no calls"),
    pytest.param(trajectory("subset"), [READ_A], 0, id="subset: nothing is allowed"),
    pytest.param(trajectory("subset"), [], 1, id="subset: nothing of nothing"),
]


@pytest.mark.parametrize(("entry", "calls", "score"), TRAJECTORIES)
def test_a_trajectory(entry, calls, score):
    assert scored(entry, session("", *calls)) == score


ARGUMENTS = [
    pytest.param(tool("Edit", {"n": 1.0, "path": "a"}), 1, id="equal, in any order"),
    pytest.param(tool("Edit", {"n": True, "path": "a"}), 0, id="true is not 1"),
    pytest.param(tool("Edit", {"path": "a"}), 0, id="exact is the default"),
    pytest.param(tool("Edit", "any"), 1, id="any"),
    pytest.param(tool("Edit", {"path": "z"}, args_match="ignore"), 1, id="ignore"),
    pytest.param(tool("Edit", {"path": "a"}, args_match="superset"), 1, id="superset: more is fine"),
    pytest.param(tool("Edit", {"path": "a", "x": 1}, args_match="superset"), 0, id="superset: less is not"),
    pytest.param(tool("Edit", {"path": "a", "n": 1, "x": 1}, argsMatch="subset"), 1, id="subset: less is fine"),
    pytest.param(tool("Edit", {"path": "a"}, args_match="subset"), 0, id="subset: more is not"),
    pytest.param(tool("Edit", {"path": "a", "n": 2}, args_match=["path"]), 1, id="only these fields"),
    pytest.param(tool("Edit", {"path": "a", "n": 2}, args_match=["n"]), 0, id="a field that differs"),
    pytest.param(tool("Edit", {"path": "a"}, args_match=["z"]), 1, id="a field that is not expected"),
    pytest.param(tool("Edit", {"list": [{"x": 1}]}, args_match=["list.0.x"]), 0, id="a path to nowhere"),
]


@pytest.mark.parametrize(("item", "score"), ARGUMENTS)
def test_arguments(item, score):
    assert scored(trajectory("exact", item), session("", EDIT)) == score


def test_arguments_are_compared_by_the_rule_of_the_whole_unless_they_have_their_own():
    items = [tool("Edit", {"n": 1}), tool("Edit", {"n": 1}, args_match="exact")]
    assert scored(trajectory("exact", *items, args_match="superset"), session("", EDIT, EDIT)) == 0.5


def test_arguments_at_a_path_are_compared():
    deep = call("Edit", {"at": {"lines": [{"n": 3}]}})
    entry = trajectory("exact", tool("Edit", {"at": {"lines": [{"n": 3}]}, "x": 1}, args_match=["at.lines.0.n"]))
    assert scored(entry, session("", deep)) == 1


def test_arguments_that_are_no_mapping_fit_nothing_but_any():
    assert scored(trajectory("exact", tool("Edit", {})), session("", call("Edit", "text"))) == 0
    assert scored(trajectory("exact", tool("Edit")), session("", call("Edit", "text"))) == 1


DURATIONS = [
    pytest.param([call("Read", ms=10)], 1, id="in time"),
    pytest.param([call("Read", ms=11)], 0.5, id="too slow"),
    pytest.param([call("Read")], 1, id="not known is neutral"),
    pytest.param([call("Edit", ms=1)], 0, id="not called"),
    pytest.param([], 0, id="nothing called"),
]


@pytest.mark.parametrize("mode", ["in_order", "exact"])
@pytest.mark.parametrize(("calls", "score"), DURATIONS)
def test_the_time_a_call_may_take(mode, calls, score):
    assert scored(trajectory(mode, tool("Read", max_duration_ms=10)), session("", *calls)) == score


def test_more_calls_than_expected_are_told():
    outcome = graded(trajectory("exact", tool("Read")), session("", READ_A, EDIT))
    assert (outcome.score, outcome.passed) == (1, True)
    assert outcome.explanation == "1 of 2 passed; tool calls: 2 instead of 1"


@pytest.mark.parametrize(("agent", "name"), [("codex", "command_execution"), ("pi", "bash"), ("claude-code", "Bash")])
def test_tools_of_other_agents_are_asked_for_by_claudes_names(agent, name):
    assert scored(trajectory("exact", tool("Bash")), session("", call(name), agent=agent)) == 1


SKILL_USES = [
    pytest.param([call("Skill", {"skill": "my-plugin:csv"})], True, id="the tool, the name a part"),
    pytest.param([call("skill", {"skill": "pdf"})], False, id="another skill"),
    pytest.param([call("Read", {"file_path": "/w/.claude/skills/csv/SKILL.md"})], True, id="its file was read"),
    pytest.param([call("read", {"path": "skills/csv/x.py"})], True, id="by its path"),
    pytest.param([call("Read", {"file_path": "/w/skills/csv-old/SKILL.md"})], False, id="a longer name is another"),
    pytest.param([call("Bash", {"command": "ls"}, output="found skills/csv/SKILL.md")], True, id="an output names it"),
    pytest.param([call("Bash", {"command": "cat skills/csv/SKILL.md"})], False, id="a command alone does not"),
    pytest.param([loaded("csv")], True, id="the agent says so"),
    pytest.param([], False, id="nothing"),
]


@pytest.mark.parametrize(("events", "used"), SKILL_USES)
def test_a_skill(events, used):
    entry = {"type": "skill-trigger", "skill": "csv"}
    assert scored(entry, session("", *events)) == float(used)
    assert scored({**entry, "should_trigger": False}, session("", *events)) == float(not used)


def test_a_skill_read_by_a_shell_command_is_used():
    report = session("", files=ObservedFiles(observed_reads=("/w/skills/csv/SKILL.md",)))
    assert scored({"type": "skill-trigger", "skill": "csv"}, report) == 1


# --- fields -----------------------------------------------------------------------------------------


def of_fields(*fields, **more):
    return {"type": "field-accuracy", "fields": list(fields), **more}


def a_field(path, match="exact", **more):
    return {"path": path, "match": match, **more}


def expecting(content):
    return Task(expected_output=({"role": "user", "content": "no"}, {"role": "assistant", "content": content}))


FIELDS = [
    pytest.param(a_field("a"), {"a": 1}, '{"a": 1.0}', 1, id="1 is 1.0"),
    pytest.param(a_field("a"), {"a": 1}, '{"a": true}', 0, id="true is not 1"),
    pytest.param(a_field("a"), {"a": 1}, '{"a": "1"}', 0, id="a text is no number"),
    pytest.param(a_field("a"), {"a": None}, '{"a": null}', 1, id="null is null"),
    pytest.param(a_field("a"), {"a": {"x": [1, 2], "y": 0}}, '{"a": {"y": 0, "x": [1, 2]}}', 1, id="deeply equal"),
    pytest.param(a_field("a"), {"a": [1, 2]}, '{"a": [2, 1]}', 0, id="lists have an order"),
    pytest.param(a_field("a.b[1].c"), {"a": {"b": [0, {"c": "x"}]}}, '{"a": {"b": [0, {"c": "x"}]}}', 1, id="a path"),
    pytest.param(a_field("a"), {}, "{}", 1, id="nothing is expected"),
    pytest.param(a_field("a"), {"a": 1}, "{}", 0, id="missing"),
    pytest.param(a_field("a", required=False), {"a": 1}, "{}", 0, id="optional and missing has no weight at all"),
    pytest.param(a_field("a"), {"a": 1}, 'Here:\n```json\n{"a": 1}\n```\nDone.', 1, id="JSON in a text"),
    pytest.param(a_field("a"), {"a": 1}, "no JSON", 0, id="no JSON"),
    pytest.param(a_field("a"), '{"a": 1}', '{"a": 1}', 1, id="expected as text"),
    pytest.param(a_field("a"), "free text", '{"a": 1}', 0, id="expected is no JSON"),
    pytest.param(a_field("a", "numeric_tolerance"), {"a": 1}, '{"a": 1}', 1, id="no tolerance"),
    pytest.param(a_field("a", "numeric_tolerance", tolerance=0.5), {"a": 10}, '{"a": 10.5}', 1, id="within tolerance"),
    pytest.param(a_field("a", "numeric_tolerance", tolerance=0.5), {"a": 10}, '{"a": 10.6}', 0, id="outside of it"),
    pytest.param(
        a_field("a", "numeric_tolerance", tolerance=0.1, relative=True), {"a": -200}, '{"a": -220}', 1, id="relative"
    ),
    pytest.param(
        a_field("a", "numeric_tolerance", tolerance=0.1, relative=True),
        {"a": 0},
        '{"a": 0.1}',
        1,
        id="relative to nothing is absolute",
    ),
    pytest.param(a_field("a", "numeric_tolerance"), {"a": 12.5}, '{"a": " 12.5 EUR"}', 1, id="a number begins a text"),
    pytest.param(a_field("a", "numeric_tolerance"), {"a": 12}, '{"a": "EUR 12"}', 0, id="a text begins with letters"),
    pytest.param(a_field("a", "numeric_tolerance"), {"a": True}, '{"a": true}', 0, id="true is no number"),
    pytest.param(a_field("a", "numeric_tolerance", tolerance=1), {"a": 1}, '{"a": 1e999}', 0, id="infinity"),
    pytest.param(a_field("a", "date"), {"a": "2025-01-15"}, '{"a": "15-JAN-2025"}', 1, id="date by name of month"),
    pytest.param(a_field("a", "date"), {"a": "2025-01-15"}, '{"a": "2025-01-15T23:59:00Z"}', 1, id="date and time"),
    pytest.param(a_field("a", "date"), {"a": "2025-01-15"}, '{"a": "15/01/2025"}', 1, id="only Europe has a day 15"),
    pytest.param(
        a_field("a", "date", formats=["MM/DD/YYYY"]),
        {"a": "2025-01-15"},
        '{"a": "15/01/2025"}',
        0,
        id="America has no month 15",
    ),
    pytest.param(
        a_field("a", "date", formats=["DD-MM-YYYY"]),
        {"a": "2025-12-31"},
        '{"a": "31-12-2025"}',
        1,
        id="Europe by formats",
    ),
    pytest.param(
        a_field("a", "date", formats=["DD/MM/YYYY"]),
        {"a": "2025-02-03"},
        '{"a": "02/03/2025"}',
        1,
        id="what Date.parse reads is read before formats are",
    ),
    pytest.param(a_field("a", "date"), {"a": "2025-01-15"}, '{"a": "2025-01-16"}', 0, id="another day"),
    pytest.param(a_field("a", "date"), {"a": "soon"}, '{"a": "soon"}', 0, id="no date at all"),
]


@pytest.mark.parametrize(("field", "expected", "answer", "score"), FIELDS)
def test_a_field(field, expected, answer, score):
    assert scored(of_fields(field), session(answer), task=expecting(expected)) == score


THREE = [a_field("a", weight=2), a_field("b"), a_field("c", required=False)]
AGGREGATIONS = [
    pytest.param({}, '{"a": 1, "b": 0}', 0.6667, id="weights; an optional field that is missing has none"),
    pytest.param({}, '{"a": 1, "b": 2, "c": 0}', 0.75, id="an optional field that is there counts"),
    pytest.param({"aggregation": "all_or_nothing"}, '{"a": 1, "b": 0}', 0, id="all or nothing"),
    pytest.param({"aggregation": "all_or_nothing"}, '{"a": 1, "b": 2}', 1, id="all, without the optional one"),
]


@pytest.mark.parametrize(("settings", "answer", "score"), AGGREGATIONS)
def test_several_fields(settings, answer, score):
    expected = expecting({"a": 1, "b": 2, "c": 3})
    assert scored(of_fields(*THREE, **settings), session(answer), task=expected) == score


def test_fields_without_an_expected_output_score_nothing():
    assert scored(of_fields(a_field("a")), session('{"a": 1}')) == 0


# --- composite --------------------------------------------------------------------------------------

YES, NO = {"type": "contains", "value": "ok"}, {"type": "contains", "value": "never"}
MEMBERS = [{**YES, "name": "yes"}, {**NO, "name": "no"}, {**YES, "name": "also"}]
COMPOSITES = [
    pytest.param({"type": "weighted_average"}, 0.6667, False, id="average"),
    pytest.param({"type": "weighted_average", "weights": {"yes": 2, "also": 1}}, 0.75, False, id="weights; 1 without"),
    pytest.param({"type": "weighted_average", "weights": {"no": 0}}, 1, True, id="a weight of 0"),
    pytest.param({"type": "weighted_average", "weights": {"yes": 0, "no": 0, "also": 0}}, 0, False, id="no weight"),
    pytest.param({"type": "threshold", "threshold": 0.6}, 0.6667, True, id="share is enough"),
    pytest.param({"type": "threshold", "threshold": 0.7}, 0.6667, False, id="share is too small"),
    pytest.param({"type": "threshold", "threshold": 0}, 0.6667, True, id="no share is needed"),
]


@pytest.mark.parametrize(("aggregator", "score", "passed"), COMPOSITES)
def test_a_composite(aggregator, score, passed):
    outcome = graded({"type": "composite", "assertions": MEMBERS, "aggregator": aggregator}, session("ok"))
    assert (round(outcome.score, 4), outcome.passed) == (score, passed)


def test_members_weigh_what_the_composite_says_not_what_they_say():
    members = [{**YES, "weight": 9}, NO]
    entry = {"type": "composite", "assert": members, "aggregator": {"type": "weighted_average"}}
    assert scored(entry, session("ok")) == 0.5


def test_members_may_be_negated_and_nested():
    inner = {"type": "composite", "evaluators": [YES, NO], "aggregator": {"type": "threshold", "threshold": 0.5}}
    entry = {"type": "composite", "assertions": [inner, {**NO, "negate": True}]}
    outcome = graded({**entry, "aggregator": {"type": "weighted_average"}}, session("ok"))
    assert outcome.score == 0.75
    assert graded({**entry, "aggregator": {"type": "threshold", "threshold": 1}}, session("ok")).score == 1


# --- how much a grade counts ------------------------------------------------------------------------


def test_an_outcome_tells_name_place_weight_and_need():
    outcome = graded({**YES, "weight": 2.5, "required": True, "min_score": 0.5}, session("ok"))
    assert (outcome.assertion, outcome.type, outcome.location) == ("contains-ok", "contains", HERE)
    assert (outcome.weight, outcome.required) == (2.5, 0.5)


NEEDS = [
    pytest.param({}, False, id="not required"),
    pytest.param({"required": False, "min_score": 0.5}, False, id="min_score alone requires nothing"),
    pytest.param({"required": True}, True, id="required: the case's threshold"),
    pytest.param({"required": True, "min_score": 0.9}, 0.9, id="required: min_score"),
    pytest.param({"required": 0.6}, 0.6, id="required as a number"),
    pytest.param({"required": 0.6, "min_score": 0.7}, 0.7, id="min_score is asked first"),
]


@pytest.mark.parametrize(("settings", "required"), NEEDS)
def test_what_a_required_assertion_needs(settings, required):
    assert graded({**YES, **settings}, session("ok")).required == required


PASSING = [
    pytest.param({}, False, id="0.75 is not good"),
    pytest.param({"min_score": 0.75}, True, id="good enough"),
    pytest.param({"min_score": 0.76}, False, id="not good enough"),
]


@pytest.mark.parametrize(("settings", "passed"), PASSING)
def test_a_grade_passes_from_its_min_score_on_or_from_0_8(settings, passed):
    entry = {"type": "composite", "assertions": [YES, YES, YES, NO], "aggregator": {"type": "weighted_average"}}
    assert graded({**entry, **settings}, session("ok")).passed is passed


def test_a_negated_grade_is_its_opposite():
    outcome = graded({**YES, "negate": True}, session("ok"))
    assert (outcome.score, outcome.passed) == (0, False)
    assert outcome.explanation == "the answer contains 'ok' (negated)"
    entry = {"type": "composite", "assertions": [YES, YES, YES, NO], "aggregator": {"type": "weighted_average"}}
    outcome = graded({**entry, "negate": True}, session("ok"))
    assert (outcome.score, outcome.passed) == (0.25, True)


def test_a_negated_grader_that_cannot_tell_still_cannot():
    outcome = graded({"type": "llm-grader", "negate": True}, session("ok"))
    assert (outcome.passed, outcome.score, outcome.trouble) == (None, None, "grader")


NAMES = [
    ({"type": "contains", "value": "x"}, "contains-x"),
    ({"type": "icontains", "value": "x"}, "icontains-x"),
    ({"type": "contains-any", "value": ["x", "y"]}, "contains-any-2"),
    ({"type": "icontains-all", "value": ["x"]}, "icontains-all-1"),
    ({"type": "starts-with", "value": "x"}, "starts-with-x"),
    ({"type": "equals", "value": "x"}, "equals-x"),
    ({"type": "regex", "value": "x" * 31}, "regex-" + "x" * 30),
    ({"type": "is-json"}, "is-json"),
    ({"type": "skill-trigger", "skill": "csv"}, "skill-trigger-csv"),
    ({"type": "latency", "threshold": 1}, "latency"),
    ({"type": "latency", "threshold": 1, "name": "fast"}, "fast"),
    ({"type": "rubrics", "criteria": ["It is kind"]}, "rubrics"),
    ({"type": "llm_grader"}, "llm-grader"),
    ("It is kind", "It is kind"),
]


@pytest.mark.parametrize(("entry", "name"), NAMES)
def test_an_assertion_without_a_name_is_called_as_agentv_calls_it(entry, name):
    assert assertion_of(entry, entry_context()).name == name


# --- what is wrong ----------------------------------------------------------------------------------

WRONG = [
    pytest.param(None, "", "must be a mapping of keys to values, not null", id="no mapping"),
    pytest.param(7, "", "must be a mapping of keys to values, not 7", id="a number"),
    pytest.param(" ", "", "the assertion is empty", id="an empty text"),
    pytest.param({"value": "x"}, "", "type is missing: a text that is not empty", id="no type"),
    pytest.param(
        {"type": "contain", "value": "x"},
        ".type",
        "unknown assertion type 'contain'",
        id="an unknown type",
    ),
    pytest.param({"type": "llm-judge"}, ".type", "unknown assertion type 'llm-judge'", id="an old type"),
    pytest.param({"type": "contains"}, "", "value is missing: a text that is not empty", id="no value"),
    pytest.param({"type": "contains", "value": ""}, ".value", "must be a text that is not empty, not ''", id="empty"),
    pytest.param({"type": "contains", "value": ["x"]}, ".value", "must be text, not a list", id="a list for a text"),
    pytest.param({"type": "contains-any", "value": "x"}, ".value", "must be a list of texts, not 'x'", id="no list"),
    pytest.param(
        {"type": "contains-any", "value": []},
        ".value",
        "must be a list of texts that is not empty, not a list",
        id="an empty list",
    ),
    pytest.param(
        {"type": "regex", "value": "("},
        ".value",
        "is not a regular expression: missing ) at position 1",
        id="no regular expression",
    ),
    pytest.param(
        {"type": "regex", "value": "x", "flags": "x"},
        ".flags",
        "must be some of the letters i m s u g y, each once, not 'x'",
        id="a flag of another language",
    ),
    pytest.param(
        {"type": "regex", "value": "x", "flags": "ii"},
        ".flags",
        "must be some of the letters i m s u g y, each once, not 'ii'",
        id="a flag twice",
    ),
    pytest.param({**YES, "weight": -1}, ".weight", "must be a number, 0 or more, not -1", id="a negative weight"),
    pytest.param({**YES, "weight": "2"}, ".weight", "must be a number, not '2'", id="a weight in quotes"),
    pytest.param({**YES, "weight": float("inf")}, ".weight", "must be a number, not inf", id="an endless weight"),
    pytest.param({**YES, "min_score": 1.1}, ".min_score", "must be a number, from 0 to 1, not 1.1", id="above 1"),
    pytest.param({**YES, "min_score": 0}, ".min_score", "must be a number above 0, not 0", id="a min_score of 0"),
    pytest.param({**YES, "required": "yes"}, ".required", "must be a number, not 'yes'", id="required as a word"),
    pytest.param({**YES, "negate": "no"}, ".negate", "must be true or false, not 'no'", id="negate as a word"),
    pytest.param({**YES, "wieght": 2}, "", "unknown key 'wieght'", id="a typing error"),
    pytest.param({"type": "latency"}, "", "threshold is missing: a number of milliseconds", id="no limit"),
    pytest.param({"type": "cost", "budget": -1}, ".budget", "must be a number, 0 or more, not -1", id="debts"),
    pytest.param({"type": "token-usage"}, "", "needs one of max_input, max_output, max_total", id="no maximum"),
    pytest.param(
        {"type": "execution-metrics", "exploration_tolerance": 1},
        "",
        "needs one of max_tool_calls, max_llm_calls, max_tokens, max_cost_usd, max_duration_ms, "
        "target_exploration_ratio",
        id="no metric",
    ),
    pytest.param(
        {"type": "tool-trajectory", "mode": "sorted"},
        ".mode",
        "must be one of any_order, in_order, exact, subset, superset, not 'sorted'",
        id="no such mode",
    ),
    pytest.param(
        {"type": "tool-trajectory", "mode": "any_order"}, "", "mode any_order needs minimums", id="no minimums"
    ),
    pytest.param({"type": "tool-trajectory", "mode": "exact"}, "", "mode exact needs expected", id="nothing expected"),
    pytest.param(
        {"type": "tool-trajectory", "mode": "any_order", "minimums": {"Read": "2"}},
        ".minimums.Read",
        "must be a number of calls, not '2'",
        id="a minimum in quotes",
    ),
    pytest.param(
        trajectory("exact", tool("Read", 7)), ".expected[0].args", "must be a mapping, or any, not 7", id="args"
    ),
    pytest.param({"type": "skill-trigger"}, "", "skill is missing: a text that is not empty", id="no skill"),
    pytest.param(of_fields(), ".fields", "must be a list of fields that is not empty, not a list", id="no fields"),
    pytest.param(
        of_fields(a_field("a", "fuzzy")),
        ".fields[0].match",
        "must be one of exact, numeric_tolerance, date, not 'fuzzy'",
        id="no such match",
    ),
    pytest.param(
        {"type": "composite", "assertions": []},
        ".assertions",
        "must be a list of assertions that is not empty, not a list",
        id="no members",
    ),
    pytest.param(
        {"type": "composite", "assertions": [YES]},
        "",
        "aggregator is missing: a mapping with a type: weighted_average, threshold, code-grader, llm-grader",
        id="no aggregator",
    ),
    pytest.param(
        {"type": "composite", "assertions": [{**YES, "value": []}], "aggregator": {}},
        ".assertions[0].value",
        "must be text, not a list",
        id="a member",
    ),
    pytest.param(
        {"type": "composite", "assertions": [YES], "aggregator": {"type": "threshold"}},
        ".aggregator",
        "threshold is missing: a number from 0 to 1",
        id="a threshold without one",
    ),
    pytest.param(
        {"type": "composite", "assertions": [YES], "aggregator": {"type": "median"}},
        ".aggregator.type",
        "must be one of weighted_average, threshold, code-grader, llm-grader, not 'median'",
        id="no aggregator",
    ),
    pytest.param(
        {"type": "composite", "assertions": [YES], "aggregator": {"type": "weighted_average", "weights": {"a": -1}}},
        ".aggregator.weights.a",
        "must be a number, 0 or more, not -1",
        id="a negative weight of a member",
    ),
]


@pytest.mark.parametrize(("entry", "place", "message"), WRONG)
def test_what_is_wrong_is_an_error_with_its_place(entry, place, message):
    with pytest.raises(SuiteError) as raised:
        assertion_of(entry, entry_context())
    (problem,) = raised.value.problems
    assert (problem.message, problem.key_path, problem.location) == (message, f"assertions[0]{place}", HERE)


def test_an_error_says_what_was_probably_meant():
    with pytest.raises(SuiteError, match="did you mean 'contains'"):
        assertion_of({"type": "contian", "value": "x"}, entry_context())
    with pytest.raises(SuiteError, match="did you mean 'weight'"):
        assertion_of({**YES, "wieght": 2}, entry_context())
    with pytest.raises(SuiteError, match="write code-grader"):
        assertion_of({"type": "code_judge"}, entry_context())


def test_keys_that_are_like_no_other_are_their_author_s_own():
    assert scored({**YES, "description": "it says ok", "x-owner": "me"}, session("ok")) == 1
