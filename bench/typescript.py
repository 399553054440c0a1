"""A TypeScript suite here and with the npm package it was written for: ``python -m bench.typescript``.

The same Node and the same agent; one session after the other, as both do unless they are told, and several at once.
Prints seconds and megabytes of both as JSON.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import psutil

sys.path.append(os.fspath(Path(__file__).parents[1] / "tests" / "support"))

from skillgym_package import new_node, skillgym_package

CASES = 1000
JOBS = 8
ROUNDS = 3
WEIGHINGS = 5  # when a collector of garbage comes is chance
REST = 6.0  # seconds; a file system that has just freed many inodes is slow to give new ones
SAMPLE = 0.02
TOOL = shutil.which("skillgym-action", path=os.fspath(Path(sys.executable).parent)) or "skillgym-action"
AGENT = """#!/bin/sh
echo '{"type":"system","subtype":"init","session_id":"s","model":"m"}'
echo '{"type":"assistant","message":{"id":"1","model":"m","content":[{"type":"text","text":"ready"}]},"session_id":"s"}'
echo '{"type":"result","subtype":"success","is_error":false,"num_turns":1,"result":"ready","session_id":"s"}'
"""
SUITE = """\
import { assert, type Case } from "skillgym";

export const workspace = { mode: "isolated", templateDir: "./template" };
const one = (id: string): Case => ({
  id,
  prompt: "Say ready",
  assert: (report) => assert.output.includes(report, "ready"),
});
export default Array.from({ length: CASES }, (_, index) => one(`case-${index}`));
"""


def commands(folder: Path) -> dict[str, list[str]]:
    """How both run the same suite, and say nothing before they end; ``{round}`` is the round's number."""
    (folder / "template").mkdir()
    (folder / "template" / "notes.md").write_text("note\n")
    (folder / "trivial-suite.ts").write_text(SUITE.replace("CASES", str(CASES)))
    agent = folder / "agent.sh"
    agent.write_text(AGENT)
    agent.chmod(0o755)
    config = {"runners": {"agent": {"agent": {"type": "claude-code", "model": "m", "command": os.fspath(agent)}}}}
    (folder / "ours.json").write_text(json.dumps(config))
    (folder / "theirs.mjs").write_text(f"export default {json.dumps(config)};\n")
    (folder / "node_modules").symlink_to(skillgym_package().parent)
    ours = [TOOL, "run", "trivial-suite.ts", "--config", "ours.json", "--output", "ours-{round}", "--quiet"]
    theirs = [new_node(), os.fspath(skillgym_package() / "bin.js"), "run", "trivial-suite.ts"]
    theirs += ["--config", "theirs.mjs", "--output-dir", "theirs-{round}", "--reporter", "json-summary"]
    return {
        "ours": ours,
        "theirs": theirs,
        "ours at once": [*ours, "--jobs", str(JOBS)],
        "theirs at once": [*theirs, "--schedule", "parallel", "--max-parallel", str(JOBS)],
    }


def measured(argv: list[str], folder: Path, *, memory: bool) -> float:
    """Seconds of one whole run; or megabytes at its peak, all its processes together."""
    env = os.environ | {"SKILLGYM_NODE": new_node()}
    began, peak = time.perf_counter(), 0
    quiet = subprocess.DEVNULL
    with subprocess.Popen(argv, cwd=folder, env=env, stdin=quiet, stdout=quiet, stderr=quiet) as running:
        while memory and running.poll() is None:
            peak = max(peak, held(psutil.Process(running.pid)))
            time.sleep(SAMPLE)
        if running.wait():
            raise subprocess.CalledProcessError(running.returncode, argv)
    return peak / 1024**2 if memory else time.perf_counter() - began


def filled(argv: list[str], number: str) -> list[str]:
    return [part.replace("{round}", number) for part in argv]


def held(root: psutil.Process) -> int:
    """Bytes that the process and all below it hold in memory; what several share counts once."""
    total = 0
    with suppress(psutil.Error):  # it has just ended
        own = root.cmdline()
        for process in (root, *root.children(recursive=True)):
            with suppress(psutil.Error):
                if process == root or process.cmdline() != own:  # before it is another program, a child has no memory
                    total += process.memory_full_info().pss
    return total


def compared(folder: Path) -> dict[str, dict[str, float]]:
    """Medians of seconds and megabytes of both; seconds in turn, so that a slow moment of the machine hits both."""
    both = commands(folder)
    times: dict[str, list[float]] = {name: [] for name in both}
    for number in range(ROUNDS + 1):
        for name, argv in both.items():
            time.sleep(REST)
            times[name].append(measured(filled(argv, str(number)), folder, memory=False))
    megabytes = {
        name: [measured(filled(argv, f"memory-{number}"), folder, memory=True) for number in range(WEIGHINGS)]
        for name, argv in both.items()
    }
    return {
        name: {"seconds": statistics.median(taken[1:]), "megabytes": statistics.median(megabytes[name])}
        for name, taken in times.items()
    }


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="bench-", dir=os.environ.get("BENCH_DIR")) as temporary:
        print(json.dumps(compared(Path(temporary))))
