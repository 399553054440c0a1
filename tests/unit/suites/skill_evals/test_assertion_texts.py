"""What the assertions of a case in ``evals.json`` are: questions to the judge, or decided without it."""

from __future__ import annotations

import pytest

from skill_eval_files import decided, problems, read_cases, texts, warnings

ASKED = [
    pytest.param({"expectations": ["a", "b"]}, ["a", "b"], id="expectations"),
    pytest.param({"expectations": "a"}, ["a"], id="a text"),
    pytest.param({"assertions": ["a", {"text": "b"}]}, ["a", "b"], id="texts and mappings"),
    pytest.param({"assertions": [{"id": "x1", "assertion": "a"}]}, ["x1 = a"], id="an id"),
    pytest.param({"assertions": [{"id": 0, "expectation": "a"}]}, ["0 = a"], id="the id 0"),
    pytest.param({"assertions": [{"name": "n", "description": "d"}]}, ["n = d"], id="name and description"),
    pytest.param({"assertions": [{"name": "n"}]}, ["n"], id="a name alone"),
    pytest.param({"assertions": [{"dimension": "tone", "criterion": "a"}]}, ["tone = a"], id="a dimension"),
    pytest.param({"assertions": [{"name": "n", "pass_if": "p"}]}, ["n = p"], id="pass_if"),
    pytest.param({"assertions": [{"name": "n", "check": "Runs the tests"}]}, ["n = Runs the tests"], id="check"),
    pytest.param({"assertions": [{"requirement": "r"}]}, ["r"], id="requirement"),
    pytest.param({"assertions": [{"type": "boolean", "text": "a"}]}, ["a"], id="another type"),
    pytest.param({"assertions": [{"type": "contains", "text": "a"}]}, ["a"], id="a type without its operand"),
    pytest.param(
        {"assertions": [{"type": "output_row_count", "value": 5}]}, ["output row count: value 5"], id="no text"
    ),
    pytest.param({"assertions": [{"text": "a", "advisory": True}, "b"]}, ["a ?", "b"], id="advisory"),
    pytest.param({"assertions": [{"text": "a", "required": False}, "b"]}, ["a ?", "b"], id="not required"),
    pytest.param({"expectations": ["a", " a", "a "]}, ["a"], id="equal texts"),
    pytest.param({"checks": ["a"], "rubric": ["b"], "must_have": ["c"]}, ["a", "c", "b"], id="several keys"),
    pytest.param(
        {"rubric": {"tone": "kind", "facts": ["a", "b"]}}, ["tone = kind", "facts = a", "facts = b"], id="map"
    ),
    pytest.param({"rubric": {"a": {"b": ["c"]}}}, ["a, b = c"], id="a map in a map"),
    pytest.param(
        {"rubric": {"summary": "present", "table": "present"}},
        ["summary = present", "table = present"],
        id="equal texts of a map",
    ),
    pytest.param({"rubric": [{"name": "tone", "weight": 3, "criteria": ["a"]}]}, ["tone, criteria = a"], id="a weight"),
    pytest.param({"expected": {"rows": 5, "score": 2}}, ["rows = 5", "score = 2"], id="numbers of a map"),
    pytest.param({"rubric": [{"name": "tone", "criteria": ["a"]}]}, ["tone, criteria = a"], id="a name and a list"),
    pytest.param(
        {"expected": {"must_have": ["a"], "forbidden": ["b"]}},
        ["must_have = a", "forbidden = the result does not: b"],
        id="negated in a map",
    ),
    pytest.param({"must_not_have": ["a"]}, ["the result does not: a"], id="negated"),
    pytest.param(
        {"forbidden": "a", "fail": ["b"]}, ["the result does not: a", "the result does not: b"], id="forbidden"
    ),
    pytest.param({"expectedBehavior": "a", "successCriteria": ["b"]}, ["b", "a"], id="camelCase"),
    pytest.param(
        {"required_output_sections": ["Summary"]}, ["required output sections = Summary"], id="sections of the output"
    ),
    pytest.param({"expected_row_count": 5}, ["expected row count: 5"], id="expected_*"),
    pytest.param(
        {"expected_files": ["a", "b"], "expected_nothing": None, "expected_shape": {"kind": "table", "empty": False}},
        ["expected files: a", "expected files: b", "expected shape, kind: table", "expected shape, empty: false"],
        id="leaves",
    ),
    pytest.param({"expected_output": "o"}, ["o"], id="the expected output alone"),
    pytest.param({"expected_output": "o", "expectations": ["a"]}, ["a"], id="the expected output with a question"),
    pytest.param({"expected_output": "o", "expectations": []}, ["o"], id="with an empty list"),
    pytest.param({"expected_output": "o", "expectations": None}, ["o"], id="with null"),
    pytest.param({"expected_output": {"rows": 3}}, ['{\n "rows": 3\n}'], id="an expected output that is no text"),
    pytest.param({"expected": 42}, ["expected: 42"], id="a number"),
    pytest.param({"assertions": [{"check": "rm -rf /", "cmd": "true"}]}, ["rm -rf /"], id="nothing is run"),
]


