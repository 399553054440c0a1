"""Shards of a run, as GitHub's jobs are given them: ``python -m bench.shards`` prints the simulated balance.

``python -m bench.shards plan`` measures the planning of 10,000 cases, ``python -m bench.shards merge`` the merging of
10,000 results; both print JSON.
"""

from __future__ import annotations

import heapq
import json
import math
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import fmean
from typing import Any

from skillgym_action.results.statistics.prediction import balanced

SIZES = ((2_000, 16), (2_000, 64), (10_000, 256))
BALANCE_SIZE = (2_000, 64)
BALANCE_TARGET = 1.15
ROUNDS = 40
SPREAD = 0.9  # standard deviation of the logarithm of what cases take
ERROR = 0.2  # the same of what was recorded, in relation to what they take now
PLANNED_CASES = 10_000
PLANNED_SHARDS = 256
MERGED_RESULTS = 10_000
MERGED_SHARDS = (1, 16, 64, 256)
MEASURING = (
    "import resource, subprocess, sys, time; began = time.perf_counter();"
    " ran = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True);"
    " taken, used = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN);"
    " print(taken, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, ran.returncode)"
)


def tool() -> str:
    """The program beside the interpreter, so that the checkout's version is measured."""
    return str(Path(sys.executable).parent / "skillgym-action")


# --- balance, simulated -----------------------------------------------------------------------------------


def every_nth(times: list[float], shards: int) -> float:
    """The longest shard over the mean, where shard I is every N-th case."""
    return _longest([fsum(times[number::shards]) for number in range(shards)])


def by_recorded_time(times: list[float], recorded: list[float], shards: int) -> float:
    """The same of a stored plan, made of times that were recorded before."""
    return _longest([fsum([times[index] for index in chains]) for chains in balanced(recorded, shards)])


def shared_queue(times: list[float], recorded: list[float], shards: int) -> float:
    """The same where each job takes the next case as soon as it is done, the longest recorded first.

    GitHub has no such queue.
    """
    loads = [0.0] * shards
    for index in sorted(range(len(times)), key=lambda index: -recorded[index]):
        heapq.heapreplace(loads, loads[0] + times[index])
    return _longest(loads)


def fsum(values: list[float]) -> float:
    return math.fsum(values)


def _longest(loads: list[float]) -> float:
    return max(loads) / fmean(loads)


def simulated(cases: int, shards: int, rounds: int = ROUNDS, seed: int = 1) -> dict[str, float]:
    """Means over many runs of log-normal times: the longest shard over the mean of all, which is the ideal."""
    rng = random.Random(seed)
    found: dict[str, list[float]] = {"every N-th": [], "recorded time": [], "shared queue": []}
    for _ in range(rounds):
        times = [rng.lognormvariate(0, SPREAD) for _ in range(cases)]
        recorded = [seconds * rng.lognormvariate(0, ERROR) for seconds in times]
        found["every N-th"].append(every_nth(times, shards))
        found["recorded time"].append(by_recorded_time(times, recorded, shards))
        found["shared queue"].append(shared_queue(times, recorded, shards))
    return {name: fmean(values) for name, values in found.items()}


def table() -> None:
    """Print the balance for all sizes."""
    print(f"{'cases / shards':<18} {'every N-th':>12} {'recorded time':>14} {'shared queue':>13}")
    for cases, shards in SIZES:
        row = simulated(cases, shards)
        print(
            f"{f'{cases:,} / {shards}':<18}"
            + "".join(f" {value:>{width}.2f}" for value, width in zip(row.values(), (12, 14, 13), strict=True))
        )


# --- plan and merge, measured -------------------------------------------------------------------------------


def measured(argv: list[str], cwd: Path) -> dict[str, float]:
    """Seconds, those of the processor, and peak megabytes of a whole process; it must end with 0 or 1."""
    ran = subprocess.run([sys.executable, "-c", MEASURING, *argv], cwd=cwd, check=True, capture_output=True, text=True)
    seconds, cpu, megabytes, code = map(float, ran.stdout.split())
    if code not in (0, 1):
        raise RuntimeError(f"{' '.join(argv)} ended with {code:.0f}")
    return {"seconds": seconds, "cpu": cpu, "megabytes": megabytes}


def suites(folder: Path, cases: int, files: int = 10) -> None:
    """A repository with that many cases in several suites, and an agent."""
    for number in range(files):
        entries = [
            {"id": f"case-{index}", "prompt": f"write out.txt for {index}", "expect": ["file:out.txt contains 'x'"]}
            for index in range(cases // files)
        ]
        (folder / f"area-{number}.bench.json").write_text(json.dumps({"name": f"area-{number}", "cases": entries}))
    config = {"runners": {"script": {"agent": {"type": "command", "command": ["sh", "-c", "true"]}}}}
    (folder / "skillgym.config.json").write_text(json.dumps(config))


def plan(cases: int = PLANNED_CASES, shards: int = PLANNED_SHARDS) -> dict[str, float]:
    """What planning takes: ``list --matrix`` with the file."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        suites(folder, cases)
        return measured([tool(), "list", "--matrix", str(shards), "--plan", "plan.json"], folder)


def merge(results: int = MERGED_RESULTS) -> dict[str, dict[str, float]]:
    """What merging takes, by the number of shards that the results come from."""
    from dataclasses import replace

    from bench.sinks import report_of

    from skillgym_action.results.results_file import render

    found: dict[str, dict[str, float]] = {}
    whole = report_of(results)
    for shards in MERGED_SHARDS:
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            for number in range(1, shards + 1):
                part = replace(
                    whole,
                    id=f"shard-{number}",
                    shard=f"{number}/{shards}" if shards > 1 else None,
                    results=whole.results[number - 1 :: shards],
                )
                (folder / f"shards/shard-{number}").mkdir(parents=True)
                (folder / f"shards/shard-{number}/results.json").write_text("".join(render(part)), encoding="utf-8")
            found[str(shards)] = measured([tool(), "report", "shards/*", "--output", "merged", "-q"], folder)
    return found


def main() -> None:
    """Print the table, or what was measured as JSON."""
    kinds: dict[str, Any] = {"plan": plan, "merge": merge, "balance": lambda: simulated(*BALANCE_SIZE)}
    if len(sys.argv) > 1:
        began = time.perf_counter()
        found = kinds[sys.argv[1]]()
        print(json.dumps(found | ({"took": time.perf_counter() - began} if sys.argv[1] == "balance" else {})))
    else:
        table()


if __name__ == "__main__":
    main()
