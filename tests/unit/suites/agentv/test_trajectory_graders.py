"""AgentV 5's assertions about steps and skills: each kind, both outcomes, and what cannot be used."""

from __future__ import annotations

import json

import pytest

from agentv_context import Judge, call, entry_context, graded, loaded, said, session
from skillgym_action.model.errors import SuiteError
from skillgym_action.model.session_report import Message, SkillDetection
from skillgym_action.suites.agentv.assertions import assertion_of

READ, EDIT = call("Read", {"path": "a", "limit": 5}), call("Edit", {"path": "a"})
SHELL = call("shell", {"command": ["npm", "test"]})


def passes(kind, value, *events, negated=False):
    entry = {"type": f"{'not-' if negated else ''}trajectory:{kind}", "value": value}
    outcome = graded(entry, session("done", *events))
    assert outcome.trouble is None
    assert outcome.type == f"trajectory:{kind}"
    return outcome.passed


USED = [
    pytest.param("Read", True, id="one tool"),
    pytest.param("read", True, id="in any case of letters"),
    pytest.param("R*d", True, id="a pattern"),
    pytest.param(["Read", "Edit"], True, id="all of a list"),
    pytest.param(["Read", "Write"], False, id="one of a list is missing"),
    pytest.param({"name": "Read"}, True, id="a mapping"),
    pytest.param({"pattern": "*", "min": 3}, False, id="too few"),
    pytest.param({"pattern": "*", "min": 2, "max": 2}, True, id="exactly two"),
    pytest.param({"pattern": "*", "max": 1}, False, id="too many"),
    pytest.param({"name": "Write", "min": 0}, True, id="none is enough"),
    pytest.param({"name": "Write", "max": 0}, True, id="none is allowed, and none was used"),
    pytest.param({"name": "Read", "max": 0}, False, id="none is allowed, and one was used"),
    pytest.param("npm", False, id="a command is no tool"),
]


@pytest.mark.parametrize(("value", "passed"), USED)
def test_tool_used(value, passed):
    assert passes("tool-used", value, READ, SHELL, EDIT) is passed


@pytest.mark.parametrize(
    ("value", "passed"),
    [
        pytest.param("Write", True, id="not used"),
        pytest.param("Read", False, id="used"),
        pytest.param(["Read", "Write"], False, id="one of them is used"),
        pytest.param(["Write", "Bash"], True, id="none of them is used"),
        pytest.param({"name": "Read", "min": 2}, True, id="not as often"),
        pytest.param({"name": "Write", "max": 0}, False, id="a number that is reached"),
    ],
)
def test_tools_that_must_not_be_used(value, passed):
    assert passes("tool-used", value, READ, EDIT, negated=True) is passed


@pytest.mark.parametrize(
    ("value", "passed"),
    [
        pytest.param(["Read", "Edit"], True, id="in order"),
        pytest.param(["Edit", "Read"], False, id="in another order"),
        pytest.param({"steps": ["Read", {"name": "Bash"}]}, True, id="others between them"),
        pytest.param({"mode": "exact", "steps": ["Read", "Edit"]}, False, id="not exactly"),
        pytest.param({"mode": "exact", "steps": ["Read", "Edit", "B*"]}, True, id="exactly"),
        pytest.param({"mode": "exact", "steps": ["Read", "Edit", "Bash", "Read"]}, False, id="one more"),
    ],
)
def test_tool_sequence(value, passed):
    assert passes("tool-sequence", value, READ, EDIT, call("Bash", {"command": "ls"})) is passed


NESTED = call("Search", {"q": {"text": "x", "tags": ["a", {"b": 1}]}, "id": "77"})


@pytest.mark.parametrize(
    ("value", "passed"),
    [
        pytest.param({"name": "Read", "args": {"path": "a"}}, True, id="a part"),
        pytest.param({"name": "Read", "args": {"path": "b"}}, False, id="another value"),
        pytest.param({"name": "Read", "arguments": {"limit": 5.0}}, True, id="numbers as JavaScript has them"),
        pytest.param({"name": "Read", "mode": "exact", "args": {"path": "a"}}, False, id="not all"),
        pytest.param({"name": "Read", "mode": "exact", "args": {"path": "a", "limit": 5}}, True, id="all"),
        pytest.param({"name": "Read", "mode": "exact", "args": {"path": "a"}, "ignore": "lim*"}, True, id="ignored"),
        pytest.param(
            {"name": "Read", "mode": "exact", "args": {"path": "a"}, "defaults": {"limit": 5}},
            True,
            id="a default",
        ),
        pytest.param(
            {"name": "Read", "mode": "exact", "args": {"path": "a"}, "defaults": {"limit": 6}},
            False,
            id="no default",
        ),
        pytest.param({"name": "Search", "args": {"q": {"tags": ["a", {"b": 1}]}}}, True, id="nested"),
        pytest.param({"name": "Search", "args": {"q": {"tags": ["a"]}}}, False, id="a shorter list"),
        pytest.param({"name": "Write", "args": {}}, False, id="no call"),
    ],
)
def test_tool_args_match(value, passed):
    assert passes("tool-args-match", value, READ, NESTED) is passed


