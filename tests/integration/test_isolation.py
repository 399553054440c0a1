"""Positions from which a session is attacked: whoever stands there reaches nothing outside of the session. Needs root.

What must not be read, changed or published lies in a folder of root's and in the tool's environment. The table in
docs/explanation/security.md says which test tries which attack.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import stat
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from uuid import uuid4

import psutil
import pytest

import everybody
from scratch import PASSING, case, config, repository, runner, skillgym, started, suite
from waiting import until

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


AS_USERS = ("--agent-user", "nobody")
AS_CALLER: tuple[str, ...] = ()
BOTH = pytest.mark.parametrize("options", [pytest.param(AS_USERS, id="root"), pytest.param(AS_CALLER, id="as caller")])


def results(place: Path, files: dict[str, str | None], *options: str) -> dict[str, dict[str, object]]:
    """Results by case of a run in ``place``, after it was seen that the canary was neither read nor changed.

    Nothing where ``options`` need root and nobody is root.
    """
    canary = place / "root-only"
    root = repository(place / "checkout", files, git=True)
    before = state(canary)
    (place / "tmp").mkdir(mode=0o711)
    options = ("run", "--keep", "all", "--output", "results", *options)
    done = everybody.ran(*options, cwd=root, GITHUB_TOKEN=MARK, TMPDIR=str(place / "tmp"))
    if "--agent-user" in options and not IS_ROOT:
        assert (done.code, "only root" in done.err) == (2, True)
        return {}
    assert state(canary) == before
    assert MARK not in done.out + done.err
    for path in (root / "results").rglob("*"):
        assert MARK not in path.name
        assert path.is_symlink() or not path.is_file() or MARK.encode() not in path.read_bytes()
    assert list((place / "tmp").iterdir()) == []
    suites = json.loads((root / "results" / "results.json").read_text())["suites"]
    return {result["caseId"]: result for suite in suites for result in suite["results"]}


def ran(
    place: Path,
    agent: str,
    *expect: str | dict[str, str],
    bootstrap: str | None = None,
    options: tuple[str, ...] = AS_USERS,
    **more: object,
):
    """The only result of a red or green case; see ``results``."""
    canary = str(place / "root-only")
    workspace = {"workspace": {"bootstrap": bootstrap.replace("CANARY", canary)}} if bootstrap else {}
    files = {
        "skillgym.config.yaml": config(runner(agent.replace("CANARY", canary), **more)),
        "bench/core.json": suite(case("one", expect), **workspace),
    }
    return results(place, files, *options).get("one")


def expected(result: dict[str, object] | None, status: str, words: str = "") -> None:
    """The status, and words of its reason; nothing where nobody is root."""
    if result is not None:
        assert (result["status"], words in json.dumps(result)) == (status, True), json.dumps(result, indent=1)


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


def nap() -> str:
    """Seconds for which no other process of this machine sleeps, also none of other runs of the tests."""
    return f"4711.{uuid4().int % 10**12}"


def found(mark: str) -> str:
    """A command that prints processes that sleep for so long, and fails if there are none."""
    return f"pgrep -f 'sleep {mark.replace('.', '[.]')}'"


def runs(mark: str) -> str:
    """A command that ends once there is such a process."""
    return f"until {found(mark)}; do sleep 0.02; done"


def test_a_daemon_of_a_bootstrap_is_dead_before_the_agent(place):
    mark = nap()
    bootstrap = f"(env -i setsid setsid sleep {mark} &) ; {runs(mark)}"
    agent = f"{found(mark)} >pids.txt; echo x >out.txt"
    expected(ran(place, agent, "file:out.txt exists", {"test": "test ! -s pids.txt"}, bootstrap=bootstrap), "passed")


def test_a_daemon_of_an_agent_is_dead_before_the_test_command(place):
    mark = nap()
    agent = f"{PASSING}; (env -i setsid setsid sleep {mark} &) ; (sg root 'sleep {mark}' &) ; {runs(mark)}"
    expected(ran(place, agent, {"test": f"! {found(mark)}"}), "passed")


def test_what_a_test_command_leaves_running_changes_nothing_afterwards(place):
    mark = nap()
    later = f"(setsid sh -c 'sleep {mark} & until test -e go; do sleep 0.02; done; echo x >late.txt' &) ; {runs(mark)}"
    expected(ran(place, PASSING, {"test": later}, {"test": f": >go; ! {found(mark)}"}, "no-file:late.txt"), "passed")


@BOTH
def test_however_many_test_commands_there_are_each_is_run_in_a_home_of_its_own(place, options):
    commands = [{"test": f'test -z "$(ls -A $HOME)" && : >$HOME/{number}'} for number in range(12)]
    expected(ran(place, PASSING, *commands, options=options), "passed")


def test_descriptors_of_the_tool_do_not_become_more_with_each_session(place):
    limit = 64 + sum(1 for _ in Path("/proc/self/fd").iterdir())  # this process has some open itself
    cases = (case(f"c{number}") for number in range(limit))
    files = {
        "skillgym.config.yaml": config(runner(PASSING)),
        "bench/core.json": suite(*cases, workspace={"templateDir": "template"}),
        "bench/template/file.txt": "x",
    }
    before, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, most))
    try:
        found = results(place, files, *AS_USERS)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (before, most))
    assert {result["status"] for result in found.values()} <= {"passed"}


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


LEAVES = {
    "clean": "true",
    "elsewhere": "mkdir /tmp/$MARK /var/tmp/$MARK; echo x >/dev/shm/$MARK",
    "home": "chmod 755 $HOME",
    "scratch": "touch $TMPDIR/file; rm $TMPDIR/file",
}


def test_files_elsewhere_are_gone_and_a_user_that_left_a_trace_is_not_used_again(place, mark):
    """One after the other; each says who it is, and what it finds.

    The user and the home of a session that left nothing are used again, and the next session finds the same.
    """
    finds = "id -u; echo $HOME; ls -A . $HOME $TMPDIR /proc/self/fd"
    agent = (
        f"MARK={mark}; {finds}; case {{case_id}} in {' '.join(f'*{name}) {do};;' for name, do in LEAVES.items())} esac"
    )
    order = [
        f"{number}-{name}"
        for number, name in enumerate(["clean", *(name for what in LEAVES for name in (what, "clean"))])
    ]
    files = {
        "skillgym.config.yaml": config(runner(agent)),
        "bench/core.json": suite(*(case(name, ("no-file:nothing",)) for name in order)),
    }
    found = results(place, files, *AS_USERS, "--jobs", "1")
    assert [path for path in ("/tmp", "/var/tmp", "/dev/shm") if Path(path, mark).exists()] == []
    if IS_ROOT:
        assert {name: result["status"] for name, result in found.items()} == dict.fromkeys(order, "passed")
        told = [said(place, name).splitlines() for name in order]
        again = [before == after for before, after in pairwise(told)]
        assert dict(zip(order[1:], again, strict=False)) == {
            "1-clean": True, "2-clean": True, "3-elsewhere": True, "4-clean": False, "5-home": True, "6-clean": False,
            "7-scratch": True, "8-clean": False,
        }  # fmt: skip
        users, homes = {int(lines[0]) for lines in told}, {lines[1] for lines in told}
        assert len(users) == len(homes) == len(LEAVES)
        assert users < set(range(50_000, 60_000))


def said(place: Path, case_id: str) -> str:
    """What the agent of that case printed."""
    return (place / "checkout" / "results" / "core" / case_id / "sh" / "repeat-1" / "stdout.log").read_text()


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


# dd ends by the signal unless its parent ignores it, and then says what the error is.
WRITES = "echo x | LC_ALL=C dd of=large conv=notrunc bs=1 seek=$(({size} - {less})) 2>>err.txt"


@BOTH
@pytest.mark.parametrize(
    ("size", "limits"),
    [
        pytest.param(8192, ("--limits", "fileSize=8KiB"), id="a limit that was asked for"),
    ],
)
def test_a_file_over_the_limit_is_refused(place, options, size, limits):
    largest, larger = WRITES.format(size=size, less=2), WRITES.format(size=size, less=0)
    agent = f"{largest} && rm large; trap '' XFSZ; {larger}; echo x >out.txt"
    expect = ("file:out.txt exists", "file:err.txt contains 'File too large'", {"test": "test ! -s large"})
    expected(ran(place, agent, *expect, options=(*options, *limits)), "passed")


def test_an_agent_that_ends_by_a_file_over_the_limit_is_told_so(place):
    agent = f"exec {WRITES.format(size=9 * 1024**3, less=0).partition('| ')[2]} </dev/zero count=1"
    expected(ran(place, agent.replace("LC_ALL=C ", ""), "no-file:nothing"), "failed", "resource-limit")


@BOTH
def test_a_link_in_the_place_of_an_agents_folder_makes_the_session_errored(place, options):
    """Of an agent whose configuration the tool writes into the home."""
    bootstrap = "cd ../home && ln -s CANARY .codex && test -L .codex"
    codex = {"type": "codex", "command": ["sh", "-c", PASSING]}
    result = ran(place, "", "file:out.txt exists", bootstrap=bootstrap, options=options, **codex)
    expected(result, "errored", '"id": "workspace"')


def test_a_setgid_copy_of_a_bootstrap_gives_the_agent_no_group(place):
    """The bootstrap reads the checkout by its group, and gives a copy of ``cat`` that group and the bit for it.

    It also says where the suite is: a path in the agent's own command is one that the agent needs.
    """
    bootstrap = f"""\
      set -e; cd "$SKILLGYM_WORKSPACE"; echo {place}/checkout/bench/core.json >path.txt; cat $(cat path.txt) >read.txt
      cp $(command -v cat) steal; chgrp $(id -G | cut -d' ' -f2) steal; chmod 2755 steal"""
    agent = "test -g steal && ./steal path.txt >able.txt; ./steal $(cat path.txt) >out.txt; true"
    expect = ("file:read.txt contains 'cases'", "file:able.txt contains 'core.json'", {"test": "test ! -s out.txt"})
    expected(ran(place, agent, *expect, bootstrap=bootstrap), "passed")


AGENTV = {"input": "p", "assertions": [{"type": "contains", "value": "done"}]}


def agentv(*tests: str, **more: object) -> str:
    """An AgentV suite whose cases wait for nothing but the agent's last word."""
    return json.dumps({"tests": [{"id": name, **AGENTV} for name in tests], **more})


