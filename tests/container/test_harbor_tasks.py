"""Harbor tasks with a real engine: rewards as Harbor gives them, and what an agent cannot do to get one."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from documentation import files_in
from harbor_tasks import task, tasks
from paths import REPOSITORY
from scratch import config, repository, runner, skillgym

if TYPE_CHECKING:
    from pathlib import Path

DATA = REPOSITORY / "tests/data"
OF_HARBOR = json.loads((DATA / "harbor-rewards.json").read_text())
"""What Harbor's own oracle and nop agents get; null: an error. ``tools/compare_harbor.py`` writes it."""
SECONDS = 600

# Each task tries another thing; the tests of all but the first do not give a reward for it.
HONEST = "#!/bin/sh\n[ -f /app/done.txt ] && echo 1 > /logs/verifier/reward.txt || echo 0 > /logs/verifier/reward.txt\n"
SLOW = "#!/bin/sh\necho 0 > /logs/verifier/reward.txt\nsleep 2\n"
SILENT = "#!/bin/sh\ntrue\n"
FORGED = r"echo '{\"reward\": 1}' > /logs/verifier/reward.json; echo 1 > /logs/verifier/reward.txt"
ATTEMPTS = {
    "honest": ("touch /app/done.txt", {"test": HONEST}),
    "reads": ("cat /tests/* /solution/* /app/* > /app/seen.txt 2>&1; ls -R / 2>/dev/null | grep answer_; true", {}),
    "stale": (FORGED, {"test": SILENT}),
    "daemon": (f"setsid sh -c 'while sleep 0.1; do {FORGED}; done' </dev/null >/dev/null 2>&1 &", {"test": SLOW}),
    "link": (
        "mkdir /mine && rm -r /logs/verifier && ln -s /mine /logs/verifier; echo 1 > /mine/reward.txt",
        {"test": SILENT},
    ),
    "own-tests": ("mkdir -p /tests && echo 'echo 1 > /logs/verifier/reward.txt' > /tests/test.sh", {"test": HONEST}),
    "folder": ("mkdir -p /logs/verifier/reward.txt /logs/verifier/reward.json", {"test": HONEST}),
    "hangs": ("true", {"test": "#!/bin/sh\nsleep 600\n", "task": "[verifier]\ntimeout_sec = 1.0\n"}),
    "both": (
        "true",
        {"test": "#!/bin/sh\ncd /logs/verifier; echo 1 > reward.txt; echo '{\"reward\": 0.5}' > reward.json\n"},
    ),
    "unwell": (
        "true",
        {"task": "[environment.healthcheck]\ncommand = 'echo no; false'\ninterval_sec = 0.1\nretries = 2\n"},
    ),
}
SECRET_IMAGE = "FROM python:3.12-slim\nWORKDIR /app\nCOPY leaked /tests\nCOPY leaked /solution\n"


def results_of(folder: Path) -> dict[str, Any]:
    """Case -> result of the run."""
    document = json.loads((folder / "results/results.json").read_text())
    return {result["caseId"]: result for each in document["suites"] for result in each["results"]}


@pytest.fixture(scope="module")
def attempts(tmp_path_factory) -> dict[str, Any]:
    """Each task with an agent that tries to get a reward without work; case -> result."""
    files: dict[str, Any] = {}
    for name, (_, changed) in ATTEMPTS.items():
        files |= task(f"tasks/{name}", **changed)
    files |= task("tasks/reads", docker=SECRET_IMAGE, test=HONEST, solve="echo answer_b\n")
    files |= {"tasks/reads/environment/leaked/answer_a.txt": "x\n", "tasks/reads/tests/answer_c.txt": "y\n"}
    lines = "".join(f"{name}) {script} ;;\n" for name, (script, _) in ATTEMPTS.items())
    files["skillgym.config.yaml"] = config(runner(f"case {{case_id}} in\n{lines}esac"))
    root = tasks(tmp_path_factory.mktemp("attempts"), files)
    done = skillgym("run", "--output", "results", "--no-html", cwd=root, limit=SECONDS)
    assert done.code in (1, 3), done.out + done.err
    found = results_of(root)
    assert set(found) == set(ATTEMPTS)
    return {name: result | {"root": root} for name, result in found.items()}


