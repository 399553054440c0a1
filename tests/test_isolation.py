"""Positions from which a session is attacked: whoever stands there reaches nothing outside of the session. Needs root.

What must not be read, changed or published lies in a folder of root's and in the tool's environment.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import tempfile
import time
from pathlib import Path
from uuid import uuid4

import psutil
import pytest

from scratch import PASSING, case, config, repository, runner, skillgym, started, suite

IS_ROOT = os.geteuid() == 0
MARK = "canary-" + uuid4().hex


@pytest.fixture
def place():
    """A checkout that others can reach, beside a folder that only root can."""
    folder = Path(tempfile.mkdtemp(prefix="skillgym-isolation-"))
    folder.chmod(0o755)
    canary = folder / "root-only"
    canary.mkdir(mode=0o700)
    (canary / "secret.txt").write_text(MARK)
    (canary / "nested" / ".git").mkdir(parents=True)
    os.mkfifo(canary / "fifo")
    yield folder
    shutil.rmtree(folder)


def state(folder: Path) -> dict[str, tuple[object, ...]]:
    """Everything that can be seen of a folder."""
    found = {}
    for path in (folder, *sorted(folder.rglob("*"))):
        told = path.lstat()
        content = path.read_bytes() if stat.S_ISREG(told.st_mode) else None
        found[str(path)] = (told.st_mode, told.st_uid, told.st_gid, told.st_mtime_ns, told.st_ino, content)
    return found


def ran(place: Path, agent: str, *expect: str | dict[str, str], bootstrap: str | None = None, **more: object):
    """The only result of a red or green case, after it was seen that the canary was neither read nor changed."""
    canary = place / "root-only"
    workspace = {"workspace": {"bootstrap": bootstrap}} if bootstrap else {}
    files = {
        "skillgym.config.yaml": config(runner(agent.replace("CANARY", str(canary)), **more)),
        "bench/core.json": suite(case("one", expect), **workspace),
    }
    root = repository(place / "checkout", files, git=True)
    before = state(canary)
    options = ("run", "--agent-user", "nobody", "--keep", "all", "--output", "results")
    (place / "tmp").mkdir(mode=0o711)
    done = skillgym(*options, cwd=root, GITHUB_TOKEN=MARK, TMPDIR=str(place / "tmp"))
    if not IS_ROOT:
        assert (done.code, "only root" in done.err) == (2, True)
        return None
    assert state(canary) == before
    assert MARK not in done.out + done.err
    for path in (root / "results").rglob("*"):
        assert MARK not in path.name
        assert path.is_symlink() or not path.is_file() or MARK.encode() not in path.read_bytes()
    assert list((place / "tmp").iterdir()) == []
    (result,) = json.loads((root / "results" / "results.json").read_text())["suites"][0]["results"]
    return result


def expected(result: dict[str, object] | None, status: str, words: str = "") -> None:
    """The status, and words of its reason; nothing where nobody is root."""
    if result is not None:
        assert (result["status"], words in json.dumps(result)) == (status, True)


SWAPPED = "mv ../workspace ../w2 && ln -s /proc/self ../workspace"


def test_a_test_command_does_not_put_a_link_in_the_place_of_the_workspace(place):
    expect = ({"test": SWAPPED, "fails": True}, "no-file:environ")
    expected(ran(place, PASSING, *expect), "passed")


def test_an_agent_does_not_put_a_link_in_the_place_of_the_workspace(place):
    agent = f"cd ..; {SWAPPED.replace('../', '')} || echo refused >workspace/out.txt"
    expected(ran(place, agent, "file:out.txt exists", "no-file:environ"), "passed")


def test_a_file_is_not_read_through_a_link_out_of_the_workspace(place):
    agent = "ln -s /proc/self/environ e; ln -s CANARY/secret.txt s"
    expected(ran(place, agent, f"file:s contains '{MARK}'"), "failed")


def test_a_link_at_the_prompts_place_is_replaced_by_a_file(place):
    bootstrap = f"ln -s {place}/root-only/prompt.txt $TMPDIR/prompt.txt"
    agent = "cat {prompt_file} >out.txt; test -L {prompt_file} || echo file >>out.txt"
    expected(ran(place, agent, "file:out.txt contains 'file'", bootstrap=bootstrap), "passed")


def test_a_link_in_the_place_of_the_historys_exclude_is_not_followed(place):
    bootstrap = f"mkdir -p .claude/skills/x .git/info; ln -sf {place}/root-only/secret.txt .git/info/exclude"
    expected(ran(place, PASSING, "file:out.txt exists", bootstrap=bootstrap), "passed")


def test_a_daemon_of_a_bootstrap_is_dead_before_the_agent(place):
    bootstrap = "(env -i setsid setsid sleep 4711.25 &) ; sleep 0.1"
    agent = "pgrep -f 'sleep 4711[.]25' >pids.txt; echo x >out.txt"
    expected(ran(place, agent, "file:out.txt exists", {"test": "test ! -s pids.txt"}, bootstrap=bootstrap), "passed")


def test_a_daemon_of_an_agent_is_dead_before_the_test_command(place):
    agent = f"{PASSING}; (env -i setsid setsid sleep 4711.75 &) ; (sg root 'sleep 4711.75' &) ; sleep 0.1"
    expected(ran(place, agent, {"test": "! pgrep -f 'sleep 4711[.]75'"}), "passed")


def test_what_a_test_command_leaves_running_changes_nothing_afterwards(place):
    later = "(setsid sh -c 'sleep 0.4; echo x >late.txt' &) ; true"
    expected(ran(place, PASSING, {"test": later}, {"test": "sleep 0.8"}, "no-file:late.txt"), "passed")


def test_a_test_command_of_the_agent_does_not_reach_a_foreign_folder(place):
    agent = "printf 'all:\\n\\trm -rf CANARY; cd ..; rm -rf workspace; ln -s CANARY workspace\\n' >Makefile"
    expected(ran(place, agent, {"test": "make -f Makefile all; true"}), "passed")


@pytest.fixture
def mark():
    """A name in folders that all users share; there is nothing of that name in the end."""
    name = uuid4().hex
    yield name
    for folder in ("/tmp", "/var/tmp"):
        shutil.rmtree(Path(folder, name), ignore_errors=True)
    for folder in ("/tmp", "/dev/shm"):
        Path(folder, name).unlink(missing_ok=True)


def test_files_elsewhere_are_gone_and_the_user_is_not_used_again(place, mark):
    agent = f"id -u >out.txt; mkdir /tmp/{mark} /var/tmp/{mark}; echo x >/dev/shm/{mark}; chmod 755 $HOME"
    expected(ran(place, agent, "file:out.txt exists"), "passed")
    assert [path for path in ("/tmp", "/var/tmp", "/dev/shm") if Path(path, mark).exists()] == []


@pytest.mark.parametrize(
    ("leaves", "same"),
    [
        pytest.param("true", True, id="nothing"),
        pytest.param("touch $HOME/x; rm $HOME/x", False, id="home"),
        pytest.param("touch $TMPDIR/x; rm $TMPDIR/x", False, id="temporary folder"),
        pytest.param(": >/tmp/MARK", False, id="elsewhere"),
    ],
)
def test_the_next_session_has_neither_the_user_nor_the_home_of_one_that_left_something(place, mark, leaves, same):
    leaves = leaves.replace("MARK", mark)
    agent = f"if [ {{case_id}} = one ]; then {leaves}; fi; id -u >out.txt; echo $HOME >>out.txt"
    files = {"skillgym.config.yaml": config(runner(agent)), "bench/core.json": suite(case("one"), case("two"))}
    root = repository(place / "checkout", files, git=True)
    done = skillgym("run", "--agent-user", "nobody", "--jobs", "1", "--output", "results", cwd=root)
    if IS_ROOT:
        assert done.code == 0, done.err
        told = [path.read_text().split() for path in (root / "results").rglob("changes/out.txt")]
        assert [first == second for first, second in zip(*told, strict=True)] == [same, same]
    else:
        assert (done.code, "only root" in done.err) == (2, True)


def test_links_of_an_archived_workspace_lead_nowhere(place):
    agent = "ln -s loop loop; ln -s . here; ln -s CANARY out; mkdir d; echo x >d/f; ln -s d/f inside; ln -s d folder"
    expected(ran(place, agent, "file:nothing exists"), "failed")
    if IS_ROOT:
        kept = place / "checkout" / "results" / "workspaces" / "core" / "one" / "sh" / "repeat-1"
        assert [path.name for path in kept.iterdir() if path.is_symlink()] == ["inside"]
        assert (kept / "loop").read_text() == "a symbolic link to loop\n"
        assert sum(1 for _ in os.walk(kept, followlinks=True)) < 100


def test_whatever_depth_and_modes_a_session_leaves_it_is_removed(place):
    deep = "import os\\nfor _ in range(3000): os.mkdir('d'); os.chdir('d')"
    agent = f'printf "{deep}" | python3; mkdir closed; touch closed/file; chmod 000 closed; echo x >out.txt'
    expected(ran(place, agent, "file:out.txt exists"), "passed")


def test_a_file_over_the_limit_is_refused(place):
    agent = "echo x | dd of=large bs=1 seek=9G 2>err.txt; echo x >out.txt; test -s large || echo small >>out.txt"
    expected(ran(place, agent, "file:out.txt contains 'small'"), "passed")


def test_a_supervisor_that_is_killed_makes_the_session_errored_and_nothing_is_left(tmp_path):
    """Where sessions run as the caller, they can kill the process that looks after them."""
    mark = f"4712.{os.getpid()}"
    agent = f"(setsid sleep {mark} &) ; kill -9 $PPID; sleep {mark}"
    root = repository(tmp_path, {"skillgym.config.yaml": config(runner(agent))})
    done = skillgym("run", "--output", "results", cwd=root)
    (result,) = json.loads((root / "results" / "results.json").read_text())["suites"][0]["results"]
    assert (done.code, result["status"], result["failureClass"]["id"]) == (3, "errored", "workspace")
    assert sleeping(mark) == []


@pytest.mark.parametrize(
    "user", [pytest.param((), id="as caller"), pytest.param(("--agent-user", "nobody"), id="root")]
)
def test_nothing_is_left_two_seconds_after_the_tool_was_killed(place, user):
    if user and not IS_ROOT:
        return
    mark = f"4713.{os.getpid()}{len(user)}"
    agent = f"(env -i setsid sleep {mark} &) ; sleep {mark}"
    root = repository(place / "checkout", {"skillgym.config.yaml": config(runner(agent))}, git=True)
    with started("run", *user, "--output", "results", cwd=root) as tool:
        assert until(lambda: len(sleeping(mark)) >= 2)
        tool.kill()
        killed = time.monotonic()
        assert until(lambda: not sleeping(mark), 5)
        assert time.monotonic() - killed < 2


def sleeping(mark: str) -> list[int]:
    """Processes that sleep for so long."""
    found = []
    for process in psutil.process_iter():
        try:
            if mark in process.cmdline() and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
        except psutil.Error:
            continue
    return found


def until(holds, limit: float = 20.0) -> bool:
    """Whether it comes to hold within so many seconds."""
    ends = time.monotonic() + limit
    while not holds():
        if time.monotonic() > ends:
            return False
        time.sleep(0.05)
    return True
