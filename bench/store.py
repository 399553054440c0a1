"""The store of results: its size after many runs, the time to read what a pull request needs and to add a run, and the
trend page of all of it.

``python -m bench.store [RUNS [CASES]]``; without arguments 10,000 runs of 100 cases in a folder. The branch gets as
many commits as its history has before it begins anew, with the files that the folder has in the end.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from skillgym_action.history.branch_store import STORE_BRANCH, BranchStore, Remote
from skillgym_action.history.path_store import path_store
from skillgym_action.history.pooling import BaselineKey, pooled
from skillgym_action.history.reading import BasePoint, read_history
from skillgym_action.history.stored_lines import EntryKey, ExecutionName
from skillgym_action.history.trend import TrendQuery, read_trend
from skillgym_action.model.result import CaseInputs
from skillgym_action.reports.html.trend import render
from skillgym_action.results.statistics.trends import trend_of
from skillgym_action.system.cancellation import Cancellation
from skillgym_action.system.clock import Clock
from skillgym_action.system.processes.launcher import ProcessLauncher

MOST_SECONDS, MOST_BYTES, MOST_PAGE_BYTES = 2.0, 50 * 1024**2, 5_000_000
FIRST = datetime(2026, 1, 1, tzinfo=UTC)


def line(number: int, cases: int) -> tuple[bytes, str, datetime]:
    """The line of a run as a real one is, its name and its time."""
    at = FIRST + timedelta(minutes=30 * number)
    entries = [
        {
            "suite": 0,
            "case": f"a-case-with-a-name-{case}",
            "runner": 0,
            "inputs": {
                "prompt": f"{case:016x}",
                "assertions": f"{case * 31:016x}",
                "workspace": "0" * 16,
                # something changes in every fifth run
                "whole": sha256(f"{case} {number // 5}".encode()).hexdigest()[:16],
            },
            "version": "2.1.197",
            "model": "claude-sonnet-4-6",
            "sessions": "ppp" if (case * 7 + number) % 5 else "ppf",
            "usd": round(0.01 + (case * number) % 97 / 1000, 6),
            "ms": 12_000 + (case * 131 + number) % 9_000,
        }
        for case in range(cases)
    ]
    name = f"{at:%Y-%m-%dT%H:%M:%S}Z-{number:012x}"
    head = {
        "id": name,
        "group": f"{number}/bench",
        "at": f"{at:%Y-%m-%dT%H:%M:%S}Z",
        "commit": f"{number:040x}",
        "branch": "main",
        "link": f"https://github.com/octo/skills/actions/runs/{number}",
        "tool": "1.0.0",
    }
    whole = {
        "schema": 1,
        "run": head,
        "suites": [{"path": "bench/core.json", "digest": "a" * 64}],
        "runners": [{"id": "claude", "agent": "claude-code"}],
        "entries": entries,
    }
    return json.dumps(whole, separators=(",", ":")).encode() + b"\n", name, at


def wanted(cases: int) -> list[BaselineKey]:
    """What a pull request compares."""
    found = []
    for case in range(cases):
        inputs = CaseInputs(prompt=f"{case:016x}", assertions=f"{case * 31:016x}", workspace="0" * 16)
        key = EntryKey(
            inputs.prompt, inputs.assertions, None, None, inputs.workspace, "claude-code", None, None, None, "1", "none"
        )
        name = ExecutionName("bench/core.json", f"a-case-with-a-name-{case}", "claude")
        found.append(BaselineKey(name=name, inputs=inputs, key=key))
    return found


def read_time(store: object, runs: int, cases: int) -> float:
    """Seconds from nothing to the baseline of a pull request."""
    point = BasePoint(now=FIRST + timedelta(minutes=30 * runs), branch="main")
    began = time.perf_counter()
    base = pooled(read_history(store, point), wanted(cases), shard=False)  # type: ignore[arg-type]
    took = time.perf_counter() - began
    if base is None or len(base.results) != cases:
        raise SystemExit("the baseline lacks cases")
    return took


def trend_page(store: object, runs: int) -> tuple[float, int]:
    """Seconds from nothing to the trend page, and its bytes."""
    began = time.perf_counter()
    history = read_trend(store, TrendQuery(now=FIRST + timedelta(minutes=30 * runs)))  # type: ignore[arg-type]
    page = render(trend_of(history), made="")
    return time.perf_counter() - began, len(page.encode())


def size(folder: Path) -> int:
    """Bytes of the files below a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def main(runs: int = 10_000, cases: int = 100) -> int:
    """Print the figures; 1 if one is beyond its bound."""
    with TemporaryDirectory() as temporary, Adapters() as (clock, processes):
        folder = Path(temporary)
        store = path_store(folder / "store", "store")
        slowest = 0.0
        for number in range(runs):
            began = time.perf_counter()
            store.add(*line(number, cases))
            slowest = max(slowest, time.perf_counter() - began)
        in_folder, read_folder = size(folder / "store"), read_time(store, runs, cases)
        print(f"folder: {in_folder / 1e6:.1f} MB, read in {read_folder:.2f} s, slowest run added in {slowest:.2f} s")
        drawn, page = trend_page(store, runs)
        print(f"trend: {page / 1e6:.1f} MB, made in {drawn:.1f} s")
        remote = folder / "remote.git"
        _git("init", "--quiet", "--bare", str(remote))
        _push_all(folder / "store", remote)
        branch = BranchStore(Remote(url=str(remote)), processes, clock)
        began = time.perf_counter()
        branch.add(*line(runs, cases))
        added = time.perf_counter() - began
        in_branch, read_branch = size(remote), read_time(branch, runs + 1, cases)
        print(f"branch: {in_branch / 1e6:.1f} MB, read in {read_branch:.2f} s, a run added in {added:.2f} s")
    too_large = max(in_folder, in_branch) > MOST_BYTES or page > MOST_PAGE_BYTES
    return int(max(read_folder, read_branch) > MOST_SECONDS or too_large)


class Adapters:
    """The clock and the launcher that the store of a branch needs."""

    def __enter__(self) -> tuple[Clock, ProcessLauncher]:
        self._cancelled = Cancellation()
        self._processes = ProcessLauncher(environment=os.environ, cancelled=self._cancelled)
        return Clock(), self._processes

    def __exit__(self, *_: object) -> None:
        self._processes.__exit__()
        self._cancelled.close()


def _push_all(store: Path, remote: Path) -> None:
    """Push the files of a folder as the first commit of the store's branch."""
    copy = store.parent / "copy"
    shutil.copytree(store, copy)
    _git("init", "--quiet", f"--initial-branch={STORE_BRANCH}", str(copy))
    _git("-C", str(copy), "add", "--all")
    who = ("-c", "user.name=t", "-c", "user.email=t@example.com")
    message = "Results\n\nCommits since the history began: 1\n"
    _git("-C", str(copy), *who, "commit", "--quiet", f"--message={message}")
    _git("-C", str(copy), "push", "--quiet", str(remote), STORE_BRANCH)


def _git(*arguments: str) -> None:
    subprocess.run(("git", *arguments), check=True)


if __name__ == "__main__":
    raise SystemExit(main(*map(int, sys.argv[1:])))