def verdict(result: dict[str, Any]) -> tuple[str, float | None, str]:
    """Status, score and the message of a result."""
    return result["status"], result.get("score"), (result.get("error") or {}).get("message", "")


def test_work_is_rewarded(attempts):
    assert verdict(attempts["honest"])[:2] == ("passed", 1.0)


def test_agents_see_neither_tests_nor_solution_not_even_those_of_the_image(attempts):
    result = attempts["reads"]
    folder = result["root"] / "results" / result["artifactDir"]
    assert verdict(result)[:2] == ("failed", 0.0)
    assert "answer_" not in (folder / "changes.diff").read_text() + (folder / "stdout.log").read_text()
    assert "No such file" in (folder / "changes.diff").read_text()


@pytest.mark.parametrize("name", ["stale", "link"])
def test_a_reward_of_the_agents_own_is_none(attempts, name):
    status, score, message = verdict(attempts[name])
    assert (status, score) == ("errored", None)
    assert "tests/test.sh exited with 0 and wrote neither" in message


@pytest.mark.parametrize("name", ["daemon", "own-tests", "folder"])
def test_what_an_agent_leaves_does_not_change_the_reward(attempts, name):
    assert verdict(attempts[name]) == ("failed", 0.0, "tests/test.sh: the reward is 0")


def test_tests_that_do_not_end_are_an_error(attempts):
    assert verdict(attempts["hangs"]) == ("errored", None, "the tests did not end within 1 s")


def test_json_wins(attempts):
    assert verdict(attempts["both"]) == ("failed", 0.5, "tests/test.sh: the reward is 0.5")


def test_an_agent_does_not_start_in_a_container_that_does_not_get_ready(attempts):
    status, _, message = verdict(attempts["unwell"])
    assert (status, message) == ("errored", "the health check failed 2 times: echo no; false: no")


def test_the_example_of_the_page_for_people_from_harbor_is_solved_by_its_solution(tmp_path):
    page = (REPOSITORY / "docs/how-to/from-harbor.md").read_text(encoding="utf-8")
    files = {name: text for name, text in files_in(page).items() if name.startswith("tasks/")}
    root = repository(tmp_path, {"bench/core.json": None, **files})
    done = skillgym("check", "--oracle", cwd=root, limit=SECONDS)
    assert (done.code, done.out) == (0, "oracle: 1 case: 1 passed with the reference solution\n")


# --- ten tasks --------------------------------------------------------------------------------------


@pytest.fixture
def ten_tasks(tmp_path) -> Path:
    """A repository with the tasks of ``tests/data/harbor``."""
    agent = {"agent": {"type": "nop"}}
    root = repository(tmp_path, {"bench/core.json": None, "skillgym.config.yaml": config(nop=agent)})
    shutil.copytree(DATA / "harbor", root / "tasks")
    return root


def test_an_agent_that_does_nothing_gets_what_harbor_gives_it(ten_tasks):
    done = skillgym("run", "--output", "results", "--no-html", cwd=ten_tasks, limit=SECONDS)
    found = {name: result.get("score") for name, result in results_of(ten_tasks).items()}
    assert (done.code, found) == (1, OF_HARBOR["nop"])


def test_reference_solutions_get_what_harbor_gives_its_oracle(ten_tasks):
    done = skillgym("check", "--oracle", "--json", cwd=ten_tasks, limit=SECONDS)
    document = json.loads(done.out)
    wrong = {one["case"]: one["finding"] for one in document["cases"]}
    assert wrong == {"broken-solution": "fails-its-solution", "no-reward": "undecided"}
    solved = [name for name, reward in OF_HARBOR["oracle"].items() if reward == 1]
    assert (done.code, document["correct"]) == (1, len(solved))
