"""``-k``: words in ids, combined as with pytest."""

from __future__ import annotations

import pytest

from skillgym_action.model.keyword_expression import (
    MAX_KEYWORD_EXPRESSION_CHARACTERS,
    KeywordExpression,
    parse_keywords,
)

IDS = ("login-ok", "login-slow", "logout", "API/Login")


@pytest.mark.parametrize(
    ("text", "selected"),
    [
        pytest.param("login", ["login-ok", "login-slow", "API/Login"], id="a word, in any case"),
        pytest.param("login and slow", ["login-slow"], id="and"),
        pytest.param("slow or logout", ["login-slow", "logout"], id="or"),
        pytest.param("not login", ["logout"], id="not"),
        pytest.param("login and not slow", ["login-ok", "API/Login"], id="and not"),
        pytest.param("logout or login and slow", ["login-slow", "logout"], id="and binds more than or"),
        pytest.param("(logout or login) and slow", ["login-slow"], id="parentheses"),
        pytest.param("not (slow or ok)", ["logout", "API/Login"], id="not of parentheses"),
        pytest.param("not not slow", ["login-slow"], id="not twice"),
        pytest.param("api/", ["API/Login"], id="other characters than letters"),
    ],
)
def test_which_ids_an_expression_selects(text, selected):
    assert [name for name in IDS if KeywordExpression(text).matches(name)] == selected


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        pytest.param("", "it ends too early", id="nothing"),
        pytest.param("a and", "it ends too early", id="and what"),
        pytest.param("and a", "a word is missing before 'and'", id="what and"),
        pytest.param("a b", "and or or is missing before 'b'", id="two words"),
        pytest.param("(a", "a parenthesis is not closed", id="open"),
        pytest.param("a)", "and or or is missing before ')'", id="closed"),
        pytest.param("()", "a word is missing before ')'", id="empty parentheses"),
    ],
)
def test_what_is_no_expression_is_refused(text, wrong):
    with pytest.raises(ValueError, match="is not an expression of words with and, or, not") as caught:
        parse_keywords(text)
    assert str(caught.value).endswith(wrong)


def test_an_expression_cannot_be_too_deep_to_be_read():
    half = (MAX_KEYWORD_EXPRESSION_CHARACTERS - 1) // 2
    assert parse_keywords("(" * half + "a" + ")" * half).matches("a")
    with pytest.raises(ValueError, match="longer than"):
        parse_keywords("not " * 1000 + "a")
