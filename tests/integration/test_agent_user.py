"""Agents under a user of their own: what they do works, and what is closed to them meanwhile. Needs root.

What they do not reach is tried in ``test_positions``.
"""

from __future__ import annotations

import json
import os
import pwd
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import everybody
from attempts import IN_ACTION
from composite_step import in_container, on_machine
from scratch import HUNG, case, config, environment, repository, runner, skillgym, started, suite, written
from scratch import PROGRAM as PROGRAM_PATH
from skillgym_action.model.errors import UsageError
from skillgym_action.model.session import Identity, Invocation
from skillgym_action.suites.programs.hosts.suite_host import PACKAGE
from skillgym_action.system.cancellation import Cancellation
from skillgym_action.system.processes.launcher import ProcessLauncher
from skillgym_action.system.processes.users import SESSION_UIDS, UserIds, agent_user
from skillgym_action.workspaces.closed_paths import closed_but_to
from skillgym_action.workspaces.look import Look
from skillgym_action.workspaces.session_folder import SessionFolder
from waiting import until

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


def test_a_repository_that_one_session_fetched_is_cloned_by_others_and_changed_by_none(checkout):
    origin = checkout / "origin"
    repository(origin, {"version.txt": "one\n"}, git=True)
    found = "find / -name fetched.bundle -writable -not -path '/proc/*' 2>/dev/null"
    command = f"cat code/version.txt > {{OUTPUT_FILE}}; id -u >> {{OUTPUT_FILE}}; {found} >> {{OUTPUT_FILE}}; true"
    repos = [{"repo": f"file://{origin}", "path": "./code"}]
    assertions = [{"type": "regex", "value": "^one\\n[0-9]{2,}\\n?$"}]
    tests = [{"id": name, "input": "x", "assertions": assertions} for name in "abc"]
    files = {
        "bench/core.json": None,
        "bench/EVAL.yaml": json.dumps({"tests": tests, "workspace": {"repos": repos}}),
        "targets.yaml": json.dumps({"targets": [{"name": "default", "provider": "cli", "command": command}]}),
    }
    ran = run(repository(checkout / "here", files, git=True))
    if IS_ROOT:
        assert ran.code == 0, ran.out + ran.err
        assert len([*(checkout / "here/results").rglob("fetch.stdout.log")]) == 1


ONE_AT_A_TIME = "mkdir lock || exit 1; sleep 0.05; rmdir lock; id -u >>users.txt"


def test_sessions_in_a_directory_of_the_users_are_one_user_and_wait_for_each_other(checkout):
    place = checkout / "repo/place"
    agents = config(runner(ONE_AT_A_TIME), runner(ONE_AT_A_TIME), run={"cwd": "place", "schedule": "parallel"})
    cases = [case(str(number), expect=("file:users.txt exists",)) for number in range(3)]
    files = {"skillgym.config.yaml": agents, "bench/core.json": suite(*cases), "place/a.txt": "a"}
    root = repository(checkout / "repo", files, git=True)
    place.chmod(0o777)
    ran = run(root)
    if IS_ROOT:
        assert ran.code == 0, ran.out + ran.err
        assert (place / "users.txt").read_text() == f"{pwd.getpwnam(NOBODY).pw_uid}\n" * 6


@pytest.fixture
def member_of_groups():
    """This process is a member of groups, as root is on many machines."""
    before = os.getgroups()
    if IS_ROOT:
        os.setgroups([4, 27])
    yield
    if IS_ROOT:
        os.setgroups(before)


@pytest.mark.usefixtures("member_of_groups")
def test_an_agent_is_in_no_group_but_its_own(checkout):
    files = {
        "skillgym.config.yaml": config(runner("id -u >out.txt; id -rg >>out.txt; id -g >>out.txt; id -G >>out.txt"))
    }
    ran = run(repository(checkout, files))
    if IS_ROOT:
        assert ran.code == 0, ran.err
        (told,) = (checkout / "results").rglob("changes/out.txt")
        own, *groups = told.read_text().splitlines()
        assert groups == [own] * 3


OF_THE_OPERATOR = (
    *(".netrc", ".npmrc", ".pypirc", ".gitconfig", ".git-credentials", ".vault-token", ".claude.json"),
    *(".aws/config", ".azure/config", ".docker/config.json", ".gnupg/key", ".kube/config", ".ssh/id_rsa"),
    *(".config/gh/hosts.yml", ".config/gcloud/config", ".config/git/config", ".claude/.credentials.json"),
    *(".codex/auth.json", ".gemini/oauth_creds.json", ".local/share/opencode/auth.json"),
)