def test_an_agent_does_not_replace_a_workspace_that_several_sessions_share(place):
    agent = f"""\
      echo {{case_id}} >>order.txt; cat order.txt
      cd "$PWD/.." && LC_ALL=C mv workspace w2 2>&1 && ln -s {place}/root-only workspace && echo replaced
      LC_ALL=C mv "$PWD" "$PWD-moved" 2>&1; echo done"""
    files = {
        "skillgym.config.yaml": config(runner(agent)),
        "bench/core.json": None,
        "EVAL.yaml": agentv("first", "second", workspace={"isolation": "shared"}),
    }
    found = results(place, files, *AS_USERS, "--jobs", "1")
    if IS_ROOT:
        assert {name: result["status"] for name, result in found.items()} == {"first": "passed", "second": "passed"}
        second = next((place / "checkout" / "results").glob("**/second/sh/repeat-1/stdout.log")).read_text()
        assert second.startswith("first\nsecond\n")
        assert (second.count("Permission denied"), "replaced" in second) == (2, False)


GRADER = "import json, sys; sys.exit('+agents' not in json.load(sys.stdin)['file_changes'])"


@BOTH
def test_what_graders_and_test_commands_change_is_not_told_of_the_agent(place, options):
    changes = "echo graders >README.md; echo graders >agents.txt; rm gone.txt; echo x >graders.txt"
    agent = "echo agents >README.md; echo agents >agents.txt; echo agents >gone.txt; echo done"
    graders = [
        {"type": "code-grader", "command": ["sh", "-c", f'cd "$AGENTV_WORKSPACE_PATH" && {changes}']},
        {"type": "code-grader", "command": ["python3", "-c", GRADER]},
    ]
    files = {
        "skillgym.config.yaml": config(runner(agent)),
        "bench/core.json": suite(case("x-bench", ({"test": changes}, "file:graders.txt exists"))),
        "e/EVAL.yaml": agentv("agentv", assertions=graders, workspace={"template": "template"}),
        "e/template/README.md": "before\n",
        "README.md": "before\n",
    }
    found = results(place, files, *options)
    for name, result in found.items():
        assert result["status"] == "passed", result
        (folder,) = (place / "checkout" / "results").glob(f"*/{name}/sh/repeat-1")
        kept = {path.name: path.read_text() for path in (folder / "changes").iterdir()}
        assert kept == dict.fromkeys(("README.md", "agents.txt", "gone.txt"), "agents\n")
        told = json.loads((folder / "workspace.json").read_text())
        assert (told["created"], told["modified"], told["deleted"]) == (["agents.txt", "gone.txt"], ["README.md"], [])


