"""The start of the tool's own process, and what it and all that it starts have in their environment."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import action_step
from faults import without_tracing
from scratch import HUNG, PROGRAM, case, config, environment, repository, runner, skillgym, started, suite, written
from scripted_http import ScriptedServer
from waiting import until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from proofs import Proved

MODULE = (sys.executable, "-m", "skillgym_action")
CODE = "from skillgym_action.__main__ import main; main()"
SECRETS = {
    "GITHUB_TOKEN": "planted-github",
    "ACTIONS_RUNTIME_TOKEN": "planted-runtime",
    "ACTIONS_RESULTS_URL": "https://planted-results.example",
    "INPUT_GITHUB-TOKEN": "planted-input",
    "INPUT_CONFIG": "planted-config",
    "GITHUB_OUTPUT": "/planted/outputs",
    "ANTHROPIC_API_KEY": "planted-key",
    "DATABASE_URL": "postgres://u:planted-password@db/x",
    "HARMLESS_BY_NAME": "planted-value",
}
CLOSED = b"closed to others"
PLANTED = re.compile(rb"planted[-/]|INPUT_|ACTIONS_|GITHUB_|DATABASE|HARMLESS|ANTHROPIC")


def ran(*argv: str | Path, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    argv = tuple(map(os.fspath, argv))
    streams = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True}
    return subprocess.run(argv, cwd=cwd, env=environment(**env), check=False, timeout=HUNG, **streams)


# --- nothing secret, anywhere -----------------------------------------------------------------------


def family(pid: int) -> Iterator[int]:
    """A process and its descendants, as far as they are there."""
    yield pid
    try:
        for thread in Path(f"/proc/{pid}/task").iterdir():
            for child in thread.joinpath("children").read_text().split():
                yield from family(int(child))
    except OSError:
        return


IS_ROOT = os.geteuid() == 0


def shown(pid: int) -> bytes:
    """The command line of a process, and what ``/proc`` shows of its environment: CLOSED where that is nothing."""
    folder = Path(f"/proc/{pid}")
    try:
        command = folder.joinpath("cmdline").read_bytes() + b"\n"
        return command + folder.joinpath("environ").read_bytes()
    except PermissionError:
        return command + CLOSED
    except OSError:
        return b""


RECORDS = """\
#!/bin/sh
tr '\\0' '\\n' </proc/self/environ >"{seen}/{name}.$$"
exec {program} "$@"
"""
AGENT = "cat /proc/self/environ >{seen}/agent.$$; until test -e {seen}.looked; do sleep 0.05; done; echo done >out.txt"
PYTHON_SUITE = """\
from pathlib import Path
from skillgym_action import Suite
Path("{seen}/python-suite").write_bytes(Path("/proc/self/environ").read_bytes())
suite = Suite("python")
@suite.case("judged", prompt="p")
def judged(report, ctx):
    pass
