"""JSON lines of other programs: what a terminal hides around them, and texts that are too long."""

from __future__ import annotations

import pytest

from skillgym_action.agents.output.lenient_json import json_object, shortened, visible_line
from table_rows import each_row


@each_row(
    {
        "colours": '\x1b[0m\x1b[38;5;9m{"a": 1}\x1b[0m',
        "a cleared line": '\r\x1b[2K\x1b[1G{"a": 1}\x1b[K ',
        "a title of the window": '\x1b]0;agent\x07{"a": 1}',
        "a title with another end": '\x1b]2;agent\x1b\\\x1b[?25l{"a": 1}',
        "a set of characters": '\x1b(B{"a": 1}',
        "a byte order mark": '\ufeff{"a": 1}\r',
        "a progress bar's bell": '\x07\x08\x08{"a": 1}',
        "nothing": '{"a": 1}',
    }.items()
)
def test_codes_for_terminals_do_not_hide_a_line(line):
    found = json_object(line)
    assert found is not None
    assert found.value == {"a": 1}


@pytest.mark.parametrize("line", ["", " ", "\x1b[0m", "x", '[{"a": 1}]', '"{}"', "}", "{", '{"a": 1} and more'])
def test_other_lines_are_no_objects(line):
    assert json_object(line) is None
    assert len(visible_line(line)) <= len(line)


def test_a_long_text_keeps_its_beginning_and_its_end():
    text = shortened("begin" + "x" * 1000 + "end", 100)
    assert (text[:5], text[-3:], "[908 characters are left out here]" in text) == ("begin", "end", True)
    assert shortened("x" * 100, 100) == "x" * 100
    assert shortened("\udc80", 100) == "?"
