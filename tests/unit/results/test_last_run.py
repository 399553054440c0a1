"""``--last-failed``: which run is the last one, and what was not green in it."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from builders import run_report
from scratch import written
from skillgym_action.results.stored_runs import failed_executions, failed_in_quarantine, last_run, results_time

if TYPE_CHECKING:
    from pathlib import Path


def at(path: Path, time: int) -> None:
    os.utime(path, ns=(time, time))


def test_the_last_run_is_the_one_whose_results_were_written_last(tmp_path):
    written(tmp_path, {"b/results.json": "{}", "a/results.json": "{}", "c/journal.jsonl": "", "results.json": "{}"})
    at(tmp_path / "a/results.json", 2_000)
    at(tmp_path / "b/results.json", 1_000)
    assert last_run(tmp_path) == tmp_path / "a"
    at(tmp_path / "b/results.json", 3_000)
    assert last_run(tmp_path) == tmp_path / "b"


def test_without_a_run_there_is_no_last_one(tmp_path):
    assert last_run(tmp_path / "nowhere") is None
    assert last_run(written(tmp_path, {"c/journal.jsonl": ""})) is None


def test_links_are_no_runs(tmp_path):
    """A commit can put them there."""
    written(tmp_path, {"elsewhere/results.json": "{}", "runs/own/other": ""})
    (tmp_path / "runs/linked").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "runs/own/results.json").symlink_to(tmp_path / "elsewhere/results.json")
    assert last_run(tmp_path / "runs") is None
    assert results_time(tmp_path / "runs/linked") is None


def test_everything_that_was_not_green_has_failed():
    report = run_report("""
        good passed
        bad failed
        bad @codex passed
        late errored timeout
        left skipped
        known expected-failed
        odd unexpected-passed
    """)
    path = "bench/core.json"
    expected = {(path, case, "claude") for case in ("bad", "late", "left", "odd")}
    assert failed_executions(report) == expected


def test_what_failed_in_quarantine_is_counted_and_not_run_again():
    report = run_report("good passed\nbad failed\nknown expected-failed")
    quarantined = replace(report, results=(), quarantined=report.results)
    assert (failed_executions(quarantined), failed_in_quarantine(quarantined)) == (frozenset(), 1)
    assert failed_in_quarantine(report) == 0