"""
TYPESCRIPT_SUITE = """\
import {{ readFileSync, writeFileSync }} from "node:fs";
import {{ assert }} from "skillgym";
writeFileSync("{seen}/typescript-suite", readFileSync("/proc/self/environ"));
export default [{{ id: "typescript", prompt: "p", assert: (report) => assert.ok(report) }}];
"""


def recording(folder: Path, seen: Path) -> Path:
    """A folder for PATH: programs that the tool finds there write down the environment they were started with."""
    for name in ("git", "node", "npm", "rm", "sh"):
        written(folder, {name: RECORDS.format(seen=seen, name=name, program=shutil.which(name))})
        folder.joinpath(name).chmod(0o755)
    return folder


def checkout(folder: Path, seen: Path) -> Path:
    """A repository with a suite of each kind, a bootstrap, a ``test:`` command and an agent that npm cannot install."""
    look = f"cat /proc/self/environ >{seen}"
    files = {
        "bench/core.json": suite(
            case(expect=(f"test:{look}/test.$$",)), workspace={"bootstrap": f"{look}/bootstrap.$$"}
        ),
        "bench/own_suite.py": PYTHON_SUITE.format(seen=seen),
        "bench/own-suite.ts": TYPESCRIPT_SUITE.format(seen=seen),
        "skillgym.config.yaml": config(
            runner(AGENT.format(seen=seen)), {"agent": {"type": "claude-code", "version": "9.9.9", "model": "m"}}
        ),
    }
    return repository(folder, files, git=True)


def test_no_process_of_a_run_has_a_secret_in_its_environment_or_its_command_line(tmp_path, proved: Proved):
    seen = tmp_path / "seen"
    seen.mkdir()
    root = checkout(tmp_path / "repository", seen)
    own = {
        "PATH": f"{recording(tmp_path / 'bin', seen)}{os.pathsep}{os.environ['PATH']}",
        "SKILLGYM_AGENTS_DIR": str(tmp_path / "agents"),
        "npm_config_registry": "http://127.0.0.1:9",
        "npm_config_fetch_retries": "0",
    }
    looked: dict[bytes, int] = {}
    options = ("run", "--output", "results", "--install-agents", "--jobs", "4")
    with started(*options, cwd=root, **SECRETS, **own) as tool:
        again = b"SKILLGYM_BARE_START" if IS_ROOT else CLOSED
        # The first start has what it was given.
        until(lambda: tool.poll() is not None or again in shown(tool.pid), "the second start")

        def look() -> bool:
            for pid in family(tool.pid):
                looked.update({what: pid for what in [shown(pid)] if what.strip()})
            if len(set(looked.values())) > len(("the tool", "a suite host", "an agent")) and any(seen.glob("agent.*")):
                seen.with_name("seen.looked").touch()
            return tool.poll() is not None

        until(look, "the end of the run", limit=HUNG)
    assert (root / "results" / "results.json").is_file(), tool.stderr
    programs = {path.name.partition(".")[0] for path in seen.iterdir()}
    assert programs >= {"agent", "test", "bootstrap", "git", "node", "npm", "python-suite", "typescript-suite"}
    assert any(pid == tool.pid for pid in looked.values())
    assert len(set(looked.values())) > len(("the tool", "a suite host", "an agent"))
    everything = {path.name: path.read_bytes() for path in seen.iterdir()}
    everything |= {f"{pid}: {what[:200]!r}": what for what, pid in looked.items()}
    assert {name: PLANTED.findall(what) for name, what in everything.items() if PLANTED.search(what)} == {}
    proved("agents", "processes of a run without a secret in their environment", len(everything))


BARE = {"PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "TERM", "NO_COLOR", "PYTHONDONTWRITEBYTECODE", "HOME"}


@pytest.mark.parametrize("start", [MODULE, (sys.executable, "-IBu", PROGRAM)])
def test_however_it_is_started_the_running_tool_shows_a_bare_environment(tmp_path, start):
    root = repository(tmp_path, {"skillgym.config.yaml": config(runner("sleep 600"))})
    env = environment(**SECRETS, LC_ALL="C.UTF-8", TZ="UTC")
    argv = [*map(os.fspath, start), "run", "--output", "results"]
    with subprocess.Popen(argv, cwd=root, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as tool:
        until((root / "results" / "core" / "one" / "sh" / "repeat-1" / "stdout.log").exists, "the agent's output")
        _, _, told = shown(tool.pid).partition(b"\n")
        tool.send_signal(signal.SIGTERM)
        tool.wait(HUNG)
    assert tool.returncode == 130
    if not IS_ROOT:
        assert told == CLOSED
        return
    names = {variable.partition(b"=")[0].decode() for variable in told.split(b"\0") if variable}
    assert names >= {"PATH", "LC_ALL", "TZ", "SKILLGYM_BARE_START"}
    assert not names & set(SECRETS)
    assert {name for name in names if name not in BARE and not name.startswith(("LC_", "PYTHON", "LD_"))} <= {
        *("SKILLGYM_BARE_START", "PYDANTIC_DISABLE_PLUGINS", "LANGUAGE", "COLORTERM", "COLUMNS", "LINES")
    }
    assert ("HOME" in names) == ("-IBu" not in start and "HOME" in env)


LOOK = """
import ctypes, json, os
from skillgym_action.cli.process_protection import begin
shown = open("/proc/self/environ", "rb").read().split(b"\\0")  # later on it may be closed to ourselves
shown = [os.fsdecode(variable).partition("=")[0] for variable in shown]
again = "SKILLGYM_BARE_START" in shown
def is_open(fd):
    try: return os.fstat(fd)
    except OSError: return None