@pytest.mark.parametrize(("keys", "expected"), ASKED)
def test_what_the_judge_is_asked(tmp_path, keys, expected):
    suite = read_cases(tmp_path, keys)
    assert problems(suite) == []
    assert texts(suite.cases[0]) == expected


def test_other_texts_of_a_question_are_shown_to_the_judge(tmp_path):
    entry = {"id": 1, "text": "a", "name": "rows", "pass_if": "3 rows", "hint": "none", "path": "x.csv"}
    suite = read_cases(tmp_path, {"assertions": [entry]})
    (question,) = suite.cases[0].assertions[0].questions
    assert question.details == ("name: rows", "pass_if: 3 rows", "path: x.csv")


DECIDED = [
    pytest.param({"type": "contains", "value": "x"}, "contains: x", id="contains"),
    pytest.param({"type": "contains", "value": "x", "description": "d"}, "d", id="described"),
    pytest.param({"id": "i", "type": "icontains", "value": "x"}, "i", id="an id"),
    pytest.param({"type": "not-contains", "value": "x"}, "not contains: x", id="- for _"),
    pytest.param({"check": "regex", "pattern": "a+"}, "regex: a+", id="the type in check"),
    pytest.param({"type": "not_regex", "value": "a+", "path": "x.txt"}, "not regex: a+", id="of a file"),
    pytest.param({"type": "file_exists", "path": "./out/x.txt"}, "file exists: out/x.txt", id="file_exists"),
    pytest.param({"type": "file_contains", "path": "x", "value": "y"}, "file contains: y", id="file_contains"),
    pytest.param({"type": "content-contains", "path": "x", "value": "y"}, "content contains: y", id="content_contains"),
    pytest.param({"type": "json_valid", "path": "x"}, "json valid: x", id="json_valid"),
    pytest.param({"type": "json_valid"}, "json valid", id="json_valid of the message"),
    pytest.param({"type": "skill_used"}, "skill used", id="skill_used"),
    pytest.param({"type": "contains", "value": ["x", 5]}, "contains: x, 5", id="several texts"),
]


@pytest.mark.parametrize(("entry", "name"), DECIDED)
def test_what_needs_no_judge(tmp_path, entry, name):
    (case,) = read_cases(tmp_path, {"assertions": [entry]}).cases
    assert (decided(case), case.questions) == ([name], 0)


def test_names_of_assertions_are_unique(tmp_path):
    entry = {"type": "contains", "value": "x"}
    (case,) = read_cases(tmp_path, {"assertions": [entry, entry | {"path": "y"}]}).cases
    assert decided(case) == ["contains: x", "contains: x (2)"]


WRONG = [
    pytest.param({"assertions": [{"type": "contains"}]}, "lacks value, pattern or path", id="no operand"),
    pytest.param({"assertions": [{"check": "contains"}]}, "lacks value, pattern or path", id="none with check"),
    pytest.param({"assertions": [{"type": "contains", "value": ""}]}, "lacks value, pattern", id="an empty operand"),
    pytest.param({"assertions": [{"type": "regex", "value": "("}]}, "'(' is not a regular expression", id="a pattern"),
    pytest.param({"assertions": [{"type": "file_exists", "path": "../x"}]}, "'../x' is not below", id="upwards"),
    pytest.param({"assertions": [{"type": "file_exists", "path": "/x"}]}, "'/x' is not below", id="absolute"),
    pytest.param({"assertions": [{}]}, "assertions[0]: is empty", id="an empty mapping"),
    pytest.param({"assertions": [{"passed": True}]}, "has no text that says what must be true", id="a grade alone"),
    pytest.param({"assertions": ["a", {"weight": []}]}, "has no text that says what must be true", id="no text"),
    pytest.param({"assertions": [""]}, "must not be empty", id="an empty text"),
    pytest.param({}, "nothing says when the case is passed", id="nothing"),
    pytest.param({"expectations": []}, "nothing says when the case is passed", id="an empty list"),
    pytest.param({"assertions": [{"text": "a", "advisory": True}]}, "nothing decides it", id="all of it advisory"),
    pytest.param(
        {"assertions": [{"type": "contains", "value": "x", "advisory": True}]}, "nothing decides it", id="one of them"
    ),
    pytest.param({"expectations": [f"q{number}" for number in range(501)]}, "more than 500 assertions", id="too many"),
    pytest.param({"expectations": ["x" * 20_001]}, "is longer than 20,000 characters", id="too long"),
]


