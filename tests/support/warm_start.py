"""The tool in a process of its own that has already imported its modules: imports take most of the time of a short run.

Python's fork server imports them (``warm_modules.py``). A run then continues like the tool's second start: with a bare
environment, and with the whole one in a memory file (``cli/process_protection.py``). Tests of the first start, of
signals, time and memory use the console script itself.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from functools import cache
from multiprocessing import forkserver, get_context
from multiprocessing.connection import wait
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector
from typing import TYPE_CHECKING

from skillgym_action import __main__ as entry_points
from skillgym_action.cli import process_protection as hardening

if TYPE_CHECKING:
    from collections.abc import Mapping
    from multiprocessing.connection import Connection
    from multiprocessing.context import ForkServerContext

ENTRIES = {"skillgym-action": entry_points.main, "skillgym-action-entrypoint": entry_points.action}
RUNS: list[str] = []
"""The programs that this process has started, for tests that count whole runs."""
_STARTING, _ENDED = threading.Lock(), threading.Lock()


def can_start_warm(more: Mapping[str, str]) -> bool:
    """Whether none of the variables, which are added to those of the tests, has an effect before imports are done."""
    early = {*hardening.STARTING, *hardening.LASTING, hardening.PASSED_ON} - {"PATH", "FORCE_COLOR", "NO_COLOR"}
    return sys.platform == "linux" and not any(name in early or name.startswith(hardening.LOCALE) for name in more)


def warm_run(
    program: Path, *args: str, cwd: Path, env: Mapping[str, str], limit: float
) -> subprocess.CompletedProcess[bytes]:
    """A run of a console script of the tool. Raises TimeoutExpired after ``limit`` seconds, and ends it."""
    RUNS.append(program.name)
    argv, until = [str(program), *args], time.monotonic() + limit
    (out, out_of_child), (error, error_of_child) = (_fork_server().Pipe(duplex=False) for _ in range(2))
    # The server passes these ends to the child when it starts. This process closes its own: otherwise it would wait for
    # ever for the output of a child that died before it received them.
    outputs = (out_of_child, error_of_child)
    run = _fork_server().Process(target=_run, args=(argv, str(cwd), dict(env), outputs))
    with _ENDED:  # reads the exit codes of processes that have ended, those of other threads, too
        run.start()
    for output in outputs:
        output.close()
    with out, error:
        texts = _contents([out.fileno(), error.fileno()], until)
        wait([run.sentinel], max(0, until - time.monotonic()))
        with _ENDED:  # an exit code can be read once; a thread that comes second gets 255
            code = run.exitcode
        if texts is None or code is None:
            run.kill()
            raise subprocess.TimeoutExpired(argv, limit)
    return subprocess.CompletedProcess(argv, code, *texts)


def _contents(descriptors: list[int], until: float) -> list[bytes] | None:
    """All that is written to pipes; None if they are still open at ``until``, on the clock ``time.monotonic``."""
    found = {descriptor: bytearray() for descriptor in descriptors}
    with DefaultSelector() as selector:
        for descriptor in descriptors:
            selector.register(descriptor, EVENT_READ)
        while selector.get_map():
            if (left := until - time.monotonic()) <= 0:
                return None
            for key, _ in selector.select(left):
                if chunk := os.read(key.fd, 1 << 16):
                    found[key.fd] += chunk
                else:
                    selector.unregister(key.fd)
    return [bytes(text) for text in found.values()]


def _fork_server() -> ForkServerContext:
    with _STARTING:  # threads may be the first at the same time
        return _started()


@cache
def _started() -> ForkServerContext:
    """The running server. Not all versions of Python pass ``sys.path`` to it, so ``PYTHONPATH`` does."""
    context = get_context("forkserver")
    context.set_forkserver_preload(["warm_modules"])
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parent), *([before] if before else [])])
    try:
        forkserver.ensure_running()
    finally:
        del os.environ["PYTHONPATH"]
        os.environ.update({"PYTHONPATH": before} if before else {})
    return context


def _run(argv: list[str], cwd: str, env: dict[str, str], outputs: tuple[Connection, ...]) -> None:
    """In the new process: become the tool, which ends the process itself."""
    for number, output in enumerate(outputs, 1):
        os.dup2(output.fileno(), number)
        output.close()
    os.chdir(cwd)
    sys.argv[:] = argv
    tempfile.tempdir = None
    os.environ.clear()
    os.environ.update(hardening.bare_environment(env))
    ENTRIES[Path(argv[0]).name]()
