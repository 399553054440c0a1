"""AgentV 5's names of assertions: what they become, what each program answers, and what is refused."""

from __future__ import annotations

import json

import pytest

from agentv_context import FakeContext, Judge, entry_context, fake_context, graded, real_processes, session
from scratch import written
from sessions import capture_of
from skillgym_action.model.errors import SuiteError
from skillgym_action.suites.agentv.assertions import assertion_of
from skillgym_action.suites.agentv.program_graders import program_grade
from skillgym_action.suites.agentv.variables import SizeBudget
from skillgym_action.suites.agentv.version_5_templates import assertions_with


@pytest.fixture(scope="module")
def processes():
    with real_processes() as opened:
        yield opened


def judged(entry, root, processes, answer="Hello", **settings):
    context = fake_context(root, processes, answer)
    (outcome,) = assertion_of(entry, entry_context(root / "suite", **settings)).judge(context)
    return outcome


@pytest.mark.parametrize(
    ("entry", "answer", "score", "passed"),
    [
        pytest.param({"type": "not-contains", "value": "x"}, "y", 1, True, id="not-"),
        pytest.param({"type": "not-contains", "value": "x", "negate": True}, "x", 1, True, id="not- twice"),
        pytest.param({"type": "not-is-json"}, "{}", 0, False, id="not- fails"),
        pytest.param({"type": "not_is_json"}, "{}", 0, False, id="not_ fails"),
        pytest.param({"type": "contains", "value": "x", "metric": "m"}, "x", 1, True, id="metric"),
    ],
)
def test_other_names(entry, answer, score, passed):
    outcome = graded(entry, session(answer))
    type_ = entry["type"].replace("_", "-").removeprefix("not-")
    assert (outcome.score, outcome.passed, outcome.type) == (score, passed, type_)
    assert outcome.assertion == entry.get("metric", outcome.assertion)


def test_the_cost_may_have_a_threshold():
    assert graded({"type": "cost", "threshold": 0.5}, session("", usd=0.4)).passed is True


# --- the judge --------------------------------------------------------------------------------------


def checks(**said):
    return json.dumps({"checks": [{"id": name, "satisfied": value} for name, value in said.items()]})


@pytest.mark.parametrize("type_", ["llm-rubric", "llm_rubric"])
def test_a_text_is_one_rubric(type_):
    judge = Judge((checks(rubric=False),))
    outcome = graded({"type": type_, "value": "Is polite"}, session("x"), judge=judge)
    assert (outcome.assertion, outcome.type, outcome.score) == ("Is polite", "llm-rubric", 0)
    assert "[rubric] Is polite" in judge.asked[0]


def test_a_list_is_several_rubrics():
    value = ["Is polite", {"id": "brief", "outcome": "Is brief", "weight": 3, "required": False}]
    verdicts = [{"id": "rubric-1", "satisfied": True}, {"id": "brief", "satisfied": False}]
    judge = Judge((json.dumps({"checks": verdicts}),))
    outcome = graded({"type": "llm-rubric", "value": value, "threshold": 0.2}, session("x"), judge=judge)
    assert (outcome.score, outcome.passed) == (0.25, True)


def test_a_prompt_may_be_the_path_of_a_file(tmp_path):
    written(tmp_path, {"suite/p.md": "Judge {{ output }} by {{ rubric }}"})
    entry = {"type": "llm-rubric", "prompt": "./p.md", "value": "kindness"}
    grader = assertion_of(entry, entry_context(tmp_path / "suite")).grader
    assert grader.prompt.template == "Judge {{ output }} by {{ rubric }}"
    judge = Judge((checks(rubric=True),))
    assert grader.grade(FakeContext(report=session("x"), judge=judge)).passed is True
    assert "[rubric] kindness" in judge.asked[0]


# --- sets -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("threshold", "score", "passed"),
    [
        pytest.param({}, 0.75, False, id="all have to pass"),
        pytest.param({"threshold": 0.7}, 0.75, True, id="enough of them"),
        pytest.param({"threshold": 0.8}, 0.75, False, id="too few of them"),
    ],
)
def test_a_set_is_the_weighted_mean(threshold, score, passed):
    members = [
        {"type": "contains", "value": "a", "weight": 3, "metric": "first"},
        {"type": "contains", "value": "b"},
        {"type": "contains", "value": "c", "weight": 0},
    ]
    outcome = graded({"type": "assert-set", "metric": "both", "assert": members, **threshold}, session("a"))
    assert (outcome.assertion, outcome.type, outcome.score, outcome.passed) == ("both", "assert-set", score, passed)
    assert "[contains-b] the answer does not contain 'b'" in outcome.explanation