SWAPS = {
    "the workspace": "cd .. && mv workspace w2 && ln -s CANARY workspace",
    "a folder": "rm -rf folder && ln -s CANARY folder",
    "a file": "rm out.txt && ln -s CANARY/secret.txt out.txt",
    "a folder above the tool's": "cd ../.. && mv * ../w2; ln -s CANARY workspace",
}


@pytest.mark.parametrize(("swap", "options"), [*((swap, AS_USERS) for swap in SWAPS), ("the workspace", AS_CALLER)])
def test_what_a_hook_puts_in_the_place_of_files_before_they_are_kept_leads_nowhere(place, swap, options):
    swap = SWAPS[swap].replace("CANARY", str(place / "root-only"))
    hook = {"command": ["sh", "-c", f'cd "$SKILLGYM_WORKSPACE" && {{ {swap}; }}; echo x >>"$HOME/../tried"']}
    files = {
        "skillgym.config.yaml": config(runner("mkdir folder; echo x >folder/file; echo x >out.txt")),
        "bench/core.json": None,
        "EVAL.yaml": agentv("one", workspace={"isolation": "per_test", "hooks": {"after_each": hook}}),
    }
    found = results(place, files, *options)
    if found:
        assert found["one"]["status"] == "failed", "hence its workspace is kept"
        kept = list((place / "checkout" / "results" / "workspaces").rglob("*"))
        assert "out.txt" in {path.name for path in kept}
        assert [path for path in kept if path.is_symlink() or path.name in {"secret.txt", "nested", "fifo"}] == []