def test_agents_read_nothing_that_programs_keep_of_the_operator(checkout):
    home = written(checkout.with_name(f"{checkout.name}-home"), dict.fromkeys(OF_THE_OPERATOR, "secret"))
    try:
        for path in (home, *home.rglob("*")):
            path.chmod(0o755)
        look = f"cd {home}; cat {' '.join(OF_THE_OPERATOR)} 2>/dev/null | wc -c >$HOME/../workspace/out.txt"
        files = {"skillgym.config.yaml": config(runner(look))}
        options = ("--agent-user", NOBODY) if IS_ROOT else ()
        ran = skillgym("run", "--output", "results", *options, cwd=repository(checkout, files), HOME=str(home))
        assert ran.code == 0, ran.err
        (told,) = (checkout / "results").rglob("changes/out.txt")
        assert told.read_text().strip() == ("0" if IS_ROOT else str(len("secret") * len(OF_THE_OPERATOR)))
        assert {path.stat().st_mode & 0o777 for path in home.rglob("*")} == {0o755}, "it is as it was"
    finally:
        shutil.rmtree(home)


@pytest.mark.parametrize("runners", [on_machine, in_container])
def test_agents_read_nothing_that_githubs_runner_keeps_for_the_job(checkout, runners):
    """What sessions start stays open: a program in the runner's temporary folder."""
    job = runners(checkout / "runner")
    files = [job.payload, job.commands / "set_output", job.temp / IN_ACTION["credentials"], job.home / "of-a-step"]
    written(job.temp, {"tools/bin/tool": f"#!/bin/sh\ncat {' '.join(map(str, files))} >out.txt; true\n"})
    (job.temp / "tools/bin/tool").chmod(0o755)
    for number, file in enumerate(files):
        file.write_text(json.dumps([number]))
    before = {path: path.stat()[:6] for path in (checkout / "runner").rglob("*")}
    env = {**job.variables, "GITHUB_ACTIONS": "true", "PATH": f"{job.temp}/tools/bin{os.pathsep}{os.environ['PATH']}"}
    if runners is in_container:
        env["HOME"] = str(job.home)
    options = ("--agent-user", NOBODY) if IS_ROOT else ()
    root = repository(checkout / "checkout", {"skillgym.config.yaml": config(runner("tool"))})
    ran = skillgym("run", "--output", "results", *options, cwd=root, **env)
    assert ran.code == 0, ran.err
    (told,) = (root / "results").rglob("changes/out.txt")
    assert told.read_text() == ("" if IS_ROOT else "[0][1][2][3]")
    assert {path: path.stat()[:6] for path in before} == before, "it is as it was"


LOOKS = """\
where={checkout}
: >$HOME/../workspace/out.txt
for path in README.md bench/near.py bench/core.json results/journal.jsonl; do
  if test -r $where/$path; then echo $path >>$HOME/../workspace/out.txt; fi
done
"""


@pytest.mark.parametrize(
    ("program", "open_to_it"),
    [
        pytest.param(None, [], id="the checkout, where no agent needs anything of it"),
        pytest.param("tools/agent.sh", ["README.md"], id="the suite's folder, where the agent's program is beside"),
        pytest.param("bench/agent.sh", ["README.md", "bench/near.py"], id="the suite file, where it is in that folder"),
    ],
)
def test_while_agents_run_this_is_closed_to_them(checkout, program, open_to_it):
    looks = LOOKS.format(checkout=checkout)
    command = ["sh", "-c", looks] if program is None else ["sh", f"./{program}"]
    files = {
        "skillgym.config.yaml": json.dumps({"runners": {"sh": {"agent": {"type": "command", "command": command}}}}),
        "bench/core.json": suite(case(expect=("file:out.txt exists",))),
        "bench/near.py": "",
        "README.md": "",
        program or "unused": looks,
    }
    modes = {path: path.stat() for path in repository(checkout, files, git=True).rglob("*")}
    ran = run(checkout)
    assert {path: path.stat() for path in modes if path.stat()[:6] != modes[path][:6]} == {}
    if IS_ROOT:
        assert ran.code == 0, ran.err
        assert ("agents can read the checkout, but not the suites" in ran.err) == bool(open_to_it)
        saw = checkout / "results" / "core" / "one" / "sh" / "repeat-1" / "changes" / "out.txt"
        assert saw.read_text().split() == open_to_it


PROGRAM = (
    "import { wanted } from './rules.mjs';\n"
    "import 'skillgym';\n"
    "export default [{ id: 'two', prompt: 'x', assert() { if (!wanted) throw new Error('not the base'); } }];\n"
)
LOOKS_AT_BOTH = """\
where={checkout}
for path in README.md bench bench/core.json bench/rules.mjs base/README.md base/bench base/bench/core.json base/.git; do
  if ls $where/$path >/dev/null 2>&1; then echo $path; fi
done
"""


