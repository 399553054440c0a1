"""Text as hostile as it gets: what hypothesis draws everywhere text of an agent or a suite may go."""

from __future__ import annotations

from hypothesis import strategies as st

FRAGMENTS = (
    "::error::", "::set-output name=a::b", "##[error]", "##[add-mask]x", "::stop-commands::t", "\r", "\n", "\r\n", "\u200b",
    "\u2060", "\u00ad", "\x1b[31m", "\x1b]0;title\x07", "\x1b", "\x9b", "\ud800", "\udfff", "\ufffe", "\uffff", "\x00",
    "@octocat", "@org/team", "#1", "GH-7", "owner/repo#3", "a" * 40, "0123456789abcdef", "https://evil.example/x", "ftp://e.x",
    "www.evil.example", "me@evil.example", "mailto:me@evil.example", ":octocat:", "![x](http://evil.example/y.png)", "[a](b)",
    "[a]: http://evil.example", "[^1]", "<img src=x>", "<!--", "-->", "<br>", "</details>", "&lt;", "&#64;x", "`", "``", "```",
    "~~~", "|", "\\", "\\|", "\\\\|", "*", "_", "$x$", "---", "===", "# ", "- ", "1. ", "> ", "    ", "\t", "]]>", "<![CDATA[",
    "]", "%0A", "%", ",", ":", "=", "\u202e", "\u2028", "\x85", "\x0b", "\x0c", "\x1c", "{{", "{%", "é", "漢", "👩‍👩‍👧", "\U000e0041",
)  # fmt: skip

any_text = st.one_of(
    st.text(st.characters(codec=None), max_size=60),
    st.lists(st.one_of(st.sampled_from(FRAGMENTS), st.text(max_size=4)), max_size=8).map("".join),
)
