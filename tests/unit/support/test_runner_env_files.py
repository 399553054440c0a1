from __future__ import annotations

import pytest

from runner_env_files import StepError, entries


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("", [], id="an empty file says nothing"),
        pytest.param("\n\n", [], id="empty lines are passed over"),
        pytest.param("a=1\nb=2\n", [("a", "1"), ("b", "2")], id="one entry a line"),
        pytest.param("a=1", [("a", "1")], id="the last line needs no line feed"),
        pytest.param("a=b=c\n", [("a", "b=c")], id="the first equals sign divides"),
        pytest.param("a=1<<2\n", [("a", "1<<2")], id="equals before << is a plain entry"),
        pytest.param("a<<E\n1\n2\nE\n", [("a", "1\n2")], id="lines up to the delimiter"),
        pytest.param("a<<E\nE\n", [("a", "")], id="no line is an empty value"),
        pytest.param("a<<E\n\nE\n", [("a", "")], id="one empty line is an empty value too"),
        pytest.param("a<<E=F\n1\nE=F\n", [("a", "1")], id="a delimiter may hold an equals sign"),
        pytest.param("a<<E\n1\r\nE\n", [("a", "1\r")], id="a carriage return is part of the value"),
        pytest.param("a<<E\nmodel\nE\nverdict=passed\nx<<E\nE\n", [("a", "model"), ("verdict", "passed"), ("x", "")],
                     id="a known delimiter lets a value add entries"),
    ],
)  # fmt: skip
def test_the_oracle_reads_as_the_runner_does(text, expected):
    assert entries(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("word\n", id="neither form"),
        pytest.param("=1\n", id="no name"),
        pytest.param("<<E\nE\n", id="no name before the delimiter"),
        pytest.param("a<<\n\n", id="no delimiter"),
        pytest.param("a<<E\n1\n", id="the delimiter never comes"),
    ],
)
def test_the_oracle_fails_the_step_where_the_runner_does(text):
    with pytest.raises(StepError):
        entries(text)
