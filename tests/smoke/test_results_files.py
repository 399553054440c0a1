"""``--output NAME.json`` and ``--report KIND=PATH``: agents do not read them, and they replace nothing that is read."""

from __future__ import annotations

import json

import pytest

from scratch import case, committed, config, repository, runner, skillgym, suite


def test_agents_of_a_later_run_do_not_get_the_results_of_an_earlier_one(tmp_path):
    names = ("results.json", "more.json", "own.json")
    files = {
        "bench/core.json": suite(case(expect=(*(f"no-file:{name}" for name in names), "file:notes.json exists"))),
        "skillgym.config.yaml": config(runner("ls")),
        "notes.json": "{}",
    }
    repository(tmp_path, files, git=True)
    written = ("--output", "results.json", "--report", "x-bench=more.json", "--report", "results=own.json")
    for args in (written, ()):
        ran = skillgym("bench", *args, cwd=tmp_path)
        assert ran.code == 0, ran.err
    assert all((tmp_path / name).is_file() for name in names)
    committed(tmp_path)
    assert skillgym("bench", cwd=tmp_path).code == 1, "files of the commit are part of the work"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        pytest.param(["--output", "bench/core.json"], "--output bench/core.json is the suite", id="a suite"),
        pytest.param(["--output", "x.json"], "--output x.json is a folder", id="a folder"),
        pytest.param(["--output", "a.json", "--report", "results=a.json"], "are the same file", id="two reports"),
    ],
)
def test_a_path_that_is_taken_is_refused(tmp_path, args, message):
    (tmp_path / "x.json").mkdir()
    before = (repository(tmp_path) / "bench/core.json").read_bytes()
    ran = skillgym("run", *args, cwd=tmp_path)
    assert (ran.code, message in ran.err) == (2, True), ran.err
    assert (tmp_path / "bench/core.json").read_bytes() == before


def test_judging_again_keeps_the_results_that_it_reads(tmp_path):
    assert skillgym("run", "--output", "run", cwd=repository(tmp_path)).code == 0
    ran = skillgym("rejudge", "run", "--output", "run/results.json", cwd=tmp_path)
    assert (ran.code, "--output run/results.json is " in ran.err) == (2, True), ran.err


def test_a_check_with_a_stand_in_writes_results(tmp_path):
    assert skillgym("check", "--nop", "--output", "results.json", cwd=repository(tmp_path)).code == 0
    assert json.loads((tmp_path / "results.json").read_text())["failed"] == 1
