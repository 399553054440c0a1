"""``compare``: two stored runs side by side; the exit code is the gate's."""

from __future__ import annotations

import json
from shutil import copytree
from typing import TYPE_CHECKING

import pytest

from scratch import PASSING, case, config, repository, runner, skillgym, suite, written

if TYPE_CHECKING:
    from pathlib import Path

EIGHT = tuple(map(case, "abcdefgh"))
LARGE = runner(PASSING, model="large")


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> Path:
    """A repository with the runs base, worse, and two shards of base."""
    folder = tmp_path_factory.mktemp("runs")
    repository(
        folder, {"bench/core.json": suite(*EIGHT), "skillgym.config.yaml": config(runner(PASSING, model="large"))}
    )
    skillgym("run", "--output", "base", cwd=folder)
    for shard in ("1/2", "2/2"):
        skillgym("run", "--shard", shard, "--output", f"shards/{shard[0]}", cwd=folder)
    written(folder, {"skillgym.config.yaml": config(runner("true", model="small"))})
    skillgym("run", "--output", "worse", "--fail-on", "none", cwd=folder)
    return folder


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_the_comparison_is_on_standard_output_and_decides_nothing_by_itself(runs):
    before = names(runs)
    ran = skillgym("compare", "base", "worse", cwd=runs)
    assert (ran.code, ran.err) == (0, "")
    assert "differs: model of sh: large then, small now\n" in ran.out
    assert "all runners  100% [68, 100] → 0% [0, 32]" in ran.out
    assert "\ni Worse than run of " in ran.out
    assert ran.out.endswith(": 100% → 0% of attempts pass\n  8 of 8 results newly fail, for 1 reason.\n")
    assert names(runs) == before


@pytest.mark.parametrize(
    ("args", "code", "last"),
    [
        pytest.param(("base", "worse", "--fail-on", "regression"), 1, "✗ Worse than run of ", id="worse"),
        pytest.param(("worse", "base", "--fail-on", "regression"), 0, "✓ Better than run of ", id="better"),
        pytest.param(("base", "shards/1", "--fail-on", "regression"), 3, "! Not sure: ", id="a part"),
        pytest.param(("shards/*", "worse", "--fail-on", "regression"), 1, "✗ Worse than run of ", id="parts are merged"),
    ],
)
def test_options_of_the_gate_give_the_exit_code(runs, args, code, last):
    ran = skillgym("compare", *args, cwd=runs)
    assert (ran.code, last in ran.out) == (code, True), ran


def test_what_the_configuration_says_of_runs_does_not_fail_a_comparison(runs, tmp_path):
    copytree(runs, tmp_path / "runs")
    written(tmp_path / "runs", {"skillgym.config.yaml": config(runner("true"), run={"failOn": ["failed"]})})
    assert skillgym("compare", "base", "worse", cwd=tmp_path / "runs").code == 0
    assert skillgym("compare", "base", "worse", "--fail-on", "failed", cwd=tmp_path / "runs").code == 1


def test_reports_are_those_of_a_run_with_a_baseline(runs):
    ran = skillgym("compare", "base", "worse", "--report", "summary=out/s.md", "--report", "results=-", cwd=runs)
    document = json.loads(ran.out)
    assert document["run"]["comparison"]["verdict"] == "regression"
    assert document["run"]["id"] == "worse"
    assert " →\u00a0" in (runs / "out/s.md").read_text(encoding="utf-8")
    assert "i Worse than run of " in ran.err


def test_a_run_directory_is_kept_if_it_is_named(runs):
    assert skillgym("compare", "base", "worse", "--output", "kept", "-q", cwd=runs).out.startswith("i Worse than ")
    assert {"results.json", "summary.md", "comment.md", "junit.xml"} <= names(runs / "kept")
    refused = skillgym("compare", "base", "worse", "--output", "base", cwd=runs)
    assert (refused.code, "--output is a run that is compared" in refused.err) == (2, True)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        pytest.param(("base", "nowhere"), "no such run: nowhere", id="no such run"),
        pytest.param(("bench/core.json", "base"), "bench/core.json", id="no results"),
        pytest.param(("base", "base", "--fail-on", "regression"), "is the run itself", id="the same run"),
        pytest.param(
            ("base", "worse", "--json", "--report", "results=-"), "both write to standard", id="two documents"
        ),
        pytest.param(("base",), "missing argument 'HEAD'", id="one run"),
    ],
)
def test_what_cannot_be_compared_is_an_error(runs, args, said):
    ran = skillgym("compare", *args, cwd=runs)
    assert (ran.code, said in ran.err) == (2, True), ran


def test_no_agent_and_no_suite_is_needed(runs, tmp_path):
    for name in ("base", "worse"):
        copytree(runs / name, tmp_path / name)
    assert skillgym("compare", "base", "worse", "--fail-on", "regression", cwd=tmp_path).code == 1
