from __future__ import annotations

import json
import re
from xml.etree import ElementTree as ET

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from growth import grows_in_proportion
from hostile import any_text
from runner_parsers import command, commands
from skillgym_action.text.escaping import (
    clipped,
    markdown_code_block,
    markdown_code_span,
    markdown_inline,
    one_line,
    printed_json,
    printed_text,
    tail,
    terminal_line,
    terminal_text,
    visible,
    workflow_message,
    workflow_property,
    xml_text,
)

MARKDOWN = MarkdownIt("commonmark").enable("table")
OURS = {"<code>", "</code>", "<br>"}
REFERENCES = re.compile(
    r"@[a-z0-9]|#\d|\b(?:gh|ghsa|cve)-\w|\w://|\bwww\.|[0-9a-f]{7}|[\w.+-]@[\w-]|:[a-z][\w+-]*:", re.IGNORECASE
)


def inert(tokens):
    """Nothing but words, code and the tags we place ourselves; and no words GitHub makes links of."""
    for token in tokens:
        assert token.type in {"text", "code_inline", "html_inline", "softbreak"}, token
        if token.type == "html_inline":
            assert token.content in OURS
        if token.type == "text":
            assert not REFERENCES.search(token.content), token.content
    return True


def inline_tokens(markdown):
    return [child for token in MARKDOWN.parse(markdown) for child in token.children or ()]


# --- logs -------------------------------------------------------------------------------------------


@given(any_text)
@example("0\r::ERROR::")
@example("\r \r\u200b::error::")
def test_no_line_of_a_printed_report_is_a_command(text):
    assert [found for line in text.split("\n") for found in commands(printed_text(line))] == []


@given(any_text)
def test_printed_json_means_the_same_and_is_no_command(text):
    written = json.dumps({"text": text}, ensure_ascii=False)
    assert json.loads(printed_json(written)) == {"text": text}
    assert commands(printed_json(written)) == []


def test_a_printed_report_is_unchanged_but_for_commands():
    for text in ("a::b", "  * ::x", "# [a]", "## [b]", "a # [b]", "“text”\u2060@name"):
        assert printed_text(text) == text
    assert printed_text("  ::add-mask::x") == "  : :add-mask::x"
    assert printed_text("a ##[group]b") == "a ## [group]b"


@given(any_text)
def test_no_text_in_a_log_is_a_command(text):
    assert commands(terminal_text(text)) == []
    assert commands(f"    {terminal_line(text)}") == []


@given(any_text)
def test_one_line_stays_one_line(text):
    for sink in (terminal_line, markdown_inline, markdown_code_span, workflow_message, workflow_property):
        assert not re.search(r"[\r\n]", sink(text))


@given(any_text, any_text)
def test_a_workflow_command_says_what_it_was_given_and_nothing_else(title, message):
    line = f"::error title={workflow_property(title)}::{workflow_message(message)}"
    name, properties, data = command(line)
    assert (name, list(properties), data) == ("error", ["title"], visible(message))
    assert properties["title"].rstrip() == visible(title).rstrip()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("all is well", "all is well", id="plain words stay"),
        pytest.param("a::b ## [c]", "a::b ## [c]", id="colons inside a line stay"),
        pytest.param("::error::x", ": :error::x", id="a command"),
        pytest.param("done\r  ::error::x", "done\n  : :error::x", id="a command after a lone carriage return"),
        pytest.param("see ##[error]x", "see ## [error]x", id="the older form, anywhere"),
        pytest.param(":\u200b:error::x", ": :error::x", id="hidden by a character that culture ignores"),
        pytest.param("\x1b[31mred\x1b[0m\x07", "red", id="colours and bells"),
    ],
)
def test_log_lines(text, shown):
    assert terminal_text(text) == shown


# --- XML --------------------------------------------------------------------------------------------


@given(any_text)
def test_any_text_survives_xml(text):
    element = ET.Element("a", {"b": xml_text(text)})
    element.text = xml_text(text)
    read = ET.fromstring(ET.tostring(element, "unicode").encode())
    assert (read.text or "") == xml_text(text)
    assert read.get("b") == xml_text(text)


def test_what_xml_cannot_say_is_replaced():
    assert xml_text("a\ud800b\ufffec\x00d\x1b[1me\r\n") == "a\ufffdb\ufffdcde\n"


# --- Markdown ---------------------------------------------------------------------------------------