@pytest.mark.parametrize(("keys", "message"), WRONG)
def test_what_cannot_be_decided_is_refused(tmp_path, keys, message):
    suite = read_cases(tmp_path, keys, {"expectations": ["fine"]})
    assert [case.id for case in suite.cases] == ["eval-2"]
    (problem,) = problems(suite)
    assert message in problem
    assert problem.startswith("skills/pdf/evals/evals.json:1:")


def test_what_a_grader_has_left_is_ignored_with_a_warning(tmp_path):
    suite = read_cases(
        tmp_path, {"expectations": [{"text": "a", "passed": True, "evidence": "e"}, {"text": "b", "passed": False}]}
    )
    assert texts(suite.cases[0]) == ["a", "b"]
    assert [line.partition(": ")[2] for line in warnings(suite)] == [
        "evals[0].expectations[0].passed: passed is an earlier answer of a grader: it is ignored; remove it",
        "evals[0].expectations[0].evidence: evidence is an earlier answer of a grader: it is ignored; remove it",
    ]


def test_an_advisory_key_that_is_neither_true_nor_false_is_a_warning(tmp_path):
    suite = read_cases(tmp_path, {"expectations": [{"text": "a", "required": "no"}]})
    assert texts(suite.cases[0]) == ["a"]
    assert "required must be true or false: it has no effect" in warnings(suite)[0]


NEARLY = [
    pytest.param({"type": "file_contain", "path": "x", "value": "y"}, "file_contain", "file_contains", id="a letter"),
    pytest.param({"type": "file_contain", "text": "a"}, "file_contain", "file_contains", id="with a text"),
    pytest.param({"type": "fileContains", "path": "x", "value": "y"}, "fileContains", "file_contains", id="camelCase"),
    pytest.param({"type": "Regexp", "value": "y"}, "Regexp", "regex", id="another word"),
    pytest.param({"type": "no-contains", "value": "y"}, "no-contains", "not_contains", id="negated"),
    pytest.param({"type": "file_not_contains", "path": "x", "value": "y"}, "file_not_contains", "not_contains",
                 id="negated, never the opposite"),
]  # fmt: skip


@pytest.mark.parametrize(("entry", "written", "meant"), NEARLY)
def test_a_type_that_is_nearly_a_known_one_is_a_question_with_a_warning(tmp_path, entry, written, meant):
    suite = read_cases(tmp_path, {"assertions": ["first", entry]})
    assert (problems(suite), len(texts(suite.cases[0])), decided(suite.cases[0])) == ([], 2, [])
    (warning,) = warnings(suite)
    assert warning.partition(": ")[2] == (
        f"evals[0].assertions[1].type: unknown type {written!r}, so this is a question to the judge; "
        f"did you mean {meant!r}?"
    )


def test_a_type_in_check_that_is_nearly_a_known_one_is_a_warning_once_in_a_file(tmp_path):
    entry = {"check": "file_exist", "path": "x"}
    suite = read_cases(tmp_path, {"assertions": [entry, entry | {"path": "y"}]}, {"assertions": [entry]})
    (warning,) = warnings(suite)
    assert warning.partition(": ")[2] == (
        "evals[0].assertions[0].check: unknown check 'file_exist', so this is a question to the judge; "
        "did you mean 'file_exists'?"
    )


LABELS = [
    pytest.param({"type": "boolean", "text": "a"}, id="a label"),
    pytest.param({"type": "file_content", "text": "a"}, id="a label with a word of a type"),
    pytest.param({"type": "output_row_count", "value": 5}, id="without a text"),
    pytest.param({"type": "file_not_exists", "path": "x"}, id="the opposite of a type"),
    pytest.param({"type": "contains_any", "value": ["x", "y"]}, id="a type of another program"),
    pytest.param({"name": "n", "check": "The file contains x"}, id="a text in check"),
    pytest.param({"type": "contains", "text": "a"}, id="a type without its operand"),
    pytest.param({"type": "regexp", "check": "regex", "value": "x"}, id="a type in check, too"),
]


@pytest.mark.parametrize("entry", LABELS)
def test_a_type_that_is_not_like_a_known_one_is_a_label_without_a_word(tmp_path, entry):
    suite = read_cases(tmp_path, {"assertions": [entry]})
    assert (problems(suite), warnings(suite)) == ([], [])
