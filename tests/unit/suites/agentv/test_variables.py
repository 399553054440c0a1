"""AgentV's values: every rule of interpolation, of a case's own variables, and of ``.env`` files."""

from __future__ import annotations

import pytest

from scratch import written
from skillgym_action.suites.agentv.variables import dotenv, interpolated, references, templated

ENVIRONMENT = {"NAME": "world", "N": "42", "YES": "true", "EMPTY": "", "_A1": "x"}


# --- ${{ NAME }} ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "becomes"),
    [
        pytest.param("hello ${{ NAME }}!", "hello world!", id="inside a text"),
        pytest.param("${{NAME}}", "world", id="blanks do not matter"),
        pytest.param("${{\tNAME  }}-${{ NAME }}", "world-world", id="several"),
        pytest.param("${{ MISSING }}", "", id="missing is the empty text"),
        pytest.param("a${{ MISSING }}b", "ab", id="missing inside a text"),
        pytest.param("${{ EMPTY }}", "", id="empty"),
        pytest.param("${{ _A1 }}", "x", id="underline and digits"),
        pytest.param("${{ 1A }}", "${{ 1A }}", id="no name begins with a digit"),
        pytest.param("${{ A.B }}", "${{ A.B }}", id="no paths"),
        pytest.param("$NAME ${NAME} {{ NAME }}", "$NAME ${NAME} {{ NAME }}", id="other notations stay"),
        pytest.param(["${{ NAME }}", {"k": "${{ NAME }}"}], ["world", {"k": "world"}], id="however deep"),
        pytest.param({"${{ NAME }}": 1}, {"${{ NAME }}": 1}, id="keys stay"),
        pytest.param(7, 7, id="a number stays"),
        pytest.param(None, None, id="nothing stays nothing"),
        pytest.param(" ${{ N }}", " 42", id="a blank makes it a text"),
    ],
)
def test_references_are_replaced(value, becomes):
    assert interpolated(value, ENVIRONMENT) == becomes


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("true", True, id="true"),
        pytest.param("false", False, id="false"),
        pytest.param("True", "True", id="no other spelling"),
        pytest.param("42", 42, id="a whole number"),
        pytest.param("-3", -3, id="a negative one"),
        pytest.param("0", 0, id="zero"),
        pytest.param("0.5", 0.5, id="a fraction"),
        pytest.param("1.50", 1.5, id="a fraction with a zero"),
        pytest.param("007", "007", id="leading zeros are text"),
        pytest.param("+1", "+1", id="a plus is text"),
        pytest.param(".5", ".5", id="nothing before the point"),
        pytest.param("5.", "5.", id="nothing behind the point"),
        pytest.param("1e3", "1e3", id="an exponent is text"),
        pytest.param("1_000", "1_000", id="an underline is text"),
        pytest.param("٣", "٣", id="digits of other scripts are text"),
        pytest.param("null", "null", id="null is text"),
        pytest.param("4 2", "4 2", id="two words"),
    ],
)
def test_a_text_that_is_one_reference_becomes_what_the_variable_looks_like(text, value):
    assert repr(interpolated("${{ V }}", {"V": text})) == repr(value)
    assert interpolated("-${{ V }}", {"V": text}) == f"-{text}"


def test_a_variable_s_own_references_are_not_replaced():
    assert interpolated("${{ A }}", {"A": "${{ B }}", "B": "b"}) == "${{ B }}"


def test_every_variable_that_is_mentioned_is_found_with_its_place():
    found = list(references({"a": ["${{ X }} ${{ Y }}"], "b": {"c": "${{ X }}"}}))
    assert found == [(("a", 0), "X"), (("a", 0), "Y"), (("b", "c"), "X")]


# --- {{ name }} -------------------------------------------------------------------------------------

VARIABLES = {"file": "a.ts", "n": 3, "half": 0.5, "one": 1.0, "on": True, "none": None, "deep": {"x": {"y": [1, "é"]}}}