read = begin()
status = dict(line.split(":\\t", 1) for line in open("/proc/self/status").read().splitlines())
before = dict(os.environ)
given = dict(read())
left = list(filter(is_open, range(3, 99)))
told = {"again": again, "dumpable": ctypes.CDLL(None).prctl(3, 0, 0, 0, 0), "no_new_privs": status["NoNewPrivs"]}
print(json.dumps({**told, "before": before, "after": dict(os.environ), "given": given, "left": left, "shown": shown}))
"""


def look(cwd: Path, *flags: str, code: str = LOOK, **env: str) -> dict[str, Any]:
    done = ran(sys.executable, *flags, "-c", code, cwd=cwd, **env)
    assert done.stderr == ""
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def test_no_other_program_reads_the_process_and_nothing_gains_rights(tmp_path):
    told = look(tmp_path)
    assert (told["dumpable"], told["no_new_privs"]) == (0, "1")


NAMELESS = "import os\nif not hasattr(os, 'x'): del os.memfd_create\n"


@pytest.mark.parametrize(
    "code", [pytest.param(LOOK, id="a memory file"), pytest.param(f"{NAMELESS}{LOOK}", id="a file without a name")]
)
def test_the_environment_arrives_as_it_was(tmp_path, code):
    odd = {
        "EMPTY": "",
        "LINES_OF_IT": "one\ntwo=three\n",
        "NAÏVE": "ü",
        "RAW": os.fsdecode(b"\xff\xfe"),
        "L": "x" * 99_999,
    }
    env = {**SECRETS, **odd}
    told = look(tmp_path, code=code, **env)
    assert {name: told["given"].get(name) for name in env} == env
    assert set(environment(**env)) <= set(told["given"]) <= {*environment(**env), "LC_CTYPE"}
    assert not set(env) & {*told["before"], *told["shown"]}
    assert told["before"] == told["after"]
    assert told["left"] == []


def test_a_traced_program_is_not_started_again_and_its_environment_is_emptied(tmp_path):
    code = f"import sys\nsys.settrace(lambda *_: None)\n{LOOK}"
    told = look(tmp_path, code=code, **SECRETS)
    assert {name: told["given"].get(name) for name in SECRETS} == SECRETS
    assert not set(SECRETS) & set(told["after"])
    assert (told["again"], told["dumpable"]) == (False, 0)


def test_what_the_user_set_for_libraries_stays(tmp_path):
    env = {"COLUMNS": "77", "TERM": "xterm", "TMPDIR": str(tmp_path), "PYDANTIC_DISABLE_PLUGINS": "one", "LC_TIME": "C"}
    told = look(tmp_path, **env)
    assert {name: told["after"].get(name) for name in env} == env
    assert look(tmp_path)["after"]["PYDANTIC_DISABLE_PLUGINS"] == "__all__"


# --- the start itself -------------------------------------------------------------------------------


@pytest.mark.parametrize("value", ["", "7:x", "99999999999999999999:x", "{file}:mark", "{heredoc}:mark"])
def test_a_descriptor_that_is_not_from_the_first_start_is_refused(tmp_path, value):
    (tmp_path / "named").write_bytes(b"mark\0GITHUB_ACTIONS=true\0SKILLGYM_JOBS=x")
    with (tmp_path / "named").open("rb") as named, (tmp_path / "gone").open("wb+") as gone:
        gone.write(b"another\0GITHUB_ACTIONS=true")
        gone.flush()
        (tmp_path / "gone").unlink()
        env = environment(SKILLGYM_BARE_START=value.format(file=named.fileno(), heredoc=gone.fileno()))
        kept = (named.fileno(), gone.fileno())
        done = subprocess.run([PROGRAM, "schema"], env=env, capture_output=True, check=False, pass_fds=kept, text=True)
    message = "error: SKILLGYM_BARE_START is set, and not by this program; unset it\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", message)


def test_a_python_that_cannot_be_executed_again_is_an_error_and_no_secret_is_used(tmp_path):
    code = f"import sys; sys.executable = '/nowhere/python'; {CODE}"
    done = ran(sys.executable, "-c", code, cwd=tmp_path, **SECRETS)
    message = "error: cannot start without secrets in the environment: [Errno 2] No such file or directory"
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(message)
    assert "planted" not in done.stderr


@pytest.fixture
def interrupts(request) -> Iterator[None]:
    """What programs that the test starts inherit for SIGINT, whatever this process inherited (``nohup`` ignores it)."""
    before = signal.signal(signal.SIGINT, request.param)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("interrupts", [signal.default_int_handler], indirect=True, ids=["heeded"])
@pytest.mark.usefixtures("interrupts")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_interrupt_that_a_library_turns_into_another_error_is_a_cancellation(tmp_path, number):
    code = f"""import os, sys, time
