"""200 tests of an AgentV suite on a mock target, here and with AgentV itself: ``python -m bench.agentv``.

AgentV comes from npm once (40 seconds, 800 MB), as for ``make compare-agentv``. Prints seconds and megabytes of both as
JSON.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

from bench.typescript import filled, measured

sys.path.append(os.fspath(Path(__file__).parents[1] / "tools"))

from compare_agentv import agentv
from skillgym_package import new_node

TESTS = 200
ROUNDS = 3
JOBS = 8
TOOL = shutil.which("skillgym-action", path=os.fspath(Path(sys.executable).parent)) or "skillgym-action"


def commands(folder: Path) -> dict[str, list[str]]:
    """How both run the same suite; ``{round}`` is the round's number."""
    tests = [
        {"id": f"t{number}", "input": "Say ready", "assertions": [{"type": "contains", "value": "ready"}]}
        for number in range(TESTS)
    ]
    suite = {"name": "mocked", "execution": {"target": "mock"}, "tests": tests}
    targets = {"targets": [{"name": "mock", "provider": "mock", "response": "ready"}]}
    (folder / "suite" / ".agentv").mkdir(parents=True)
    (folder / "suite" / "mocked.eval.yaml").write_text(json.dumps(suite))
    (folder / "suite" / ".agentv" / "targets.yaml").write_text(json.dumps(targets))
    ours = [TOOL, "run", "suite", "--jobs", str(JOBS), "--quiet", "--output", "ours-{round}"]
    theirs = [new_node(), os.fspath(agentv()), "eval", "run", "suite/mocked.eval.yaml", "--max-retries", "0"]
    return {"ours": ours, "theirs": [*theirs, "--workers", str(JOBS), "--output", "theirs-{round}"]}


def compared(folder: Path) -> dict[str, dict[str, float]]:
    """Medians of seconds, the programs in turn, after a round that does not count; megabytes of one more run."""
    both = commands(folder)
    os.environ["AGENTV_HOME"] = os.fspath(folder / "home")
    times: dict[str, list[float]] = {name: [] for name in both}
    for number in range(ROUNDS + 1):
        for name, argv in both.items():
            times[name].append(measured(filled(argv, str(number)), folder, memory=False))
    return {
        name: {
            "seconds": statistics.median(times[name][1:]),
            "megabytes": measured(filled(argv, "memory"), folder, memory=True),
        }
        for name, argv in both.items()
    }


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="bench-", dir=os.environ.get("BENCH_DIR")) as temporary:
        print(json.dumps(compared(Path(temporary))))