@pytest.mark.parametrize(
    ("value", "becomes"),
    [
        pytest.param("Fix {{ file }}", "Fix a.ts", id="inside a text"),
        pytest.param("{{file}}", "a.ts", id="a whole text"),
        pytest.param("{{ n }}", 3, id="whole: its type is kept"),
        pytest.param("{{ on }}", True, id="whole: true"),
        pytest.param("{{ none }}", None, id="whole: null"),
        pytest.param("{{ deep.x }}", {"y": [1, "é"]}, id="whole: an object"),
        pytest.param("= {{ n }}", "= 3", id="inside: a number"),
        pytest.param("= {{ one }}", "= 1", id="inside: a whole number has no point"),
        pytest.param("= {{ half }}", "= 0.5", id="inside: a fraction"),
        pytest.param("= {{ on }} {{ none }}", "= true null", id="inside: as JSON writes it"),
        pytest.param("= {{ deep.x }}", '= {"y":[1,"é"]}', id="inside: an object as JSON"),
        pytest.param("{{ deep.x.z }} {{ unknown }}", "{{ deep.x.z }} {{ unknown }}", id="unknown ones stay"),
        pytest.param("{{ unknown }}", "{{ unknown }}", id="whole: an unknown one stays"),
        pytest.param("{{ file.length }}", "{{ file.length }}", id="texts have no members"),
        pytest.param("{{ 1a }}", "{{ 1a }}", id="no name begins with a digit"),
        pytest.param([{"role": "user", "content": "{{ file }}"}], [{"role": "user", "content": "a.ts"}], id="deep"),
        pytest.param(5, 5, id="what is no text stays"),
    ],
)
def test_a_case_s_variables_are_replaced(value, becomes):
    assert templated(value, VARIABLES) == becomes


# --- .env -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "value"),
    [
        pytest.param("A=1", "1", id="plain"),
        pytest.param("export A = 1 ", "1", id="export and blanks"),
        pytest.param("A='a # b'", "a # b", id="single quotes"),
        pytest.param('A="a\\nb" # note', "a\nb", id="double quotes know line ends"),
        pytest.param("A='a\\nb'", "a\\nb", id="single quotes do not"),
        pytest.param("A=a # note", "a", id="a comment"),
        pytest.param("A=a#b", "a#b", id="no comment without a blank"),
        pytest.param("A=", "", id="empty"),
        pytest.param("A=a=b", "a=b", id="an equals sign"),
        pytest.param("\ufeffA=1", "1", id="a byte order mark"),
        pytest.param("# A=1", None, id="commented out"),
        pytest.param("A 1", None, id="no assignment"),
        pytest.param("1A=1", None, id="no name"),
    ],
)
def test_a_line_of_an_env_file(tmp_path, line, value):
    written(tmp_path, {".env": f"{line}\n"})
    assert dotenv(tmp_path, tmp_path).get("A") == value


def test_the_nearest_env_file_wins_and_none_above_the_root_is_read(tmp_path):
    written(
        tmp_path,
        {".env": "A=above\nD=above", "repo/.env": "A=root\nB=root", "repo/a/b/.env": "A=near", "repo/a/.env": "B=mid"},
    )
    said = dotenv(tmp_path / "repo/a/b", tmp_path / "repo")
    assert said == {"A": "near", "B": "mid"}


def test_an_env_file_that_cannot_be_read_says_nothing(tmp_path):
    written(tmp_path, {".env": b"\xff", "a/.env": "A=1"})
    assert dotenv(tmp_path / "a", tmp_path) == {"A": "1"}


def test_outside_of_the_repository_only_the_suite_s_own_folder_counts(tmp_path):
    written(tmp_path, {".env": "A=1", "a/.env": "B=2"})
    assert dotenv(tmp_path / "a", tmp_path / "elsewhere") == {"B": "2"}
