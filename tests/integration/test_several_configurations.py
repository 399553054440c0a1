"""A repository with several configurations: which one a run uses, and what says so."""

from __future__ import annotations

import json

import pytest

from scratch import case, config, repository, runner, skillgym, suite, written

UNGATED = config(runner("true"), run={"failOn": "none"})
GATED = config(runner("true"))
ROOT, ONE, TWO = "skillgym.config.yaml", "p/one/skillgym.config.yaml", "p/two/skillgym.config.json"
SUITES = {f"p/{name}/bench/core.json": suite(case(name)) for name in ("one", "two")}
REMEDY = "run the suites of each configuration separately, or choose one for all with --config"


def warnings(root, *args, command=("run", "--output", "out"), cwd=".", **env):
    """What a run printed, and the warnings about configurations in its results, without what to do."""
    ran = skillgym(*command, *args, cwd=root / cwd, **env)
    text = next(root.rglob("results.json")).read_text()
    found = [one for one in json.loads(text)["warnings"] if "configuration" in one["message"]]
    return ran, [f"{one['path']}: {one['message'].removesuffix(f'; {REMEDY}')}" for one in found]


@pytest.mark.parametrize(
    ("files", "paths", "code", "warned"),
    [
        pytest.param(
            {ROOT: GATED, ONE: UNGATED},
            ("p/one", "p/two"),
            0,
            f"p/two/bench/core.json: this suite runs with the configuration {ONE}, not with the closest one, {ROOT}",
            id="another one further up",
        ),
        pytest.param(
            {ROOT: None, ONE: UNGATED},
            ("p/one", "p/two"),
            0,
            f"p/two/bench/core.json: this suite runs with the configuration {ONE}, which is not above it",
            id="one and none",
        ),
        pytest.param(
            {ROOT: None, ONE: UNGATED},
            ("p/two", "p/one", "--runner", "nop"),
            1,
            f"p/one/bench/core.json: this suite runs without a configuration, not with the closest one, {ONE}",
            id="none and one",
        ),
        pytest.param(
            {ROOT: GATED, "p/skillgym.config.yaml": GATED},
            (".",),
            1,
            "p/one/bench/core.json: this and 1 other suite run with the configuration skillgym.config.yaml, "
            "not with the closest one, p/skillgym.config.yaml",
            id="a folder with both",
        ),
    ],
)
def test_suites_that_run_with_another_configuration_than_the_closest_one_are_a_warning(
    tmp_path, files, paths, code, warned
):
    root = repository(tmp_path / "r", {"bench/core.json": None, **SUITES, **files}, git=True)
    ran, found = warnings(root, *paths)
    assert (ran.code, found) == (code, [warned]), ran.err
    assert f"{warned}; {REMEDY}" in ran.err
    checked = skillgym("check", *paths, cwd=root)
    assert (checked.code, f"warning: {warned}; {REMEDY}\n" in checked.err) == (0, True), checked.err


@pytest.mark.parametrize(
    ("files", "paths", "cwd", "env"),
    [
        pytest.param({ROOT: GATED}, ("p/one", "p/two"), ".", {}, id="the same one for all"),
        pytest.param({ROOT: GATED, ONE: GATED, TWO: GATED}, ("p/one",), ".", {}, id="only one of them is needed"),
        pytest.param({ROOT: GATED, ONE: GATED}, ("p", "--config", ROOT), ".", {}, id="it is named"),
        pytest.param({ROOT: GATED, ONE: GATED}, ("p",), ".", {"SKILLGYM_CONFIG": ROOT}, id="a variable names it"),
        pytest.param({ROOT: None, ONE: GATED}, (), "p/one", {}, id="that of the working directory, and none"),
    ],
)
def test_a_configuration_that_is_meant_for_all_suites_is_no_warning(tmp_path, files, paths, cwd, env):
    root = repository(tmp_path / "r", {"bench/core.json": None, **SUITES, **files}, git=True)
    ran, found = warnings(root, *paths, cwd=cwd, **env)
    assert (ran.code, found) == (1, []), ran.err


@pytest.mark.parametrize("command", [("run", "--output", "out"), ("run", "--dry-run"), ("check",), ("list", "--json")])
def test_a_configuration_in_another_folder_is_named(tmp_path, command):
    root = repository(tmp_path / "r", {"bench/core.json": None, **SUITES, ONE: UNGATED}, git=True)
    line = f"configuration: {ONE}\n"
    elsewhere = skillgym(*command, "p/one", cwd=root)
    assert (elsewhere.code, elsewhere.err.count(line), line in elsewhere.out) == (0, 1, False), elsewhere.err
    for args, cwd in ((("p/two",), root), (("p/one", "--config", ONE), root), ((".",), root / "p/one")):
        assert "configuration:" not in skillgym(*command, *args, cwd=cwd).err


def test_the_name_of_the_configuration_is_no_error_and_no_verdict(tmp_path):
    root = repository(tmp_path / "r", {"bench/core.json": None, **SUITES, ONE: UNGATED}, git=True)
    ran = skillgym("run", "p/one", "--quiet", cwd=root)
    assert (ran.code, "configuration:" in ran.err) == (0, False), ran.err


def test_a_run_that_is_judged_again_has_the_configuration_of_the_working_directory(tmp_path):
    root = repository(tmp_path / "r", {"bench/core.json": None, **SUITES, ONE: UNGATED}, git=True)
    assert skillgym("run", "p/one", "--output", "out", cwd=root).code == 0
    again, found = warnings(root, command=("rejudge", "out", "--output", "again"))
    assert (again.code, found) == (1, []), again.err


def test_the_name_of_a_folder_writes_nothing_to_the_terminal(tmp_path):
    root = repository(tmp_path / "r", {"bench/core.json": None, **SUITES, ONE: UNGATED}, git=True)
    folder = "p/\x1b[31mred"
    written(root, {f"{folder}/bench/core.json": suite(), f"{folder}/skillgym.config.yaml": UNGATED})
    for paths in (("p/one", folder), (folder, "p/one")):
        ran = skillgym("run", *paths, cwd=root)
        assert (ran.code, "\x1b[31m" in ran.err) == (0, False), ran.err
        assert "this suite runs with the configuration" in ran.err
