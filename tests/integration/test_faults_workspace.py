"""What may lie in a directory that agents work in, and what they may make of it: whole runs, as whole processes."""

from __future__ import annotations

import json
import os
import resource
import socket
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from faults import bound_by_permissions, reported
from measured import is_within, slowness
from scratch import HUNG, PROGRAM, case, config, environment, repository, runner, skillgym, suite, written

SECRET = "k-1234567890-very-secret"
DIG = f"{sys.executable} -c \"import os\nfor _ in range(2000): os.mkdir('d'); os.chdir('d')\nopen('deepest', 'w')\""
LONG = "n" * 255
IMPORT = "from skillgym_action import Suite, Workspace\n"
CHECK = "@suite.case('one', prompt='p')\ndef one(report): pass\n"


class Bench:
    """A repository, and a temporary folder of its own on a file system of its own, if there is one."""

    def __init__(self, folder: Path, temporary: Path) -> None:
        self.root, self.temporary = folder / "repo", temporary

    def run(
        self, script: str, *cases: dict[str, Any], files: dict[str, Any] | None = None, keep: str = "changed"
    ) -> dict[str, dict[str, Any]]:
        """The results by case; nobody gets a traceback, every report is whole, and nothing is left."""
        agent = runner(script, env={"API_TOKEN": "${{ API_TOKEN }}"})
        standard = {"bench/core.json": suite(*cases), "skillgym.config.yaml": config(agent)}
        repository(self.root, standard | (files or {}))
        done = subprocess.run(
            [PROGRAM, "run", "--output", "out", "--record", "rec", "--keep", keep],
            cwd=self.root,
            env=environment(TMPDIR=str(self.temporary), API_TOKEN=SECRET),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=HUNG,
            preexec_fn=bound_by_permissions,
        )
        said = (done.stdout + done.stderr).decode()
        assert "Traceback" not in said
        assert "internal error" not in said, said
        assert done.returncode in {0, 1, 3}, said
        assert list(self.temporary.iterdir()) == []
        told = reported(self.root / "out")
        assert told["run"]["decision"]["exitCode"] == done.returncode
        return {result["caseId"]: result for part in told["suites"] for result in part["results"]}

    def kept(self, case_id: str) -> Path:
        """The workspace of a case, if it is kept."""
        return self.root / f"out/workspaces/core/{case_id}/sh/repeat-1"


@pytest.fixture(params=["same", "other"])
def bench(tmp_path, request):
    """With the temporary folder on the same file system, and on another one: there a rename is a copy."""
    import shutil
    import tempfile

    folder = tmp_path / "tmp"
    if request.param == "other" and os.access("/dev/shm", os.W_OK):
        folder = Path(tempfile.mkdtemp(dir="/dev/shm", prefix="faults-"))
    folder.mkdir(exist_ok=True)
    yield Bench(tmp_path, folder)
    shutil.rmtree(folder, ignore_errors=True)


def test_what_cannot_be_copied_is_told_with_the_way_to_it(bench):
    written(bench.root, {"a/b/closed.txt": "x"})
    (bench.root / "a/b/closed.txt").chmod(0)
    found = bench.run("true", case())
    assert "Permission denied: 'a/b/closed.txt'" in json.dumps(found["one"])


