"""Runs of the whole tool, compared with a baseline."""

from __future__ import annotations

import json
from shutil import copyfile
from typing import TYPE_CHECKING, Any

from scratch import PASSING, case, config, repository, runner, skillgym, suite, written

if TYPE_CHECKING:
    from pathlib import Path

EIGHT = tuple(map(case, "abcdefgh"))
TEMPLATE = {"workspace": {"templateDir": "template"}}


def run(folder: Path, output: str, *args: str) -> tuple[int, dict[str, Any], str]:
    """The exit code, the run's entry in results.json, and what the terminal shows."""
    ran = skillgym("run", "bench", "--output", output, *args, cwd=folder)
    return ran.code, json.loads((folder / output / "results.json").read_text(encoding="utf-8")), ran.err


def test_seen_11_a_comparison_names_model_suite_and_template_that_changed(tmp_path):
    files = {"bench/core.json": suite(*EIGHT, **TEMPLATE), "bench/template/a.txt": "one"}
    repository(tmp_path, files | {"skillgym.config.yaml": config(runner(model="small"))})
    _, base, _ = run(tmp_path, "base")
    written(tmp_path, {"bench/core.json": suite(*EIGHT, case("new"), **TEMPLATE), "bench/template/a.txt": "two"})
    written(tmp_path, {"skillgym.config.yaml": config(runner(model="large"))})
    code, head, shown = run(tmp_path, "head", "--baseline", "./base", "--fail-on", "regression")
    digests = [(file["suites"][0]["digest"][:12], file["suites"][0]["templateDigest"][:12]) for file in (base, head)]
    assert digests[0][0] != digests[1][0]
    assert digests[0][1] != digests[1][1]
    expected = [
        "model of sh: small then, large now",
        f"suite file of bench/core.json: {digests[0][0]} then, {digests[1][0]} now",
        f"workspace template of bench/core.json: {digests[0][1]} then, {digests[1][1]} now",
    ]
    assert head["run"]["comparison"]["differences"] == expected
    assert (code, head["run"]["comparison"]["verdict"]) == (0, "no-regression-shown")
    assert all(f"note differs: {line}\n" in shown for line in expected)
    summary = (tmp_path / "head/summary.md").read_text(encoding="utf-8")
    assert summary.index("workspace template of bench/core.json") < summary.index("attempts passed then")


def test_a_run_that_got_worse_is_a_regression_and_one_of_fewer_cases_inconclusive(tmp_path):
    repository(tmp_path, {"bench/core.json": suite(*EIGHT), "skillgym.config.yaml": config(runner(PASSING))})
    run(tmp_path, "base")
    written(tmp_path, {"skillgym.config.yaml": config(runner("true"))})
    worse = run(tmp_path, "worse", "--baseline", "./base", "--fail-on", "regression")
    assert (worse[0], worse[1]["run"]["comparison"]["verdict"]) == (1, "regression")
    assert ": 100% → 0% of attempts pass\n" in worse[2]
    written(tmp_path, {"bench/core.json": suite(*EIGHT[:7]), "skillgym.config.yaml": config(runner(PASSING))})
    fewer = run(tmp_path, "fewer", "--baseline", "./base", "--fail-on", "regression")
    assert (fewer[0], fewer[1]["run"]["comparison"]["verdict"]) == (3, "inconclusive")
    assert "only 7 of 8 sessions of the baseline's cases were judged, less than 90%" in fewer[2]


def test_a_run_is_not_compared_with_itself(tmp_path):
    """Also not a copy of its results, which a job may have taken for those of the run before."""
    repository(tmp_path, {"bench/core.json": suite(*EIGHT), "skillgym.config.yaml": config(runner("true"))})
    run(tmp_path, "head", "--fail-on", "none")
    (tmp_path / "copy").mkdir()
    copyfile(tmp_path / "head/results.json", tmp_path / "copy/results.json")
    for args in (
        ("report", "head", "--baseline", "head", "--output", "told"),
        ("report", "head", "--baseline", "copy", "--output", "told"),
        ("rejudge", "head", "--baseline", "head/results.json", "--output", "told"),
        ("run", "--resume", "head", "--baseline", "copy"),
    ):
        ran = skillgym(*args, "--fail-on", "regression", cwd=tmp_path)
        assert (ran.code, "is the run itself, so no regression could be shown" in ran.err) == (2, True), ran.err
