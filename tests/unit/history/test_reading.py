"""What a store has of the base."""

from __future__ import annotations

from dataclasses import replace

import pytest

from skillgym_action.history import StoreError
from skillgym_action.history.reading import MAX_BASE_LINES, read_history
from stored_runs import POINT, GivenLines, line_of, run_of


def test_lines_of_other_branches_and_of_later_commits_do_not_count():
    of_main, of_topic = (line_of(run_of("a passed"), hours=n, branch=b) for n, b in ((1, "main"), (2, "topic")))
    found = read_history(GivenLines(of_main, of_topic), POINT)
    assert [line.run.branch for line in found.lines] == ["main"]
    assert found.others == 1
    known = replace(POINT, commits=frozenset({"b" * 40}))
    assert read_history(GivenLines(of_main), known).lines == ()
    assert len(read_history(GivenLines(of_main), replace(POINT, commits=frozenset({"a" * 40}))).lines) == 1


def test_a_run_is_no_baseline_of_itself():
    line = line_of(run_of("a passed"), hours=1, group="7/bench")
    assert read_history(GivenLines(line), replace(POINT, group="7/bench")).lines == ()
    assert len(read_history(GivenLines(line), replace(POINT, group="8/bench")).lines) == 1


def test_a_run_that_counts_twice_is_refused():
    line = line_of(run_of("a passed"), hours=1)
    with pytest.raises(StoreError) as found:
        read_history(GivenLines(line, line), POINT)
    told = "the store: runs:2: run.id: the same run is in runs:1, too; "
    assert str(found.value) == f"{told}no run writes that: look at who did, and remove it from the store"


def test_a_run_of_tomorrow_is_refused():
    with pytest.raises(StoreError) as found:
        read_history(GivenLines(line_of(run_of("a passed"), hours=-25)), POINT)
    assert str(found.value) == (
        "the store: runs:1: run.at: is in the future: 2026-01-11T13:00:00.000Z, now 2026-01-10T12:00:00.000Z; one of "
        "the two clocks is wrong: set that of this machine, or remove the line of the other from the store"
    )
    assert read_history(GivenLines(line_of(run_of("a passed"), hours=-23)), POINT).lines, "clocks differ"


def test_older_lines_than_are_needed_are_not_looked_at():
    lines = [line_of(run_of("a passed"), hours=number) for number in range(MAX_BASE_LINES)]
    assert len(read_history(GivenLines(*lines, b"forged"), POINT).lines) == MAX_BASE_LINES