from skillgym_action.__main__ import exit_code
def program(environment):
    try:
        os.kill(os.getpid(), {number:d})
        time.sleep(10)
    except KeyboardInterrupt as error:
        raise ValueError("while a model was built") from error
sys.exit(exit_code(program))"""
    done = ran(sys.executable, "-c", code, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "cancelled\n")


def signalled(number: signal.Signals, folder: Path) -> tuple[int, bool, str]:
    """Exit code, whether something was printed, and stderr, of a command that gets the signal in its second start.

    Python's own start takes longer than ours: a module that it imports sends the signal.
    """
    send = f"import os\nif 'SKILLGYM_BARE_START' in os.environ: os.kill(os.getpid(), {int(number)})\n"
    written(folder, {"sitecustomize.py": send})
    done = ran(*MODULE, "schema", cwd=folder, PYTHONPATH=str(folder))
    return done.returncode, done.stdout != "", done.stderr


@pytest.mark.parametrize("interrupts", [signal.default_int_handler], indirect=True, ids=["heeded"])
def test_a_signal_during_the_second_start_cancels(tmp_path, interrupts):
    for number in (signal.SIGTERM, signal.SIGINT):
        assert signalled(number, tmp_path) == (130, False, "cancelled\n")


@pytest.mark.parametrize("interrupts", [signal.SIG_IGN], indirect=True, ids=["ignored"])
def test_a_command_that_was_started_to_ignore_interrupts_does(tmp_path, interrupts):
    assert signalled(signal.SIGINT, tmp_path) == (0, True, "")


def test_what_the_tool_starts_gains_no_rights_and_gets_its_signals(tmp_path):
    agent = "grep -E 'SigBlk|SigIgn|NoNewPrivs' /proc/self/status >out.txt"
    root = repository(tmp_path, {"skillgym.config.yaml": config(runner(agent))})
    assert skillgym("run", "--output", "results", cwd=root).code == 0
    (told,) = (root / "results").rglob("changes/out.txt")
    found = dict(line.split(":\t") for line in told.read_text().splitlines())
    assert int(found["SigBlk"], 16) & (1 << signal.SIGTERM - 1 | 1 << signal.SIGINT - 1) == 0
    assert found["NoNewPrivs"] == "1"


LOOKS_UP = """\
above=$PPID
for name in subreaper supervisor tool; do
  if readlink /proc/$above/cwd >/dev/null; then echo "$name read"; else echo "$name refused"; fi
  above=$(sed -n 's/^PPid:[[:space:]]*//p' /proc/$above/status)