@pytest.mark.parametrize(
    ("run_section", "open_to_it"),
    [
        pytest.param(
            {"workspace": {"mode": "isolated"}},
            [],
            id="the checkout and the base in it, where no agent needs anything of them",
        ),
        pytest.param({"workspace": {"mode": "none", "cwd": "work"}}, ["README.md"], id="suites and the base"),
    ],
)
def test_suites_of_another_folder_are_closed_in_both(checkout, run_section, open_to_it):
    files = {
        "skillgym.config.yaml": config(runner(LOOKS_AT_BOTH.format(checkout=checkout), output="text"), run=run_section),
        "bench/core.json": suite(case(expect=("no-file:nothing",))),
        "bench/own_suite.mjs": PROGRAM,
        "bench/rules.mjs": "export const wanted = true;\n",
        "README.md": "",
        "work/x": "",
    }
    repository(checkout, files, git=True)
    shutil.copytree(checkout, checkout.with_name(f"{checkout.name}-base"))
    shutil.move(checkout.with_name(f"{checkout.name}-base"), checkout / "base")
    written(checkout, {"bench/rules.mjs": "export const wanted = false;\n"})
    modes = {path: path.stat() for path in checkout.rglob("*")}
    arguments = ("run", "--agent-user", NOBODY, "--suites-from", "base", "--output", "results")
    ran = everybody.ran(*arguments, cwd=checkout)
    if not IS_ROOT:
        assert (ran.code, "only root" in ran.err) == (2, True)
        return
    assert ran.code == 0, ran.err
    assert {path: path.stat() for path in modes if path.stat()[:6] != modes[path][:6]} == {}
    told = json.loads((checkout / "results/results.json").read_text())["suites"]
    assert {result["finalOutput"] for one in told for result in one["results"]} == {"\n".join(open_to_it)}


@pytest.fixture
def processes():
    cancelled = Cancellation()
    with ProcessLauncher(
        environment=dict(os.environ), cancelled=cancelled, user=agent_user(NOBODY) if IS_ROOT else None
    ) as door:
        yield door
    cancelled.close()


def test_programs_of_suites_reach_suites_and_every_session_but_no_session_reaches_them(checkout, processes):
    if not IS_ROOT:
        run(repository(checkout))
        return
    user = processes.user
    first, second = (
        SessionFolder(checkout / name, processes.supervisor, user, user.session_identity(), Look(processes.cancelled))
        for name in ("first", "second")
    )
    for folder in (first, second):
        folder.make("workspace")
        folder.make("home")
    (checkout / "suites").mkdir()

    def reaches(identity: Identity) -> list[str]:
        paths = ("suites", "first/workspace", "first/home", "second/workspace", "second/home")
        script = f"cd {checkout}; for path in {' '.join(paths)}; do ls $path && echo $path; done"
        invocation = Invocation(argv=("sh", "-c", script), cwd=Path("/"), timeout=HUNG, identity=identity)
        return list(processes.run(invocation, stdout=checkout / "out", stderr=checkout / "err").stdout.lines())

    own = ["first/workspace", "first/home"]
    with closed_but_to(user.readers, [checkout / "suites"], checkout):
        assert reaches(user.host_identity()) == ["suites", "first/workspace", "second/workspace"]
        assert reaches(user.suite_identity(first.identity)) == ["suites", *own]
        assert reaches(first.identity) == own
        assert reaches(second.identity) == ["second/workspace", "second/home"]
        assert reaches(user.in_place) == []
    assert reaches(user.in_place) == ["suites"]
    for folder in (first, second):
        assert folder.discard("workspace", "home")
        folder.close()
        assert not folder.path.exists()


OWN_SUITE = """
import os
from skillgym_action import Suite
suite = Suite()
@suite.case("one", prompt="p")
def one(report, context): assert os.getuid() not in {0, int(open(f"{report.cwd}/out.txt").read())}, os.getuid()
"""


def test_a_suite_program_is_neither_root_nor_the_session_that_it_judges(checkout):
    agent = config(runner("id -u >out.txt"))
    files = {"bench/core.json": None, "own_suite.py": OWN_SUITE, "skillgym.config.yaml": agent}
    ran = everybody.ran("run", "--agent-user", NOBODY, cwd=repository(checkout, files))
    assert (ran.code, "only root" in ran.err) == ((0, False) if IS_ROOT else (2, True)), ran.err


def test_what_only_the_agents_user_may_enter_is_closed_to_programs_of_suites(checkout, processes):
    if not IS_ROOT:
        run(repository(checkout))
        return
    folder = checkout / "home"
    folder.mkdir(mode=0o700)
    (folder / "node").write_text("")
    (folder / "node").chmod(0o755)
    os.chown(folder, processes.user.uid, processes.user.gid)
    assert processes.is_closed_to_agents(folder / "node", "x")
    folder.chmod(0o711)
    assert not processes.is_closed_to_agents(folder / "node", "x")
    assert not processes.is_closed_to_agents("node", "x")
    assert not processes.is_closed_to_agents(folder / "missing", "r")


