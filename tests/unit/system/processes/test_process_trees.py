"""Programs that do not want to end: whatever they do, nothing of them is left, and nothing else is harmed."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import psutil
import pytest

from measured import measured
from scratch import case, config, repository, runner, suite
from skillgym_action.model.session import Ending, Invocation
from skillgym_action.system.cancellation import Cancellation
from skillgym_action.system.processes.launcher import ProcessLauncher
from skillgym_action.system.processes.users import agent_user
from waiting import LIMIT

IS_ROOT = os.geteuid() == 0
MIB, GIB = 1024**2, 1024**3

# Each is a program that is given a mark as an argument, and finds it in its environment as well.
IMPORTS = "import os, signal, sys, time\n"
STUBBORN = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
DAEMON = """
def daemon():
    if os.fork(): return
    os.setsid()
    if os.fork(): os._exit(0)
    os.chdir("/"); os.closerange(0, 1024)
    time.sleep(300); os._exit(0)
"""
PROGRAMS = {
    "a double fork in a session of its own, then the end": f"{DAEMON}\ndaemon()",
    "a double fork whose parent has ended before": f"{DAEMON}\nif os.fork(): sys.exit()\ntime.sleep(0.2); daemon()",
    "three daemons that ignore SIGTERM": f"{STUBBORN}{DAEMON}\nfor _ in range(3): daemon()\ntime.sleep(300)",
    "a stopped process in a session of its own": """
if not os.fork(): os.setsid(); os.kill(os.getpid(), signal.SIGSTOP)
time.sleep(300)
""",
    "children that hold the pipes open, and read none": """
for _ in range(3):
    if not os.fork(): time.sleep(300); os._exit(0)
""",
    "a chain of two hundred processes, each the child of the one before": """
for _ in range(200):
    if os.fork(): break
time.sleep(300)
""",
    "another name, and no descriptors": """
if os.fork(): sys.exit()
os.setsid()
open("/proc/self/comm", "w").write("kworker/0:1")
os.closerange(0, 1024)
time.sleep(300)
""",
    "a child that has a child and ends, over and over": f"""{STUBBORN}
for _ in range(20_000):
    if os.fork(): os._exit(0)
    os.setsid()
""",
    "the same twice, with some that stay": f"""{STUBBORN}
os.fork()
for _ in range(20_000):
    if os.fork(): os._exit(0)
    os.setsid()
    if not os.getpid() % 200 and not os.fork(): time.sleep(300); os._exit(0)
