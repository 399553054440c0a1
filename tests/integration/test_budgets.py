"""How much the tool does for one case of an x-bench suite with a command agent: counts, which no load changes.

A change that does less lowers the budget. One that needs more says why in its commit. Modules: see ``test_imports``.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import counted
from scratch import HUNG, PASSING, case, config, environment, runner, suite, written

if TYPE_CHECKING:
    from pathlib import Path

# For the first case, with the start of the tool and the end of the run.
OF_A_RUN = {
    "own modules": 249,
    "records": 272,
    "constructors": 122,
    "pydantic classes": 90,
    "validators": 15,
    "patterns": 198,
}
# For each further case, in the process of the tool.
OF_A_SESSION = {"opens": 74, "stats": 79, "redactions": 25, "patterns": 0, "records": 0, "constructors": 0}
FURTHER = 5


def counts(folder: Path, cases: int) -> dict[str, int]:
    """What a run with that many cases does."""
    cases_of_suite = (case(f"case-{number}") for number in range(cases))
    written(folder, {"a.bench.json": suite(*cases_of_suite), "skillgym.config.json": config(runner(PASSING))})
    argv = [sys.executable, counted.__file__, "run", "--quiet", "--jobs", "1"]
    env = environment(PYTHONDONTWRITEBYTECODE="")  # compiled templates are kept
    ran = subprocess.run(argv, cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=10 * HUNG)
    assert ran.returncode == 0, ran.stderr
    return dict(json.loads(ran.stderr.splitlines()[-1]))


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, int], dict[str, float]]:
    """The counts of a run with one case, and those of each further session.

    The first run is not counted: it compiles the report templates, if no run of this checkout has done so yet.
    """
    _, first, more = (counts(tmp_path_factory.mktemp("run"), cases) for cases in (1, 1, 1 + FURTHER))
    return first, {name: (number - first[name]) / FURTHER for name, number in more.items()}


def test_a_run_of_one_case_stays_in_its_budget(measured):
    first, _ = measured
    assert {name: first[name] for name, most in OF_A_RUN.items() if not 0 < first[name] <= most} == {}


def test_a_session_stays_in_its_budget(measured):
    first, each = measured
    assert {name for name in OF_A_SESSION if first[name] == 0} == set()  # each of them is counted
    assert {name: each[name] for name, most in OF_A_SESSION.items() if each[name] > most} == {}