done >out.txt
"""


def test_a_session_of_the_caller_does_not_look_into_the_processes_that_started_it(tmp_path):
    """Root with the capability to trace all processes would: so nobody has it here."""
    root = repository(tmp_path, {"skillgym.config.yaml": config(runner(LOOKS_UP))})
    done = subprocess.run(
        [PROGRAM, "run", "--output", "results"],
        cwd=root, env=environment(), check=False, capture_output=True, preexec_fn=without_tracing,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (told,) = (root / "results").rglob("changes/out.txt")
    assert told.read_text().splitlines() == ["subreaper refused", "supervisor refused", "tool refused"]


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&-", "<&- >&- 2>&-"])
def test_no_closed_stream_becomes_the_environments_file(tmp_path, closed):
    line = f'exec "$0" schema results {closed}'
    done = ran("sh", "-c", line, PROGRAM, cwd=tmp_path, **SECRETS)
    assert done.returncode == 0, done.stderr
    assert "planted" not in done.stdout + done.stderr
    assert ("$defs" in done.stdout) == (">&-" not in closed.replace("2>&-", ""))


def test_streams_and_arguments_pass_through(tmp_path):
    root = repository(tmp_path)
    done = ran(*MODULE, "list", "--json", "--case", "one two\n*", cwd=root, SKILLGYM_CASE="other")
    assert done.returncode == 0
    assert [execution["case"] for execution in json.loads(done.stdout)["executions"]] == ["one"]
    assert "unknown case 'one two'" in done.stderr
    misspelt = skillgym("list", cwd=root, SKILLGYM_FORMAT="nothing")
    assert misspelt.err.startswith("error: SKILLGYM_FORMAT (--format): unknown word 'nothing'")


# --- what the environment is for --------------------------------------------------------------------


def test_workspaces_are_made_where_tmpdir_says(tmp_path):
    agent = 'echo "$HOME" >out.txt'
    root = repository(tmp_path / "repository", {"skillgym.config.yaml": config(runner(agent))})
    (tmp_path / "temporary").mkdir(mode=0o700)
    assert skillgym("run", "--output", "results", cwd=root, TMPDIR=str(tmp_path / "temporary")).code == 0
    (told,) = (root / "results").rglob("changes/out.txt")
    assert told.read_text().startswith(f"{tmp_path}/temporary/")


def test_github_is_reached_through_the_proxy_of_the_environment(tmp_path):
    root = repository(tmp_path / "repository")
    with ScriptedServer() as proxy:
        step = action_step.step(root, HTTP_PROXY=proxy.url, GITHUB_API_URL="http://github.invalid")
    assert step.code == 0, step.said
    assert {line.split()[1].partition("/repos")[0] for line in proxy.lines} == {"http://github.invalid"}


# --- git's configuration of whoever starts the tool -------------------------------------------------

HOSTILE = """\
[user]
  name = operator
[core]
  fsmonitor = {folder}/ran
  hooksPath = {folder}/hooks
  excludesFile = {folder}/excludes
  attributesFile = {folder}/attributes
[filter "all"]
  clean = {folder}/ran
[commit]
  template = {folder}/none
"""
RAN = '#!/bin/sh\ntouch "{folder}/has-run"\ncat\n'


def operators_home(folder: Path) -> Path:
    """A home with a configuration of git that runs programs, hides files and has a name in it."""
    script = RAN.format(folder=folder)
    files = {
        ".gitconfig": HOSTILE.format(folder=folder),
        "xdg/git/config": HOSTILE.format(folder=folder),
        "excludes": "*.txt\n",
        "attributes": "* filter=all\n",
        "ran": script,
        **{f"hooks/{name}": script for name in ("pre-commit", "post-commit", "post-index-change")},
    }
    for name in written(folder, files).rglob("*"):
        name.chmod(0o755)
    return folder


AS_BUILT = """\
#!/bin/sh
export HOME={home} XDG_CONFIG_HOME={home}/xdg GIT_CONFIG_SYSTEM="${{GIT_CONFIG_SYSTEM-{home}/.gitconfig}}"
exec {git} "$@"
"""


@pytest.mark.parametrize("wrapped", [False, True], ids=["by variables", "by a git that has its own idea of them"])
def test_the_operators_configuration_of_git_is_neither_used_nor_seen(tmp_path, wrapped):
    home = operators_home(tmp_path / "home")
    named = {"HOME": str(home), "XDG_CONFIG_HOME": str(home / "xdg"), "GIT_CONFIG_GLOBAL": str(home / ".gitconfig")}
    counted = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "user.name", "GIT_CONFIG_VALUE_0": "operator"}
    show = "git config --show-origin --list; cat ~/.gitconfig $XDG_CONFIG_HOME/git/config"
    files = {
        "notes.txt": "kept",
        "bench/core.json": suite(case(expect=("file:out.txt exists", f"test:! ({show}) 2>&1 | grep operator"))),
        "skillgym.config.yaml": config(runner(f"({show}) >out.txt 2>&1; ls >>out.txt")),
    }
    root = repository(tmp_path / "repository", files, git=True)
    written(tmp_path / "bin", {"git": AS_BUILT.format(home=home, git=shutil.which("git"))})
    (tmp_path / "bin" / "git").chmod(0o755)
    path = {"PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"} if wrapped else {}
    done = skillgym("run", "--output", "results", cwd=root, **named, **counted, **path)
    assert not (home / "has-run").exists()
    (told,) = (root / "results").rglob("changes/out.txt")
    assert "notes.txt" in told.read_text().splitlines(), "no file was hidden by it from the copy"
    if not wrapped:
        assert done.code == 0, done.err
        assert "operator" not in told.read_text()
