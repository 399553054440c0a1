"""What it costs to keep sessions apart: ``python -m bench.isolation [ANOTHER TOOL]``.

Prints CPU seconds of many trivial sessions (of this tool, of the other one, and of a bare thread pool), milliseconds of
the start with an empty environment, the supervisor's resident memory, and CPU seconds for the copy of a large template.
CPU seconds are compared since other programs of the machine change them less than wall time.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
from bench.__main__ import CASES, FLOOR, JOBS, TOOL, suite, template

from skillgym_action.model.suite import WorkspaceSpec
from skillgym_action.system.cancellation import Cancellation
from skillgym_action.system.processes.launcher import ProcessLauncher
from skillgym_action.system.processes.started_programs import SupervisorClient
from skillgym_action.system.processes.users import agent_user
from skillgym_action.workspaces.repository.repository import Repository
from skillgym_action.workspaces.workspaces import Workspaces

ROUNDS = 5
STARTS = 21
IS_ROOT = os.geteuid() == 0
USER = "nobody"
BARE = "from skillgym_action.cli.process_protection import begin; begin()"


def cpu_seconds(*others: int) -> float:
    """CPU time of this process and its children that have ended; ``others``: processes whose time counts, too."""
    used = sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return used + sum(sum(psutil.Process(pid).cpu_times()[:4]) for pid in others)


def of_sessions(folder: Path, before: str | None) -> dict[str, dict[str, float]]:
    """Medians of CPU seconds by kind of run and tool; the tools in turn, so that a slow moment hits all of them."""
    agent = suite(folder / "many", CASES)
    kinds = {"caller": [], "user": ["--agent-user", USER]} if IS_ROOT else {"caller": []}
    tools = {"now": TOOL, **({"before": before} if before else {})}
    commands = {
        (kind, name): [tool, "run", "many", "--jobs", str(JOBS), "--output", str(folder / "run"), *options]
        for kind, options in kinds.items()
        for name, tool in tools.items()
    }
    bare = [sys.executable, "-c", FLOOR, os.fspath(agent), str(CASES), str(JOBS)]
    commands |= {(kind, "floor"): bare for kind in kinds}
    taken: dict[tuple[str, str], list[float]] = {key: [] for key in commands}
    for _ in range(ROUNDS + 1):
        for key, argv in commands.items():
            shutil.rmtree(folder / "run", ignore_errors=True)
            began = cpu_seconds()
            subprocess.run(argv, cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            taken[key].append(cpu_seconds() - began)
    return {
        kind: {name: statistics.median(times[1:]) for (of, name), times in taken.items() if of == kind}
        for kind in kinds
    }


def of_starts() -> dict[str, float]:
    """Median milliseconds of Python, and of Python that begins with an empty environment."""
    taken: dict[str, list[float]] = {"pass": [], BARE: []}
    for _ in range(STARTS):
        for code, times in taken.items():
            began = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True)
            times.append((time.perf_counter() - began) * 1000)
    return {"python": statistics.median(taken["pass"]), "bare": statistics.median(taken[BARE])}


def of_supervisor() -> float:
    """Megabytes that the supervisor has in memory, with a process that it has started."""
    supervisor = SupervisorClient()
    try:
        with Path(os.devnull).open() as nothing:
            request = {"argv": ["sleep", "60"], "env": {}, "cwd": "/", "umask": None, "rlimits": ()}
            running = supervisor.start(request, (nothing.fileno(),) * 3, None)
        used = psutil.Process(supervisor.pid).memory_info().rss / 1024**2
        running.end(0.0)
        running.exit_code()
        return used
    finally:
        supervisor.close()


def of_copies(folder: Path) -> dict[str, float]:
    """Medians of CPU seconds for a copy of a large template: by ``cp -a``, and as a workspace once it was packed."""
    source, copy = folder / "template", folder / "copy"
    template(source)
    spec = WorkspaceSpec(source="template", template=source)
    taken: dict[str, list[float]] = {"floor": [], "now": []}
    with (
        ProcessLauncher(
            environment={}, cancelled=Cancellation(), user=agent_user(USER) if IS_ROOT else None
        ) as processes,
        Workspaces(Repository(folder, processes), processes) as workspaces,
    ):
        for _ in range(ROUNDS + 1):
            began = cpu_seconds()
            subprocess.run(["cp", "-a", source, copy], check=True)
            taken["floor"].append(cpu_seconds() - began)
            shutil.rmtree(copy)
            began = cpu_seconds(*_all_of(processes.supervisor.pid))
            workspace = workspaces.create(spec)
            taken["now"].append(cpu_seconds(*_all_of(processes.supervisor.pid)) - began)
            workspaces.discard(workspace)
    return {name: statistics.median(times[1:]) for name, times in taken.items()}


def _all_of(supervisor: int) -> list[int]:
    return [supervisor, *(process.pid for process in psutil.Process(supervisor).children())]


def measured(before: str | None) -> dict[str, object]:
    """All of it."""
    with tempfile.TemporaryDirectory(prefix="bench-", dir=os.environ.get("BENCH_DIR")) as temporary:
        folder = Path(temporary)
        folder.chmod(0o711)
        tempfile.tempdir = os.environ["TMPDIR"] = temporary
        sessions = of_sessions(folder, before)
        return {"sessions": sessions, "starts": of_starts(), "supervisor": of_supervisor(), "copies": of_copies(folder)}


if __name__ == "__main__":
    print(json.dumps(measured(*sys.argv[1:2] or [None])))
