from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import run_report
from skillgym_action.model.session import SessionArtifacts
from skillgym_action.reports.files.otlp import render
from skillgym_action.reports.html.session import steps_of
from skillgym_action.reports.wording.unfinished_calls import UnfinishedCalls


@given(st.lists(st.tuples(st.sampled_from(["add", "take", "first", "latest"]), st.sampled_from("abc"))))
def test_calls_wait_in_their_order(steps):
    calls, expected = UnfinishedCalls[int](), []
    for number, (step, tool) in enumerate(steps):
        if step == "add":
            calls.add(tool, number)
            expected.append((tool, number))
            continue
        if step == "latest":
            assert calls.latest() == (expected[-1][1] if expected else None)
            continue
        own = [one for one in expected if step == "first" or one[0] == tool]
        assert (calls.take_first() if step == "first" else calls.take(tool)) == (own[0][1] if own else None)
        expected = [one for one in expected if one not in own[:1]]


@pytest.mark.timed
def test_the_time_does_not_grow_with_the_square_of_calls_without_a_result():
    calls = [{"type": "toolCall", "tool": "a"} for _ in range(25_000)]
    results = [{"type": "toolResult", "tool": "b", "output": "x"} for _ in range(25_000)]
    stored = SessionArtifacts(report={"events": calls + results})
    started = time.process_time()
    steps_of(stored.report)
    "".join(render(run_report("fix failed"), artifacts=_Stored(stored)))
    assert time.process_time() - started < 10


class _Stored:
    """The same artifacts for every session."""

    def __init__(self, artifacts):
        self._artifacts = artifacts

    def session(self, _directory, _most):
        return self._artifacts