# Everybody of the storm starts others as fast as the limit for processes lets it. Built-ins alone say when it ends.
STORM = """\
if [ {case_id} = quiet ]; then
  until test -e /tmp/begun-MARK; do sleep 0.02; done
  for number in 1 2 3 4 5 6 7 8 9 10; do sleep 0.03 || exit 9; done
  echo x >out.txt
else
  echo 'trap "" TERM; while :; do setsid sh "$0" "$1" & done' >storm.sh
  sleep 1 & timer=$!
  : >/tmp/begun-MARK
  sh storm.sh storms-MARK & wait $timer
  : >ended.txt
fi
"""
AFTERWARDS = """\
import glob, os, sys, time
took = time.time() - os.stat("ended.txt").st_mtime
left = []
for path in glob.glob("/proc/[0-9]*/cmdline"):
    try:
        left += [path] * (b"storms-MA" b"RK" in open(path, "rb").read())
    except OSError:
        pass  # a process that has ended in the meantime
print(f"{took:.3f} s, {len(left)} left")
sys.exit(bool(left) or took > 1)
"""


@pytest.mark.timed
def test_a_fork_storm_ends_with_its_session_and_harms_no_other(place):
    """The kernel's limit is each session's own; another one starts programs all the while."""
    mark = uuid4().hex
    afterwards = AFTERWARDS.replace("MA", mark[:16]).replace("RK", mark[16:])
    files = {
        "skillgym.config.yaml": config(runner(STORM.replace("MARK", mark))),
        "bench/core.json": suite(
            case("quiet", timeout=60), case("storm", timeout=60, expect=({"test": f"python3 -c '{afterwards}'"},))
        ),
    }
    found = results(place, files, *AS_USERS, "--jobs", "2", "--limits", "processes=100") if IS_ROOT else {}
    assert {name: result["status"] for name, result in found.items()} == (
        {"quiet": "passed", "storm": "passed"} if IS_ROOT else {}
    ), found
    assert not IS_ROOT or "fork" in (place / "checkout/results/core/storm/sh/repeat-1/stderr.log").read_text()


