"""The time of a run of which nothing has changed, with ``--reuse unchanged``, beside the same run without it.

``python -m bench.reuse [EXECUTIONS]``, by default 1,000 in 20 suites with a template each. The floor:
``run --dry-run``, which plans and starts nothing. Also what is run after a change of one byte in one template.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.__main__ import TOOL, taken_by

SUITES = 20
MOST_SECONDS = 3.0


def git(folder: Path, *arguments: str) -> None:
    """Run git with a made-up author."""
    identity = ("-c", "user.name=bench", "-c", "user.email=bench@localhost", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, stdout=subprocess.DEVNULL)


def project(root: Path, executions: int) -> None:
    """A repository with trivial cases, and an agent that appends a line to a log beside it."""
    log = root.parent / "sessions"
    for number in range(SUITES):
        template = root / f"suite-{number}" / "template"
        template.mkdir(parents=True)
        (template / "input.txt").write_text("write")
        cases = [
            {"id": f"case-{case}", "prompt": "write out.txt", "expect": ["file:out.txt exists"]}
            for case in range(executions // SUITES)
        ]
        suite = {"name": f"suite-{number}", "workspace": {"templateDir": "template"}, "cases": cases}
        (template.parent / "core.bench.json").write_text(json.dumps(suite))
    command = f"echo session >> {log}; cp input.txt out.txt"
    config = {"runners": {"sh": {"agent": {"type": "command", "command": command}}}}
    (root / "skillgym.config.json").write_text(json.dumps(config))
    (root / ".gitignore").write_text(".skillgym-results\n")
    git(root, "init", "--quiet", "--initial-branch=main")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message=bench")


def main(executions: int) -> int:
    """Print the rows; 1 if the bounds of the reusing run are not kept."""
    with tempfile.TemporaryDirectory() as folder:
        root, log = Path(folder) / "repo", Path(folder) / "sessions"
        root.mkdir()
        project(root, executions)
        tool = [TOOL, "run", ".", "--store", f"path={folder}/store", "--jobs", "4", "--quiet"]

        def sessions() -> int:
            return len(log.read_text().splitlines()) if log.exists() else 0

        def row(title: str, *arguments: str) -> tuple[float, int]:
            before = sessions()
            took = taken_by([*tool, *arguments], root).wall
            print(f"{title:48} {took:7.2f} s {sessions() - before:6,} sessions", flush=True)
            return took, sessions() - before

        row(f"{executions:,} executions, all run", "--store-write")
        row(f"{executions:,} executions planned (the floor)", "--dry-run")
        took, started = min(row(f"{executions:,} executions unchanged", "--reuse", "unchanged") for _ in range(3))
        (root / "suite-7" / "template" / "input.txt").write_text("Write")
        _, changed = row("one byte changed in one template", "--reuse", "unchanged")
    kept = took < MOST_SECONDS and started == 0 and changed == executions // SUITES
    print("kept" if kept else f"not kept: under {MOST_SECONDS:g} s, no session, and exactly the cases of the template")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000))
