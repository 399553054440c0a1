"""Agents under a user of their own: what they do works, and what is not theirs they do not reach. Needs root."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from pathlib import Path

import pytest

from scratch import case, config, repository, runner, skillgym, suite
from skillgym_action.effects.agent_user import agent_user, closed_to_others
from skillgym_action.errors import UsageError

NOBODY = "nobody"
IS_ROOT = os.geteuid() == 0


@pytest.fixture
def checkout():
    """A place that others can reach, as a runner's workspace is; pytest's own folders are not."""
    folder = Path(tempfile.mkdtemp(prefix="skillgym-checkout-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def run(root: Path):
    """As nobody; who is not root is told that this needs root."""
    ran = skillgym("run", "--agent-user", NOBODY, "--output", "results", cwd=root)
    if not IS_ROOT:
        assert (ran.code, "only root" in ran.err) == (2, True)
    return ran


def test_an_agent_works_in_its_workspace_as_somebody_else(checkout):
    works = "id -u >out.txt; mkdir new; touch new/file; echo hi >>README.md; ls >$HOME/x; ls >$TMPDIR/y"
    expect = (
        "file:new/file exists",
        "diff:README.md",
        "test:test -w . && test $(id -u) = $(cat out.txt) && test $(id -u) != 0",
    )
    files = {
        "skillgym.config.yaml": config(runner(works)),
        "bench/core.json": suite(case(expect=expect)),
        "README.md": "hello\n",
    }
    ran = run(repository(checkout, files, git=True))
    assert not IS_ROOT or ran.code == 0, ran.err


@pytest.mark.parametrize(
    "attempt",
    [
        pytest.param("cat {root}/results/journal.jsonl", id="the results of others"),
        pytest.param("ls {root}/results", id="the names of the results"),
        pytest.param("cat {root}/.git/config", id="credentials of the checkout"),
        pytest.param("cat /proc/$PPID/environ", id="our environment"),
        pytest.param("kill -9 $PPID", id="our life"),
        pytest.param("echo x >{root}/bench/core.json", id="the suite"),
        pytest.param("ls $(dirname $(dirname $PWD))", id="the workspaces of others"),
    ],
)
def test_an_agent_does_not_reach_what_is_not_its_own(checkout, attempt):
    script = f"if {attempt.format(root=checkout)}; then echo reached >out.txt; else echo refused >out.txt; fi"
    files = {
        "skillgym.config.yaml": config(runner(script)),
        "bench/core.json": suite(case(expect=("file:out.txt contains 'refused'",))),
    }
    ran = run(repository(checkout, files, git=True))
    assert not IS_ROOT or ran.code == 0, ran.err


def test_what_was_closed_is_as_it_was_afterwards(tmp_path):
    (tmp_path / "folder").mkdir(mode=0o755)
    with closed_to_others([tmp_path / "folder", tmp_path / "nothing"]):
        assert stat.S_IMODE((tmp_path / "folder").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "folder").stat().st_mode) == 0o755


@pytest.mark.parametrize(
    ("name", "words"), [("nobody-of-that-name", "there is no user"), ("root", "root may do everything")]
)
def test_a_user_that_will_not_do_is_refused(name, words):
    with pytest.raises(UsageError, match=words):
        agent_user(name)