WORKS = "exec sh -c 'until test -e /tmp/done-$0; do sleep 0.02; done' MARK"
RESTS = "until grep -qazx MARK /proc/[0-9]*/cmdline 2>/dev/null; do sleep 0.02; done"
IN_PYTHON = """\
import ctypes, os, signal
from pathlib import Path
from skillgym_action import Suite

suite = Suite("own")
libc = ctypes.CDLL(None, use_errno=True)


def seize(pid):
    child = os.fork()  # a process is let go when the one that traces it ends
    if not child:
        os._exit(libc.ptrace(0x4206, pid, 0, 0) != 0)
    if os.waitpid(child, 0)[1]:
        raise OSError("ptrace is refused")


WAYS = {
    "signal": lambda pid: os.kill(pid, signal.SIGCONT),
    "trace": seize,
    "environment": lambda pid: Path(f"/proc/{pid}/environ").read_bytes(),
    "memory": lambda pid: open(f"/proc/{pid}/mem", "rb").close(),
    "workspace": lambda pid: os.listdir(f"/proc/{pid}/cwd/"),
}


def shown(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:  # it has ended in the meantime
        return b""


@suite.case("works", prompt="work", timeout_ms=120_000)
def works(report, ctx):
    pass


@suite.case("rests", prompt="rest", timeout_ms=120_000)
def rests(report, ctx):
    try:
        # What it has just forked is called like it for a moment.
        pid = min(int(name) for name in os.listdir("/proc") if name.isdigit() and shown(name).endswith(b"\\0MARK\\0"))
        reached = []
        for name, way in WAYS.items():
            try:
                way(pid)
                reached.append(name)
            except OSError as error:
                print(name, error)
        if reached:
            raise AssertionError("reached: " + " ".join(reached))
    finally:
        Path("/tmp/done-MARK").touch()
"""
IN_TYPESCRIPT = """\
import { closeSync, openSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { assert } from "skillgym";

const ways: Record<string, (pid: number) => unknown> = {
  signal: (pid) => process.kill(pid, "SIGCONT"),
  environment: (pid) => readFileSync(`/proc/${pid}/environ`),
  memory: (pid) => closeSync(openSync(`/proc/${pid}/mem`, "r")),
  workspace: (pid) => readdirSync(`/proc/${pid}/cwd/`),
};
const shown = (pid: string) => { try { return readFileSync(`/proc/${pid}/cmdline`, "utf8"); } catch { return ""; } };

function rests(): void {
  try {
    const pids = readdirSync("/proc").filter((name) => /^\\d+$/.test(name) && shown(name).endsWith("\\0MARK\\0"));
    const pid = Math.min(...pids.map(Number)); // what it has just forked is called like it for a moment
    const reached = Object.keys(ways).filter((name) => {
      try { ways[name](pid); return true; } catch { return false; }
    });
    assert.ok(reached.length === 0, "reached: " + reached.join(" "));
  } finally {
    writeFileSync("/tmp/done-MARK", "");
  }
}
export default [
  { id: "works", prompt: "work", timeoutMs: 120_000, assert: () => {} },
  { id: "rests", prompt: "rest", timeoutMs: 120_000, assert: rests },
];
"""
PROGRAMS = [
    pytest.param("own_suite.py", IN_PYTHON, {"signal", "trace", "environment", "memory", "workspace"}, id="Python"),
    pytest.param("own-suite.ts", IN_TYPESCRIPT, {"signal", "environment", "memory", "workspace"}, id="TypeScript"),
]


