"""What AgentV's graders show when they fail: where the answer is near, where a text is, what the agent called."""

from __future__ import annotations

import pytest

from agentv_context import call, graded, session

POEM = "".join(f"line {number} of a long answer that says nothing\n" for number in range(1, 41))
ANSWER = POEM + "Version 2.4.1 is the newest.\n" + POEM
NEAR = "nearest lines:\n  41 | Version 2.4.1 is the newest.\nthe answer's beginning:\nline 1 of"

EVIDENCE = [
    pytest.param({"type": "contains", "value": "version 2.4.0"}, ANSWER, NEAR, id="contains"),
    pytest.param({"type": "contains-all", "value": ["line", "Version 2.4.0"]}, ANSWER, NEAR, id="contains-all"),
    pytest.param({"type": "icontains", "value": "VERSION 2.4.0"}, ANSWER, NEAR, id="icontains"),
    pytest.param({"type": "regex", "value": r"^Version 2\.4\.0 is"}, ANSWER, NEAR, id="regex"),
    pytest.param({"type": "contains", "value": "zebra"}, ANSWER, "line 1 of", id="nothing is near"),
    pytest.param({"type": "contains", "value": "x"}, "it is ok", "it is ok", id="a short answer is shown"),
    pytest.param({"type": "contains", "value": "2.4.1", "negate": True}, ANSWER, "  41 | Version 2.4.1 is the newest.",
                 id="negated contains"),
    pytest.param({"type": "icontains", "value": "VERSION", "negate": True}, ANSWER,
                 "  41 | Version 2.4.1 is the newest.", id="negated icontains"),
    pytest.param({"type": "regex", "value": r"2\.4\.\d", "negate": True}, ANSWER, "  41 | Version 2.4.1 is the newest.",
                 id="negated regex"),
    pytest.param({"type": "ends-with", "value": "done"}, "x" * 600 + " the end", "…", id="ends-with shows the end"),
    pytest.param({"type": "equals", "value": "a\nb\nc"}, "a\nx\nc",
                 "missing (-) and surplus (+) lines:\n- 2 | b\n+ 2 | x", id="equals"),
    pytest.param({"type": "is-json"}, "no JSON", "no JSON", id="is-json"),
]  # fmt: skip


@pytest.mark.parametrize(("entry", "answer", "evidence"), EVIDENCE)
def test_a_failed_grader_of_the_answer_shows_what_matters(entry, answer, evidence):
    outcome = graded(entry, session(answer))
    assert outcome.passed is False
    assert outcome.evidence.startswith(evidence)
    assert len(outcome.evidence) < 1_500


@pytest.mark.parametrize("entry", [{"type": "contains", "value": "ok"}, {"type": "regex", "value": "ok"}])
def test_what_passes_has_no_evidence(entry):
    assert graded(entry, session("it is ok")).evidence is None
    assert graded({**entry, "negate": True}, session("no")).passed


CALLS = [call("Bash", {"command": "ls"}), call("Readme", {"path": "a"}), call("Write", {"path": "b"})]
IN_ORDER = 'tool calls:\n1. Bash {"command":"ls"}\n2. Readme {"path":"a"}\n3. Write {"path":"b"}'
NEAREST = 'tool calls, nearest first:\n2. Readme {"path":"a"}\n'
NO_CALLS = "tool calls: none"


@pytest.mark.parametrize(
    ("entry", "evidence", "without_calls"),
    [
        pytest.param({"mode": "any_order", "minimums": {"Read": 1}}, NEAREST, NO_CALLS, id="any_order"),
        pytest.param({"mode": "superset", "expected": [{"tool": "Read"}]}, NEAREST, NO_CALLS, id="superset"),
        pytest.param({"mode": "in_order", "expected": [{"tool": "Read"}]}, IN_ORDER, NO_CALLS, id="in_order"),
        pytest.param(
            {"mode": "exact", "expected": [{"tool": "Read"}]},
            IN_ORDER,
            f"no: tool calls: 0 instead of 1\nno: call 1 is missing, not Read\n{NO_CALLS}",
            id="exact",
        ),
        pytest.param({"mode": "subset", "expected": [{"tool": "Read"}]}, IN_ORDER, None, id="subset"),
    ],
)
def test_a_failed_trajectory_lists_the_calls(entry, evidence, without_calls):
    """A session without calls passes ``subset``, so it has no evidence there."""
    outcome = graded({"type": "tool-trajectory", **entry}, session("", *CALLS))
    assert outcome.passed is False
    assert evidence in outcome.evidence
    many = graded({"type": "tool-trajectory", **entry}, session("", *CALLS * 30))
    assert many.evidence.endswith("… and 60 more")
    assert graded({"type": "tool-trajectory", **entry}, session("")).evidence == without_calls


def test_counts_of_calls_are_told_in_whole_sentences():
    minimums = {"type": "tool-trajectory", "mode": "any_order", "minimums": {"Read": 2, "Edit": 1}}
    found = graded(minimums, session("", call("Read")))
    told = "Read was called once, at least 2 are wanted; Edit was called 0 times, at least 1 is wanted"
    assert found.explanation.endswith(told)


def test_a_skill_that_was_not_used_is_told_with_what_was():
    outcome = graded({"type": "skill-trigger", "skill": "csv"}, session("", *CALLS))
    assert outcome.evidence == f"skills used: none\n{IN_ORDER}"
    assert graded({"type": "skill-trigger", "skill": "csv"}, session("")).evidence == (
        "skills used: none\ntool calls: none"
    )
    used = session("", call("Skill", {"skill": "csv"}))
    refused = graded({"type": "skill-trigger", "skill": "csv", "should_trigger": False}, used)
    assert refused.evidence == "the tool Skill was called for csv"
