"""One attack of each kind: links and paths out of the workspace, keys, detached processes, text that is a command."""

from __future__ import annotations

import json
import os

import pytest

from action_step import step
from github_server import JOB_TOKEN
from on_github import NUMBER, github_with
from planted_keys import found_in, made, needles, places_below
from scratch import PASSING, case, config, repository, runner, skillgym, suite

OUTSIDE = "only the job may read this: 5f1c9a70"


def result(root):
    """The only result of the run in ``out``."""
    ((one,),) = (part["results"] for part in json.loads((root / "out/results.json").read_text())["suites"])
    return one


def everything(root) -> bytes:
    return b"\n".join(places_below(root / "out").values())


def run(tmp_path, script, *expect, **files):
    """A run of one case into ``out``, beside a file that agents must not read."""
    (tmp_path / "outside.txt").write_text(OUTSIDE)
    standard = {"bench/core.json": suite(case(expect=expect)), "skillgym.config.yaml": config(runner(script))}
    root = repository(tmp_path / "r", standard | files, git=True)
    return root, skillgym("run", "--output", "out", "--keep", "all", cwd=root)


@pytest.mark.parametrize(
    "link",
    [
        pytest.param("ln -s {outside} out.txt", id="a file"),
        pytest.param("ln -s {folder} up; ln -s up/outside.txt out.txt", id="a folder above"),
    ],
)
def test_a_link_out_of_the_workspace_is_not_followed(tmp_path, link):
    script = link.format(outside=tmp_path / "outside.txt", folder=tmp_path)
    root, ran = run(tmp_path, script, "file:out.txt contains 'only the job'")
    assert (ran.code, result(root)["status"]) == (1, "failed"), ran.err
    assert OUTSIDE.encode() not in everything(root)
    assert (tmp_path / "outside.txt").read_text() == OUTSIDE


def test_a_path_of_a_suite_that_leads_out_is_refused(tmp_path):
    root, ran = run(tmp_path, PASSING, "file:../outside.txt exists")
    assert (ran.code, "../outside.txt leads out of the workspace" in ran.err) == (2, True), ran.err
    assert result(root)["status"] == "errored"


def test_an_agent_that_changes_git_s_configuration_and_deletes_files_changes_only_its_copy(tmp_path):
    script = "git config core.hooksPath /nowhere; rm -rf .git bench README.md; echo done > out.txt"
    root, ran = run(tmp_path, script, "file:out.txt exists", **{"README.md": "x"})
    assert (ran.code, (root / "README.md").exists(), (root / "bench/core.json").exists()) == (0, True, True), ran.err
    assert "hooksPath" not in (root / ".git/config").read_text()


def test_a_key_that_an_agent_prints_is_in_no_output_and_no_file(tmp_path):
    keys = made(29)
    (tmp_path / "keys").write_text("\n".join(key for name, key in keys.items() if name != "secret"))
    script = f'tee out.txt < {tmp_path}/keys; echo "$API_TOKEN" | tee -a out.txt >&2; echo "$API_TOKEN" | base64 -w0'
    agent = runner(script, env={"API_TOKEN": "${{ API_TOKEN }}"})
    root = repository(tmp_path / "r", {"skillgym.config.yaml": config(agent)})
    ran = skillgym("run", "--output", "out", "--verbose", cwd=root, API_TOKEN=keys["secret"])
    assert ran.code == 0, ran.err
    assert result(root)["status"] == "passed"
    wanted = needles(keys)
    assert found_in((ran.out + ran.err).encode(), wanted) == set()
    stored = {name: found_in(content, wanted) for name, content in places_below(root / "out").items()}
    assert {name: kinds for name, kinds in stored.items() if kinds} == {}


def test_agents_of_the_action_see_neither_its_token_nor_its_inputs(tmp_path):
    agent = runner("env > out.txt; cat out.txt")
    hidden = "test:! grep -qE 'token-of-the-job|^GITHUB_|^INPUT_' out.txt"
    files = {
        "skillgym.config.yaml": config(agent),
        "bench/core.json": suite(case(expect=("file:out.txt exists", hidden))),
    }
    root = repository(tmp_path / "r", files)
    with github_with() as github:
        found = step(root, github)
        assert found.code == 0, found.said
        comments = "".join(one.body for one in github.comments(NUMBER))
    assert JOB_TOKEN not in comments + found.log + found.said + found.summary


def test_a_process_that_detaches_itself_ends_with_its_session(tmp_path):
    pid = tmp_path / "pid"
    stays = f"setsid sh -c 'echo $$ > {pid}; exec sleep 300' >/dev/null 2>&1 &"
    root, ran = run(tmp_path, f"{stays}\nwhile [ ! -s {pid} ]; do sleep 0.01; done; {PASSING}", "file:out.txt exists")
    assert (ran.code, result(root)["status"]) == (0, "passed"), ran.err
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


def test_text_of_an_agent_is_no_command_of_the_runner_the_terminal_or_markdown(tmp_path):
    says = r"printf '::error::evil\n##[error]x\n\033[31mred @octocat <img src=x>'; exit 3"
    root = repository(tmp_path / "r", {"skillgym.config.yaml": config(runner(says))})
    found = step(root, None, {"mode": "run", "report-dir": "out", "verbose": "true"}, event=("push", {}))
    lines = (found.log + found.said).splitlines()
    assert [line for line in lines if line.lstrip().startswith(("::error::evil", "##[error]"))] == []
    assert "\x1b[31mred" not in found.log + found.said
    assert not any(text in found.summary for text in ("@octocat", "<img"))
    assert "evil" in found.said + found.log
