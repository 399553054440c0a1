"""The agent ``reference``: its player applies solutions and follows no link, whoever checked them before."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from scratch import environment, written
from sessions import capture_of, session_with
from skillgym_action.agents import reference
from skillgym_action.model.session import AgentConfig


@pytest.fixture
def scene(tmp_path):
    return written(tmp_path, {"workspace/old.txt": "old\n", "solutions/.keep": "", "outside/secret.md": "secret"})


def play(scene, name="one", **env):
    argv = (sys.executable, "-I", "-S", str(reference.PLAYER), str(scene / "solutions"), name, str(scene / "workspace"))
    return subprocess.run(argv, capture_output=True, text=True, check=False, env=environment(**env), timeout=60)


PATCH = "--- a/old.txt\n+++ b/old.txt\n@@ -1 +1 @@\n-old\n+new\n"


def test_the_invocation_leads_to_the_solution_of_the_case(scene):
    agent = AgentConfig(type="reference", sessions=str(scene / "solutions"))
    invocation = reference.invocation(session_with(agent=agent, workspace=scene / "workspace", case_id="one"))
    assert invocation.argv[-3:] == (str(scene / "solutions"), "one", str(scene / "workspace"))


def test_a_patch_is_applied_whatever_repository_is_around(scene):
    written(scene, {"solutions/one.patch": PATCH, "solutions/one.md": "I did it.\n"})
    subprocess.run(("git", "init", "--quiet", str(scene)), check=True, env=environment())
    done = play(scene, GIT_DIR=str(scene / ".git"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "I did it.", "")
    assert (scene / "workspace" / "old.txt").read_text() == "new\n"


def test_files_are_copied_with_their_permissions_and_replace_others(scene):
    written(scene, {"solutions/one/old.txt": "new", "solutions/one/a/b/run": "#!/bin/sh\n"})
    (scene / "solutions/one/a/b/run").chmod(0o755)
    assert play(scene).returncode == 0
    assert (scene / "workspace/old.txt").read_text() == "new"
    assert (scene / "workspace/a/b/run").stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize("name", ["one.patch", "one.md", "one/x", "one/deep/x"])
def test_a_link_to_a_file_is_not_read(scene, name):
    link = scene / "solutions" / name
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(scene / "outside" / "secret.md")
    done = play(scene)
    assert (done.returncode, "secret" in done.stdout) == (65, False)
    assert [path.name for path in (scene / "workspace").rglob("*") if path.is_file()] == ["old.txt"]


@pytest.mark.parametrize("name", ["one", "one/deep"])
def test_a_link_to_a_folder_is_not_entered(scene, name):
    link = scene / "solutions" / name
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(scene / "outside")
    assert play(scene).returncode == 65
    assert [path.name for path in (scene / "workspace").rglob("*")] == ["old.txt"]


@pytest.mark.parametrize("name", ["one/.git/hooks/post-checkout", "one/a/.GIT/config"])
def test_nothing_is_copied_into_a_git_folder(scene, name):
    written(scene, {f"solutions/{name}": "x"})
    assert play(scene).returncode == 65


def test_a_fifo_is_not_waited_for(scene):
    os.mkfifo(scene / "solutions" / "one.md")
    done = play(scene)
    assert (done.returncode, done.stderr) == (65, "one.md is not a regular file\n")


def test_what_the_player_prints_is_the_final_answer_and_costs_nothing():
    session = session_with(agent=AgentConfig(type="reference"))
    transcript = reference.transcript(capture_of("line one\nline two"), session)
    assert (transcript.final_output, transcript.cost.usd, transcript.usage.input_tokens) == ("line one\nline two", 0, 0)


def test_a_solution_that_cannot_be_applied_is_trouble():
    capture = capture_of("", stderr="error: patch failed: a:1\n", exit_code=1)
    trouble = reference.trouble(capture, reference.transcript(capture, session_with()))
    assert trouble.kind == "collection"
    assert trouble.message == "the reference solution could not be applied: error: patch failed: a:1"
