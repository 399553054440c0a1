"""JavaScript's regular expressions: the expectations are what Node answers."""

from __future__ import annotations

import pytest

from skillgym_action.text.javascript.regex import compiled


@pytest.mark.parametrize(
    ("source", "flags", "text", "found"),
    [
        pytest.param(r"a\/b", "", "a/b", "a/b", id="escaped-slash"),
        pytest.param("b", "", "abc", "b", id="search-not-full-match"),
        pytest.param("^x$", "", "x\n", None, id="dollar-is-the-very-end"),
        pytest.param("^x$", "m", "y\nx\nz", "x", id="dollar-with-m-is-the-end-of-a-line"),
        pytest.param("^x", "", "y\nx", None, id="no-m-by-default"),
        pytest.param(r"\$", "", "a$", "$", id="escaped-dollar"),
        pytest.param("[$]", "", "$", "$", id="dollar-in-brackets"),
        pytest.param("a.b", "", "a\nb", None, id="dot-is-no-line-break"),
        pytest.param("a.b", "s", "a\nb", "a\nb", id="dot-with-s"),
        pytest.param("(?<n>a)\\k<n>", "", "aa", "aa", id="named-group"),
        pytest.param("(?<=a)b(?!c)", "", "ab", "b", id="lookaround"),
        pytest.param(r"(a)\1", "", "aa", "aa", id="numbered-reference"),
        pytest.param(r"\d", "", "\N{ARABIC-INDIC DIGIT THREE}", None, id="digits-are-ascii"),
        pytest.param(r"\D", "", "\N{ARABIC-INDIC DIGIT THREE}", "\N{ARABIC-INDIC DIGIT THREE}", id="no-digit"),
        pytest.param(r"\w", "", "é", None, id="word-characters-are-ascii"),
        pytest.param(r"[\w-]+", "", "é-a", "-a", id="word-characters-in-brackets"),
        pytest.param(r"\bé", "", " é", None, id="word-boundary-is-ascii"),
        pytest.param(r"\B.", "", "é", "é", id="no-word-boundary"),
        pytest.param(r"\s", "", "\u00a0", "\u00a0", id="space-is-unicode"),
        pytest.param(r"[\s\S]+", "", "é \n", "é \n", id="anything-the-old-way"),
        pytest.param(r"[\W_]", "i", "s", None, id="negated-set-in-brackets"),
        pytest.param(r"[\W_]", "", "é", "é", id="negated-set-in-brackets-matches"),
        pytest.param(r"[^\W_]+", "i", "_ab_", "ab", id="negated-brackets-with-negated-set"),
        pytest.param("[^]", "", "\n", "\n", id="brackets-of-everything"),
        pytest.param("[]", "", "a", None, id="brackets-of-nothing"),
        pytest.param("[[]", "", "[", "[", id="bracket-in-brackets"),
        pytest.param("[a||b]", "", "|", "|", id="no-set-operations"),
        pytest.param("[^^]", "", "^", None, id="caret-in-negated-brackets"),
        pytest.param(r"[\b]", "", "\b", "\b", id="backspace"),
        pytest.param("a{s}", "", "b a{s}", "a{s}", id="braces-that-count-nothing"),
        pytest.param("a{2,}", "", "aaa", "aaa", id="braces-that-count"),
        pytest.param(r"\A\Z", "", "AZ", "AZ", id="escapes-of-plain-letters"),
        pytest.param(r"\u{1F600}", "u", "😀", "😀", id="code-point"),
        pytest.param(r"\ud83d\ude00", "", "😀", "😀", id="surrogate-pair"),
        pytest.param(r"\u00e9\x41\cJ\0", "", "éA\n\0", "éA\n\0", id="numbered-characters"),
        pytest.param(r"\p{Lu}", "u", "É", "É", id="property"),
        pytest.param("é", "i", "É", "É", id="case-folding"),
        pytest.param("a b", "x", "ab", "ab", id="verbose"),
        pytest.param("a", "gy", "a", "a", id="flags-that-make-no-difference"),
    ],
)
def test_a_pattern_finds_what_javascript_finds(source, flags, text, found):
    match = compiled(source, flags).search(text)
    assert (match and match[0]) == found


@pytest.mark.parametrize(
    ("source", "flags", "message"),
    [
        pytest.param("(", "", "missing \\)", id="unclosed-group"),
        pytest.param("[a", "", "unterminated character set", id="unclosed-brackets"),
        pytest.param("*a", "", "nothing to repeat", id="nothing-to-repeat"),
        pytest.param("[z-a]", "", "bad character range", id="range"),
        pytest.param("a{2,1}", "", "min repeat greater than max repeat", id="count"),
        pytest.param("\\", "", "bad escape", id="lonely-backslash"),
        pytest.param("a", "q", "unknown flag 'q'; known: i, m, s, x, u, g, y", id="flag"),
        pytest.param("(" * 5000 + ")" * 5000, "", "longer than|too complex", id="depth"),
        pytest.param("(" * 4000 + ")" * 4000, "", "too complex", id="depth-within-the-limit"),
        pytest.param("a" * 10_001, "", "longer than 10,000 characters", id="length"),
    ],
)
def test_what_is_no_pattern_says_why(source, flags, message):
    with pytest.raises(ValueError, match=message):
        compiled(source, flags)
