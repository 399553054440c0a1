"""Names that sessions, commits and users' folders put in the tool's way: whole runs beside a canary.

Tests that need root run as whoever is there, and then see that it is told.
"""

from __future__ import annotations

import os
import pwd
import shutil
import stat
import tempfile
from pathlib import Path

import pytest

from scratch import case, config, git_in, repository, runner, skillgym, suite, written

NOBODY = "nobody"
IS_ROOT = os.geteuid() == 0
AS_NOBODY = ("--agent-user", NOBODY)
CANARY = "canary"
LARGE = 65 * 1024**2


@pytest.fixture
def place():
    """A place that others can reach, and a folder beside it that only we can use."""
    folder = Path(tempfile.mkdtemp(prefix="skillgym-foreign-"))
    folder.chmod(0o755)
    (folder / "ours").mkdir(mode=0o700)
    yield folder
    shutil.rmtree(folder)


def given_to_nobody(folder: Path) -> Path:
    """The same folder, which then belongs to the user that agents in it run as."""
    if IS_ROOT:
        uid = pwd.getpwnam(NOBODY).pw_uid
        for path in (folder, *folder.rglob("*")):
            os.chown(path, uid, -1, follow_symlinks=False)
    return folder


# --- the run directory, in a checkout that belongs to the agents' user --------------------------------

SWAP = """
echo "owned by the agent"
[ -e .moved ] && exit
echo done >out.txt
mv results .moved
mkdir -p elsewhere/core/one/sh/repeat-1 elsewhere/core/two/sh/repeat-1
ln -s {canary} elsewhere/core/two/sh/repeat-1/stdout.log
ln -s elsewhere results
"""


def test_what_takes_the_place_of_the_run_directory_is_not_written_to(place):
    canary = written(place / "ours", {CANARY: "ours\n"}) / CANARY
    files = {
        "skillgym.config.yaml": config(runner("sh agent.sh"), run={"cwd": "."}),
        "agent.sh": SWAP.format(canary=canary),
        "bench/core.json": suite(case("one"), case("two")),
    }
    root = given_to_nobody(repository(place / "repo", files, git=True))
    ran = skillgym("run", *(AS_NOBODY if IS_ROOT else ()), "--output", "results", cwd=root)
    assert ran.code == 3, ran.out + ran.err
    assert "results is a symbolic link" in ran.err
    if IS_ROOT:
        assert canary.read_text() == "ours\n"
        assert [path for path in (root / "elsewhere").rglob("*") if path.lstat().st_uid == 0] == []
        assert (root / ".moved/core/two/sh/repeat-1/stdout.log").read_text() == "owned by the agent\n"


RENAMES = """
cd {tmp} && for folder in skillgym-*; do [ -e "$folder" ] && mv "$folder" moved && ln -s {ours} "$folder"; done
cd - >/dev/null; echo done >out.txt
"""


def test_a_temporary_folder_of_the_agents_user_holds_no_folder_of_the_tool(place):
    tmp = place / "tmp"
    tmp.mkdir()
    files = {
        "skillgym.config.yaml": config(runner("sh agent.sh"), run={"cwd": "."}),
        "agent.sh": RENAMES.format(tmp=tmp, ours=place / "ours"),
        "bench/core.json": suite(case("one"), case("two")),
    }
    given_to_nobody(tmp)
    root = given_to_nobody(repository(place / "repo", files, git=True))
    options = AS_NOBODY if IS_ROOT else ()
    ran = skillgym("run", *options, "--output", str(place / "results"), cwd=root, TMPDIR=str(tmp))
    if IS_ROOT:
        assert ran.code == 0, ran.err
        assert sorted(tmp.iterdir()) == []
    assert sorted((place / "ours").iterdir()) == []


LEADS_OUT = "[ -d template ] && mv template moved && ln -s {ours} template; cat inner.txt; echo done >out.txt"
AGENTV = "workspace: {path: .}\ntests: [{id: a, input: x, assertions: [{type: contains, value: x}]}]\n"


def test_a_template_that_an_earlier_session_replaced_is_not_copied(place):
    written(place / "ours", {"inner/inner.txt": f"{CANARY}-content\n"})
    files = {
        "skillgym.config.yaml": config(runner(LEADS_OUT.format(ours=place / "ours"))),
        "a.eval.yaml": AGENTV,
        "template/inner/inner.txt": "x\n",
        "bench/core.json": suite(workspace={"templateDir": "../template/inner"}),
    }
    root = given_to_nobody(repository(place / "repo", files, git=True))
    options = (*(AS_NOBODY if IS_ROOT else ()), "--schedule", "serial", "--output", str(place / "results"))
    ran = skillgym("run", *options, cwd=root)
    assert "template is a symbolic link" in ran.err, ran.err
    kept = {path.name: path.read_text() for path in (place / "results").rglob("*") if path.is_file()}
    assert "results.json" in kept
    assert not any(f"{CANARY}-content" in text for text in kept.values())


# --- a program that is asked for its version ----------------------------------------------------------

LYING = """#!/bin/sh
rm -f stdout.log ../*/stdout.log
ln -s {canary} stdout.log
echo 1.2.3
sleep 1.5
"""