def test_doctor_works_where_root_cannot_become_another_user(checkout):
    if not IS_ROOT:
        run(repository(checkout))
        return
    repository(checkout)
    argv = ["setpriv", "--bounding-set=-setuid,-setgid", PROGRAM_PATH, "doctor", "--agent-user", NOBODY]
    done = subprocess.run(argv, cwd=checkout, env=environment(), capture_output=True, text=True, check=False)
    assert "agents           run as the user nobody" in done.stdout, done.stderr
    assert "internal error" not in done.stderr


CLOSED = {  # what agents cannot access: the suite that then does not run, and what the tool says
    "Python": ("own_suite.py", "cannot execute {closed}/program"),
    "Node.js": ("own_suite.mjs", "the agents' user cannot execute SKILLGYM_NODE={closed}/program; install one where"),
    "package, for Python": ("own_suite.py", "cannot read {closed}/skillgym_action"),
    "package, for Node.js": ("own_suite.mjs", "cannot read {closed}/skillgym_action"),
}


@pytest.mark.parametrize("what", CLOSED)
def test_an_interpreter_or_a_package_that_agents_cannot_access_is_named(checkout, what):
    file, message = CLOSED[what]
    closed = checkout / "closed"
    closed.mkdir(mode=0o700)
    settings = {}
    if what == "Python":
        (closed / "program").symlink_to(everybody.python())
        settings["executable"] = closed / "program"
    elif what == "Node.js":
        (closed / "program").symlink_to(shutil.which("node"))
        settings["SKILLGYM_NODE"] = os.fspath(closed / "program")
    else:
        shutil.copytree(PACKAGE, closed / PACKAGE.name, ignore=shutil.ignore_patterns("__pycache__"))
        settings["packages_first"] = closed
    suite_text = OWN_SUITE if file == "own_suite.py" else PROGRAM
    repository(checkout, {"bench/core.json": None, "skillgym.config.yaml": config(runner("true")), file: suite_text})
    ran = everybody.ran("run", "--agent-user", NOBODY, cwd=checkout, **settings)
    if not IS_ROOT:
        assert (ran.code, "only root" in ran.err) == (2, True)
        return
    expected = message.format(closed=closed)
    assert (ran.code, f"{file}: " in ran.err, expected in ran.err) == (2, True, True), ran.err
    doctor = everybody.ran("doctor", "--agent-user", NOBODY, cwd=checkout, **settings)
    assert expected in doctor.out


def test_what_was_closed_is_open_again_when_the_tool_is_killed(checkout):
    if not IS_ROOT:
        run(repository(checkout))
        return
    repository(checkout, {"skillgym.config.yaml": config(runner("sleep 600"))}, git=True)
    with started("run", "--agent-user", NOBODY, "--output", "results", cwd=checkout) as tool:
        until(lambda: stat.S_IMODE(checkout.stat().st_mode) == 0o750, "the checkout is closed")
        until((checkout / "results" / "core" / "one" / "sh" / "repeat-1" / "stdout.log").exists, "the agent's output")
        tool.kill()
        open_again = (0o755, os.getgid())
        until(lambda: (stat.S_IMODE(checkout.stat().st_mode), checkout.stat().st_gid) == open_again, "it is open again")


@pytest.mark.parametrize(
    ("name", "words"), [("nobody-of-that-name", "there is no user"), ("root", "root may do everything")]
)
def test_a_user_that_will_not_do_is_refused(name, words):
    with pytest.raises(UsageError, match=words):
        agent_user(name)


def test_two_runs_never_use_the_same_user_id(checkout):
    if not IS_ROOT:
        run(repository(checkout))
        return
    first = UserIds(set(SESSION_UIDS) - set(SESSION_UIDS[-50:]))
    taken = first.take()
    second = UserIds(set(SESSION_UIDS) - {taken})
    with pytest.raises(OSError, match="no user id is left"):
        second.take()
    os.close(first.file)
    third = UserIds(set(SESSION_UIDS) - {taken})
    assert third.take() == taken
    for run_ids in (second, third):
        os.close(run_ids.file)


KEEPS_RIGHTS = "import ctypes, os, sys; ctypes.CDLL(None).prctl(28, 4, 0, 0, 0); os.execv(sys.argv[1], sys.argv[1:])"


def test_root_that_would_keep_its_rights_as_another_user_is_refused(checkout):
    """A signal of such a session's worker would reach every process of the machine."""
    tool = Path(sys.executable).with_name("skillgym-action")
    argv = [sys.executable, "-c", KEEPS_RIGHTS, tool, "run", "--agent-user", NOBODY]
    done = subprocess.run(argv, cwd=repository(checkout), capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert ("no_setuid_fixup" if IS_ROOT else "only root") in done.stderr
