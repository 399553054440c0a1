"""The tool in a process of its own that has its modules already: most of a short run's time is spent on imports.

Python's fork server has them (``warm_modules.py``). A run then goes on where the tool's second start does: with a bare
environment, and with the whole one in a memory file (``cli/hardening.py``). Tests of the first start, of signals, time
and memory use the console script itself.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from multiprocessing import forkserver, get_context
from multiprocessing.reduction import DupFd
from pathlib import Path
from typing import TYPE_CHECKING

from skillgym_action import __main__ as entry_points
from skillgym_action.cli import hardening

if TYPE_CHECKING:
    from collections.abc import Mapping
    from multiprocessing.context import ForkServerContext
    from typing import Any

ENTRIES = {"skillgym-action": entry_points.main, "skillgym-action-entrypoint": entry_points.action}


def can_start_warm(more: Mapping[str, str]) -> bool:
    """Whether none of the variables, which are added to those of the tests, has an effect before imports are done."""
    early = {*hardening.STARTING, *hardening.LASTING, hardening.PASSED_ON} - {"PATH"}
    return sys.platform == "linux" and not any(name in early or name.startswith(hardening.LOCALE) for name in more)


def warm_run(
    program: Path, *args: str, cwd: Path, env: Mapping[str, str], limit: float
) -> subprocess.CompletedProcess[bytes]:
    """A run of a console script of the tool. Raises TimeoutExpired after ``limit`` seconds, and ends it."""
    argv = [str(program), *args]
    pipes = [os.pipe(), os.pipe()]
    with ThreadPoolExecutor(2) as readers:
        outputs = [DupFd(write) for _, write in pipes]
        run = _fork_server().Process(target=_run, args=(argv, str(cwd), dict(env), outputs))
        run.start()
        for _, write in pipes:
            os.close(write)
        out, error = (readers.submit(_content, read) for read, _ in pipes)
        run.join(limit)
        if run.exitcode is None:
            run.kill()
            raise subprocess.TimeoutExpired(argv, limit)
        return subprocess.CompletedProcess(argv, run.exitcode, out.result(limit), error.result(limit))


def _content(descriptor: int) -> bytes:
    with os.fdopen(descriptor, "rb") as file:
        return file.read()


@cache
def _fork_server() -> ForkServerContext:
    """The server, started. Not all versions of Python tell it where modules are: the environment does."""
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


def _run(argv: list[str], cwd: str, env: dict[str, str], outputs: list[Any]) -> None:
    """In the new process: become the tool, which ends the process itself."""
    for number, output in enumerate(outputs, 1):
        os.dup2(output.detach(), number)
    os.chdir(cwd)
    sys.argv[:] = argv
    tempfile.tempdir = None
    os.environ.clear()
    os.environ.update(hardening.bare_environment(env))
    ENTRIES[Path(argv[0]).name]()