@pytest.mark.parametrize(
    ("value", "passed"),
    [
        pytest.param({"type": "tool", "min": 2, "max": 2}, True, id="tools"),
        pytest.param({"type": "command", "min": 1, "pattern": "npm*"}, True, id="a command"),
        pytest.param({"type": "command", "max": 0}, False, id="no commands"),
        pytest.param({"type": ["tool", "command"], "max": 2}, False, id="two kinds"),
        pytest.param({"type": "message", "min": 2, "max": 2}, True, id="the answer is a step of its own"),
        pytest.param({"type": "reasoning", "min": 1, "max": 1}, True, id="thoughts"),
    ],
)
def test_step_count(value, passed):
    thought = [Message(role="assistant", text="Hm", phase="thinking")]
    assert passes("step-count", value, thought, said("On it"), READ, SHELL, EDIT) is passed


def test_the_goal_is_decided_by_the_judge():
    judge = Judge((json.dumps({"score": 0.9, "assertions": []}),))
    entry = {"type": "trajectory:goal-success", "value": {"goal": "Tests are green"}}
    outcome = graded(entry, session("done", SHELL), judge=judge)
    assert (outcome.score, outcome.passed) == (0.9, True)
    assert "What the agent did and its answer achieve this goal: Tests are green" in judge.asked[0]
    assert "shell" in judge.asked[0]


def test_evidence_is_the_steps():
    outcome = graded({"type": "trajectory:tool-used", "value": "Write"}, session("done", READ, SHELL))
    assert outcome.explanation == "not used: Write"
    assert '1. tool: Read {"path":"a","limit":5}' in outcome.evidence
    assert "2. command: npm test" in outcome.evidence


# --- skills -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "passed"),
    [
        pytest.param("pdf", True, id="one"),
        pytest.param("csv", False, id="another"),
        pytest.param(["pdf", "docx"], True, id="all of a list"),
        pytest.param(["pdf", "csv"], False, id="not all of a list"),
        pytest.param({"name": "pdf", "min": 2}, True, id="twice"),
        pytest.param({"name": "pdf", "min": 3}, False, id="not three times"),
        pytest.param({"pattern": "d*x", "max": 1}, True, id="a pattern"),
        pytest.param({"name": "csv", "max": 0}, True, id="never"),
        pytest.param({"name": "md"}, True, id="its files were read"),
    ],
)
def test_skill_used(value, passed):
    events = [call("Skill", {"skill": "pdf"}), call("Skill", {"skill": "pdf"}), loaded("docx")]
    found = (SkillDetection(skill="md", confidence="weak"),)
    report = session("done", *events, detected_skills=found)
    assert graded({"type": "skill-used", "value": value}, report).passed is passed
    if not isinstance(value, list) and not (isinstance(value, dict) and {"min", "max"} & value.keys()):
        assert graded({"type": "not-skill-used", "value": value}, report).passed is not passed


def test_none_of_several_skills_may_be_used():
    report = session("done", loaded("pdf"))
    assert graded({"type": "not-skill-used", "value": ["csv", "pdf"]}, report).passed is False
    assert graded({"type": "not-skill-used", "value": ["csv", "md"]}, report).passed is True


# --- what cannot be used ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        pytest.param(
            {"type": "trajectory:tool-used"},
            "value: must be a tool, a list of tools, or a mapping",
            id="no value",
        ),
        pytest.param(
            {"type": "trajectory:tool-used", "value": {"min": 1}},
            "has neither a name nor a pattern",
            id="no name",
        ),
        pytest.param(
            {"type": "trajectory:tool-sequence", "value": []},
            "value: must not be empty; name the tools",
            id="no steps",
        ),
        pytest.param(
            {"type": "trajectory:tool-sequence", "value": {"mode": "any", "steps": ["a"]}},
            "must be one of in_order, exact",
            id="a mode",
        ),
        pytest.param(
            {"type": "trajectory:tool-args-match", "value": {"name": "a"}},
            "args is missing",
            id="no arguments",
        ),
        pytest.param({"type": "trajectory:step-count", "value": {}}, "needs min, max or both", id="no limit"),
        pytest.param(
            {"type": "trajectory:step-count", "value": {"type": "span", "max": 1}},
            "value.type: steps of the type span are not known here; count tool, command, message, reasoning",
            id="spans",
        ),
        pytest.param({"type": "trajectory:goal-success", "value": {}}, "goal is missing", id="no goal"),
        pytest.param(
            {"type": "trajectory:tool-usd", "value": "a"},
            "did you mean 'trajectory:tool-used'?",
            id="a kind",
        ),
        pytest.param(
            {"type": "skill-used", "value": 7},
            "must be a skill, a list of skills, or a mapping",
            id="a number",
        ),
        pytest.param(
            {"type": "not-skill-used", "value": {"name": "a", "min": 1}},
            "not-skill-used has no min and max; write",
            id="bounds",
        ),
    ],
)
def test_what_cannot_be_used(entry, message):
    with pytest.raises(SuiteError) as caught:
        assertion_of(entry, entry_context())
    assert message in str(caught.value)
    assert caught.value.problems[0].key_path.startswith("assertions[0]")
