"""Programs: however a program ends, nothing of it is left."""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import TYPE_CHECKING
from uuid import uuid4

import psutil
import pytest

from skillgym_action.model.limits import KILL_SECONDS
from skillgym_action.model.resource_limits import ResourceLimits
from skillgym_action.model.session import Ending, Invocation
from skillgym_action.model.session_report import Trouble
from skillgym_action.system.cancellation import Cancellation
from skillgym_action.system.processes.launcher import ProcessLauncher
from skillgym_action.system.processes.outputs import MAX_OUTPUT_LINE_BYTES, OutputFile
from waiting import LIMIT, until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from skillgym_action.model.session import Capture


@pytest.fixture
def cancelled() -> Iterator[Cancellation]:
    cancellation = Cancellation()
    yield cancellation
    cancellation.close()


@pytest.fixture
def processes(cancelled: Cancellation) -> Iterator[ProcessLauncher]:
    with ProcessLauncher(environment=dict(os.environ), cancelled=cancelled) as door:
        yield door


class Watch:
    """Stops a program at one line, and takes another one for its result."""

    may_stop = True

    def __init__(self, stop: str = "", result: str = "") -> None:
        self.stop, self.result = stop, result
        self.seen: list[str] = []

    @property
    def finished(self) -> int:
        return self.seen.count(self.result) if self.has_result else 0

    @property
    def has_result(self) -> bool:
        return bool(self.result) and self.seen[-1:] == [self.result]

    def __call__(self, line: str) -> Trouble | None:
        self.seen.append(line)
        return Trouble(kind="max-steps", message=line) if line == self.stop else None


def run(processes: ProcessLauncher, folder: Path, script: str, **settings: object) -> Capture:
    watch = settings.pop("watch", None)
    invocation = Invocation(argv=("sh", "-c", script), cwd=folder, **{"timeout": LIMIT, **settings})
    return processes.run(invocation, stdout=folder / "out", stderr=folder / "err", watch=watch)


def unique_seconds(prefix: int) -> str:
    """For programs that sleep as long as that, and are found by it."""
    return f"{prefix}{uuid4().int % 10**9:09}"


def sleeping(marker: str) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        try:
            if marker in " ".join(process.cmdline()) and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except psutil.Error:
            continue
    return found


# Ends once what it starts is there.
DAEMON = "{start} sh -c ': >up; exec sleep {mark}' & until test -e up; do sleep 0.01; done"


def test_output_and_exit_code_are_captured(processes: ProcessLauncher, tmp_path: Path) -> None:
    capture = run(processes, tmp_path, "echo out; echo err >&2; exit 3")
    assert (capture.ending, capture.exit_code) == (Ending.EXITED, 3)
    assert list(capture.stdout.lines()) == ["out"]
    assert capture.stderr.tail(100) == "err\n"


def test_a_program_sees_only_the_allowed_environment(cancelled: Cancellation, tmp_path: Path) -> None:
    ours = {"PATH": os.environ["PATH"], "GITHUB_TOKEN": "t", "ACTIONS_RUNTIME_TOKEN": "t", "ANTHROPIC_API_KEY": "k"}
    with ProcessLauncher(environment=ours, cancelled=cancelled) as door:
        capture = run(door, tmp_path, "env", env={"NAMED": "yes"})
    names = {line.partition("=")[0] for line in capture.stdout.lines()}
    assert names - {"PWD", "SHLVL", "_", "OLDPWD"} == {"PATH", "NAMED"}


def test_standard_input_is_empty_unless_given(processes: ProcessLauncher, tmp_path: Path) -> None:
    assert list(run(processes, tmp_path, "cat").stdout.lines()) == []
    assert list(run(processes, tmp_path, "cat", stdin="a\nb").stdout.lines()) == ["a", "b"]


def test_a_program_that_is_not_there_is_a_value(processes: ProcessLauncher, tmp_path: Path) -> None:
    capture = processes.run(
        Invocation(argv=("no-such-agent",), cwd=tmp_path, timeout=LIMIT),
        stdout=tmp_path / "out",
        stderr=tmp_path / "err",
    )
    assert capture.ending is Ending.NOT_STARTED
    assert capture.error == "cannot start 'no-such-agent': No such file or directory"


@pytest.mark.parametrize(
    ("argv", "shown"),
    [
        pytest.param("{folder}/my agent", "'{folder}/my agent'", id="at its path"),
        pytest.param("./my agent", "'{folder}/./my agent'", id="in its working directory"),
        pytest.param("my agent", "'{folder}/my agent'", id="on PATH"),
    ],
)
def test_a_program_that_is_not_executable_has_its_remedy(
    processes: ProcessLauncher, tmp_path: Path, argv: str, shown: str
) -> None:
    (tmp_path / "my agent").write_text("#!/bin/sh\n")
    program = argv.format(folder=tmp_path)
    invocation = Invocation(argv=(program,), cwd=tmp_path, timeout=LIMIT, env={"PATH": str(tmp_path)})
    capture = processes.run(invocation, stdout=tmp_path / "out", stderr=tmp_path / "err")
    remedy = f"run chmod +x {shown.format(folder=tmp_path)}"
    assert capture.error == f"cannot start {program!r}: Permission denied; {remedy}"