def test_a_member_without_weight_does_not_decide():
    members = [{"type": "contains", "value": "a"}, {"type": "contains", "value": "b", "weight": 0}]
    assert graded({"type": "assert-set", "assert": members}, session("a")).passed is True


def test_a_set_whose_member_cannot_be_judged():
    members = ["polite", {"type": "contains", "value": "a"}]
    outcome = graded({"type": "assert-set", "assert": members}, session("a"))
    assert (outcome.passed, outcome.trouble) == (None, "grader")
    assert "polite: no judge is configured" in outcome.explanation


def test_members_have_the_configuration_of_their_set(tmp_path, processes):
    members = [{"type": "python", "value": "context['config'] == {'a': 2, 'b': 1}", "config": {"a": 2}}]
    entry = {"type": "assert-set", "config": {"a": 1, "b": 1}, "assert": members}
    assert judged(entry, tmp_path, processes).passed is True


READS_CONFIG = {"type": "python", "value": "context['config'] == {'k': 1}"}
OPPOSITE = {"type": "not-python", "value": "context['config'] != {'k': 1}"}


@pytest.mark.parametrize(
    "member",
    [
        pytest.param(READS_CONFIG, id="a type"),
        pytest.param(OPPOSITE, id="not-"),
        pytest.param({**OPPOSITE, "type": "not-javascript", "value": "context.config.k !== 1"}, id="not-javascript"),
        pytest.param({"type": "assert-set", "assert": [READS_CONFIG]}, id="a set"),
        pytest.param({"type": "not-assert-set", "assert": [{**OPPOSITE, "type": "python"}]}, id="not- of a set"),
        pytest.param({"include": "shared"}, id="an included member"),
    ],
)
def test_each_member_that_reads_a_configuration_has_that_of_its_set(member, tmp_path, processes):
    written(tmp_path, {"suite/.agentv/templates/shared.yaml": json.dumps({"assertions": [OPPOSITE]})})
    entry = {"type": "assert-set", "config": {"k": 1}, "assert": [member]}
    assert judged(entry, tmp_path, processes).passed is True


# --- expressions ------------------------------------------------------------------------------------

JAVASCRIPT = [
    pytest.param("output === 'Hello'", 1, True, id="an expression"),
    pytest.param("output.length / 10;", 0.5, False, id="a number"),
    pytest.param("const n = output.length; n > 9", 0, False, id="a declaration before it"),
    pytest.param("if (output) {\n  return {pass: true, score: 0.6, reason: 'fine'};\n}", 0.6, True, id="a body"),
    pytest.param("context.vars.camelCase === 1 && context.expectedOutput.length === 0", 1, True, id="the context"),
    pytest.param("file://check.mjs", 1, True, id="a file"),
    pytest.param("file://check.mjs:named", 0, False, id="a function of a file"),
]
PYTHON = [
    pytest.param("output == 'Hello'", 1, True, id="an expression"),
    pytest.param("len(output) / 10", 0.5, False, id="a number"),
    pytest.param("n = len(output)\nreturn {'pass': n > 3, 'reason': 'long'}", 1, True, id="a body"),
    pytest.param("context['vars']['camelCase'] == 1", 1, True, id="the context"),
    pytest.param("file://check.py", 1, True, id="a file"),
    pytest.param("file://check.py:named", 0, False, id="a function of a file"),
]
FILES = {
    "suite/check.mjs": "export default (output) => output === 'Hello';\nexport const named = () => false;\n",
    "suite/check.py": "def get_assert(output, context):\n    return output == 'Hello'\ndef named(*_):\n    return 0\n",
}


@pytest.mark.parametrize(("value", "score", "passed"), JAVASCRIPT)
def test_javascript(value, score, passed, tmp_path, processes):
    written(tmp_path, FILES)
    outcome = judged({"type": "javascript", "value": value, "config": {"vars": {"camelCase": 1}}}, tmp_path, processes)
    assert (outcome.score, outcome.passed, outcome.type) == (score, passed, "javascript")


