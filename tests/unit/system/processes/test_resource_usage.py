"""What processes and folders use of the machine, measured at real ones; and what a watch says of them."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from growth import processor_seconds
from scratch import written
from sessions import capture_of
from skillgym_action.agents.output.trouble_signs import crashed, trouble_of_signal
from skillgym_action.model.resource_limits import ResourceLimits
from skillgym_action.model.session import Ending
from skillgym_action.model.session_report import Trouble
from skillgym_action.sessions.session_limits import trouble_of_ending
from skillgym_action.system.processes.disk_usage import DiskReserve, default_reserve, disk_used, free_space
from skillgym_action.system.processes.launcher import rlimits
from skillgym_action.system.processes.resource_usage import (
    ResourceMonitor,
    SessionProcesses,
    memory_by_psutil,
    memory_size,
    proportional_memory,
    usage_by_psutil,
)
from skillgym_action.system.supervisor.child import set_limits
from waiting import until

if TYPE_CHECKING:
    from collections.abc import Iterator

MIB = 1024**2
ALLOCATES = "import sys; block = bytearray(int(sys.argv[1])); print('ready', flush=True); sys.stdin.read()"
FORKS = """
import os, sys
for _ in range(int(sys.argv[1])):
    if os.fork() == 0:
        sys.stdin.read()
        os._exit(0)
print('ready', flush=True)
sys.stdin.read()
"""
SHARES = "import sys; block = bytearray(100 * 1024**2)" + FORKS
THREADS = """
import sys, threading
for _ in range(int(sys.argv[1])):
    threading.Thread(target=sys.stdin.read, daemon=True).start()
