"""The text of suites: a case is added, and everything else stays."""

from __future__ import annotations

import json

import pytest

from skillgym_action.authoring.promotion.suite_files import case_section, new_suite, refuse_other_cases, with_case
from skillgym_action.model.errors import UsageError

CASE = case_section(
    "new", "Do it.", kept=["file:a exists"], drafted=["diff:b"], settings={"timeout": 5}, origin={"from": "x"}
)


def test_a_case_names_its_drafts():
    assert CASE == {
        "id": "new",
        "prompt": "Do it.",
        "timeout": 5,
        "expect": ["file:a exists", "diff:b"],
        "x-promoted": {"from": "x"},
        "x-drafted": ["diff:b"],
    }


def test_a_new_suite():
    value = json.loads(new_suite("n", CASE, "n.bench.json.template", "npm ci"))
    assert value["workspace"] == {"templateDir": "n.bench.json.template", "bootstrap": "npm ci"}
    assert value["cases"] == [CASE]


@pytest.mark.parametrize(
    "text",
    [
        '{"cases": [{"id": "a"}]}',
        '\ufeff{"cases":[{"id":"a"} ] , "name": "x"}',
        '{\n  "cases": [\n    {\n      "id": "a"\n    }\n  ],\n  "x-odd": [ 1,2 ]\n}\n',
        '{\r\n\t"cases": [\r\n\t\t{ "id": "a", "prompt": "}]\\"" }\r\n\t]\r\n}',
        '{\n    "x-cases": {"cases": [{"id": "new"}]},\n    "cases": [ {"id": "a"},\n {"id": "b"} ]\n}',
    ],
)
def test_a_case_is_added_and_every_other_character_stays(text):
    made = with_case(text, "a.bench.json", CASE)
    before, after = json.loads(text.removeprefix("\ufeff")), json.loads(made.removeprefix("\ufeff"))
    assert after == {**before, "cases": [*before["cases"], CASE]}
    start = next(at for at in range(len(made)) if at >= len(text) or made[at] != text[at])
    ending = len(made) - len(text)
    assert made[:start] + made[start + ending :] == text


def test_an_id_that_is_taken_is_an_error_with_its_place():
    with pytest.raises(
        UsageError, match=r"a\.json:1:13: cases\[0\]\.id: there is a case new already; choose another id"
    ):
        with_case('{"cases": [{"id": "new"}]}', "a.json", CASE)


@pytest.mark.parametrize("text", ["{}", '{"cases": []}', '{"cases": {}}', "[]"])
def test_a_file_without_cases_is_an_error(text):
    with pytest.raises(UsageError, match="has no cases"):
        with_case(text, "a.json", CASE)


def test_a_suite_with_cases_of_others_is_not_replaced():
    refuse_other_cases(new_suite("n", CASE, None), "a.json", "new")
    refuse_other_cases("{}", "a.json", "new")
    with pytest.raises(UsageError, match=r"a\.json has 1 more case, which --force would remove; choose --to or --id"):
        refuse_other_cases('\ufeff{"cases": [{"id": "mine"}, {"id": "new"}]}', "a.json", "new")
    with pytest.raises(UsageError, match="has 2 more cases"):
        refuse_other_cases('{"cases": [{"id": "mine"}, 1]}', "a.json", "new")
    with pytest.raises(UsageError, match=r"a\.json:1"):
        refuse_other_cases('{"cases": [', "a.json", "new")
