"""Run directories and recordings that a commit brings along, with links at every name: none leads the tool outside."""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING

import pytest

from in_place import differing, state
from scratch import case, config, repository, runner, skillgym, suite, written

if TYPE_CHECKING:
    from pathlib import Path

CANARY = "canary-9d31-of-the-folder-outside"
SESSION = "core/one/sh/repeat-1"
WRITES = "echo ok; echo done >out.txt; mkdir -p d; echo more >d/more.txt"


@pytest.fixture
def outside(tmp_path):
    """Checked at the end: nothing in it was changed, and nothing of it is in the checkout."""
    files = {
        "canary.txt": CANARY,
        "workspace.json": json.dumps({"path": "workspace", "created": [CANARY]}),
        "report.json": json.dumps({"cwd": "/somewhere", "finalOutput": CANARY}),
        "explain.json": json.dumps({CANARY: CANARY}),
        "changes/canary.txt": CANARY,
        "a/b/c/.0123456789abcdef/canary.txt": CANARY,
        "log": CANARY,
        f"{SESSION}/explain.json": "{}",
    }
    folder = written(tmp_path / "outside", files)
    before = state(folder)
    yield folder
    assert differing(before, state(folder)) == {}
    found = [path for path in (tmp_path / "repo").rglob("*") if path.is_file() and not path.is_symlink()]
    assert [path for path in found if CANARY.encode() in path.read_bytes()] == []


def replaced(path: Path, target: Path) -> None:
    """A link in the place of whatever is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)


# --- a run that is resumed, or begun anew, in a directory that is there -----------------------------


def ran(tmp_path: Path, script: str = WRITES, expect: str = "file:out.txt exists") -> Path:
    """A checkout with a run directory."""
    files = {"skillgym.config.yaml": config(runner(script)), "bench/core.json": suite(case("one", (expect,)))}
    root = repository(tmp_path / "repo", files, git=True)
    skillgym("run", "--output", "out", "--keep", "all", cwd=root)
    assert (root / "out" / SESSION / "report.json").is_file()
    return root


@pytest.mark.parametrize("name", ["report.json", "workspace.json", "changes", "changes/d", "changes/out.txt", "."])
def test_what_is_recorded_of_a_resumed_run_is_its_own(outside, tmp_path, name):
    root = ran(tmp_path)
    leads = {"changes/d": "changes", "changes/out.txt": "canary.txt", ".": ""}.get(name, name)
    replaced(root / "out" / SESSION / name, outside / leads)
    done = skillgym("run", "--resume", "out", "--record", "recordings", cwd=root)
    assert CANARY not in done.out + done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    ("name", "again"),
    [
        ("workspaces", "--resume"),
        ("workspaces", "--output"),
        ("workspaces/core", "--resume"),
        ("core", "--resume"),
        (SESSION, "--output"),
        ("results.json", "--output"),
    ],
)
def test_what_an_earlier_run_left_is_removed_and_replaced_inside_alone(outside, tmp_path, name, again):
    root = ran(tmp_path, expect="file:nothing exists")
    leads = {"results.json": "canary.txt", "workspaces/core": "a"}.get(name, "")
    replaced(root / "out" / name, outside / leads)
    done = skillgym("run", again, "out", "--repeat", "2", "--keep", "all", cwd=root)
    assert done.code in {1, 3}, done.out + done.err
    assert CANARY not in done.out + done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize("name", ["results.json", "summary.md"])
def test_a_report_of_a_resumed_run_is_not_written_to_a_device_that_a_link_leads_to(outside, tmp_path, name):
    root = ran(tmp_path)
    replaced(root / "out" / name, tmp_path / "device")
    os.mkfifo(tmp_path / "device")
    reader = os.open(tmp_path / "device", os.O_RDONLY | os.O_NONBLOCK)
    try:
        done = skillgym("run", "--resume", "out", cwd=root)
        assert (done.code, f"{name} is a symbolic link" in done.err) == (3, True), done.out + done.err
        assert os.read(reader, 10) == b""
    finally:
        os.close(reader)


def test_logs_of_hooks_after_all_sessions_are_not_written_through_a_link(outside, tmp_path):
    wanted = {"type": "contains", "value": "ok"}
    hooks = {"after_all": {"command": ["echo", "done"]}}
    tests = [{"id": "one", "input": "p", "assertions": [wanted]}]
    told = {"name": "core", "tests": tests, "workspace": {"isolation": "shared", "hooks": hooks}}
    files = {
        "bench/core.json": None,
        "bench/EVAL.yaml": json.dumps(told),
        "skillgym.config.yaml": config(runner("echo ok")),
    }
    root = repository(tmp_path / "repo", files, git=True)
    assert skillgym("run", "--output", "out", cwd=root).code == 0
    (log,) = (root / "out").rglob("after_all.stdout.log")
    replaced(log.parent, outside)
    done = skillgym("run", "--resume", "out", "--repeat", "2", cwd=root)
    assert CANARY not in done.out + done.err
    assert done.code in {0, 3}, done.out + done.err


# --- recordings -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["core", "core/one/sh", SESSION])
def test_a_recording_is_not_put_where_a_link_leads(outside, tmp_path, name):
    root = ran(tmp_path)
    replaced(root / "recordings" / name, outside)
    done = skillgym("run", "--output", "out", "--record", "recordings", cwd=root)
    says = f"cannot write {root}/recordings/{SESSION}: "
    assert (done.code, says in done.err, "is a symbolic link" in done.err) == (3, True, True), done.out + done.err


# --- questions --------------------------------------------------------------------------------------

PYTHON = """\
from skillgym_action import Suite, expect
suite = Suite("core")
@suite.case("one", prompt="Greet.")
def one(report): expect.output.includes(report, "bye", explain={"question": "Why no bye?"})
"""
TELLS = """printf '{"type": "session", "sessionId": "s-1", "finalOutput": "hello"}'"""


@pytest.fixture
def asked(tmp_path):
    """A checkout with a run directory in which a session has a question."""
    files = {
        "skillgym.config.yaml": config(runner(TELLS, output="events")),
        "bench/core.json": None,
        "bench/core_suite.py": PYTHON,
    }
    root = repository(tmp_path / "repo", files, git=True)
    skillgym("run", "--output", "out", cwd=root)
    assert (root / "out" / SESSION / "explain.json").is_file()
    return root


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("explanation-1.stdout.log", "Too many levels of symbolic links"),
        ("explanation-1.stderr.log", "Too many levels of symbolic links"),
        ("explanations.json", "explanations.json is a symbolic link"),
    ],
)
def test_answers_and_their_logs_are_not_written_through_a_link(outside, asked, name, says):
    replaced(asked / "out" / SESSION / name, outside / "log")
    done = skillgym("explain", f"out/{SESSION}", "--rerun", cwd=asked)
    assert (done.code, says in done.out + done.err) == (3, True), done.out + done.err
    assert CANARY not in done.out + done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize("name", [f"{SESSION}/explain.json", SESSION, "."])
def test_questions_are_not_read_through_a_link(outside, asked, name):
    replaced(asked / "out" / name, outside / ("explain.json" if "json" in name else ""))
    done = skillgym("explain", f"out/{SESSION}", cwd=asked)
    assert (done.code, "is a symbolic link" in done.err) == (2, True), done.out + done.err
    assert CANARY not in done.out + done.err