print('ready', flush=True)
threading.Event().wait(60)
"""
A_USER = 1_000_000 + 2 * os.getpid()  # an identity that no other process has, nor the next one: also of other test runs


@contextlib.contextmanager
def running(source: str, argument: int) -> Iterator[int]:
    """A Python program that has done its work and waits; everything it started ends with its stdin."""
    argv = (sys.executable, "-I", "-S", "-c", source, str(argument))
    with subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as child:
        assert child.stdout
        assert child.stdout.readline() == "ready\n"
        try:
            yield child.pid
        finally:
            os.killpg(child.pid, signal.SIGKILL)


# --- processes ----------------------------------------------------------------------------------------


def test_the_memory_of_a_process_is_measured():
    with running(ALLOCATES, 200 * MIB) as pid:
        used = SessionProcesses(pid=pid).usage()
        assert 200 * MIB < used.memory < 250 * MIB
        assert (used.processes, used.pids) == (1, (pid,))


def test_descendants_are_counted_with_their_threads():
    with running(FORKS, 50) as pid:
        assert SessionProcesses(pid=pid).usage().processes == 51
    with running(THREADS, 20) as pid:
        assert SessionProcesses(pid=pid).usage().processes == 21


def test_what_has_ended_uses_nothing():
    with running(FORKS, 1) as pid:
        processes = SessionProcesses(pid=pid)
    assert (processes.usage().memory, processes.usage().processes) == (0, 0)


def test_other_systems_are_asked_through_psutil():
    with running(ALLOCATES, 100 * MIB) as pid:
        ours, theirs = SessionProcesses(pid=pid).usage(), usage_by_psutil(None, pid)
        assert (ours.processes, ours.pids) == (theirs.processes, theirs.pids)
        assert abs(ours.memory - theirs.memory) < MIB
        assert pid in usage_by_psutil(os.geteuid(), None).pids
        assert abs(memory_by_psutil([pid]) - theirs.memory) < MIB


def test_memory_that_processes_share_counts_once():
    with running(SHARES, 10) as pid:
        used = SessionProcesses(pid=pid).usage()
        assert used.memory > 1000 * MIB
        assert proportional_memory(used.pids) < 200 * MIB
        assert ResourceMonitor(ResourceLimits(memory=500 * MIB), pid=pid).exceeded() is None


def test_a_look_takes_less_than_twice_the_reading_of_a_file_of_each_process():
    with running(FORKS, 300) as pid:
        for processes in (SessionProcesses(pid=pid), SessionProcesses(uid=A_USER)):
            processes.usage()
            looks = processor_seconds(processes.usage, tries=30)
            assert looks < 2 * processor_seconds(read_a_file_of_each_process, tries=30)


def read_a_file_of_each_process() -> None:
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):  # it has ended
                (folder / "stat").read_bytes()


def test_all_processes_of_a_user_are_found_also_one_that_hides_from_debuggers():
    """Root owns the files below /proc of a process that may not be traced."""
    root = os.geteuid() == 0
    becomes = f"os.setgroups([]); os.setgid({A_USER}); os.setuid({A_USER})\n" if root else ""
    hides = f"import ctypes, os\n{becomes}ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)\n{FORKS}"
    with running(hides, 5) as pid:
        assert Path(f"/proc/{pid}/stat").stat().st_uid == 0
        found = SessionProcesses(uid=A_USER if root else os.geteuid())
        for used in (found.usage(), found.usage()):
            assert set(used.pids) >= set(SessionProcesses(pid=pid).usage().pids)
            assert len(used.pids) == 6 or not root


def test_processes_of_others_do_not_count_for_a_user():
    with running(FORKS, 5):
        assert SessionProcesses(uid=A_USER + 1).usage().pids == ()


def test_the_machine_has_memory():
    found = memory_size()
    assert found
    assert 256 * MIB < found <= os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


# --- folders ------------------------------------------------------------------------------------------


def du(folder: Path) -> int:
    told = subprocess.run(("du", "-sx", "-B1", folder), check=True, capture_output=True, text=True).stdout
    return int(told.split()[0])


def filled(folder: Path, size: int) -> Path:
    return written(folder, {"a/b/c.bin": os.urandom(size // 2), "d.bin": os.urandom(size // 2)})


def test_a_folder_is_measured_as_du_does(tmp_path):
    filled(tmp_path, 3 * MIB)
    os.link(tmp_path / "d.bin", tmp_path / "a" / "again.bin")
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(100 * MIB)
    os.mkfifo(tmp_path / "fifo")
    assert disk_used([tmp_path]) == du(tmp_path)


def test_links_are_not_followed(tmp_path):
    filled(tmp_path / "outside", 4 * MIB)
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "file").symlink_to(tmp_path / "outside" / "d.bin")
    (inside / "folder").symlink_to(tmp_path / "outside")
    (inside / "loop").symlink_to(inside)
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "outside")
    assert disk_used([inside]) == du(inside) < MIB
    assert disk_used([link]) == 0, "a folder that was replaced by a link"


def test_folders_nested_deeper_than_descriptors_reach_are_measured(tmp_path):
    fd, opened = os.open(tmp_path, os.O_RDONLY), set(Path("/proc/self/fd").iterdir())
    for _ in range(1500):
        os.mkdir("x", dir_fd=fd)
        below = os.open("x", os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = below
    file = os.open("deep.bin", os.O_WRONLY | os.O_CREAT, dir_fd=fd)
    os.write(file, os.urandom(2 * MIB))
    os.close(file)
    os.close(fd)
    assert disk_used([tmp_path]) > 2 * MIB
    assert set(Path("/proc/self/fd").iterdir()) <= opened, "no descriptor is left open"
    subprocess.run(("rm", "-rf", tmp_path / "x"), check=True)


def test_the_look_ends_as_soon_as_it_has_found_enough(tmp_path):
    for name in "abc":
        filled(tmp_path / name, 2 * MIB)
    assert 3 * MIB < disk_used([tmp_path], enough=3 * MIB) < 5 * MIB


def test_what_is_not_there_and_what_vanishes_counts_nothing(tmp_path):
    assert disk_used([tmp_path / "gone"]) == 0
    script = "while mkdir -p x/y && echo x > x/y/z; do rm -rf x; done"
    with subprocess.Popen(("sh", "-c", script), cwd=tmp_path, stderr=subprocess.DEVNULL) as child:
        for _ in range(300):
            assert disk_used([tmp_path]) < MIB
        child.kill()


# --- the watch ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "argument", "limits", "message"),
    [
        pytest.param(ALLOCATES, 200 * MIB, {"memory": 100 * MIB}, "used 2", id="memory"),
        pytest.param(FORKS, 50, {"processes": 40}, "ran 51 processes and threads; the limit is 40", id="processes"),
    ],
)
def test_a_session_over_a_limit_is_told_with_what_it_used(source, argument, limits, message):
    with running(source, argument) as pid:
        found = ResourceMonitor(ResourceLimits(**limits), pid=pid).exceeded()
        assert found
        assert found.kind == "resource-limit"
        assert found.message.startswith(message)
        (name,) = limits
        assert found.message.endswith(f"(limits.{name})")
        assert ResourceMonitor(ResourceLimits(memory=900 * MIB, processes=90), pid=pid).exceeded() is None


def test_the_message_names_use_limit_and_key():
    with running(ALLOCATES, 200 * MIB) as pid:
        found = ResourceMonitor(ResourceLimits(memory=100 * MIB), pid=pid).exceeded()
        assert found
        used = found.message.removeprefix("used ").split(" MiB")[0]
        assert 200 < float(used) < 250
        assert found.message == f"used {used} MiB of memory; the limit is 100 MiB (limits.memory)"


def test_folders_over_the_limit_are_a_trouble(tmp_path):
    filled(tmp_path, 3 * MIB)
    over = ResourceMonitor(ResourceLimits(disk=2 * MIB), pid=os.getpid(), folders=[tmp_path]).exceeded()
    message = "its folders have more than 2 MiB, the limit (limits.disk)"
    assert over == Trouble(kind="resource-limit", message=message)
    assert ResourceMonitor(ResourceLimits(disk=9 * MIB), pid=os.getpid(), folders=[tmp_path]).exceeded() is None


@pytest.mark.slow
def test_a_large_folder_is_not_looked_at_all_the_time(tmp_path):
    for number in range(2000):
        (tmp_path / f"{number}").touch()
    watch = ResourceMonitor(ResourceLimits(disk=900 * MIB), pid=os.getpid(), folders=[tmp_path])
    one_look = processor_seconds(lambda: disk_used([tmp_path]))
    took = processor_seconds(lambda: [watch.exceeded() for _ in range(1000)])
    assert took < 100 * one_look, "most of them cost nothing"


def test_without_limits_nothing_is_looked_at():
    assert ResourceMonitor(ResourceLimits(), pid=os.getpid()).exceeded() is None


# --- the reserve --------------------------------------------------------------------------------------


def test_when_the_reserve_is_used_up_the_largest_session_has_to_go(tmp_path):
    small, large = [filled(tmp_path / "small", 3 * MIB)], [filled(tmp_path / "large", 6 * MIB)]
    left = [2 * MIB]
    reserve = DiskReserve(tmp_path, reserve=2 * MIB, free=lambda _: left[0])
    for one in (small, large):
        reserve.add(one)
    watches = [
        ResourceMonitor(ResourceLimits(), pid=os.getpid(), folders=one, reserve=reserve) for one in (small, large)
    ]
    assert [watch.exceeded() for watch in watches] == [None, None], "enough is left"
    left[0] -= 1
    second = until(watches[1].exceeded, "the largest one has to go")  # measuring is followed by a pause
    assert watches[0].exceeded() is None
    what = "the file system for temporary files is nearly full, and no other session uses as much of it: 6."
    assert (second.kind, second.message[: len(what)]) == ("resource-limit", what)
    reserve.remove(large)
    assert reserve.usage_of_largest(small) == disk_used(small), "then it is the largest"


def test_to_end_a_session_that_is_smaller_than_the_reserve_would_help_nobody(tmp_path):
    small = [filled(tmp_path / "small", 3 * MIB)]
    reserve = DiskReserve(tmp_path, reserve=9 * MIB, free=lambda _: 0)
    reserve.add(small)
    assert reserve.usage_of_largest(small) is None


def test_the_default_reserve_is_a_part_of_the_file_system(tmp_path):
    found = os.statvfs(tmp_path)
    assert free_space(tmp_path) <= found.f_blocks * found.f_frsize
    assert DiskReserve(tmp_path).bytes == default_reserve(tmp_path)
    assert default_reserve(tmp_path) == min(512 * MIB, found.f_blocks * found.f_frsize // 20)
    assert DiskReserve(tmp_path).usage_of_largest([tmp_path]) is None


# --- what the kernel limits -----------------------------------------------------------------------------


def test_the_limits_of_a_process():
    limits = ResourceLimits(memory=MIB, disk=MIB, processes=2048, file_size=4 * MIB)
    both = dict(rlimits(limits, own_user=True))
    assert both == {resource.RLIMIT_CORE: 0, resource.RLIMIT_FSIZE: 4 * MIB, resource.RLIMIT_NPROC: 2048}
    assert resource.RLIMIT_NPROC not in dict(rlimits(limits, own_user=False)), "others have the user as well"
    assert dict(rlimits(ResourceLimits(), own_user=True, data=MIB)) == {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_DATA: MIB,
    }


def under_limits(script: str, limits: ResourceLimits) -> subprocess.CompletedProcess[str]:
    wanted = rlimits(limits, own_user=False)
    return subprocess.run(
        ("sh", "-c", script), preexec_fn=lambda: set_limits(wanted), check=False, capture_output=True, text=True
    )


def test_a_program_that_writes_too_large_a_file_is_over_a_limit(tmp_path):
    limits = ResourceLimits(file_size=MIB)
    at_once = under_limits(f"exec dd if=/dev/zero of={tmp_path}/a bs=64k count=64", limits)
    by_shell = under_limits(f"dd if=/dev/zero of={tmp_path}/b bs=64k count=64; exit $?", limits)
    assert (at_once.returncode, by_shell.returncode) == (-signal.SIGXFSZ, 128 + signal.SIGXFSZ)
    for ended in (at_once, by_shell):
        trouble = trouble_of_signal(ended.returncode)
        assert trouble
        assert (trouble.kind, "limits.fileSize" in trouble.message) == ("resource-limit", True)
    assert [path.stat().st_size for path in (tmp_path / "a", tmp_path / "b")] == [MIB, MIB]


def test_there_are_no_core_dumps_and_no_limit_is_raised():
    ended = under_limits("ulimit -c; ulimit -f", ResourceLimits(file_size=MIB))
    assert ended.stdout.split() == ["0", str(MIB // 512)]
    raises = "from skillgym_action.system.supervisor.child import set_limits; set_limits(((1, 1 << 40),))"
    asks = "import resource; print(resource.getrlimit(1))"
    inner = under_limits(f"{sys.executable} -c '{raises}; {asks}'", ResourceLimits(file_size=MIB))
    assert inner.stdout == f"({MIB}, {MIB})\n"


@pytest.mark.parametrize("code", [0, 1, None, -signal.SIGKILL, 137])
def test_other_endings_are_no_limit(code):
    assert trouble_of_signal(code) is None


def test_an_agent_that_ended_so_is_over_a_limit_whatever_its_adapter_says():
    signalled = capture_of(ending=Ending.SIGNALLED, exit_code=-signal.SIGXFSZ)
    by_shell = capture_of(ending=Ending.EXITED, exit_code=128 + signal.SIGXFSZ)
    assert [
        found.kind for found in (trouble_of_ending(signalled, 9), crashed(signalled), crashed(by_shell)) if found
    ] == ["resource-limit"] * 3
    assert trouble_of_ending(capture_of(ending=Ending.SIGNALLED, exit_code=-9), 9) is None