def judging(place: Path, name: str, program: str, *options: str) -> dict[str, dict[str, object]]:
    """One session works while the program judges the other."""
    mark = f"works-{uuid4().hex}"
    agent = f"if [ {{case_id}} = works ]; then {WORKS}; else {RESTS}; fi".replace("MARK", mark)
    files = {
        "skillgym.config.yaml": config(runner(agent)),
        "bench/core.json": None,
        f"suites/{name}": program.replace("MARK", mark),
    }
    try:
        return results(place, files, *options, "--jobs", "2")
    finally:
        Path(f"/tmp/done-{mark}").unlink(missing_ok=True)


@pytest.mark.parametrize(("name", "program", "ways"), PROGRAMS)
def test_a_suite_program_neither_signals_nor_traces_a_session(place, name, program, ways):
    found = judging(place, name, program, *AS_USERS)
    assert {case_id: result["status"] for case_id, result in found.items()} == (
        {"works": "passed", "rests": "passed"} if IS_ROOT else {}
    ), found


@pytest.mark.parametrize(("name", "program", "ways"), PROGRAMS)
def test_as_the_caller_the_same_suite_program_reaches_the_session(place, name, program, ways):
    """So it was looked for where it is. Only root traces what is not its own child everywhere."""
    found = judging(place, name, program)
    assert (found["works"]["status"], found["rests"]["status"]) == ("passed", "failed"), found
    reached = set(found["rests"]["error"]["message"].partition("reached: ")[2].split())
    assert ways - (set() if IS_ROOT else {"trace", "memory"}) <= reached <= ways


def test_a_supervisor_that_is_killed_makes_the_session_errored_and_nothing_is_left(tmp_path):
    """Where sessions run as the caller, they can kill the process that looks after them."""
    mark = f"4712.{os.getpid()}"
    agent = f"(setsid sleep {mark} &) ; kill -9 $PPID; sleep {mark}"
    root = repository(tmp_path, {"skillgym.config.yaml": config(runner(agent))})
    done = skillgym("run", "--output", "results", cwd=root)
    (result,) = json.loads((root / "results" / "results.json").read_text())["suites"][0]["results"]
    assert (done.code, result["status"], result["failureClass"]["id"]) == (3, "errored", "workspace")
    assert sleeping(mark) == []


@pytest.mark.timed
@BOTH
@pytest.mark.parametrize("step", ["bootstrap", "agent", "test", "hook"])
def test_nothing_is_left_two_seconds_after_the_tool_was_killed(place, options, step):
    if options and not IS_ROOT:
        return
    mark = f"4713.{os.getpid()}{len(options)}{len(step)}"
    stays = f"(env -i setsid sleep {mark} &) ; sleep {mark}"
    does = {name: stays if name == step else "true" for name in ("bootstrap", "agent", "test", "hook")}
    hooks = {"after_each": {"command": ["sh", "-c", does["hook"]]}}
    files = {
        "skillgym.config.yaml": config(runner(f"{does['agent']}; echo done")),
        "bench/core.json": suite(
            case("one", ({"test": does["test"]},)), workspace={"bootstrap": does["bootstrap"]}
        ) if step != "hook" else None,
        "EVAL.yaml": agentv("one", workspace={"hooks": hooks}) if step == "hook" else None,
    }  # fmt: skip
    root = repository(place / "checkout", files, git=True)
    with started("run", *options, "--output", "results", cwd=root) as tool:
        until(lambda: len(sleeping(mark)) >= 2, "the step and what it started")
        tool.kill()
        killed = time.monotonic()
        until(lambda: not sleeping(mark), "their end")
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
