"""The tool in a process of its own, and what that took: seconds of processors, and memory of it and its children."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scratch import HUNG, PROGRAM, environment

if TYPE_CHECKING:
    from pathlib import Path

REFERENCE_SECONDS = 0.32
"""Processor seconds of :func:`slowness`'s work on the machine for which limits in seconds are stated."""
NOISE = 1.25
"""How much longer a run may take than the work of :func:`slowness` says: measured were 3.8 to 4.7 for one run."""
LONGEST_LINE = 8_000
MOST_TEXT = 2_000_000  # bytes

# Starts the program from a small process, whose own memory would count otherwise; adds the children's up as it goes.
WATCH = r"""
import json, os, sys, time

def children(pid):
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children") as file:
                yield from map(int, file.read().split())
    except OSError:
        pass

def family(pid):
    yield pid
    for child in children(pid):
        yield from family(child)

def memory(pid):
    try:
        with open(f"/proc/{pid}/statm") as file:
            return file.read()
    except OSError:
        return ""

def resident(pid, above=""):
    own = memory(pid)
    # Until a child executes a program, it shares its parent's memory, which must not count twice.
    pages = int(own.split()[1]) if own not in ("", above) else 0
    return pages * os.sysconf("SC_PAGESIZE") + sum(resident(child, own) for child in children(pid))

told, limit, *argv = sys.argv[1:]
os.set_inheritable(int(told), False)
began = time.monotonic()
pid = os.posix_spawn(argv[0], argv, os.environ)
ended, peak = 0, 0
while not ended:
    ended, status, used = os.wait4(pid, os.WNOHANG)
    if not ended:
        peak = max(peak, resident(pid))
        if time.monotonic() - began > float(limit):
            for one in reversed(list(family(pid))):
                os.kill(one, 9)
        time.sleep(0.02)
found = [os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, max(peak, used.ru_maxrss * 1024)]
os.write(int(told), json.dumps(found).encode())
"""


WORK = """
import json, re, time

began = time.process_time()
for _ in range(3):
    text = json.dumps([{"id": f"case-{number}", "list": [number, str(number)]} for number in range(60_000)])
    json.loads(text)
    re.findall(r"case-\\d+", text)
print(time.process_time() - began)
"""


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A run that has ended. ``seconds`` are those of processors; compare them with :func:`is_within`.

    ``megabytes`` is the most that it and its children had at one time. ``slowness``: of the machine, before the run. A
    run of more than ``limit`` seconds is ended, code -9.
    """

    code: int
    seconds: float
    megabytes: float
    slowness: float
    out: str
    err: str


def measured(
    *args: str | Path, cwd: Path, program: str | Path = PROGRAM, limit: float = HUNG, stdin: str = ""
) -> Measured:
    """The tool, or another program, with its arguments."""
    slow = slowness()
    read, write = os.pipe()
    argv = (sys.executable, "-S", "-E", "-c", WATCH, str(write), str(limit), *map(os.fspath, (program, *args)))
    with os.fdopen(read) as told:
        streams = {"input": stdin.encode(), "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        done = subprocess.run(argv, cwd=cwd, env=environment(), pass_fds=(write,), check=True, **streams)
        os.close(write)
        code, seconds, size = json.loads(told.read())
    out, err = (stream.decode(errors="replace") for stream in (done.stdout, done.stderr))
    return Measured(code=code, seconds=seconds, megabytes=size / 1e6, slowness=slow, out=out, err=err)


def is_within(seconds: float, limit: float, before: float = 1.0) -> bool:
    """Whether a run took less than ``limit`` processor seconds, or than its multiple where this machine is slow.

    ``before``: its slowness when the run began; that of now is measured.
    """
    return seconds < limit or seconds < limit * NOISE * max(before, *(slowness() for _ in range(3)))


def is_bounded(ran: Measured, seconds: float, megabytes: float) -> None:
    """Assert that a run took little time and memory, and wrote no traceback and no long text."""
    assert "Traceback" not in ran.err + ran.out
    assert max(map(len, ran.err.split("\n"))) < LONGEST_LINE
    assert len(ran.err) < MOST_TEXT
    assert is_within(ran.seconds, seconds, ran.slowness)
    assert ran.megabytes < megabytes


def slowness() -> float:
    """Processor seconds that this machine needs now, as a multiple of those of the machine of the limits; at least 1.

    Neighbours of a virtual machine change its processor seconds by a factor of two, from one moment to the next. The
    work is done in a process of its own: in this one, earlier tests may have turned the garbage collector off.
    """
    argv = (sys.executable, "-I", "-S", "-c", WORK)
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True)
    return max(1.0, float(done.stdout) / REFERENCE_SECONDS)