def test_a_program_that_is_executable_and_cannot_be_started_has_no_such_remedy(
    processes: ProcessLauncher, tmp_path: Path
) -> None:
    (tmp_path / "interpreter").write_text("")
    agent = tmp_path / "agent"
    agent.write_text(f"#!{tmp_path}/interpreter\n")
    agent.chmod(0o755)
    invocation = Invocation(argv=(str(agent),), cwd=tmp_path, timeout=LIMIT)
    capture = processes.run(invocation, stdout=tmp_path / "out", stderr=tmp_path / "err")
    assert capture.error == f"cannot start '{agent}': Permission denied"


def test_a_signal_is_told_apart_from_an_exit_code(processes: ProcessLauncher, tmp_path: Path) -> None:
    assert run(processes, tmp_path, "kill -KILL $$").ending is Ending.SIGNALLED


@pytest.mark.parametrize(
    "script",
    [
        pytest.param("sleep {mark}", id="the program itself"),
        pytest.param("sleep {mark} & wait", id="a child"),
        pytest.param("setsid sleep {mark} & sleep {mark}", id="a grandchild in its own session"),
        pytest.param(
            "(setsid sh -c 'sleep {mark} & sleep {mark}' &) ; sleep {mark}", id="a double fork in its own session"
        ),
        pytest.param(
            "trap '' TERM; (trap '' TERM; setsid sh -c \"trap '' TERM; sleep {mark}\") & sleep {mark}",
            id="TERM is ignored",
        ),
        pytest.param("setsid sleep {mark} & kill -STOP $! ; sleep {mark}", id="a stopped grandchild"),
        pytest.param("setsid sleep {mark} & kill -STOP $PPID; sleep {mark}", id="a stopped supervisor"),
    ],
)
@pytest.mark.timed
def test_after_the_time_limit_no_process_is_left(processes: ProcessLauncher, tmp_path: Path, script: str) -> None:
    mark = unique_seconds(86)
    capture = run(processes, tmp_path, script.format(mark=mark), timeout=0.5)
    assert (capture.ending, capture.seconds < 10) == (Ending.TIMED_OUT, True)
    assert sleeping(mark) == []


def test_what_an_ended_program_left_behind_is_ended(processes: ProcessLauncher, tmp_path: Path) -> None:
    mark = unique_seconds(87)
    capture = run(processes, tmp_path, DAEMON.format(start="setsid", mark=mark))
    assert (capture.ending, capture.exit_code) == (Ending.EXITED, 0)
    assert sleeping(mark) == []


def test_a_process_with_an_environment_and_a_session_of_its_own_is_ended_with_its_program(
    processes: ProcessLauncher, tmp_path: Path
) -> None:
    mark = unique_seconds(88)
    run(processes, tmp_path, DAEMON.format(start="env -i setsid setsid", mark=mark))
    assert sleeping(mark) == []


def test_a_program_that_kills_its_supervisor_leaves_nothing(processes: ProcessLauncher, tmp_path: Path) -> None:
    mark = unique_seconds(89)
    capture = run(processes, tmp_path, DAEMON.format(start="setsid", mark=mark) + "; kill -9 $PPID; sleep 60")
    assert capture.ending is Ending.LOST
    until(lambda: not sleeping(mark), "the end of what the program started")


@pytest.mark.timed
def test_a_parent_that_waits_for_its_child_to_call_exec_is_ended_without_delay(
    processes: ProcessLauncher, tmp_path: Path
) -> None:
    """``posix_spawn`` is a ``vfork``: while the child opens a FIFO, the parent cannot be interrupted."""
    spawn = "import os; os.mkfifo('fifo'); open('up', 'w').close(); os.posix_spawn('/bin/true', ['true'], {},"
    program = f"exec python3 -c \"{spawn} file_actions=[(os.POSIX_SPAWN_OPEN, 0, 'fifo', os.O_RDONLY, 0)])\""
    began = time.monotonic()
    capture = run(processes, tmp_path, program, timeout=1)
    assert (capture.ending, (tmp_path / "up").exists()) == (Ending.TIMED_OUT, True)
    assert time.monotonic() - began < KILL_SECONDS


def test_a_program_gains_no_rights_from_its_file(processes: ProcessLauncher, tmp_path: Path) -> None:
    assert list(run(processes, tmp_path, "grep NoNewPrivs /proc/self/status").stdout.lines()) == ["NoNewPrivs:\t1"]