""",
}


@contextmanager
def opened(**settings: object):
    cancelled = Cancellation()
    with ProcessLauncher(environment=dict(os.environ), cancelled=cancelled, **settings) as door:
        yield door
    cancelled.close()


@contextmanager
def neighbour(door: ProcessLauncher, folder: Path, **settings: object):
    """Another program, which runs all the time; it ends as it wants to."""
    folder.mkdir(exist_ok=True)
    script = "until test -e stop; do sleep 0.05; done; exit 7"
    invocation = Invocation(argv=("sh", "-c", script), cwd=folder, timeout=LIMIT, **settings)
    captures = []
    logs = {"stdout": folder / "neighbour.out", "stderr": folder / "neighbour.err"}
    thread = threading.Thread(target=lambda: captures.append(door.run(invocation, **logs)))
    thread.start()
    yield
    (folder / "stop").touch()
    thread.join()
    assert [(capture.ending, capture.exit_code) for capture in captures] == [(Ending.EXITED, 7)]


def left(mark: str) -> list[str]:
    """Processes that have the mark in their arguments or their environment."""
    found = []
    for process in psutil.process_iter():
        try:
            seen = [*process.cmdline(), *process.environ().values()]
            if any(mark in text for text in seen) and process.status() != psutil.STATUS_ZOMBIE:
                found.append(f"{process.pid} {process.status()} {process.name()}")
        except psutil.Error:
            continue
    return found


@pytest.mark.timed
@pytest.mark.parametrize("what", PROGRAMS)
def test_nothing_is_left_of_a_program_that_does_not_want_to_end(tmp_path, what, proved):
    mark, before = uuid4().hex, psutil.Process().memory_info().rss
    argv = (sys.executable, "-I", "-S", "-c", IMPORTS + PROGRAMS[what], mark)
    invocation = Invocation(argv=argv, cwd=tmp_path, timeout=0.7, env={"OWN": mark}, stdin="x" * MIB)
    with opened() as door, neighbour(door, tmp_path):
        began = time.monotonic()
        door.run(invocation, stdout=tmp_path / "out", stderr=tmp_path / "err")
        took = time.monotonic() - began
        assert left(mark) == []
    assert took < 15
    assert psutil.Process().memory_info().rss - before < 50 * MIB
    proved("processes", "kinds of programs that do not want to end, of which nothing was left")


# Each of them starts others as fast as it can, in sessions of their own, as long as the limit lets it.
STORM = 'trap "" TERM; while :; do setsid sh "$0" "$1" & done'


@pytest.fixture
def folder():
    """A place that every user can reach."""
    place = Path(tempfile.mkdtemp(prefix="skillgym-trees-"))
    place.chmod(0o777)
    yield place
    shutil.rmtree(place)


@pytest.mark.timed
def test_a_fork_storm_ends_with_its_program(folder, proved):
    """Under a limit for processes. Root has none, hence somebody else does it."""
    user = agent_user("nobody") if IS_ROOT else None
    already = 0 if IS_ROOT else sum(process.num_threads() for process in psutil.process_iter() if _is_ours(process))
    (folder / "storm.sh").write_text(STORM)
    mark = uuid4().hex
    argv = ("prlimit", f"--nproc={already + 100}", "sh", str(folder / "storm.sh"), mark)
    mine, others = (user.session_identity(), user.session_identity()) if user else (None, None)
    with opened(user=user) as door, neighbour(door, folder / "neighbour", identity=others):
        began = time.monotonic()
        invocation = Invocation(argv=argv, cwd=folder, timeout=1.0, identity=mine)
        door.run(invocation, stdout=folder / "out", stderr=folder / "err")
        took = time.monotonic() - began
        assert left(mark) == []
    assert "fork" in (folder / "err").read_text()  # it cannot
    assert took < 15
    proved("processes", "kinds of programs that do not want to end, of which nothing was left")


def _is_ours(process: psutil.Process) -> bool:
    try:
        return process.uids().real == os.getuid()
    except psutil.Error:
        return False


def test_a_process_without_its_environment_does_not_outlive_its_program(folder, proved):
    user = agent_user("nobody") if IS_ROOT else None
    mark = uuid4().hex
    script = f"rm -f up; env -i setsid sh -c ': >up; sleep 300; :' {mark} & until [ -e up ]; do sleep 0.01; done"
    with opened(user=user) as door:
        for identity in (user.session_identity(), user.in_place) if user else (None,):
            invocation = Invocation(argv=("sh", "-c", script), cwd=folder, timeout=LIMIT, identity=identity)
            door.run(invocation, stdout=folder / "out", stderr=folder / "err")
            assert left(mark) == []
            if identity and identity.is_own:
                door.supervisor.detach(identity)
    proved("processes", "kinds of programs that do not want to end, of which nothing was left")


class Heard:
    """Watches without a reason to stop anything."""

    def __init__(self) -> None:
        self.longest, self.finished, self.may_stop = 0, False, True

    def __call__(self, line: str) -> None:
        self.longest = max(self.longest, len(line))


@pytest.mark.slow
def test_who_prints_a_line_without_end_is_ended_and_takes_little_memory(tmp_path, proved):
    heard, before = Heard(), psutil.Process().memory_info().rss
    invocation = Invocation(argv=("sh", "-c", f"head -c {GIB} /dev/zero; echo"), cwd=tmp_path, timeout=60)
    with opened() as door:
        capture = door.run(invocation, stdout=tmp_path / "out", stderr=tmp_path / "err", watch=heard)
    assert capture.ending is Ending.STOPPED
    assert (tmp_path / "out").stat().st_size < GIB
    assert heard.longest < 8 * MIB
    assert psutil.Process().memory_info().rss - before < 50 * MIB
    (tmp_path / "out").unlink()
    proved("processes", "agents that wrote much, with less than 150 MiB of our memory")


LOUD = {
    "32 MiB on stdout, in lines": f"yes 'a line of an agent that has much to tell' | head -c {32 * MIB}",
    "a gigabyte in a file of the workspace": f"head -c {GIB} /dev/zero >large",
}


@pytest.mark.slow
@pytest.mark.parametrize("what", LOUD)
def test_what_an_agent_writes_takes_no_memory_and_harms_no_other(tmp_path, what, proved):
    files = {
        "skillgym.config.yaml": config(runner(f'if [ "{{case_id}}" = loud ]; then {LOUD[what]}; fi; echo x >out.txt')),
        "bench/core.json": suite(case("loud"), case("quiet")),
    }
    repository(tmp_path, files)
    took = measured("run", "--jobs", "2", "--output", "results", cwd=tmp_path)
    assert took.code == 0, took.out + took.err
    assert took.megabytes < 150
    proved("processes", "agents that wrote much, with less than 150 MiB of our memory")
