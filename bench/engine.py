"""Runs on the workers of a cluster on this machine: efficiency, overhead, memory, lost workers, cancellation.

``python -m bench.engine [--quick] [--plot FOLDER] [PART...]``; parts: efficiency, overhead, memory, killed, restarted,
cancelled; without any, all of them. ``--quick`` runs a tenth of the sessions. ``--plot`` writes SVG pictures. All
processes share this machine, so that figures are upper bounds wherever it has fewer processors than slots.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import psutil

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

BIN = Path(sys.executable).parent
SLOTS, SECONDS = 8, 2  # of each worker; of each session
MEGABYTE = 1024**2
PATIENCE = 900.0
GOAL, GOAL_WORKERS, GOAL_ROUNDS = 0.90, 8, 20
Series = dict[str, list[tuple[float, float]]]
Size = Literal["quick", "full"]


def row(name: str, figure: str, target: str = "", *, met: bool | None = None) -> None:
    """One line of the table."""
    print(f"{name:<62} {figure:>30}   {target:<16} {'' if met is None else 'met' if met else 'MISSED'}", flush=True)


def until(found: Callable[[], Any], what: str, run: Run | None = None) -> Any:
    """What ``found`` returns once it is true. Raises TimeoutError, also if ``run`` ends before."""
    deadline = time.monotonic() + PATIENCE
    while not (result := found()):
        if time.monotonic() > deadline or (run and run.process.poll() is not None):
            raise TimeoutError(f"{what}: {run.said() if run else ''}")
        time.sleep(0.02)
    return result


class Cluster:
    """A scheduler and workers on loopback, as a context manager."""

    def __init__(self, folder: Path, workers: int, slots: int = SLOTS) -> None:
        self.folder, self.slots = folder, slots
        folder.mkdir()
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            self.port = one.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.workers: list[subprocess.Popen[bytes]] = []
        self.scheduler = self.start_scheduler()
        for _ in range(workers):
            self.start_worker()
        for number in range(workers):
            until(lambda number=number: "worker of" in self.log(f"worker-{number}"), "a worker connects")

    def start_scheduler(self) -> subprocess.Popen[bytes]:
        """Start the scheduler, also for a second time."""
        options = ["--host", "tcp://127.0.0.1", "--port", str(self.port), "--no-dashboard"]
        self.scheduler = self._start([BIN / "dask", "scheduler", *options], "scheduler")
        until(lambda: "Scheduler at" in self.log("scheduler"), "the scheduler starts")
        return self.scheduler

    def start_worker(self) -> subprocess.Popen[bytes]:
        """Start one more worker; it connects meanwhile."""
        words = [BIN / "skillgym-action", "worker", self.address, "--slots", str(self.slots)]
        worker = self._start(words, f"worker-{len(self.workers)}")
        self.workers.append(worker)
        return worker

    def log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text()

    def _start(self, words: Sequence[str | Path], name: str) -> subprocess.Popen[bytes]:
        with (self.folder / f"{name}.log").open("wb") as log:
            environment = {**os.environ, "TMPDIR": str(self.folder)}
            return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in (*self.workers, self.scheduler):
            process.terminate()
        for process in (*self.workers, self.scheduler):
            with suppress(subprocess.TimeoutExpired):
                process.wait(20)
            process.kill()
            process.wait()


@dataclass
class Run:
    """A run of the tool and what its journal says. ``lines``: seconds since its start at each session's line."""

    folder: Path
    process: subprocess.Popen[bytes]
    began: float = field(default_factory=time.monotonic)
    lines: list[float] = field(default_factory=list)
    _read: int = 0

    @classmethod
    def start(cls, folder: Path, agent: str, cases: int, *options: str, resume: bool = False) -> Run:
        """Start a run; with ``resume`` that of before in the same folder."""
        if not resume:
            (folder / "template").mkdir(parents=True)
            (folder / "template" / "README.md").write_text("A template.\n")
            entries = [{"id": f"c{n}", "prompt": "go", "expect": ["file:out.txt exists"]} for n in range(cases)]
            whole = {"name": "bench", "workspace": {"templateDir": "template"}, "cases": entries}
            (folder / "many.bench.json").write_text(json.dumps(whole))
            runner = {"agent": {"type": "command", "command": agent}}
            (folder / "skillgym.config.json").write_text(json.dumps({"runners": {"sh": runner}}))
        where = ["--resume", "results"] if resume else ["--output", "results"]
        words = [str(BIN / "skillgym-action"), "run", *where, "--timeout", "900", *options]
        with (folder / "log").open("ab") as log:
            return cls(folder, subprocess.Popen(words, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log))

    def journal(self) -> list[dict[str, Any]]:
        """The lines of sessions."""
        with suppress(FileNotFoundError):
            found = map(json.loads, (self.folder / "results/journal.jsonl").read_bytes().splitlines()[1:])
            return [line for line in found if "event" not in line]
        return []

    def count(self) -> int:
        """How many sessions have ended; notes the time of each."""
        with suppress(FileNotFoundError), (self.folder / "results/journal.jsonl").open("rb") as journal:
            journal.seek(self._read)
            for line in journal:
                if not line.endswith(b"\n"):
                    break
                self._read += len(line)
                if b'"result"' in line:
                    self.lines.append(time.monotonic() - self.began)
        return len(self.lines)

    def wait(self, every: Callable[[int], None] = lambda _: None) -> float:
        """Seconds until the end. ``every``: called with the number of sessions that have ended, again and again."""
        while self.process.poll() is None:
            every(self.count())
            time.sleep(0.02)
        took = time.monotonic() - self.began
        every(self.count())
        if self.process.returncode != 0:
            row("a run failed", f"exit code {self.process.returncode}", "0", met=False)
            print(self.said(), file=sys.stderr)
        return took

    def said(self) -> str:
        """The end of its output."""
        return (self.folder / "log").read_text()[-400:]