def test_a_program_has_a_session_of_its_own(processes: ProcessLauncher, tmp_path: Path) -> None:
    """Hence neither the terminal of the tool, nor a process group with it."""
    (line,) = run(processes, tmp_path, "read -r line </proc/$$/stat; echo $line").stdout.lines()
    pid, _, _, _, group, session, *_ = line.split()
    assert group == session == pid


def test_a_program_runs_under_its_limits(processes: ProcessLauncher, tmp_path: Path) -> None:
    capture = run(processes, tmp_path, "ulimit -c; ulimit -f", limits=ResourceLimits(file_size=1024**2))
    assert list(capture.stdout.lines()) == ["0", "2048"]


def test_a_watcher_can_stop_a_program(processes: ProcessLauncher, tmp_path: Path) -> None:
    watch = Watch(stop="3")
    capture = run(processes, tmp_path, "for i in 1 2 3 4; do echo $i; done; sleep 30", watch=watch)
    assert capture.ending is Ending.STOPPED
    assert capture.stopped_for == Trouble(kind="max-steps", message="3")
    assert watch.seen == ["1", "2", "3"]


def test_a_watcher_sees_what_was_printed_last(processes: ProcessLauncher, tmp_path: Path) -> None:
    capture = run(processes, tmp_path, "echo quick", watch=Watch(stop="quick"))
    assert capture.stopped_for == Trouble(kind="max-steps", message="quick")


@pytest.mark.parametrize(
    ("script", "ending"),
    [
        pytest.param("echo result; sleep 600", Ending.LINGERED, id="hangs after its result", marks=pytest.mark.timed),
        pytest.param("echo result", Ending.EXITED, id="exits after its result"),
        pytest.param(
            "echo result; echo more; sleep 600", Ending.TIMED_OUT, id="goes on, and hangs", marks=pytest.mark.timed
        ),
        pytest.param("echo else; sleep 600", Ending.TIMED_OUT, id="hangs without one", marks=pytest.mark.timed),
    ],
)
def test_a_program_that_has_told_its_result_may_not_go_on_for_long(processes, tmp_path, script, ending):
    processes.result_linger = LIMIT if ending is Ending.EXITED else 0.3
    timeout = 2.0 if ending is Ending.TIMED_OUT else LIMIT
    capture = run(processes, tmp_path, script, watch=Watch(result="result"), timeout=timeout)
    assert capture.ending is ending


def test_a_cancellation_ends_what_runs_at_once(
    processes: ProcessLauncher, cancelled: Cancellation, tmp_path: Path
) -> None:
    cancelling = threading.Thread(target=lambda: until((tmp_path / "begun").exists, "the program") and cancelled.set())
    cancelling.start()
    capture = run(processes, tmp_path, "touch begun; sleep 10; touch went-on")
    cancelling.join()
    assert (capture.ending, (tmp_path / "went-on").exists()) == (Ending.CANCELLED, False)


def test_lines_survive_bytes_that_are_not_text(tmp_path: Path) -> None:
    file = tmp_path / "out"
    file.write_bytes(b"ok\r\n\xff\xfe\nlast")
    assert list(OutputFile(file).lines()) == ["ok", "\ufffd\ufffd", "last"]
    assert list(OutputFile(tmp_path / "none").lines()) == []


def test_an_over_long_line_is_cut_and_the_next_one_is_whole(tmp_path: Path) -> None:
    file = tmp_path / "out"
    size = MAX_OUTPUT_LINE_BYTES + 1024
    file.write_bytes(b"x" * size + b"\n" + b"y" * MAX_OUTPUT_LINE_BYTES + b"\nnext")
    first, second, third = OutputFile(file).lines()
    head, note = first.split("\n")
    assert (len(head), note) == (
        MAX_OUTPUT_LINE_BYTES,
        f"[a line of {size:,} bytes, of which {MAX_OUTPUT_LINE_BYTES // 1024**2} MiB are read]",
    )
    assert (len(second), third) == (MAX_OUTPUT_LINE_BYTES, "next")


def test_many_at_once_do_not_end_each_other(processes: ProcessLauncher, tmp_path: Path) -> None:
    codes: list[int | None] = []

    def one(number: int) -> None:
        folder = tmp_path / str(number)
        folder.mkdir()
        all_are_there = "touch ../up-$$; until [ $(ls .. | grep -c up-) = 8 ]; do sleep 0.01; done"
        codes.append(run(processes, folder, f"{sys.executable} -c pass; {all_are_there}; exit 7").exit_code)

    threads = [threading.Thread(target=one, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert codes == [7] * 8


def test_arguments_that_no_program_can_be_given_are_not_a_missing_program(
    processes: ProcessLauncher, tmp_path: Path
) -> None:
    for argument in ("x" * 3_000_000, "a\0b"):
        invocation = Invocation(argv=("echo", argument), cwd=tmp_path, timeout=5)
        capture = processes.run(invocation, stdout=tmp_path / "out", stderr=tmp_path / "err")
        assert capture.ending is Ending.REFUSED
        assert capture.error
