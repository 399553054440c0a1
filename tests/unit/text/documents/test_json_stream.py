"""A JSON file read value by value: what it says, and what is refused before it is parsed."""

from __future__ import annotations

import json
from io import BytesIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillgym_action.text.documents.json_stream import CHUNK_BYTES, JsonStream, StreamLimits
from skillgym_action.text.documents.json_text import Extent
from skillgym_action.text.documents.located_values import NotationError

MOST = StreamLimits(value=Extent(containers=1_000, values=5_000, members=50), characters=4 * CHUNK_BYTES, objects=2_000)
LONG = 2 * CHUNK_BYTES


def stream(content: str | bytes) -> JsonStream:
    return JsonStream(BytesIO(content if isinstance(content, bytes) else content.encode()), MOST)


def items(content: str | bytes) -> list[object]:
    """The elements of a list, read one by one."""
    source = stream(content)
    found = [source.value() for _ in source.items()]
    source.end()
    return found


def members(content: str | bytes) -> dict[str, object]:
    """The members of an object, read one by one."""
    source = stream(content)
    found = {name: source.value() for name in source.members()}
    source.end()
    return found


values: Any = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text("abc"), inner, max_size=5),
    max_leaves=20,
)  # fmt: skip


@pytest.mark.slow
@given(st.lists(values, max_size=10), st.sampled_from([None, 0, 1, "\t"]), st.booleans())
def test_a_list_is_read_as_json_reads_it(value, indent, ensure_ascii):
    assert items(json.dumps(value, indent=indent, ensure_ascii=ensure_ascii)) == value


@pytest.mark.slow
@given(st.dictionaries(st.text('ab\n"'), values, max_size=10), st.sampled_from([None, 2]))
def test_an_object_is_read_as_json_reads_it(value, indent):
    assert members(json.dumps(value, indent=indent)) == value


@pytest.mark.parametrize("lengths", [[LONG + 7], [CHUNK_BYTES - 3] * 5, [1] * 700, [10, LONG, 10]])
@pytest.mark.parametrize("letter", ["x", "é", "\U0001f600"])
def test_values_may_end_anywhere_in_the_parts_that_are_read(lengths, letter):
    value = [{"a": letter * (length // len(letter.encode())), "n": 12} for length in lengths]
    assert items(json.dumps(value, ensure_ascii=False)) == value


@pytest.mark.parametrize("blanks", [" ", "\n\r\t "])
def test_there_may_be_any_number_of_blanks(blanks):
    assert items(f"{blanks * LONG}[1{blanks * LONG},2]{blanks * LONG}") == [1, 2]


WRONG = [
    ("", "not JSON: Expecting a list: line 1 column 1"),
    ("[1", "not JSON: Expecting ',' delimiter: line 1 column 3"),
    ('[\n"abc', "not JSON: Unterminated string starting at: line 2 column 1"),
    ("[1,\n\n 2 3]", "not JSON: Expecting ',' delimiter: line 3 column 4"),
    ("[1,]", "not JSON: Expecting value: line 1 column 4"),
    ("[1] 2", "not JSON: Extra data: line 1 column 5"),
    ("[1]]", "not JSON: Extra data: line 1 column 4"),
    ("[tru]", "not JSON: Expecting value: line 1 column 2"),
    ("[NaN]", "not JSON: NaN is not a JSON number"),
    ('["a\nb"]', "not JSON: Invalid control character at: line 1 column 4"),
    (b"[1, \xff]", "not JSON: 'utf-8' codec can't decode byte 0xff in position 4"),
    (b'["' + b"x" * LONG + b"\xff", f"not JSON: 'utf-8' codec can't decode byte 0xff in position {LONG + 2}"),
    ('["' + "\n" * LONG, "not JSON: Invalid control character at: line 1 column 3"),
    ('[0,{"a":\n{"b":1,\n"b":2}}]', "[1].a.b is set twice, first in line 2"),
    ("[" * 5_000 + "]" * 5_000, "nested more than 100 levels deep"),
    ("[" * 100_000, "nested more than 100 levels deep"),
    ("[[" + "[]," * 1_000 + "0]]", None),
    ("[[" + "[]," * 800_000 + "0]]", "more than 1,000 lists and objects in one value"),
    ("[[" + "0," * 800_000 + "0]]", "more than 5,000 values in one value"),
    ("[{" + ",".join(f'"{n}":0' for n in range(51)) + "}]", "an object with more than 50 members"),
    ('[{"a": "' + "x" * 6 * CHUNK_BYTES + '"}]', "[0] has more than 2,097,152 characters"),
    ("[" + "1" * 6 * CHUNK_BYTES + "]", "[0] has more than 2,097,152 characters"),
    ("[" + '{"a":{}},' * 1_000 + "{}]", "more than 2,000 objects"),
]


@pytest.mark.parametrize(("content", "told"), WRONG, ids=range(len(WRONG)))
def test_what_is_wrong_or_too_large_is_refused_with_its_place(content, told):
    if told is None:
        assert len(items(content)) == 1
        return
    with pytest.raises(NotationError) as caught:
        items(content)
    assert caught.value.message == told


def test_a_key_of_the_outer_object_may_not_be_set_twice():
    with pytest.raises(NotationError) as caught:
        members('{"a": 1, "b": 2, "\\u0061": 3}')
    assert caught.value.message == "a is set twice"


def test_what_is_kept_of_a_long_file_is_a_part_of_it():
    """The text that was read is dropped."""
    source = stream(json.dumps(["x" * 1_000] * 5_000))
    assert sum(len(str(source.value())) for _ in source.items()) == 5_000_000
    assert len(source._text) < 3 * CHUNK_BYTES


def test_a_long_value_is_measured_before_it_is_parsed():
    """What comes after a long value is in the text already: it is not parsed unmeasured either."""
    lists = "[" + "[]," * 1_100 + "0]"
    source = stream('["' + "x" * 3 * CHUNK_BYTES + '",' + lists + ',"' + "y" * 3 * CHUNK_BYTES + '"]')
    rows = source.items()
    next(rows)
    source.value()
    next(rows)
    source._fill(4 * CHUNK_BYTES)
    with pytest.raises(NotationError, match="more than 1,000 lists and objects in one value"):
        source.value()