HARM = {
    "a file that nobody may read": "echo $API_TOKEN > secret; chmod 000 secret",
    "a folder that nobody may enter": "mkdir closed; echo $API_TOKEN > closed/secret; chmod 000 closed",
    "a folder that nobody may write to": "mkdir ro; echo $API_TOKEN > ro/secret; chmod 555 ro",
    "a folder that can be listed and not entered": "mkdir half; echo > half/a; chmod 444 half",
    "its workspace closed": 'chmod 000 "$PWD"',
    "its home closed": 'chmod 000 "$HOME"',
    "its temporary folder closed": 'chmod 000 "$TMPDIR"',
    "links that lead nowhere": "ln -s nowhere a; ln -s /nowhere b",
    "links in a circle": "ln -s b a; ln -s a b; ln -s . here; ln -s ../workspace up",
    "links out": f"ln -s / root; ln -s /proc/self/environ env; ln -s {'../' * 9}etc up; ln -s root/etc two",
    "a FIFO": "mkfifo pipe",
    "a socket": f"{sys.executable} -c \"import socket; socket.socket(socket.AF_UNIX).bind('s')\"",
    "two thousand folders in each other": DIG,
    "two thousand folders in its home": f'cd "$HOME"; {DIG}',
    "two thousand folders in its history": f"mkdir -p .git; cd .git; {DIG}",
    "names of two lines": "touch 'two\nlines'; mkdir 'd\n'; touch 'd\n/x'",
    "names that are controls": "touch \"$(printf '\\033[31m\\001\\r')\"",
    "names that are no text": "touch \"$(printf 'caf\\351')\"; mkdir \"$(printf '\\377\\376')\"",
    "names of 255 bytes": f"echo $API_TOKEN > {LONG}; mkdir {LONG}2 2>/dev/null || mkdir {'m' * 255}",
    "names that are options": "touch -- -rf --help; mkdir -- -d; echo $API_TOKEN > ./-n",
    "names that are commands": "touch '::error::x' '##[error]x' '$(touch x)' '`x`' '|a|b|' '@octocat' '<img src=x>'",
    "a file of a terabyte": "truncate -s 1T huge; truncate -s 1T there.txt",
    "no workspace": 'rm -rf "$PWD"',
    "a link for a workspace": "cd ..; rm -rf workspace; ln -s / workspace",
    "a file for a workspace": "cd ..; rm -rf workspace; echo > workspace",
    "a FIFO for a workspace": "cd ..; rm -rf workspace; mkfifo workspace",
    "no home": 'rm -rf "$HOME"',
    "a file for a home": 'cd /; rm -rf "$HOME"; echo > "$HOME"',
    "a link for a temporary folder": 'rm -rf "$TMPDIR"; ln -s / "$TMPDIR"',
    "nothing below the temporary folder": 'cd /; rm -rf "$HOME"/../*',
}


ALONE = "nothing below the temporary folder"


def case_ids() -> dict[str, str]:
    return {harm: f"case-{number}" for number, harm in enumerate(HARM)}


def test_agents_harm_no_session_but_their_own(bench, proved):
    branches = [f"*-{number}) {line};;" for number, (harm, line) in enumerate(HARM.items()) if harm != ALONE]
    script = f"case $(cat) in {' '.join(branches)} *) echo > out.txt;; esac"
    cases = [case(case_id) for harm, case_id in case_ids().items() if harm != ALONE]
    told = bench.run(script, *cases, case("good"), files={"there.txt": "x"}, keep="all")
    assert {told.pop("good")["status"]} == {"passed"}
    assert {result["status"] for result in told.values()} <= {"failed", "errored"}
    assert len(told) == len(HARM) - 1
    for case_id in told:
        assert_tidy(bench.kept(case_id))
    assert_tidy(bench.root / "out")
    assert_tidy(bench.root / "rec")
    proved("faults", "things agents may make of their place, survived, and nothing kept that harms others", len(told))


def test_an_agent_that_removes_everybody_s_place_leaves_a_run_with_reports(bench, proved):
    script = f"case $(cat) in *evil) {HARM[ALONE]};; *) echo > out.txt;; esac"
    told = bench.run(script, case("evil"), case("good"))
    assert told["evil"]["status"] == "failed"
    assert told["good"]["status"] in {"passed", "errored"}
    proved("faults", "things agents may make of their place, survived, and nothing kept that harms others")


def test_an_agent_that_prints_without_end_is_ended(tmp_path, proved):
    agent = runner(f"yes {'x' * 20_000}", output="events")
    root = repository(tmp_path, {"bench/core.json": suite(case(timeout=280)), "skillgym.config.yaml": config(agent)})
    ran = skillgym("run", "--output", "out", cwd=root)
    assert ran.code == 3
    (result,) = [one for part in reported(root / "out")["suites"] for one in part["results"]]
    assert result["error"]["message"] == "more than 64 MiB were printed; the session was ended"
    assert (root / "out/core/one/sh/repeat-1/stdout.log").stat().st_size <= 64 * 1024 * 1024
    proved("faults", "agents that print without end, ended")