def test_a_program_that_is_asked_for_its_version_puts_no_link_in_the_way_of_its_log(place):
    canary = place / "ours" / CANARY
    with canary.open("wb") as file:
        file.truncate(LARGE)
    agents = config(named={"agent": {"type": "claude-code", "command": "./agent.sh"}})
    root = written(place / "repo", {"skillgym.config.yaml": agents, "agent.sh": LYING.format(canary=canary)})
    (root / "agent.sh").chmod(0o755)
    ran = skillgym("doctor", *(AS_NOBODY if IS_ROOT else ()), cwd=root)
    assert canary.stat().st_size == LARGE
    assert "claude-code 1.2.3" in ran.out


# --- git, and programs that are found by a relative path ----------------------------------------------

SEEN = '#!/bin/sh\ntouch {canary}\nexec {git} "$@"\n'


def test_no_program_that_the_repository_names_in_its_configuration_is_started(place):
    canary = place / "ours" / CANARY
    root = repository(place / "repo", git=True)
    program = written(place, {"monitor": SEEN.format(canary=canary, git="true")}) / "monitor"
    program.chmod(0o755)
    git_in(root, "config", "core.fsmonitor", str(program))
    ran = skillgym("run", "--output", str(place / "results"), cwd=root)
    assert ran.code == 0, ran.err
    assert not canary.exists()


@pytest.mark.parametrize("path", [":{path}", "bin:{path}"])
def test_no_program_is_found_in_the_checkout_by_a_relative_search_path(place, path):
    canary = place / "ours" / CANARY
    git = SEEN.format(canary=canary, git=shutil.which("git"))
    root = repository(place / "repo", {"git": git, "bin/git": git}, git=True)
    for program in ("git", "bin/git"):
        (root / program).chmod(0o755)
    ran = skillgym("run", "--output", str(place / "results"), cwd=root, PATH=path.format(path=os.environ["PATH"]))
    assert ran.code == 0, ran.err
    assert not canary.exists()


# --- what is removed and what is written over ---------------------------------------------------------

MOUNTED = "mkdir inside && mount --bind {ours} inside; mount --bind {ours} $PWD; echo done >out.txt"


def test_what_an_agent_mounted_in_its_workspace_is_not_emptied(place):
    """Only root can mount; others' agents fail to, and have nothing to lose."""
    canary = written(place / "ours", {CANARY: "ours\n"}) / CANARY
    agents = config(runner(MOUNTED.format(ours=place / "ours")))
    files = {"skillgym.config.yaml": agents, "bench/core.json": suite(case("one"), case("two", ("file:no exists",)))}
    root = repository(place / "repo", files)
    skillgym("run", "--output", "results", cwd=root, TMPDIR=str(place))
    assert canary.read_text() == "ours\n"
    assert str(place) not in Path("/proc/mounts").read_text()


OF_THE_USER = ("results.json", "core/one/sh/mine.txt")


@pytest.mark.parametrize("name", OF_THE_USER)
def test_a_folder_with_files_of_the_users_is_not_taken_for_a_run_directory(tmp_path, name):
    files = {"skillgym.config.yaml": config(runner("exit 1")), f"out/{name}": "mine\n"}
    root = repository(tmp_path, files)
    for _ in range(2):
        ran = skillgym("run", "--output", "out", cwd=root)
        assert (ran.code, "choose another folder" in ran.err) == (2, True), ran.out + ran.err
        assert (root / "out" / name).read_text() == "mine\n"


def test_a_folder_with_other_files_and_the_one_of_an_earlier_run_are_taken(tmp_path):
    root = repository(tmp_path, {"out/coverage.xml": "mine\n"})
    for _ in range(2):
        ran = skillgym("run", "--output", "out", cwd=root)
        assert ran.code == 0, ran.err
        assert (root / "out/coverage.xml").read_text() == "mine\n"


def test_a_run_directory_that_an_agent_removes_is_told_as_what_cannot_be_written(tmp_path):
    root = repository(tmp_path, {"skillgym.config.yaml": config(runner(f"rm -rf {tmp_path}/results"))})
    ran = skillgym("run", "--output", "results", cwd=root)
    assert (ran.code, "bug" in ran.err) == (3, False), ran.err
    assert "cannot write" in ran.err


# --- modes in a directory of the user's ---------------------------------------------------------------

CLOSING = "echo more >>inner/deep/file; chmod 0555 inner/deep; chmod 0577 inner; touch closed; chmod 0 closed"


def test_what_an_agent_closed_in_the_users_directory_stays_closed(place):
    agents = config(runner(CLOSING), run={"cwd": "."})
    root = repository(place / "repo", {"skillgym.config.yaml": agents, "inner/deep/file": "x\n"}, git=True)
    ran = skillgym("run", "--output", str(place / "ours" / "results"), cwd=root)
    assert ran.code == 1, ran.err
    modes = {name: stat.S_IMODE((root / name).stat().st_mode) for name in ("inner", "inner/deep", "closed")}
    (root / "inner").chmod(0o755)
    (root / "inner/deep").chmod(0o755)
    assert modes == {"inner": 0o577, "inner/deep": 0o555, "closed": 0}


# --- suites that must not vanish ----------------------------------------------------------------------