def load() -> str:
    """The load of the machine, in words."""
    return "/".join(f"{each:.1f}" for each in os.getloadavg())


# --- parts ------------------------------------------------------------------------------------------


def efficiency(folder: Path, size: Size) -> Series:
    """1, 2, 4 and 8 workers with 8 slots, sessions of 2 seconds; then what the goal is about, 8 workers with a slot."""
    found: Series = {"start included": [], "after the first round": []}
    for workers in (1, 2, 4, 8):
        rounds = 3 if size == "quick" else GOAL_ROUNDS
        whole, rest = shares(folder / f"{workers}", workers, SLOTS, rounds)
        found["start included"].append((workers, whole))
        found["after the first round"].append((workers, rest))
        title = f"efficiency, {workers} workers x {SLOTS} slots, {rounds} rounds of {SECONDS} s"
        row(title, f"{whole:.2f}, after the first {rest:.2f}")
    whole, rest = shares(folder / "goal", GOAL_WORKERS, 1, GOAL_ROUNDS)
    title = f"efficiency, {GOAL_WORKERS} workers x 1 slot, {GOAL_ROUNDS} sessions each, start included"
    row(title, f"{whole:.2f}", f"{GOAL:.2f} on {GOAL_WORKERS} processors", met=whole >= GOAL)
    row("the same after the first session of each", f"{rest:.2f}")
    return found


def shares(folder: Path, workers: int, slots: int, rounds: int) -> tuple[float, float]:
    """The share of all slots' time in which agents ran: from the start of the run, and after the first round."""
    folder.mkdir()
    with Cluster(folder / "cluster", workers, slots) as cluster:
        agent = f"sleep {SECONDS}; echo > out.txt"
        run = Run.start(folder / "run", agent, workers * slots * rounds, "--engine", cluster.address)
        took = run.wait()
    return rounds * SECONDS / took, (rounds - 1) * SECONDS / (run.lines[-1] - run.lines[workers * slots - 1])


