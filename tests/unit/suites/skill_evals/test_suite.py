"""``evals.json`` in the shapes that its authors give it: which files are suites, their cases, and messages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skill_eval_files import (
    EVALS,
    SKILL,
    decided,
    problems,
    questions_of,
    read_cases,
    read_evals,
    texts,
    warnings,
)
from skillgym_action.model.errors import SuiteError
from skillgym_action.model.suite import WorkspaceSpec
from skillgym_action.suites.skill_evals import keys
from skillgym_action.suites.skill_evals.cases import SuiteSettings, TriggerSettings, cases_of
from skillgym_action.suites.skill_evals.input_files import InputPlaces
from skillgym_action.suites.skill_evals.suite_names import accepts, rejection
from skillgym_action.suites.values import SuiteValue
from skillgym_action.text.documents.documents import program_document

CASE = {"prompt": "p", "expectations": ["a"]}

# The shares are of public files, as far as they were counted.
SHAPES = [
    pytest.param({"skill_name": "pdf", "evals": [CASE]}, ["eval-1"], id="skill_name and evals: 88%"),
    pytest.param({"evals": [CASE | {"id": 1}, CASE | {"id": 0}]}, ["1", "0"], id="an id that is a number: 85%"),
    pytest.param({"evals": [CASE | {"id": "one"}]}, ["one"], id="an id that is text: 12%"),
    pytest.param({"evals": [CASE | {"id": None}, CASE]}, ["eval-1", "eval-2"], id="no id: 3%"),
    pytest.param([CASE], ["eval-1"], id="a list: 5%"),
    pytest.param({"cases": [CASE]}, ["eval-1"], id="cases"),
    pytest.param({"test_cases": [CASE]}, ["eval-1"], id="test_cases"),
    pytest.param({"testCases": [CASE]}, ["eval-1"], id="testCases"),
    pytest.param({"tests": [CASE]}, ["eval-1"], id="tests"),
    pytest.param({"scenarios": [CASE]}, ["eval-1"], id="scenarios"),
    pytest.param({"evaluations": [CASE]}, ["eval-1"], id="evaluations"),
    pytest.param({"skill": "pdf", "evals": [CASE], "version": 1, "notes": "x"}, ["eval-1"], id="other keys"),
    pytest.param({"evals": [{"query": "p", "checks": ["a"]}]}, ["eval-1"], id="query for prompt"),
    pytest.param({"evals": [{"task": "p", "criteria": ["a"]}]}, ["eval-1"], id="task"),
    pytest.param({"evals": [{"input": "p", "rubric": ["a"]}]}, ["eval-1"], id="input"),
    pytest.param({"evals": [{"userPrompt": "p", "expectedBehavior": ["a"]}]}, ["eval-1"], id="camelCase"),
    pytest.param(
        {"evals": [{"messages": [{"role": "user", "content": "p"}], "expect": "a"}]}, ["eval-1"], id="message"
    ),
    pytest.param({"evals": [{"prompt": "p", "expected_output": "a"}]}, ["eval-1"], id="expected_output alone: 25%"),
    pytest.param({"evals": [{"prompt": "p", "files": [], "expected_result": "a"}]}, ["eval-1"], id="empty files: 63%"),
    pytest.param({"evals": [CASE | {"files": None}]}, ["eval-1"], id="null files"),
    pytest.param({"evals": [CASE | {"should_trigger": True}]}, ["eval-1"], id="should_trigger beside questions"),
]


@pytest.mark.parametrize(("value", "ids"), SHAPES)
def test_shapes_of_public_files_are_read_without_a_word(tmp_path, value, ids):
    suite = read_evals(tmp_path, value)
    assert (problems(suite), warnings(suite)) == ([], [])
    assert [case.id for case in suite.cases] == ids
    assert {case.prompt for case in suite.cases} == {"p"}
    assert all(texts(case) == ["a"] for case in suite.cases)
    assert accepts(EVALS, json.dumps(value))
    assert (suite.name, suite.format) == ("pdf", "skill-evals")


def test_a_case_has_its_settings(tmp_path):
    keys_of_case = {
        "id": 7,
        "eval_name": "count",
        "tags": ["a", "b"],
        "category": "basic",
        "split": "train",
        "timeout_seconds": 90,
        "max_turns": 4,
        "expected_fail": True,
        "metadata": {"owner": "x"},
        "description": "d",
        "difficulty": "easy",
        "expectations": ["a", "b"],
    }
    suite = read_cases(tmp_path, keys_of_case, pass_threshold=0.5)
    (case,) = suite.cases
    assert warnings(suite) == []
    assert (case.id, case.title, case.tags) == ("7", "count", ("a", "b", "category:basic", "split:train"))
    assert (case.timeout, case.max_steps, case.expected_fail, case.metadata) == (90, 4, True, {"owner": "x"})
    assert (case.threshold, case.questions) == (0.5, 2)
    assert str(case.location) == "skills/pdf/evals/evals.json:1:33"


def test_the_workspace_is_empty_and_committed_with_the_skill_in_it(tmp_path):
    suite = read_cases(tmp_path, CASE)
    spec = suite.workspace
    assert (spec.source, spec.committed, [skill.name for skill in spec.skills]) == ("empty", True, ["pdf"])
    assert suite.cases[0].workspace is None


WRONG = [
    pytest.param({"prompt": None}, "has no prompt; write what the agent should do", id="no prompt"),
    pytest.param({"prompt": ""}, "prompt: must not be empty", id="an empty prompt"),
    pytest.param({"prompt": 5}, "prompt: must be text", id="a prompt that is no text"),
    pytest.param({"prompt": "a\0"}, "cannot be passed to a program: U+0000", id="NUL"),
    pytest.param({"turns": ["a"]}, "conversations of several turns are not supported", id="turns"),
    pytest.param({"query_flow": ["a"]}, "conversations of several turns are not supported", id="query_flow"),
    pytest.param({"messages": [{"role": "user"}, {"role": "user"}]}, "conversations of several", id="messages"),
    pytest.param({"id": {}}, "id: must be a number or text", id="an id that is a mapping"),
    pytest.param({"id": "x" * 1_001}, "is longer than", id="a long id"),
    pytest.param({"timeout_seconds": "9"}, "timeout_seconds: must be a number above 0", id="a timeout"),
    pytest.param(
        {"timeout_seconds": True},
        "timeout_seconds: must be a number above 0",
        id="true for a number",
    ),
    pytest.param({"max_turns": 1.5}, "max_turns: must be a whole number above 0", id="rounds"),
    pytest.param({"expected_fail": "no"}, "expected_fail: must be true or false", id="a flag"),
    pytest.param({"tags": [{}]}, "tags[0]: must be text", id="tags"),
    pytest.param({"should_trigger": "xlsx"}, "the skill xlsx is not installed", id="another skill"),
]


@pytest.mark.parametrize(("keys_of_case", "message"), WRONG)
def test_a_case_that_cannot_be_used_is_refused_and_the_others_run(tmp_path, keys_of_case, message):
    suite = read_cases(tmp_path, CASE | keys_of_case, CASE)
    (problem,) = problems(suite)
    assert problem.startswith("skills/pdf/evals/evals.json:1:")
    assert message in problem
    assert [case.id for case in suite.cases] == ["eval-2"]


UNUSABLE = [
    pytest.param(
        '{"eval": [{"prompt": "p"}]}', "eval: has no evals; did you mean 'evals' instead of 'eval'?", id="misspelt"
    ),
    pytest.param('{"skill_name": "pdf"}', "has no evals; write them as a list", id="no list"),
    pytest.param('{"evals": {}}', "evals: must be a list, not a mapping", id="a mapping"),
    pytest.param('{"evals": [], "cases": [{}]}', "is a second list of cases, beside evals", id="two lists"),
    pytest.param('{"evals": [{}], "threshold": 2}', "threshold: must be a number above 0, at most 1", id="threshold"),
    pytest.param('{"evals": [', "evals.json:1:", id="broken"),
    pytest.param('"x"', "must be a mapping", id="a text"),
]


@pytest.mark.parametrize(("text", "message"), UNUSABLE)
def test_a_file_that_cannot_be_used_says_why(tmp_path, text, message):
    with pytest.raises(SuiteError) as raised:
        read_evals(tmp_path, text)
    assert message in str(raised.value)


def test_a_suite_without_cases_is_errored(tmp_path):
    assert problems(read_evals(tmp_path, {"evals": []})) == [
        "skills/pdf/evals/evals.json:1:1: has no cases; a suite without cases checks nothing"
    ]


def test_a_second_prompt_is_named(tmp_path):
    suite = read_cases(tmp_path, CASE | {"task": "q", "query": "p"})
    assert [line.partition(": ")[2] for line in warnings(suite)] == [
        "evals[0].task: task has no effect, since there is prompt"
    ]


def test_messages_that_the_agent_does_not_get_are_named(tmp_path):
    system, user = {"role": "system", "content": "s"}, {"role": "user", "content": "p"}
    suite = read_evals(tmp_path, {"evals": [{"messages": [system, user], "expectations": ["a"]}]})
    assert [case.prompt for case in suite.cases] == ["p"]
    assert [line.partition(": ")[2] for line in warnings(suite)] == [
        "evals[0].messages[0]: the message has no effect: the agent gets only the prompt; add it to the prompt"
    ]


# --- input files ------------------------------------------------------------------------------------

PLACES = [
    pytest.param("skills/pdf/a.csv", id="the folder above evals"),
    pytest.param("skills/pdf/evals/a.csv", id="beside the file"),
    pytest.param("a.csv", id="the repository"),
]


@pytest.mark.parametrize("place", PLACES)
def test_where_input_files_are(tmp_path, place):
    suite = read_evals(tmp_path, {"evals": [CASE | {"files": ["a.csv"]}]}, SKILL | {place: "x"})
    (case,) = suite.cases
    assert [(file.path, file.source) for file in case.workspace.files] == [("a.csv", tmp_path / place)]
    assert case.prompt == "p\n\nInput files: a.csv"


def test_input_files_of_a_suite_that_is_not_in_its_skill_are_in_the_skill_too(tmp_path):
    files = SKILL | {"skills/pdf/a.csv": "x"}
    suite = read_evals(
        tmp_path, {"skill_name": "pdf", "evals": [CASE | {"files": "a.csv"}]}, files, "tests/evals/evals.json"
    )
    assert [file.source for file in suite.cases[0].workspace.files] == [tmp_path / "skills/pdf/a.csv"]


@pytest.mark.parametrize("prompt", ["Read evals/files/a.csv", "Read a.csv"])
def test_a_prompt_that_names_its_file_is_given_to_the_letter(tmp_path, prompt):
    files = SKILL | {"skills/pdf/evals/files/a.csv": "x"}
    suite = read_evals(tmp_path, {"evals": [CASE | {"prompt": prompt, "files": ["evals/files/a.csv"]}]}, files)
    assert suite.cases[0].prompt == prompt


REFUSED = [
    pytest.param("../x", "leads out of the workspace", id="upwards"),
    pytest.param("a/../../x", "leads out of the workspace", id="upwards, later"),
    pytest.param("/etc/passwd", "leads out of the workspace", id="absolute"),
    pytest.param("~/x", "leads out of the workspace", id="home"),
    pytest.param("C:\\x", "leads out of the workspace", id="a drive"),
    pytest.param(".git/config", "leads out of the workspace", id=".git"),
    pytest.param("https://example.com/a", "is an address: nothing is downloaded", id="an address"),
    pytest.param(
        "a scanned invoice",
        "there is no file a scanned invoice; looked for: skills/pdf/a scanned invoice, "
        "skills/pdf/evals/a scanned invoice, a scanned invoice",
        id="prose",
    ),
    pytest.param("evals/evals.json", "whose questions the agent must not read", id="the suite"),
    pytest.param("evals", "whose questions the agent must not read", id="its folder"),
    pytest.param("link", "cannot be copied: skills/pdf/link is a link", id="a link"),
    pytest.param({"content": "x"}, "has no path", id="no path"),
    pytest.param({"path": "x", "content": 5}, "must be text", id="content that is no text"),
]


@pytest.mark.parametrize(("file", "message"), REFUSED)
def test_input_files_that_are_not_copied(tmp_path, file, message):
    (tmp_path / "skills/pdf").mkdir(parents=True)
    (tmp_path / "skills/pdf/link").symlink_to("SKILL.md")
    suite = read_evals(tmp_path, {"evals": [CASE | {"files": [file]}]})
    (problem,) = problems(suite)
    assert message in problem


# --- names ------------------------------------------------------------------------------------------

EVAL_LIST, TRIGGERS = json.dumps({"evals": [CASE]}), '[{"query": "q", "should_trigger": true}]'
FOUND = [
    pytest.param("evals.json", EVAL_LIST, True, id="evals.json"),
    pytest.param("a/Shop.Evals.JSON", EVAL_LIST, True, id="*.evals.json"),
    pytest.param("a/evals.json", TRIGGERS, True, id="triggers in evals.json"),
    pytest.param("a/trigger-evals.json", TRIGGERS, True, id="trigger-evals.json"),
    pytest.param("a/trigger_eval.json", TRIGGERS, True, id="trigger_eval.json"),
    pytest.param("a/trigger-queries.json", TRIGGERS, True, id="trigger-queries.json"),
    pytest.param("a/trigger_eval_set.json", TRIGGERS, True, id="trigger_eval_set.json"),
    pytest.param("a/trigger-eval.json", EVAL_LIST, False, id="a trigger list of another shape"),
    pytest.param("a/evals.json", "", True, id="empty"),
    pytest.param("a/evals.json", '{"evals": [{"prompt": ', True, id="broken"),
    pytest.param("a/evals.json", '{"accuracy": 1}', False, id="another program's"),
    pytest.param("a/evals.json", '{"cases": [{"expect": 1}]}', False, id="cases without prompts"),
    pytest.param("a/more-evals.json", EVAL_LIST, False, id="another name"),
    pytest.param("a/eval_metadata.json", EVAL_LIST, False, id="eval_metadata.json"),
    pytest.param("pdf-workspace/evals.json", EVAL_LIST, False, id="a workspace"),
    pytest.param("a/iteration-2/evals.json", EVAL_LIST, False, id="an iteration"),
    pytest.param("results/evals.json", EVAL_LIST, False, id="results"),
    pytest.param("node_modules/x/evals.json", EVAL_LIST, False, id="a package's"),
    pytest.param("a/trigger-eval-results.json", '{"results": [{"trigger_rate": 1}]}', False, id="trigger results"),
]


@pytest.mark.parametrize(("path", "head", "expected"), FOUND)
def test_which_files_are_suites(path, head, expected):
    assert accepts(path, head) is expected


NEAR = [
    pytest.param("evals.json", '{"accuracy": 1}', True, id="another shape"),
    pytest.param("trigger-evals.json", "[1]", True, id="no queries"),
    pytest.param("evals.json", "[", True, id="not JSON"),
    pytest.param("x-workspace/evals.json", EVAL_LIST, False, id="results"),
    pytest.param("trigger-eval-results.json", '{"results": [{"trigger_rate": 1}]}', False, id="trigger results"),
    pytest.param("vendor/evals.json", '{"accuracy": 1}', False, id="written elsewhere"),
]


@pytest.mark.parametrize(("path", "head", "near"), NEAR)
def test_a_name_with_another_shape_is_one_warning(path, head, near):
    assert rejection(path, head).near_miss is near


def test_the_warning_says_what_a_file_of_its_name_has():
    assert "but no list of cases with prompts" in rejection("evals.json", "{}").reason
    assert "has the name of a list of trigger queries, but no queries" in rejection("trigger-evals.json", "[1]").reason


# --- trigger lists ----------------------------------------------------------------------------------

LISTS = [
    pytest.param([{"query": "a", "should_trigger": True}, {"query": "b", "should_trigger": False}], "+a -b", id="59%"),
    pytest.param({"queries": [{"query": "a", "should_trigger": True}]}, "+a", id="queries"),
    pytest.param({"cases": [{"prompt": "a", "should_trigger": False}]}, "-a", id="cases"),
    pytest.param({"skill_name": "pdf", "evals": [{"query": "a", "should_trigger": True}]}, "+a", id="evals"),
    pytest.param([{"query": "a", "expected_trigger": True}], "+a", id="expected_trigger: 3%"),
    pytest.param({"should_trigger": ["a", "b"], "should_not_trigger": ["c"]}, "+a +b -c", id="two lists: 6%"),
    pytest.param({"should_trigger": [{"query": "a", "why": "x"}], "should_not_trigger": []}, "+a", id="of mappings"),
    pytest.param({"skills": [{"name": "pdf", "should_trigger": ["a"], "should_not_trigger": ["b"]}]}, "+a -b", id="2%"),
    pytest.param({"skills": [{"name": "pdf", "shouldTrigger": ["a"]}]}, "+a", id="shouldTrigger of a skill"),
    pytest.param(
        [{"query": "a", "expected": "trigger"}, {"query": "b", "expected": "no_trigger"}], "+a -b", id="words"
    ),
    pytest.param([{"query": "a", "expected_skill": "pdf"}, {"query": "b", "expected_skill": None}], "+a -b", id="6%"),
    pytest.param(
        [{"query": "a", "should_trigger": "pdf"}, {"query": "b", "should_trigger": "none"}], "+a -b", id="none"
    ),
    pytest.param([{"query": "a", "expected": "pdf"}, {"query": "b", "expected": None}], "+a -b", id="expected"),
    pytest.param([{"query": "a", "expectSkill": "pdf"}], "+a", id="expect_skill"),
]


@pytest.mark.parametrize(("value", "expected"), LISTS)
def test_trigger_lists_are_read_without_a_word(tmp_path, value, expected):
    suite = read_evals(tmp_path, value, path="skills/pdf/evals/trigger-evals.json")
    assert (problems(suite), warnings(suite)) == ([], [])
    found = [("+" if case.trigger.should_trigger else "-") + case.prompt for case in suite.cases]
    assert " ".join(found) == expected
    assert {(case.trigger.skills, case.trigger.runs, case.trigger.threshold) for case in suite.cases} == {
        (("pdf",), 3, 0.5)
    }
    assert (suite.name, [questions_of(case) for case in suite.cases]) == ("pdf triggers", [()] * len(suite.cases))


def test_settings_and_tags_of_a_trigger_list(tmp_path):
    query = {
        "id": "q",
        "query": "a",
        "should_trigger": True,
        "split": "test",
        "area": "x",
        "language": "en",
        "note": "n",
    }
    value = {"runs": 5, "threshold": 0.8, "queries": [query]}
    (case,) = read_evals(tmp_path, value, path="skills/pdf/evals/trigger-evals.json").cases
    assert (case.id, case.tags) == ("q", ("split:test", "area:x", "language:en"))
    assert (case.trigger.runs, case.trigger.threshold) == (5, 0.8)


def test_a_query_that_does_not_say_what_has_to_load_is_refused(tmp_path):
    suite = read_evals(tmp_path, [{"query": "a", "should_trigger": True}, {"query": "b"}, {"should_trigger": True}])
    assert [line.partition(": ")[2] for line in problems(suite)] == [
        "[1]: does not say whether the skill has to load; write should_trigger: true or false",
        "[2]: has no query; write what the agent should do: query: …",
    ]


def test_triggers_in_evals_json_need_no_other_question(tmp_path):
    suite = read_cases(tmp_path, {"should_trigger": True}, CASE | {"id": "b", "should_trigger": False})
    alone, both = suite.cases
    assert (alone.questions, alone.trigger.should_trigger) == (0, True)
    assert (both.questions, both.trigger, len(both.assertions)) == (1, None, 2)


@pytest.mark.parametrize(
    ("keys_of_case", "expected"),
    [
        pytest.param({"expected_skill": None}, ["does not load the skill pdf"], id="no skill expected"),
        pytest.param({"expectSkill": None}, ["does not load the skill pdf"], id="expectSkill"),
        pytest.param({"skills_expected_to_activate": []}, ["does not load the skill pdf"], id="an empty list"),
        pytest.param({"skills_expected_to_activate": ["pdf"]}, ["loads the skill pdf"], id="a list"),
        pytest.param({"should_trigger": None}, [], id="null is no key"),
    ],
)
def test_a_case_may_expect_that_no_skill_loads(tmp_path, keys_of_case, expected):
    (case,) = read_cases(tmp_path, CASE | keys_of_case).cases
    assert decided(case) == expected


def test_a_query_may_name_the_skill_beside_should_trigger(tmp_path):
    files = SKILL | {"skills/docx/SKILL.md": "---\nname: docx\n---\n"}
    marks = [("docx", True), ("pdf", False), ("xlsx", True)]
    value = [{"query": "a", "skill": skill, "should_trigger": loads} for skill, loads in marks]
    suite = read_evals(tmp_path, value, files, "evals/trigger-evals.json")
    found = [(case.trigger.skills, case.trigger.should_trigger) for case in suite.cases]
    assert found == [(("docx",), True), (("pdf",), False), (("docx", "pdf"), True)]
    assert [line.partition(": ")[2] for line in warnings(suite)] == [
        "[2].skill: skill has no effect: the skill xlsx is not installed for this suite: docx, pdf"
    ]


# --- no key without a word --------------------------------------------------------------------------

NAMES = st.text("abcdefghijklmnopqrstuvwxyzABC_-", min_size=1, max_size=24)
VALUES = st.recursive(
    st.text(max_size=5) | st.integers() | st.booleans(), lambda inner: st.lists(inner, max_size=2), max_leaves=3
)
SETTINGS = SuiteSettings(
    workspace=WorkspaceSpec(source="empty"),
    places=InputPlaces(
        suite=Path("/r/evals.json"), folders=(), refusal=lambda _: None, is_suite=lambda _: False, shown=str
    ),
    skills=("pdf",),
    threshold=None,
    triggers=TriggerSettings(skills=("pdf",), rounds=5),
)


def is_reported(case: dict[str, object], key: str) -> bool:
    document = program_document({"evals": [case]}, path="evals.json")
    loaded = cases_of(SuiteValue(source=document, value=document.value).member("evals"), SETTINGS)
    return any(f"unknown key {key!r}" in problem.message for problem in loaded.warnings.problems)


@given(key=NAMES, value=VALUES)
def test_no_key_of_a_case_is_dropped_without_a_word(key, value):
    name = keys.canonical(key)
    known = name in keys.CASE_KEYS or name.startswith("expected_") or key.startswith(("$", "x-", "_"))
    assert is_reported(CASE | {key: value}, key) is not known


@given(key=NAMES, value=VALUES)
def test_no_key_of_a_question_is_dropped_without_a_word(key, value):
    name = keys.canonical(key)
    known = name in keys.QUESTION_KEYS or key.startswith(("$", "x-", "_"))
    assert is_reported({"prompt": "p", "expectations": [{"text": "a"} | {key: value}]}, key) is not known


def test_an_unknown_key_is_named_once_per_file_with_the_nearest_known_one(tmp_path):
    suite = read_cases(tmp_path, CASE | {"expectatoins": []}, CASE | {"expectatoins": []}, tresholds=1)
    assert [line.partition(": ")[2] for line in warnings(suite)] == [
        "tresholds: unknown key 'tresholds' of the file: it has no effect; did you mean 'threshold'?",
        "evals[0].expectatoins: unknown key 'expectatoins' of a case: it has no effect; did you mean 'expectations'?",
    ]


def test_a_case_key_at_the_top_is_no_silent_default(tmp_path):
    suite = read_cases(tmp_path, CASE, expectations=["b"])
    assert "unknown key 'expectations' of the file: it has no effect" in warnings(suite)[0]
