"""Lines of a transcript: what cannot be read is skipped with a reason, within limits of size."""

from __future__ import annotations

import io

import pytest

from skillgym_action.authoring.promotion.local_session import (
    MAX_PROMOTED_LINE_BYTES,
    MAX_PROMOTED_LINE_CONTAINERS,
    TranscriptLines,
)


def read(content: bytes) -> tuple[list[object], list[str]]:
    lines = TranscriptLines(io.BytesIO(content), "a.jsonl")
    return [line.value for line in lines], lines.skipped


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"not json", "is not JSON"),
        (b"[1]", "is not an object"),
        (b'{"a":' * 60_000 + b"1" + b"}" * 60_000, "is nested too deeply"),
        (b'{"a":[' + b"[]," * MAX_PROMOTED_LINE_CONTAINERS + b"1]}", "has more than 100,000 lists and objects"),
        (b'{"a":[' + b"1," * MAX_PROMOTED_LINE_CONTAINERS + b"1]}", "has more than 100,000 values"),
        (b'{"a":"' + b"x" * MAX_PROMOTED_LINE_BYTES + b'"}', "is longer than 16 MiB"),
    ],
)
def test_a_line_that_cannot_be_read_is_skipped_and_named(line, reason):
    values, skipped = read(b'{"n": 1}\n' + line + b'\n\n{"n": 2}\n')
    assert values == [{"n": 1}, {"n": 2}]
    assert skipped == [f"a.jsonl:2: the line was skipped: it {reason}"]


def test_bytes_that_are_not_utf_8_are_replaced():
    assert read(b'{"a": "\xff"}\n') == ([{"a": "\ufffd"}], [])


def test_a_last_line_without_an_end_is_read():
    assert read(b'{"n": 1}\n{"n": 2}')[0] == [{"n": 1}, {"n": 2}]
