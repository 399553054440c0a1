"""``mode: conversation``: how turns are read, prompted, graded; and a run with an agent that answers for real."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from agentv_context import FakeContext, said, session
from agentv_files import case, one_case, problems, read_tests
from scratch import repository, run_in
from skillgym_action.model.json_codec import from_json, to_json
from skillgym_action.model.session_report import SessionReport
from skillgym_action.sessions.run_session import combined, next_prompt

if TYPE_CHECKING:
    from pathlib import Path


def contains(word: str, **more: Any) -> dict[str, Any]:
    return {"type": "contains", "value": word} | more


def talk(root: Path, *turns: dict[str, Any], **keys: Any) -> Any:
    """The case of a conversation without assertions of the whole."""
    return one_case(root, **{"mode": "conversation", "assertions": [], "turns": list(turns), "input": "Hello"} | keys)


def judged(test: Any, *replies: str) -> Any:
    """The outcome, if the agent replies so."""
    reports = [session(reply, said(reply)) for reply in replies]
    report = replace(combined(reports), exchanges=tuple(reports))
    (assertion,) = test.assertions
    context: Any = FakeContext(report=from_json(SessionReport, json.loads(json.dumps(to_json(report)))))
    (outcome,) = assertion.judge(context)
    return outcome


# --- scores -----------------------------------------------------------------------------------------

FIRST, SECOND, THIRD = (
    {"input": word, "assertions": [contains(word), contains("o", weight=3)]} for word in ("one", "two", "six")
)
SCORES = [
    pytest.param({}, (1 + 1 + 0.25) / 3, id="mean"),
    pytest.param({"aggregation": "min"}, 0.25, id="min"),
    pytest.param({"aggregation": "max"}, 1.0, id="max"),
]


@pytest.mark.parametrize(("keys", "score"), SCORES)
def test_the_score_is_made_of_the_scores_of_turns(tmp_path, keys, score):
    assert judged(talk(tmp_path, FIRST, SECOND, THIRD, **keys), "one", "two", "six").score == pytest.approx(score)


def test_a_turn_without_assertions_scores_1(tmp_path):
    assert judged(talk(tmp_path, {"input": "a"}, {"input": "b", "assertions": [contains("x")]}), "a", "b").score == 0.5


@pytest.mark.parametrize(("word", "score"), [("stop", 0.25), ("continue", 0.75)])
def test_turns_after_a_failed_one_count_if_the_conversation_goes_on(tmp_path, word, score):
    turns = [{"input": "a", "assertions": [contains(one)]} for one in ("a", "no", "a", "a")]
    outcome = judged(talk(tmp_path, *turns, on_turn_failure=word), "a", "a", "a", "a")
    assert outcome.score == score
    assert ("turn 3: not counted, since an earlier turn failed" in outcome.explanation) is (word == "stop")


def test_the_whole_conversation_is_one_more_score_with_the_transcript_as_the_answer(tmp_path):
    whole = [contains("user: Hello\n\nuser: a\n\nassistant: A\n\nuser: b\n\nassistant: B"), contains("no")]
    test = talk(tmp_path, {"input": "a"}, {"input": "b"}, assertions=whole)
    assert judged(test, "A", "B").score == pytest.approx((1 + 1 + 0.5) / 3)


def test_a_conversation_that_stops_ends_with_the_turn_that_failed(tmp_path):
    turns = [{"input": "a", "assertions": [contains("no")]}, {"input": "b"}]
    test = talk(tmp_path, *turns, assertions=[contains("assistant: B")], on_turn_failure="stop")
    assert judged(test, "A", "B").score == 0


def test_a_required_assertion_of_a_turn_makes_the_turn_score_0(tmp_path):
    turns = ({"input": "a", "assertions": [contains("A"), contains("x", required=True)]}, {"input": "b"})
    assert judged(talk(tmp_path, *turns), "A", "B").score == 0.5


def test_one_assertion_that_cannot_tell_leaves_the_conversation_undecided(tmp_path):
    outcome = judged(talk(tmp_path, {"input": "a", "assertions": ["is polite"]}, {"input": "b"}), "A", "B")
    assert (outcome.passed, outcome.trouble) == (None, "grader")
    assert outcome.explanation.startswith("turn 1: turn-rubrics: ")


def test_turns_that_were_not_played_are_not_judged(tmp_path):
    outcome = judged(talk(tmp_path, {"input": "a"}, {"input": "b"}), "A")
    assert (outcome.passed, outcome.explanation) == (None, "1 of 2 turns were played")


# --- prompts ----------------------------------------------------------------------------------------


def test_prompts_repeat_what_was_said(tmp_path):
    test = talk(
        tmp_path, {"input": "a"}, {"input": {"n": 1}}, {"input": "c"}, input=[{"role": "system", "content": "S"}]
    )
    assert test.prompt == "@[System]:\nS\n\n@[User]:\na"
    assert next_prompt(test.conversation, ()) == test.prompt
    assert next_prompt(test.conversation, ("A",)) == (
        '@[System]:\nS\n\n@[User]:\na\n\n@[Assistant]:\nA\n\n@[User]:\n{"n":1}'
    )


def test_a_window_forgets_all_but_the_last_turns_and_instructions(tmp_path):
    turns = ({"input": "a"}, {"input": "b"}, {"input": "c"})
    test = talk(tmp_path, *turns, input=[{"role": "system", "content": "S"}], window_size=1)
    assert next_prompt(test.conversation, ("A", "B")) == "@[System]:\nS\n\n@[Assistant]:\nB\n\n@[User]:\nc"


def test_a_conversation_may_begin_with_its_first_turn(tmp_path):
    suite = read_tests(tmp_path, {"id": "a", "mode": "conversation", "turns": [{"input": "Hi"}]})
    assert (suite.invalid, suite.cases[0].prompt) == ((), "Hi")


WRONG = [
    pytest.param({"mode": "conversation"}, "the conversation has no turns", id="no turns"),
    pytest.param({"mode": "chat"}, "the mode 'chat' is not known", id="another mode"),
    pytest.param({"turns": [{"input": "a"}]}, "turns need the mode of a conversation", id="no mode"),
    pytest.param({"mode": "conversation", "turns": [{}]}, "turns[0]: the turn has no input", id="no input"),
    pytest.param({"mode": "conversation", "turns": ["a"]}, "turns[0]: must be a mapping", id="a text"),
    pytest.param({"mode": "conversation", "turns": [{"input": "a"}] * 101}, "more than 100 turns", id="too many"),
    *(
        pytest.param({"mode": "conversation", "turns": [{"input": "a"}], key: value}, problem, id=key)
        for key, value, problem in (
            ("aggregation", "median", "aggregation: must be one of mean, min, max, not 'median'"),
            ("on_turn_failure", "abort", "on_turn_failure: must be continue or stop, not 'abort'"),
            ("window_size", 0, "window_size: must be 1 or more"),
        )
    ),
]


@pytest.mark.parametrize(("keys", "problem"), WRONG)
def test_what_is_wrong_is_told_with_its_key_path(tmp_path, keys, problem):
    (told,) = problems(read_tests(tmp_path, case("a", **keys)))
    assert problem in told


def test_unknown_keys_of_turns_are_warnings(tmp_path):
    suite = read_tests(tmp_path, case("a", mode="conversation", turns=[{"input": "a", "assertion": []}]))
    assert any("turns[0].assertion" in str(warning) and "assertions" in str(warning) for warning in suite.warnings)


# --- a run ------------------------------------------------------------------------------------------

REPLIES = 'echo {PROMPT} >> said.txt; n=$(ls prompt-* 2>/dev/null | wc -l); echo "$n" > prompt-$n.txt; '
REPLIES += 'echo "reply $n" > {OUTPUT_FILE}'


def held(root: Path, test: dict[str, Any]) -> tuple[Any, Any]:
    """The result of a conversation with an agent that answers for real, and its stored report."""
    files = {
        "bench/core.json": None,
        "bench/EVAL.yaml": json.dumps({"tests": [test], "workspace": {"isolation": "per_test"}}),
        "targets.yaml": json.dumps({"targets": [{"name": "default", "provider": "cli", "command": REPLIES}]}),
    }
    (result,) = run_in(repository(root, files)).results
    (stored,) = (root / "results").rglob("report.json")
    return result, json.loads(stored.read_text(encoding="utf-8"))


def of_files(name: str, shell: str) -> dict[str, Any]:
    """A grader of the workspace."""
    return {"type": "code-grader", "name": name, "command": ["sh", "-c", f'cd "$AGENTV_WORKSPACE_PATH"; {shell}']}


def test_a_real_agent_is_asked_turn_by_turn_in_one_workspace(tmp_path):
    turns = [{"input": f"turn {n}", "assertions": [contains(f"reply {n}")]} for n in (0, 1, 2)]
    opening = [{"role": "system", "content": "Be brief."}]
    whole = [of_files("whole", "test -f prompt-2.txt")]
    result, content = held(tmp_path, case("a", mode="conversation", turns=turns, input=opening, assertions=whole))
    (outcome,) = result.judgement.outcomes
    assert (str(result.status), outcome.score) == ("passed", 1.0)
    assert [one["finalOutput"].strip() for one in content["exchanges"]] == ["reply 0", "reply 1", "reply 2"]
    assert content["exchanges"][2]["prompt"].endswith("@[Assistant]:\nreply 1\n\n\n@[User]:\nturn 2")
    assert len([*(tmp_path / "results").rglob("turn-3.stdout.log")]) == 1


@pytest.mark.slow
def test_graders_of_a_turn_see_the_workspace_as_that_turn_has_left_it(tmp_path):
    changed = 'import json, sys; print(json.load(sys.stdin)["file_changes"].count("+++ "))'
    turns = [
        {
            "input": f"turn {n}",
            "assertions": [
                of_files("files", f"test $(ls prompt-* | wc -l) = {n}"),
                of_files("diff", f"test $(python3 -c '{changed}') = {n + 1}"),
            ],
        }
        for n in (1, 2, 3)
    ]
    result, content = held(tmp_path, case("a", mode="conversation", turns=turns, assertions=[]))
    assert (str(result.status), result.judgement.outcomes[0].score) == ("passed", 1.0)
    assert len(content["exchanges"]) == 3


def test_after_a_failed_turn_the_others_are_not_played_if_the_conversation_stops(tmp_path):
    turns = [{"input": one, "assertions": [contains(word)]} for one, word in (("a", "reply"), ("b", "no"), ("c", "x"))]
    test = case(
        "a", mode="conversation", turns=turns, on_turn_failure="stop", assertions=[contains("assistant: reply 1")]
    )
    result, content = held(tmp_path, test)
    (outcome,) = result.judgement.outcomes
    assert outcome.score == pytest.approx((1 + 0 + 0 + 1) / 4)
    assert "turn 3: not played, since an earlier turn failed" in outcome.explanation
    assert [one["finalOutput"].strip() for one in content["exchanges"]] == ["reply 0", "reply 1"]
