from __future__ import annotations

from pathlib import Path

import pytest

from skillgym_action.cli.action.inputs import path_inputs, paths_in_workspace

RUNNER = {"RUNNER_WORKSPACE": "/home/runner/work/skills", "GITHUB_REPOSITORY": "octo/skills"}
WORKSPACE = "/home/runner/work/skills/skills"


@pytest.mark.parametrize("name", sorted(path_inputs()))
@pytest.mark.parametrize(
    ("given", "path"),
    [
        pytest.param(WORKSPACE, "{}", id="the workspace"),
        pytest.param(f"{WORKSPACE}/sub/x", "{}/sub/x", id="below it"),
        pytest.param(f"a\n  {WORKSPACE}/b\n!{WORKSPACE}/c", "a\n  {}/b\n!{}/c", id="in any line"),
        pytest.param(f"ctrf={WORKSPACE}/x.json", "ctrf={}/x.json", id="a report"),
        pytest.param(f"{WORKSPACE}-other/x", f"{WORKSPACE}-other/x", id="a folder beside it"),
        pytest.param(f"x{WORKSPACE}", f"x{WORKSPACE}", id="in the middle"),
        pytest.param("sub/x", "sub/x", id="a relative path"),
    ],
)
def test_paths_of_the_machine_become_those_of_the_container(name, given, path):
    assert paths_in_workspace({name: given}, RUNNER) == {name: path.replace("{}", str(Path.cwd()))}


def test_the_inputs_of_options_that_take_a_path_are_among_them():
    assert {"suites", "config", "skill", "baseline", "durations", "report-dir"} <= path_inputs()
    assert not path_inputs() & {"model", "cases", "timeout", "comment-id"}


def test_texts_that_are_no_paths_stay_as_they_are():
    assert paths_in_workspace({"model": WORKSPACE}, RUNNER) == {"model": WORKSPACE}


def test_nothing_is_changed_where_the_machines_folder_is_there(tmp_path):
    (tmp_path / "skills").mkdir()
    environment = {**RUNNER, "RUNNER_WORKSPACE": str(tmp_path)}
    inputs = {"config": f"{tmp_path}/skills/c.yaml"}
    assert paths_in_workspace(inputs, environment) == inputs


@pytest.mark.parametrize("missing", RUNNER)
def test_nothing_is_changed_where_the_runner_does_not_say_where_it_works(missing):
    environment = {name: value for name, value in RUNNER.items() if name != missing}
    assert paths_in_workspace({"config": WORKSPACE}, environment) == {"config": WORKSPACE}
