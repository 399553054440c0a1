"""Documents: values with places, in three notations; everything wrong is a problem with a place."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from skillgym_action.model.errors import ConfigError, SuiteError
from skillgym_action.text.documents.documents import checked, read_document, validated
from table_rows import each_row

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


def document(text: str, kind: Any = "yaml"):
    return read_document(text, path="file", kind=kind, error=SuiteError)


def trouble(text: str, kind: Any = "yaml") -> str:
    with pytest.raises(SuiteError) as caught:
        document(text, kind)
    return str(caught.value)


# --- values -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("on: no", {"on": "no"}, id="words-of-yaml-1.1-are-text"),
        pytest.param("a: [true, False, null, ~, ]", {"a": [True, False, None, None]}, id="booleans-and-null"),
        pytest.param("a: [012, 0o14, 0xc, -3, 1:30]", {"a": [12, 12, 12, -3, "1:30"]}, id="numbers-of-yaml-1.2"),
        pytest.param(
            "a: [1.5, 1e3, .5, 2026-01-02, 1_000]", {"a": [1.5, 1000.0, 0.5, "2026-01-02", "1_000"]}, id="floats"
        ),
        pytest.param("a: ['12', \"true\", !!str 1, ! 2]", {"a": ["12", "true", "1", "2"]}, id="quoted-is-text"),
        pytest.param("12: a\nnull: b", {"12": "a", "null": "b"}, id="keys-are-text"),
        pytest.param("a: &x [1]\nb: *x", {"a": [1], "b": [1]}, id="alias"),
        pytest.param("a: &x k\n*x : 1", {"a": "k", "k": 1}, id="alias-as-key"),
        pytest.param("a: &x {k: 1}\nb: {<<: *x, l: 2}", {"a": {"k": 1}, "b": {"k": 1, "l": 2}}, id="merge"),
        pytest.param("a: {<<: [{k: 1}, {k: 2, l: 2}]}", {"a": {"k": 1, "l": 2}}, id="merge-list-earlier-wins"),
        pytest.param("a: {'<<': 1}", {"a": {"<<": 1}}, id="quoted-merge-is-a-key"),
        pytest.param("a: |\n  x\n  y\n", {"a": "x\ny\n"}, id="block-text"),
        pytest.param("", None, id="empty"),
        pytest.param("# nothing\n", None, id="only-a-comment"),
        pytest.param("\ufeffa: 1", {"a": 1}, id="byte-order-mark"),
    ],
)
def test_yaml_means_what_it_looks_like(text, value):
    assert document(text).value == value


@pytest.mark.slow
@given(JSON_VALUES)
def test_json_is_read_as_the_standard_reads_it(value):
    assert document(json.dumps(value), "json").value == value


@given(st.text(max_size=200) | st.text(alphabet="{}[]:,-&*!<? \n\t'\"#|>a1.~", max_size=60))
def test_no_text_gives_more_than_a_suite_error(text):
    for kind in ("json", "yaml", "toml"):
        with suppress(SuiteError):
            document(text, kind).locate(("a", 0))


# --- places -----------------------------------------------------------------------------------------

JSON = '{\n  "name": "x",\n  "cases": [\n    {"id": "a"},\n    {"id": "b",\n     "expect": ["p", "q"]}\n  ]\n}\n'
YAML = "name: x\ncases:\n- id: a\n- id: b\n  expect: [p, q]\n"
TOML = 'name = "x"\n[[cases]]\nid = "a"\n[[cases]]\nid = "b"\nexpect = ["p", "q"]\n[ a."b c" ]\nd.e = 1\n'


@pytest.mark.parametrize(
    ("text", "kind", "key_path", "place"),
    [
        pytest.param(JSON, "json", (), "file:1:1", id="json-whole"),
        pytest.param(JSON, "json", ("name",), "file:2:3", id="json-key"),
        pytest.param(JSON, "json", ("cases", 0), "file:4:5", id="json-element"),
        pytest.param(JSON, "json", ("cases", 1), "file:5:5", id="json-second-element"),
        pytest.param(JSON, "json", ("cases", 1, "expect", 1), "file:6:22", id="json-deep"),
        pytest.param(JSON, "json", ("cases", 1, "prompt"), "file:5:5", id="json-missing-gives-its-ancestor"),
        pytest.param(JSON, "json", ("cases", 7, "expect", 1), "file:3:3", id="json-nearest-known-ancestor"),
        pytest.param("\ufeff" + JSON, "json", ("name",), "file:2:3", id="json-byte-order-mark"),
        pytest.param('{"a\\u00e9\\ud83d": 1, "b": 2}', "json", ("b",), "file:1:22", id="json-escapes"),
        pytest.param("7", "json", ("a",), "file:1:1", id="json-scalar"),
        pytest.param(YAML, "yaml", ("cases", 1), "file:4:3", id="yaml-element"),
        pytest.param(YAML, "yaml", ("cases", 1, "expect", 1), "file:5:15", id="yaml-deep"),
        pytest.param(YAML, "yaml", ("cases", 0, "expect"), "file:3:3", id="yaml-missing-gives-its-ancestor"),
        pytest.param("ö: é\nb: &x {c: 1}\nd: *x", "yaml", ("d", "c"), "file:3:1", id="yaml-behind-an-alias"),
        pytest.param("", "yaml", ("a",), "file:1", id="yaml-empty"),
        pytest.param(TOML, "toml", ("name",), "file:1:1", id="toml-key"),
        pytest.param(TOML, "toml", ("cases", 0), "file:2:1", id="toml-first-table"),
        pytest.param(TOML, "toml", ("cases", 1, "id"), "file:5:1", id="toml-second-table"),
        pytest.param(TOML, "toml", ("cases", 1, "expect", 1), "file:6:1", id="toml-inside-an-array"),
        pytest.param(TOML, "toml", ("a", "b c", "d", "e"), "file:8:1", id="toml-dotted"),
    ],
)
def test_every_part_has_a_place(text, kind, key_path, place):
    assert str(document(text, kind).locate(key_path)) == place


NUMBERS = '{"a": 1.10, "b": [2.50e3, "3.10", true], "c": {"d": -0.0, "e": null, "f": "x"}}'
IN_YAML = "a: 1.10\nb: [0x1F, '3.10', True]\nc: {d: +1_0, e: ~, f: 1e3}\ng: &n 2.0\nh: *n\n"
IN_TOML = 'a = 1.10 # x\n[c]\nd = 1_000\ne = true\nf = "1.10"\ng = [1.10]\n'
SCALARS = [
    (NUMBERS, "json", {("a",): "1.10", ("b", 0): "2.50e3", ("b", 2): "true", ("c", "d"): "-0.0"}),
    (IN_YAML, "yaml", {("a",): "1.10", ("b", 0): "0x1F", ("b", 2): "True", ("c", "f"): "1e3", ("g",): "2.0"}),
    (IN_TOML, "toml", {("a",): "1.10", ("c", "d"): "1_000", ("c", "e"): "true"}),
]
NO_SCALARS = [(), ("b",), ("b", 1), ("c",), ("a", 0), ("a", "x"), ("h", "x"), ("no",), ("b", 9)]


@each_row((kind, (text, kind, known)) for text, kind, known in SCALARS)
def test_a_number_is_known_as_it_is_written(row):
    text, kind, known = row
    read = document(text, kind)
    assert {path: read.scalar(path) for path in known} == known
    assert [path for path in NO_SCALARS if read.scalar(path) is not None] == []


@pytest.mark.slow
@given(JSON_VALUES)
def test_a_place_in_json_is_where_the_value_begins(value):
    text = json.dumps({"a": [value]}, indent=1)
    place = document(text, "json").locate(("a", 0))
    rest = "\n".join(text.split("\n")[place.line - 1 :])[place.column - 1 :]
    assert json.JSONDecoder().raw_decode(rest)[0] == value


# --- what cannot be read ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        pytest.param('{"a": 1,\n  b}', "json", "file:2:3: not JSON: expecting property name", id="json-syntax"),
        pytest.param("", "json", "file:1:1: not JSON: expecting value", id="json-empty"),
        pytest.param('{"a": "NaN", "b": NaN}', "json", "file:1:19: NaN is not a JSON number", id="json-nan"),
        pytest.param('{"a": [1, 1e999]}', "json", "file:1:11: a[1] is not a finite number", id="json-overflow"),
        pytest.param('{"a": {\n"b": 1,\n"b": 2}}', "json", "3:1: a.b is set twice, first in line 2", id="json-twice"),
        pytest.param('[{"a": 1, "a": 1}]', "json", "file:1:11: [0].a is set twice", id="json-twice-in-a-list"),
        pytest.param('{"": 1, "": 1}', "json", 'file:1:9: [""] is set twice', id="json-empty-key-twice"),
        pytest.param("[" * 101 + "]" * 101, "json", "file:1:101: nested more than 100 levels deep", id="json-deep"),
        pytest.param("[" * 200_000, "json", "nested more than 100 levels deep", id="json-very-deep"),
        pytest.param(
            "[" + "1" * 5000 + "]", "json", "file:1:2: a number has more than 300 digits", id="json-endless-number"
        ),
        pytest.param(
            "[a]\nb = -" + "1" * 5000, "toml", "file:2:6: a number has more than 300 digits", id="toml-endless-number"
        ),
        pytest.param("a: b: c", "yaml", "file:1:5: not YAML: mapping values are not allowed", id="yaml-syntax"),
        pytest.param('a: 1\nb: "x\nc: 1', "yaml", "file:3:5: not YAML: while scanning a quoted", id="yaml-unclosed"),
        pytest.param("\ta: 1", "yaml", "not YAML: YAML is indented with spaces, and this is a tab", id="yaml-tab"),
        pytest.param('a: "\x01"', "yaml", "file:1:5: not YAML: control characters", id="yaml-control-character"),
        pytest.param("a: 1\nb:\n  c: 1\n  c: 2", "yaml", "4:3: b.c is set twice, first in line 3", id="yaml-twice"),
        pytest.param("a: .nan", "yaml", "file:1:4: a is not a finite number", id="yaml-nan"),
        pytest.param("a: [1e999]", "yaml", "file:1:5: a[0] is not a finite number", id="yaml-overflow"),
        pytest.param(
            "a: " + "1" * 5000, "yaml", "file:1:4: a number has more than 300 digits", id="yaml-endless-number"
        ),
        pytest.param("[" * 101 + "]" * 101, "yaml", "file:1:101: nested more than 100 levels deep", id="yaml-deep"),
        pytest.param("[" * 200_000, "yaml", "nested more than 100 levels deep", id="yaml-very-deep"),
        pytest.param("a: &x [*x]", "yaml", "1:8: the alias *x stands for nothing before it, or for", id="yaml-cycle"),
        pytest.param("a: *x", "yaml", "file:1:4: the alias *x stands for nothing", id="yaml-unknown-alias"),
        pytest.param("a: !!python/name:os.system x", "yaml", "1:4: the tag !!python/name:os.system is", id="yaml-tag"),
        pytest.param("a: !!int x", "yaml", "file:1:4: the tag !!int is not supported here", id="yaml-wrong-tag"),
        pytest.param("a: !!set {x}", "yaml", "file:1:4: the tag !!set is not supported here", id="yaml-set"),
        pytest.param("a: 1\n---\nb: 1", "yaml", "file:2:1: more than one YAML document", id="yaml-two-documents"),
        pytest.param("? [a]\n: 1", "yaml", "file:1:3: a key must be text", id="yaml-key-that-is-a-list"),
        pytest.param("a: {<<: 1}", "yaml", "1:5: << takes a mapping or a list of mappings", id="yaml-merge-number"),
        pytest.param(
            "[" + "1" * 400 + "]", "json", "file:1:2: a number has more than 300 digits", id="json-long-number"
        ),
        pytest.param(
            "a: 0x" + "f" * 9999, "yaml", "file:1:4: a number has more than 300 digits", id="yaml-hexadecimal"
        ),
        pytest.param(
            "a = 0x" + "f" * 999, "toml", "file:1:1: a number has more than 300 digits", id="toml-long-number"
        ),
        pytest.param("[" + "0," * 300_000 + "0]", "json", "file:1:500001: more than 250,000 values", id="json-many"),
        pytest.param(
            "- 0\n" * 300_000,
            "yaml",
            "file:250000:3: more than 250,000 values",
            id="yaml-many",
            marks=pytest.mark.slow,
        ),
        pytest.param("a=[" + "0," * 300_000 + "0]", "toml", "file: more than 250,000 values", id="toml-many"),
        pytest.param(f"{'a.' * 10_000}a = 1", "toml", "file:1:1: nested more than 100 levels deep", id="toml-deep-key"),
        pytest.param(f"[{'a.' * 10_000}a]", "toml", "file:1:2: nested more than 100 levels deep", id="toml-deep-table"),
        pytest.param(
            "\n".join(["a0: &a0 1", *(f"a{n}: &a{n} {'[' * 60}*a{n - 1}{']' * 60}" for n in (1, 2))]),
            "yaml",
            "file:3:69: nested more than 100 levels deep",
            id="yaml-deep-by-aliases",
        ),
        pytest.param(
            "a: &a " + "x" * 999_999 + "\nb: [" + "*a, " * 99 + "]",
            "yaml",
            "aliases expand to more than 16,777,216 characters",
            id="yaml-long-by-aliases",
        ),
        pytest.param("a = 1\nb = ", "toml", "file:2:5: not TOML: invalid value", id="toml-syntax"),
        pytest.param("a = 1\na = 2", "toml", "not TOML: cannot overwrite a value", id="toml-twice"),
        pytest.param("[a]\nb = nan", "toml", "file:2:1: a.b is not a finite number", id="toml-nan"),
        pytest.param("a = " + "[" * 5000, "toml", "nested more than 100 levels deep", id="toml-very-deep"),
    ],
)
def test_what_cannot_be_read_says_where_and_why(text, kind, message):
    assert message in trouble(text, kind)


@pytest.mark.timed
def test_an_alias_bomb_is_refused_at_once():
    levels = [f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]" for level in range(1, 9)]
    started = time.process_time()
    assert "aliases expand to more than 250,000 values" in trouble("\n".join(["a0: &a0 x", *levels]))
    assert time.process_time() - started < 5


def test_the_error_is_the_one_that_was_asked_for():
    with pytest.raises(ConfigError):
        read_document("{", path="c.json", kind="json", error=ConfigError)


# --- validation -------------------------------------------------------------------------------------


class Inner(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    expect: list[str] = Field(min_length=1)
    fail_fast: bool = Field(default=False, alias="failFast")
    retries: int = Field(default=0, validation_alias=AliasChoices("retries", "retryFailed"), ge=0)


class Outer(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    cases: list[Inner | str] = []
    named: dict[str, Inner] = {}
    size: float = 1


def problems(text: str, **options: Any) -> list[str]:
    _, misfits = checked(document(text, "json"), Outer, **options)
    return [str(problem) for _, problem in misfits]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("[]", ["file:1:1: must be a mapping of keys to values, not a list"], id="not-a-mapping"),
        pytest.param('{"size": "x"}', ['file:1:2: size: must be a number, not "x"'], id="text-for-a-number"),
        pytest.param(
            '{"named": {"a": {"expect": [1.10]}}}',
            ["file:1:29: named.a.expect[0]: must be text, not 1.10"],
            id="as it is written",
        ),
        pytest.param('{"cases": 2.50}', ["file:1:2: cases: must be a list, not 2.50"], id="as it is written, too"),
        pytest.param('{"size": true}', ["file:1:2: size: must be a number, not true"], id="boolean-for-a-number"),
        pytest.param('{"named": {"a": {"expect": []}}}', ["file:1:18: named.a.expect: must not be empty"], id="empty"),
        pytest.param('{"named": {"a": {}}}', ["file:1:12: named.a.expect: is missing"], id="missing"),
        pytest.param(
            '{"named": {"a b": {"expect": ["x"], "retries": -1}}}',
            ['file:1:37: named["a b"].retries: must be greater than or equal to 0, not -1'],
            id="too-small",
        ),
        pytest.param(
            '{"named": {"a": {"expect": ["x"], "failfast": true}}}',
            ["file:1:35: named.a.failfast: unknown key 'failfast'; did you mean 'failFast'?"],
            id="alias-is-suggested",
        ),
        pytest.param(
            '{"named": {"a": {"expect": ["x"], "zzz": 1}}}',
            ["file:1:35: named.a.zzz: unknown key 'zzz'; known: expect, failFast, retries"],
            id="known-keys-are-listed",
        ),
    ],
)
def test_what_does_not_fit_the_model_is_reported_in_plain_words(text, expected):
    assert problems(text) == expected


def test_all_problems_are_reported_in_the_order_of_the_text():
    text = '{"sizes": 1,\n "cases": 3,\n "named": {"a": {"expct": ["x"]}}}'
    with pytest.raises(SuiteError) as caught:
        validated(document(text, "json"), Outer, error=SuiteError)
    assert str(caught.value).splitlines() == [
        "file:1:2: sizes: unknown key 'sizes'; did you mean 'size'?",
        "file:2:2: cases: must be a list, not 3",
        "file:3:18: named.a.expct: unknown key 'expct'; did you mean 'expect'?",
    ]


def test_the_members_of_a_union_are_no_part_of_the_key_path():
    assert "file:1:24: cases[0].expect[0]: must be text, not 1" in problems('{"cases": [{"expect": [1]}]}')


def test_extensions_are_allowed_where_asked_for_and_nowhere_else():
    text = '{"$schema": "s", "x-a": 1, "named": {"a": {"expect": ["x"], "x-b": 2}}}'
    outer = validated(document(text, "json"), Outer, extensions=True, error=SuiteError)
    assert outer.named["a"].expect == ["x"]
    assert len(problems(text)) == 3
    assert problems('{"x-a": 1, "sice": 2}', extensions=True) == [
        "file:1:12: sice: unknown key 'sice'; did you mean 'size'?"
    ]


def test_free_keys_that_look_like_extensions_are_kept():
    text = '{"x-a": 1, "named": {"x-free": {"expect": ["x"]}}}'
    assert list(validated(document(text, "json"), Outer, extensions=True, error=SuiteError).named) == ["x-free"]


def test_a_part_of_a_document_is_validated_at_its_key_path():
    text = '{"a": [{"expect": ["x"]}, {"expect": 1}]}'
    assert validated(document(text, "json"), Inner, at=("a", 0), error=SuiteError).expect == ["x"]
    with pytest.raises(SuiteError, match=r"^file:1:28: a\[1\]\.expect: must be a list, not 1$"):
        validated(document(text, "json"), Inner, at=("a", 1), error=SuiteError)