def overhead(folder: Path, size: Size) -> Series:
    """Trivial sessions, here and on 2 workers."""
    cases = 200 if size == "quick" else 1000
    local = Run.start(folder / "local", "echo > out.txt", cases, "--jobs", str(SLOTS)).wait()
    with Cluster(folder / "cluster", 2, SLOTS // 2) as cluster:
        run = Run.start(folder / "engine", "echo > out.txt", cases, "--engine", cluster.address)
        took = run.wait()
    first = cases // 4
    steady = (run.lines[-1] - run.lines[first]) / (cases - first - 1) * 1000
    more = (took - local) / cases * 1000
    row(f"{cases} trivial sessions, here / on 2 workers x {SLOTS // 2}", f"{local:.1f} s / {took:.1f} s")
    row("overhead per session, start included", f"{more:.1f} ms", "at most 10 ms", met=more <= 10)
    row("the same after a quarter of the sessions", f"{steady - local / cases * 1000:.1f} ms")
    return {}


def memory(folder: Path, size: Size) -> Series:
    """Resident memory of client, scheduler and a worker during many trivial sessions."""
    cases = 1000 if size == "quick" else 10_000
    found: Series = {"client": [], "scheduler": [], "worker": []}
    with Cluster(folder / "cluster", 1) as cluster:
        run = Run.start(folder / "run", "echo > out.txt", cases, "--engine", cluster.address)
        pids = {"client": run.process.pid, "scheduler": cluster.scheduler.pid, "worker": cluster.workers[0].pid}
        watched = {name: psutil.Process(pid) for name, pid in pids.items()}

        def sample(count: int) -> None:
            last = found["client"][-1][0] if found["client"] else -1
            if count < last + cases // 100:
                return
            for name, process in watched.items():
                with suppress(psutil.Error):
                    found[name].append((count, process.memory_info().rss / MEGABYTE))

        took = run.wait(sample)
    row(f"{cases:,} trivial sessions on 1 worker x {SLOTS}", f"{took:.0f} s, {cases / took:.0f} a second")
    for name, samples in found.items():
        before = next(each for count, each in samples if count >= cases // 4)
        last = [each for count, each in samples if count > 0][-1]
        figure = f"{before:.0f} MB, then {last:.0f} MB"
        grown = last - before
        row(f"memory of the {name}, a quarter / all of them", figure, "15 MB more", met=grown <= 15)
    return found


def killed(folder: Path, size: Size) -> Series:
    """Workers that are killed at random times: each session counts once."""
    times, workers = 5 if size == "quick" else 20, 4
    cases, chance = times * 24, random.Random(19)
    with Cluster(folder / "cluster", workers, 4) as cluster:
        # Every session notes its start, so that those that ran more than once are known.
        agent = f"echo x >> {folder}/started; sleep 1; echo > out.txt"
        options = ("--engine", cluster.address, "--lost-retries", str(times))
        run = Run.start(folder / "run", agent, cases, *options)
        done, last, alive = 0, 0.0, list(cluster.workers)

        def kill(count: int) -> None:
            nonlocal done, last
            if done < times and count > done * cases / (times + 1) + 4 and time.monotonic() - last > 1:
                victim = alive.pop(chance.randrange(len(alive)))
                victim.kill()
                alive.append(cluster.start_worker())
                done, last = done + 1, time.monotonic()

        took = run.wait(kill)
    sessions = Counter(line["result"]["caseId"] for line in run.journal())
    green = sum(line["result"]["status"] == "passed" for line in run.journal())
    again = len((folder / "started").read_text().splitlines()) - cases
    row(f"{cases} sessions of 1 s, {done} workers killed", f"{took:.0f} s, {again} began again")
    once = len(sessions) == cases and set(sessions.values()) == {1}
    figure = f"{sum(sessions.values())} lines, {len(sessions)} cases, {green} passed"
    row("sessions in the journal: none lost, none twice", figure, f"{cases} each", met=once and green == cases)
    return {}


def restarted(folder: Path, size: Size) -> Series:
    """The scheduler is killed and started again; the run is resumed."""
    cases = 24 if size == "quick" else 80
    with Cluster(folder / "cluster", 2, 4) as cluster:
        agent = f"echo x >> {folder}/started; sleep 1; echo > out.txt"
        options = ("--engine", cluster.address)
        run = Run.start(folder / "run", agent, cases, *options)
        until(lambda: run.count() >= cases // 3, "a third of the sessions end", run)
        cluster.scheduler.kill()
        cluster.scheduler.wait()
        began = time.monotonic()
        code = run.process.wait(PATIENCE)
        noticed, before = time.monotonic() - began, len(run.journal())
        cluster.start_scheduler()
        again = Run.start(folder / "run", agent, cases, *options, resume=True)
        again.wait()
    sessions = Counter(line["result"]["caseId"] for line in again.journal())
    row("the scheduler killed: the run ends", f"exit code {code} after {noticed:.1f} s", "3 or 4", met=code in {3, 4})
    figure = f"{before} kept, {len(sessions) - before} more, exit code {again.process.returncode}"
    once = len(sessions) == cases and set(sessions.values()) == {1} and again.process.returncode == 0
    row("scheduler started again, run resumed: each session once", figure, f"{cases} in all", met=once)
    return {}


def cancelled(folder: Path, size: Size) -> Series:
    """SIGTERM while all slots have a session."""
    workers = 2 if size == "quick" else 4
    with Cluster(folder / "cluster", workers) as cluster:
        seconds = 600 + os.getpid() % 1000
        run = Run.start(folder / "run", f"sleep {seconds}.0", 200, "--engine", cluster.address)

        def agents() -> list[psutil.Process]:
            named = ["sleep", f"{seconds}.0"]
            return [one for one in psutil.process_iter(["cmdline"]) if one.info["cmdline"] == named]

        until(lambda: len(agents()) == workers * SLOTS, "a session in each slot", run)
        began = time.monotonic()
        run.process.send_signal(signal.SIGTERM)
        until(lambda: not agents(), "all agents end")
        ended = time.monotonic() - began
        code = run.process.wait(PATIENCE)
        took = time.monotonic() - began
    row(f"cancelled with {workers * SLOTS} sessions: no agent after", f"{ended:.1f} s", "under 10 s", met=ended < 10)
    row("the coordinator has ended after", f"{took:.1f} s, exit code {code}", "under 10 s", met=took < 10)
    return {}


# --- pictures ---------------------------------------------------------------------------------------


def plot(title: str, across: str, found: Series) -> str:
    """An SVG picture with a line for each series, from 0."""
    points = [point for series in found.values() for point in series]
    right, top = (max(point[axis] for point in points) or 1 for axis in (0, 1))
    left, width, height = 60, 520, 240
    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 320" font-family="sans-serif" font-size="12">',
        '<rect width="720" height="320" fill="#fff"/>',
        f'<text x="{left}" y="20" font-size="14">{title}</text>',
        f'<path d="M{left} 40V{40 + height}H{left + width}" fill="none" stroke="#888"/>',
        f'<text x="{left + width}" y="{height + 58}" text-anchor="end">{across}: {right:,.0f}</text>',
        f'<text x="{left - 6}" y="46" text-anchor="end">{top:,.2g}</text>' if top < 10 else
        f'<text x="{left - 6}" y="46" text-anchor="end">{top:,.0f}</text>',
        f'<text x="{left - 6}" y="{height + 44}" text-anchor="end">0</text>',
    ]  # fmt: skip
    for number, (name, series) in enumerate(found.items()):
        color = ("#0969da", "#bc4c00", "#1a7f37")[number % 3]
        line = " ".join(f"{left + x / right * width:.1f},{40 + height - y / top * height:.1f}" for x, y in series)
        parts += [
            f'<polyline points="{line}" fill="none" stroke="{color}" stroke-width="2"/>',
            f'<text x="{left + width + 10}" y="{50 + 18 * number}" fill="{color}">{name}</text>',
        ]
    return "\n".join((*parts, "</svg>\n"))


PARTS: dict[str, Callable[[Path, Size], Series]] = {
    "efficiency": efficiency,
    "overhead": overhead,
    "memory": memory,
    "killed": killed,
    "restarted": restarted,
    "cancelled": cancelled,
}
PICTURES = {
    "efficiency": ("Efficiency: the share of all slots' time that agents ran", "workers with 8 slots"),
    "memory": ("Resident memory in MB", "sessions"),
}


def main() -> None:
    """Run the parts and print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.engine", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--plot", type=Path)
    arguments = parser.parse_args()
    if unknown := set(arguments.parts) - PARTS.keys():
        parser.error(f"unknown part {', '.join(sorted(unknown))}; known: {', '.join(PARTS)}")
    row(f"{os.cpu_count()} processors, load", load())
    for name in arguments.parts or PARTS:
        with tempfile.TemporaryDirectory(prefix="bench-engine-") as folder:
            found = PARTS[name](Path(folder), "quick" if arguments.quick else "full")
        if found and arguments.plot:
            arguments.plot.mkdir(parents=True, exist_ok=True)
            (arguments.plot / f"engine-{name}.svg").write_text(plot(*PICTURES[name], found))
        row(f"load after {name}", load())


if __name__ == "__main__":
    main()