@given(any_text)
def test_inline_text_holds_nothing_that_github_obeys(text):
    assert inert(inline_tokens(markdown_inline(text)))
    assert {token.type for token in MARKDOWN.parse(markdown_inline(text))} <= {
        "paragraph_open",
        "inline",
        "paragraph_close",
    }


@given(any_text)
def test_inline_text_reads_as_it_was_written(text):
    rendered = "".join(token.content for token in inline_tokens(markdown_inline(text)))
    joined = re.compile("\u2060")
    assert joined.sub("", rendered) == joined.sub("", one_line(text))


@given(any_text, st.sampled_from([markdown_inline, markdown_code_span]))
def test_a_cell_stays_one_cell(text, sink):
    table = f"| a | b |\n|---|---|\n| {sink(text)} | end |\n"
    tokens = MARKDOWN.parse(table)
    assert [token.type for token in tokens].count("td_open") == 2
    assert inert(child for token in tokens for child in token.children or ())


@given(any_text)
def test_code_is_only_code(text):
    assert inert(inline_tokens(f"x {markdown_code_span(text)} y"))


@given(any_text)
def test_a_fence_holds_all_of_its_text(text):
    tokens = MARKDOWN.parse(f"before\n\n{markdown_code_block(text)}\n\nafter\n")
    assert [token.type for token in tokens] == [
        "paragraph_open", "inline", "paragraph_close", "fence", "paragraph_open", "inline", "paragraph_close",
    ]  # fmt: skip
    assert tokens[3].content.rstrip() == visible(text).rstrip()


@pytest.mark.parametrize(
    ("text", "markdown"),
    [
        pytest.param("expected a file, found 2.", "expected a file, found 2.", id="plain words stay"),
        pytest.param("0.1.0", "0.1.0", id="a version is no list"),
        pytest.param("- a", "&#45; a", id="a list"),
        pytest.param("12. a", "12&#46; a", id="a numbered list"),
        pytest.param("a|b", "a&#124;b", id="a bar"),
        pytest.param("<b>", "&lt;b&gt;", id="HTML"),
        pytest.param("![x](y)", "!&#91;x&#93;(y)", id="an image"),
        pytest.param("@me #1 GH-2", "@\u2060me #\u20601 GH-\u20602", id="references"),
        pytest.param("https://e.x www.e.x", "https:\u2060//e.x www\u2060.e.x", id="addresses"),
        pytest.param("deadbeef", "deadbe\u2060ef", id="a commit"),
        pytest.param("a\nb", "a b", id="lines"),
    ],
)
def test_markdown_inline(text, markdown):
    assert markdown_inline(text) == markdown


@pytest.mark.parametrize(
    ("text", "markdown"),
    [
        pytest.param("npm test", "`npm test`", id="plain"),
        pytest.param("<b> @me #1", "`<b> @me #1`", id="code refers to nothing"),
        pytest.param("a|b", "<code>a&#124;b</code>", id="a bar"),
        pytest.param("`", "<code>&#96;</code>", id="a backtick"),
        pytest.param("a\\", "<code>a&#92;</code>", id="a backslash"),
        pytest.param(" \n ", "", id="nothing"),
    ],
)
def test_code_span(text, markdown):
    assert markdown_code_span(text) == markdown


def test_a_fence_is_longer_than_any_in_it():
    assert markdown_code_block("```\nx\n````\n", "sh") == "`````sh\n```\nx\n````\n`````"


# --- length -----------------------------------------------------------------------------------------


@given(st.text(max_size=200), st.integers(1, 200))
def test_what_is_cut_fits(text, limit):
    assert len(clipped(text, limit)) <= limit
    assert len(tail(text, limit)) <= limit
    if len(text) <= limit:
        assert clipped(text, limit) == tail(text, limit) == text


def test_what_is_cut_says_so():
    assert clipped("a" * 100 + "z" * 100, 80) == "a" * 29 + " … 200 characters, middle left out … " + "z" * 14
    assert tail("a" * 100 + "z" * 20, 59) == "… 120 characters, beginning left out …\n" + "z" * 20


# --- time -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fragment", ["\x1b[", "\x1b]", "::", ":a", "\n", " ", "#", "`", "@", "\x1b[0;", "www", "a", "0"]
)
@pytest.mark.parametrize(
    "sink", [terminal_text, markdown_inline, markdown_code_span, markdown_code_block, xml_text, workflow_property]
)
def test_no_text_takes_long(sink, fragment):
    assert grows_in_proportion(lambda size: sink(fragment * size), 100_000)
