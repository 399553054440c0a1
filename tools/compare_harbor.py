"""The ten tasks of ``tests/data/harbor`` with Harbor itself: ``python tools/compare_harbor.py HARBOR``.

``HARBOR``: the program of Harbor 0.25, installed into an environment of its own (it needs Python 3.12). Its oracle and
its nop agent run the tasks in containers of the engine that ``DOCKER_HOST`` names. What they get is written to
``tests/data/harbor-rewards.json``, which the tests of containers expect of this tool.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import modules_of_tests
from paths import REPOSITORY

REWARDS = REPOSITORY / "tests/data/harbor-rewards.json"
ENVIRONMENT = "harbor_environment:PlainDocker"


def rewards(harbor: str, agent: str, jobs: Path) -> dict[str, float | None]:
    """Task -> reward that an agent of Harbor gets; None: its trial ended with an error."""
    tasks = str(REPOSITORY / "tests/data/harbor")
    options = (
        "--environment-import-path",
        ENVIRONMENT,
        "--jobs-dir",
        str(jobs),
        "--job-name",
        agent,
        "--yes",
        "--quiet",
    )
    local = {"PYTHONPATH": str(Path(__file__).parent), "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    subprocess.run(
        (harbor, "run", "--path", tasks, "--agent", agent, *options),
        check=True,
        env={**os.environ, **local},
        stdout=sys.stderr,
    )
    found: dict[str, float | None] = {}
    for file in sorted((jobs / agent).glob("*/result.json")):
        trial = json.loads(file.read_text())
        verified = trial.get("verifier_result") or {}
        found[trial["task_name"].rpartition("/")[2]] = (verified.get("rewards") or {}).get("reward")
    return found


def main(harbor: str) -> None:
    """Write the rewards."""
    version = subprocess.run((harbor, "--version"), capture_output=True, text=True, check=True).stdout.split()[-1]
    with TemporaryDirectory() as folder:
        found = {agent: rewards(harbor, agent, Path(folder)) for agent in ("nop", "oracle")}
    REWARDS.write_text(json.dumps({"harbor": version, **found}, indent=2) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