# --- templates --------------------------------------------------------------------------------------


def odd(template: Path) -> None:
    """All that a directory of a user may hold."""
    written(template, {"out.txt": "", "plain/file": "x", "-rf": "x", "::error::x": "x", "two\nlines": "x", LONG: "x"})
    written(template, {os.fsdecode(b"caf\xe9"): "x", "\x1b[31m\x01": "x", "d\n/x": "x"})
    for name, target in (("in", "plain"), ("out", "/etc"), ("lost", "nowhere"), ("a", "b"), ("b", "a"), ("self", ".")):
        (template / name).symlink_to(target)
    os.mkfifo(template / "fifo")
    with socket.socket(socket.AF_UNIX) as unix:
        unix.bind(os.path.relpath(template / "socket"))
    if os.geteuid() == 0:
        os.mknod(template / "null", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    (template / "plain/file").chmod(0o444)
    (template / "plain").chmod(0o555)


def test_a_template_may_hold_anything(bench, proved):
    template = bench.root / "template"
    odd(template)
    told = bench.run("ls -la", files=with_template(template))
    assert told["one"]["status"] == "passed"
    changes = json.loads((bench.root / "out/s/one/sh/repeat-1/workspace.json").read_text())
    assert (changes["created"], changes["modified"], changes["deleted"]) == ([], [], [])
    proved("faults", "things a template may hold, copied or left out", 18)


def with_template(template: Path) -> dict[str, Any]:
    """A suite whose agents work in copies of it."""
    place = f"suite = Suite('s')\nworkspace = Workspace(template_dir={str(template)!r})\n"
    check = "@suite.case('one', prompt='p')\ndef one(report): pass\n"
    return {
        "bench/core.json": None,
        "bench/x_suite.py": f"from skillgym_action import Suite, Workspace\n{place}{check}",
    }


def test_what_of_a_template_cannot_be_read_is_told(tmp_path, proved):
    template = written(tmp_path / "repo" / "t", {"a/file": "x", "b.txt": "x"})
    (template / "a").chmod(0)
    (tmp_path / "tmp").mkdir()
    alone = {"test": "test $(ls -d $TMPDIR/../../*/workspace | wc -l) = 1"}
    next_one = {"y.json": suite(case("two", [alone]), workspace={"templateDir": "other"}), "other/file": "x"}
    files = with_template(template) | {f"bench/{name}": text for name, text in next_one.items()}
    told = Bench(tmp_path, tmp_path / "tmp").run("echo", files=files)
    (template / "a").chmod(0o700)
    assert told["two"]["status"] == "passed", "the half-made workspace is still there"
    why = f"the workspace could not be created: [Errno 13] Permission denied: '{template / 'a'}'"
    assert (told["one"]["status"], told["one"]["error"]["message"]) == ("errored", why)
    proved("faults", "templates that cannot be copied, told")


def test_a_template_may_be_deeper_than_recursion_goes(tmp_path, proved):
    dig = "import os\nfor _ in range(1500): os.mkdir('d'); os.chdir('d')"
    (tmp_path / "repo" / "t").mkdir(parents=True)
    subprocess.run([sys.executable, "-c", dig], cwd=tmp_path / "repo" / "t", check=True)
    (tmp_path / "tmp").mkdir()
    told = Bench(tmp_path, tmp_path / "tmp").run("echo", files=with_template(tmp_path / "repo" / "t"))
    assert told["one"]["status"] == "passed"
    proved("faults", "things a template may hold, copied or left out")


@pytest.mark.timed
def test_many_files_in_a_template_take_time_and_memory_in_proportion(tmp_path, proved):
    """In memory, where there is such a place: what is measured is the tool, not the disk."""
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as place:
        for folder in range(400):
            Path(place, f"repo/t/{folder}").mkdir(parents=True)
            for file in range(250):
                Path(place, f"repo/t/{folder}/{file}").touch()
        Path(place, "tmp").mkdir()
        slow, before = slowness(), resource.getrusage(resource.RUSAGE_CHILDREN)
        bench = Bench(Path(place), Path(place, "tmp"))
        told = bench.run("echo > 1/new; rm 2/2", files=with_template(bench.root / "t"))
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert is_within(used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime, 60, slow)
        changes = json.loads((bench.root / "out/s/one/sh/repeat-1/workspace.json").read_text())
    assert told["one"]["status"] == "passed"
    assert (changes["created"], changes["deleted"]) == (["1/new"], ["2/2"])
    proved("faults", "files in a template, copied", 100_000)


# --- suites -----------------------------------------------------------------------------------------

NAMES = {
    "two lines": "two\nlines",
    "controls": "\x1b[31mred\x01\r",
    "no text": os.fsdecode(b"caf\xe9"),
    "as long as a name can be": "n" * 246,
    "as long as a name can be, in another script": "\u754c" * 82,
    "an option": "-rf",
    "a command": "::error::x",
    "an older command": "##[error]x",
    "a mention": "@octocat",
    "markup": "<img src=x onerror=y>|`a`|",
    "quotes": "a'b\"c $(touch x)",
    "blanks": "  ",
    "dots": "...",
}


def test_suites_may_be_called_anything(tmp_path, proved):
    python = (
        "from skillgym_action import Suite\nsuite = Suite()\n@suite.case('one', prompt='p')\ndef one(report): pass\n"
    )
    files = {f"bench/{name}.json": suite(case("one")) for name in NAMES.values()}
    files |= {f"bench/{name}_suite.py": python for name in NAMES.values()}
    root = repository(tmp_path / "repo", files | {"bench/core.json": None})
    done = subprocess.run(
        [PROGRAM, "run", "--output", "out", "--verbose"], cwd=root, env=environment(), capture_output=True, check=False
    )
    said = (done.stdout + done.stderr).decode()
    assert done.returncode == 0, said
    told = reported(root / "out")
    assert [result["status"] for part in told["suites"] for result in part["results"]] == ["passed"] * 2 * len(NAMES)
    assert len({part["path"] for part in told["suites"]}) == 2 * len(NAMES)
    assert [line for line in said.splitlines() if line.lstrip().startswith("::") or "##[" in line] == []
    assert "\x1b" not in said
    proved("faults", "odd names of suites, run and reported", 2 * len(NAMES))


def test_suites_may_be_named_on_the_command_line_whatever_they_are_called(tmp_path, proved):
    root = repository(tmp_path / "repo", {f"bench/{name}.json": suite() for name in NAMES.values()})
    paths = [f"bench/{name}.json" for name in NAMES.values()]
    ran = skillgym("check", "--", *paths, cwd=root)
    *found, summary = ran.out.splitlines()
    assert (ran.code, summary) == (0, f"OK: {len(NAMES)} suites, {len(NAMES)} cases, 1 runner")
    assert len(found) == len(NAMES)
    proved("faults", "odd names of suites, run and reported", len(NAMES))


def assert_tidy(folder: Path) -> None:
    """Others can pack it: it can be read, no link leads out, nothing is special, no key is in it."""
    for where, folders, files in os.walk(folder, onerror=lambda error: pytest.fail(str(error))):
        for name in (*folders, *files):
            path = Path(where, name)
            assert path.is_symlink() or path.is_dir() or path.is_file(), path
            assert os.access(path, os.R_OK, follow_symlinks=False) or path.is_symlink()
            if path.is_symlink():
                assert Path(os.path.realpath(path)).is_relative_to(folder), path
            elif path.is_file():
                assert path.stat().st_mode & 0o400
                assert path.stat().st_size < 100_000_000
                assert SECRET.encode() not in path.read_bytes()