@pytest.mark.parametrize(("value", "score", "passed"), PYTHON)
def test_python(value, score, passed, tmp_path, processes):
    written(tmp_path, FILES)
    outcome = judged({"type": "python", "value": value, "config": {"vars": {"camelCase": 1}}}, tmp_path, processes)
    assert (outcome.score, outcome.passed, outcome.type) == (score, passed, "python")


@pytest.mark.parametrize("type_", ["javascript", "python"])
def test_an_expression_that_fails_is_not_gradable(type_, tmp_path, processes):
    outcome = judged({"type": type_, "value": "nosuch + 1"}, tmp_path, processes)
    assert (outcome.passed, outcome.trouble) == (None, "grader")
    assert "nosuch" in outcome.evidence


def test_a_threshold_decides_what_passes(tmp_path, processes):
    assert judged({"type": "python", "value": "0.5", "threshold": 0.5}, tmp_path, processes).passed is True


@pytest.mark.parametrize(
    ("printed", "score", "passed", "explanation"),
    [
        pytest.param({"pass": True, "score": 0.4, "reason": "fine"}, 0.4, True, "fine", id="its own decision"),
        pytest.param({"pass": False, "reason": "bad"}, 0, False, "bad", id="no score"),
        pytest.param(
            {"score": 1, "checks": [{"text": "a", "pass": True}, {"text": "b", "pass": False, "reason": "why"}]},
            1,
            True,
            "1 of 2 passed; b",
            id="checks",
        ),
        pytest.param({"pass": True}, 1, True, "the grader says passed", id="nothing else"),
    ],
)
def test_what_graders_of_version_5_print(printed, score, passed, explanation):
    grade = program_grade(capture_of("log\n" + json.dumps(printed)), 1)
    assert (grade.score, grade.passed, grade.explanation) == (score, passed, explanation)


# --- what cannot be used ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        pytest.param(
            {"type": "webhook", "value": "http://x"},
            ".type: assertions of the type webhook are not",
            id="webhook",
        ),
        pytest.param(
            {"type": "not-similar", "value": "x"},
            "write type: llm-rubric, which asks the judge",
            id="similar",
        ),
        pytest.param(
            {"type": "agent-rubric", "value": "x"},
            "the judge sees the answer, the tool calls",
            id="agent-rubric",
        ),
        pytest.param(
            {"type": "script", "command": ["a"], "transform": "x"},
            ".transform: transform is not",
            id="transform",
        ),
        pytest.param(
            {"type": "llm-rubric", "prompt": "file://p.ts"},
            "p.ts is a program, not a prompt; prompt: {command: [bun",
            id="prompt",
        ),
        pytest.param(
            {"type": "javascript", "value": "file://no.mjs"},
            ".value: there is no file 'no.mjs'",
            id="no file",
        ),
        pytest.param({"type": "python"}, "value is missing: a text that is not empty", id="no code"),
        pytest.param({"type": "assert-set", "assert": []}, "a list of assertions that is not empty", id="an empty set"),
        pytest.param(
            {"type": "assert-set", "assert": [{"type": "contains"}]},
            "assertions[0].assert[0]: value is missing",
            id="a member",
        ),
        pytest.param({"type": "llm-rubrik", "value": "x"}, "did you mean 'llm-rubric'?", id="a type"),
    ],
)
def test_what_cannot_be_used(entry, message):
    with pytest.raises(SuiteError) as caught:
        assertion_of(entry, entry_context())
    assert message in str(caught.value)


def test_a_type_of_the_suite_s_own_comes_first(tmp_path):
    written(tmp_path, {"suite/.agentv/assertions/python.ts": ""})
    grader = assertion_of({"type": "python"}, entry_context(tmp_path / "suite")).grader
    assert grader.argv[:2] == ("bun", "run")


@pytest.mark.parametrize("type_", ["python", "not-python", "not_python", "javascript", "not_javascript"])
def test_expressions_get_the_variables_of_their_test(type_):
    (entry,) = assertions_with([{"type": type_, "value": "vars.who"}], {"who": "Ana"}, SizeBudget())
    assert entry == {"type": type_, "value": "vars.who", "config": {"vars": {"who": "Ana"}}}
