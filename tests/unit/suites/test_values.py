"""Values in suite files: their members, their places, and the errors for values of the wrong type."""

from __future__ import annotations

from dataclasses import replace

import pytest

from skillgym_action.model.errors import Location, SuiteError
from skillgym_action.suites.values import FixedLocation, SuiteValue
from skillgym_action.text.documents.documents import read_document

TEXT = """\
name: x
empty: ""
none: ~
count: 3
half: 0.5
flag: true
list: [a, 1]
tests:
  - id: one
    maxScore: 2
"""


@pytest.fixture
def suite():
    document = read_document(TEXT, path="EVAL.yaml", kind="yaml", error=SuiteError)
    return SuiteValue(source=document, value=document.value)


def message(call):
    with pytest.raises(SuiteError) as raised:
        call()
    return str(raised.value)


def test_members(suite):
    assert suite.text("missing", "name") == "x"
    assert suite.get("none") is None
    assert not suite.has("none")
    assert suite.number("count") == 3
    assert suite.flag("flag") is True
    assert suite.flag("missing", default=True) is True
    assert suite.scalar_text("empty") == ""
    assert suite.scalar_text("count") == "3"
    assert suite.scalar_texts("list") == ("a", "1")
    assert suite.texts("missing") == suite.scalar_texts("missing") == suite.children("missing") == ()
    assert suite.choice("name", ("x", "y")) == "x"
    assert suite.child("missing") is None


def test_keys_of_children_may_be_camel_case(suite):
    (test,) = suite.children("tests")
    assert test.number("max_score") == 2


ERRORS = [
    pytest.param(lambda suite: suite.text("count"), "4:1: count: must be text, not 3", id="text"),
    pytest.param(lambda suite: suite.text("empty"), "2:1: empty: must not be empty", id="blank"),
    pytest.param(lambda suite: suite.texts("list"), "7:11: list[1]: must be text, not 1", id="texts"),
    pytest.param(lambda suite: suite.scalar_text("list"), "7:1: list: must be text, not a list", id="a scalar"),
    pytest.param(lambda suite: suite.scalar_texts("tests"), "8:1: tests: must be a list of texts", id="scalars"),
    pytest.param(lambda suite: suite.required_text("empty"), "must be a text that is not empty, not ''", id="required"),
    pytest.param(lambda suite: suite.required_text("a"), "1:1: a is missing: a text that is not empty", id="missing"),
    pytest.param(lambda suite: suite.number("name"), "1:1: name: must be a number, not 'x'", id="number"),
    pytest.param(lambda suite: suite.number("flag"), "must be a number, not true", id="true is no number"),
    pytest.param(lambda suite: suite.number("half", whole=True), "must be a whole number, not 0.5", id="whole"),
    pytest.param(lambda suite: suite.number("count", most=1), "must be a number, from 0 to 1, not 3", id="too much"),
    pytest.param(lambda suite: suite.number("count", least=4), "must be a number, 4 or more, not 3", id="too little"),
    pytest.param(
        lambda suite: suite.member("count").as_number(above=True, least=3),
        "must be a number above 3, not 3",
        id="above",
    ),
    pytest.param(
        lambda suite: suite.member("count").as_number(above=True, most=2, whole=True),
        "4:1: count: must be a whole number above 0, at most 2, not 3",
        id="above, too much",
    ),
    pytest.param(lambda suite: suite.flag("name"), "must be true or false, not 'x'", id="flag"),
    pytest.param(lambda suite: suite.choice("name", ("y", "z")), "must be one of y, z, not 'x'", id="choice"),
    pytest.param(lambda suite: suite.children("list"), "list[0]: must be a mapping of keys to values", id="children"),
    pytest.param(lambda suite: suite.member("none").items(), "none: must be a list, not null", id="items"),
    pytest.param(lambda suite: suite.refuse_misspelled_keys(("names",)), "unknown key 'name'; did you mean", id="typo"),
]


@pytest.mark.parametrize(("call", "error"), ERRORS)
def test_an_error_names_the_place_and_the_value(suite, call, error):
    assert error in message(lambda: call(suite))


def test_an_error_quotes_what_was_written_and_not_the_value_of_a_variable():
    document = read_document("seconds: ${{ TOKEN }}", path="EVAL.yaml", kind="yaml", error=SuiteError)
    value = SuiteValue(source=document, value={"seconds": "secret"})
    assert message(lambda: value.number("seconds")).endswith("must be a number, not '${{ TOKEN }}'")


@pytest.mark.parametrize("written", ["1.10", "0x10", "1e3", "True", "-0.50", "007"])
def test_an_error_quotes_a_number_as_the_file_has_it(written):
    document = read_document(f"name: {written}", path="EVAL.yaml", kind="yaml", error=SuiteError)
    value = SuiteValue(source=document, value=document.value)
    assert message(lambda: value.text("name")).endswith(f"name: must be text, not {written}")
    assert value.member("name").scalar == written
    assert replace(value, value={"name": 8}).member("name").scalar == "8"


def test_a_value_that_is_not_in_the_file_is_quoted_itself(suite):
    made = replace(suite, value={"list": [1, 2, [3]]})
    assert message(made.member("list").items()[2].as_text).endswith("list[2]: must be text, not a list")


def test_unknown_keys(suite):
    found = [str(problem) for problem in suite.unknown_keys({"names", *"abc", "list", "tests", "flag", "half"})]
    assert found == [
        "EVAL.yaml:1:1: name: unknown key 'name'; did you mean 'names'?",
        "EVAL.yaml:2:1: empty: unknown key 'empty'",
        "EVAL.yaml:3:1: none: unknown key 'none'",
        "EVAL.yaml:4:1: count: unknown key 'count'",
    ]


def test_many_unknown_keys_are_not_all_reported():
    document = read_document("{}", path="EVAL.yaml", kind="yaml", error=SuiteError)
    value = SuiteValue(source=document, value={f"{number}": 1 for number in range(1_000)} | {"x-own": 1, "$schema": 1})
    found = list(value.unknown_keys(()))
    assert len(found) == 101
    assert found[-1].message == "and more unknown keys"


def test_a_value_at_a_fixed_location():
    written = {"weights": {"a b": -1}, "steps": [1]}
    value = SuiteValue(source=FixedLocation(written, Location(path="a.yaml", line=3)), value=written, prefix="tests[0]")
    assert str(value.member("steps").items()[0].problem("no")) == "a.yaml:3: tests[0].steps[0]: no"
    assert str(value.member("weights").member("a b").problem("no")) == 'a.yaml:3: tests[0].weights["a b"]: no'
    assert str(value.problem("no")) == "a.yaml:3: tests[0]: no"
